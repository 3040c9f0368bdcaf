/* The kinds of entries beyond plain tables and charts: bands, headings over
 * columns, shaded distances, pictures, facts, commands; and their CSV. */
#include "test_report_page.h"

#include <math.h>

/* 2 x 3 pixels of PNG, up to the end of its header. */
#define PNG_HEAD "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAA"

static void test_groups(void **state)
{
    static const char table[] =
        "{\"kind\":\"table\",\"columns\":[\"a\",\"b\",\"b\",\"c\"],"
        "\"groups\":[[\"\",1],[\"m<1>\",1],[\"m, 2\",2]],\"rows\":[[\"x\",1,0.125,null]]}";
    char entries[400];
    snprintf(entries, sizeof entries, "[%s]", table);
    show(*state, entries);
    has("<tr class=\"groups\"><td colspan=\"1\"></td>"
        "<th scope=\"colgroup\" colspan=\"1\">m&lt;1&gt;</th>"
        "<th scope=\"colgroup\" colspan=\"2\">m, 2</th></tr>");
    has("<th scope=\"col\">a</th><th scope=\"col\" class=\"n first\" data-name=\"m&lt;1&gt;: b\">b"
        "</th><th scope=\"col\" class=\"n first\" data-name=\"m, 2: b\">b</th>"
        "<th scope=\"col\" class=\"n\" data-name=\"m, 2: c\">c</th>");
    assert_string_equal(figure(bang_figure_csv, table),
                        "a,m<1>: b,\"m, 2: b\",\"m, 2: c\"\nx,1,0.125,\n");
}

static void test_refused_tables(void **state)
{
    static const struct {
        const char *member, *why;
    } cases[] = {
        {"\"groups\":{}", "&quot;groups&quot; is no array."},
        {"\"groups\":[[\"m\",1]]", "&quot;groups&quot; covers 1 of the 2 columns."},
        {"\"groups\":[[\"m\",1],[\"n\",2]]", "&quot;groups&quot; covers more than the 2 columns."},
        {"\"groups\":[[\"m\",9223372036854775807]]", "&quot;groups&quot; covers more than"},
        {"\"groups\":[]", "&quot;groups&quot; covers 0 of the 2 columns."},
        {"\"groups\":[[\"m\",0],[\"n\",2]]", "group 1 is no name with a number of columns."},
        {"\"groups\":[[\"m\",2,3]]", "group 1 is no name with a number of columns."},
        {"\"groups\":[[2,2]]", "group 1 is no name with a number of columns."},
        {"\"groups\":[[\"m\",1],7]", "group 2 is no name with a number of columns."},
        {"\"shade\":\"z\"", "&quot;shade&quot; is no array of one text or null per column."},
        {"\"shade\":[\"z\"]", "&quot;shade&quot; is no array of one text or null per column."},
        {"\"shade\":[null,\"p\"]", "&quot;shade&quot; holds something other than"},
        {"\"shade\":[null,1]", "&quot;shade&quot; holds something other than"},
        {"\"shade\":[\"z\",null]", "row 1 holds a cell of kind &quot;z&quot; that is no number."},
    };
    char entry[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(entry, sizeof entry,
                 "{\"kind\":\"table\",\"columns\":[\"a\",\"b\"],\"rows\":[[\"x\",1]],%s}",
                 cases[i].member);
        refuses(*state, entry, cases[i].why);
    }
}

static void test_distances(void **state)
{
    static const char *const cases[][2] = {
        {"0", "<span class=\"z z0\">0.0<i></i></span>"},
        {"-0.04", "<td class=\"n\" data-v=\"-0.04\"><span class=\"z z0\">0.0<i></i></span>"},
        {"0.02", "<td class=\"n\" data-v=\"0.02\"><span class=\"z z0\">0.0<i></i></span>"},
        {"-0.0", "<span class=\"z z0\">0.0<i></i></span>"},
        {"1.25", "<span class=\"z z0\">+1.2<i></i></span>"},
        {"2", "<span class=\"z z0\">+2.0<i></i></span>"},
        {"-2.04", "<span class=\"z z1\">−2.0<i>!</i></span>"},
        {"3", "<span class=\"z z1\">+3.0<i>!</i></span>"},
        {"-3.01", "<span class=\"z z2\">−3.0<i>!!</i></span>"},
        {"1e20", "<span class=\"z z2\">+1.000000×10²⁰<i>!!</i></span>"},
        {"null", "<td class=\"n\">–"},
    };
    char entries[1000] = "[{\"kind\":\"table\",\"columns\":[\"z\"],\"shade\":[\"z\"],\"rows\":[";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = strlen(entries);
        snprintf(entries + at, sizeof entries - at, "%s[%s]", i ? "," : "", cases[i][0]);
    }
    size_t at = strlen(entries);
    snprintf(entries + at, sizeof entries - at, "]}]");
    show(*state, entries);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(entries, sizeof entries, "%s</td>", cases[i][1]);
        if (!strstr(html, entries))
            fail_msg("%s is not shown as %s", cases[i][0], cases[i][1]);
    }
    show(*state, "[{\"kind\":\"table\",\"columns\":[\"z\"],\"shade\":[\"z\"],\"decimals\":[2],"
                 "\"rows\":[[-1.257]]}]");
    has("<span class=\"z z0\">−1.26<i></i></span>");
}

