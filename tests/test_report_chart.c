/* Charts: whatever the data, the picture is well formed, says what it shows
 * and is the same bytes every time. */
#include "test_report_picture.h"

#include <locale.h>
#include <math.h>

#include "bang/report/chart.h"

static const char *lines(const bang_line_chart *chart)
{
    bang_text_release(&drawn);
    bang_chart_lines(&drawn, chart);
    return judge();
}

static const char *heat(const bang_heat_map *map)
{
    bang_text_release(&drawn);
    bang_chart_heat(&drawn, map);
    return judge();
}

static const char *one_series(const double *x, const double *y, size_t count)
{
    bang_series series = {.name = "s", .count = count, .x = x, .y = y};
    bang_series points = {.name = "t", .count = count, .x = x, .y = y, .error = y, .points = 1};
    bang_series both[] = {series, points};
    bang_line_chart chart = {
        .title = "t", .x_label = "x", .y_label = "y", .series_count = 2, .series = both};
    chart.y_percent = 1;
    lines(&chart);
    chart.y_min = -1;
    chart.y_max = 2;
    lines(&chart);
    chart.y_percent = 0;
    chart.y_min = chart.y_max = 0;
    return lines(&chart);
}

static void test_any_data(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4};
    static const struct {
        const char *name;
        double y[4];
        int empty;
    } cases[] = {
        {"constant", {7, 7, 7, 7}, 0},
        {"zero", {0, 0, -0.0, 0}, 0},
        {"negative", {-3, -2, -1, -4}, 0},
        {"around zero", {-3, 2, -1, 4}, 0},
        {"tiny range", {0.866, 0.866 + 1e-10, 0.866 + 3e-10, 0.866 + 2e-10}, 0},
        {"one ulp", {1, 1 + 0x1p-52, 1, 1}, 0},
        {"tiny values", {1e-9, 2e-9, 3e-9, 1.5e-9}, 0},
        {"least values", {5e-324, 1e-310, 0, 1e-320}, 0},
        {"huge values", {1e299, -9e299, 3e299, 0}, 0},
        {"beyond", {1, 1.7e308, -1.7e308, 2}, 0},
        {"gaps", {1, NAN, 3, NAN}, 0},
        {"infinite", {1, INFINITY, -INFINITY, 2}, 0},
        {"nothing", {NAN, NAN, INFINITY, NAN}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t count = 0; count <= 4; count += count ? 3 : 1) {
            const char *svg = one_series(x, cases[i].y, count);
            int none = cases[i].empty || count == 0;
            if (!strstr(svg, "no data") != !none)
                fail_msg("%s, %zu points: %s", cases[i].name, count, svg);
        }
        one_series(cases[i].y, cases[i].y, 4);
        one_series(cases[i].y, x, 4);
    }
}

static void test_no_series(void **state)
{
    (void)state;
    bang_line_chart chart = {0};
    assert_non_null(strstr(lines(&chart), "no data"));
}

/* How often a part occurs among the titles that show on hover. */
static size_t count_titles(const char *svg, const char *text)
{
    char part[128];
    snprintf(part, sizeof part, "<title>%s</title>", text);
    return count_of(svg, part);
}

static void test_marks_tell_their_values(void **state)
{
    (void)state;
    static const double x[] = {1, 2.5, NAN}, y[] = {0.866, 0.25, 0.5}, e[] = {0.0125, NAN, 0};
    bang_series series = {.name = "exact", .count = 3, .x = x, .y = y, .error = e, .points = 1};
    bang_line_chart chart = {.series_count = 1, .series = &series, .y_percent = 1};
    const char *svg = lines(&chart);
    assert_int_equal(count_titles(svg, "exact: (1, 86.6% ± 1.25%)"), 1);
    assert_int_equal(count_titles(svg, "exact: (2.5, 25%)"), 1);
    assert_int_equal(count_of(svg, "<title>"), 2);
    series.points = 0; /* values of a line are found by the pointer too */
    svg = lines(&chart);
    assert_int_equal(count_titles(svg, "exact: (2.5, 25%)"), 1);
    series.name = NULL;
    assert_int_equal(count_titles(lines(&chart), "(2.5, 25%)"), 1);
}

/* A mark on the very end of the axis is drawn, one beyond a given end is not. */
static void test_marks_at_the_ends(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4}, y[] = {0.8660000001, 0.8660000004, 0.866, 0.8660000002};
    bang_series series = {.name = "s", .count = 4, .x = x, .y = y, .points = 1};
    bang_line_chart chart = {.series_count = 1, .series = &series};
    assert_int_equal(count_of(lines(&chart), "<title>"), 4);
    chart.y_min = 0.866;
    chart.y_max = 0.8660000003;
    assert_int_equal(count_of(lines(&chart), "<title>"), 3);
}

