/* Scatters: points stand where their values say, shapes and entries tell them
 * apart; and whatever the data and the names, the picture is whole. */
#include "test_report_page.h"

#include <math.h>

#include "bang/report/chart.h"
#include "report/draw.h"

static const char *scatter(const bang_scatter_chart *chart)
{
    bang_text_release(&drawn);
    bang_chart_scatter(&drawn, chart);
    return judge();
}

static void test_any_data(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL, ""};
    static const size_t connect[] = {0, 1, 0};
    static const double some[] = {0.1, 0.2, 0.3, 0.4};
    static const struct {
        double values[4];
        size_t points; /* against the values themselves */
    } cases[] = {
        {{0.1, 0.2, 0.3, 1}, 4},       {{0, 0, -0.0, 0}, 4},
        {{-1, -2, -3, -4}, 4},         {{7, 7, 7, 7}, 4},
        {{1e-9, -2e-9, 0, 1e-300}, 4}, {{1e299, -9e299, 1, 0}, 4},
        {{NAN, 1, 2, 3}, 3},           {{INFINITY, 1.7e308, NAN, 1}, 1},
        {{NAN, NAN, NAN, NAN}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int how = 0; how < 8; how++) {
            bang_scatter_series series[] = {
                {.name = "s", .x = cases[i].values, .y = cases[i].values},
                {.name = "t", .x = some, .y = cases[i].values, .color = 1}};
            bang_scatter_chart chart = {.x_label = "x", .y_label = "y", .count = 4};
            chart.series_count = 1 + (how & 1);
            chart.series = series;
            chart.names = how & 2 ? names : NULL;
            chart.percent = chart.diagonal = (how & 4) != 0;
            chart.connect_count = how & 1 ? 3 : 0;
            chart.connect = connect;
            const char *svg = scatter(&chart);
            assert_int_equal(!strstr(svg, "no data"), cases[i].points > 0);
            assert_int_equal(count_of(svg, "</title></circle>"),
                             cases[i].points * chart.series_count);
        }
    }
    assert_non_null(strstr(scatter(&(bang_scatter_chart){0}), "no data"));
}

/* The middle of what the pointer finds at number index. */
static void spot_at(double place[2], size_t index)
{
    const char *p = element_at("<circle cx=", index);
    place[0] = attribute(p, "cx");
    place[1] = attribute(p, "cy");
}

static void test_places(void **state)
{
    (void)state;
    static const char *const names[] = {"id", "ood"};
    static const double x[] = {0, 1}, y[] = {0, 0.5}, conf[] = {0.25, NAN}, acc[] = {0.25, 1};
    bang_scatter_series series[] = {{.name = "fine-tuned", .x = x, .y = y, .color = 1},
                                    {.name = "averaged", .x = conf, .y = acc, .color = 2}};
    bang_scatter_chart chart = {.x_label = "confidence",
                                .y_label = "accuracy",
                                .above = "careful",
                                .below = "bold",
                                .count = 2,
                                .names = names,
                                .series_count = 2,
                                .series = series,
                                .percent = 1,
                                .diagonal = 1};
    const char *svg = scatter(&chart);
    double origin[2], half[2], quarter[2];
    spot_at(origin, 0);
    spot_at(half, 1);
    spot_at(quarter, 2);
    double side = half[0] - origin[0];
    assert_true(side > 300 && fabs(origin[1] - half[1] - side / 2) < 0.02); /* a square */
    assert_true(fabs(quarter[0] - origin[0] - side / 4) < 0.02);
    assert_true(fabs(origin[1] - quarter[1] - side / 4) < 0.02); /* on the diagonal */
    char diagonal[80];
    snprintf(diagonal, sizeof diagonal, "<path d=\"M%.2f %.2fL%.2f %.2f\" class=\"axis\"",
             origin[0], origin[1], origin[0] + side, origin[1] - side);
    assert_non_null(strstr(svg, diagonal));
    assert_non_null(strstr(svg, "<title>fine-tuned, ood\nconfidence: 100%\naccuracy: 50%</title>"));
    assert_non_null(strstr(svg, ">careful</text>"));
    assert_non_null(strstr(svg, ">bold</text>"));
    assert_int_equal(count_of(svg, ">100%</text>"), 2);
    /* Hidden by its model or by its data set: entries 0 and 1, then 2 and 3. */
    assert_int_equal(count_of(svg, "data-entry=\"0 3\""), 1);
    assert_int_equal(count_of(svg, "data-entry=\"1 2\""), 1);
    assert_int_equal(count_of(svg, "class=\"entry "), 4);
    chart.min = 0.2;
    chart.max = 0.4;
    svg = scatter(&chart);
    assert_int_equal(count_of(svg, "</title></circle>"), 1); /* the rest lies outside */
    assert_non_null(strstr(svg, ">40%</text>"));
    assert_null(strstr(svg, ">100%</text>"));
}

