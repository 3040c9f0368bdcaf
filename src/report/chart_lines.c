#include <math.h>

#include "bang/report/chart.h"
#include "report/draw.h"
#include "report/legend.h"

#define PLOT_HEIGHT 300.0
#define LINE_WIDTH 2.0
#define MANY 60 /* from this many points on, marks are small */

typedef struct plot {
    bang_axis x, y;
    double left, right, top, bottom; /* px */
    int empty;                       /* nothing finite to draw */
} plot;

/* Far outside the picture all places look alike, and numbers stay short. */
static double clamp(double place)
{
    return fmax(-1e5, fmin(1e5, place));
}

static double to_x(const plot *p, double x)
{
    return clamp(p->left + (x - p->x.lo) / (p->x.hi - p->x.lo) * (p->right - p->left));
}

static double to_y(const plot *p, double y)
{
    return clamp(p->bottom - (y - p->y.lo) / (p->y.hi - p->y.lo) * (p->bottom - p->top));
}

static int drawable(const bang_series *series, size_t i)
{
    return bang_draw_usable(series->x[i]) && bang_draw_usable(series->y[i]);
}

static double error_of(const bang_series *series, size_t i)
{
    double e = series->error ? fabs(series->error[i]) : 0;
    return bang_draw_usable(e) ? e : 0;
}

/* How far the picture of a point goes up and down. */
static double reach_of(const bang_series *series, size_t i)
{
    double band = series->band ? fabs(series->band[i]) : 0;
    return fmax(error_of(series, i), bang_draw_usable(band) ? band : 0);
}

/* Half a pixel of tolerance: a value equal to the end of the axis is inside,
 * however it was rounded. */
static int inside(const plot *p, double x, double y)
{
    double at_x = to_x(p, x), at_y = to_y(p, y);
    return at_x >= p->left - 0.5 && at_x <= p->right + 0.5 && at_y >= p->top - 0.5 &&
           at_y <= p->bottom + 0.5;
}

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
            if (!drawable(series, i))
                continue;
            double x = series->x[i], y = series->y[i], bar = reach_of(series, i);
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

/* As many x ticks as their labels leave room for; no half steps between whole
 * numbers (there is no ensemble of 2.5 models). */
static void fit_x(bang_axis *axis, const extent *e, double width)
{
    double lo = e->x_lo, hi = e->x_hi;
    if (lo == hi && e->whole_x && fabs(lo) < 1e6) {
        lo -= 1;
        hi += 1;
    } else if (lo < hi) {
        double room = 0.02 * (hi - lo); /* marks at the ends stay clear of the frame */
        lo -= room;
        hi += room;
    }
    for (int want = 10; want >= 1; want--) {
        bang_axis_fit(axis, lo, hi, want, 0);
        if (e->whole_x && axis->step < 1 && e->x_lo <= e->x_hi)
            continue;
        double room = width * axis->step / (axis->hi - axis->lo);
        if (bang_axis_label_width(axis, 12) + 12 <= room)
            break;
    }
}

static void fit_axes(plot *p, const bang_line_chart *chart, const extent *e)
{
    double y_lo = e->y_lo, y_hi = e->y_hi;
    p->empty = !(e->x_lo <= e->x_hi);
    if (chart->y_percent && e->fraction && !p->empty) { /* nobody is right more than always */
        y_lo = fmax(0, y_lo);
        y_hi = fmin(1, y_hi);
    }
    if (chart->y_min < chart->y_max && bang_draw_usable(chart->y_min) &&
        bang_draw_usable(chart->y_max))
        bang_axis_fit(&p->y, chart->y_min, chart->y_max, 6, chart->y_percent);
    else
        bang_axis_fit_round(&p->y, y_lo, y_hi, 6, chart->y_percent);
    fit_x(&p->x, e, p->right - p->left);
}

