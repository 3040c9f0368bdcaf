#include "data/vocabulary.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "data/tokenizer.h"

enum { BYTES = 256, MERGES_MOST = 48894 };
enum { NAMED = 5 }; /* problems that a message has room for */
#define NOT_MERGED UINT32_MAX

static const char word_end[] = "</w>";

/* Tokens by their text, while a file is read. */
typedef struct spelling {
    const char *text; /* NULL: an empty place */
    size_t size;
    int32_t id;   /* the last token spelled so */
    size_t first; /* the first one */
} spelling;

typedef struct parsing {
    const char *name;
    bang_vocabulary *out;
    size_t merge_count;
    struct merge_line {
        const char *left, *right;
        size_t left_size, right_size;
        char *joined;     /* left and right, in memory of the parsing */
    } * merges;           /* (merge_count) */
    char *memory;         /* for what is joined */
    char bytes[BYTES][8]; /* the character of each byte, and with </w> */
    char ends[BYTES][12];
    spelling *spellings; /* (mask + 1) */
    size_t mask;
    bang_text problems;
    size_t problem_count;
} parsing;

static void problem(parsing *p, size_t line, const char *what, size_t size, const char *why)
{
    char shown[BANG_TEXT_SHOWN];
    if (p->problem_count++ < NAMED)
        bang_text_add(&p->problems, "; line %zu: \"%s\": %s", line,
                      bang_text_show(shown, what, size), why);
}

/* Bytes that print stand for themselves, the others for what follows Latin-1. The order
 * of the tokens is that of the characters. */
static void name_bytes(parsing *p, unsigned char order[BYTES])
{
    size_t count = 0, others = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < BYTES; b++) {
            int prints = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
            if (prints == pass)
                continue;
            order[count++] = (unsigned char)b;
            int32_t point = prints ? b : (int32_t)(BYTES + others++);
            utf8proc_ssize_t size = utf8proc_encode_char(point, (utf8proc_uint8_t *)p->bytes[b]);
            memcpy(p->ends[b], p->bytes[b], (size_t)size);
            memcpy(p->ends[b] + size, word_end, sizeof word_end);
        }
}

/* FNV-1a. */
static size_t hash_text(const char *text, size_t size)
{
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211U;
    return (size_t)(hash ^ hash >> 32);
}

/* Where a spelling is, or would be. */
static spelling *find_spelling(const parsing *p, const char *text, size_t size)
{
    size_t at = hash_text(text, size) & p->mask;
    while (p->spellings[at].text &&
           (p->spellings[at].size != size || memcmp(p->spellings[at].text, text, size) != 0))
        at = (at + 1) & p->mask;
    return &p->spellings[at];
}

/* Of tokens that are spelled alike the last one counts. */
static void add_spelling(parsing *p, const char *text, size_t size, size_t id)
{
    spelling *s = find_spelling(p, text, size);
    if (!s->text)
        *s = (spelling){text, size, 0, id};
    s->id = (int32_t)id;
}

static size_t hash_pair(int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9e3779b97f4a7c15U;
    return (size_t)(key >> 32);
}

static merge_pair *find_pair(const bang_vocabulary *v, int32_t left, int32_t right)
{
    size_t at = hash_pair(left, right) & v->mask;
    while (v->pairs[at].left >= 0 && (v->pairs[at].left != left || v->pairs[at].right != right))
        at = (at + 1) & v->mask;
    return &v->pairs[at];
}

/* Takes the lines apart; the first says what the file is and is skipped. */
static void read_lines(parsing *p, const char *text, size_t size)
{
    const char *end = text + size, *next;
    char *joined = p->memory;
    for (size_t line = 1; text < end && p->merge_count < MERGES_MOST; line++, text = next) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        next = stop ? stop + 1 : end;
        stop = stop ? stop : end;
        if (stop > text && stop[-1] == '\r')
            stop--;
        size_t length = (size_t)(stop - text);
        if (line == 1 || (length == 0 && next == end))
            continue;
        const char *space = memchr(text, ' ', length);
        if (!space || space == text || space + 1 == stop ||
            memchr(space + 1, ' ', (size_t)(stop - space) - 1)) {
            problem(p, line, text, length, "must be two tokens with a space between");
            continue;
        }
        struct merge_line *m = &p->merges[p->merge_count++];
        *m = (struct merge_line){text, space + 1, (size_t)(space - text),
                                 (size_t)(stop - space) - 1, joined};
        memcpy(joined, m->left, m->left_size);
        memcpy(joined + m->left_size, m->right, m->right_size);
        joined += m->left_size + m->right_size;
    }
}

static void spell_all(parsing *p)
{
    unsigned char order[BYTES];
    name_bytes(p, order);
    for (size_t i = 0; i < BYTES; i++) {
        const char *byte = p->bytes[order[i]], *end = p->ends[order[i]];
        add_spelling(p, byte, strlen(byte), i);
        add_spelling(p, end, strlen(end), BYTES + i);
    }
    for (size_t i = 0; i < p->merge_count; i++) {
        const struct merge_line *m = &p->merges[i];
        add_spelling(p, m->joined, m->left_size + m->right_size, 2 * (size_t)BYTES + i);
    }
    for (size_t b = 0; b < BYTES; b++) {
        p->out->inner[b] = find_spelling(p, p->bytes[b], strlen(p->bytes[b]))->id;
        p->out->last[b] = find_spelling(p, p->ends[b], strlen(p->ends[b]))->id;
    }
}

/* Of equal pairs the last one counts. Tokens are made before they are used: a file in which
 * they are not is of another kind. */
