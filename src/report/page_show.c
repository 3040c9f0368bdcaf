/* The entries that are mostly text, and what all kinds share. */
#include <string.h>

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

void bang_page_close_figure(bang_page *page, const char *title, const char *note)
{
    bang_text *out = &page->out;
    bang_text_add(out, "<figcaption>");
    bang_page_caption(out, "Figure", page->figures, title);
    if (note) {
        bang_text_add(out, " <span class=\"note\">");
        bang_draw_escaped(out, note);
        bang_text_add(out, "</span>");
    }
    bang_text_add(out, "</figcaption>\n</figure>\n");
}

int bang_page_verdict(bang_verdict *out, const json_t *entry, bang_error *err)
{
    static const char *const names[] = {"yes", "partly", "no", "open"};
    const char *holds;
    if (bang_page_string(&out->claim, entry, "claim", err) < 0 ||
        bang_page_string(&out->because, entry, "because", err) < 0 ||
        bang_page_string(&holds, entry, "holds", err) < 0)
        return BANG_EDATA;
    if (!out->claim)
        return bang_fail(err, BANG_EDATA, "\"claim\" is missing");
    if (!holds)
        return bang_fail(err, BANG_EDATA, "\"holds\" is missing");
    for (int i = BANG_HOLDS; i <= BANG_HOLDS_OPEN; i++)
        if (strcmp(holds, names[i]) == 0) {
            out->holds = i;
            return 0;
        }
    return bang_fail(err, BANG_EDATA, "\"holds\" is \"%s\", not yes, partly, no or open", holds);
}

void bang_page_chip(bang_text *out, const bang_verdict *verdict)
{
    static const char *const chips[] = {
        "<span class=\"chip yes\"><i aria-hidden=\"true\">✓</i> holds</span>",
        "<span class=\"chip partly\"><i aria-hidden=\"true\">~</i> partly</span>",
        "<span class=\"chip no\"><i aria-hidden=\"true\">✕</i> does not hold</span>",
        "<span class=\"chip open\"><i aria-hidden=\"true\">?</i> undecided</span>",
    };
    bang_text_add(out, "%s", chips[verdict->holds]);
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
    bang_text_add(&page->out, "<div class=\"verdict\">");
    bang_page_chip(&page->out, &verdict);
    bang_text_add(&page->out, "<div><p>");
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

void bang_page_show(bang_page *page, const json_t *show)
{
    if (!json_is_array(show)) {
        add_problem(&page->out, "\"show\" is no array");
        return;
    }
    for (size_t i = 0; i < json_array_size(show); i++) {
        bang_error err = {0};
        if (show_entry(page, json_array_get(show, i), &err) == 0)
            continue;
        if (err.code == BANG_EMEMORY)
            page->out.failed = 1;
        if (page->out.failed)
            return;
        add_problem(&page->out, err.message);
    }
}