static void add_grid(bang_text *out, const plot *p)
{
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<path d=\"");
    for (double i = p->y.first; i <= p->y.last; i++)
        bang_text_add(out, "M%.2f %.2fH%.2f", p->left, to_y(p, i * p->y.step), p->right);
    for (double i = p->x.first; i <= p->x.last; i++)
        bang_text_add(out, "M%.2f %.2fV%.2f", to_x(p, i * p->x.step), p->top, p->bottom);
    bang_text_add(out, "\" class=\"grid\" stroke=\"#ebebeb\" fill=\"none\"/>\n");
    if (p->y.lo < 0 && p->y.hi > 0)
        bang_text_add(out, "<path d=\"M%.2f %.2fH%.2f\" class=\"zero\" stroke=\"#b5b5b5\"/>\n",
                      p->left, to_y(p, 0), p->right);
    bang_text_add(
        out, "<path d=\"M%.2f %.2fV%.2fH%.2f\" class=\"axis\" stroke=\"#777\" fill=\"none\"/>\n",
        p->left, p->top, p->bottom, p->right);
    bang_text_add(out, "<g class=\"soft\" fill=\"#555\" text-anchor=\"end\">\n");
    for (double i = p->y.first; i <= p->y.last; i++) {
        bang_axis_label(label, &p->y, i * p->y.step);
        bang_draw_label(out, p->left - 8, to_y(p, i * p->y.step) + 4, "", label);
    }
    bang_text_add(out, "</g>\n<g class=\"soft\" fill=\"#555\" text-anchor=\"middle\">\n");
    for (double i = p->x.first; i <= p->x.last; i++) {
        bang_axis_label(label, &p->x, i * p->x.step);
        bang_draw_label(out, to_x(p, i * p->x.step), p->bottom + 18, "", label);
    }
    bang_text_add(out, "</g>\n");
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
    bang_number_short(number, series->x[i], 0);
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
static void add_line(bang_text *out, const plot *p, const bang_series *series)
{
    double last_x = 0;
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i))
            continue;
        double x = to_x(p, series->x[i]), y = to_y(p, series->y[i]);
        if (i == 0 || !drawable(series, i - 1))
            bang_text_add(out, "M%.2f %.2f", x, y);
        else if (!series->step)
            bang_text_add(out, "L%.2f %.2f", x, y);
        else if (series->y[i] != series->y[i - 1])
            bang_text_add(out, "H%.2fV%.2f", (last_x + x) / 2, y);
        if (series->step && (i + 1 == series->count || !drawable(series, i + 1)))
            bang_text_add(out, "H%.2f", x);
        last_x = x;
    }
    bang_text_add(out,
                  "\" stroke=\"currentColor\" stroke-width=\"%g\" stroke-linejoin=\"round\" "
                  "fill=\"none\"%s/>\n",
                  LINE_WIDTH, bang_draw_dash(series->color));
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i) || (i > 0 && drawable(series, i - 1)) ||
            (i + 1 < series->count && drawable(series, i + 1)))
            continue;
        bang_text_add(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"currentColor\"/>\n",
                      to_x(p, series->x[i]), to_y(p, series->y[i]));
    }
}

static int has_band(const bang_series *series, size_t i)
{
    return i < series->count && drawable(series, i) && bang_draw_usable(series->band[i]);
}

/* Along the upper edge and back along the lower one, for every run of points
 * that have a width. */
static void add_band(bang_text *out, const plot *p, const bang_series *series)
{
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        if (!has_band(series, i))
            continue;
        size_t end = i;
        for (; has_band(series, end); end++)
            bang_text_add(out, "%c%.2f %.2f", end == i ? 'M' : 'L', to_x(p, series->x[end]),
                          to_y(p, series->y[end] + fabs(series->band[end])));
        for (size_t k = end; k-- > i;)
            bang_text_add(out, "L%.2f %.2f", to_x(p, series->x[k]),
                          to_y(p, series->y[k] - fabs(series->band[k])));
        bang_text_add(out, "z");
        i = end;
    }
    bang_text_add(out, "\" fill=\"currentColor\" fill-opacity=\"0.16\"/>\n");
}

