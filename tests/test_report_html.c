/* The report: every record is shown or says why not, nothing of the data
 * becomes markup, and the file opens without a network. */
#include "test_report_page.h"

static void test_table(void **state)
{
    show(*state, "[{\"kind\":\"table\",\"title\":\"Accuracy\",\"note\":\"Of three.\","
                 "\"columns\":[\"model\",\"p\",\"paper\",\"z\",\"tiny\",\"n\"],\"rows\":["
                 "[\"single\",0.9,0.78521234,\"-2.15\",0.00034,1000000],"
                 "[\"2 layers\",0.95,null,\"1.20\",0.0000000012,-3],"
                 "[\"OSE\",1,0.5,null,-0.002,9007199254740993]]}]");
    has("<figure class=\"table\" id=\"table-1\">");
    has("<a class=\"number\" href=\"#table-1\"><b>Table 1.</b></a> Accuracy");
    has("<th scope=\"col\">model</th><th scope=\"col\" class=\"n\">p</th>");
    has("<td class=\"short\">2 layers</td>");
    has("<td class=\"n\">0.90</td><td class=\"n\" data-v=\"0.78521234\">0.7852</td><td "
        "class=\"n\">−2.15</td>"
        "<td class=\"n\">0.00034</td><td class=\"n\">1000000</td>");
    has("<td class=\"n\">0.95</td><td class=\"n\">–</td><td class=\"n\">1.20</td>"
        "<td class=\"n\" data-v=\"1.2e-09\">1.20×10⁻⁹</td><td class=\"n\">−3</td>");
    has("<td class=\"n\">1.00</td><td class=\"n\">0.5000</td><td class=\"n\">–</td>"
        "<td class=\"n\">−0.00200</td><td class=\"n\">9007199254740993</td>");
    has("<p class=\"note\">Of three.</p>");
}

static void test_table_decimals(void **state)
{
    show(*state, "[{\"kind\":\"table\",\"columns\":[\"a\",\"b\",\"c\"],\"decimals\":[1,0,null],"
                 "\"rows\":[[0.25,1.5,0.5],[12,7,3],[true,1e30,\"%s%n\"]]}]");
    has("<td class=\"short\" data-v=\"0.25\">0.2</td><td class=\"n\" data-v=\"1.5\">2</td>"
        "<td class=\"short\">0.5</td>");
    has("<td class=\"short\">12.0</td><td class=\"n\">7</td>");
    has("<td class=\"short\">yes</td><td class=\"n\" data-v=\"1e+30\">1.000000×10³⁰</td>"
        "<td class=\"short\">%s%n</td>");
}

/* One that is far out takes no digits from the others. */
static void test_table_digits(void **state)
{
    show(*state, "[{\"kind\":\"table\",\"columns\":[\"a\",\"b\"],\"digits\":[4,null],"
                 "\"rows\":[[0.00412345,0.25],[1234567,1],[null,2],[3,3]]}]");
    has("<td class=\"n\" data-v=\"0.00412345\">0.004123</td><td class=\"n\">0.25</td>");
    has("<td class=\"n\">1234567</td>");
    has("<td class=\"n\">–</td>");
    has("<td class=\"n\">3</td><td class=\"n\">3.00</td>");
}

