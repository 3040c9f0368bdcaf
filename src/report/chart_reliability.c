/* Reliability diagrams: how often a model is right when it says how sure it is. */
#include <math.h>
#include <stdio.h>

#include "bang/report/chart.h"
#include "report/legend.h"
#include "report/plot.h"

#define SIDE_MOST 250.0   /* px of a panel */
#define WIDTH_LEAST 460.0 /* of the picture */
#define LAST_LABEL 14.0   /* half of one under the corner */
#define ACROSS_MOST 4
#define PANEL_GAP 38.0
#define STRIP 50.0 /* height of the counts under a panel */
#define STRIP_GAP 15.0
#define ROW_GAP 20.0
#define TICK_ROOM 24.0
#define HEAD_SIZE 13.0

enum { ACCURACY, GAP, PERFECT, ENTRIES }; /* of the legend */

typedef struct layout {
    double side;             /* px of a panel */
    double left, top, right; /* around all panels */
    double head;             /* height of a panel's title, with what it says */
    double row;              /* from one row of panels to the next */
    size_t across, down;
    bang_axis share; /* of the samples in one bin */
} layout;

static int has_width(const bang_reliability_bin *bin)
{
    return bang_draw_usable(bin->low) && bang_draw_usable(bin->high) && bin->high > bin->low;
}

/* A bin with samples, whose means can be drawn. */
static int is_drawable(const bang_reliability_bin *bin)
{
    return has_width(bin) && bin->count > 0 && bang_draw_usable(bin->confidence) &&
           bang_draw_usable(bin->accuracy);
}

static double samples_of(const bang_reliability_panel *panel)
{
    double all = 0;
    for (size_t i = 0; i < panel->count; i++)
        if (bang_draw_usable(panel->bins[i].count) && panel->bins[i].count > 0)
            all += panel->bins[i].count;
    return all;
}

/* 0 for a bin that holds none, or that nothing is known of. */
static double share_of(const bang_reliability_panel *panel, size_t i, double samples)
{
    double count = panel->bins[i].count;
    return bang_draw_usable(count) && count > 0 ? count / samples : 0;
}

static int fit_share(layout *l, const bang_reliability_chart *chart)
{
    double most = 0;
    int any = 0;
    for (size_t p = 0; p < chart->panel_count; p++) {
        const bang_reliability_panel *panel = &chart->panels[p];
        double samples = samples_of(panel);
        for (size_t i = 0; i < panel->count; i++) {
            any |= is_drawable(&panel->bins[i]);
            if (has_width(&panel->bins[i]))
                most = fmax(most, share_of(panel, i, samples));
        }
    }
    bang_axis_fit_round(&l->share, 0, most > 0 ? most : 1, 1, 1);
    return any;
}

static void wrap_head(bang_draw_block *block, const layout *l, const char *title)
{
    bang_draw_wrap(block, title, HEAD_SIZE, (l->side + PANEL_GAP - 8) / BANG_DRAW_BOLD, 2);
}

static void fit(layout *l, const bang_reliability_chart *chart, double left)
{
    size_t count = chart->panel_count ? chart->panel_count : 1;
    double room = BANG_DRAW_WIDTH - BANG_DRAW_PAD - LAST_LABEL - left;
    l->down = (count + ACROSS_MOST - 1) / ACROSS_MOST;
    l->across = (count + l->down - 1) / l->down;
    l->down = (count + l->across - 1) / l->across;
    l->side = floor(fmin(SIDE_MOST, (room + PANEL_GAP) / (double)l->across - PANEL_GAP));
    l->left = left;
    l->right = left + (l->side + PANEL_GAP) * (double)l->across - PANEL_GAP;
    for (size_t p = 0; p < chart->panel_count; p++) {
        bang_draw_block block;
        wrap_head(&block, l, chart->panels[p].title);
        double head = bang_draw_block_height(&block);
        l->head = fmax(l->head, head + (isfinite(chart->panels[p].ece) ? 16 : 0));
    }
    l->head = ceil(l->head + (l->head > 0 ? 6 : 0));
    l->row = l->head + l->side + STRIP_GAP + STRIP + TICK_ROOM + ROW_GAP;
}

