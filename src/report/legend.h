/* The legend of a chart: a sample and a name each.
 *
 *     bang_legend legend = {0};
 *     bang_legend_reserve(&legend, 2);
 *     bang_legend_entry *entry = bang_legend_enter(&legend, "fine-tuned", 0);
 *     entry->color = 1;
 *     entry->fill = 1;
 *     bang_legend_fit(&legend, width, height);
 *     bang_legend_add(out, &legend, x, y);
 *     bang_legend_release(&legend);
 */
#ifndef BANG_REPORT_LEGEND_H
#define BANG_REPORT_LEGEND_H

#include "bang/report/chart.h"

typedef struct bang_legend_entry {
    const char *name;
    int color;
    int neutral;            /* grey: found in several colours, or in none */
    int line, points, fill; /* what the sample shows */
    int shape;              /* of the points, from 0 */
    int pale;               /* fill: fainter */
    int dashed;             /* line: in the way of a reference */
    int apart;              /* begins a row */
} bang_legend_entry;

typedef struct bang_legend {
    bang_legend_entry *entries; /* (count) */
    size_t count;
    int column;           /* stands to the right of the plot, else in rows above it */
    double room;          /* width of a row, and the most of an entry */
    double sample;        /* width of a sample */
    double width, height; /* what it takes beside, above the plot, with the gap to it */
} bang_legend;

/* Room for that many entries, which the caller releases; 0, or -1 when memory
 * is out. */
int bang_legend_reserve(bang_legend *legend, size_t most);
void bang_legend_release(bang_legend *legend);
/* The entry of this name, looked for from the one at `from` on; a new one at the
 * end, zero but for its name, when there is none; NULL without a name. */
bang_legend_entry *bang_legend_enter(bang_legend *legend, const char *name, size_t from);
/* Its index; legend->count when there is none. */
size_t bang_legend_find(const bang_legend *legend, const char *name, size_t from);

/* Beside the plot where more than two short entries fit its height, else in rows
 * of that width above; with a height of 0 always there, which is what a narrow
 * window shows first. */
void bang_legend_fit(bang_legend *legend, double width, double height);

/* A whole chart: its legend is collected, then it is drawn, with a point as decimal point;
 * out->failed is set when memory is out. */
void bang_legend_frame(bang_text *out, const void *chart,
                       int (*collect)(bang_legend *legend, const void *chart),
                       void (*draw)(bang_text *out, const void *chart, bang_legend *legend));

/* Top left corner at (x, y); entry i is a group with data-entry="i". */
void bang_legend_add(bang_text *out, const bang_legend *legend, double x, double y);

#endif
