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

/* Shapes of points. Counting on gives the same shapes as outlines. */
enum {
    BANG_MARK_BY_COLOR, /* another shape for every colour */
    BANG_MARK_CIRCLE,
    BANG_MARK_SQUARE,
    BANG_MARK_DIAMOND,
    BANG_MARK_UP, /* triangles */
    BANG_MARK_DOWN,
    BANG_MARK_PLUS,
    BANG_MARK_CROSS,
    BANG_MARK_STAR,
    BANG_MARK_END
};

typedef struct bang_series {
    const char *name; /* in the legend; series of one name share an entry; NULL: none */
    size_t count;
    const double *x, *y; /* (count); a point that is not finite breaks the line */
    const double *error; /* (count) half bar lengths, or NULL */
    int points;          /* draw marks instead of a line */
    int color;           /* index into the palette; series of one colour belong together */
    const double *band;  /* (count) half widths of a band around the line, or NULL */
    int step;            /* values jump half way between two points instead of sloping */
    int shape;           /* of the points, BANG_MARK_... */
    /* (count) what the points are called, or NULL; each may be NULL */
    const char *const *labels;
    int beside; /* write the labels of points beside them, up to BANG_LABELS_MOST of a chart */
} bang_series;

enum { BANG_LABELS_MOST = 40 };

typedef struct bang_line_chart {
    const char *title, *x_label, *y_label; /* may be NULL */
    size_t series_count;
    const bang_series *series;
    double y_min, y_max; /* both 0: from the data */
    int y_percent;       /* label the axis in per cent (values are fractions) */
    int x_percent;
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

typedef struct bang_column_series {
    const char *name;         /* in the legend; NULL: none */
    const double *values;     /* (count); not finite: no column */
    const double *low, *high; /* (count) ends of an interval around each value, or NULL */
    int color;                /* index into the palette */
    int pale;                 /* fainter, to pair series of one colour */
} bang_column_series;

/* Columns that stand over names, one of each series side by side, from 0 up or
 * down; or those of one name on top of each other. */
typedef struct bang_column_chart {
    const char *title, *x_label, *value_label; /* may be NULL */
    size_t count;
    const char *const *names; /* (count); NULL: no name */
    size_t series_count;
    const bang_column_series *series;
    int percent; /* values are fractions, labelled in per cent */
    int stacked; /* on top of each other; intervals are then not drawn */
} bang_column_chart;

typedef struct bang_scatter_series {
    const char *name;    /* in the legend; NULL: none */
    const double *x, *y; /* (count); not finite: no point */
    int color;           /* index into the palette */
} bang_scatter_series;

/* Points against the diagonal: what is measured (series) has a colour, what it
 * is measured on (names) a shape. Both axes cover the same range, in a square. */
typedef struct bang_scatter_chart {
    const char *title, *x_label, *y_label; /* may be NULL */
    const char *above, *below;             /* what either side of the diagonal means; may be NULL */
    size_t count;                          /* points of every series */
    const char *const *names;              /* (count), or NULL: all points are circles */
    const int *shapes;                     /* (count) BANG_MARK_..., or NULL: one after the other */
    size_t series_count;
    const bang_scatter_series *series;
    size_t connect_count;
    const size_t *connect; /* (connect_count) series whose points of one name a line joins */
    double min, max;       /* of both axes; both 0: 0 to 1 with percent, else from the data */
    int percent;           /* values are fractions, labelled in per cent */
    int diagonal;          /* draw y = x */
} bang_scatter_chart;

/* Samples whose confidence lies in low .. high; what is not finite is unknown. */
typedef struct bang_reliability_bin {
    double low, high;
    double count;
    double confidence, accuracy; /* means over the samples */
} bang_reliability_bin;

typedef struct bang_reliability_panel {
    const char *title;
    double ece; /* not finite: not told */
    int color;  /* index into the palette */
    size_t count;
    const bang_reliability_bin *bins; /* (count), upwards */
} bang_reliability_panel;

/* Accuracy against confidence: a column per bin, its distance from the mean
 * confidence, and under it how many of the samples the bin holds. */
typedef struct bang_reliability_chart {
    const char *title, *x_label, *y_label; /* may be NULL */
    size_t panel_count;
    const bang_reliability_panel *panels; /* side by side, many of them in several rows */
} bang_reliability_chart;

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
void bang_chart_columns(bang_text *out, const bang_column_chart *chart);
void bang_chart_scatter(bang_text *out, const bang_scatter_chart *chart);
void bang_chart_reliability(bang_text *out, const bang_reliability_chart *chart);

#endif
