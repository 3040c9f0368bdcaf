/* CLIP's tokenizer: by hand on a vocabulary of some lines, and against what another
 * implementation says (tools/make-tokenizer-vectors). */
#include "testing.h"

#include <zlib.h>

#include "bang/base/file.h"
#include "bang/base/json.h"
#include "bang/base/thread.h"
#include "bang/data/tokenizer.h"

enum { CONTEXT = 77 };

static const char *data_file(const char *name)
{
    const char *source = getenv("BANG_SOURCE");
    return in_folder(in_folder(source ? source : ".", "tests/data/tokenizer"), name);
}

static bang_tokenizer *parse(const char *text)
{
    bang_tokenizer *tokenizer;
    bang_error err = {0};
    if (bang_tokenizer_parse(&tokenizer, text, strlen(text), "hand", &err) < 0)
        fail_msg("%s", err.message);
    return tokenizer;
}

/* ids after start and before end; the rest must be zero. */
static void expect(const bang_tokenizer *tokenizer, const char *text, size_t count,
                   const int32_t *ids)
{
    int32_t out[CONTEXT], vocabulary = (int32_t)bang_tokenizer_vocabulary(tokenizer);
    bang_error err = {0};
    memset(out, 0x55, sizeof out);
    if (bang_tokenizer_encode(out, CONTEXT, tokenizer, text, &err) != 0)
        fail_msg("%s", err.message);
    assert_int_equal(out[0], vocabulary - 2);
    for (size_t i = 0; i < count; i++)
        if (out[i + 1] != ids[i])
            fail_msg("\"%s\": token %zu is %d, not %d", text, i, out[i + 1], ids[i]);
    assert_int_equal(out[count + 1], vocabulary - 1);
    for (size_t i = count + 2; i < CONTEXT; i++)
        assert_int_equal(out[i], 0);
}
#define EXPECT(tokenizer, text, ...)                                                               \
    expect(tokenizer, text, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t),                    \
           (int32_t[]){__VA_ARGS__})

/* '!' is token 0 and what prints follows in ASCII's order, so 'a' is 64; 256 more at the end
 * of a word. From 0xa1 on bytes are 94 and up, 0xad and those that do not print come last. */
enum { A = 'a' - '!', END = 256 };

static void test_by_hand(void **state)
{
    (void)state;
    bang_tokenizer *t = parse("#version\n"
                              "a b\n"       /* 512 ab */
                              "ab c</w>\n"  /* 513 abc</w> */
                              "b c</w>\n"   /* 514 bc</w> */
                              "b a\n"       /* 515 ba */
                              "a a\n"       /* 516 aa */
                              "aa b\n"      /* 517 never made: a b comes first */
                              "' s</w>\n"); /* 518 's</w> */
    assert_int_equal(bang_tokenizer_vocabulary(t), 512 + 7 + 2);
    expect(t, "", 0, NULL);
    EXPECT(t, "a", A + END);
    EXPECT(t, "A  b", A + END, A + 1 + END);
    EXPECT(t, "abc", 513);
    EXPECT(t, "bc", 514);
    EXPECT(t, "aabc", A, 513);     /* a b comes before a a */
    EXPECT(t, "babc", A + 1, 513); /* and before b a */
    EXPECT(t, "baa", 515, A + END);
    EXPECT(t, "aaaa", 516, A, A + END); /* from the left */
    EXPECT(t, "aaaaa", 516, 516, A + END);
    EXPECT(t, "abab", 512, A, A + 1 + END);
    EXPECT(t, "abc's abc", 513, 518, 513);
    EXPECT(t, "ABC&#39;S", 513, 518);
    EXPECT(t, "12", '1' - '!' + END, '2' - '!' + END);
    EXPECT(t, "a1", A + END, '1' - '!' + END);
    EXPECT(t, "!?", 0, '?' - '!' + END);
    EXPECT(t, "&amp;amp;", '&' - '!' + END);
    EXPECT(t, "\xc3\xa4", 94 + 12 + 10 + (0xc3 - 0xb8), 94 + 3 + END); /* ae: c3 a4 */
    EXPECT(t, "\xc3\x84", 94 + 12 + 10 + (0xc3 - 0xb8), 94 + 3 + END);
    EXPECT(t, "x\xe3\x80\x80y", 'x' - '!' + END, 'y' - '!' + END);
    EXPECT(t, "<|startoftext|>a<|EndOfText|>", 519, A + END, 520);
    bang_tokenizer_close(t);
}