/* Model and data set of one name are two entries. */
static void test_same_names(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    static const double x[] = {1, 2};
    bang_scatter_series series[] = {{.name = "a", .x = x, .y = x}, {.name = "b", .x = x, .y = x}};
    bang_scatter_chart chart = {.count = 2, .names = names, .series_count = 2, .series = series};
    const char *svg = scatter(&chart);
    assert_int_equal(count_of(svg, "class=\"entry "), 4);
    assert_int_equal(count_of(svg, "data-entry=\"0 2\""), 1);
    assert_int_equal(count_of(svg, "data-entry=\"0 3\""), 1);
    assert_int_equal(count_of(svg, "data-entry=\"1 3\""), 1);
}

static void test_connections(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const double x[] = {0.1, 0.2, 0.3}, y[] = {0.1, NAN, 0.5}, z[] = {0.5, 0.5, 0.5};
    static const size_t connect[] = {0, 1};
    bang_scatter_series series[] = {{.name = "p", .x = x, .y = y}, {.name = "f", .x = x, .y = z}};
    bang_scatter_chart chart = {.count = 3,
                                .names = names,
                                .series_count = 2,
                                .series = series,
                                .connect_count = 2,
                                .connect = connect};
    const char *svg = scatter(&chart);
    assert_int_equal(count_of(svg, "stroke-opacity=\"0.55\""), 2); /* b has one point only */
    assert_int_equal(count_of(svg, "data-entry=\"0 1 2\""), 1);
    assert_int_equal(count_of(svg, "data-entry=\"0 1 4\""), 1);
}

/* Corners of the mark that follows p. */
static size_t corners_after(const char *p)
{
    size_t corners = 0;
    p = strstr(p, "<path d=\"M");
    for (assert_non_null(p); *p != '>'; p++)
        corners += *p == 'L';
    return corners ? corners + 1 : 0;
}

static void test_shapes(void **state)
{
    (void)state;
    enum { COUNT = 2 * (BANG_MARK_END - BANG_MARK_CIRCLE) };
    bang_text marks[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) { /* all can be told apart, then they come again */
        bang_draw_mark(&marks[i], 0, 0, 10, i);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(marks[i].data, marks[j].data);
        assert_int_equal(strstr(marks[i].data, "hollow") != NULL, i >= COUNT / 2);
    }
    for (int i = 0; i < COUNT; i++)
        bang_text_release(&marks[i]);
    static const char *const names[] = {"a", "b", "c"};
    static const double x[] = {1, 2, 3};
    static const int given[] = {BANG_MARK_STAR, BANG_MARK_BY_COLOR, BANG_MARK_DOWN};
    bang_scatter_series series = {.name = "s", .x = x, .y = x};
    bang_scatter_chart chart = {
        .count = 3, .names = names, .series_count = 1, .series = &series, .shapes = given};
    scatter(&chart);
    static const size_t corners[] = {10, 4, 3};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(corners_after(element_at("<g class=\"entry ", 1 + i)), corners[i]);
        assert_int_equal(corners_after(element_at("<g class=\"series ", i)), corners[i]);
    }
    chart.names = NULL; /* colours alone tell what is what */
    assert_int_equal(count_of(scatter(&chart), "class=\"entry "), 1);
    assert_int_equal(corners_after(element_at("<g class=\"series ", 0)), 0);
    static const char *const words[] = {"circle",        "square", "diamond", "triangle up",
                                        "triangle down", "plus",   "cross",   "star"};
    for (int i = 0; i < 8; i++)
        assert_int_equal(bang_draw_shape(words[i]), BANG_MARK_CIRCLE + i);
    assert_int_equal(bang_draw_shape("triangle"), -1);
    assert_int_equal(bang_draw_shape(""), -1);
}