static void test_verdicts(void **state)
{
    show(*state,
         "[{\"kind\":\"verdict\",\"item\":\"Table 1\",\"claim\":\"A wins\",\"holds\":\"yes\","
         "\"because\":\"by 3\"},{\"kind\":\"verdict\",\"claim\":\"B wins\",\"holds\":\"partly\"},"
         "{\"kind\":\"verdict\",\"claim\":\"C wins\",\"holds\":\"no\"},"
         "{\"kind\":\"verdict\",\"claim\":\"D wins\",\"holds\":\"maybe\"}]");
    has("Of 3 claims checked, 1 holds, 1 holds partly and 1 does not hold here.");
    has("<div class=\"verdict\" id=\"verdict-1\"><span class=\"chip yes\"><i "
        "aria-hidden=\"true\">✓</i> "
        "holds</span><div><p class=\"item\">Table 1</p><p>A wins</p><p class=\"because\">by 3</p>");
    has("<tr data-holds=\"yes\"><td class=\"item\">Table 1</td><td><a href=\"#verdict-1\">A "
        "wins</a>");
    has("<tr data-holds=\"no\"><td class=\"item\"></td><td><a href=\"#verdict-3\">C "
        "wins</a></td><td>"
        "<span class=\"chip no\"><i aria-hidden=\"true\">✕</i> does not hold here</span>");
    has("&quot;holds&quot; is &quot;maybe&quot;, not yes, partly, no or open.");
    /* in the key, in the list and in its place */
    assert_int_equal(count_of(html, "<span class=\"chip yes\">"), 3);
    assert_int_equal(count_of(html, "<span class=\"chip partly\">"), 3);
    assert_int_equal(count_of(html, "<span class=\"chip no\">"), 3);
    assert_null(strstr(html, "D wins"));
}

static const char lines_entry[] =
    "{\"kind\":\"lines\",\"title\":\"Curves\",\"x_label\":\"n\",\"y_label\":\"accuracy\","
    "\"percent\":true,\"y_min\":0,\"y_max\":1,\"note\":\"Exact.\",\"series\":["
    "{\"name\":\"p\",\"x\":[1,2,3],\"y\":[0.5,null,0.75],\"color\":1},"
    "{\"name\":\"q\",\"x\":[1,2],\"y\":[0.5,0.625],\"error\":[0.1,null],\"points\":true}]}";

static const char heat_entry[] =
    "{\"kind\":\"heat\",\"title\":\"Gain\",\"x_label\":\"x\",\"y_label\":\"y\","
    "\"value_label\":\"points\",\"percent\":true,\"x\":[0,0.5],\"y\":[1,2],\"panels\":["
    "{\"title\":\"K = 3\",\"values\":[[0.01,-0.02],[null,0]]},"
    "{\"title\":\"K = 10\",\"values\":[[1,2],[3,4]]}]}";

static const char table_entry[] =
    "{\"kind\":\"table\",\"title\":\"T\",\"columns\":[\"a\",\"b\"],\"decimals\":[1,null],"
    "\"rows\":[[\"x\",0.5],[null,2]],\"note\":\"n\"}";

/* A list of what stands right below it is left out. */
static void test_leading_verdicts(void **state)
{
    const char *first = "{\"kind\":\"verdict\",\"claim\":\"A wins\",\"holds\":\"yes\"}";
    char entries[200];
    snprintf(entries, sizeof entries, "[%s,{\"kind\":\"text\",\"text\":\"t\"}]", first);
    show(*state, entries);
    assert_null(strstr(html, "id=\"overview\""));
    assert_int_equal(count_of(html, "<span class=\"chip yes\">"), 1);
    snprintf(entries, sizeof entries, "[{\"kind\":\"text\",\"text\":\"t\"},%s]", first);
    show(*state, entries); /* a second record */
    has("id=\"overview\"");
    assert_int_equal(count_of(html, "<span class=\"chip yes\">"), 5);
}

