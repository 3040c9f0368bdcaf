/* Columns that stand: several series over each name, compared at a glance. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bang/report/chart.h"
#include "report/legend.h"
#include "report/plot.h"

#define PLOT_HEIGHT 280.0
#define WIDTH_LEAST 460.0 /* of the picture */
#define BAR_MOST 48.0     /* px of a column */
#define STACK_MOST 84.0
#define GROUP_SHARE 0.8 /* of the room of a name that its columns take */
#define VALUE_SIZE 10.5 /* font of the values at the columns */
#define NAME_MOST 170.0 /* length of a name that is turned */
#define NAME_LINES 3

typedef struct layout {
    bang_plot plot;    /* its x axis is not used */
    double slot;       /* px of one name */
    double bar;        /* px of one column */
    double gap;        /* px between two columns */
    int values;        /* there is room to write them at the columns */
    int turned;        /* names are, since a word is wider than its slot */
    size_t every;      /* name each so many-th slot */
    double value_room; /* under the plot, for values of columns that go down */
    double name_room;  /* under that */
} layout;

static double slot_middle(const layout *l, size_t i)
{
    return l->plot.left + ((double)i + 0.5) * l->slot;
}

static double value_at(const bang_column_chart *chart, size_t series, size_t i)
{
    double value = chart->series[series].values[i];
    return bang_draw_usable(value) ? value : NAN;
}

/* Both ends of an interval, or none. */
static int interval_at(double ends[2], const bang_column_chart *chart, size_t series, size_t i)
{
    const bang_column_series *s = &chart->series[series];
    if (chart->stacked || !s->low || !s->high || isnan(value_at(chart, series, i)))
        return 0;
    ends[0] = s->low[i];
    ends[1] = s->high[i];
    return bang_draw_usable(ends[0]) && bang_draw_usable(ends[1]);
}

/* The scale begins at 0: the length of a column is its value. */
static int fit_scale(bang_axis *axis, const bang_column_chart *chart)
{
    double lo = 0, hi = 0;
    int any = 0;
    for (size_t i = 0; i < chart->count; i++) {
        double up = 0, down = 0, ends[2];
        for (size_t s = 0; s < chart->series_count; s++) {
            double value = value_at(chart, s, i);
            if (isnan(value))
                continue;
            any = 1;
            up = chart->stacked ? up + fmax(0, value) : fmax(up, value);
            down = chart->stacked ? down + fmin(0, value) : fmin(down, value);
            if (interval_at(ends, chart, s, i)) {
                up = fmax(up, ends[1]);
                down = fmin(down, ends[0]);
            }
        }
        hi = fmax(hi, up);
        lo = fmin(lo, down);
    }
    hi = fmin(hi, 1e305); /* stacks of huge values */
    lo = fmax(lo, -1e305);
    if (hi - lo < 1e-290)
        hi = chart->percent ? 0.01 : 1; /* all of it 0 */
    bang_axis_fit_round(axis, lo, hi, 6, chart->percent);
    return any;
}

/* How long a name may be that is turned by 45 degrees: it stays in the picture. */
static double turned_room(const layout *l, size_t i)
{
    return fmin(NAME_MOST, (slot_middle(l, i) - BANG_DRAW_PAD) * 1.41);
}

/* Names stand under their columns, in lines, while their words fit. */
static void fit_names(layout *l, const bang_column_chart *chart)
{
    double room = l->slot - 8, tallest = 0, longest = 0;
    for (size_t i = 0; i < chart->count && !l->turned; i++) {
        bang_draw_block name;
        bang_draw_wrap_name(&name, chart->names[i], 12, room, NAME_LINES);
        l->turned = name.cut || bang_draw_name_width(chart->names[i], 12) > room;
        tallest = fmax(tallest, bang_draw_block_height(&name));
    }
    l->every = 1;
    l->name_room = tallest > 0 ? tallest + 10 : 4;
    if (!l->turned)
        return;
    for (size_t i = 0; i < chart->count; i++)
        longest = fmax(longest, fmin(turned_room(l, i), bang_draw_text_width(chart->names[i], 12)));
    l->name_room = longest * 0.71 + 18;
    while ((double)l->every * l->slot < 17 && l->every < SIZE_MAX / 2)
        l->every *= 2;
}

