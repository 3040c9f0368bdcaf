#include "report/outline.h"

#include <stdlib.h>
#include <string.h>

#include "report/draw.h"

const char *bang_outline_text(const json_t *record, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text ? text : otherwise;
}

int bang_outline_is_shown(const json_t *record)
{
    const json_t *show = json_object_get(record, "show");
    return show && !json_is_null(show);
}

int bang_outline_is_plain(const json_t *record)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(record, "show"), i, entry)
    {
        const char *kind = bang_outline_text(entry, "kind", "");
        if (strcmp(kind, "text") != 0 && strcmp(kind, "table") != 0)
            return 0;
    }
    return 1;
}

size_t bang_outline_verdicts(const size_t held[BANG_HOLDS_COUNT])
{
    size_t all = 0;
    for (int i = 0; i < BANG_HOLDS_COUNT; i++)
        all += held[i];
    return all;
}

static void count_verdicts(bang_outline *outline, bang_chapter *chapter, const json_t *record)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(record, "show"), i, entry)
    {
        bang_verdict verdict;
        if (strcmp(bang_outline_text(entry, "kind", ""), "verdict") != 0 ||
            bang_page_verdict(&verdict, entry, NULL) < 0)
            continue;
        chapter->held[verdict.holds]++;
        outline->held[verdict.holds]++;
    }
}

/* The chapter of that name, a new one if there is none. */
static size_t find_chapter(bang_outline *outline, const char *name)
{
    for (size_t c = 0; c < outline->count; c++) {
        const char *other = outline->chapters[c].name;
        if (other && strcmp(other, name) == 0)
            return c;
    }
    outline->chapters[outline->count].name = name;
    return outline->count++;
}

int bang_outline_make(bang_outline *outline, const json_t *records)
{
    size_t count = json_array_size(records);
    *outline = (bang_outline){.records = records};
    outline->chapter_of = calloc(count ? count : 1, sizeof *outline->chapter_of);
    outline->chapters = calloc(count ? count : 1, sizeof *outline->chapters);
    if (!outline->chapter_of || !outline->chapters)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *record = json_array_get(records, i);
        size_t c = find_chapter(outline, bang_outline_text(record, "section", "Other results"));
        bang_chapter *chapter = &outline->chapters[c];
        outline->chapter_of[i] = c;
        if (!bang_outline_is_shown(record)) {
            chapter->listed++;
            continue;
        }
        outline->visible += chapter->shown++ == 0;
        chapter->plain += (size_t)bang_outline_is_plain(record);
        count_verdicts(outline, chapter, record);
    }
    return 0;
}

void bang_outline_release(bang_outline *outline)
{
    free(outline->chapter_of);
    free(outline->chapters);
    *outline = (bang_outline){0};
}

void bang_outline_name(bang_text *out, const char *name)
{
    const char *bracket = strrchr(name, '(');
    size_t length = strlen(name);
    if (!bracket || bracket == name || bracket[-1] != ' ' || name[length - 1] != ')') {
        bang_draw_escaped(out, name);
        return;
    }
    bang_text front = {0};
    bang_text_add_bytes(&front, name, (size_t)(bracket - name));
    out->failed |= front.failed;
    bang_draw_escaped(out, front.data);
    bang_text_release(&front);
    bang_text_add(out, "<span class=\"where\">");
    bang_draw_escaped(out, bracket);
    bang_text_add(out, "</span>");
}
