/* Reliability diagrams: columns as high as the accuracy, gaps up to the
 * confidence, counts under them; and any data gives a whole picture. */
#include "test_report_page.h"

#include <math.h>

#include "bang/report/chart.h"

static const char *reliability(const bang_reliability_chart *chart)
{
    bang_text_release(&drawn);
    bang_chart_reliability(&drawn, chart);
    return judge();
}

static bang_reliability_chart chart_of(const bang_reliability_panel *panels, size_t count)
{
    return (bang_reliability_chart){.title = "t", .panel_count = count, .panels = panels};
}

static void test_any_data(void **state)
{
    (void)state;
    static const struct {
        bang_reliability_bin bins[2];
        size_t drawn;
    } cases[] = {
        {{{0, 0.5, 3, 0.25, 0.5}, {0.5, 1, 1, 0.75, 0.5}}, 2},
        {{{0, 0.5, 0, NAN, NAN}, {0.5, 1, 5, 1, 0}}, 1},
        {{{0, 0.5, 0, 0, 0}, {0.5, 1, 0, 0, 0}}, 0},
        {{{0, 1, 7, 0, 0}, {0.5, 0.5, 5, 1, 0}}, 1},
        {{{1, 0, 7, 0.5, 0.5}, {NAN, 1, 5, 1, 0}}, 0},
        {{{0, 0.5, -3, 0.25, 0.25}, {0.5, 1, INFINITY, 0.75, 0.5}}, 1},
        {{{0, 0.5, NAN, 0.25, 0.25}, {-1e299, 1e299, 1e299, 1e299, -1e299}}, 1},
        {{{0, 0.5, 1e299, 0.25, 1.7e308}, {0.5, 1, 5e-324, 7, -3}}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_reliability_panel panel = {
            .title = "p", .ece = NAN, .count = 2, .bins = cases[i].bins};
        bang_reliability_chart chart = chart_of(&panel, 1);
        const char *svg = reliability(&chart);
        assert_int_equal(!strstr(svg, "no data"), cases[i].drawn > 0);
        assert_int_equal(count_of(svg, "class=\"bar\""), cases[i].drawn);
        assert_int_equal(count_of(svg, "class=\"gap\""), cases[i].drawn);
    }
    assert_non_null(strstr(reliability(&(bang_reliability_chart){0}), "no data"));
    bang_reliability_panel none = {.title = "p", .ece = 0.5};
    bang_reliability_chart chart = chart_of(&none, 1);
    assert_non_null(strstr(reliability(&chart), "no data"));
}

typedef struct box {
    double x, y, width, height;
} box;

/* The rectangle at index among those of this class. */
static box box_at(const char *class, size_t index)
{
    char key[40];
    snprintf(key, sizeof key, "class=\"%s\"", class);
    const char *p = element_at(key, index);
    while (strncmp(p, "<rect", 5) != 0)
        p--;
    return (box){attribute(p, "x"), attribute(p, "y"), attribute(p, "width"),
                 attribute(p, "height")};
}

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 0.03)
        fail_msg("%g is not %g", a, b);
}

static void test_parts(void **state)
{
    (void)state;
    static const bang_reliability_bin bins[] = {{0, 0.25, 1, 0.2, 0.2},
                                                {0.25, 0.5, 0, NAN, NAN},
                                                {0.5, 0.75, 4, 0.6, 0.2},
                                                {0.75, 1, 3, 0.8, 1}};
    bang_reliability_panel panel = {.title = "m", .ece = 0.12345, .count = 4, .bins = bins};
    bang_reliability_chart chart = chart_of(&panel, 1);
    const char *svg = reliability(&chart);
    box first = box_at("bar", 0), bold = box_at("bar", 1), shy = box_at("bar", 2);
    assert_near(bold.height, first.height);              /* as high as the accuracy */
    assert_near(shy.height, 4 * first.height);           /* up to the confidence, the rest is gap */
    assert_near(bold.x - first.x, 2 * (shy.x - bold.x)); /* a bin is left out */
    box over = box_at("gap", 1), under = box_at("gap", 2);
    assert_near(over.y + over.height, bold.y); /* what it claims beyond being right */
    assert_near(over.height, 2 * first.height);
    assert_near(under.y + under.height, shy.y);
    assert_near(under.height, first.height);
    box few = box_at("count", 0), many = box_at("count", 1);
    assert_near(many.height, 4 * few.height);
    assert_int_equal(count_of(svg, "class=\"count\""), 3);
    assert_non_null(strstr(svg, ">ECE 12.3%</text>"));
    assert_non_null(strstr(svg, "<title>m, 50% to 75%\naccuracy: 20%\nconfidence: 60%\n"
                                "confidence − accuracy: 40%\nsamples: 4 (50%)</title>"));
    assert_non_null(strstr(svg, "<title>m, 25% to 50%\nsamples: 0 (0%)</title>"));
    assert_int_equal(count_of(svg, "class=\"entry "), 3);
    assert_non_null(strstr(svg, ">confidence</text>"));
    assert_non_null(strstr(svg, ">accuracy</text>"));
}