/* What the pointer finds along a line: unseen discs at its values, only where
 * the last one is far enough away to be told apart. */
static void add_line_values(bang_text *out, const plot *p, const bang_line_chart *chart,
                            const bang_series *series)
{
    const double apart = 6;
    double last_x = -INFINITY, last_y = -INFINITY;
    bang_text_add(out, "<g fill=\"#fff\" fill-opacity=\"0\">\n");
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i) || !inside(p, series->x[i], series->y[i]))
            continue;
        double x = to_x(p, series->x[i]), y = to_y(p, series->y[i]);
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

static void add_errors(bang_text *out, const plot *p, const bang_series *series)
{
    if (!series->error)
        return;
    double cap = series->count < MANY ? 4 : 2;
    bang_text_add(out, "<path d=\"");
    for (size_t i = 0; i < series->count; i++) {
        double bar = error_of(series, i);
        if (!drawable(series, i) || bar == 0)
            continue;
        double x = to_x(p, series->x[i]);
        double high = to_y(p, series->y[i] + bar), low = to_y(p, series->y[i] - bar);
        bang_text_add(out, "M%.2f %.2fh%.2fM%.2f %.2fh%.2fM%.2f %.2fV%.2f", x - cap, high, 2 * cap,
                      x - cap, low, 2 * cap, x, high, low);
    }
    bang_text_add(out, "\" stroke=\"currentColor\" stroke-width=\"1.3\" fill=\"none\"/>\n");
}

static void add_marks(bang_text *out, const plot *p, const bang_line_chart *chart,
                      const bang_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i) || !inside(p, series->x[i], series->y[i]))
            continue;
        bang_draw_mark(out, to_x(p, series->x[i]), to_y(p, series->y[i]),
                       series->count < MANY ? 4.2 : 2.8, series->color);
        add_value(out, chart, series, i);
        bang_text_add(out, "</path>\n");
    }
}

static void open_series(bang_text *out, const bang_series *series, const bang_legend *legend)
{
    size_t entry = bang_legend_find(legend, series->name);
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", series->color, 0);
    if (entry < legend->count)
        bang_text_add(out, " data-entry=\"%zu\"", entry);
}

/* [[x, y, error, band], ...], short where nothing follows, 0 for a gap. */
static void add_points(bang_text *out, const bang_series *series)
{
    bang_text_add(out, " data-points=\"[");
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i)) {
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
    bang_text_add(out, "]\"%s%s data-name=\"", series->points ? " data-marks=\"1\"" : "",
                  series->step ? " data-step=\"1\"" : "");
    bang_draw_escaped(out, series->name);
    bang_text_add(out, "\">\n");
}

/* Bands, lines and bars are clipped by an inner <svg>, which needs no id that
 * another chart of the same page could share; marks at the very edge stay whole. */
static void add_clipped(bang_text *out, const plot *p, const bang_line_chart *chart,
                        const bang_legend *legend)
{
    double x = p->left - LINE_WIDTH, width = p->right - p->left + 2 * LINE_WIDTH;
    double y = p->top - LINE_WIDTH, height = p->bottom - p->top + 2 * LINE_WIDTH;
    bang_text_add(out,
                  "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                  "viewBox=\"%.2f %.2f %.2f %.2f\" overflow=\"hidden\">\n",
                  x, y, width, height, x, y, width, height);
    for (size_t s = 0; s < chart->series_count; s++) {
        if (!chart->series[s].band)
            continue;
        open_series(out, &chart->series[s], legend);
        bang_text_add(out, ">\n");
        add_band(out, p, &chart->series[s]);
        bang_text_add(out, "</g>\n");
    }
    for (size_t s = 0; s < chart->series_count; s++) {
        const bang_series *series = &chart->series[s];
        open_series(out, series, legend);
        bang_text_add(out, ">\n");
        if (!series->points)
            add_line(out, p, series);
        add_errors(out, p, series);
        bang_text_add(out, "</g>\n");
    }
    bang_text_add(out, "</svg>\n");
}

