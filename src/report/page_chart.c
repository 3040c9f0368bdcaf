/* Entries that are charts: which kinds there are, and the figure around one. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/arena.h"
#include "report/draw.h"
#include "report/page.h"
#include "report/page_read.h"

typedef int (*drawer)(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                      bang_error *err);

static drawer drawer_of(const char *kind)
{
    static const struct {
        const char *kind;
        drawer draw;
    } kinds[] = {{"lines", bang_page_lines},     {"heat", bang_page_heat},
                 {"bars", bang_page_bars},       {"columns", bang_page_columns},
                 {"scatter", bang_page_scatter}, {"reliability", bang_page_reliability}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].draw;
    return NULL;
}

int bang_page_is_chart(const char *kind)
{
    return drawer_of(kind) != NULL;
}

/* The card of a chart knows the chart's own width, below which a phone scrolls
 * rather than shrinks it further. */
static void add_figure(bang_page *page, const json_t *entry, const bang_text *svg,
                       const char *title, const char *note)
{
    bang_text *out = &page->out;
    const char *width = svg->data ? strstr(svg->data, " width=\"") : NULL;
    long px = width ? strtol(width + strlen(" width=\""), NULL, 10) : (long)BANG_DRAW_WIDTH;
    bang_page_open_figure(page);
    bang_text_add(out, "<div class=\"chart\" style=\"--w:%ld\">\n", px);
    bang_text_add_bytes(out, svg->data, svg->size);
    bang_text_add(out, "</div>\n");
    bang_page_close_figure(page, entry, title, note);
}

int bang_page_chart(bang_text *out, const json_t *entry, int titled, bang_error *err)
{
    bang_arena arena = {0};
    const char *title, *kind;
    if (bang_page_string(&kind, entry, "kind", err) < 0 ||
        bang_page_string(&title, entry, "title", err) < 0)
        return err->code;
    drawer draw = kind ? drawer_of(kind) : NULL;
    if (!draw)
        return bang_fail(err, BANG_EDATA, "it is no chart");
    int rc = draw(out, entry, titled ? title : NULL, &arena, err);
    if (rc == 0 && out->failed)
        rc = bang_fail_memory(err);
    bang_arena_release(&arena);
    return rc;
}

/* The title stands in the caption, so the picture goes without. */
int bang_page_figure(bang_page *page, const json_t *entry, bang_error *err)
{
    bang_text svg = {0};
    const char *title, *note;
    if (bang_page_string(&title, entry, "title", err) < 0 ||
        bang_page_string(&note, entry, "note", err) < 0)
        return err->code;
    int rc = bang_page_chart(&svg, entry, 0, err);
    if (rc == 0)
        add_figure(page, entry, &svg, title, note);
    bang_text_release(&svg);
    return rc;
}
