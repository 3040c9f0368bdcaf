#include "report/legend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"

#define SAMPLE 26.0       /* length of the line that shows a colour */
#define SHORT_SAMPLE 14.0 /* of one without a line */
#define ROW 20.0          /* height of an entry */
#define BETWEEN 20.0      /* entries of one row */
#define TO_NAME 7.0       /* sample to name */
#define COLUMN_MOST 190.0 /* a wider legend stands above the plot */
#define TO_PLOT 18.0

int bang_legend_reserve(bang_legend *legend, size_t most)
{
    *legend = (bang_legend){0};
    if (!most)
        return 0;
    legend->entries = calloc(most, sizeof *legend->entries);
    return legend->entries ? 0 : -1;
}

void bang_legend_release(bang_legend *legend)
{
    free(legend->entries);
    *legend = (bang_legend){0};
}

size_t bang_legend_find(const bang_legend *legend, const char *name, size_t from)
{
    size_t i = from;
    while (i < legend->count && (!name || strcmp(legend->entries[i].name, name) != 0))
        i++;
    return i < legend->count ? i : legend->count;
}

bang_legend_entry *bang_legend_enter(bang_legend *legend, const char *name, size_t from)
{
    if (!name || !*name)
        return NULL;
    size_t i = bang_legend_find(legend, name, from);
    if (i == legend->count)
        legend->entries[legend->count++] = (bang_legend_entry){.name = name};
    return &legend->entries[i];
}

static void measure(bang_legend *legend, double room)
{
    legend->room = room;
    legend->sample = SHORT_SAMPLE;
    for (size_t i = 0; i < legend->count; i++)
        if (legend->entries[i].line)
            legend->sample = SAMPLE;
}

/* Samples over each other are equally wide. */
static double sample_width(const bang_legend *legend, size_t i)
{
    return legend->column ? legend->sample : legend->entries[i].line ? SAMPLE : SHORT_SAMPLE;
}

static double entry_width(const bang_legend *legend, size_t i)
{
    const char *name = legend->entries[i].name;
    return fmin(legend->room, sample_width(legend, i) + TO_NAME + bang_draw_text_width(name, 12));
}

typedef void (*placer)(bang_text *out, const bang_legend *legend, size_t i, double x, double y);

/* Walks through the entries, from the middle of the first sample; returns the
 * height they take. */
static double walk(bang_text *out, const bang_legend *legend, double x, double y, placer place)
{
    double at = 0, top = y;
    for (size_t i = 0; i < legend->count; i++) {
        double width = entry_width(legend, i);
        int full = at + BETWEEN + width > legend->room;
        if (legend->column) {
            y += i ? ROW : 0;
        } else if (at > 0 && (full || legend->entries[i].apart)) {
            at = 0;
            y += ROW;
        } else if (at > 0) {
            at += BETWEEN;
        }
        if (place)
            place(out, legend, i, x + at, y);
        at += legend->column ? 0 : width;
    }
    return legend->count ? y - top + ROW : 0;
}

static double widest(const bang_legend *legend)
{
    double width = 0;
    for (size_t i = 0; i < legend->count; i++)
        width = fmax(width, entry_width(legend, i));
    return width;
}

void bang_legend_fit(bang_legend *legend, double width, double height)
{
    legend->column = 1;
    measure(legend, width);
    double beside = widest(legend);
    if (legend->count > 2 && beside <= COLUMN_MOST && walk(NULL, legend, 0, 0, NULL) <= height) {
        legend->width = beside + TO_PLOT;
        legend->height = 0;
        return;
    }
    legend->column = 0;
    legend->width = 0;
    legend->height = legend->count ? walk(NULL, legend, 0, 0, NULL) + 8 : 0;
}

static void add_sample(bang_text *out, const bang_legend_entry *entry, double x, double y,
                       double width)
{
    if (entry->fill)
        bang_text_add(out,
                      "<rect class=\"fill%s\" x=\"%.2f\" y=\"%.2f\" width=\"%g\" height=\"12\" "
                      "rx=\"2\" fill=\"currentColor\"%s/>\n",
                      entry->pale ? " pale" : "", x + width / 2 - 6, y - 6, 12.0,
                      entry->pale ? " fill-opacity=\"0.35\"" : "");
    if (entry->line)
        bang_text_add(out,
                      "<path d=\"M%.2f %.2fh%.2f\" stroke=\"currentColor\" stroke-width=\"%g\""
                      "%s/>\n",
                      x, y, width, entry->dashed ? 1.3 : 2.0,
                      entry->dashed    ? " stroke-dasharray=\"5 4\""
                      : entry->neutral ? ""
                                       : bang_draw_dash(entry->color));
    if (entry->points) {
        bang_draw_mark(out, x + width / 2, y, entry->line ? 4 : 4.6, entry->shape);
        bang_text_add(out, "</path>\n");
    }
}

static void add_entry(bang_text *out, const bang_legend *legend, size_t i, double x, double y)
{
    const bang_legend_entry *entry = &legend->entries[i];
    double sample = sample_width(legend, i);
    bang_text_add(out, "<g");
    bang_draw_color(out, "entry", entry->color, entry->neutral);
    /* Unseen, so that the pointer need not hit a line or a letter. */
    bang_text_add(out,
                  " data-entry=\"%zu\">\n<rect class=\"hit\" x=\"%.2f\" y=\"%.2f\" "
                  "width=\"%.2f\" height=\"%g\" rx=\"3\" fill-opacity=\"0\"/>\n",
                  i, x - 4, y - ROW / 2, entry_width(legend, i) + 8, ROW);
    add_sample(out, entry, x, y, sample);
    bang_draw_block name;
    bang_draw_wrap(&name, entry->name, 12, legend->room - sample - TO_NAME, 1);
    bang_draw_block_add(out, &name, x + sample + TO_NAME, y + 4, 0, "");
    bang_text_add(out, "</g>\n");
}

void bang_legend_add(bang_text *out, const bang_legend *legend, double x, double y)
{
    walk(out, legend, x, y + ROW / 2, add_entry);
}

void bang_legend_frame(bang_text *out, const void *chart,
                       int (*collect)(bang_legend *legend, const void *chart),
                       void (*draw)(bang_text *out, const void *chart, bang_legend *legend))
{
    bang_draw_locale locale;
    bang_legend legend = {0};
    if (bang_draw_begin(&locale) < 0 || collect(&legend, chart) < 0)
        out->failed = 1;
    else
        draw(out, chart, &legend);
    bang_legend_release(&legend);
    bang_draw_end(&locale);
}