static void test_band_and_step(void **state)
{
    static const char lines[] =
        "{\"kind\":\"lines\",\"percent\":true,\"x_label\":\"<x>\",\"series\":["
        "{\"name\":\"a\",\"x\":[1,2,3],\"y\":[0.5,0.25,null],\"band\":[0.125,0.0625,0.5]},"
        "{\"name\":\"b\",\"x\":[1,2,3],\"y\":[0.5,0.5,0.75],\"step\":true,\"error\":[0.5,null,0]}]"
        "}";
    char entries[600];
    snprintf(entries, sizeof entries, "[%s]", lines);
    show(*state, entries);
    assert_int_equal(count_of(html, "fill-opacity=\"0.16\""), 1);
    has("data-points=\"[[1,0.5,0,0.125],[2,0.25,0,0.0625],0]\" data-name=\"a\"");
    has("data-points=\"[[1,0.5,0.5],[2,0.5],[3,0.75]]\" data-step=\"1\" data-name=\"b\"");
    has("data-percent=\"1\" data-label=\"&lt;x&gt;\"");
    has("<title>a: (1, 50% ± 12.5%)</title>");
    assert_string_equal(figure(bang_figure_csv, lines),
                        "series,x,y,error,band\na,1,0.5,,0.125\na,2,0.25,,0.0625\na,3,,,0.5\n"
                        "b,1,0.5,0.5,\nb,2,0.5,,\nb,3,0.75,0,\n");
    const char *svg = figure(bang_figure_svg, lines);
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(svg, "<rect class=\"ground\" width=\"100%\" height=\"100%\" "
                                "fill=\"#fff\"/>"));
    /* A riser stands upright, half way between its points. */
    double x[2], y[2], end;
    const char *path = strstr(svg, "<g class=\"series c1\"");
    assert_non_null(path);
    path = strstr(path, "<path d=\"");
    assert_int_equal(
        sscanf(path, "<path d=\"M%lf %lfH%lfV%lfH%lf\"", &x[0], &y[0], &x[1], &y[1], &end), 5);
    assert_true(y[1] < y[0]);
    assert_true(fabs((x[1] - x[0]) / (end - x[0]) - 0.75) < 1e-3);
}

static void test_refused_charts(void **state)
{
    refuses(*state, "{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[1],\"band\":[1,2]}]}",
            "&quot;band&quot; of series 1 is of length 2 instead of 1.");
    refuses(*state, "{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[1],\"step\":1}]}",
            "&quot;step&quot; is neither true nor false.");
    refuses(*state, "{\"kind\":\"heat\",\"x\":[],\"y\":[],\"panels\":[],\"top_down\":\"yes\"}",
            "&quot;top_down&quot; is neither true nor false.");
    refuses(*state, "{\"kind\":\"heat\",\"x\":[],\"y\":[],\"panels\":[],\"sequential\":[]}",
            "&quot;sequential&quot; is neither true nor false.");
}

/* The height of the cell with this title, and its fill. */
static double cell_top(const char *title, char fill[8])
{
    double x, y;
    char part[100];
    snprintf(part, sizeof part, "<title>%s</title>", title);
    const char *p = strstr(drawn.data, part);
    assert_non_null(p);
    while (strncmp(p, "<rect", 5) != 0)
        p--;
    assert_int_equal(sscanf(p, "<rect x=\"%lf\" y=\"%lf\"", &x, &y), 2);
    snprintf(fill, 8, "%s", strstr(p, "fill=\"") + 6);
    return y;
}

static void test_sequential_from_the_top(void **state)
{
    (void)state;
    char low[8], high[8];
    figure(bang_figure_svg,
           "{\"kind\":\"heat\",\"sequential\":true,\"top_down\":true,\"x\":[0,1],\"y\":[0,1],"
           "\"panels\":[{\"values\":[[0,1],[null,4]]}]}");
    assert_true(cell_top("x 0, y 0: 0", low) < cell_top("x 1, y 1: 4", high));
    assert_string_equal(low, "#f2f6fa");
    assert_string_equal(high, "#125294");
    assert_int_equal(count_of(drawn.data, "</title></rect>"), 3);
    /* Values far from 0 use the whole scale. */
    figure(bang_figure_svg, "{\"kind\":\"heat\",\"sequential\":true,\"x\":[0,1],\"y\":[0],"
                            "\"panels\":[{\"values\":[[90,100]]}]}");
    cell_top("x 0, y 0: 90", low);
    assert_string_equal(low, "#f2f6fa");
}

