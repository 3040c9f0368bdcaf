/* Columns: heights follow the values, intervals stand where they belong, stacks
 * add up; and whatever the data and the names, the picture is whole. */
#include "test_report_page.h"

#include <math.h>

#include "bang/report/chart.h"

static const char *columns(const bang_column_chart *chart)
{
    bang_text_release(&drawn);
    bang_chart_columns(&drawn, chart);
    return judge();
}

typedef struct box {
    double x, y, width, height;
} box;

/* The column at index among those drawn: all names of a series, then the next. */
static box column_at(size_t index)
{
    const char *p = element_at("<rect class=\"bar\"", index);
    return (box){attribute(p, "x"), attribute(p, "y"), attribute(p, "width"),
                 attribute(p, "height")};
}

static double bottom_of(box b)
{
    return b.y + b.height;
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 0.03)
        fail_msg("%g is not %g", a, b);
}

static void test_any_data(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL, "d"};
    static const struct {
        double values[4];
        size_t drawn; /* columns that are not 0 */
        int empty;
    } cases[] = {
        {{1, 2, 3, 4}, 4, 0},
        {{0, 0, -0.0, 0}, 0, 0},
        {{-1, -2, -3, -4}, 4, 0},
        {{1e-9, -2e-9, 0, 1e-300}, 3, 0},
        {{1e299, -9e299, 1, 0}, 3, 0},
        {{NAN, 1, INFINITY, -INFINITY}, 1, 0},
        {{NAN, NAN, NAN, 1.7e308}, 0, 1},
        {{5e-324, 0, 0, 0}, 1, 0},
    };
    static const double wide[] = {-1e299, NAN, INFINITY, -2}, high[] = {1e299, 2, 3, 4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int how = 0; how < 8; how++) {
            bang_column_series series[] = {
                {.name = "s", .values = cases[i].values},
                {.name = "t", .values = cases[i].values, .color = 1, .pale = 1}};
            bang_column_chart chart = {.title = "t", .x_label = "x", .value_label = "v"};
            chart.count = 4;
            chart.names = names;
            chart.series_count = 2;
            chart.series = series;
            chart.percent = how & 1;
            chart.stacked = (how & 2) != 0;
            if (how & 4) {
                series[0].low = wide;
                series[0].high = high;
            }
            const char *svg = columns(&chart);
            assert_int_equal(!strstr(svg, ">no data</text>"), !cases[i].empty);
            assert_int_equal(count_of(svg, "class=\"bar\""), 2 * cases[i].drawn);
            assert_int_equal(count_of(svg, "class=\"under\""), cases[i].drawn);
            if (cases[i].drawn == 0 && how == 1) /* nothing is not drawn as if it were much */
                assert_null(strstr(svg, ">100%</text>"));
        }
    }
    assert_non_null(strstr(columns(&(bang_column_chart){0}), "no data"));
    assert_non_null(strstr(columns(&(bang_column_chart){.count = 4, .names = names}), "no data"));
}

static void test_heights(void **state)
{
    (void)state;
    static const char *const names[] = {"first", "second"};
    static const double a[] = {0.01, -0.005}, b[] = {0.02, 0.04};
    bang_column_series series[] = {{.name = "a", .values = a},
                                   {.name = "b", .values = b, .color = 1}};
    bang_column_chart chart = {
        .count = 2, .names = names, .series_count = 2, .series = series, .percent = 1};
    const char *svg = columns(&chart);
    box a0 = column_at(0), a1 = column_at(1), b0 = column_at(2), b1 = column_at(3);
    assert_near(b0.height, 2 * a0.height);
    assert_near(b1.height, 4 * a0.height);
    assert_near(a1.height, a0.height / 2);
    assert_near(a1.y, bottom_of(a0)); /* hangs from 0 */
    assert_near(bottom_of(b0), bottom_of(a0));
    assert_true(a0.x + a0.width < b0.x && b0.x + b0.width < a1.x && a1.x < b1.x);
    assert_non_null(strstr(svg, "<title>first\na: 1%\nb: 2%</title>"));
    assert_non_null(strstr(svg, "<title>second\na: −0.5%\nb: 4%</title>"));
    assert_non_null(strstr(svg, ">first</text>"));
    assert_non_null(strstr(svg, ">−0.5%</text>")); /* there is room for the values */
    assert_int_equal(count_of(svg, "class=\"entry "), 2);
}

