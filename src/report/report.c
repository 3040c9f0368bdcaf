#include "bang/report/report.h"

#include <string.h>

#include "bang/base/digest.h"
#include "bang/base/file.h"
#include "bang/base/record.h"
#include "report/draw.h"
#include "report/outline.h"

/* From this many on, records of texts and tables alone are folded. */
enum { PLAIN_MANY = 5 };

typedef struct report {
    bang_page page;
    const char *title, *lead; /* lead NULL: what a report of a run says */
    const json_t *records;
    bang_outline outline;
} report;

/* "0.1.0" or "0.1.0, 0.2.0": each version once. */
static void add_versions(report *r)
{
    bang_text *out = &r->page.out;
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(r->records); i++) {
        const char *version = bang_outline_text(json_array_get(r->records, i), "version", NULL);
        int seen = !version;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(bang_outline_text(json_array_get(r->records, j), "version", ""),
                          version) == 0;
        if (seen)
            continue;
        bang_text_add(out, found++ ? ", " : ", made by bang ");
        bang_draw_escaped(out, version);
    }
}

/* Beside the page, or above it where that is narrow; always in sight. */
static void add_contents(report *r)
{
    bang_text *out = &r->page.out;
    if (r->outline.visible < 2)
        return;
    bang_text_add(out, "<nav aria-label=\"Contents\">\n<ol>\n%s",
                  bang_overview_has(&r->outline) ? "<li><a href=\"#top\">Overview</a></li>\n" : "");
    for (size_t c = 0; c < r->outline.count; c++) {
        if (!r->outline.chapters[c].shown)
            continue;
        bang_text_add(out, "<li><a href=\"#s%zu\">", c + 1);
        bang_outline_name(out, r->outline.chapters[c].name);
        bang_text_add(out, "</a></li>\n");
    }
    bang_text_add(out, "</ol>\n</nav>\n");
}

/* Nothing may be loaded and no script may run but the page's own, which its digest names:
 * whatever a record holds, and whatever escapes us. */
static void add_policy(bang_text *out)
{
    static const char digits[] = "0123456789abcdef";
    bang_text script = {0};
    char hex[BANG_DIGEST_TEXT], sum[BANG_DIGEST_TEXT / 2];
    bang_text_add(&script, "\n%s", bang_page_js);
    if (script.failed || bang_digest_bytes(hex, script.data, script.size, NULL) < 0) {
        out->failed = 1;
    } else {
        for (size_t i = 0; i < sizeof sum; i++)
            sum[i] = (char)((strchr(digits, hex[2 * i]) - digits) * 16 +
                            (strchr(digits, hex[2 * i + 1]) - digits));
        bang_text_add(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                           "'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-");
        bang_text_add_base64(out, sum, sizeof sum);
        bang_text_add(out, "'\">\n");
    }
    bang_text_release(&script);
}

static void add_head(report *r)
{
    bang_text *out = &r->page.out;
    size_t count = json_array_size(r->records);
    bang_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    add_policy(out);
    bang_text_add(out, "<title>");
    bang_draw_escaped(out, r->title);
    bang_text_add(out, "</title>\n<style>\n%s</style>\n<script>\n%s</script>\n", bang_page_css,
                  bang_page_js);
    bang_text_add(out, "</head>\n<body id=\"top\">\n");
    add_contents(r);
    bang_text_add(out, "<main>\n<header>\n<h1>");
    bang_draw_escaped(out, r->title);
    bang_text_add(out, "</h1>\n<p class=\"lead\">");
    if (r->lead)
        bang_draw_escaped(out, r->lead);
    else
        bang_text_add(out,
                      "bang explains and predicts how accurate ensembles of models are out of "
                      "distribution. This page shows %zu result record%s",
                      count, count == 1 ? "" : "s");
    if (!r->lead)
        add_versions(r);
    bang_text_add(out, "%s</p>\n</header>\n", r->lead ? "" : ".");
}

/* One record in full, folded under its key where there are many of its kind. */
static void add_record(report *r, const json_t *record, int folded)
{
    bang_text *out = &r->page.out;
    if (folded) {
        bang_text_add(out, "<details class=\"folded\"><summary><code>");
        bang_draw_escaped(out, bang_outline_text(record, "key", "(no key)"));
        bang_text_add(out, "</code></summary>\n");
    }
    bang_text_add(out, "<article>\n");
    bang_page_show(&r->page, record);
    bang_page_origin(&r->page, record);
    bang_text_add(out, "</article>\n%s", folded ? "</details>\n" : "");
}