/* Verdicts are listed by chapter, in the order in which the page shows them. */
static void test_overview(void **state)
{
    append(*state, record("one", "First (section 2)",
                          "[{\"kind\":\"text\",\"text\":\"What it is. And more.\"},"
                          "{\"kind\":\"verdict\",\"claim\":\"A\",\"holds\":\"yes\"}]"));
    append(*state,
           record("two", "Second", "[{\"kind\":\"verdict\",\"claim\":\"B\",\"holds\":\"no\"}]"));
    append(*state, record("three", "Behind", NULL));
    append(*state, record("four", "First (section 2)",
                          "[{\"kind\":\"verdict\",\"claim\":\"C\",\"holds\":\"open\"}]"));
    write_report(*state);
    has("Of 3 claims checked, 1 holds, 0 hold partly and 1 does not hold here; 1 is open at this "
        "scale.");
    has("<li><a href=\"#s1\">First <span class=\"where\">(section 2)</span></a></li>\n<li><a "
        "href=\"#s2\">Second</a></li>\n</ol>\n</nav>");
    has("<p>What it is.</p></li>");
    has("<h2>Records behind the chapters</h2>\n<details><summary>1 record without a picture or "
        "table: Behind</summary>");
    static const char *const order[] = {"<a href=\"#verdict-1\">A</a>",
                                        "<a href=\"#verdict-2\">C</a>",
                                        "<a href=\"#verdict-3\">B</a>",
                                        "id=\"verdict-1\"",
                                        "<p>A</p>",
                                        "id=\"verdict-2\"",
                                        "<p>C</p>",
                                        "id=\"verdict-3\"",
                                        "<p>B</p>"};
    const char *at = html;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (!at)
            fail_msg("not in order: %s", order[i]);
    }
}

/* Many records of texts and tables alone are folded, those with a verdict are not. */
static void test_folded(void **state)
{
    for (int i = 0; i < 5; i++) {
        if (i == 4) {
            write_report(*state);
            assert_null(strstr(html, "folded\""));
        }
        append(*state, record("seed", "Seeds", "[{\"kind\":\"text\",\"text\":\"t\"}]"));
    }
    append(*state, record("all", "Seeds",
                          "[{\"kind\":\"text\",\"text\":\"t\"},{\"kind\":\"verdict\","
                          "\"claim\":\"A\",\"holds\":\"yes\"}]"));
    write_report(*state);
    assert_int_equal(count_of(html, "<details class=\"folded\"><summary><code>seed</code>"), 5);
    assert_int_equal(count_of(html, "<article>"), 6);
}

/* The file that a link saves is the one of bang_figure_csv, encoded. */
static void test_csv_links(void **state)
{
    char entries[3000];
    snprintf(entries, sizeof entries,
             "[%s,{\"kind\":\"text\",\"text\":\"t\"},{\"kind\":\"bars\",\"names\":[\"a,\\\"b\\\" "
             "\u00e4\"],\"values\":[0.5]}]",
             table_entry);
    append(*state, record("some/key", "Section", entries));
    write_report(*state);
    has("<a class=\"tool csv\" download=\"some-key_t.csv\" "
        "href=\"data:text/csv;charset=utf-8,a,b%0Ax,0.5%0A,2%0A\">CSV</a></figcaption>");
    has("download=\"some-key_bars.csv\" href=\"data:text/csv;charset=utf-8,name,value%0A"
        "%22a,%22%22b%22%22%20%C3%A4%22,0.5%0A\">CSV</a>");
}

/* A single one is named by its key; several by their titles, which may be the same. */
static void test_csv_names(void **state)
{
    static const char one[] = "{\"kind\":\"bars\",\"title\":\"%s\",\"names\":[\"a\"],"
                              "\"values\":[1]}",
                      *const titles[] = {"Accuracy, % (LONG)", "Accuracy: % LONG",
                                         "Accuracy long 2", "/../\u00e4 \u00fc",
                                         "Many words that go on and on until nobody has room for "
                                         "them"};
    char entries[3000] = "[";
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        size_t used = strlen(entries);
        snprintf(entries + used, sizeof entries - used, i ? "," : "%s", "");
        used = strlen(entries);
        snprintf(entries + used, sizeof entries - used, one, titles[i]);
        if (i == 0) {
            char alone[400];
            snprintf(alone, sizeof alone, "%s]", entries);
            append(*state, record("one/key", "Section", alone));
        }
    }
    snprintf(entries + strlen(entries), sizeof entries - strlen(entries), "]");
    append(*state, record("k", "Section", entries));
    write_report(*state);
    has("download=\"one-key.csv\"");
    has("download=\"k_accuracy-long.csv\"");
    has("download=\"k_accuracy-long_2.csv\"");
    has("download=\"k_accuracy-long-2.csv\"");
    has("download=\"k.csv\"");
    has("download=\"k_many-words-that-go-on-and-on-until-nobody-has.csv\"");
}