/* One digit more than the axis. */
static void say_brief(char out[BANG_NUMBER_SIZE], const layout *l, double value)
{
    bang_axis finer = l->plot.y;
    finer.decimals++;
    bang_axis_label(out, &finer, value);
}

/* Values are written where every one of them has room at its column. */
static void fit_values(layout *l, const bang_column_chart *chart)
{
    char label[BANG_NUMBER_SIZE];
    double widest = 0;
    for (size_t i = 0; i < chart->count; i++)
        for (size_t s = 0; s < chart->series_count; s++) {
            if (isnan(value_at(chart, s, i)))
                continue;
            say_brief(label, l, value_at(chart, s, i));
            widest = fmax(widest, bang_draw_text_width(label, VALUE_SIZE));
        }
    l->values = widest <= l->bar + l->gap + (chart->stacked ? -4 : 2);
}

/* Few columns make a narrow picture, many of them thin ones. */
static void fit_slots(layout *l, const bang_column_chart *chart, double right)
{
    double count = fmax(1, (double)chart->count);
    double beside = chart->stacked ? 1 : fmax(1, (double)chart->series_count);
    double most = chart->stacked ? STACK_MOST : BAR_MOST;
    l->slot = fmin((right - l->plot.left) / count, most * beside / GROUP_SHARE + 24);
    l->slot = fmax(l->slot, fmin(WIDTH_LEAST, right) / count - l->plot.left / count);
    l->plot.right = fmin(right, l->plot.left + l->slot * count);
    l->bar = fmin(most, l->slot * (chart->stacked ? 0.64 : GROUP_SHARE) / beside);
    l->gap = l->bar >= 8 ? 2 : l->bar >= 4 ? 1 : 0;
    l->bar -= l->gap;
}

static void say(bang_text *out, const bang_column_chart *chart, size_t series, size_t i)
{
    char number[BANG_NUMBER_SIZE];
    double ends[2];
    bang_number_short(number, value_at(chart, series, i), chart->percent);
    bang_text_add(out, "%s", number);
    if (!interval_at(ends, chart, series, i))
        return;
    bang_number_short(number, ends[0], chart->percent);
    bang_text_add(out, " [%s, ", number);
    bang_number_short(number, ends[1], chart->percent);
    bang_text_add(out, "%s]", number);
}

static void add_interval(bang_text *out, const layout *l, const double ends[2], double x)
{
    double high = bang_plot_y(&l->plot, ends[1]), low = bang_plot_y(&l->plot, ends[0]);
    double cap = fmin(4, l->bar / 3);
    bang_text_add(out,
                  "<path d=\"M%.2f %.2fh%.2fM%.2f %.2fh%.2fM%.2f %.2fV%.2f\" class=\"whisker\" "
                  "stroke=\"#333\" stroke-width=\"1.2\" fill=\"none\"/>\n",
                  x - cap, high, 2 * cap, x - cap, low, 2 * cap, x, high, low);
}

/* Above what goes up, below what goes down; within a part of a stack. */
static void add_number(bang_text *out, const layout *l, const bang_column_chart *chart,
                       size_t series, size_t i, double x, double from, double to)
{
    char label[BANG_NUMBER_SIZE];
    double value = value_at(chart, series, i), ends[2];
    double y = from < to ? to + 12 : to - 5;
    const char *how = "class=\"soft\" fill=\"#555\"";
    if (chart->stacked) {
        if (fabs(to - from) < 13)
            return;
        y = (from + to) / 2 + 3.7;
        how = chart->series[series].pale ? "" : bang_draw_ink(chart->series[series].color);
    } else if (interval_at(ends, chart, series, i)) {
        y = value < 0 ? fmax(y, bang_plot_y(&l->plot, ends[0]) + 12)
                      : fmin(y, bang_plot_y(&l->plot, ends[1]) - 5);
    }
    say_brief(label, l, value);
    bang_draw_label(out, x, y, how, label);
}