static void test_gap_breaks_line(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2, 3, 4, 5}, y[] = {1, 2, NAN, 2, 1, 3},
                        dot[] = {1, NAN, 2, NAN, 1, 3};
    bang_series series = {.name = "s", .count = 6, .x = x, .y = y};
    bang_line_chart chart = {.series_count = 1, .series = &series};
    const char *path = strstr(lines(&chart), "overflow=\"hidden\">\n");
    assert_non_null(path);
    path = strstr(path, "<path d=\"M");
    assert_non_null(path);
    size_t starts = 0;
    for (const char *p = path; *p != '>'; p++)
        starts += *p == 'M';
    assert_int_equal(starts, 2);
    assert_null(strstr(drawn.data, "r=\"3\""));
    series.y = dot; /* a value between two gaps shows as a dot */
    assert_int_equal(count_of(lines(&chart), "r=\"3\""), 2);
}

static void test_hundreds_of_points(void **state)
{
    (void)state;
    enum { COUNT = 700 };
    double x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = i;
        y[i] = sin(i * 0.05);
    }
    bang_series series[] = {
        {.name = "line", .count = COUNT, .x = x, .y = y},
        {.name = "points", .count = COUNT, .x = x, .y = y, .error = y, .points = 1}};
    bang_line_chart chart = {.series_count = 2, .series = series};
    const char *svg = lines(&chart);
    assert_int_equal(count_of(svg, "<title>points: "), COUNT);
    /* Along the line only as many as can be told apart. */
    assert_in_range(count_of(svg, "<title>line: "), 50, 300);
}

static void test_legend(void **state)
{
    (void)state;
    static const double x[] = {1, 2}, y[] = {1, 2};
    bang_series series[] = {
        {.name = "p = 0.5", .count = 2, .x = x, .y = y},
        {.name = "p = 0.9", .count = 2, .x = x, .y = y, .color = 1},
        {.name = "exact", .count = 2, .x = x, .y = y, .points = 1},
        {.name = "exact", .count = 2, .x = x, .y = y, .points = 1, .color = 1},
        {.name = "p = 0.9", .count = 2, .x = x, .y = y, .points = 1, .color = 1},
        {.name = "last", .count = 2, .x = x, .y = y},
        {.count = 2, .x = x, .y = y, .color = 3},
        {.name = "", .count = 2, .x = x, .y = y, .color = 4}};
    bang_line_chart chart = {.series_count = 8, .series = series};
    const char *svg = lines(&chart);
    assert_int_equal(count_of(svg, ">p = 0.5</text>"), 1);
    assert_int_equal(count_of(svg, ">p = 0.9</text>"), 1);
    assert_int_equal(count_of(svg, ">exact</text>"), 1);
    assert_int_equal(count_of(svg, ">last</text>"), 1);
    assert_int_equal(count_of(svg, "color=\"#666\""), 1); /* what belongs to both is neutral */
    /* By colour, what is shared last. */
    assert_true(strstr(svg, ">p = 0.5<") < strstr(svg, ">last<"));
    assert_true(strstr(svg, ">last<") < strstr(svg, ">p = 0.9<"));
    assert_true(strstr(svg, ">p = 0.9<") < strstr(svg, ">exact<"));
}