/* Contents lead to an overview where there is one. */
static void test_contents(void **state)
{
    static const char text[] = "[{\"kind\":\"text\",\"text\":\"t\"}]";
    append(*state, record("a", "One", text));
    append(*state, record("b", "Two", text));
    write_report(*state);
    has("<nav aria-label=\"Contents\">\n<ol>\n<li><a href=\"#s1\">One</a>");
    assert_null(strstr(html, "Overview"));
    append(*state,
           record("c", "Two", "[{\"kind\":\"verdict\",\"claim\":\"A\",\"holds\":\"yes\"}]"));
    write_report(*state);
    has("<ol>\n<li><a href=\"#top\">Overview</a></li>\n<li><a href=\"#s1\">One</a>");
}

static void test_table_intervals(void **state)
{
    show(*state, "[{\"kind\":\"table\",\"columns\":[\"a\",\"b\"],\"rows\":["
                 "[\"+1.9 [+0.4, +3.3]\",\"a [1]\"],[\"-0.2 [-0.5, 0.1]\",\"2\"]]}]");
    has("<th scope=\"col\" class=\"n\">a</th><th scope=\"col\">b</th>");
    has("<td class=\"n\">+1.9 [+0.4, +3.3]</td><td class=\"short\">a [1]</td>");
}

static void test_charts(void **state)
{
    char entries[2000];
    snprintf(entries, sizeof entries, "[%s,%s]", lines_entry, heat_entry);
    show(*state, entries);
    has("<div class=\"chart\" style=\"--w:820\">\n<svg ");
    has("<b>Figure 1.</b></a> Curves <span class=\"note\">Exact.</span>");
    has("<figure id=\"figure-2\">");
    has("<b>Figure 2.</b></a> Gain");
    has("<title>q: (1, 50% ± 10%)</title>");
    has("<title>p: (3, 75%)</title>");
    has("<title>x 0.5, y 1: −2</title>");
    assert_int_equal(count_of(html, "</title></rect>"), 7);
    assert_null(strstr(html, "cannot be shown"));
}

