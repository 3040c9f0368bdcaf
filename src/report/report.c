#include "bang/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/base/record.h"
#include "report/draw.h"
#include "report/page.h"

typedef struct section {
    const char *name;
    size_t shown, listed; /* records with and without "show" */
} section;

typedef struct report {
    bang_page page;
    const char *title, *lead; /* lead NULL: what a report of a run says */
    const json_t *records;
    size_t *section_of; /* (records) */
    section *sections;  /* (section_count), in order of first appearance */
    size_t section_count;
    size_t held[BANG_HOLDS_COUNT]; /* verdicts by what they say */
} report;

static const char *text_of(const json_t *record, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text ? text : otherwise;
}

static int is_shown(const json_t *record)
{
    const json_t *show = json_object_get(record, "show");
    return show && !json_is_null(show);
}

static int find_sections(report *r)
{
    size_t count = json_array_size(r->records);
    r->section_of = calloc(count, sizeof *r->section_of);
    r->sections = calloc(count, sizeof *r->sections);
    if (!r->section_of || !r->sections)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *record = json_array_get(r->records, i);
        const char *name = text_of(record, "section", "Other results");
        size_t s = 0;
        while (s < r->section_count && strcmp(r->sections[s].name, name) != 0)
            s++;
        if (s == r->section_count)
            r->sections[r->section_count++].name = name;
        r->section_of[i] = s;
        if (is_shown(record))
            r->sections[s].shown++;
        else
            r->sections[s].listed++;
    }
    return 0;
}

/* Calls visit for every verdict that can be read, in the order of the file. */
static void each_verdict(report *r, void (*visit)(report *, const bang_verdict *, size_t))
{
    for (size_t i = 0; i < json_array_size(r->records); i++) {
        const json_t *show = json_object_get(json_array_get(r->records, i), "show");
        for (size_t e = 0; e < json_array_size(show); e++) {
            const json_t *entry = json_array_get(show, e);
            bang_verdict verdict;
            if (strcmp(text_of(entry, "kind", ""), "verdict") == 0 &&
                bang_page_verdict(&verdict, entry, NULL) == 0)
                visit(r, &verdict, r->section_of[i]);
        }
    }
}

static void count_verdict(report *r, const bang_verdict *verdict, size_t at)
{
    (void)at;
    r->held[verdict->holds]++;
}

static void add_verdict_row(report *r, const bang_verdict *verdict, size_t at)
{
    bang_text *out = &r->page.out;
    bang_text_add(out, "<tr><td>");
    bang_page_chip(out, verdict);
    bang_text_add(out, "</td><td>");
    bang_draw_escaped(out, verdict->claim);
    bang_text_add(out, "</td><td><a href=\"#s%zu\">", at + 1);
    bang_draw_escaped(out, r->sections[at].name);
    bang_text_add(out, "</a></td></tr>\n");
}

/* How many verdicts the page begins with. */
static size_t leading_verdicts(const report *r)
{
    const json_t *show = json_object_get(json_array_get(r->records, 0), "show");
    size_t count = 0;
    while (count < json_array_size(show) &&
           strcmp(text_of(json_array_get(show, count), "kind", ""), "verdict") == 0)
        count++;
    return count;
}

static void add_glance(report *r)
{
    bang_text *out = &r->page.out;
    each_verdict(r, count_verdict);
    size_t all = r->held[0] + r->held[1] + r->held[2] + r->held[3];
    /* A list of what stands right below it would say everything twice. */
    if (!all || all == leading_verdicts(r))
        return;
    bang_text_add(out,
                  "<section id=\"glance\">\n<h2>At a glance</h2>\n<p>Of %zu claim%s checked, "
                  "%zu hold%s, %zu hold%s partly and %zu do%s not",
                  all, all == 1 ? "" : "s", r->held[0], r->held[0] == 1 ? "s" : "", r->held[1],
                  r->held[1] == 1 ? "s" : "", r->held[2], r->held[2] == 1 ? "es" : "");
    if (r->held[BANG_HOLDS_OPEN])
        bang_text_add(out, "; %zu cannot be decided at this scale", r->held[BANG_HOLDS_OPEN]);
    bang_text_add(out, ".</p>\n");
    bang_text_add(out, "<div class=\"scroll glance\"><table>\n<thead><tr><th scope=\"col\">Verdict"
                       "</th><th scope=\"col\">Claim</th><th scope=\"col\">Section</th></tr>"
                       "</thead>\n<tbody>\n");
    each_verdict(r, add_verdict_row);
    bang_text_add(out, "</tbody></table></div>\n</section>\n");
}

