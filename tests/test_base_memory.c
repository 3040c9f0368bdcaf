/* Errors, arenas and growing text. */
#include "testing.h"

#include "bang/base/arena.h"
#include "bang/base/error.h"
#include "bang/base/json.h"
#include "bang/base/text.h"
#include "base/os.h"

static void test_fail_fills_and_returns(void **state)
{
    (void)state;
    bang_error err = {0};
    assert_int_equal(bang_fail(&err, BANG_EIO, "%s: %d", "out", 7), BANG_EIO);
    assert_int_equal(err.code, BANG_EIO);
    assert_string_equal(err.message, "out: 7");
    assert_int_equal(bang_fail(NULL, BANG_EDATA, "nobody listens"), BANG_EDATA);
    assert_int_equal(bang_fail_memory(&err), BANG_EMEMORY);
    assert_int_equal(err.code, BANG_EMEMORY);
}

static void test_fail_wraps_its_own_message(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_fail(&err, BANG_EDATA, "inner");
    bang_fail(&err, BANG_EDATA, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

static void test_fail_marks_a_cut_message(void **state)
{
    (void)state;
    bang_error err = {0};
    char *text = malloc(5000);
    memset(text, 'x', 4999);
    text[4999] = '\0';
    bang_fail(&err, BANG_EDATA, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_string_equal(err.message + sizeof err.message - 5, "x...");
    free(text);
}

static void test_arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    bang_arena arena = {0};
    char *previous = NULL;
    for (size_t i = 0; i < 2000; i++) {
        unsigned char *p = bang_arena_alloc(&arena, i % 300, 7);
        assert_non_null(p);
        assert_ptr_not_equal(p, previous);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < i % 300 * 7; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xAA, i % 300 * 7);
        previous = (char *)p;
    }
    bang_arena_release(&arena);
    assert_null(arena.first);
    bang_arena_release(&arena);
}

static void test_arena_reuses_after_reset(void **state)
{
    (void)state;
    bang_arena arena = {0};
    size_t sizes[] = {100, 200000, 50, 3000000, 10};
    void *first[5];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 5; i++) {
            unsigned char *p = bang_arena_alloc(&arena, sizes[i], 1);
            assert_non_null(p);
            assert_int_equal(p[sizes[i] - 1], 0);
            p[0] = p[sizes[i] - 1] = 1;
            if (round == 0)
                first[i] = p;
            else
                assert_ptr_equal(p, first[i]);
        }
        bang_arena_reset(&arena);
    }
    bang_arena_release(&arena);
}

static void test_arena_refuses_overflow(void **state)
{
    (void)state;
    bang_arena arena = {0};
    assert_null(bang_arena_alloc(&arena, SIZE_MAX / 4, 8));
    assert_null(bang_arena_alloc(&arena, SIZE_MAX, 1));
    assert_null(bang_arena_alloc(&arena, SIZE_MAX - 63, 1));
    assert_null(bang_arena_alloc(&arena, 2, SIZE_MAX / 2 + 2));
    /* and still works afterwards */
    assert_non_null(bang_arena_alloc(&arena, 8, 8));
    bang_arena_release(&arena);
}

/* Requests that do not fit are refused, take nothing and never reach past the end. */
static size_t json_allowed; /* allocations until one fails, and all after it */

static void *json_allocate(size_t size)
{
    return json_allowed > 0 && json_allowed-- ? malloc(size) : NULL;
}

/* Whichever allocation fails first, it is told as what it is. */
static void test_json_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        "[[1, 2.5, {}], [true], [{}, []], [3]]"; /* no strings: see ARCHITECTURE.md */
    json_malloc_t allocate;
    json_free_t release;
    json_get_alloc_funcs(&allocate, &release);
    json_set_alloc_funcs(json_allocate, free);
    int code = BANG_EMEMORY;
    for (size_t most = 0; code == BANG_EMEMORY; most++) {
        bang_error err = {0};
        json_t *value;
        json_allowed = most;
        code = bang_json_parse(&value, text, sizeof text - 1, &err);
        assert_true(code == 0 || strstr(err.message, "out of memory"));
        assert_true(code == BANG_EMEMORY || most > 10);
        json_decref(value);
    }
    assert_int_equal(code, 0);
    json_set_alloc_funcs(allocate, release);
}

static void test_json_reserve(void **state)
{
    (void)state;
    static const size_t refused[] = {65536, 65535, 65521, 65520, SIZE_MAX, SIZE_MAX - 15};
    char *first = bang_json_reserve(1), *last = NULL;
    assert_non_null(first);
    for (int i = 0; i < 6; i++)
        assert_null(bang_json_reserve(refused[i]));
    char *second = bang_json_reserve(30000);
    assert_int_equal(second - first, _Alignof(max_align_t));
    for (char *next = second; next; next = bang_json_reserve(1000)) {
        last = next;
        memset(next, 1, 1000);
        assert_int_equal((uintptr_t)next % _Alignof(max_align_t), 0);
        assert_null(bang_json_reserve(65536));
    }
    assert_true(last > second && last + 1000 <= first + 65536);
}

static void test_text_grows(void **state)
{
    (void)state;
    bang_text text = {0};
    char expected[64 * 1024] = "";
    size_t length = 0;
    for (int i = 0; i < 5000; i++) {
        bang_text_add(&text, "%d,", i);
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%d,", i);
        assert_int_equal(text.size, length);
    }
    assert_string_equal(text.data, expected);
    bang_text_add(&text, "%s", "");
    assert_int_equal(text.size, length);
    bang_text_release(&text);
    assert_null(text.data);
    assert_int_equal(text.capacity, 0);
}

