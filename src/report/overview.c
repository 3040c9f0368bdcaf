/* What a person sees first: verdicts counted, listed by chapter, and the chapters. */
#include <string.h>

#include "report/draw.h"
#include "report/outline.h"

enum { LINE_MOST = 260 }; /* bytes that stand for a chapter */

static int is_kind(const json_t *entry, const char *kind)
{
    return strcmp(bang_outline_text(entry, "kind", ""), kind) == 0;
}

/* How many verdicts the page begins with. */
static size_t leading_verdicts(const bang_outline *outline)
{
    const json_t *show = json_object_get(json_array_get(outline->records, 0), "show");
    size_t count = 0;
    while (count < json_array_size(show) && is_kind(json_array_get(show, count), "verdict"))
        count++;
    return count;
}

/* Verdicts on what the paper does not say. */
static size_t verdicts_beyond(const bang_outline *outline)
{
    size_t i, e, count = 0;
    json_t *record, *entry;
    json_array_foreach(outline->records, i, record)
    {
        json_array_foreach(json_object_get(record, "show"), e, entry)
        {
            count += is_kind(entry, "verdict") &&
                     strcmp(bang_outline_text(entry, "item", ""), "Beyond the paper") == 0;
        }
    }
    return count;
}

static void add_headline(bang_text *out, const size_t held[BANG_HOLDS_COUNT], size_t beyond)
{
    size_t all = bang_outline_verdicts(held), yes = held[BANG_HOLDS],
           partly = held[BANG_HOLDS_PARTLY], no = held[BANG_HOLDS_NOT],
           open = held[BANG_HOLDS_OPEN];
    bang_text_add(out,
                  "<p class=\"headline\">Of %zu claim%s checked, %zu hold%s, %zu hold%s partly and "
                  "%zu do%s not hold here",
                  all, all == 1 ? "" : "s", yes, yes == 1 ? "s" : "", partly,
                  partly == 1 ? "s" : "", no, no == 1 ? "es" : "");
    if (open)
        bang_text_add(out, "; %zu %s open at this scale", open, open == 1 ? "is" : "are");
    bang_text_add(out, ".</p>\n");
    if (beyond)
        bang_text_add(out, "<p>%zu of them go%s beyond the paper.</p>\n", beyond,
                      beyond == 1 ? "es" : "");
}

/* A bar whose parts are as long as their numbers. */
static void add_bar(bang_text *out, const size_t held[BANG_HOLDS_COUNT])
{
    bang_text_add(out, "<div class=\"tally\" aria-hidden=\"true\">");
    for (int i = 0; i < BANG_HOLDS_COUNT; i++)
        if (held[i])
            bang_text_add(out, "<span class=\"%s\" style=\"flex-grow:%zu\">%zu</span>",
                          bang_page_holds(i), held[i], held[i]);
    bang_text_add(out, "</div>\n");
}

/* A chip and a number each; report.js makes buttons of them that choose. */
static void add_key(bang_text *out, const size_t held[BANG_HOLDS_COUNT])
{
    bang_text_add(out, "<ul class=\"key\">\n");
    for (int i = 0; i < BANG_HOLDS_COUNT; i++) {
        if (!held[i])
            continue;
        bang_text_add(out, "<li data-holds=\"%s\">", bang_page_holds(i));
        bang_page_chip(out, i);
        bang_text_add(out, " <span class=\"count\">%zu</span></li>\n", held[i]);
    }
    bang_text_add(out, "</ul>\n");
}

static void add_row(bang_text *out, const bang_verdict *verdict, size_t number)
{
    bang_text_add(out, "<tr data-holds=\"%s\"><td class=\"item\">",
                  bang_page_holds(verdict->holds));
    bang_draw_escaped(out, verdict->item);
    bang_text_add(out, "</td><td><a href=\"#verdict-%zu\">", number);
    bang_draw_escaped(out, verdict->claim);
    bang_text_add(out, "</a></td><td>");
    bang_page_chip(out, verdict->holds);
    bang_text_add(out, "</td></tr>\n");
}

