#include "bang/data/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/gzip.h"
#include "data/tokenizer.h"
#include "data/vocabulary.h"

struct bang_tokenizer {
    bang_vocabulary words;
    pcre2_code *pattern;
};

/* A text becomes white space that is one space, and these. Only spaces are left by then, so
 * that \s is one. Case does not matter in CLIP's own pattern. */
static const char pattern[] = "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|"
                              "\\p{L}+|\\p{N}|[^ \\p{L}\\p{N}]+";
static const char start_mark[] = "<|startoftext|>", end_mark[] = "<|endoftext|>";

/* Longer texts are no prompts; the time for a word grows with the square of its length. */
enum { TEXT_MOST = 1 << 16, FILE_MOST = 1 << 26 };

static int compile(bang_tokenizer *tokenizer, bang_error *err)
{
    int code;
    PCRE2_SIZE at;
    tokenizer->pattern = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                       PCRE2_UTF | PCRE2_CASELESS, &code, &at, NULL);
    if (!tokenizer->pattern)
        return bang_fail_memory(err);
    pcre2_jit_compile(tokenizer->pattern, PCRE2_JIT_COMPLETE); /* without it is slower, no more */
    return 0;
}

int bang_tokenizer_parse(bang_tokenizer **out, const char *text, size_t size, const char *name,
                         bang_error *err)
{
    bang_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    *out = NULL;
    if (!tokenizer)
        return bang_fail_memory(err);
    int rc = bang_vocabulary_parse(&tokenizer->words, text, size, name, err);
    if (rc == 0)
        rc = compile(tokenizer, err);
    if (rc < 0) {
        bang_tokenizer_close(tokenizer);
        return rc;
    }
    *out = tokenizer;
    return 0;
}

int bang_tokenizer_open(bang_tokenizer **out, const char *path, bang_error *err)
{
    char *text;
    size_t size;
    *out = NULL;
    int rc = bang_gzip_read(&text, &size, path, FILE_MOST, err);
    if (rc < 0)
        return rc;
    rc = bang_tokenizer_parse(out, text, size, path, err);
    free(text);
    return rc;
}

void bang_tokenizer_close(bang_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    bang_vocabulary_release(&tokenizer->words);
    pcre2_code_free(tokenizer->pattern);
    free(tokenizer);
}

size_t bang_tokenizer_vocabulary(const bang_tokenizer *tokenizer)
{
    return tokenizer->words.count;
}

/* What one text needs. */
typedef struct encoding {
    const bang_tokenizer *tokenizer;
    int32_t *ids; /* (room) */
    size_t room, count;
    int cut; /* there were more than room */
    int32_t *symbols;
    uint32_t *ranks; /* (size of the text) each */
} encoding;

static void add_id(encoding *e, int32_t id)
{
    if (e->count < e->room)
        e->ids[e->count++] = id;
    else
        e->cut = 1;
}

/* One match of the pattern. */
static void add_word(encoding *e, const char *word, size_t size)
{
    const bang_vocabulary *words = &e->tokenizer->words;
    if (size == strlen(start_mark) && memcmp(word, start_mark, size) == 0) {
        add_id(e, (int32_t)words->count - 2);
        return;
    }
    if (size == strlen(end_mark) && memcmp(word, end_mark, size) == 0) {
        add_id(e, (int32_t)words->count - 1);
        return;
    }
    size_t count = bang_vocabulary_merge(words, e->symbols, e->ranks, word, size);
    for (size_t i = 0; i < count; i++)
        add_id(e, e->symbols[i]);
}

static int add_words(encoding *e, const bang_text *text, bang_error *err)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    PCRE2_SIZE at = 0;
    int rc = match ? 0 : bang_fail_memory(err);
    while (rc == 0 && at < text->size && !e->cut) {
        int found = pcre2_match(e->tokenizer->pattern, (PCRE2_SPTR)text->data, text->size, at,
                                PCRE2_NO_UTF_CHECK, match, NULL);
        if (found == PCRE2_ERROR_NOMATCH)
            break;
        if (found < 0) {
            rc = bang_fail_memory(err);
            break;
        }
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(match);
        add_word(e, text->data + range[0], range[1] - range[0]);
        at = range[1];
    }
    pcre2_match_data_free(match);
    return rc;
}

/* Entities, white space and case. */
static int clean(bang_text *out, const char *text, bang_error *err)
{
    size_t size = strlen(text), wrong = bang_text_not_utf8(text, size);
    char shown[BANG_TEXT_SHOWN];
    if (size > TEXT_MOST)
        return bang_fail(err, BANG_EDATA, "\"%s\": %zu bytes: at most %d are read",
                         bang_text_show(shown, text, size), size, TEXT_MOST);
    if (wrong < size)
        return bang_fail(err, BANG_EDATA, "\"%s\": byte %zu is not UTF-8: save the text as UTF-8",
                         bang_text_show(shown, text, size), wrong + 1);
    bang_text once = {0}, twice = {0};
    bang_html_unescape(&once, text, size);
    bang_html_unescape(&twice, once.data ? once.data : "", once.size);
    bang_text_lower(out, twice.data ? twice.data : "", twice.size);
    int failed = once.failed || twice.failed || out->failed;
    bang_text_release(&once);
    bang_text_release(&twice);
    return failed ? bang_fail_memory(err) : 0;
}

int bang_tokenizer_encode(int32_t *ids, size_t context, const bang_tokenizer *tokenizer,
                          const char *text, bang_error *err)
{
    bang_text cleaned = {0};
    if (context < 2)
        return bang_fail(err, BANG_EUSAGE, "a context of %zu: has no room for start and end",
                         context);
    encoding e = {.tokenizer = tokenizer, .ids = ids + 1, .room = context - 2};
    int rc = clean(&cleaned, text, err);
    if (rc == 0) {
        e.symbols = malloc((cleaned.size + 1) * sizeof *e.symbols);
        e.ranks = malloc((cleaned.size + 1) * sizeof *e.ranks);
        rc = e.symbols && e.ranks ? add_words(&e, &cleaned, err) : bang_fail_memory(err);
    }
    free(e.symbols);
    free(e.ranks);
    bang_text_release(&cleaned);
    if (rc < 0)
        return rc;
    ids[0] = (int32_t)tokenizer->words.count - 2;
    ids[e.count + 1] = (int32_t)tokenizer->words.count - 1;
    memset(ids + e.count + 2, 0, (context - e.count - 2) * sizeof *ids);
    return e.cut;
}