static bang_plot plot_of(const layout *l, size_t index)
{
    bang_plot p = {0};
    p.left = l->left + (double)(index % l->across) * (l->side + PANEL_GAP);
    p.right = p.left + l->side;
    size_t down = index / l->across;
    p.top = l->top + (double)down * l->row + l->head;
    p.bottom = p.top + l->side;
    bang_axis_fit(&p.y, 0, 1, 5, 1);
    bang_plot_fit_x(&p, 0, 1, 1, 0);
    return p;
}

/* The counts under the panel, on an axis of their own. */
static bang_plot strip_of(const layout *l, const bang_plot *panel)
{
    bang_plot p = *panel;
    p.y = l->share;
    p.top = panel->bottom + STRIP_GAP;
    p.bottom = p.top + STRIP;
    return p;
}

/* Upright between two values over one bin, with a hair of ground on both sides. */
static void add_rect(bang_text *out, const bang_plot *p, const bang_reliability_bin *bin,
                     double from, double to, const char *attributes)
{
    double left = bang_plot_x(p, bin->low), right = bang_plot_x(p, bin->high);
    double hair = right - left >= 5 ? 0.75 : 0;
    double low = bang_plot_y(p, fmin(from, to)), high = bang_plot_y(p, fmax(from, to));
    bang_text_add(out,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                  "fill=\"currentColor\" %s/>\n",
                  left + hair, high, fmax(0.5, right - left - 2 * hair), fmax(0.75, low - high),
                  attributes);
}

/* The column up to the accuracy. Where that is above the confidence, the part
 * between the two belongs to the gap. */
static void add_accuracy(bang_text *out, const bang_plot *p, const bang_reliability_bin *bin)
{
    add_rect(out, p, bin, 0, fmin(bin->accuracy, fmax(0, bin->confidence)), "class=\"bar\"");
    if (bin->accuracy > bin->confidence)
        add_rect(out, p, bin, bin->confidence, bin->accuracy, "fill-opacity=\"0.6\"");
}

/* Between accuracy and confidence: empty above the column, or the top of it. */
static void add_gap(bang_text *out, const bang_plot *p, const bang_reliability_bin *bin)
{
    add_rect(out, p, bin, bin->accuracy, bin->confidence,
             bin->accuracy < bin->confidence
                 ? "class=\"gap\" fill-opacity=\"0.2\" stroke=\"currentColor\" "
                   "stroke-opacity=\"0.55\""
                 : "class=\"gap\" fill-opacity=\"0\" stroke=\"currentColor\"");
}

static void add_part(bang_text *out, const bang_plot *p, const bang_reliability_panel *panel,
                     int entry,
                     void (*add)(bang_text *, const bang_plot *, const bang_reliability_bin *))
{
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", panel->color, 0);
    bang_text_add(out, " data-entry=\"%d\">\n", entry);
    for (size_t i = 0; i < panel->count; i++)
        if (is_drawable(&panel->bins[i]))
            add(out, p, &panel->bins[i]);
    bang_text_add(out, "</g>\n");
}

static void add_counts(bang_text *out, const bang_plot *strip, const bang_reliability_panel *panel)
{
    double samples = samples_of(panel);
    bang_text_add(out, "<g");
    bang_draw_color(out, "counts", panel->color, 0);
    bang_text_add(out, ">\n");
    for (size_t i = 0; i < panel->count; i++)
        if (has_width(&panel->bins[i]) && share_of(panel, i, samples) > 0)
            add_rect(out, strip, &panel->bins[i], 0, share_of(panel, i, samples),
                     "class=\"count\" fill-opacity=\"0.5\"");
    bang_text_add(out, "</g>\n");
    bang_text_add(out, "<path d=\"M%.2f %.2fH%.2f\" class=\"axis\" stroke=\"#777\"/>\n",
                  strip->left, strip->bottom, strip->right);
}