static void test_intervals(void **state)
{
    (void)state;
    static const char *const names[] = {"p", "q", "r"};
    static const double values[] = {0.5, 0.5, NAN}, low[] = {0.25, 0.4, 0.1},
                        high[] = {0.75, NAN, 0.2};
    bang_column_series series = {.name = "s", .values = values, .low = low, .high = high};
    bang_column_chart chart = {.count = 3, .names = names, .series_count = 1, .series = &series};
    const char *svg = columns(&chart);
    assert_int_equal(count_of(svg, "class=\"whisker\""), 1); /* of a half one and none, nothing */
    box bar = column_at(0);
    double upper, lower;
    const char *p = strstr(svg, "class=\"whisker\"");
    while (strncmp(p, "<path", 5) != 0)
        p--;
    assert_int_equal(sscanf(p, "<path d=\"M%*f %lfh%*fM%*f %lfh", &upper, &lower), 2);
    assert_near(lower - upper, bar.height);
    assert_near((lower + upper) / 2, bar.y);
    assert_non_null(strstr(svg, "<title>p\ns: 0.5 [0.25, 0.75]</title>"));
    assert_non_null(strstr(svg, "<title>q\ns: 0.5</title>"));
    assert_non_null(strstr(svg, "<title>r: no data</title>"));
    chart.stacked = 1;
    assert_null(strstr(columns(&chart), "class=\"whisker\""));
}

static void test_stacks(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "two"};
    static const double a[] = {0.5, -1}, b[] = {0.25, 2}, c[] = {0.25, -3};
    bang_column_series series[] = {{.name = "a", .values = a},
                                   {.name = "b", .values = b, .color = 4},
                                   {.name = "c", .values = c, .color = 4, .pale = 1}};
    bang_column_chart chart = {.count = 1, .names = names, .series_count = 3, .series = series};
    chart.stacked = chart.percent = 1;
    const char *svg = columns(&chart);
    box first = column_at(0), second = column_at(1), third = column_at(2);
    assert_near(first.height + 1, 2 * (second.height + 1)); /* with a hair between them */
    assert_near(first.y, bottom_of(second) + 1);
    assert_near(second.y, bottom_of(third) + 1);
    assert_near(first.x, third.x);
    assert_non_null(strstr(svg, ">100%</text>"));
    assert_null(strstr(svg, ">120%</text>"));
    assert_non_null(strstr(svg, "class=\"ink white\" fill=\"#fff\">50.0%</text>"));
    assert_non_null(strstr(svg, "class=\"ink\" fill=\"#111\">25.0%</text>"));
    chart.count = 2; /* what is below 0 is stacked on its own */
    columns(&chart);
    first = column_at(1);
    second = column_at(3);
    third = column_at(5);
    assert_near(first.y, bottom_of(second) + 1);
    assert_near(third.y, bottom_of(first) + 1);
}

