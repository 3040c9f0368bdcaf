/* The legend of a line chart. A name is listed once: a line and points of one
 * name and colour share their entry (and its sample shows both), and a name
 * found in several colours ("exact" beside every curve) gets a neutral one at
 * the end. */
#ifndef BANG_REPORT_LEGEND_H
#define BANG_REPORT_LEGEND_H

#include "bang/report/chart.h"

typedef struct bang_legend_entry {
    const char *name;
    int color;
    int shared; /* found in several colours */
    int line, points;
} bang_legend_entry;

typedef struct bang_legend {
    bang_legend_entry *entries; /* (count) */
    size_t count;
    int column;           /* stands to the right of the plot, else in rows above it */
    double width, height; /* what it takes there, with the gap to the plot */
} bang_legend;

/* room is the height beside the plot. The caller releases it; 0, or -1 when
 * memory is out. */
int bang_legend_init(bang_legend *legend, const bang_line_chart *chart, double room);
void bang_legend_release(bang_legend *legend);
/* The index of the entry of this name; legend->count when there is none. */
size_t bang_legend_find(const bang_legend *legend, const char *name);
/* Top left corner at (x, y); entry i is a group with data-entry="i". */
void bang_legend_add(bang_text *out, const bang_legend *legend, double x, double y);

#endif
