/* One series of a line chart: its line, band, error bars, marks and labels, and
 * its values for the page around the chart. */
#ifndef BANG_REPORT_SERIES_H
#define BANG_REPORT_SERIES_H

#include "bang/report/chart.h"
#include "report/labels.h"
#include "report/plot.h"

#define BANG_SERIES_WIDTH 2.0 /* of a line */

int bang_series_drawable(const bang_series *series, size_t i);
/* How far the picture of a point goes up and down. */
double bang_series_reach(const bang_series *series, size_t i);

void bang_series_line(bang_text *out, const bang_plot *p, const bang_series *series);
void bang_series_band(bang_text *out, const bang_plot *p, const bang_series *series);
void bang_series_errors(bang_text *out, const bang_plot *p, const bang_series *series);
/* What the pointer finds along a line. */
void bang_series_values(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                        const bang_series *series);
void bang_series_marks(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                       const bang_series *series);

/* Keeps the marks and lines of a chart free of text, if any is written beside
 * them. The caller releases labels; 0, or -1 when memory is out. */
int bang_series_keep_free(bang_labels *labels, const bang_plot *p, const bang_line_chart *chart);
/* The labels beside the marks; left counts those that may still be written. */
void bang_series_labels(bang_text *out, const bang_plot *p, const bang_series *series,
                        bang_labels *labels, size_t *left);

/* Attributes data-points and the like, and the end of the tag. */
void bang_series_points(bang_text *out, const bang_series *series);

#endif