static void say(bang_text *out, const char *what, double value)
{
    char number[BANG_NUMBER_SIZE];
    bang_number_short(number, value, 1);
    if (bang_draw_usable(value))
        bang_text_add(out, "\n%s: %s", what, number);
}

static void add_title(bang_text *out, const bang_reliability_panel *panel, size_t i, double samples)
{
    const bang_reliability_bin *bin = &panel->bins[i];
    char low[BANG_NUMBER_SIZE], high[BANG_NUMBER_SIZE];
    bang_number_brief(low, bin->low, 1);
    bang_number_brief(high, bin->high, 1);
    bang_text_add(out, "<title>");
    bang_draw_escaped_line(out, panel->title);
    bang_text_add(out, "%s%s to %s", panel->title && *panel->title ? ", " : "", low, high);
    say(out, "accuracy", bin->accuracy);
    say(out, "confidence", bin->confidence);
    say(out, "confidence \u2212 accuracy", bin->confidence - bin->accuracy);
    if (bang_draw_usable(bin->count)) {
        bang_number_short(low, bin->count, 0);
        bang_number_brief(high, share_of(panel, i, samples), 1);
        bang_text_add(out, "\nsamples: %s (%s)", low, high);
    }
    bang_text_add(out, "</title>");
}

/* The pointer finds a bin anywhere over it. */
static void add_spots(bang_text *out, const bang_plot *p, const bang_plot *strip,
                      const bang_reliability_panel *panel)
{
    double samples = samples_of(panel);
    bang_text_add(out, "<g class=\"spots\" fill=\"#fff\" fill-opacity=\"0\">\n");
    for (size_t i = 0; i < panel->count; i++) {
        if (!has_width(&panel->bins[i]))
            continue;
        double left = fmax(p->left, bang_plot_x(p, panel->bins[i].low));
        double right = fmin(p->right, bang_plot_x(p, panel->bins[i].high));
        bang_text_add(out,
                      "<rect class=\"slot\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                      "height=\"%.2f\">",
                      left, p->top, fmax(0.5, right - left), strip->bottom - p->top);
        add_title(out, panel, i, samples);
        bang_text_add(out, "</rect>\n");
    }
    bang_text_add(out, "</g>\n");
}

static void add_head(bang_text *out, const layout *l, const bang_plot *p,
                     const bang_reliability_panel *panel)
{
    char text[BANG_NUMBER_SIZE + 8] = "";
    bang_draw_block title;
    wrap_head(&title, l, panel->title);
    double known = isfinite(panel->ece) ? 16 : 0, height = bang_draw_block_height(&title);
    bang_draw_block_add(out, &title, p->left, p->top - 6 - known - height + HEAD_SIZE, 0,
                        "font-weight=\"600\"");
    if (!known)
        return;
    char number[BANG_NUMBER_SIZE];
    bang_number_fixed(number, panel->ece * 100, 1);
    snprintf(text, sizeof text, "ECE %s%%", number);
    bang_draw_label(out, p->left, p->top - 9, "class=\"soft\" fill=\"#555\"", text);
}

