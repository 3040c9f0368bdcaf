/* Numbers as people write them, axes with round ticks, text that is measured. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "report/draw.h"

static void test_fixed(void **state)
{
    (void)state;
    static const struct {
        double value;
        int decimals;
        const char *text;
    } cases[] = {
        {0.866, 2, "0.87"}, {-1.5, 1, "−1.5"},   {-0.001, 2, "0.00"},          {-0.0, 0, "0"},
        {12, 0, "12"},      {1e6, 0, "1000000"}, {-1e20, 3, "−1.000000×10²⁰"}, {1, -3, "1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BANG_NUMBER_SIZE];
        bang_number_fixed(text, cases[i].value, cases[i].decimals);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        int percent;
        const char *text;
    } cases[] = {
        {0.1, 0, "0.1"},
        {1.0 / 3, 0, "0.333333"},
        {-2.5e-8, 0, "−2.5×10⁻⁸"},
        {1234567, 0, "1234567"},
        {1e10, 0, "1×10¹⁰"},
        {0, 0, "0"},
        {0.866123, 1, "86.6123%"},
        {1, 1, "100%"},
        {-0.5, 1, "−50%"},
        {NAN, 0, "–"},
        {0.0001, 0, "0.0001"},
        {99999.9, 0, "99999.9"},
        {5e-324, 0, "4.94066×10⁻³²⁴"},
        {1.7e308, 0, "1.7×10³⁰⁸"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BANG_NUMBER_SIZE];
        bang_number_short(text, cases[i].value, cases[i].percent);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_decimals(void **state)
{
    (void)state;
    assert_int_equal(bang_number_decimals(0.1, 4), 1);
    assert_int_equal(bang_number_decimals(0.30000000000000004, 4), 1);
    assert_int_equal(bang_number_decimals(-7, 4), 0);
    assert_int_equal(bang_number_decimals(0.125, 4), 3);
    assert_int_equal(bang_number_decimals(1.0 / 3, 4), 4);
    assert_int_equal(bang_number_decimals(1e15, 4), 0);
}

static void test_digits(void **state)
{
    static const struct {
        double value;
        int digits, whole;
        const char *text;
    } cases[] = {
        {0, 4, 1, "0"},
        {0.5, 4, 1, "0.5"},
        {0.00412345, 4, 0, "0.004123"},
        {-1234.5, 4, 0, "\u22121234"},
        {12345, 4, 1, "12345"},
        {9.9996, 4, 0, "10"},
        {0.099996, 3, 0, "0.1"},
        {1.0 / 3, 4, 0, "0.3333"},
        {3e-7, 4, 0, "3×10⁻⁷"},
        {3.00049e-7, 4, 0, "3×10⁻⁷"},
        {1.25e9, 4, 0, "1.25×10⁹"},
        {5, 1, 1, "5"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BANG_NUMBER_SIZE];
        assert_int_equal(bang_number_digits(text, cases[i].value, cases[i].digits), cases[i].whole);
        assert_string_equal(text, cases[i].text);
    }
}

static void check_labels(const bang_axis *axis, const char *const *labels)
{
    char text[BANG_NUMBER_SIZE];
    double i = axis->first;
    for (; *labels; labels++, i++) {
        bang_axis_label(text, axis, i * axis->step);
        assert_string_equal(text, *labels);
    }
    assert_true(i == axis->last + 1);
}

static void test_axis(void **state)
{
    (void)state;
    bang_axis axis;
    bang_axis_fit(&axis, 0, 1, 5, 1);
    check_labels(&axis, (const char *const[]){"0%", "20%", "40%", "60%", "80%", "100%", NULL});
    bang_axis_fit_round(&axis, -0.13, 0.27, 5, 0);
    check_labels(&axis, (const char *const[]){"−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3", NULL});
    bang_axis_fit(&axis, 3, 3, 2, 0); /* one value: somewhere in the middle */
    assert_true(axis.lo < 3 && axis.hi > 3);
    bang_axis_fit(&axis, INFINITY, -INFINITY, 2, 0); /* no value */
    check_labels(&axis, (const char *const[]){"0.0", "0.5", "1.0", NULL});
    bang_axis_fit_round(&axis, -1.2e9, 1.9e9, 3, 0);
    check_labels(&axis, (const char *const[]){"−2×10⁹", "0", "2×10⁹", NULL});
}