/* All panels share the scale of their counts, and fill rows evenly. */
static void test_panels(void **state)
{
    (void)state;
    static const bang_reliability_bin all[] = {{0, 1, 10, 0.5, 0.5}},
                                      half[] = {{0, 0.5, 5, 0.25, 0.25}, {0.5, 1, 5, 0.75, 0.75}};
    bang_reliability_panel panels[9];
    for (size_t i = 0; i < 9; i++)
        panels[i] = (bang_reliability_panel){.title = "p", .ece = NAN, .count = 2, .bins = half};
    panels[0].count = 1;
    panels[0].bins = all;
    bang_reliability_chart chart = chart_of(panels, 2);
    const char *svg = reliability(&chart);
    assert_near(box_at("count", 0).height, 2 * box_at("count", 1).height);
    assert_null(strstr(svg, "ECE"));
    for (size_t count = 1; count <= 9; count++) {
        chart.panel_count = count;
        reliability(&chart);
        double last = box_at("bar", 2 * count - 2).y;
        size_t across = 1;
        while (across < count && box_at("bar", 2 * across - 1).y == box_at("bar", 1).y)
            across++;
        assert_int_equal(across, count <= 4 ? count : count <= 8 ? (count + 1) / 2 : 3);
        assert_true(count <= 4 || last > box_at("bar", 1).y + 100);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const bang_reliability_bin bin = {0, 1, 10, 0.5, 0.5};
    char word[2000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const all[] = {hostile, word, "", NULL};
    for (size_t i = 0; i < 4; i++) {
        bang_reliability_panel panels[5];
        for (size_t p = 0; p < 5; p++)
            panels[p] = (bang_reliability_panel){all[(i + p) % 4], 1e300, -7, 1, &bin};
        bang_reliability_chart chart = {all[i], all[i], all[i], 5, panels};
        const char *svg = reliability(&chart);
        assert_null(strstr(svg, "<script"));
        assert_non_null(strstr(svg, "&lt;script&gt;"));
    }
}

static const char entry[] =
    "{\"kind\":\"reliability\",\"title\":\"<t>\",\"panels\":[{\"title\":\"a,<b>\",\"ece\":0.5,"
    "\"color\":3,\"bins\":[{\"low\":0,\"high\":0.5,\"count\":0,\"confidence\":null,"
    "\"accuracy\":null},{\"low\":0.5,\"high\":1,\"count\":8,\"confidence\":0.75,"
    "\"accuracy\":0.25}]},{\"bins\":[]}]}";

static void test_entry(void **state)
{
    char entries[600];
    snprintf(entries, sizeof entries, "[%s]", entry);
    show(*state, entries);
    has("<title>a,&lt;b&gt;, 50% to 100%\naccuracy: 25%\nconfidence: 75%\n");
    has(">ECE 50.0%</text>");
    has("<g class=\"series c3\" color=\"#cc79a7\" data-entry=\"0\">");
    assert_string_equal(figure(bang_figure_csv, entry),
                        "panel,low,high,count,confidence,accuracy\n\"a,<b>\",0,0.5,0,,\n"
                        "\"a,<b>\",0.5,1,8,0.75,0.25\n");
    char *first = strdup(figure(bang_figure_svg, entry));
    assert_string_equal(first, figure(bang_figure_svg, entry));
    free(first);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"title\":\"t\"", "&quot;panels&quot; is missing."},
        {"\"panels\":7", "&quot;panels&quot; is no array."},
        {"\"panels\":[7]", "panel 1 is no object."},
        {"\"panels\":[{}]", "&quot;bins&quot; is missing."},
        {"\"panels\":[{\"bins\":{}}]", "&quot;bins&quot; is no array."},
        {"\"panels\":[{\"bins\":[],\"title\":[]}]", "&quot;title&quot; is no text."},
        {"\"panels\":[{\"bins\":[],\"ece\":\"0\"}]", "&quot;ece&quot; of panel 1 is no number."},
        {"\"panels\":[{\"bins\":[],\"color\":0.5}]", "the colour of panel 1 is no whole number."},
        {"\"panels\":[{\"bins\":[[]]}]", "bin 1 of panel 1 is no object."},
        {"\"panels\":[{\"bins\":[{\"low\":0,\"high\":null,\"count\":1}]}]",
         "&quot;high&quot; of bin 1 of panel 1 is no number."},
        {"\"panels\":[{\"bins\":[{\"low\":0,\"high\":1}]}]",
         "&quot;count&quot; of bin 1 of panel 1 is no number."},
        {"\"panels\":[{\"bins\":[{\"low\":0,\"high\":1,\"count\":1,\"accuracy\":\"1\"}]}]",
         "&quot;accuracy&quot; of bin 1 of panel 1 is no number."},
        {"\"panels\":[],\"x_label\":1", "&quot;x_label&quot; is no text."},
    };
    char one[300];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(one, sizeof one, "{\"kind\":\"reliability\",%s}", cases[i][0]);
        refuses(*state, one, cases[i][1]);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_any_data), IN_FOLDER(test_parts), IN_FOLDER(test_panels),
        IN_FOLDER(test_texts),    IN_FOLDER(test_entry), IN_FOLDER(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
