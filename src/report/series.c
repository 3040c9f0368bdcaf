#include "report/series.h"

#include <math.h>

#define MANY 60 /* from this many points on, marks are small */

int bang_series_drawable(const bang_series *series, size_t i)
{
    return bang_draw_usable(series->x[i]) && bang_draw_usable(series->y[i]);
}

static double error_of(const bang_series *series, size_t i)
{
    double e = series->error ? fabs(series->error[i]) : 0;
    return bang_draw_usable(e) ? e : 0;
}

/* How far the picture of a point goes up and down. */
double bang_series_reach(const bang_series *series, size_t i)
{
    double band = series->band ? fabs(series->band[i]) : 0;
    return fmax(error_of(series, i), bang_draw_usable(band) ? band : 0);
}

static const char *label_of(const bang_series *series, size_t i)
{
    const char *label = series->labels ? series->labels[i] : NULL;
    return label && *label ? label : NULL;
}

static void add_value(bang_text *out, const bang_line_chart *chart, const bang_series *series,
                      size_t i)
{
    char number[BANG_NUMBER_SIZE];
    bang_text_add(out, "<title>");
    if (series->name && *series->name) {
        bang_draw_escaped(out, series->name);
        bang_text_add(out, ": ");
    }
    if (label_of(series, i)) {
        bang_draw_escaped(out, label_of(series, i));
        bang_text_add(out, " ");
    }
    bang_number_short(number, series->x[i], chart->x_percent);
    bang_text_add(out, "(%s, ", number);
    bang_number_short(number, series->y[i], chart->y_percent);
    bang_text_add(out, "%s", number);
    if (series->error && bang_draw_usable(series->error[i])) {
        bang_number_short(number, fabs(series->error[i]), chart->y_percent);
        bang_text_add(out, " ± %s", number);
    } else if (series->band && bang_draw_usable(series->band[i])) {
        bang_number_short(number, fabs(series->band[i]), chart->y_percent);
        bang_text_add(out, " ± %s", number);
    }
    bang_text_add(out, ")</title>");
}

/* One path for the line; a point with a gap on both sides becomes a dot, since
 * a path of one point shows nothing. */
void bang_series_line(bang_text *out, const bang_plot *p, const bang_series *series)
{
    double last_x = 0;
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        if (!bang_series_drawable(series, i))
            continue;
        double x = bang_plot_x(p, series->x[i]), y = bang_plot_y(p, series->y[i]);
        if (i == 0 || !bang_series_drawable(series, i - 1))
            bang_text_add(out, "M%.2f %.2f", x, y);
        else if (!series->step)
            bang_text_add(out, "L%.2f %.2f", x, y);
        else if (series->y[i] != series->y[i - 1])
            bang_text_add(out, "H%.2fV%.2f", (last_x + x) / 2, y);
        if (series->step && (i + 1 == series->count || !bang_series_drawable(series, i + 1)))
            bang_text_add(out, "H%.2f", x);
        last_x = x;
    }
    bang_text_add(out,
                  "\" stroke=\"currentColor\" stroke-width=\"%g\" stroke-linejoin=\"round\" "
                  "fill=\"none\"%s/>\n",
                  BANG_SERIES_WIDTH, bang_draw_dash(series->color));
    for (size_t i = 0; i < series->count; i++) {
        if (!bang_series_drawable(series, i) || (i > 0 && bang_series_drawable(series, i - 1)) ||
            (i + 1 < series->count && bang_series_drawable(series, i + 1)))
            continue;
        bang_text_add(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"currentColor\"/>\n",
                      bang_plot_x(p, series->x[i]), bang_plot_y(p, series->y[i]));
    }
}

static int has_band(const bang_series *series, size_t i)
{
    return i < series->count && bang_series_drawable(series, i) &&
           bang_draw_usable(series->band[i]);
}

/* Along the upper edge and back along the lower one, for every run of points
 * that have a width. */
void bang_series_band(bang_text *out, const bang_plot *p, const bang_series *series)
{
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        if (!has_band(series, i))
            continue;
        size_t end = i;
        for (; has_band(series, end); end++)
            bang_text_add(out, "%c%.2f %.2f", end == i ? 'M' : 'L', bang_plot_x(p, series->x[end]),
                          bang_plot_y(p, series->y[end] + fabs(series->band[end])));
        for (size_t k = end; k-- > i;)
            bang_text_add(out, "L%.2f %.2f", bang_plot_x(p, series->x[k]),
                          bang_plot_y(p, series->y[k] - fabs(series->band[k])));
        bang_text_add(out, "z");
        i = end;
    }
    bang_text_add(out, "\" fill=\"currentColor\" fill-opacity=\"0.16\"/>\n");
}

/* What the pointer finds along a line: unseen discs at its values, only where
 * the last one is far enough away to be told apart. */
void bang_series_values(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                        const bang_series *series)
{
    const double apart = 6;
    double last_x = -INFINITY, last_y = -INFINITY;
    bang_text_add(out, "<g fill=\"#fff\" fill-opacity=\"0\">\n");
    for (size_t i = 0; i < series->count; i++) {
        if (!bang_series_drawable(series, i) || !bang_plot_inside(p, series->x[i], series->y[i]))
            continue;
        double x = bang_plot_x(p, series->x[i]), y = bang_plot_y(p, series->y[i]);
        if (fabs(x - last_x) < apart && fabs(y - last_y) < apart)
            continue;
        bang_text_add(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"6\">", x, y);
        add_value(out, chart, series, i);
        bang_text_add(out, "</circle>\n");
        last_x = x;
        last_y = y;
    }
    bang_text_add(out, "</g>\n");
}