static void test_long_texts(void **state)
{
    (void)state;
    static const double x[] = {1, 2}, y[] = {1, 2};
    char text[3000], word[3000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 6 == 5 ? ' ' : 'm';
    text[sizeof text - 1] = '\0';
    const char *const all[] = {text, word, " ", "\n\n", "a b", "ääääääääää", "日本語のラベル"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        bang_series series[] = {{.name = all[i], .count = 2, .x = x, .y = y},
                                {.name = "s", .count = 2, .x = x, .y = y, .points = 1, .color = 1}};
        bang_line_chart chart = {.title = all[i],
                                 .x_label = all[i],
                                 .y_label = all[i],
                                 .series_count = 2,
                                 .series = series};
        const char *svg = lines(&chart);
        /* Cut text says so and is whole on hover. */
        assert_int_equal(strstr(svg, "…</text>") != NULL, strlen(all[i]) > 1000);
        bang_heat_panel panels[] = {{all[i], y}, {all[i], y}};
        bang_heat_map map = {all[i], all[i], all[i], 2, 1, x, x, 2, panels, all[i], 0, 0, 0};
        heat(&map);
    }
}

static void test_hostile_texts(void **state)
{
    (void)state;
    static const double x[] = {1, 2}, y[] = {1, 2};
    bang_series series[] = {
        {.name = hostile, .count = 2, .x = x, .y = y, .color = -5},
        {.name = hostile, .count = 2, .x = x, .y = y, .error = y, .points = 1, .color = 1 << 30}};
    bang_line_chart chart = {.title = hostile,
                             .x_label = hostile,
                             .y_label = hostile,
                             .series_count = 2,
                             .series = series};
    const char *svg = lines(&chart);
    assert_null(strstr(svg, "<script"));
    assert_non_null(
        strstr(svg, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;amp; &#39;"));
    bang_heat_panel panels[] = {{hostile, y}, {hostile, y}};
    bang_heat_map map = {hostile, hostile, hostile, 2, 1, x, x, 2, panels, hostile, 0, 0, 0};
    svg = heat(&map);
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(svg, "&lt;script&gt;"));
}

static bang_heat_map plain_map(size_t columns, size_t rows, const double *values)
{
    static double at[64];
    static bang_heat_panel panel;
    for (int i = 0; i < 64; i++)
        at[i] = i;
    panel = (bang_heat_panel){"panel", values};
    return (bang_heat_map){.title = "t",
                           .x_label = "x",
                           .y_label = "y",
                           .columns = columns,
                           .rows = rows,
                           .x = at,
                           .y = at,
                           .panel_count = 1,
                           .panels = &panel,
                           .value_label = "v"};
}

/* Where the cell with this hover title stands and how it is filled. */
static void find_cell(double *x, double *y, char fill[8], const char *svg, const char *title)
{
    char part[128];
    snprintf(part, sizeof part, "<title>%s</title></rect>", title);
    const char *p = strstr(svg, part);
    if (!p)
        fail_msg("no cell %s", title);
    while (strncmp(p, "<rect", 5) != 0)
        p--;
    assert_int_equal(sscanf(p, "<rect x=\"%lf\" y=\"%lf\"", x, y), 2);
    snprintf(fill, 8, "%s", strstr(p, "fill=\"") + 6);
}

static void test_heat_cells(void **state)
{
    (void)state;
    static const double values[] = {-0.6, 0, 0.6, 0.25, NAN, 0.125};
    bang_heat_map map = plain_map(3, 2, values);
    const char *svg = heat(&map);
    assert_int_equal(count_of(svg, "</title></rect>"), 5);
    double x0, y0, x, y;
    char low[8], zero[8], high[8], fill[8];
    find_cell(&x0, &y0, low, svg, "x 0, y 0: −0.6");
    find_cell(&x, &y, zero, svg, "x 1, y 0: 0");
    assert_true(x > x0 && y == y0);
    find_cell(&x, &y, high, svg, "x 2, y 0: 0.6");
    find_cell(&x, &y, fill, svg, "x 0, y 1: 0.25");
    assert_true(x == x0 && y < y0); /* rows go up */
    assert_string_equal(low, "#b2182b");
    assert_string_equal(zero, "#f0f0f0");
    assert_string_equal(high, "#2166ac");
    assert_non_null(strstr(svg, ">−0.60</text>"));
    assert_non_null(strstr(svg, ">0.12</text>"));
    map.percent = 1;
    svg = heat(&map);
    find_cell(&x, &y, fill, svg, "x 0, y 1: 25");
    assert_non_null(strstr(svg, ">−60</text>")); /* the bar */
}

static void test_heat_scale(void **state)
{
    (void)state;
    static const double up[] = {1, 2, 3, 4}, down[] = {-4, -3, -2, -1};
    bang_heat_map map = plain_map(2, 2, up);
    const char *svg = heat(&map);
    assert_null(strstr(svg, "−")); /* the bar shows what is used */
    assert_non_null(strstr(svg, ">0</text>"));
    map = plain_map(2, 2, down);
    svg = heat(&map);
    assert_non_null(strstr(svg, ">−4</text>"));
    assert_null(strstr(svg, ">4</text>"));
    /* One scale for all panels: 1 is paler beside 4 than alone. */
    static const double ones[] = {1, 1, 1, 1};
    bang_heat_panel both[] = {{"a", ones}, {"b", up}};
    double x, y;
    char alone[8], beside[8];
    map = plain_map(2, 2, ones);
    find_cell(&x, &y, alone, heat(&map), "x 0, y 0: 1");
    map.panels = both;
    map.panel_count = 2;
    find_cell(&x, &y, beside, heat(&map), "x 0, y 0: 1");
    assert_string_not_equal(alone, beside);
}

static void test_heat_any_data(void **state)
{
    (void)state;
    static const double cases[][4] = {
        {0, 0, 0, 0},          {NAN, NAN, NAN, NAN},       {NAN, 1, NAN, -INFINITY},
        {1e-12, -1e-12, 0, 0}, {1e299, -1e299, 1, 0},      {1.7e308, 1, 2, 3},
        {5e-324, 0, 0, 0},     {12345.678, -1e5, 2, -0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int percent = 0; percent < 2; percent++) {
            bang_heat_map map = plain_map(2, 2, cases[i]);
            map.percent = percent;
            heat(&map);
            map.columns = map.rows = 1;
            heat(&map);
            map.title = map.x_label = map.y_label = map.value_label = NULL;
            heat(&map);
        }
    }
    bang_heat_map map = plain_map(0, 2, cases[0]);
    assert_non_null(strstr(heat(&map), "no data"));
    map = plain_map(2, 0, cases[0]);
    assert_non_null(strstr(heat(&map), "no data"));
    map = plain_map(2, 2, cases[0]);
    map.panel_count = 0;
    assert_non_null(strstr(heat(&map), "no data"));
}

/* Values are written into cells that have room for them, and only there. */
static void test_heat_sizes(void **state)
{
    (void)state;
    static double values[64 * 64];
    for (size_t i = 0; i < 64 * 64; i++)
        values[i] = 0.001 * (double)(i % 90) - 0.04;
    const size_t shapes[][3] = {{6, 6, 1},  {21, 6, 1}, {64, 64, 0}, {64, 1, 0},
                                {1, 64, 0}, {6, 64, 0}, {40, 40, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        bang_heat_map map = plain_map(shapes[i][0], shapes[i][1], values);
        map.percent = 1;
        const char *svg = heat(&map);
        assert_int_equal(count_of(svg, "</title></rect>"), shapes[i][0] * shapes[i][1]);
        assert_int_equal(strstr(svg, ">−4.0</text>") != NULL, shapes[i][2]);
    }
    bang_heat_panel panels[9];
    for (size_t i = 0; i < 9; i++)
        panels[i] = (bang_heat_panel){"panel", values};
    for (size_t count = 1; count <= 9; count++) {
        bang_heat_map map = plain_map(6, 6, values);
        map.panels = panels;
        map.panel_count = count;
        assert_int_equal(count_of(heat(&map), "</title></rect>"), 36 * count);
    }
}

/* Not judged here: the judge itself reads numbers in the locale. */
static char *draw_both(void)
{
    static const double x[] = {0.5, 1.5, 2.25}, y[] = {-0.125, 1e9, 3.75e-3};
    bang_series series[] = {
        {.name = "a", .count = 3, .x = x, .y = y},
        {.name = "b", .count = 3, .x = x, .y = y, .error = x, .points = 1, .color = 1}};
    bang_line_chart chart = {.title = "t",
                             .x_label = "x",
                             .y_label = "y",
                             .series_count = 2,
                             .series = series,
                             .y_percent = 1};
    bang_heat_map map = plain_map(3, 1, y);
    bang_text both = {0};
    bang_chart_lines(&both, &chart);
    bang_chart_heat(&both, &map);
    assert_false(both.failed);
    return both.data;
}

static void test_same_bytes(void **state)
{
    (void)state;
    char *first = draw_both(), *second = draw_both();
    assert_string_equal(first, second);
    free(second);
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                         "fr_FR.utf8",  "de_DE",      "nl_NL.UTF-8"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof commas / sizeof *commas && !found; i++)
        found = setlocale(LC_ALL, commas[i]);
    second = draw_both();
    char point = *localeconv()->decimal_point;
    setlocale(LC_ALL, "C");
    assert_string_equal(first, second);
    if (found) /* the caller's locale is back in force afterwards */
        assert_int_equal(point, ',');
    free(first);
    free(second);
}

static void test_no_memory_is_remembered(void **state)
{
    (void)state;
    bang_line_chart chart = {.title = "t"};
    bang_heat_map map = {.title = "t"};
    bang_text out = {.failed = 1};
    bang_chart_lines(&out, &chart);
    bang_chart_heat(&out, &map);
    assert_true(out.failed);
    assert_null(out.data);
}

#define PICTURE(test) cmocka_unit_test_teardown(test, release_drawn)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PICTURE(test_any_data),
        PICTURE(test_no_series),
        PICTURE(test_marks_tell_their_values),
        PICTURE(test_marks_at_the_ends),
        PICTURE(test_gap_breaks_line),
        PICTURE(test_hundreds_of_points),
        PICTURE(test_legend),
        PICTURE(test_long_texts),
        PICTURE(test_hostile_texts),
        PICTURE(test_heat_cells),
        PICTURE(test_heat_scale),
        PICTURE(test_heat_any_data),
        PICTURE(test_heat_sizes),
        PICTURE(test_same_bytes),
        PICTURE(test_no_memory_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
