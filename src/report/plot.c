#include "report/plot.h"

#include <math.h>

/* Far outside the picture all places look alike, and numbers stay short. */
static double clamp(double place)
{
    return fmax(-1e5, fmin(1e5, place));
}

double bang_plot_x(const bang_plot *p, double x)
{
    return clamp(p->left + (x - p->x.lo) / (p->x.hi - p->x.lo) * (p->right - p->left));
}

double bang_plot_y(const bang_plot *p, double y)
{
    return clamp(p->bottom - (y - p->y.lo) / (p->y.hi - p->y.lo) * (p->bottom - p->top));
}

int bang_plot_inside(const bang_plot *p, double x, double y)
{
    double at_x = bang_plot_x(p, x), at_y = bang_plot_y(p, y);
    return at_x >= p->left - 0.5 && at_x <= p->right + 0.5 && at_y >= p->top - 0.5 &&
           at_y <= p->bottom + 0.5;
}

void bang_plot_fit_x(bang_plot *p, double lo, double hi, int percent, int whole)
{
    for (int want = 10; want >= 1; want--) {
        bang_axis_fit(&p->x, lo, hi, want, percent);
        if (whole && p->x.step < 1)
            continue;
        double room = (p->right - p->left) * p->x.step / (p->x.hi - p->x.lo);
        if (bang_axis_label_width(&p->x, 12) + 12 <= room)
            break;
    }
}

void bang_plot_grid(bang_text *out, const bang_plot *p, int upright)
{
    bang_text_add(out, "<path d=\"");
    for (double i = p->y.first; i <= p->y.last; i++)
        bang_text_add(out, "M%.2f %.2fH%.2f", p->left, bang_plot_y(p, i * p->y.step), p->right);
    for (double i = p->x.first; upright && i <= p->x.last; i++)
        bang_text_add(out, "M%.2f %.2fV%.2f", bang_plot_x(p, i * p->x.step), p->top, p->bottom);
    bang_text_add(out, "\" class=\"grid\" stroke=\"#ebebeb\" fill=\"none\"/>\n");
}

void bang_plot_frame(bang_text *out, const bang_plot *p)
{
    if (p->y.lo < 0 && p->y.hi > 0)
        bang_text_add(out, "<path d=\"M%.2f %.2fH%.2f\" class=\"zero\" stroke=\"#b5b5b5\"/>\n",
                      p->left, bang_plot_y(p, 0), p->right);
    bang_text_add(
        out, "<path d=\"M%.2f %.2fV%.2fH%.2f\" class=\"axis\" stroke=\"#777\" fill=\"none\"/>\n",
        p->left, p->top, p->bottom, p->right);
}

void bang_plot_ticks_y(bang_text *out, const bang_plot *p)
{
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<g class=\"soft\" fill=\"#555\" text-anchor=\"end\">\n");
    for (double i = p->y.first; i <= p->y.last; i++) {
        bang_axis_label(label, &p->y, i * p->y.step);
        bang_draw_label(out, p->left - 8, bang_plot_y(p, i * p->y.step) + 4, "", label);
    }
    bang_text_add(out, "</g>\n");
}

void bang_plot_ticks_x(bang_text *out, const bang_plot *p, double below)
{
    char label[BANG_NUMBER_SIZE];
    bang_text_add(out, "<g class=\"soft\" fill=\"#555\" text-anchor=\"middle\">\n");
    for (double i = p->x.first; i <= p->x.last; i++) {
        bang_axis_label(label, &p->x, i * p->x.step);
        bang_draw_label(out, bang_plot_x(p, i * p->x.step), below + 18, "", label);
    }
    bang_text_add(out, "</g>\n");
}

void bang_plot_name_y(bang_text *out, const bang_plot *p, const bang_draw_block *label)
{
    bang_draw_block_add(out, label, BANG_DRAW_PAD + 10, (p->top + p->bottom) / 2, 1,
                        "text-anchor=\"middle\"");
}

void bang_plot_axes(bang_text *out, const bang_plot *p, const bang_draw_block *x_label,
                    const bang_draw_block *y_label)
{
    bang_plot_grid(out, p, 1);
    bang_plot_frame(out, p);
    bang_plot_ticks_y(out, p);
    bang_plot_ticks_x(out, p, p->bottom);
    bang_plot_name_y(out, p, y_label);
    bang_draw_block_add(out, x_label, (p->left + p->right) / 2, p->bottom + 42, 0,
                        "text-anchor=\"middle\"");
}

void bang_plot_open_clip(bang_text *out, const bang_plot *p, double margin)
{
    double x = p->left - margin, width = p->right - p->left + 2 * margin;
    double y = p->top - margin, height = p->bottom - p->top + 2 * margin;
    bang_text_add(out,
                  "<svg x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                  "viewBox=\"%.2f %.2f %.2f %.2f\" overflow=\"hidden\">\n",
                  x, y, width, height, x, y, width, height);
}