void bang_series_errors(bang_text *out, const bang_plot *p, const bang_series *series)
{
    if (!series->error)
        return;
    double cap = series->count < MANY ? 4 : 2;
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        double bar = error_of(series, i);
        if (!bang_series_drawable(series, i) || bar == 0)
            continue;
        double x = bang_plot_x(p, series->x[i]);
        double high = bang_plot_y(p, series->y[i] + bar), low = bang_plot_y(p, series->y[i] - bar);
        bang_text_add(out, "M%.2f %.2fh%.2fM%.2f %.2fh%.2fM%.2f %.2fV%.2f", x - cap, high, 2 * cap,
                      x - cap, low, 2 * cap, x, high, low);
    }
    bang_text_add(out, "\" stroke=\"currentColor\" stroke-width=\"1.3\" fill=\"none\"/>\n");
}

static double radius_of(const bang_series *series)
{
    return series->count >= MANY ? 2.8 : series->beside ? 5.4 : 4.2;
}

void bang_series_marks(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                       const bang_series *series)
{
    int shape = series->shape ? series->shape - BANG_MARK_CIRCLE : series->color;
    for (size_t i = 0; i < series->count; i++) {
        if (!bang_series_drawable(series, i) || !bang_plot_inside(p, series->x[i], series->y[i]))
            continue;
        bang_draw_mark(out, bang_plot_x(p, series->x[i]), bang_plot_y(p, series->y[i]),
                       radius_of(series), shape);
        add_value(out, chart, series, i);
        bang_text_add(out, "</path>\n");
    }
}

void bang_series_labels(bang_text *out, const bang_plot *p, const bang_series *series,
                        bang_labels *labels, size_t *left)
{
    for (size_t i = 0; i < series->count; i++) {
        if (!*left || !label_of(series, i) || !bang_series_drawable(series, i) ||
            !bang_plot_inside(p, series->x[i], series->y[i]))
            continue;
        bang_label label =
            bang_labels_place(labels, label_of(series, i), bang_plot_x(p, series->x[i]),
                              bang_plot_y(p, series->y[i]), radius_of(series));
        bang_labels_add(out, &label);
        --*left;
    }
}

/* Marks are kept free of text; a line rather than not. */
int bang_series_keep_free(bang_labels *labels, const bang_plot *p, const bang_line_chart *chart)
{
    size_t all = BANG_LABELS_MOST;
    int any = 0;
    for (size_t s = 0; s < chart->series_count; s++) {
        all += chart->series[s].count;
        any |= chart->series[s].beside && chart->series[s].points && chart->series[s].labels;
    }
    *labels = (bang_labels){p->left + 2, p->right - 2, p->top + 2, p->bottom - 2, NULL, 0, 0};
    if (!any || bang_labels_reserve(labels, all) < 0)
        return any ? -1 : 0;
    for (size_t s = 0; s < chart->series_count; s++) {
        const bang_series *series = &chart->series[s];
        double around = series->points ? radius_of(series) + 1 : 1;
        for (size_t i = 0; i < series->count; i++) {
            double x = bang_plot_x(p, series->x[i]), y = bang_plot_y(p, series->y[i]);
            if (bang_series_drawable(series, i))
                bang_labels_keep(labels, x - around, y - around, x + around, y + around,
                                 series->points ? 1 : 0.1);
        }
    }
    return 0;
}

/* One line per point. */
static void add_point_labels(bang_text *out, const bang_series *series)
{
    bang_text_add(out, " data-labels=\"");
    for (size_t i = 0; i < series->count; i++) {
        bang_text_add(out, i ? "\n" : "");
        bang_draw_escaped_line(out, label_of(series, i));
    }
    bang_text_add(out, "\"");
}

/* [[x, y, error, band], ...], short where nothing follows, 0 for a gap. */
void bang_series_points(bang_text *out, const bang_series *series)
{
    bang_text_add(out, " data-points=\"[");
    for (size_t i = 0; i < series->count; i++) {
        if (!bang_series_drawable(series, i)) {
            bang_text_add(out, "%s0", i ? "," : "");
            continue;
        }
        double band = series->band && bang_draw_usable(series->band[i]) ? fabs(series->band[i]) : 0;
        double error = error_of(series, i);
        bang_text_add(out, "%s[%.9g,%.9g", i ? "," : "", series->x[i], series->y[i]);
        if (error > 0 || band > 0)
            bang_text_add(out, ",%.6g", error);
        if (band > 0)
            bang_text_add(out, ",%.6g", band);
        bang_text_add(out, "]");
    }
    bang_text_add(out, "]\"");
    if (series->labels)
        add_point_labels(out, series);
    bang_text_add(out, "%s%s data-name=\"", series->points ? " data-marks=\"1\"" : "",
                  series->step ? " data-step=\"1\"" : "");
    bang_draw_escaped(out, series->name);
    bang_text_add(out, "\">\n");
}