/* The rows of a chapter; number counts verdicts as the page below does. */
static void add_rows(bang_text *out, const bang_outline *outline, size_t chapter, size_t *number)
{
    size_t i, e;
    json_t *record, *entry;
    bang_text_add(out,
                  "<tbody>\n<tr class=\"chapter\"><th scope=\"rowgroup\" colspan=\"3\">"
                  "<a href=\"#s%zu\">",
                  chapter + 1);
    bang_outline_name(out, outline->chapters[chapter].name);
    bang_text_add(out, "</a></th></tr>\n");
    json_array_foreach(outline->records, i, record)
    {
        if (outline->chapter_of[i] != chapter)
            continue;
        json_array_foreach(json_object_get(record, "show"), e, entry)
        {
            bang_verdict verdict;
            if (is_kind(entry, "verdict") && bang_page_verdict(&verdict, entry, NULL) == 0)
                add_row(out, &verdict, ++*number);
        }
    }
    bang_text_add(out, "</tbody>\n");
}

static void add_items(bang_text *out, const bang_outline *outline)
{
    size_t number = 0;
    bang_text_add(out, "<div class=\"items\"><table>\n<thead><tr><th scope=\"col\">Item</th><th "
                       "scope=\"col\">Claim</th><th scope=\"col\">Verdict</th></tr></thead>\n");
    for (size_t c = 0; c < outline->count; c++)
        if (bang_outline_verdicts(outline->chapters[c].held))
            add_rows(out, outline, c, &number);
    bang_text_add(out, "</table></div>\n");
}

/* The first sentence of a text, or as many words as have room. */
static size_t sentence_length(const char *text)
{
    size_t length = strlen(text), end = 0, word = 0;
    for (; end < length && end < LINE_MOST; end++) {
        if (text[end] == ' ' && end > 0 && strchr(".!?", text[end - 1]))
            return end;
        if (text[end] == ' ')
            word = end;
    }
    return end == length ? end : word;
}

static const char *first_text(const bang_outline *outline, size_t chapter)
{
    size_t i, e;
    json_t *record, *entry;
    json_array_foreach(outline->records, i, record)
    {
        if (outline->chapter_of[i] != chapter)
            continue;
        json_array_foreach(json_object_get(record, "show"), e, entry)
        {
            if (is_kind(entry, "text") && json_is_string(json_object_get(entry, "text")))
                return json_string_value(json_object_get(entry, "text"));
        }
    }
    return NULL;
}

static void add_line(bang_text *out, const bang_outline *outline, size_t chapter)
{
    const char *text = first_text(outline, chapter);
    size_t length = text ? sentence_length(text) : 0;
    bang_text line = {0};
    if (!length)
        return;
    bang_text_add_bytes(&line, text, length);
    bang_text_add(&line, "%s", strchr(".!?", text[length - 1]) ? "" : " …");
    out->failed |= line.failed;
    bang_text_add(out, "<p>");
    bang_draw_escaped(out, line.data);
    bang_text_add(out, "</p>");
    bang_text_release(&line);
}

static void add_chapters(bang_text *out, const bang_outline *outline)
{
    if (outline->visible < 2)
        return;
    bang_text_add(out, "<h3>Chapters</h3>\n<ol class=\"chapters\">\n");
    for (size_t c = 0; c < outline->count; c++) {
        const bang_chapter *chapter = &outline->chapters[c];
        if (!chapter->shown)
            continue;
        bang_text_add(out, "<li><a href=\"#s%zu\">", c + 1);
        bang_outline_name(out, chapter->name);
        bang_text_add(out, "</a>");
        if (bang_outline_verdicts(chapter->held))
            add_bar(out, chapter->held);
        add_line(out, outline, c);
        bang_text_add(out, "</li>\n");
    }
    bang_text_add(out, "</ol>\n");
}

int bang_overview_has(const bang_outline *outline)
{
    size_t all = bang_outline_verdicts(outline->held);
    /* A list of what stands right below it would say everything twice. */
    return all && all != leading_verdicts(outline);
}

void bang_overview_add(bang_text *out, const bang_outline *outline)
{
    if (!bang_overview_has(outline))
        return;
    bang_text_add(out, "<section id=\"overview\">\n<h2>Overview</h2>\n");
    add_headline(out, outline->held, verdicts_beyond(outline));
    add_bar(out, outline->held);
    add_key(out, outline->held);
    add_items(out, outline);
    add_chapters(out, outline);
    bang_text_add(out, "</section>\n");
}