static void test_text_exact_fit(void **state)
{
    (void)state;
    /* Additions that end just below, at and above the capacity. */
    for (int length = 100; length < 300; length++) {
        bang_text text = {0};
        bang_text_add(&text, "%*d", length, 1);
        bang_text_add(&text, "%*d", 128, 2);
        assert_int_equal(text.size, length + 128);
        assert_int_equal(strlen(text.data), text.size);
        assert_int_equal(text.data[length - 1], '1');
        assert_int_equal(text.data[text.size - 1], '2');
        bang_text_release(&text);
    }
}

static void test_text_keeps_zero_bytes(void **state)
{
    (void)state;
    bang_text text = {0};
    bang_text_add_bytes(&text, "a\0b", 3);
    bang_text_add_bytes(&text, NULL, 0);
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "a\0b", 4);
    bang_text_release(&text);
}

static void test_text_refuses_overflow(void **state)
{
    (void)state;
    bang_text text = {0};
    bang_text_add(&text, "kept");
    bang_text_add_bytes(&text, "x", SIZE_MAX - 2);
    assert_true(text.failed);
    bang_text_add(&text, "more");
    bang_text_add_bytes(&text, "more", 4);
    assert_string_equal(text.data, "kept");
    bang_text_release(&text);
    assert_false(text.failed);
}

static void test_text_escapes(void **state)
{
    (void)state;
    bang_text text = {0};
    bang_text_add_escaped(&text, "<a href=\"x\">Tom & 'Jerry'</a> \xc3\xa9");
    assert_string_equal(text.data,
                        "&lt;a href=&quot;x&quot;&gt;Tom &amp; &#39;Jerry&#39;&lt;/a&gt; \xc3\xa9");
    bang_text_release(&text);
    bang_text_add_escaped(&text, "");
    assert_int_equal(text.size, 0);
    bang_text_release(&text);
}

static void test_text_base64(void **state)
{
    (void)state;
    /* The examples of RFC 4648, and the bits that only other bytes reach. */
    static const char *cases[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xff\xfe\xfb", "//77"},
        {"\xfb\xef\xbe", "++++"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_text text = {0};
        bang_text_add(&text, "a,");
        bang_text_add_base64(&text, cases[i][0], strlen(cases[i][0]));
        assert_false(text.failed);
        assert_string_equal(text.data + 2, cases[i][1]);
        assert_int_equal(text.size, 2 + strlen(cases[i][1]));
        bang_text_release(&text);
    }
    bang_text text = {0};
    bang_text_add_base64(&text, "\0\0", 2);
    assert_string_equal(text.data, "AAA=");
    bang_text_add_base64(&text, "x", SIZE_MAX / 2);
    assert_true(text.failed);
    bang_text_release(&text);
}

static void test_text_to_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0},       {"-0.5", -0.5},
        {".5", 0.5},    {"5.", 5},
        {"1e3", 1000},  {"1E+3", 1000},
        {"1e-3", 1e-3}, {"007", 7},
        {"0.1", 0.1},   {"1.7976931348623157e308", 1.7976931348623157e308},
        {"1e-400", 0},  {"4.9e-324", 4.9e-324},
    };
    static const char *bad[] = {
        "",    " 1",    "1 ",  "+1",   "nan",   "NaN",    "inf", "-inf", "infinity",
        "0x1", "0x1p3", "1e",  "1e+",  "1e999", "-1e999", ".",   "-",    "-.",
        "e5",  "1..2",  "1,5", "1.5f", "--1",   "1e5.",   "\t1", "1\n",  "\xc2\xbd",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = -1;
        assert_int_equal(bang_text_to_double(&value, good[i].text), 0);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 42;
        if (bang_text_to_double(&value, bad[i]) != -1)
            fail_msg("\"%s\" was taken for %g", bad[i], value);
        assert_true(value == 42);
    }
}

static void test_text_to_int64(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_int_equal(bang_text_to_int64(&value, "9223372036854775807"), 0);
    assert_true(value == INT64_MAX);
    assert_int_equal(bang_text_to_int64(&value, "-9223372036854775808"), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(bang_text_to_int64(&value, "00012"), 0);
    assert_true(value == 12);
    static const char *bad[] = {"",
                                "-",
                                "+1",
                                " 1",
                                "1 ",
                                "1.0",
                                "0x10",
                                "1e3",
                                "--1",
                                "1,000",
                                "9223372036854775808",
                                "-9223372036854775809",
                                "abc"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (bang_text_to_int64(&value, bad[i]) != -1)
            fail_msg("\"%s\" was taken for %lld", bad[i], (long long)value);
    assert_true(value == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail_fills_and_returns),
        cmocka_unit_test(test_fail_wraps_its_own_message),
        cmocka_unit_test(test_fail_marks_a_cut_message),
        cmocka_unit_test(test_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(test_arena_reuses_after_reset),
        cmocka_unit_test(test_arena_refuses_overflow),
        cmocka_unit_test(test_json_out_of_memory),
        cmocka_unit_test(test_json_reserve),
        cmocka_unit_test(test_text_grows),
        cmocka_unit_test(test_text_exact_fit),
        cmocka_unit_test(test_text_keeps_zero_bytes),
        cmocka_unit_test(test_text_refuses_overflow),
        cmocka_unit_test(test_text_escapes),
        cmocka_unit_test(test_text_base64),
        cmocka_unit_test(test_text_to_double),
        cmocka_unit_test(test_text_to_int64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