/* The column of one series over name i; `from` is where it begins. */
static void add_column(bang_text *out, const layout *l, const bang_column_chart *chart,
                       size_t series, size_t i, double from)
{
    double value = value_at(chart, series, i), ends[2], stacked = chart->stacked ? 1 : 0;
    double middle = ((double)chart->series_count - 1) / 2;
    double x = slot_middle(l, i) + (1 - stacked) * ((double)series - middle) * (l->bar + l->gap);
    double start = bang_plot_y(&l->plot, from), end = bang_plot_y(&l->plot, from + value);
    double top = fmin(start, end), height = fmax(0.75, fabs(end - start) - stacked);
    /* No grid shines through a pale one. */
    for (int under = chart->series[series].pale ? 1 : 0; under >= 0 && value != 0; under--)
        bang_text_add(out,
                      "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                      "height=\"%.2f\" fill=\"%s\"%s/>\n",
                      under ? "under" : "bar", x - l->bar / 2, top, l->bar, height,
                      under ? "#fff" : "currentColor",
                      chart->series[series].pale && !under ? " fill-opacity=\"0.35\"" : "");
    if (interval_at(ends, chart, series, i))
        add_interval(out, l, ends, x);
    if (l->values)
        add_number(out, l, chart, series, i, x, start, end);
}

/* What the columns of the series before this one sum up to, on its side of 0. */
static double stacked_below(const bang_column_chart *chart, size_t series, size_t i)
{
    double sum = 0, value = value_at(chart, series, i);
    for (size_t s = 0; s < series && chart->stacked; s++)
        if (value_at(chart, s, i) * (value < 0 ? -1 : 1) > 0)
            sum += value_at(chart, s, i);
    return sum;
}

static void add_series(bang_text *out, const layout *l, const bang_column_chart *chart,
                       const bang_legend *legend, size_t series)
{
    size_t entry = bang_legend_find(legend, chart->series[series].name, 0);
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", chart->series[series].color, 0);
    if (entry < legend->count)
        bang_text_add(out, " data-entry=\"%zu\"", entry);
    bang_text_add(out, " data-name=\"");
    bang_draw_escaped_line(out, chart->series[series].name);
    bang_text_add(out, "\" font-size=\"%g\" text-anchor=\"middle\">\n", VALUE_SIZE);
    for (size_t i = 0; i < chart->count; i++)
        if (!isnan(value_at(chart, series, i)))
            add_column(out, l, chart, series, i, stacked_below(chart, series, i));
    bang_text_add(out, "</g>\n");
}

/* The pointer finds all values of a name anywhere over it. */
static void add_slots(bang_text *out, const layout *l, const bang_column_chart *chart)
{
    bang_text_add(out, "<g class=\"spots\" fill=\"#fff\" fill-opacity=\"0\">\n");
    for (size_t i = 0; i < chart->count; i++) {
        bang_text_add(out,
                      "<rect class=\"slot\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                      "height=\"%.2f\"><title>",
                      l->plot.left + (double)i * l->slot, l->plot.top, l->slot,
                      l->plot.bottom - l->plot.top);
        int any = 0;
        bang_draw_escaped_line(out, chart->names[i]);
        for (size_t s = 0; s < chart->series_count; s++) {
            if (isnan(value_at(chart, s, i)))
                continue;
            bang_text_add(out, "\n");
            bang_draw_escaped_line(out, chart->series[s].name);
            bang_text_add(out, ": ");
            say(out, chart, s, i);
            any = 1;
        }
        bang_text_add(out, "%s</title></rect>\n", any ? "" : ": no data");
    }
    bang_text_add(out, "</g>\n");
}