/* What is wrong is said, and what follows is shown. */
static void test_malformed_entries(void **state)
{
    static const struct {
        const char *entry, *why;
    } cases[] = {
        {"7", "it is no object"},
        {"{}", "&quot;kind&quot; is missing"},
        {"{\"kind\":7}", "&quot;kind&quot; is no text"},
        {"{\"kind\":\"<pie>\"}", "its kind &quot;&lt;pie&gt;&quot; is unknown"},
        {"{\"kind\":\"text\"}", "&quot;text&quot; is missing"},
        {"{\"kind\":\"verdict\",\"holds\":\"yes\"}", "&quot;claim&quot; is missing"},
        {"{\"kind\":\"verdict\",\"claim\":\"c\"}", "&quot;holds&quot; is missing"},
        {"{\"kind\":\"table\",\"rows\":[]}", "&quot;columns&quot; is missing"},
        {"{\"kind\":\"table\",\"columns\":[],\"rows\":[]}", "&quot;columns&quot; is empty"},
        {"{\"kind\":\"table\",\"columns\":[1],\"rows\":[]}", "the name of column 1 is no text"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"]}", "&quot;rows&quot; is missing"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":{}}", "&quot;rows&quot; is no array"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":[[1],2]}", "row 2 is no array"},
        {"{\"kind\":\"table\",\"columns\":[\"a\",\"b\"],\"rows\":[[1]]}",
         "row 1 is 1 cells long, the heading 2"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":[[[]]]}", "row 1 holds a cell"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":[],\"decimals\":[\"%n\"]}",
         "&quot;decimals&quot; holds something other than 0 to 15"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":[],\"digits\":[0]}",
         "&quot;digits&quot; holds something other than 1 to 15"},
        {"{\"kind\":\"table\",\"columns\":[\"a\"],\"rows\":[],\"decimals\":[1,2]}",
         "&quot;decimals&quot; is no array of one number per column"},
        {"{\"kind\":\"table\",\"title\":[],\"columns\":[\"a\"],\"rows\":[]}",
         "&quot;title&quot; is no text"},
        {"{\"kind\":\"lines\"}", "&quot;series&quot; is missing"},
        {"{\"kind\":\"lines\",\"series\":[3]}", "series 1 is no object"},
        {"{\"kind\":\"lines\",\"series\":[{}]}", "&quot;x&quot; of series 1 is no array"},
        {"{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[1,2]}]}",
         "&quot;y&quot; of series 1 is of length 2 instead of 1"},
        {"{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[\"a\"]}]}",
         "value 1 of &quot;y&quot; of series 1 is no number"},
        {"{\"kind\":\"lines\",\"series\":[{\"x\":[1],\"y\":[1],\"error\":[]}]}",
         "&quot;error&quot; of series 1 is of length 0 instead of 1"},
        {"{\"kind\":\"lines\",\"series\":[{\"x\":[],\"y\":[],\"color\":1.5}]}",
         "the colour of series 1 is no whole number"},
        {"{\"kind\":\"lines\",\"series\":[],\"y_min\":\"0\"}", "&quot;y_min&quot; is no number"},
        {"{\"kind\":\"heat\",\"x\":[1],\"y\":[1]}", "&quot;panels&quot; is missing"},
        {"{\"kind\":\"heat\",\"x\":[1],\"y\":[1],\"panels\":[1]}", "panel 1 is no object"},
        {"{\"kind\":\"heat\",\"x\":[1],\"y\":[1],\"panels\":[{\"values\":[]}]}",
         "panel 1 has 0 rows where &quot;y&quot; has 1"},
        {"{\"kind\":\"heat\",\"x\":[1],\"y\":[1],\"panels\":[{\"values\":[[1,2]]}]}",
         "row 1 of panel 1 is of length 2 instead of 1"},
    };
    char entries[1000], why[200];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(entries, sizeof entries, "[%s,{\"kind\":\"text\",\"text\":\"after %zu\"}]",
                 cases[i].entry, i);
        append(*state, record("key", "Section", entries));
    }
    write_report(*state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(why, sizeof why, "This entry cannot be shown: %s", cases[i].why);
        has(why);
        snprintf(why, sizeof why, "<p>after %zu</p>", i);
        has(why);
    }
    assert_int_equal(count_of(html, "cannot be shown"), sizeof cases / sizeof *cases);
}

/* Puts every odd value at every place of root and adds the results to out. */
static void disturb(json_t *out, json_t *root, json_t *at)
{
    static const char *const odd[] = {"null", "true", "-7",     "1e300",   "\"\"", "\"<b>&\"",
                                      "[]",   "[[]]", "[null]", "[\"a\"]", "{}",   "99999999999"};
    size_t count = json_is_array(at) ? json_array_size(at) : json_object_size(at);
    void *iter = json_object_iter(at);
    for (size_t i = 0; i < count; i++) {
        json_t *member = iter ? json_object_iter_value(iter) : json_array_get(at, i);
        disturb(out, root, json_incref(member));
        for (size_t o = 0; o < sizeof odd / sizeof *odd; o++) {
            if (iter)
                json_object_iter_set_new(at, iter, json(odd[o]));
            else
                json_array_set_new(at, i, json(odd[o]));
            json_array_append_new(out, json_deep_copy(root));
        }
        if (iter) {
            json_object_iter_set_new(at, iter, member);
            iter = json_object_iter_next(at, iter);
        } else {
            json_array_set_new(at, i, member);
        }
    }
}

