/* Points against the diagonal: colours say what was measured, shapes on what. */
#include <math.h>

#include "bang/report/chart.h"
#include "report/legend.h"
#include "report/plot.h"

#define SIDE 390.0      /* px of the square */
#define LAST_LABEL 10.0 /* half of one under the corner, less the margin */
#define RADIUS 5.6
#define REACH 9.0       /* how close the pointer comes to a point */
#define TEXT_MOST 170.0 /* px of what stands on a side of the diagonal */

static int drawable(const bang_scatter_chart *chart, size_t series, size_t i)
{
    return bang_draw_usable(chart->series[series].x[i]) &&
           bang_draw_usable(chart->series[series].y[i]);
}

static int shape_of(const bang_scatter_chart *chart, size_t i)
{
    if (!chart->names)
        return 0;
    if (chart->shapes && chart->shapes[i] != BANG_MARK_BY_COLOR)
        return chart->shapes[i] - BANG_MARK_CIRCLE;
    return (int)(i % 1024);
}

static int fit_range(bang_plot *p, const bang_scatter_chart *chart)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t s = 0; s < chart->series_count; s++)
        for (size_t i = 0; i < chart->count; i++) {
            if (!drawable(chart, s, i))
                continue;
            lo = fmin(lo, fmin(chart->series[s].x[i], chart->series[s].y[i]));
            hi = fmax(hi, fmax(chart->series[s].x[i], chart->series[s].y[i]));
        }
    int any = lo <= hi;
    if (chart->min < chart->max && bang_draw_usable(chart->min) && bang_draw_usable(chart->max)) {
        bang_axis_fit(&p->y, chart->min, chart->max, 5, chart->percent);
    } else {
        if (chart->percent && any && lo >= 0 && hi <= 1) {
            lo = 0;
            hi = 1;
        }
        bang_axis_fit_round(&p->y, lo, hi, 5, chart->percent);
    }
    p->x = p->y;
    return any;
}

/* Labels that would touch each other are thinned out. */
static void thin_x(bang_plot *p)
{
    double room = SIDE * p->x.step / (p->x.hi - p->x.lo);
    if (bang_axis_label_width(&p->x, 12) + 8 > room)
        bang_plot_fit_x(p, p->y.lo, p->y.hi, p->y.percent, 0);
}

/* Series stand first in the legend, then the names. */
static int collect(bang_legend *legend, const void *data)
{
    const bang_scatter_chart *chart = data;
    if (chart->count > (size_t)-1 - chart->series_count ||
        bang_legend_reserve(legend, chart->series_count + chart->count) < 0)
        return -1;
    for (size_t s = 0; s < chart->series_count; s++) {
        bang_legend_entry *entry = bang_legend_enter(legend, chart->series[s].name, 0);
        if (!entry)
            continue;
        entry->color = chart->series[s].color;
        entry->fill = chart->names != NULL;
        entry->points = !chart->names;
    }
    size_t series = legend->count;
    for (size_t i = 0; i < chart->count && chart->names; i++) {
        bang_legend_entry *entry = bang_legend_enter(legend, chart->names[i], series);
        if (!entry)
            continue;
        entry->apart = series > 0 && legend->count == series + 1;
        entry->neutral = entry->points = 1;
        entry->shape = shape_of(chart, i);
    }
    return 0;
}

static size_t series_entries(const bang_legend *legend)
{
    size_t i = 0;
    while (i < legend->count && !legend->entries[i].neutral)
        i++;
    return i;
}

/* data-entry="1 7": what hides any of these entries hides it. */
static void add_entries(bang_text *out, const bang_scatter_chart *chart, const bang_legend *legend,
                        const size_t *series, size_t series_count, size_t i)
{
    bang_text_add(out, " data-entry=\"");
    for (size_t k = 0; k < series_count; k++) {
        size_t entry = bang_legend_find(legend, chart->series[series[k]].name, 0);
        if (entry < legend->count)
            bang_text_add(out, "%zu ", entry);
    }
    if (chart->names) {
        size_t entry = bang_legend_find(legend, chart->names[i], series_entries(legend));
        if (entry < legend->count)
            bang_text_add(out, "%zu", entry);
    }
    bang_text_add(out, "\"");
}

static void add_title(bang_text *out, const bang_scatter_chart *chart, size_t series, size_t i)
{
    char number[BANG_NUMBER_SIZE];
    const char *name = chart->names ? chart->names[i] : NULL, *own = chart->series[series].name;
    bang_text_add(out, "<title>");
    bang_draw_escaped_line(out, own);
    bang_text_add(out, own && *own && name && *name ? ", " : "");
    bang_draw_escaped_line(out, name);
    bang_number_short(number, chart->series[series].x[i], chart->percent);
    bang_text_add(out, "\n");
    bang_draw_escaped_line(out, chart->x_label ? chart->x_label : "x");
    bang_text_add(out, ": %s\n", number);
    bang_number_short(number, chart->series[series].y[i], chart->percent);
    bang_draw_escaped_line(out, chart->y_label ? chart->y_label : "y");
    bang_text_add(out, ": %s</title>", number);
}