static void add_data(bang_text *out, const plot *p, const bang_line_chart *chart,
                     const bang_legend *legend)
{
    bang_text_add(out,
                  "<g class=\"plot\" data-area=\"[%.2f,%.2f,%.2f,%.2f]\" "
                  "data-range=\"[%.9g,%.9g,%.9g,%.9g]\"%s data-label=\"",
                  p->left, p->top, p->right, p->bottom, p->x.lo, p->x.hi, p->y.lo, p->y.hi,
                  chart->y_percent ? " data-percent=\"1\"" : "");
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
            add_points(out, series);
            if (points)
                add_marks(out, p, chart, series);
            else
                add_line_values(out, p, chart, series);
            bang_text_add(out, "</g>\n");
        }
    }
    bang_text_add(out, "</g>\n");
}

static void draw(bang_text *out, const bang_line_chart *chart, const bang_legend *legend)
{
    bang_draw_block title, x_label, y_label;
    bang_draw_wrap(&title, chart->title, 15, (BANG_DRAW_WIDTH - 2 * BANG_DRAW_PAD) / BANG_DRAW_BOLD,
                   3);
    bang_draw_wrap(&y_label, chart->y_label, 13, PLOT_HEIGHT, 2);
    extent e = measure(chart);
    plot p = {.left = BANG_DRAW_PAD, .right = BANG_DRAW_WIDTH - BANG_DRAW_PAD - legend->width};
    fit_axes(&p, chart, &e);
    p.left += bang_draw_block_height(&y_label) + bang_axis_label_width(&p.y, 12) + 14;
    if (!legend->column)
        p.right -= 10; /* half of a last label under the corner */
    fit_x(&p.x, &e, p.right - p.left);
    double head = bang_draw_block_height(&title);
    p.top = BANG_DRAW_PAD + (head > 0 ? head + 10 : 0) + legend->height + 6;
    p.bottom = p.top + PLOT_HEIGHT;
    bang_draw_wrap(&x_label, chart->x_label, 13, p.right - p.left, 2);
    double foot = bang_draw_block_height(&x_label);
    bang_draw_open(out, BANG_DRAW_WIDTH,
                   ceil(p.bottom + 24 + (foot > 0 ? foot + 8 : 0) + BANG_DRAW_PAD - 6),
                   chart->title);
    bang_draw_block_add(out, &title, BANG_DRAW_PAD, BANG_DRAW_PAD + 14, 0,
                        "font-weight=\"600\" fill=\"#111\"");
    bang_legend_add(out, legend, legend->column ? p.right + 18 : BANG_DRAW_PAD,
                    legend->column ? p.top - 4 : p.top - 6 - legend->height);
    add_grid(out, &p);
    bang_draw_block_add(out, &y_label, BANG_DRAW_PAD + 10, (p.top + p.bottom) / 2, 1,
                        "text-anchor=\"middle\"");
    bang_draw_block_add(out, &x_label, (p.left + p.right) / 2, p.bottom + 42, 0,
                        "text-anchor=\"middle\"");
    if (p.empty)
        bang_draw_label(out, (p.left + p.right) / 2, (p.top + p.bottom) / 2,
                        "text-anchor=\"middle\" font-size=\"14\" class=\"soft\" fill=\"#777\"",
                        "no data");
    else
        add_data(out, &p, chart, legend);
    bang_text_add(out, "</svg>\n");
}

void bang_chart_lines(bang_text *out, const bang_line_chart *chart)
{
    bang_draw_locale locale;
    bang_legend legend = {0};
    if (bang_draw_begin(&locale) < 0 || bang_legend_init(&legend, chart, PLOT_HEIGHT) < 0)
        out->failed = 1;
    else
        draw(out, chart, &legend);
    bang_legend_release(&legend);
    bang_draw_end(&locale);
}