static void test_hostile_texts(void **state)
{
    (void)state;
    char word[2000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const all[] = {hostile, word, "", "a\nb: c"};
    static const double x[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 4; i++) {
        bang_scatter_series series[] = {{.name = all[i], .x = x, .y = x, .color = -1},
                                        {.name = "s", .x = x, .y = x, .color = 1 << 30}};
        bang_scatter_chart chart = {all[i], all[i], all[i], all[i], all[i], 4, all, NULL,
                                    2,      series, 0,      NULL,   0,      0, 0,   1};
        const char *svg = scatter(&chart);
        assert_null(strstr(svg, "<script"));
        assert_non_null(strstr(svg, "&lt;script&gt;"));
    }
    assert_non_null(strstr(drawn.data, "<title>s, a b: c\n")); /* a line each */
}

static const char entry[] =
    "{\"kind\":\"scatter\",\"title\":\"<t>\",\"x_label\":\"confidence\",\"y_label\":\"accuracy\","
    "\"percent\":true,\"diagonal\":true,\"names\":[\"ImageNet\",\"a,b\"],"
    "\"shapes\":[\"triangle down\",null],\"connect\":[0,1],\"above\":\"u\",\"below\":\"o\","
    "\"series\":[{\"name\":\"pre\",\"x\":[0.5,0.25],\"y\":[0.75,null]},"
    "{\"name\":\"<fine>\",\"x\":[0.5,0.125],\"y\":[0.25,1],\"color\":5}]}";

static void test_entry(void **state)
{
    char entries[900];
    snprintf(entries, sizeof entries, "[%s]", entry);
    show(*state, entries);
    has("<title>&lt;fine&gt;, a,b\nconfidence: 12.5%\naccuracy: 100%</title>");
    has("<g class=\"series c5\" color=\"#56b4e9\" data-entry=\"1 2\">");
    assert_string_equal(figure(bang_figure_csv, entry),
                        "name,series,x,y\nImageNet,pre,0.5,0.75\n\"a,b\",pre,0.25,\n"
                        "ImageNet,<fine>,0.5,0.25\n\"a,b\",<fine>,0.125,1\n");
    char *first = strdup(figure(bang_figure_svg, entry));
    assert_string_equal(first, figure(bang_figure_svg, entry));
    free(first);
    assert_non_null(strstr(figure(bang_figure_svg, "{\"kind\":\"scatter\",\"series\":[{\"x\":[1],"
                                                   "\"y\":[2]}]}"),
                           "<title>\nx: 1\ny: 2</title>"));
    assert_string_equal(figure(bang_figure_csv, "{\"kind\":\"scatter\",\"series\":[{\"x\":[1],"
                                                "\"y\":[2]}]}"),
                        "name,series,x,y\n,,1,2\n");
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"\"names\":[]", "&quot;series&quot; is missing."},
        {"\"names\":7,\"series\":[]", "&quot;names&quot; is no array."},
        {"\"names\":[7],\"series\":[]", "name 1 is no text."},
        {"\"series\":[[]]", "series 1 is no object."},
        {"\"series\":[{\"x\":[1]}]", "&quot;y&quot; of series 1 is no array."},
        {"\"series\":[{\"y\":[1]}]", "&quot;x&quot; of series 1 is no array."},
        {"\"series\":[{\"x\":[1],\"y\":[1]},{\"x\":[],\"y\":[]}]",
         "&quot;x&quot; of series 2 is of length 0 instead of 1."},
        {"\"names\":[\"a\"],\"series\":[{\"x\":[1,2],\"y\":[1,2]}]",
         "&quot;x&quot; of series 1 is of length 2 instead of 1."},
        {"\"series\":[{\"x\":[1],\"y\":[true]}]",
         "value 1 of &quot;y&quot; of series 1 is no number."},
        {"\"series\":[],\"shapes\":[\"star\"]", "&quot;shapes&quot; is no array of one shape"},
        {"\"names\":[\"a\"],\"series\":[],\"shapes\":[]", "&quot;shapes&quot; is no array of one"},
        {"\"names\":[\"a\"],\"series\":[],\"shapes\":[1]", "the shape of name 1 is no text."},
        {"\"names\":[\"a\"],\"series\":[],\"shapes\":[\"<b>\"]",
         "the shape of name 1, &quot;&lt;b&gt;&quot;, is unknown."},
        {"\"series\":[],\"connect\":0", "&quot;connect&quot; is no array."},
        {"\"series\":[{\"x\":[],\"y\":[]}],\"connect\":[1]",
         "&quot;connect&quot; holds something other than 0 to 0."},
        {"\"series\":[{\"x\":[],\"y\":[]}],\"connect\":[-1]", "&quot;connect&quot; holds"},
        {"\"series\":[{\"x\":[],\"y\":[]}],\"connect\":[0.0]", "&quot;connect&quot; holds"},
        {"\"series\":[],\"connect\":[0]", "&quot;connect&quot; holds"},
        {"\"series\":[],\"min\":\"0\"", "&quot;min&quot; is no number."},
        {"\"series\":[],\"diagonal\":1", "&quot;diagonal&quot; is neither true nor false."},
        {"\"series\":[],\"above\":1", "&quot;above&quot; is no text."},
    };
    char one[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(one, sizeof one, "{\"kind\":\"scatter\",%s}", cases[i][0]);
        refuses(*state, one, cases[i][1]);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_any_data),    IN_FOLDER(test_places),  IN_FOLDER(test_same_names),
        IN_FOLDER(test_connections), IN_FOLDER(test_shapes),  IN_FOLDER(test_hostile_texts),
        IN_FOLDER(test_entry),       IN_FOLDER(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
