#include <math.h>
#include <stdint.h>

#include "bang/report/chart.h"
#include "report/draw.h"
#include "report/heat_color.h"

#define CELL_MOST 46.0 /* px */
#define CELL_GOOD 30.0 /* panels go to a next row before cells get smaller */
#define HEIGHT_MOST 420.0
#define PANEL_GAP 30.0
#define SQUARE_MOST 400 /* cells; up to here they are as high as wide */
#define BAR_GAP 24.0
#define BAR_WIDTH 14.0
#define BAR_LEAST 130.0
#define TICK_ROOM 22.0 /* the labels under a panel */

typedef struct layout {
    double cell_x, cell_y; /* px */
    double panel_width, panel_height, row_height;
    double left, top, right, bottom; /* around all panels */
    size_t across, down;             /* panels per row, rows of panels */
    size_t every_x, every_y;         /* label each so many-th column, row */
    double title_height;
    bang_axis scale; /* of the colour bar, 0 included */
    double limit;    /* colours end at -limit and limit */
    double largest;  /* size of the largest value */
    int decimals;    /* of the values in the cells */
    double ink_size; /* their font size; 0 where none fits the cells */
} layout;

static int has_cells(const bang_heat_map *map)
{
    return map->panel_count && map->columns && map->rows;
}

static double factor(const bang_heat_map *map)
{
    return map->percent ? 100 : 1;
}

/* Where a value stands in its palette. */
static double place_of(const layout *l, const bang_heat_map *map, double value)
{
    return map->sequential ? (value - l->scale.lo) / (l->scale.hi - l->scale.lo) : value / l->limit;
}

static void fit_scale(layout *l, const bang_heat_map *map)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t count = map->columns * map->rows;
    for (size_t p = 0; p < map->panel_count; p++) {
        for (size_t i = 0; i < count; i++) {
            double v = map->panels[p].values[i] * factor(map);
            if (!bang_draw_usable(v))
                continue;
            lo = fmin(lo, v);
            hi = fmax(hi, v);
        }
    }
    if (!(fmax(-lo, hi) >= 1e-290)) { /* nothing, or too close to 0 to be divided */
        lo = map->sequential ? 0 : -1;
        hi = 1;
    }
    l->largest = fmax(-lo, hi);
    if (!map->sequential || (lo >= 0 && lo <= hi / 2))
        lo = fmin(lo, 0);
    if (!map->sequential)
        hi = fmax(hi, 0);
    bang_axis_fit_round(&l->scale, lo, hi, 6, 0);
    l->limit = fmax(-l->scale.lo, l->scale.hi);
}

static double tick_width(const double *values, size_t count)
{
    char label[BANG_NUMBER_SIZE];
    double widest = 0;
    for (size_t i = 0; i < count; i++) {
        bang_number_short(label, values[i], 0);
        widest = fmax(widest, bang_draw_text_width(label, 12));
    }
    return widest;
}

/* Every 1st, 2nd, 5th, 10th ... that leaves this much room for a label. */
static size_t label_every(double needed, double cell)
{
    size_t every = 1;
    for (int i = 0; (double)every * cell < needed && every < SIZE_MAX / 10; i++)
        every = i % 3 == 1 ? every / 2 * 5 : every * 2;
    return every;
}

/* How many panels stand in a row: as many as keep their cells readable, in
 * rows of equal length as far as possible. */
static void fit_panels(layout *l, const bang_heat_map *map, double width)
{
    double cell = 0;
    size_t across;
    for (size_t down = 1;; down++) {
        across = (map->panel_count + down - 1) / down;
        cell = (width - PANEL_GAP * (double)(across - 1)) / (double)(across * map->columns);
        if (across == 1 || cell >= fmin(CELL_GOOD, (width - 3 * PANEL_GAP) / (double)map->columns))
            break;
    }
    l->across = across;
    l->down = (map->panel_count + across - 1) / across;
    l->cell_x = fmin(CELL_MOST, cell);
    double tall = HEIGHT_MOST / (double)map->rows;
    l->cell_y = fmax(fmin(l->cell_x, tall), fmin(24, tall));
    if (l->cell_y < l->cell_x && map->columns <= map->rows)
        l->cell_x = fmin(l->cell_x, fmax(l->cell_y, 24));
    if (map->columns <= SQUARE_MOST && map->rows <= SQUARE_MOST / map->columns)
        l->cell_x = l->cell_y = fmin(l->cell_x, l->cell_y);
    if (l->cell_x >= 8)
        l->cell_x = floor(l->cell_x); /* whole pixels: even gaps */
    if (l->cell_y >= 8)
        l->cell_y = floor(l->cell_y);
    l->panel_width = l->cell_x * (double)map->columns;
    l->panel_height = l->cell_y * (double)map->rows;
}