static void test_disturbed_entries(void **state)
{
    static const char *const entries[] = {
        table_entry,
        lines_entry,
        heat_entry,
        "{\"kind\":\"text\",\"text\":\"t\"}",
        "{\"kind\":\"verdict\",\"item\":\"i\",\"claim\":\"c\",\"holds\":\"yes\",\"because\":\"b\"}",
        "{\"kind\":\"table\",\"columns\":[\"a\",\"b\"],\"groups\":[[\"\",1],[\"g\",1]],"
        "\"shade\":[null,\"z\"],\"rows\":[[1,2.5]]}",
        "{\"kind\":\"lines\",\"series\":[{\"x\":[1,2],\"y\":[3,4],\"band\":[1,2],\"step\":true}]}",
        "{\"kind\":\"heat\",\"x\":[1],\"y\":[1,2],\"sequential\":true,\"top_down\":true,"
        "\"panels\":[{\"values\":[[1],[2]]}]}",
        "{\"kind\":\"picture\",\"png\":\"iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAA\","
        "\"alt\":\"a\",\"scale\":2,\"pixelated\":true}",
        "{\"kind\":\"facts\",\"title\":\"t\",\"rows\":[[\"a\",\"b\"],[\"c\",1]]}"};
    json_t *all = record("key", "Section", NULL), *disturbed = json_array();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        json_t *root = json(entries[i]);
        disturb(disturbed, root, root);
        json_decref(root);
    }
    assert_true(json_array_size(disturbed) > 500);
    json_object_set_new(all, "show", disturbed);
    append(*state, all);
    write_report(*state);
    assert_true(count_of(html, "cannot be shown") > 200);
    assert_true(count_of(html, "<figure") > 100);
}

static void test_sections(void **state)
{
    append(*state, record("one", "First", "[{\"kind\":\"text\",\"text\":\"text one\"}]"));
    append(*state, record("two", "Second", "[{\"kind\":\"text\",\"text\":\"text two\"}]"));
    append(*state, record("three", "First", "[{\"kind\":\"text\",\"text\":\"text three\"}]"));
    append(*state, record("four", "First", NULL));
    append(*state, record("five", NULL, "{}"));
    json_t *newer = record("six", "Second", NULL);
    json_object_set_new(newer, "version", json_string("0.2.0"));
    append(*state, newer);
    write_report(*state);
    has("shows 6 result records, made by bang 0.1.0, 0.2.0.");
    has("<li><a href=\"#s2\">Second</a></li>");
    assert_int_equal(count_of(html, "<h2>"), 3);
    /* Each part after the one before. */
    static const char *const order[] = {"<h2>First</h2>",
                                        "text one",
                                        "<code>one</code>",
                                        "text three",
                                        "1 record without a picture or table",
                                        "<code>four</code>",
                                        "<h2>Second</h2>",
                                        "text two",
                                        "<code>six</code>",
                                        "<h2>Other results</h2>",
                                        "&quot;show&quot; is no array"};
    const char *at = html;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (!at)
            fail_msg("not in order: %s", order[i]);
    }
}

static void test_options(void **state)
{
    append(*state,
           json("{\"key\":\"k\",\"experiment\":\"e\",\"version\":\"0.1.0\",\"data\":\"sha\","
                "\"options\":{\"seed\":18446744,\"p\":0.1,\"third\":0.3333333333333333,"
                "\"fast\":true,\"none\":null,\"models\":[\"2,3\",[]],\"o\":{\"a\":1,\"b\":2}},"
                "\"result\":{\"secret\":1}}"));
    write_report(*state);
    has("How to reproduce <code>k</code>");
    has("<dt>experiment</dt><dd>e</dd>");
    has("<dt>data</dt><dd>sha</dd>");
    has("<dt>seed</dt><dd>18446744</dd>");
    has("<dt>p</dt><dd>0.1</dd>");
    has("<dt>third</dt><dd>0.3333333333333333</dd>");
    has("<dt>fast</dt><dd>yes</dd>");
    has("<dt>none</dt><dd>–</dd>");
    has("<dt>models</dt><dd>[2,3, []]</dd>");
    has("<dt>o</dt><dd>{a: 1, b: 2}</dd>");
    assert_null(strstr(html, "secret"));
}