/* "0.1.0" or "0.1.0, 0.2.0": each version once. */
static void add_versions(report *r)
{
    bang_text *out = &r->page.out;
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(r->records); i++) {
        const char *version = text_of(json_array_get(r->records, i), "version", NULL);
        int seen = !version;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(text_of(json_array_get(r->records, j), "version", ""), version) == 0;
        if (seen)
            continue;
        bang_text_add(out, found++ ? ", " : ", made by bang ");
        bang_draw_escaped(out, version);
    }
}

static void add_head(report *r)
{
    bang_text *out = &r->page.out;
    size_t count = json_array_size(r->records);
    bang_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                       /* Nothing may be loaded, whatever a record holds. */
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                       "<title>");
    bang_draw_escaped(out, r->title);
    bang_text_add(out, "</title>\n<style>\n%s</style>\n<script>\n%s</script>\n", bang_page_css,
                  bang_page_js);
    bang_text_add(out, "</head>\n<body>\n<main>\n<header>\n<h1>");
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

static void add_contents(report *r)
{
    bang_text *out = &r->page.out;
    if (r->section_count < 2)
        return;
    bang_text_add(out, "<nav aria-label=\"Contents\">\n<p class=\"over\">Contents</p>\n<ol>\n");
    for (size_t s = 0; s < r->section_count; s++) {
        bang_text_add(out, "<li><a href=\"#s%zu\">", s + 1);
        bang_draw_escaped(out, r->sections[s].name);
        bang_text_add(out, "</a></li>\n");
    }
    bang_text_add(out, "</ol>\n</nav>\n");
}

static void add_sections(report *r)
{
    bang_text *out = &r->page.out;
    for (size_t s = 0; s < r->section_count; s++) {
        bang_text_add(out, "<section id=\"s%zu\">\n<h2>", s + 1);
        bang_draw_escaped(out, r->sections[s].name);
        bang_text_add(out, "</h2>\n");
        for (size_t i = 0; i < json_array_size(r->records); i++) {
            const json_t *record = json_array_get(r->records, i);
            if (r->section_of[i] != s || !is_shown(record))
                continue;
            bang_text_add(out, "<article>\n");
            bang_page_show(&r->page, json_object_get(record, "show"));
            bang_page_origin(&r->page, record);
            bang_text_add(out, "</article>\n");
        }
        if (r->sections[s].listed)
            bang_text_add(out,
                          "<details><summary>%zu record%s without a picture or table"
                          "</summary>\n",
                          r->sections[s].listed, r->sections[s].listed == 1 ? "" : "s");
        for (size_t i = 0; i < json_array_size(r->records); i++)
            if (r->section_of[i] == s && !is_shown(json_array_get(r->records, i)))
                bang_page_origin(&r->page, json_array_get(r->records, i));
        bang_text_add(out, "%s</section>\n", r->sections[s].listed ? "</details>\n" : "");
    }
}

static int render(report *r, bang_error *err)
{
    bang_draw_locale locale;
    if (find_sections(r) < 0)
        return bang_fail_memory(err);
    if (bang_draw_begin(&locale) < 0)
        return bang_fail_memory(err);
    add_head(r);
    add_contents(r);
    add_glance(r);
    add_sections(r);
    bang_text_add(
        &r->page.out,
        "<footer>Rest the pointer on a mark, a line, a bar or a cell to read its value.<span "
        "class=\"live\"> Choose an entry of a legend to hide its series, the heading of a "
        "column to sort by it.</span> Each result unfolds into the options that reproduce "
        "it.</footer>\n"
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
    free(r.section_of);
    free(r.sections);
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