/* Ticks of any axis lie on it, are few, and are told apart by their labels. */
static void test_axis_any(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('a', 'x', 'i', 's'), 0);
    for (int run = 0; run < 20000; run++) {
        double size = pow(10, 30 * bang_random_uniform(&random) - 15);
        double lo = size * (2 * bang_random_uniform(&random) - 1);
        double hi = lo + size * pow(10, -9 * bang_random_uniform(&random));
        int want = 1 + (int)bang_random_below(&random, 10);
        bang_axis axis;
        char last[BANG_NUMBER_SIZE] = "", text[BANG_NUMBER_SIZE];
        if (run % 2) {
            bang_axis_fit_round(&axis, lo, hi, want, run % 3 == 0);
            assert_true(axis.lo <= lo + 1e-6 * axis.step && axis.hi >= hi - 1e-6 * axis.step);
            assert_true(axis.last > axis.first);
        } else {
            bang_axis_fit(&axis, lo, hi, want, run % 3 == 0);
            assert_true(axis.lo == lo && axis.hi == hi);
        }
        assert_true(axis.last - axis.first <= want + 2);
        for (double i = axis.first; i <= axis.last; i++) {
            double value = i * axis.step;
            assert_true(value >= axis.lo - 1e-5 * axis.step);
            assert_true(value <= axis.hi + 1e-5 * axis.step);
            bang_axis_label(text, &axis, value);
            assert_string_not_equal(text, last);
            assert_true(bang_draw_text_width(text, 12) <= bang_axis_label_width(&axis, 12));
            memcpy(last, text, sizeof last);
        }
    }
}

static void test_wrap(void **state)
{
    (void)state;
    static const char text[] = "one two three  four";
    bang_draw_block block;
    bang_draw_wrap(&block, text, 10, 1000, 3);
    assert_int_equal(block.line_count, 1);
    assert_false(block.cut);
    double width = bang_draw_text_width("one two", 10) + 0.01;
    bang_draw_wrap(&block, text, 10, width, 3);
    assert_int_equal(block.line_count, 3);
    assert_false(block.cut);
    assert_int_equal(block.length[0], 7);
    assert_memory_equal(text + block.start[1], "three", 5);
    assert_memory_equal(text + block.start[2], "four", 4);
    bang_draw_wrap(&block, text, 10, width, 2);
    assert_int_equal(block.line_count, 2);
    assert_true(block.cut);
    bang_draw_wrap(&block, "unbreakable", 10, 20, 3); /* by character where need be */
    assert_int_equal(block.line_count, 3);
    assert_true(block.cut);
    bang_draw_wrap(&block, NULL, 10, 20, 3);
    assert_int_equal(block.line_count, 0);
    bang_draw_wrap(&block, "äöü", 10, 0, 3); /* never inside a character */
    assert_int_equal(block.length[0], 2);
}

static void test_escape(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"äß日𝄞\t\n", "äß日𝄞\t\n"},
        {"\x01\x1f", "\uFFFD\uFFFD"},
        {"\xff\xfe", "\uFFFD\uFFFD"},
        {"\xc3", "\uFFFD"},                     /* cut short */
        {"\xc3(", "\uFFFD("},                   /* what follows is kept */
        {"\xc0\xaf", "\uFFFD\uFFFD"},           /* overlong */
        {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"}, /* half a pair */
        {"\xef\xbf\xbf", "\uFFFD\uFFFD\uFFFD"}, /* no character */
        {"\xf4\x90\x80\x80x", "\uFFFD\uFFFD\uFFFD\uFFFDx"},
        {"\xf8\x88\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_text text = {0};
        bang_draw_escaped(&text, cases[i].in);
        assert_string_equal(text.data, cases[i].out);
        bang_text_release(&text);
    }
    bang_text text = {0};
    bang_draw_escaped(&text, NULL);
    assert_int_equal(text.size, 0);
    bang_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),    cmocka_unit_test(test_short),
        cmocka_unit_test(test_decimals), cmocka_unit_test(test_digits),
        cmocka_unit_test(test_axis),     cmocka_unit_test(test_axis_any),
        cmocka_unit_test(test_wrap),     cmocka_unit_test(test_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