/* Of tokens that are spelled alike, and of equal lines, the last one counts. */
static void test_twins(void **state)
{
    (void)state;
    bang_tokenizer *t = parse("x\n"
                              "b c\n"        /* 512 bc */
                              "a b\n"        /* 513 ab */
                              "ab c</w>\n"   /* 514, 517 abc</w> */
                              "b c</w>\n"    /* 515 bc</w> */
                              "b c\n"        /* 516 bc, and the rank of b c */
                              "a bc</w>\n"); /* 517 abc</w> */
    EXPECT(t, "abc", 517);
    EXPECT(t, "bcd", 516, 'd' - '!' + END);
    EXPECT(t, "abcd", 513, A + 2, 'd' - '!' + END);
    bang_tokenizer_close(t);
}

static void test_cut(void **state)
{
    (void)state;
    bang_tokenizer *t = parse("x\ny z</w>\n");
    int32_t ids[5];
    assert_int_equal(bang_tokenizer_vocabulary(t), 515);
    assert_int_equal(bang_tokenizer_encode(ids, 5, t, "abc", NULL), 0);
    assert_int_equal(ids[3], A + 2 + END);
    assert_int_equal(ids[4], 514);
    assert_int_equal(bang_tokenizer_encode(ids, 5, t, "abcd", NULL), 1);
    assert_int_equal(ids[3], A + 2);
    assert_int_equal(ids[4], 514);
    assert_int_equal(bang_tokenizer_encode(ids, 2, t, "a", NULL), 1);
    assert_int_equal(ids[0], 513);
    assert_int_equal(ids[1], 514);
    assert_int_equal(bang_tokenizer_encode(ids, 2, t, " ", NULL), 0);
    bang_error err = {0};
    assert_int_equal(bang_tokenizer_encode(ids, 1, t, "a", &err), BANG_EUSAGE);
    assert_int_equal(bang_tokenizer_encode(ids, 5, t,
                                           "ab\xff"
                                           "c",
                                           &err),
                     BANG_EDATA);
    assert_string_equal(err.message, "\"ab?c\": byte 3 is not UTF-8: save the text as UTF-8");
    char *longest = malloc(65538);
    memset(longest, 'a', 65537);
    longest[65537] = '\0';
    assert_int_equal(bang_tokenizer_encode(ids, 5, t, longest, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "65537 bytes: at most 65536"));
    free(longest);
    bang_tokenizer_close(t);
}

static json_t *read_cases(void)
{
    char *text;
    size_t size;
    json_t *cases;
    bang_error err = {0};
    if (bang_file_read(&text, &size, data_file("cases.json"), &err) < 0 ||
        bang_json_parse(&cases, text, size, &err) < 0)
        fail_msg("%s", err.message);
    free(text);
    return cases;
}