static void test_names(void **state)
{
    (void)state;
    static const char *few[] = {"ImageNet-Sketch", "photo", "a b"};
    static double values[3000];
    static const char *names[3000];
    char word[2000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    for (size_t i = 0; i < 3000; i++) {
        values[i] = (double)(i % 7) - 2;
        names[i] = i % 3 ? few[i % 3] : hostile;
    }
    bang_column_series series[] = {{.name = hostile, .values = values},
                                   {.name = word, .values = values, .color = -3}};
    bang_column_chart chart = {.series_count = 2, .series = series};
    chart.names = few;
    chart.count = 3;
    assert_null(strstr(columns(&chart), "rotate(-45)")); /* they fit */
    chart.names = names;
    static const size_t counts[] = {1, 2, 6, 12, 40, 3000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        chart.count = counts[i];
        const char *svg = columns(&chart);
        assert_null(strstr(svg, "<script"));
        assert_non_null(strstr(svg, "&lt;script&gt;"));
        assert_int_equal(count_of(svg, "class=\"slot\""), counts[i]);
        if (counts[i] == 12)
            assert_int_equal(count_of(svg, "rotate(-45)"), 12);
        assert_true(count_of(svg, "rotate(-45)") < 60); /* they do not cover each other */
    }
    names[0] = word;
    chart.title = chart.x_label = chart.value_label = word;
    chart.count = 2;
    assert_non_null(strstr(columns(&chart), "…</text>"));
}

static const char entry[] =
    "{\"kind\":\"columns\",\"title\":\"<t>\",\"percent\":true,\"names\":[\"a,b\",\"<i>\"],"
    "\"series\":[{\"name\":\"TT + FF\",\"values\":[0.125,null],\"low\":[0.0625,null],"
    "\"high\":[0.25,null],\"color\":2},{\"values\":[0,-0.5],\"pale\":true}],\"note\":\"n\"}";

static void test_entry(void **state)
{
    char entries[600];
    snprintf(entries, sizeof entries, "[%s]", entry);
    show(*state, entries);
    has("<title>a,b\nTT + FF: 12.5% [6.25%, 25%]\n: 0%</title>");
    has("<title>&lt;i&gt;\n: −50%</title>");
    has("<g class=\"series c2\" color=\"#009e73\" data-entry=\"0\" data-name=\"TT + FF\"");
    has("<b>Figure 1.</b></a> &lt;t&gt; <span class=\"note\">n</span>");
    assert_string_equal(figure(bang_figure_csv, entry),
                        "name,series,value,low,high\n\"a,b\",TT + FF,0.125,0.0625,0.25\n"
                        "\"a,b\",,0,,\n<i>,TT + FF,,,\n<i>,,-0.5,,\n");
    char *first = strdup(figure(bang_figure_svg, entry));
    assert_non_null(strstr(first, "font-weight=\"600\" fill=\"#111\">&lt;t&gt;</text>"));
    assert_string_equal(first, figure(bang_figure_svg, entry));
    free(first);
    json_t *value = json(entry);
    assert_true(bang_figure_has_numbers(value));
    json_decref(value);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"series\":[]", "&quot;names&quot; is missing."},
        {"\"names\":[]", "&quot;series&quot; is missing."},
        {"\"names\":{},\"series\":[]", "&quot;names&quot; is no array."},
        {"\"names\":[null],\"series\":[]", "name 1 is no text."},
        {"\"names\":[],\"series\":{}", "&quot;series&quot; is no array."},
        {"\"names\":[],\"series\":[1]", "series 1 is no object."},
        {"\"names\":[\"a\"],\"series\":[{}]", "&quot;values&quot; of series 1 is no array."},
        {"\"names\":[\"a\"],\"series\":[{\"values\":[]}]",
         "&quot;values&quot; of series 1 is of length 0 instead of 1."},
        {"\"names\":[\"a\"],\"series\":[{\"values\":[\"1\"]}]",
         "value 1 of &quot;values&quot; of series 1 is no number."},
        {"\"names\":[\"a\"],\"series\":[{\"values\":[1],\"low\":[1]}]",
         "series 1 has only one of &quot;low&quot; and &quot;high&quot;."},
        {"\"names\":[\"a\"],\"series\":[{\"values\":[1],\"low\":[1],\"high\":[]}]",
         "&quot;high&quot; of series 1 is of length 0 instead of 1."},
        {"\"names\":[],\"series\":[{\"values\":[],\"color\":-1}]",
         "the colour of series 1 is no whole number."},
        {"\"names\":[],\"series\":[{\"values\":[],\"name\":1}]", "&quot;name&quot; is no text."},
        {"\"names\":[],\"series\":[{\"values\":[],\"pale\":1}]", "&quot;pale&quot; is neither"},
        {"\"names\":[],\"series\":[],\"stacked\":1", "&quot;stacked&quot; is neither true"},
        {"\"names\":[],\"series\":[],\"percent\":1", "&quot;percent&quot; is neither true"},
        {"\"names\":[],\"series\":[],\"x_label\":1", "&quot;x_label&quot; is no text."},
        {"\"names\":[],\"series\":[],\"title\":1", "&quot;title&quot; is no text."},
    };
    char one[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(one, sizeof one, "{\"kind\":\"columns\",%s}", cases[i][0]);
        refuses(*state, one, cases[i][1]);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_any_data), IN_FOLDER(test_heights), IN_FOLDER(test_intervals),
        IN_FOLDER(test_stacks),   IN_FOLDER(test_names),   IN_FOLDER(test_entry),
        IN_FOLDER(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
