#include <math.h>
#include <string.h>

#include "bang/report/chart.h"
#include "report/legend.h"
#include "report/series.h"

#define PLOT_HEIGHT 300.0

typedef struct extent {
    double x_lo, x_hi, y_lo, y_hi;
    int whole_x;  /* every x is a whole number */
    int fraction; /* every y is in 0 .. 1 */
} extent;

static extent measure(const bang_line_chart *chart)
{
    extent e = {INFINITY, -INFINITY, INFINITY, -INFINITY, 1, 1};
    for (size_t s = 0; s < chart->series_count; s++) {
        const bang_series *series = &chart->series[s];
        for (size_t i = 0; i < series->count; i++) {
            if (!bang_series_drawable(series, i))
                continue;
            double x = series->x[i], y = series->y[i], bar = bang_series_reach(series, i);
            e.x_lo = fmin(e.x_lo, x);
            e.x_hi = fmax(e.x_hi, x);
            e.y_lo = fmin(e.y_lo, y - bar);
            e.y_hi = fmax(e.y_hi, y + bar);
            if (x != floor(x))
                e.whole_x = 0;
            if (y < 0 || y > 1)
                e.fraction = 0;
        }
    }
    return e;
}

static int is_empty(const extent *e)
{
    return !(e->x_lo <= e->x_hi);
}

static void fit_x(bang_plot *p, const bang_line_chart *chart, const extent *e)
{
    double lo = e->x_lo, hi = e->x_hi;
    int whole = e->whole_x && !chart->x_percent;
    if (lo == hi && whole && fabs(lo) < 1e6) {
        lo -= 1;
        hi += 1;
    } else if (lo < hi) {
        double room = 0.02 * (hi - lo); /* marks at the ends stay clear of the frame */
        lo -= room;
        hi += room;
    }
    bang_plot_fit_x(p, lo, hi, chart->x_percent, whole && !is_empty(e));
}

static void fit_y(bang_plot *p, const bang_line_chart *chart, const extent *e)
{
    double lo = e->y_lo, hi = e->y_hi;
    if (chart->y_percent && e->fraction && !is_empty(e)) { /* nobody is right more than always */
        lo = fmax(0, lo);
        hi = fmin(1, hi);
    }
    if (chart->y_min < chart->y_max && bang_draw_usable(chart->y_min) &&
        bang_draw_usable(chart->y_max))
        bang_axis_fit(&p->y, chart->y_min, chart->y_max, 6, chart->y_percent);
    else
        bang_axis_fit_round(&p->y, lo, hi, 6, chart->y_percent);
}

static void open_series(bang_text *out, const bang_series *series, const bang_legend *legend)
{
    size_t entry = bang_legend_find(legend, series->name, 0);
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", series->color, 0);
    if (entry < legend->count)
        bang_text_add(out, " data-entry=\"%zu\"", entry);
}

/* Bands, lines and bars are clipped; marks at the very edge stay whole. */
static void add_clipped(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                        const bang_legend *legend)
{
    bang_plot_open_clip(out, p, BANG_SERIES_WIDTH);
    for (size_t s = 0; s < chart->series_count; s++) {
        if (!chart->series[s].band)
            continue;
        open_series(out, &chart->series[s], legend);
        bang_text_add(out, ">\n");
        bang_series_band(out, p, &chart->series[s]);
        bang_text_add(out, "</g>\n");
    }
    for (size_t s = 0; s < chart->series_count; s++) {
        const bang_series *series = &chart->series[s];
        open_series(out, series, legend);
        bang_text_add(out, ">\n");
        if (!series->points)
            bang_series_line(out, p, series);
        bang_series_errors(out, p, series);
        bang_text_add(out, "</g>\n");
    }
    bang_text_add(out, "</svg>\n");
}