static double value_width(const bang_heat_map *map, int decimals)
{
    char label[BANG_NUMBER_SIZE];
    double widest = 0;
    size_t count = map->columns * map->rows;
    for (size_t p = 0; p < map->panel_count; p++) {
        for (size_t i = 0; i < count; i++) {
            double v = map->panels[p].values[i] * factor(map);
            if (!bang_draw_usable(v))
                continue;
            bang_number_fixed(label, v, decimals);
            widest = fmax(widest, bang_draw_text_width(label, 1));
        }
    }
    return widest;
}

/* Two significant digits of the largest value, three when it begins with a 1
 * (0.10 would hide too much of 0.034); one fewer where they do not fit. */
static void fit_values(layout *l, const bang_heat_map *map)
{
    int decimals = 1 - (int)floor(log10(l->largest / 2));
    if (decimals < 0)
        decimals = 0;
    if (decimals > 5 || l->cell_y < 15)
        return;
    for (int fewer = 0; fewer < 2 && decimals - fewer >= 0; fewer++) {
        double width = value_width(map, decimals - fewer);
        for (double size = 11; size >= 9; size -= 0.5) {
            if (width * size + 2 > l->cell_x)
                continue;
            l->ink_size = size;
            l->decimals = decimals - fewer;
            return;
        }
    }
}

/* From the panels to the right end of the picture, for a bar of this height. */
static double bar_width(const layout *l, const bang_heat_map *map, double height)
{
    bang_draw_block block;
    bang_draw_wrap(&block, map->value_label, 13, height, 2);
    double label = bang_draw_block_height(&block);
    return BAR_GAP + BAR_WIDTH + 8 + bang_axis_label_width(&l->scale, 12) +
           (label > 0 ? label + 9 : 0) + BANG_DRAW_PAD;
}

static void fit(layout *l, const bang_heat_map *map, const bang_draw_block *title,
                const bang_draw_block *y_label)
{
    fit_scale(l, map);
    double x_tick = tick_width(map->x, map->columns), y_tick = tick_width(map->y, map->rows);
    l->left = ceil(BANG_DRAW_PAD + bang_draw_block_height(y_label) + 4 + y_tick + 7);
    double bar = bar_width(l, map, BAR_LEAST);
    fit_panels(l, map, BANG_DRAW_WIDTH - bar - l->left);
    fit_values(l, map);
    l->every_x = label_every(x_tick + 6, l->cell_x);
    l->every_y = label_every(15, l->cell_y);
    for (size_t p = 0; p < map->panel_count; p++) {
        bang_draw_block block;
        bang_draw_wrap(&block, map->panels[p].title, 13,
                       (l->panel_width + PANEL_GAP - 6) / BANG_DRAW_BOLD, 2);
        l->title_height = fmax(l->title_height, bang_draw_block_height(&block));
    }
    if (l->title_height > 0)
        l->title_height = ceil(l->title_height + 6);
    l->row_height = l->title_height + l->panel_height + TICK_ROOM + 12;
    l->top = ceil(bang_draw_title_room(title));
    l->bottom = l->top + l->row_height * (double)l->down - 12;
    l->right = l->left + (l->panel_width + PANEL_GAP) * (double)l->across - PANEL_GAP;
}