/* The records of a chapter of which there is nothing to see. */
static void add_listed(report *r, size_t chapter)
{
    bang_text *out = &r->page.out;
    size_t listed = r->outline.chapters[chapter].listed, i;
    json_t *record;
    if (!listed)
        return;
    bang_text_add(out, "<details><summary>%zu record%s without a picture or table", listed,
                  listed == 1 ? "" : "s");
    if (!r->outline.chapters[chapter].shown) {
        bang_text_add(out, ": ");
        bang_draw_escaped(out, r->outline.chapters[chapter].name);
    }
    bang_text_add(out, "</summary>\n");
    json_array_foreach(r->records, i, record)
    {
        if (r->outline.chapter_of[i] == chapter && !bang_outline_is_shown(record))
            bang_page_origin(&r->page, record);
    }
    bang_text_add(out, "</details>\n");
}

static int is_repeated(const report *r, size_t record, const char *command)
{
    for (size_t i = 0; i < record; i++)
        if (r->outline.chapter_of[i] == r->outline.chapter_of[record] &&
            strcmp(bang_outline_text(json_array_get(r->records, i), "command", ""), command) == 0)
            return 1;
    return 0;
}

/* On paper, where nothing unfolds: each command of a chapter once. */
static void add_commands(report *r, size_t chapter)
{
    bang_text *out = &r->page.out;
    size_t i;
    json_t *record;
    json_array_foreach(r->records, i, record)
    {
        const char *command = bang_outline_text(record, "command", NULL);
        if (!command || r->outline.chapter_of[i] != chapter || is_repeated(r, i, command))
            continue;
        bang_text_add(out, "<p class=\"paper\">Made by <code>");
        bang_draw_escaped(out, command);
        bang_text_add(out, "</code></p>\n");
    }
}

static void add_chapter(report *r, size_t at)
{
    bang_text *out = &r->page.out;
    const bang_chapter *chapter = &r->outline.chapters[at];
    size_t i;
    json_t *record;
    bang_text_add(out, "<section id=\"s%zu\">\n<h2>", at + 1);
    bang_outline_name(out, chapter->name);
    bang_text_add(out, "</h2>\n");
    json_array_foreach(r->records, i, record)
    {
        if (r->outline.chapter_of[i] == at && bang_outline_is_shown(record))
            add_record(r, record, chapter->plain >= PLAIN_MANY && bang_outline_is_plain(record));
    }
    add_listed(r, at);
    add_commands(r, at);
    bang_text_add(out, "</section>\n");
}

static void add_sections(report *r)
{
    bang_text *out = &r->page.out;
    for (size_t c = 0; c < r->outline.count; c++)
        if (r->outline.chapters[c].shown)
            add_chapter(r, c);
    if (r->outline.visible == r->outline.count)
        return;
    bang_text_add(out, "<section id=\"records\">\n<h2>Records behind the chapters</h2>\n");
    for (size_t c = 0; c < r->outline.count; c++)
        if (!r->outline.chapters[c].shown)
            add_listed(r, c);
    bang_text_add(out, "</section>\n");
}

static int render(report *r, bang_error *err)
{
    bang_draw_locale locale;
    if (bang_outline_make(&r->outline, r->records) < 0 || bang_draw_begin(&locale) < 0)
        return bang_fail_memory(err);
    add_head(r);
    bang_overview_add(&r->page.out, &r->outline);
    add_sections(r);
    bang_text_add(
        &r->page.out,
        "<footer>Rest the pointer on a mark, a line, a bar or a cell to read its value.<span "
        "class=\"live\"> Choose an entry of a legend to hide its series, the heading of a "
        "column to sort by it.</span> Each result unfolds into the options that reproduce it, and "
        "each chart and table is there as CSV.</footer>\n"
        "</main>\n</body>\n</html>\n");
    bang_draw_end(&locale);
    return r->page.out.failed ? bang_fail_memory(err) : 0;
}

int bang_report_put(const char *path, const json_t *records, const char *title, const char *lead,
                    bang_error *err)
{
    report r = {.title = title, .lead = lead, .records = records};
    int rc = render(&r, err);
    if (rc == 0)
        rc = bang_file_put(path, r.page.out.data, r.page.out.size, err);
    bang_text_release(&r.page.out);
    bang_outline_release(&r.outline);
    return rc;
}

int bang_report_write(const char *path, const char *folder, bang_error *err)
{
    json_t *records = NULL;
    int rc = bang_record_read(&records, folder, err);
    if (rc < 0)
        return rc;
    if (!json_array_size(records))
        rc = bang_fail(err, BANG_EDATA,
                       "%s/results.jsonl: no result records: run an experiment "
                       "that writes to this folder first",
                       folder);
    else
        rc = bang_report_put(path, records, "bang report", NULL, err);
    json_decref(records);
    return rc;
}