static void add_data(bang_text *out, const bang_plot *p, const bang_line_chart *chart,
                     const bang_legend *legend)
{
    bang_labels labels;
    size_t left = BANG_LABELS_MOST;
    out->failed |= bang_series_keep_free(&labels, p, chart) < 0;
    bang_text_add(out,
                  "<g class=\"plot\" data-area=\"[%.2f,%.2f,%.2f,%.2f]\" "
                  "data-range=\"[%.9g,%.9g,%.9g,%.9g]\"%s%s data-label=\"",
                  p->left, p->top, p->right, p->bottom, p->x.lo, p->x.hi, p->y.lo, p->y.hi,
                  chart->y_percent ? " data-percent=\"1\"" : "",
                  chart->x_percent ? " data-share=\"1\"" : "");
    bang_draw_escaped(out, chart->x_label);
    bang_text_add(out, "\">\n");
    add_clipped(out, p, chart, legend);
    /* Lines first: a mark on a line is found before the line. */
    for (int points = 0; points < 2; points++) {
        for (size_t s = 0; s < chart->series_count; s++) {
            const bang_series *series = &chart->series[s];
            if (!series->points != !points)
                continue;
            open_series(out, series, legend);
            bang_series_points(out, series);
            if (points)
                bang_series_marks(out, p, chart, series);
            else
                bang_series_values(out, p, chart, series);
            if (points && series->beside && labels.boxes)
                bang_series_labels(out, p, series, &labels, &left);
            bang_text_add(out, "</g>\n");
        }
    }
    bang_text_add(out, "</g>\n");
    bang_labels_release(&labels);
}

static void enter(bang_legend *legend, const bang_series *series)
{
    size_t before = legend->count;
    bang_legend_entry *entry = bang_legend_enter(legend, series->name, 0);
    if (!entry)
        return;
    if (legend->count > before)
        entry->color = series->color;
    if (entry->color != series->color)
        entry->neutral = 1;
    if (series->points) {
        entry->points = 1;
        entry->shape = series->shape    ? series->shape - BANG_MARK_CIRCLE
                       : entry->neutral ? 0
                                        : series->color;
    } else {
        entry->line = 1;
    }
}

/* A name is listed once: a line and points of one name and colour share their
 * entry, and a name found in several colours ("exact" beside every curve) gets a
 * neutral one. Relatives by colour stand together, shared names last. */
static int collect(bang_legend *legend, const void *data)
{
    const bang_line_chart *chart = data;
    if (bang_legend_reserve(legend, chart->series_count) < 0)
        return -1;
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
        if (legend->entries[i].neutral)
            continue;
        bang_legend_entry entry = legend->entries[i];
        memmove(legend->entries + own + 1, legend->entries + own, (i - own) * sizeof entry);
        legend->entries[own++] = entry;
    }
    bang_legend_fit(legend, BANG_DRAW_WIDTH - 2 * BANG_DRAW_PAD, PLOT_HEIGHT);
    return 0;
}

static void draw(bang_text *out, const void *data, bang_legend *legend)
{
    const bang_line_chart *chart = data;
    bang_draw_block title, x_label, y_label;
    bang_draw_title(&title, chart->title, BANG_DRAW_WIDTH);
    bang_draw_wrap(&y_label, chart->y_label, 13, PLOT_HEIGHT, 2);
    extent e = measure(chart);
    bang_plot p = {.right = BANG_DRAW_WIDTH - BANG_DRAW_PAD - legend->width};
    fit_y(&p, chart, &e);
    p.left =
        BANG_DRAW_PAD + bang_draw_block_height(&y_label) + bang_axis_label_width(&p.y, 12) + 14;
    if (!legend->column)
        p.right -= 10; /* half of a last label under the corner */
    fit_x(&p, chart, &e);
    p.top = bang_draw_title_room(&title) + legend->height + 6;
    p.bottom = p.top + PLOT_HEIGHT;
    bang_draw_wrap(&x_label, chart->x_label, 13, p.right - p.left, 2);
    double foot = bang_draw_block_height(&x_label);
    bang_draw_open(out, BANG_DRAW_WIDTH,
                   ceil(p.bottom + 24 + (foot > 0 ? foot + 8 : 0) + BANG_DRAW_PAD - 6),
                   chart->title);
    bang_draw_title_add(out, &title);
    bang_legend_add(out, legend, legend->column ? p.right + 18 : BANG_DRAW_PAD,
                    legend->column ? p.top - 4 : p.top - 6 - legend->height);
    bang_plot_axes(out, &p, &x_label, &y_label);
    if (is_empty(&e))
        bang_draw_no_data(out, (p.left + p.right) / 2, (p.top + p.bottom) / 2);
    else
        add_data(out, &p, chart, legend);
    bang_text_add(out, "</svg>\n");
}

void bang_chart_lines(bang_text *out, const bang_line_chart *chart)
{
    bang_legend_frame(out, chart, collect, draw);
}