static void add_names(bang_text *out, const layout *l, const bang_column_chart *chart)
{
    double top = l->plot.bottom + l->value_room + 18;
    for (size_t i = 0; i < chart->count; i += l->every) {
        bang_draw_block name;
        if (!l->turned) {
            bang_draw_wrap_name(&name, chart->names[i], 12, l->slot - 8, NAME_LINES);
            bang_draw_block_add(out, &name, slot_middle(l, i), top, 0, "text-anchor=\"middle\"");
            continue;
        }
        bang_draw_wrap(&name, chart->names[i], 12, turned_room(l, i), 1);
        bang_text_add(out, "<g transform=\"translate(%.2f %.2f) rotate(-45)\">\n",
                      slot_middle(l, i) + 4, top - 4);
        bang_draw_block_add(out, &name, 0, 0, 0, "text-anchor=\"end\"");
        bang_text_add(out, "</g>\n");
    }
}

static int collect(bang_legend *legend, const void *data)
{
    const bang_column_chart *chart = data;
    if (bang_legend_reserve(legend, chart->series_count) < 0)
        return -1;
    for (size_t s = 0; s < chart->series_count; s++) {
        bang_legend_entry *entry = bang_legend_enter(legend, chart->series[s].name, 0);
        if (!entry)
            continue;
        entry->color = chart->series[s].color;
        entry->pale = chart->series[s].pale;
        entry->fill = 1;
    }
    return 0;
}

static void draw(bang_text *out, const void *data, bang_legend *legend)
{
    const bang_column_chart *chart = data;
    bang_draw_block title, x_label, y_label;
    layout l = {0};
    int any = fit_scale(&l.plot.y, chart);
    bang_draw_wrap(&y_label, chart->value_label, 13, PLOT_HEIGHT, 2);
    l.plot.left = BANG_DRAW_PAD + bang_draw_block_height(&y_label) +
                  bang_axis_label_width(&l.plot.y, 12) + 14;
    fit_slots(&l, chart, BANG_DRAW_WIDTH - BANG_DRAW_PAD);
    fit_values(&l, chart);
    fit_names(&l, chart);
    double width = l.plot.right + BANG_DRAW_PAD;
    bang_legend_fit(legend, width - 2 * BANG_DRAW_PAD, 0);
    bang_draw_title(&title, chart->title, width);
    l.plot.top = bang_draw_title_room(&title) + legend->height + (l.values ? 14 : 6);
    l.plot.bottom = l.plot.top + PLOT_HEIGHT;
    bang_draw_wrap(&x_label, chart->x_label, 13, l.plot.right - l.plot.left, 2);
    l.value_room = l.values && l.plot.y.lo < 0 ? 12 : 0;
    double foot = bang_draw_block_height(&x_label);
    double below = l.plot.bottom + l.value_room + l.name_room;
    bang_draw_open(out, ceil(width), ceil(below + (foot > 0 ? foot + 6 : 0) + 12), chart->title);
    bang_draw_title_add(out, &title);
    bang_legend_add(out, legend, BANG_DRAW_PAD, bang_draw_title_room(&title));
    bang_plot_grid(out, &l.plot, 0);
    bang_plot_ticks_y(out, &l.plot);
    bang_plot_name_y(out, &l.plot, &y_label);
    bang_draw_block_add(out, &x_label, (l.plot.left + l.plot.right) / 2, below + 14, 0,
                        "text-anchor=\"middle\"");
    for (size_t s = 0; s < chart->series_count && any; s++)
        add_series(out, &l, chart, legend, s);
    bang_text_add(out, "<path d=\"M%.2f %.2fH%.2f\" class=\"axis\" stroke=\"#777\"/>\n",
                  l.plot.left, bang_plot_y(&l.plot, 0), l.plot.right);
    add_names(out, &l, chart);
    if (any)
        add_slots(out, &l, chart);
    else
        bang_draw_no_data(out, (l.plot.left + l.plot.right) / 2, (l.plot.top + l.plot.bottom) / 2);
    bang_text_add(out, "</svg>\n");
}

void bang_chart_columns(bang_text *out, const bang_column_chart *chart)
{
    bang_legend_frame(out, chart, collect, draw);
}