static void add_cell(bang_text *out, const layout *l, const bang_heat_map *map, size_t column,
                     size_t row, double value, double x, double y)
{
    char at_x[BANG_NUMBER_SIZE], at_y[BANG_NUMBER_SIZE], shown[BANG_NUMBER_SIZE];
    double v = value * factor(map), at = place_of(l, map, v);
    double gap = l->cell_x >= 8 && l->cell_y >= 8 ? 1 : 0;
    bang_number_short(at_x, map->x[column], 0);
    bang_number_short(at_y, map->y[row], 0);
    bang_number_short(shown, v, 0);
    bang_text_add(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y,
                  l->cell_x - gap, l->cell_y - gap);
    bang_heat_fill(out, at, map->sequential);
    bang_text_add(out, " pointer-events=\"all\"><title>");
    bang_draw_escaped_line(out, map->x_label ? map->x_label : "x");
    bang_text_add(out, " %s, ", at_x);
    bang_draw_escaped_line(out, map->y_label ? map->y_label : "y");
    bang_text_add(out, " %s: %s</title></rect>\n", at_y, shown);
    if (l->ink_size == 0)
        return;
    bang_number_fixed(shown, v, l->decimals);
    bang_text_add(out, "<text x=\"%.2f\" y=\"%.2f\"", x + (l->cell_x - gap) / 2,
                  y + (l->cell_y - gap) / 2 + 3.7);
    bang_heat_ink(out, at, map->sequential);
    bang_text_add(out, ">%s</text>\n", shown);
}

static double row_top(const layout *l, const bang_heat_map *map, double top, size_t row)
{
    return top + (double)(map->top_down ? row : map->rows - 1 - row) * l->cell_y;
}

static void add_ticks(bang_text *out, const layout *l, const bang_heat_map *map, double left,
                      double top, int with_y)
{
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<g class=\"soft\" fill=\"#555\" text-anchor=\"middle\">\n");
    for (size_t c = 0; c < map->columns; c += l->every_x) {
        bang_number_short(label, map->x[c], 0);
        bang_draw_label(out, left + ((double)c + 0.5) * l->cell_x, top + l->panel_height + 16, "",
                        label);
    }
    bang_text_add(out, "</g>\n<g class=\"soft\" fill=\"#555\" text-anchor=\"end\">\n");
    for (size_t r = 0; r < map->rows && with_y; r += l->every_y) {
        bang_number_short(label, map->y[r], 0);
        bang_draw_label(out, left - 7, row_top(l, map, top, r) + l->cell_y / 2 + 4, "", label);
    }
    bang_text_add(out, "</g>\n");
}

static void add_panel(bang_text *out, const layout *l, const bang_heat_map *map, size_t index)
{
    const bang_heat_panel *panel = &map->panels[index];
    size_t across = index % l->across, down = index / l->across;
    double left = l->left + (double)across * (l->panel_width + PANEL_GAP);
    double top = l->top + (double)down * l->row_height + l->title_height;
    bang_draw_block title;
    bang_draw_wrap(&title, panel->title, 13, (l->panel_width + PANEL_GAP - 6) / BANG_DRAW_BOLD, 2);
    bang_draw_block_add(out, &title, left, top - bang_draw_block_height(&title) + 6, 0,
                        "font-weight=\"600\"");
    bang_text_add(out,
                  "<g class=\"cells\" shape-rendering=\"crispEdges\" font-size=\"%g\" "
                  "text-anchor=\"middle\" pointer-events=\"none\" data-name=\"",
                  l->ink_size > 0 ? l->ink_size : 11);
    bang_draw_escaped(out, panel->title);
    bang_text_add(out, "\">\n");
    for (size_t r = 0; r < map->rows; r++)
        for (size_t c = 0; c < map->columns; c++) {
            double value = panel->values[r * map->columns + c];
            if (!bang_draw_usable(value * factor(map)))
                continue;
            add_cell(out, l, map, c, r, value, left + (double)c * l->cell_x,
                     row_top(l, map, top, r));
        }
    bang_text_add(out, "</g>\n");
    add_ticks(out, l, map, left, top, across == 0);
}

/* The bar shows the part of the scale that the values use, in steps too fine
 * to see: gradients would need an id that is unique in the page. */
