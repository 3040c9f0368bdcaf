/* The entries that are mostly text, and what all kinds share. */
#include <string.h>

#include "bang/report/figure.h"
#include "report/draw.h"
#include "report/page.h"

int bang_page_string(const char **out, const json_t *entry, const char *name, bang_error *err)
{
    const json_t *member = json_object_get(entry, name);
    *out = NULL;
    if (!member || json_is_null(member))
        return 0;
    if (!json_is_string(member))
        return bang_fail(err, BANG_EDATA, "\"%s\" is no text", name);
    *out = json_string_value(member);
    return 0;
}

int bang_page_array(const json_t **out, const json_t *entry, const char *name, bang_error *err)
{
    *out = json_object_get(entry, name);
    if (!*out)
        return bang_fail(err, BANG_EDATA, "\"%s\" is missing", name);
    if (!json_is_array(*out))
        return bang_fail(err, BANG_EDATA, "\"%s\" is no array", name);
    return 0;
}

int bang_page_flag(int *out, const json_t *entry, const char *name, bang_error *err)
{
    const json_t *member = json_object_get(entry, name);
    *out = json_is_true(member);
    if (member && !json_is_boolean(member) && !json_is_null(member))
        return bang_fail(err, BANG_EDATA, "\"%s\" is neither true nor false", name);
    return 0;
}

void bang_page_caption(bang_text *out, const char *word, int number, const char *title)
{
    bang_text_add(out, "<a class=\"number\" href=\"#%s-%d\"><b>%s %d.</b></a> ",
                  strcmp(word, "Table") == 0 ? "table" : "figure", number, word, number);
    bang_draw_escaped(out, title);
}

void bang_page_open_figure(bang_page *page)
{
    bang_text_add(&page->out, "<figure id=\"figure-%d\">\n", ++page->figures);
}

/* What a URL holds as it is; quotes, brackets and & are not among it. */
static void add_encoded(bang_text *out, const bang_text *data)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_.~,:;=+*()/!";
    const char *end = data->data + data->size;
    for (const char *s = data->data; s < end;) {
        size_t run = strspn(s, plain);
        bang_text_add_bytes(out, s, run);
        s += run;
        if (s < end)
            bang_text_add(out, "%%%02X", (unsigned char)*s++);
    }
}

void bang_page_csv(bang_page *page, const json_t *entry)
{
    bang_text *out = &page->out, csv = {0};
    const char *name = json_string_value(json_array_get(page->files, page->entry));
    bang_error err;
    if (!bang_figure_has_numbers(entry))
        return;
    if (bang_figure_csv(&csv, entry, &err) < 0 || !name)
        out->failed = 1;
    bang_text_add(out, " <a class=\"tool csv\" download=\"");
    bang_draw_escaped(out, name ? name : "");
    bang_text_add(out, "\" href=\"data:text/csv;charset=utf-8,");
    add_encoded(out, &csv);
    bang_text_add(out, "\">CSV</a>");
    bang_text_release(&csv);
}

void bang_page_close_figure(bang_page *page, const json_t *entry, const char *title,
                            const char *note)
{
    bang_text *out = &page->out;
    bang_text_add(out, "<figcaption>");
    bang_page_caption(out, "Figure", page->figures, title);
    if (note) {
        bang_text_add(out, " <span class=\"note\">");
        bang_draw_escaped(out, note);
        bang_text_add(out, "</span>");
    }
    bang_page_csv(page, entry);
    bang_text_add(out, "</figcaption>\n</figure>\n");
}

const char *bang_page_holds(int holds)
{
    static const char *const names[BANG_HOLDS_COUNT] = {"yes", "partly", "no", "open"};
    return names[holds];
}

const char *bang_page_holds_words(int holds)
{
    static const char *const words[BANG_HOLDS_COUNT] = {"holds", "partly", "does not hold here",
                                                        "open"};
    return words[holds];
}