static void check_case(const bang_tokenizer *tokenizer, const json_t *one)
{
    const char *text = json_string_value(json_object_get(one, "text"));
    const json_t *ids = json_object_get(one, "ids");
    int32_t out[CONTEXT];
    bang_error err = {0};
    int cut = bang_tokenizer_encode(out, CONTEXT, tokenizer, text, &err);
    if (cut < 0)
        fail_msg("%s", err.message);
    assert_int_equal(cut, json_integer_value(json_object_get(one, "cut")));
    for (size_t i = 0; i < CONTEXT; i++) {
        int32_t id = (int32_t)json_integer_value(json_array_get(ids, i)); /* 0 behind the end */
        if (out[i] != id)
            fail_msg("\"%s\": id %zu is %d, not %d", text, i, out[i], id);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    bang_tokenizer *tokenizer;
    bang_error err = {0};
    json_t *cases = read_cases();
    if (bang_tokenizer_open(&tokenizer, data_file("merges.txt"), &err) < 0)
        fail_msg("%s", err.message);
    assert_true(json_array_size(cases) > 100);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(tokenizer, json_array_get(cases, i));
    bang_tokenizer_close(tokenizer);
    json_decref(cases);
}

struct shared {
    const bang_tokenizer *tokenizer;
    const json_t *cases;
};

static int check_one(void *context, size_t index, int worker, bang_error *err)
{
    const struct shared *s = context;
    (void)worker, (void)err;
    check_case(s->tokenizer, json_array_get(s->cases, index % json_array_size(s->cases)));
    return 0;
}

/* Compressed or not, with lines of another system or not: the same; from several threads. */
static void test_files(void **state)
{
    char *text, *dos = malloc(65536);
    size_t size, used = 0;
    bang_tokenizer *tokenizer;
    bang_error err = {0};
    json_t *cases = read_cases();
    const char *packed = in_folder(*state, "merges.gz"), *other = in_folder(*state, "merges.dos");
    assert_int_equal(bang_file_read(&text, &size, data_file("merges.txt"), &err), 0);
    gzFile file = gzopen(packed, "wb");
    assert_int_equal(gzwrite(file, text, (unsigned)size), size);
    gzclose(file);
    for (size_t i = 0; i < size && used + 2 < 65536; i++) {
        if (text[i] == '\n')
            dos[used++] = '\r';
        dos[used++] = text[i];
    }
    assert_int_equal(bang_file_put(other, dos, used - 2, &err), 0); /* no end of line at the end */
    for (int i = 0; i < 2; i++) {
        if (bang_tokenizer_open(&tokenizer, i ? other : packed, &err) < 0)
            fail_msg("%s", err.message);
        struct shared s = {tokenizer, cases};
        assert_int_equal(bang_parallel_for(500, 4, check_one, &s, NULL, &err), 0);
        bang_tokenizer_close(tokenizer);
    }
    free(text);
    assert_int_equal(bang_file_read(&text, &size, packed, &err), 0);
    assert_int_equal(bang_file_put(packed, text, size / 2, &err), 0);
    assert_int_equal(bang_tokenizer_open(&tokenizer, packed, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "the file is cut"));
    assert_int_equal(bang_tokenizer_open(&tokenizer, in_folder(*state, "none"), &err), BANG_EIO);
    assert_null(tokenizer);
    free(text);
    free(dos);
    json_decref(cases);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"x\na b\nab\n", "hand: no vocabulary: line 3: \"ab\": must be two tokens"},
        {"x\n\na b\n", "line 2: \"\": must be two tokens"},
        {"x\na b c\n", "line 2: \"a b c\": must be two tokens"},
        {"x\n a\nb \n", "line 2: \" a\": must be two tokens with a space between; line 3: \"b \""},
        {"x\nab c</w>\na b\n", "line 2: \"ab\": is neither a byte nor made by a line before"},
        {"x\na bc</w>\n", "line 2: \"bc</w>\": is neither a byte nor made by a line before"},
        {"", "hand: no vocabulary: it holds no merges"},
        {"x\n", "hand: no vocabulary: it holds no merges, such as \"i n</w>\""},
        {"x\na b\nab c\n", "no token ends with </w>: it is not CLIP's"},
        {"{\n\"a\": 1,\n\"b\": 2,\n\"c\": 3\n}\n1\n2\n3\n4\n5\n6\n", "; and 2 more"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bang_tokenizer *tokenizer;
        bang_error err = {0};
        assert_int_equal(
            bang_tokenizer_parse(&tokenizer, wrong[i][0], strlen(wrong[i][0]), "hand", &err),
            BANG_EDATA);
        assert_null(tokenizer);
        if (!strstr(err.message, wrong[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", err.message, wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_twins),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test_setup_teardown(test_files, make_folder, drop_folder),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