/* Replaces every text of value by one that would like to be markup. */
static void poison(json_t *value)
{
    static const char bad[] = "</style><script>&'\"]]>\x01<!--";
    const char *key;
    json_t *member;
    void *next;
    if (json_is_string(value))
        json_string_set_nocheck(value, bad);
    for (size_t i = 0; i < json_array_size(value); i++)
        poison(json_array_get(value, i));
    json_object_foreach_safe(value, next, key, member)
    {
        if (strcmp(key, "kind") != 0 && strcmp(key, "holds") != 0)
            poison(member);
    }
    if (json_is_object(value) && !json_object_get(value, "kind"))
        json_object_set_new(value, bad, json_string(bad));
}

static void test_hostile_texts(void **state)
{
    char entries[4000];
    snprintf(entries, sizeof entries,
             "[%s,%s,%s,{\"kind\":\"text\",\"text\":\"t\"},{\"kind\":\"verdict\",\"claim\":\"c\","
             "\"holds\":\"no\",\"because\":\"b\"},{\"kind\":\"x\"}]",
             table_entry, lines_entry, heat_entry);
    json_t *all = record("key", "Section", entries);
    poison(all);
    append(*state, all);
    write_report(*state); /* which is well formed and without scripts */
    assert_true(count_of(html, "&lt;script&gt;") > 20);
    assert_int_equal(count_of(html, "</style>"), 1);
}

static void test_same_bytes(void **state)
{
    char entries[4000];
    snprintf(entries, sizeof entries, "[%s,%s,%s]", table_entry, lines_entry, heat_entry);
    show(*state, entries);
    char *first = strdup(html);
    assert_string_equal(first, write_report(*state));
    free(first);
    if (strstr(html, *state))
        fail_msg("the report names its folder");
}

static void check_failure(const char *path, const char *folder, int code, const char *message)
{
    bang_error err = {0};
    assert_int_equal(bang_report_write(path, folder, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, message))
        fail_msg("%s does not say %s", err.message, message);
}

static void test_failures(void **state)
{
    bang_error err = {0};
    char *old = NULL;
    size_t size;
    const char *path = in_folder(*state, "report.html");
    check_failure(path, in_folder(*state, "missing"), BANG_EDATA, "no result records");
    check_failure(path, *state, BANG_EDATA, "results.jsonl: no result records");
    assert_true(bang_file_read(&old, &size, path, &err) < 0);
    assert_int_equal(bang_file_put(path, "old", 3, &err), 0);
    assert_int_equal(bang_file_put(in_folder(*state, "results.jsonl"), "{}\n{\n{}\n", 8, &err), 0);
    check_failure(path, *state, BANG_EDATA, "2");
    assert_int_equal(bang_file_read(&old, &size, path, &err), 0);
    assert_string_equal(old, "old"); /* a failure leaves what was there */
    free(old);
    remove(in_folder(*state, "results.jsonl"));
    append(*state, record("k", "s", NULL));
    check_failure(in_folder(*state, "no/such/report.html"), *state, BANG_EIO, "no/such");
    assert_int_equal(bang_report_write(path, *state, NULL), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_table),
        IN_FOLDER(test_table_decimals),
        IN_FOLDER(test_table_digits),
        IN_FOLDER(test_table_intervals),
        IN_FOLDER(test_verdicts),
        IN_FOLDER(test_leading_verdicts),
        IN_FOLDER(test_overview),
        IN_FOLDER(test_folded),
        IN_FOLDER(test_csv_links),
        IN_FOLDER(test_csv_names),
        IN_FOLDER(test_contents),
        IN_FOLDER(test_charts),
        IN_FOLDER(test_malformed_entries),
        IN_FOLDER(test_disturbed_entries),
        IN_FOLDER(test_sections),
        IN_FOLDER(test_options),
        IN_FOLDER(test_hostile_texts),
        IN_FOLDER(test_same_bytes),
        IN_FOLDER(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
