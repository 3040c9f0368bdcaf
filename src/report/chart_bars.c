/* Bars that lie: names are read from left to right, however long they are. */
#include <math.h>

#include "bang/report/chart.h"
#include "report/draw.h"

#define ROW_MOST 22.0      /* px from a bar to the next */
#define ROW_LEAST 2.0      /* never thinner */
#define HEIGHT_GOOD 1100.0 /* more bars than this holds get thinner */
#define LABEL_ROOM 15.0    /* from one name to the next */
#define NAME_MOST 300.0
#define GAP 10.0

typedef struct layout {
    bang_axis axis; /* 0 included */
    double left, right, top, bottom;
    double row;        /* px from a bar to the next */
    size_t every;      /* name each so many-th bar */
    double value_room; /* right of the plot, for what the bars say */
} layout;

static double to_x(const layout *l, double value)
{
    double part = (value - l->axis.lo) / (l->axis.hi - l->axis.lo);
    return l->left + fmax(0, fmin(1, part)) * (l->right - l->left);
}

/* The scale begins at 0: the length of a bar is its value. */
static int fit_axis(layout *l, const bang_bar_chart *chart)
{
    double lo = 0, hi = 0;
    int any = 0;
    for (size_t i = 0; i < chart->count; i++) {
        if (!bang_draw_usable(chart->values[i]))
            continue;
        any = 1;
        lo = fmin(lo, chart->values[i]);
        hi = fmax(hi, chart->values[i]);
    }
    if (hi - lo < 1e-290)
        hi = chart->percent ? 0.01 : 1; /* all of it 0 */
    bang_axis_fit_round(&l->axis, lo, hi, 6, chart->percent);
    return any;
}

/* Names get what they need up to a limit; values stand in a column of their own. */
static void fit_columns(layout *l, const bang_bar_chart *chart)
{
    char label[BANG_NUMBER_SIZE];
    double names = 0;
    for (size_t i = 0; i < chart->count; i += l->every) {
        names = fmax(names, bang_draw_text_width(chart->names[i], 12));
        bang_number_brief(label, chart->values[i], chart->percent);
        l->value_room = fmax(l->value_room, bang_draw_text_width(label, 12));
    }
    l->left = ceil(BANG_DRAW_PAD + fmin(names, NAME_MOST) + GAP);
    l->right = floor(BANG_DRAW_WIDTH - BANG_DRAW_PAD - l->value_room - GAP);
}

static void fit_rows(layout *l, const bang_bar_chart *chart, double top)
{
    double count = (double)chart->count;
    l->row = fmax(ROW_LEAST, fmin(ROW_MOST, HEIGHT_GOOD / fmax(count, 1)));
    if (l->row > 8)
        l->row = floor(l->row); /* whole pixels: even gaps */
    l->every = (size_t)ceil(LABEL_ROOM / l->row);
    l->top = top;
    l->bottom = top + l->row * count + 4;
}

/* As many ticks as their labels leave room for. */
static void thin_axis(layout *l)
{
    for (int want = 6; want > 1; want--) {
        double room = (l->right - l->left) * l->axis.step / (l->axis.hi - l->axis.lo);
        if (bang_axis_label_width(&l->axis, 12) + GAP <= room)
            return;
        bang_axis_fit_round(&l->axis, l->axis.lo, l->axis.hi, want - 1, l->axis.percent);
    }
}

static void add_grid(bang_text *out, const layout *l)
{
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<path d=\"");
    for (double i = l->axis.first; i <= l->axis.last; i++)
        bang_text_add(out, "M%.2f %.2fV%.2f", to_x(l, i * l->axis.step), l->top, l->bottom);
    bang_text_add(out, "\" class=\"grid\" stroke=\"#ebebeb\" fill=\"none\"/>\n");
    bang_text_add(out, "<g class=\"soft\" fill=\"#555\" text-anchor=\"middle\">\n");
    for (double i = l->axis.first; i <= l->axis.last; i++) {
        bang_axis_label(label, &l->axis, i * l->axis.step);
        bang_draw_label(out, to_x(l, i * l->axis.step), l->bottom + 16, "", label);
    }
    bang_text_add(out, "</g>\n");
}