static void test_picture(void **state)
{
    show(*state, "[{\"kind\":\"lines\",\"series\":[]},{\"kind\":\"picture\",\"title\":\"<t>\","
                 "\"alt\":\"a \\\"b\\\"\",\"pixelated\":true,\"scale\":4.5,\"note\":\"n\","
                 "\"png\":\"" PNG_HEAD "\"},{\"kind\":\"picture\",\"title\":\"t\","
                 "\"png\":\"" PNG_HEAD "AA==\"}]");
    has("<figure id=\"figure-2\">\n<div class=\"picture\"><img class=\"pixelated\" width=\"9\" "
        "style=\"aspect-ratio:2/3\" alt=\"a &quot;b&quot;\" "
        "src=\"data:image/png;base64," PNG_HEAD "\"></div>\n<figcaption>");
    has("<b>Figure 2.</b></a> &lt;t&gt; <span class=\"note\">n</span>");
    has("<img width=\"2\" style=\"aspect-ratio:2/3\" alt=\"t\" src=\"data:");
    bang_error err = {0};
    json_t *entry = json("{\"kind\":\"picture\",\"png\":\"\"}");
    assert_false(bang_figure_has_numbers(entry));
    assert_true(bang_figure_csv(&drawn, entry, &err) < 0);
    json_decref(entry);
}

static void test_refused_pictures(void **state)
{
    static const char *const cases[][2] = {
        {"\"alt\":\"\"", "&quot;png&quot; is missing."},
        {"\"png\":7", "&quot;png&quot; is no text."},
        {"\"png\":\"\"", "&quot;png&quot; is no PNG picture."},
        {"\"png\":\"abc\"", "&quot;png&quot; is no base64."},
        {"\"png\":\"ab=c\"", "&quot;png&quot; is no base64."},
        {"\"png\":\"a===\"", "&quot;png&quot; is no base64."},
        {"\"png\":\"ab\\\"c\"", "&quot;png&quot; is no base64."},
        {"\"png\":\"" PNG_HEAD "ab%3\"", "&quot;png&quot; is no base64."},
        {"\"png\":\"R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\"",
         "&quot;png&quot; is no PNG picture."},
        {"\"png\":\"iVBORw0KGgoAAAANSUhEUgAAAAAAAAAD\"", "&quot;png&quot; is no PNG picture."},
        {"\"png\":\"" PNG_HEAD "\",\"scale\":0", "&quot;scale&quot; is no number above 0."},
        {"\"png\":\"" PNG_HEAD "\",\"scale\":\"2\"", "&quot;scale&quot; is no number above 0."},
        {"\"png\":\"" PNG_HEAD "\",\"scale\":1e9", "&quot;scale&quot; makes it 2e+09 wide"},
        {"\"png\":\"" PNG_HEAD "\",\"pixelated\":3", "&quot;pixelated&quot; is neither true"},
    };
    char entry[400];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(entry, sizeof entry, "{\"kind\":\"picture\",%s}", cases[i][0]);
        refuses(*state, entry, cases[i][1]);
    }
}

static void test_facts(void **state)
{
    show(*state, "[{\"kind\":\"facts\",\"title\":\"Ran <on>\",\"rows\":[[\"CPU\",\"A & B\"],"
                 "[\"threads\",8],[\"p\",0.1]]}]");
    has("<p class=\"over\">Ran &lt;on&gt;</p>\n<dl>\n<dt>CPU</dt><dd>A &amp; B</dd>\n"
        "<dt>threads</dt><dd>8</dd>\n<dt>p</dt><dd>0.1</dd>\n</dl>");
    refuses(*state, "{\"kind\":\"facts\"}", "&quot;rows&quot; is missing.");
    refuses(*state, "{\"kind\":\"facts\",\"rows\":[[\"a\",\"b\"],[\"a\"]]}",
            "row 2 is no name with a text or a number.");
    refuses(*state, "{\"kind\":\"facts\",\"rows\":[[\"a\",[]]]}", "row 1 is no name with");
    refuses(*state, "{\"kind\":\"facts\",\"rows\":[7]}", "row 1 is no name with");
}

static void test_command(void **state)
{
    json_t *all = record("key", "Section", "[]");
    json_object_set_new(all, "command", json_string("bang reproduce x -o 'a b' <&2"));
    append(*state, all);
    all = record("other", "Section", "[]");
    json_object_set_new(all, "command", json_integer(7));
    append(*state, all);
    write_report(*state);
    has("<pre class=\"command\"><code>bang reproduce x -o &#39;a b&#39; &lt;&amp;2</code></pre>");
    assert_int_equal(count_of(html, "<pre"), 1);
    assert_int_equal(count_of(html, "<dt>command</dt>"), 1); /* not text: listed as it is */
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_groups),         IN_FOLDER(test_refused_tables),
        IN_FOLDER(test_distances),      IN_FOLDER(test_band_and_step),
        IN_FOLDER(test_refused_charts), IN_FOLDER(test_sequential_from_the_top),
        IN_FOLDER(test_picture),        IN_FOLDER(test_refused_pictures),
        IN_FOLDER(test_facts),          IN_FOLDER(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