int bang_page_verdict(bang_verdict *out, const json_t *entry, bang_error *err)
{
    const char *holds;
    if (bang_page_string(&out->item, entry, "item", err) < 0 ||
        bang_page_string(&out->claim, entry, "claim", err) < 0 ||
        bang_page_string(&out->because, entry, "because", err) < 0 ||
        bang_page_string(&holds, entry, "holds", err) < 0)
        return BANG_EDATA;
    if (!out->claim)
        return bang_fail(err, BANG_EDATA, "\"claim\" is missing");
    if (!holds)
        return bang_fail(err, BANG_EDATA, "\"holds\" is missing");
    for (int i = 0; i < BANG_HOLDS_COUNT; i++)
        if (strcmp(holds, bang_page_holds(i)) == 0) {
            out->holds = i;
            return 0;
        }
    return bang_fail(err, BANG_EDATA, "\"holds\" is \"%s\", not yes, partly, no or open", holds);
}

/* The sign tells verdicts apart for those who do not see colours. */
void bang_page_chip(bang_text *out, int holds)
{
    static const char *const signs[BANG_HOLDS_COUNT] = {"✓", "~", "✕", "?"};
    bang_text_add(out, "<span class=\"chip %s\"><i aria-hidden=\"true\">%s</i> %s</span>",
                  bang_page_holds(holds), signs[holds], bang_page_holds_words(holds));
}

static int show_text(bang_page *page, const json_t *entry, bang_error *err)
{
    const char *text;
    if (bang_page_string(&text, entry, "text", err) < 0)
        return err->code;
    if (!text)
        return bang_fail(err, BANG_EDATA, "\"text\" is missing");
    bang_text_add(&page->out, "<p>");
    bang_draw_escaped(&page->out, text);
    bang_text_add(&page->out, "</p>\n");
    return 0;
}

static int show_verdict(bang_page *page, const json_t *entry, bang_error *err)
{
    bang_verdict verdict;
    if (bang_page_verdict(&verdict, entry, err) < 0)
        return err->code;
    bang_text_add(&page->out, "<div class=\"verdict\" id=\"verdict-%d\">", ++page->verdicts);
    bang_page_chip(&page->out, verdict.holds);
    bang_text_add(&page->out, "<div>");
    if (verdict.item) {
        bang_text_add(&page->out, "<p class=\"item\">");
        bang_draw_escaped(&page->out, verdict.item);
        bang_text_add(&page->out, "</p>");
    }
    bang_text_add(&page->out, "<p>");
    bang_draw_escaped(&page->out, verdict.claim);
    bang_text_add(&page->out, "</p>");
    if (verdict.because) {
        bang_text_add(&page->out, "<p class=\"because\">");
        bang_draw_escaped(&page->out, verdict.because);
        bang_text_add(&page->out, "</p>");
    }
    bang_text_add(&page->out, "</div></div>\n");
    return 0;
}

static int show_entry(bang_page *page, const json_t *entry, bang_error *err)
{
    static const struct {
        const char *kind;
        int (*show)(bang_page *, const json_t *, bang_error *);
    } kinds[] = {{"text", show_text},
                 {"table", bang_page_table},
                 {"picture", bang_page_picture},
                 {"facts", bang_page_facts},
                 {"verdict", show_verdict}};
    const char *kind;
    if (!json_is_object(entry))
        return bang_fail(err, BANG_EDATA, "it is no object");
    if (bang_page_string(&kind, entry, "kind", err) < 0)
        return err->code;
    if (!kind)
        return bang_fail(err, BANG_EDATA, "\"kind\" is missing");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].show(page, entry, err);
    if (bang_page_is_chart(kind))
        return bang_page_figure(page, entry, err);
    return bang_fail(err, BANG_EDATA, "its kind \"%s\" is unknown", kind);
}

static void add_problem(bang_text *out, const char *why)
{
    bang_text_add(out, "<p class=\"problem\">This entry cannot be shown: ");
    bang_draw_escaped(out, why);
    bang_text_add(out, ".</p>\n");
}

void bang_page_show(bang_page *page, const json_t *record)
{
    const json_t *show = json_object_get(record, "show");
    if (!json_is_array(show)) {
        add_problem(&page->out, "\"show\" is no array");
        return;
    }
    page->files = bang_figure_files(record);
    page->out.failed |= !page->files;
    for (size_t i = 0; i < json_array_size(show) && !page->out.failed; i++) {
        bang_error err = {0};
        const json_t *entry = json_array_get(show, i);
        page->entry = i;
        int rc = show_entry(page, entry, &err);
        if (rc == 0)
            continue;
        if (err.code == BANG_EMEMORY)
            page->out.failed = 1;
        if (!page->out.failed)
            add_problem(&page->out, err.message);
    }
    json_decref(page->files);
    page->files = NULL;
}