/* The pointer finds the whole row, so that a short bar is not missed. */
static void add_bar(bang_text *out, const layout *l, const bang_bar_chart *chart, size_t i)
{
    char shown[BANG_NUMBER_SIZE];
    double value = chart->values[i], y = l->top + 2 + l->row * (double)i;
    double zero = to_x(l, 0), end = to_x(l, value), gap = l->row >= 6 ? floor(l->row / 5) : 0;
    if (!bang_draw_usable(value))
        return;
    if (value != 0)
        bang_text_add(out,
                      "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                      "fill=\"currentColor\"/>\n",
                      fmin(zero, end), y + gap, fmax(0.75, fabs(end - zero)), l->row - 2 * gap);
    bang_number_short(shown, value, chart->percent);
    bang_text_add(out,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#fff\" "
                  "fill-opacity=\"0\" pointer-events=\"all\"><title>",
                  l->left, y, l->right - l->left, l->row);
    bang_draw_escaped_line(out, chart->names[i]);
    bang_text_add(out, ": %s</title></rect>\n", shown);
}

static void add_bars(bang_text *out, const layout *l, const bang_bar_chart *chart)
{
    bang_text_add(out, "<g");
    bang_draw_color(out, "cells", chart->color, 0);
    bang_text_add(out, " pointer-events=\"none\" data-name=\"");
    bang_draw_escaped(out, chart->value_label);
    bang_text_add(out, "\">\n");
    for (size_t i = 0; i < chart->count; i++)
        add_bar(out, l, chart, i);
    bang_text_add(out, "</g>\n<path d=\"M%.2f %.2fV%.2f\" class=\"axis\" stroke=\"#777\"/>\n",
                  to_x(l, 0), l->top, l->bottom);
}

static void add_names(bang_text *out, const layout *l, const bang_bar_chart *chart)
{
    char shown[BANG_NUMBER_SIZE];
    for (size_t i = 0; i < chart->count; i += l->every) {
        double y = l->top + 2 + l->row * ((double)i + 0.5) + 4;
        bang_draw_block name;
        bang_draw_wrap(&name, chart->names[i], 12, NAME_MOST, 1);
        bang_draw_block_add(out, &name, l->left - GAP, y, 0, "text-anchor=\"end\"");
        bang_number_brief(shown, chart->values[i], chart->percent);
        bang_draw_label(out, BANG_DRAW_WIDTH - BANG_DRAW_PAD, y,
                        "text-anchor=\"end\" class=\"soft\" fill=\"#555\"", shown);
    }
}

static void draw(bang_text *out, const bang_bar_chart *chart)
{
    layout l = {0};
    bang_draw_block title, label;
    bang_draw_title(&title, chart->title, BANG_DRAW_WIDTH);
    int any = fit_axis(&l, chart);
    fit_rows(&l, chart, bang_draw_title_room(&title));
    fit_columns(&l, chart);
    thin_axis(&l);
    if (!any)
        l.bottom = l.top + 100;
    bang_draw_wrap(&label, chart->value_label, 13, l.right - l.left, 2);
    double foot = bang_draw_block_height(&label);
    bang_draw_open(out, BANG_DRAW_WIDTH, ceil(l.bottom + 22 + (foot > 0 ? foot + 6 : 0) + 10),
                   chart->title);
    bang_draw_title_add(out, &title);
    if (any) {
        add_grid(out, &l);
        add_names(out, &l, chart);
        add_bars(out, &l, chart);
    } else {
        bang_draw_no_data(out, BANG_DRAW_WIDTH / 2, (l.top + l.bottom) / 2);
    }
    bang_draw_block_add(out, &label, (l.left + l.right) / 2, l.bottom + 38, 0,
                        "text-anchor=\"middle\"");
    bang_text_add(out, "</svg>\n");
}

void bang_chart_bars(bang_text *out, const bang_bar_chart *chart)
{
    bang_draw_locale locale;
    if (bang_draw_begin(&locale) < 0)
        out->failed = 1;
    else
        draw(out, chart);
    bang_draw_end(&locale);
}