static void add_bar(bang_text *out, const layout *l, const bang_heat_map *map, double height)
{
    enum { STEPS = 96 };
    double x = l->right + BAR_GAP, top = l->top + l->title_height;
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<g class=\"cells\" shape-rendering=\"crispEdges\">\n");
    for (int i = 0; i < STEPS; i++) {
        double v = l->scale.hi - (i + 0.5) / STEPS * (l->scale.hi - l->scale.lo);
        bang_text_add(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%g\" height=\"%.2f\"", x,
                      top + height * i / STEPS, BAR_WIDTH, height / STEPS + (i + 1 < STEPS));
        bang_heat_fill(out, place_of(l, map, v), map->sequential);
        bang_text_add(out, "/>\n");
    }
    bang_text_add(out, "</g>\n<g class=\"soft\" fill=\"#555\">\n");
    for (double i = l->scale.first; i <= l->scale.last; i++) {
        double v = i * l->scale.step;
        double y = top + (l->scale.hi - v) / (l->scale.hi - l->scale.lo) * height;
        bang_text_add(out, "<path d=\"M%.2f %.2fh4\" class=\"axis\" stroke=\"#777\"/>\n",
                      x + BAR_WIDTH, y);
        bang_axis_label(label, &l->scale, v);
        bang_draw_label(out, x + BAR_WIDTH + 8, y + 4, "", label);
    }
    bang_text_add(out, "</g>\n");
    bang_draw_block block;
    bang_draw_wrap(&block, map->value_label, 13, height, 2);
    bang_draw_block_add(out, &block, x + BAR_WIDTH + 8 + bang_axis_label_width(&l->scale, 12) + 17,
                        top + height / 2, 1, "text-anchor=\"middle\"");
}

static void add_empty(bang_text *out, const bang_heat_map *map)
{
    bang_draw_block title;
    bang_draw_title(&title, map->title, BANG_DRAW_WIDTH);
    double head = bang_draw_block_height(&title);
    bang_draw_open(out, BANG_DRAW_WIDTH, ceil(head + 120), map->title);
    bang_draw_title_add(out, &title);
    bang_draw_no_data(out, BANG_DRAW_WIDTH / 2, head + 70);
    bang_text_add(out, "</svg>\n");
}

static void draw(bang_text *out, const bang_heat_map *map)
{
    bang_draw_block title, x_label, y_label;
    layout l = {0};
    /* The height of the label decides the width of the panels and these its
     * room, so its lines are counted for the usual height first. */
    bang_draw_title(&title, map->title, BANG_DRAW_WIDTH);
    bang_draw_wrap(&y_label, map->y_label, 13, BAR_LEAST, 2);
    fit(&l, map, &title, &y_label);
    double inner = l.bottom - TICK_ROOM - l.top - l.title_height;
    double bar = fmax(BAR_LEAST, fmin(inner, 260));
    bang_draw_wrap(&y_label, map->y_label, 13, fmax(BAR_LEAST, inner), 2);
    double width = l.right + bar_width(&l, map, bar);
    if (title.line_count) {
        double needed = bang_draw_text_width(map->title, 15) * BANG_DRAW_BOLD + 2 * BANG_DRAW_PAD;
        width = fmax(width, fmin(BANG_DRAW_WIDTH, needed));
    }
    bang_draw_wrap(&x_label, map->x_label, 13, l.right - l.left + 2 * PANEL_GAP, 2);
    double foot = bang_draw_block_height(&x_label);
    double bottom = fmax(l.bottom + (foot > 0 ? foot + 2 : 0), l.top + l.title_height + bar + 8);
    bang_draw_open(out, ceil(width), ceil(bottom + BANG_DRAW_PAD - 4), map->title);
    bang_draw_title_add(out, &title);
    for (size_t p = 0; p < map->panel_count; p++)
        add_panel(out, &l, map, p);
    bang_draw_block_add(out, &y_label, BANG_DRAW_PAD + 10, l.top + l.title_height + inner / 2, 1,
                        "text-anchor=\"middle\"");
    bang_draw_block_add(out, &x_label, (l.left + l.right) / 2, l.bottom + 14, 0,
                        "text-anchor=\"middle\"");
    add_bar(out, &l, map, bar);
    bang_text_add(out, "</svg>\n");
}

void bang_chart_heat(bang_text *out, const bang_heat_map *map)
{
    bang_draw_locale locale;
    if (bang_draw_begin(&locale) < 0)
        out->failed = 1;
    else if (has_cells(map))
        draw(out, map);
    else
        add_empty(out, map);
    bang_draw_end(&locale);
}
