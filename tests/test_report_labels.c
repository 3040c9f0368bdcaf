/* Points of lines that have names: text covers neither marks nor other text, and
 * the names are found by the pointer. */
#include "test_report_page.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/report/chart.h"
#include "report/labels.h"

typedef struct area {
    double left, top, right, bottom;
} area;

/* Where text stands at most: fonts may be narrower than the estimate. */
static area area_of(const bang_label *label)
{
    double width = 0;
    for (int i = 0; i < label->text.line_count; i++) {
        char line[200] = "";
        memcpy(line, label->text.text + label->text.start[i], label->text.length[i]);
        width = fmax(width, bang_draw_text_width(line, 12) * BANG_DRAW_BOLD);
    }
    double left = label->x - (label->side > 0 ? 0 : label->side < 0 ? width : width / 2);
    return (area){left, label->y - 10, left + width,
                  label->y - 12 + bang_draw_block_height(&label->text)};
}

static int overlap(area a, area b)
{
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

static void test_room(void **state)
{
    (void)state;
    enum { MARKS = 60, NAMED = 8 };
    static const char *const names[] = {
        "Mixup", "LS",           "Mixup + LS",      "label smoothing 0.1, 10 epochs",
        "a",     "weight decay", "random rotation", "colour"};
    for (uint64_t seed = 0; seed < 50; seed++) {
        double x[MARKS], y[MARKS];
        bang_random random;
        bang_random_init(&random, seed, BANG_PURPOSE('t', 'e', 's', 't'), 0);
        bang_labels labels = {.left = 60, .right = 640, .top = 20, .bottom = 320};
        assert_int_equal(bang_labels_reserve(&labels, MARKS + NAMED), 0);
        for (int i = 0; i < MARKS; i++) {
            x[i] = 60 + 580 * bang_random_uniform(&random);
            y[i] = 20 + 300 * bang_random_uniform(&random);
            bang_labels_keep(&labels, x[i] - 4, y[i] - 4, x[i] + 4, y[i] + 4, 1);
        }
        area taken[NAMED];
        for (int i = 0; i < NAMED; i++) {
            bang_label label = bang_labels_place(&labels, names[i], x[i], y[i], 4);
            taken[i] = area_of(&label);
            assert_true(taken[i].left >= 58 && taken[i].right <= 642);
            assert_true(taken[i].top >= 18 && taken[i].bottom <= 322);
            for (int k = 0; k < i; k++)
                if (overlap(taken[i], taken[k]))
                    fail_msg("seed %d: %s on %s", (int)seed, names[i], names[k]);
        }
        size_t covered = 0;
        for (int i = 0; i < NAMED; i++)
            for (int k = 0; k < MARKS; k++)
                covered += overlap(taken[i], (area){x[k] - 3, y[k] - 3, x[k] + 3, y[k] + 3});
        assert_true(covered <= 1); /* a long one in a crowd */
        bang_labels_release(&labels);
    }
}

static void test_crowd(void **state)
{
    (void)state;
    static const double one[200] = {0};
    static const char *names[200];
    for (int i = 0; i < 200; i++)
        names[i] = i % 2 ? hostile : "name";
    bang_series series = {
        .name = "s", .count = 200, .x = one, .y = one, .points = 1, .labels = names, .beside = 1};
    bang_line_chart chart = {.series_count = 1, .series = &series};
    bang_chart_lines(&drawn, &chart);
    const char *svg = judge();
    assert_int_equal(count_of(svg, "class=\"halo\""), BANG_LABELS_MOST); /* the rest on hover */
    assert_null(strstr(svg, "<script"));
    assert_int_equal(count_of(svg, "<title>s: name (0, 0)</title>"), 100);
}

static const char entry[] =
    "{\"kind\":\"lines\",\"percent\":true,\"x_percent\":true,\"series\":["
    "{\"name\":\"fit\",\"x\":[0.5,0.75],\"y\":[0.5,0.5],\"band\":[0.25,0.25]},"
    "{\"name\":\"runs\",\"x\":[0.5,0.625,0.75],\"y\":[0.5,0.25,null],\"points\":true,"
    "\"labels\":[\"a\\nb\",null,\"c,\\\"d\\\"\"],\"shape\":\"plus\"},"
    "{\"name\":\"best\",\"x\":[0.5],\"y\":[0.75],\"points\":true,\"labels\":[\"<Mixup>\"],"
    "\"beside\":true,\"shape\":\"star\"}]}";

static void test_entry(void **state)
{
    char entries[1000];
    snprintf(entries, sizeof entries, "[%s]", entry);
    show(*state, entries);
    has(" data-percent=\"1\" data-share=\"1\" ");
    has(" data-labels=\"a b\n\nc,&quot;d&quot;\" data-marks=\"1\"");
    has("<title>best: &lt;Mixup&gt; (50%, 75%)</title>");
    has("<title>runs: (62.5%, 25%)</title>");
    has(">55%</text>"); /* the x axis */
    assert_int_equal(count_of(html, ">&lt;Mixup&gt;</text>"), 1);
    assert_null(strstr(html, ">a b</text>")); /* on hover only */
    assert_string_equal(figure(bang_figure_csv, entry),
                        "series,x,y,error,band,label\nfit,0.5,0.5,,0.25,\nfit,0.75,0.5,,0.25,\n"
                        "runs,0.5,0.5,,,\"a\nb\"\nruns,0.625,0.25,,,\n"
                        "runs,0.75,,,,\"c,\"\"d\"\"\"\nbest,0.5,0.75,,,<Mixup>\n");
    figure(bang_figure_svg, entry);
    size_t corners = 0; /* of the first mark in the legend, a plus */
    for (const char *p = element_at("\" class=\"mark\"", 0); *p != '<'; p--)
        corners += *p == 'L' || *p == 'M';
    assert_int_equal(corners, 12);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"labels\":7", "&quot;labels&quot; of series 1 is no array."},
        {"\"labels\":[]", "&quot;labels&quot; of series 1 is of length 0 instead of 1."},
        {"\"labels\":[7]", "of series 1 label 1 is no text."},
        {"\"shape\":7", "the shape of series 1 is no text."},
        {"\"shape\":\"blob\"", "the shape of series 1, &quot;blob&quot;, is unknown."},
        {"\"beside\":1", "&quot;beside&quot; is neither true nor false."},
    };
    char one[300];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(one, sizeof one, "{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[1],%s}]}",
                 cases[i][0]);
        refuses(*state, one, cases[i][1]);
    }
    refuses(*state, "{\"kind\":\"lines\",\"series\":[],\"x_percent\":1}",
            "&quot;x_percent&quot; is neither true nor false.");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_room),
        IN_FOLDER(test_crowd),
        IN_FOLDER(test_entry),
        IN_FOLDER(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
