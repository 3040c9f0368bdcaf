#include "report/labels.h"

#include <math.h>
#include <stdlib.h>

#define SIZE 12.0 /* font */
#define WIDTH_MOST 170.0
#define NEAR 4.0 /* from a mark to its text */
#define FURTHER 20.0
#define FAR_MOST 5
#define LINES 2

int bang_labels_reserve(bang_labels *labels, size_t most)
{
    labels->count = 0;
    labels->most = most;
    labels->boxes = calloc(most ? most : 1, sizeof *labels->boxes);
    return labels->boxes ? 0 : -1;
}

void bang_labels_release(bang_labels *labels)
{
    free(labels->boxes);
    labels->boxes = NULL;
}

void bang_labels_keep(bang_labels *labels, double left, double top, double right, double bottom,
                      double weight)
{
    if (labels->count < labels->most)
        labels->boxes[labels->count++] = (bang_labels_box){left, top, right, bottom, weight};
}

/* Weight of all that a box covers, and what of it lies outside. */
static double cost_of(const bang_labels *labels, const bang_labels_box *box)
{
    double cost = 0;
    for (size_t i = 0; i < labels->count; i++) {
        const bang_labels_box *other = &labels->boxes[i];
        if (box->left < other->right && other->left < box->right && box->top < other->bottom &&
            other->top < box->bottom)
            cost += other->weight;
    }
    double out = fmax(0, labels->left - box->left) + fmax(0, box->right - labels->right) +
                 fmax(0, labels->top - box->top) + fmax(0, box->bottom - labels->bottom);
    return cost + (out > 0.5 ? 100 + out : 0);
}

bang_label bang_labels_place(bang_labels *labels, const char *text, double x, double y,
                             double radius)
{
    /* Directions in the order in which they read best. */
    static const double ways[][2] = {
        {1, 0},    {-1, 0},  {0, -1},    {0, 1},    {.8, -.8}, {.8, .8}, {-.8, -.8}, {-.8, .8},
        {1, -.45}, {1, .45}, {-1, -.45}, {-1, .45}, {.45, -1}, {.45, 1}, {-.45, -1}, {-.45, 1}};
    bang_label label = {0}, best = {0};
    bang_labels_box taken = {0};
    double least = INFINITY, room = fmin(WIDTH_MOST, labels->right - labels->left);
    bang_draw_wrap(&label.text, text, SIZE, room / BANG_DRAW_BOLD, LINES);
    double width = fmin(room, bang_draw_text_width(text, SIZE) * BANG_DRAW_BOLD);
    double height = bang_draw_block_height(&label.text);
    for (int far = 0; far <= FAR_MOST; far++) {
        double away = radius + NEAR + far * FURTHER;
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            double at_x = x + ways[i][0] * away, at_y = y + ways[i][1] * away;
            bang_labels_box box = {.weight = 5};
            box.left = ways[i][0] > 0 ? at_x : ways[i][0] < 0 ? at_x - width : at_x - width / 2;
            if (ways[i][0] == 0) /* may slide */
                box.left = fmax(labels->left, fmin(labels->right - width, box.left));
            box.top = ways[i][1] == 0 ? at_y - height / 2 : ways[i][1] > 0 ? at_y : at_y - height;
            box.right = box.left + width;
            box.bottom = box.top + height;
            double cost = cost_of(labels, &box) + 0.01 * (double)i + 0.15 * far;
            if (cost >= least)
                continue;
            least = cost;
            best = label;
            best.side = ways[i][0] > 0 ? 1 : ways[i][0] < 0 ? -1 : 0;
            best.x = ways[i][0] == 0 ? box.left + width / 2 : at_x;
            best.y = box.top + SIZE;
            best.led = far > 0;
            best.from_x = x + ways[i][0] * (radius + 1);
            best.from_y = y + ways[i][1] * (radius + 1);
            best.to_x = at_x;
            best.to_y = at_y;
            taken = box;
        }
    }
    bang_labels_keep(labels, taken.left, taken.top, taken.right, taken.bottom, taken.weight);
    return best;
}

void bang_labels_add(bang_text *out, const bang_label *label)
{
    if (label->led)
        bang_text_add(out, "<path d=\"M%.2f %.2fL%.2f %.2f\" class=\"axis\" stroke=\"#777\"/>\n",
                      label->from_x, label->from_y, label->to_x, label->to_y);
    bang_text_add(out,
                  "<g class=\"halo\" font-weight=\"600\" stroke=\"#fff\" stroke-width=\"3\" "
                  "stroke-linejoin=\"round\" paint-order=\"stroke\" text-anchor=\"%s\">\n",
                  label->side > 0   ? "start"
                  : label->side < 0 ? "end"
                                    : "middle");
    bang_draw_block_add(out, &label->text, label->x, label->y, 0, "");
    bang_text_add(out, "</g>\n");
}