static void add_point(bang_text *out, const bang_plot *p, const bang_scatter_chart *chart,
                      const bang_legend *legend, size_t series, size_t i)
{
    double x = chart->series[series].x[i], y = chart->series[series].y[i];
    if (!drawable(chart, series, i) || !bang_plot_inside(p, x, y))
        return;
    x = bang_plot_x(p, x);
    y = bang_plot_y(p, y);
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", chart->series[series].color, 0);
    add_entries(out, chart, legend, &series, 1, i);
    bang_text_add(out, ">\n");
    bang_draw_mark(out, x, y, RADIUS, shape_of(chart, i));
    bang_text_add(out,
                  "</path>\n<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\" fill=\"#fff\" "
                  "fill-opacity=\"0\">",
                  x, y, REACH);
    add_title(out, chart, series, i);
    bang_text_add(out, "</circle>\n</g>\n");
}

/* Through the points of name i, over those that are missing. */
static void add_connection(bang_text *out, const bang_plot *p, const bang_scatter_chart *chart,
                           const bang_legend *legend, size_t i)
{
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", 0, 1);
    add_entries(out, chart, legend, chart->connect, chart->connect_count, i);
    bang_text_add(out, "><path d=\"M");
    for (size_t k = 0, found = 0; k < chart->connect_count; k++) {
        size_t s = chart->connect[k];
        if (drawable(chart, s, i))
            bang_text_add(out, "%s%.2f %.2f", found++ ? "L" : "",
                          bang_plot_x(p, chart->series[s].x[i]),
                          bang_plot_y(p, chart->series[s].y[i]));
    }
    bang_text_add(out, "\" stroke=\"currentColor\" stroke-opacity=\"0.55\" fill=\"none\"/></g>\n");
}

static int can_connect(const bang_scatter_chart *chart, size_t i)
{
    size_t found = 0;
    for (size_t k = 0; k < chart->connect_count; k++)
        found += drawable(chart, chart->connect[k], i);
    return found > 1;
}

static void add_diagonal(bang_text *out, const bang_plot *p, const bang_scatter_chart *chart)
{
    static const char how[] = "class=\"soft halo\" fill=\"#777\" font-style=\"italic\" "
                              "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"";
    if (chart->diagonal)
        bang_text_add(out,
                      "<path d=\"M%.2f %.2fL%.2f %.2f\" class=\"axis\" stroke=\"#777\" "
                      "stroke-width=\"1.3\" stroke-dasharray=\"5 4\"/>\n",
                      p->left, p->bottom, p->right, p->top);
    bang_draw_block side;
    bang_draw_wrap(&side, chart->above, 12, TEXT_MOST, 2);
    bang_draw_block_add(out, &side, p->left + 10, p->top + 18, 0, how);
    bang_draw_wrap(&side, chart->below, 12, TEXT_MOST, 2);
    bang_text_add(out, "<g text-anchor=\"end\">\n");
    bang_draw_block_add(out, &side, p->right - 10, p->bottom - bang_draw_block_height(&side) + 6, 0,
                        how);
    bang_text_add(out, "</g>\n");
}

static void add_data(bang_text *out, const bang_plot *p, const bang_scatter_chart *chart,
                     const bang_legend *legend)
{
    bang_plot_open_clip(out, p, 1);
    for (size_t i = 0; i < chart->count; i++)
        if (can_connect(chart, i))
            add_connection(out, p, chart, legend, i);
    bang_text_add(out, "</svg>\n<g class=\"spots\">\n");
    for (size_t s = 0; s < chart->series_count; s++)
        for (size_t i = 0; i < chart->count; i++)
            add_point(out, p, chart, legend, s, i);
    bang_text_add(out, "</g>\n");
}

static void draw(bang_text *out, const void *data, bang_legend *legend)
{
    const bang_scatter_chart *chart = data;
    bang_draw_block title, x_label, y_label;
    bang_plot p = {0};
    int any = fit_range(&p, chart);
    bang_draw_wrap(&x_label, chart->x_label, 13, SIDE, 2);
    bang_draw_wrap(&y_label, chart->y_label, 13, SIDE, 2);
    p.left = ceil(BANG_DRAW_PAD + bang_draw_block_height(&y_label) +
                  bang_axis_label_width(&p.y, 12) + 14);
    p.right = p.left + SIDE;
    thin_x(&p);
    double width = p.right + LAST_LABEL + BANG_DRAW_PAD;
    bang_draw_title(&title, chart->title, width);
    bang_legend_fit(legend, width - 2 * BANG_DRAW_PAD, 0);
    p.top = bang_draw_title_room(&title) + legend->height + 6;
    p.bottom = p.top + SIDE;
    double foot = bang_draw_block_height(&x_label);
    bang_draw_open(out, ceil(width),
                   ceil(p.bottom + 24 + (foot > 0 ? foot + 8 : 0) + BANG_DRAW_PAD - 6),
                   chart->title);
    bang_draw_title_add(out, &title);
    bang_legend_add(out, legend, BANG_DRAW_PAD, bang_draw_title_room(&title));
    bang_plot_axes(out, &p, &x_label, &y_label);
    add_diagonal(out, &p, chart);
    if (any)
        add_data(out, &p, chart, legend);
    else
        bang_draw_no_data(out, (p.left + p.right) / 2, (p.top + p.bottom) / 2);
    bang_text_add(out, "</svg>\n");
}

void bang_chart_scatter(bang_text *out, const bang_scatter_chart *chart)
{
    bang_legend_frame(out, chart, collect, draw);
}