static void pair_all(parsing *p)
{
    static const char why[] = "is neither a byte nor made by a line before";
    int ends = 0;
    for (size_t i = 0; i < p->merge_count; i++) {
        const struct merge_line *m = &p->merges[i];
        const spelling *left = find_spelling(p, m->left, m->left_size);
        const spelling *right = find_spelling(p, m->right, m->right_size);
        size_t made = 2 * (size_t)BYTES + i, whole = m->left_size + m->right_size;
        if (!left->text || left->first >= made)
            problem(p, i + 2, m->left, m->left_size, why);
        else if (!right->text || right->first >= made)
            problem(p, i + 2, m->right, m->right_size, why);
        else
            *find_pair(p->out, left->id, right->id) = (merge_pair){
                left->id, right->id, find_spelling(p, m->joined, whole)->id, (uint32_t)i};
        ends |= m->right_size >= sizeof word_end - 1 &&
                memcmp(m->right + m->right_size - (sizeof word_end - 1), word_end,
                       sizeof word_end - 1) == 0;
    }
    if (!ends && p->problem_count == 0) {
        bang_text_add(&p->problems,
                      p->merge_count ? "; no token ends with %s: it is not CLIP's"
                                     : "; it holds no merges, such as \"i n%s\" on its second line",
                      word_end);
        p->problem_count++;
    }
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines < MERGES_MOST ? lines : MERGES_MOST;
}

/* A power of two that leaves half of a table empty. */
static size_t table_size(size_t count)
{
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    return size;
}

static int allocate(parsing *p, size_t lines, size_t size, bang_error *err)
{
    bang_vocabulary *v = p->out;
    size_t pairs = table_size(lines), spellings = table_size(lines + 2 * (size_t)BYTES);
    p->merges = calloc(lines, sizeof *p->merges);
    p->memory = malloc(size + 1);
    p->spellings = calloc(spellings, sizeof *p->spellings);
    v->pairs = calloc(pairs, sizeof *v->pairs);
    if (!p->merges || !p->memory || !p->spellings || !v->pairs)
        return bang_fail_memory(err);
    p->mask = spellings - 1;
    v->mask = pairs - 1;
    for (size_t i = 0; i < pairs; i++)
        v->pairs[i].left = -1;
    return 0;
}

int bang_vocabulary_parse(bang_vocabulary *out, const char *text, size_t size, const char *name,
                          bang_error *err)
{
    parsing p = {.name = name, .out = out};
    bang_error why = {0};
    *out = (bang_vocabulary){0};
    int rc = allocate(&p, count_lines(text, size), size, err);
    if (rc == 0) {
        read_lines(&p, text, size);
        if (p.problem_count == 0) {
            spell_all(&p);
            pair_all(&p);
        }
        out->count = 2 * (size_t)BYTES + p.merge_count + 2;
        if (p.problem_count > NAMED)
            bang_text_add(&p.problems, "; and %zu more", p.problem_count - NAMED);
        rc = bang_text_fail(&p.problems, &why);
        if (rc < 0)
            rc = bang_fail(err, rc == BANG_EMEMORY ? rc : BANG_EDATA, "%s: no vocabulary: %s", name,
                           why.message);
    }
    free(p.merges);
    free(p.memory);
    free(p.spellings);
    if (rc < 0)
        bang_vocabulary_release(out);
    return rc;
}

void bang_vocabulary_release(bang_vocabulary *vocabulary)
{
    free(vocabulary->pairs);
    *vocabulary = (bang_vocabulary){0};
}

static uint32_t rank_of(const bang_vocabulary *v, int32_t left, int32_t right)
{
    const merge_pair *pair = find_pair(v, left, right);
    return pair->left >= 0 ? pair->rank : NOT_MERGED;
}

/* All pairs of the lowest rank become one token each, from the left; returns how many
 * tokens are left. */
static size_t merge_once(const bang_vocabulary *v, int32_t *symbols, uint32_t *ranks, size_t count,
                         uint32_t rank)
{
    size_t to = 0;
    int changed = 0; /* the token before is a new one */
    for (size_t i = 0; i < count; i++, to++) {
        int merged = i + 1 < count && ranks[i] == rank;
        int32_t symbol = merged ? find_pair(v, symbols[i], symbols[i + 1])->result : symbols[i];
        i += (size_t)merged;
        uint32_t kept = i < count ? ranks[i] : NOT_MERGED;
        symbols[to] = symbol;
        ranks[to] = kept; /* right if both sides stay as they are */
        if (to > 0 && (merged || changed))
            ranks[to - 1] = rank_of(v, symbols[to - 1], symbol);
        changed = merged;
    }
    ranks[to - 1] = NOT_MERGED;
    return to;
}

size_t bang_vocabulary_merge(const bang_vocabulary *v, int32_t *symbols, uint32_t *ranks,
                             const char *word, size_t size)
{
    size_t count = size;
    for (size_t i = 0; i < size; i++)
        symbols[i] =
            i + 1 < size ? v->inner[(unsigned char)word[i]] : v->last[(unsigned char)word[i]];
    for (size_t i = 0; i < size; i++)
        ranks[i] = i + 1 < size ? rank_of(v, symbols[i], symbols[i + 1]) : NOT_MERGED;
    while (count > 1) {
        uint32_t lowest = NOT_MERGED;
        for (size_t i = 0; i + 1 < count; i++)
            lowest = ranks[i] < lowest ? ranks[i] : lowest;
        if (lowest == NOT_MERGED)
            break;
        count = merge_once(v, symbols, ranks, count, lowest);
    }
    return count;
}
