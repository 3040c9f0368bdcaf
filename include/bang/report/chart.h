/* Charts as standalone SVG, drawn for reading: axes with round ticks, labels,
 * legends, colour bars, and the value of every mark as a hover title.
 *
 *     bang_text svg = {0};
 *     bang_chart_lines(&svg, &lines);        // <svg ...>...</svg>
 *     if (svg.failed) ...
 */
#ifndef BANG_REPORT_CHART_H
#define BANG_REPORT_CHART_H

#include "bang/base/text.h"

typedef struct bang_series {
    const char *name; /* in the legend; series of one name share an entry; NULL: none */
    size_t count;
    const double *x, *y; /* (count); a point that is not finite breaks the line */
    const double *error; /* (count) half bar lengths, or NULL */
    int points;          /* draw marks instead of a line */
    int color;           /* index into the palette; series of one colour belong together */
    const double *band;  /* (count) half widths of a band around the line, or NULL */
    int step;            /* values jump half way between two points instead of sloping */
} bang_series;

typedef struct bang_line_chart {
    const char *title, *x_label, *y_label; /* may be NULL */
    size_t series_count;
    const bang_series *series;
    double y_min, y_max; /* both 0: from the data */
    int y_percent;       /* label the axis in per cent (values are fractions) */
} bang_line_chart;

/* One panel of a heat map. */
typedef struct bang_heat_panel {
    const char *title;
    const double *values; /* (rows, columns); not finite: left blank */
} bang_heat_panel;

typedef struct bang_heat_map {
    const char *title, *x_label, *y_label;
    size_t columns, rows;
    const double *x, *y; /* (columns), (rows): what the ticks say */
    size_t panel_count;
    const bang_heat_panel *panels; /* side by side, many of them in several rows; one scale */
    const char *value_label;       /* beside the colour bar */
    int percent;                   /* values are fractions, labelled in per cent points */
    int sequential;                /* one hue from small to large, see below */
    int top_down;                  /* the first row stands at the top, else at the bottom */
} bang_heat_map;

/* Bars that lie under each other, from 0 to the right, below 0 to the left. */
typedef struct bang_bar_chart {
    const char *title, *value_label; /* may be NULL */
    size_t count;
    const char *const *names; /* (count); NULL: no name */
    const double *values;     /* (count); not finite: a name without a bar */
    int percent;              /* values are fractions, labelled in per cent */
    int color;                /* index into the palette */
} bang_bar_chart;

/* Append one <svg> element: equal charts give equal bytes, whatever the locale.
 * Without anything finite to draw it says "no data". The scale of a heat map
 * diverges around 0; a sequential one goes from 0 to the largest value, or from
 * the least where that is below 0 or above half of the largest.
 *
 * Colours, classes and data-* attributes let the page around a chart give it
 * another theme and answer to the pointer (src/report/report.css, report.js);
 * nothing in the picture depends on that. */
void bang_chart_lines(bang_text *out, const bang_line_chart *chart);
void bang_chart_heat(bang_text *out, const bang_heat_map *map);
/* Hundreds of bars get thinner, and only some of them their names beside them. */
void bang_chart_bars(bang_text *out, const bang_bar_chart *chart);

#endif
