#include "report/legend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/draw.h"

#define SAMPLE 26.0       /* length of the line that shows a colour */
#define ROW 20.0          /* height of an entry */
#define BETWEEN 20.0      /* entries of one row */
#define TO_NAME 7.0       /* sample to name */
#define COLUMN_MOST 190.0 /* a wider legend stands above the plot */
#define ROOM (BANG_DRAW_WIDTH - 2 * BANG_DRAW_PAD)

static double entry_width(const bang_legend_entry *entry)
{
    double width = SAMPLE + TO_NAME + bang_draw_text_width(entry->name, 12);
    return width < ROOM ? width : ROOM;
}

size_t bang_legend_find(const bang_legend *legend, const char *name)
{
    size_t i = 0;
    while (i < legend->count && (!name || strcmp(legend->entries[i].name, name) != 0))
        i++;
    return i;
}

static void enter(bang_legend *legend, const bang_series *series)
{
    if (!series->name || !*series->name)
        return;
    size_t i = bang_legend_find(legend, series->name);
    bang_legend_entry *entry = &legend->entries[i];
    if (i == legend->count) {
        *entry = (bang_legend_entry){.name = series->name, .color = series->color};
        legend->count++;
    }
    if (entry->color != series->color)
        entry->shared = 1;
    if (series->points)
        entry->points = 1;
    else
        entry->line = 1;
}

/* Relatives by colour stand together, shared names last. */
static void collect(bang_legend *legend, const bang_line_chart *chart)
{
    legend->count = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        int seen = 0;
        for (size_t j = 0; j < i && !seen; j++)
            seen = chart->series[j].color == chart->series[i].color;
        for (size_t j = i; j < chart->series_count && !seen; j++)
            if (chart->series[j].color == chart->series[i].color)
                enter(legend, &chart->series[j]);
    }
    size_t own = 0;
    for (size_t i = 0; i < legend->count; i++) {
        if (legend->entries[i].shared)
            continue;
        bang_legend_entry entry = legend->entries[i];
        memmove(legend->entries + own + 1, legend->entries + own, (i - own) * sizeof entry);
        legend->entries[own++] = entry;
    }
}

int bang_legend_init(bang_legend *legend, const bang_line_chart *chart, double room)
{
    *legend = (bang_legend){0};
    if (!chart->series_count)
        return 0;
    legend->entries = calloc(chart->series_count, sizeof *legend->entries);
    if (!legend->entries)
        return -1;
    collect(legend, chart);
    if (!legend->count)
        return 0;
    double widest = 0, row = 0, rows = 1;
    for (size_t i = 0; i < legend->count; i++) {
        double width = entry_width(&legend->entries[i]);
        widest = fmax(widest, width);
        if (row > 0 && row + BETWEEN + width > ROOM) {
            rows++;
            row = 0;
        }
        row += (row > 0 ? BETWEEN : 0) + width;
    }
    legend->column =
        legend->count > 2 && widest <= COLUMN_MOST && (double)legend->count * ROW <= room;
    legend->width = legend->column ? widest + 18 : 0;
    legend->height = legend->column ? 0 : rows * ROW + 8;
    return 0;
}

void bang_legend_release(bang_legend *legend)
{
    free(legend->entries);
}

static void add_entry(bang_text *out, const bang_legend_entry *entry, size_t index, double x,
                      double y)
{
    bang_text_add(out, "<g");
    bang_draw_color(out, "entry", entry->color, entry->shared);
    /* Unseen, so that the pointer need not hit a line or a letter. */
    bang_text_add(out,
                  " data-entry=\"%zu\">\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                  "height=\"%g\" rx=\"3\" fill-opacity=\"0\"/>\n",
                  index, x - 4, y - ROW / 2, entry_width(entry) + 8, ROW);
    if (entry->line)
        bang_text_add(out,
                      "<path d=\"M%.2f %.2fh%.2f\" stroke=\"currentColor\" "
                      "stroke-width=\"2\"%s/>\n",
                      x, y, SAMPLE, entry->shared ? "" : bang_draw_dash(entry->color));
    if (entry->points) {
        bang_draw_mark(out, x + SAMPLE / 2, y, 4, entry->shared ? 0 : entry->color);
        bang_text_add(out, "</path>\n");
    }
    bang_draw_block name;
    bang_draw_wrap(&name, entry->name, 12, ROOM - SAMPLE - TO_NAME, 1);
    bang_draw_block_add(out, &name, x + SAMPLE + TO_NAME, y + 4, 0, "");
    bang_text_add(out, "</g>\n");
}

void bang_legend_add(bang_text *out, const bang_legend *legend, double x, double y)
{
    double at = 0;
    y += ROW / 2;
    for (size_t i = 0; i < legend->count; i++) {
        double width = entry_width(&legend->entries[i]);
        if (!legend->column && at > 0 && at + BETWEEN + width > ROOM) {
            at = 0;
            y += ROW;
        }
        if (!legend->column && at > 0)
            at += BETWEEN;
        add_entry(out, &legend->entries[i], i, x + at, y);
        if (legend->column)
            y += ROW;
        else
            at += width;
    }
}