static void add_panel(bang_text *out, const layout *l, const bang_reliability_chart *chart,
                      size_t index, const bang_draw_block *y_label)
{
    const bang_reliability_panel *panel = &chart->panels[index];
    bang_plot p = plot_of(l, index), strip = strip_of(l, &p);
    add_head(out, l, &p, panel);
    bang_plot_grid(out, &p, 1);
    bang_plot_grid(out, &strip, 0);
    bang_plot_open_clip(out, &p, 1);
    add_part(out, &p, panel, ACCURACY, add_accuracy);
    add_part(out, &p, panel, GAP, add_gap);
    bang_text_add(out, "<g");
    bang_draw_color(out, "series", 0, 1);
    bang_text_add(out,
                  " data-entry=\"%d\"><path d=\"M%.2f %.2fL%.2f %.2f\" stroke=\"currentColor\" "
                  "stroke-width=\"1.3\" stroke-dasharray=\"5 4\"/></g>\n</svg>\n",
                  PERFECT, p.left, p.bottom, p.right, p.top);
    bang_plot_frame(out, &p);
    add_counts(out, &strip, panel);
    bang_plot_ticks_x(out, &p, strip.bottom);
    if (index % l->across == 0) {
        bang_plot_ticks_y(out, &p);
        bang_plot_ticks_y(out, &strip);
        bang_plot_name_y(out, &p, y_label);
        bang_draw_block samples;
        bang_draw_wrap(&samples, "samples", 11, STRIP + 8, 1);
        bang_plot_name_y(out, &strip, &samples);
    }
    add_spots(out, &p, &strip, panel);
}

static int collect(bang_legend *legend, const void *data)
{
    (void)data;
    if (bang_legend_reserve(legend, ENTRIES) < 0)
        return -1;
    bang_legend_entry *entry = bang_legend_enter(legend, "accuracy", 0);
    entry->fill = entry->neutral = 1;
    entry = bang_legend_enter(legend, "gap to the confidence", 0);
    entry->fill = entry->pale = entry->neutral = 1;
    entry = bang_legend_enter(legend, "perfect calibration", 0);
    entry->line = entry->dashed = entry->neutral = 1;
    return 0;
}

static void add_empty(bang_text *out, const bang_reliability_chart *chart)
{
    bang_draw_block title;
    bang_draw_title(&title, chart->title, WIDTH_LEAST);
    double top = bang_draw_title_room(&title);
    bang_draw_open(out, WIDTH_LEAST, ceil(top + 100), chart->title);
    bang_draw_title_add(out, &title);
    bang_draw_no_data(out, WIDTH_LEAST / 2, top + 50);
    bang_text_add(out, "</svg>\n");
}

static void draw(bang_text *out, const void *data, bang_legend *legend)
{
    const bang_reliability_chart *chart = data;
    bang_draw_block title, x_label, y_label;
    layout l = {0};
    if (!fit_share(&l, chart)) {
        add_empty(out, chart);
        return;
    }
    double labels = fmax(bang_draw_text_width("100%", 12), bang_axis_label_width(&l.share, 12));
    bang_draw_wrap(&y_label, chart->y_label ? chart->y_label : "accuracy", 13, 150, 2);
    fit(&l, chart, ceil(BANG_DRAW_PAD + bang_draw_block_height(&y_label) + labels + 14));
    double width = fmax(l.right + LAST_LABEL + BANG_DRAW_PAD, WIDTH_LEAST);
    bang_draw_title(&title, chart->title, width);
    bang_legend_fit(legend, width - 2 * BANG_DRAW_PAD, 0);
    double top = bang_draw_title_room(&title);
    l.top = top + legend->height;
    double bottom = l.top + l.row * (double)l.down - ROW_GAP;
    bang_draw_wrap(&x_label, chart->x_label ? chart->x_label : "confidence", 13, l.right - l.left,
                   2);
    bang_draw_open(out, ceil(width), ceil(bottom + bang_draw_block_height(&x_label) + 16),
                   chart->title);
    bang_draw_title_add(out, &title);
    bang_legend_add(out, legend, BANG_DRAW_PAD, top);
    for (size_t p = 0; p < chart->panel_count; p++)
        add_panel(out, &l, chart, p, &y_label);
    bang_draw_block_add(out, &x_label, (l.left + l.right) / 2, bottom + 14, 0,
                        "text-anchor=\"middle\"");
    bang_text_add(out, "</svg>\n");
}

void bang_chart_reliability(bang_text *out, const bang_reliability_chart *chart)
{
    bang_legend_frame(out, chart, collect, draw);
}
