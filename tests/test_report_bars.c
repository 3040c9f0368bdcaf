/* Bars: any data gives a whole picture, lengths follow the values, hostile
 * names stay text; and pages made of records in memory. */
#include "test_report_page.h"

#include <math.h>

#include "bang/report/chart.h"

static const char *bars(const bang_bar_chart *chart)
{
    bang_text_release(&drawn);
    bang_chart_bars(&drawn, chart);
    return judge();
}

/* Left end and length of the bar at index among those drawn. */
static void bar_at(double place[2], size_t index)
{
    const char *p = drawn.data;
    for (size_t i = 0; i <= index; i++) {
        p = strstr(p + 1, "<rect class=\"bar\"");
        assert_non_null(p);
    }
    assert_int_equal(
        sscanf(p, "<rect class=\"bar\" x=\"%lf\" y=\"%*f\" width=\"%lf\"", &place[0], &place[1]),
        2);
}

static void test_any_data(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL, "d"};
    static const struct {
        double values[4];
        size_t drawn; /* bars that are not 0 */
        int empty;
    } cases[] = {
        {{1, 2, 3, 4}, 4, 0},
        {{0, 0, 0, 0}, 0, 0},
        {{-1, -2, -3, -4}, 4, 0},
        {{1e-9, -2e-9, 0, 1e-300}, 3, 0},
        {{1e299, -9e299, 1, 0}, 3, 0},
        {{NAN, 1, INFINITY, -INFINITY}, 1, 0},
        {{NAN, NAN, NAN, 1.7e308}, 0, 1},
        {{5e-324, 0, 0, 0}, 1, 0},
    };
    bang_bar_chart chart = {.title = "t", .value_label = "v", .count = 4, .names = names};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chart.values = cases[i].values;
        for (chart.percent = 0; chart.percent < 2; chart.percent++) {
            const char *svg = bars(&chart);
            assert_int_equal(!strstr(svg, "no data"), !cases[i].empty);
            assert_int_equal(count_of(svg, "class=\"bar\""), cases[i].drawn);
        }
    }
    assert_non_null(strstr(bars(&(bang_bar_chart){0}), "no data"));
}

static void test_lengths(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "two", "half", "below"};
    static const double values[] = {1, 2, 0.5, -1};
    bang_bar_chart chart = {.count = 4, .names = names, .values = values};
    double one[2], two[2], half[2], below[2];
    bars(&chart);
    bar_at(one, 0);
    bar_at(two, 1);
    bar_at(half, 2);
    bar_at(below, 3);
    assert_true(fabs(two[1] - 2 * one[1]) < 0.03 && fabs(one[1] - 2 * half[1]) < 0.03);
    assert_true(fabs(below[1] - one[1]) < 0.03 && fabs(below[0] + below[1] - one[0]) < 0.03);
    assert_true(one[0] == two[0]);
    assert_non_null(strstr(drawn.data, "<title>half: 0.5</title></rect>"));
    chart.percent = 1;
    assert_non_null(strstr(bars(&chart), "<title>half: 50%</title></rect>"));
    assert_non_null(strstr(drawn.data, ">below</text>"));
}

static void test_many_and_long(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static double values[COUNT];
    static const char *names[COUNT];
    char word[2000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = (double)(i % 17) + 1;
        names[i] = i % 2 ? "\xff\x01<&\"'>" : word;
    }
    bang_bar_chart chart = {.title = word, .count = COUNT, .names = names, .values = values};
    const char *svg = bars(&chart);
    assert_int_equal(count_of(svg, "class=\"bar\""), COUNT);
    assert_int_equal(count_of(svg, "</title></rect>"), COUNT);
    assert_true(count_of(svg, "<text") < 2 * COUNT / 3); /* names do not cover each other */
}

static const char entry[] = "{\"kind\":\"bars\",\"title\":\"<t>\",\"value_label\":\"<script>\","
                            "\"names\":[\"<script>alert(1)</script>\",\"a,b\"],"
                            "\"values\":[0.125,null],\"note\":\"n\"}";

static void test_entry(void **state)
{
    char entries[400];
    snprintf(entries, sizeof entries, "[%s]", entry);
    show(*state, entries);
    has("<div class=\"chart\"");
    has("&lt;script&gt;alert(1)&lt;/script&gt;: 0.125</title></rect>");
    has("<b>Figure 1.</b></a> &lt;t&gt; <span class=\"note\">n</span>");
    has(">a,b</text>\n");
    json_t *value = json(entry);
    bang_error err = {0};
    assert_true(bang_figure_has_numbers(value));
    assert_int_equal(bang_figure_csv(&drawn, value, &err), 0);
    assert_string_equal(drawn.data, "name,value\n<script>alert(1)</script>,0.125\n\"a,b\",\n");
    bang_text_release(&drawn);
    assert_int_equal(bang_figure_svg(&drawn, value, &err), 0);
    assert_non_null(strstr(drawn.data, "font-weight=\"600\" fill=\"#111\">&lt;t&gt;</text>"));
    json_decref(value);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"values\":[]", "&quot;names&quot; is missing."},
        {"\"names\":[]", "&quot;values&quot; is missing."},
        {"\"names\":{},\"values\":[]", "&quot;names&quot; is no array."},
        {"\"names\":[\"a\"],\"values\":[]", "&quot;values&quot; is of length 0 instead of 1."},
        {"\"names\":[\"a\"],\"values\":[\"1\"]", "value 1 of &quot;values&quot; is no number."},
        {"\"names\":[\"a\",1],\"values\":[1,2]", "name 2 is no text."},
        {"\"names\":[],\"values\":[],\"color\":-1", "the colour of the bars is no whole number."},
        {"\"names\":[],\"values\":[],\"percent\":1", "&quot;percent&quot; is neither true"},
        {"\"names\":[],\"values\":[],\"value_label\":1", "&quot;value_label&quot; is no text."},
    };
    char one[300], said[300];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(one, sizeof one, "[{\"kind\":\"bars\",%s}]", cases[i][0]);
        snprintf(said, sizeof said, "This entry cannot be shown: %s", cases[i][1]);
        show(*state, one);
        has(said);
        assert_null(strstr(html, "<figure"));
    }
}

static void test_page_from_memory(void **state)
{
    bang_error err = {0};
    size_t size;
    const char *path = in_folder(*state, "page.html");
    json_t *records = json_pack("[o]", record("key", "Section", "[]"));
    assert_int_equal(bang_report_put(path, records, "A <b>", "Lead & more.", &err), 0);
    assert_int_equal(bang_file_read(&html, &size, path, &err), 0);
    assert_null(markup_problem(html, 1));
    has("<title>A &lt;b&gt;</title>");
    has("<h1>A &lt;b&gt;</h1>\n<p class=\"lead\">Lead &amp; more.</p>");
    json_decref(records);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_any_data), IN_FOLDER(test_lengths), IN_FOLDER(test_many_and_long),
        IN_FOLDER(test_entry),    IN_FOLDER(test_refused), IN_FOLDER(test_page_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
