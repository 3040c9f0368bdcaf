/* A plot with two axes: where values stand, and the frame, grid and ticks
 * around them.
 *
 *     bang_plot p = {.left = 60, .right = 800, .top = 20, .bottom = 320};
 *     bang_axis_fit_round(&p.y, lo, hi, 6, 0);
 *     bang_plot_fit_x(&p, 0, 1, 0, 0);
 *     bang_plot_grid(out, &p, 1);
 *     bang_plot_frame(out, &p);
 *     bang_plot_ticks_x(out, &p, p.bottom);
 */
#ifndef BANG_REPORT_PLOT_H
#define BANG_REPORT_PLOT_H

#include "report/draw.h"

typedef struct bang_plot {
    bang_axis x, y;
    double left, right, top, bottom; /* px */
} bang_plot;

/* The place of a value; never so far outside that numbers get long. */
double bang_plot_x(const bang_plot *p, double x);
double bang_plot_y(const bang_plot *p, double y);
/* Half a pixel of tolerance: a value equal to the end of an axis is inside,
 * however it was rounded. */
int bang_plot_inside(const bang_plot *p, double x, double y);

/* As many ticks as their labels leave room for between left and right; no half
 * steps where whole is set (there is no ensemble of 2.5 models). */
void bang_plot_fit_x(bang_plot *p, double lo, double hi, int percent, int whole);

/* Lines at the ticks of y, and of x with upright. */
void bang_plot_grid(bang_text *out, const bang_plot *p, int upright);
/* The two axes, and a line at y = 0 between them where it lies inside. */
void bang_plot_frame(bang_text *out, const bang_plot *p);
void bang_plot_ticks_y(bang_text *out, const bang_plot *p);
/* Labels under `below`, the bottom of the plot or of what stands under it. */
void bang_plot_ticks_x(bang_text *out, const bang_plot *p, double below);
/* The name of the y axis beside the plot, at the left end of the picture. */
void bang_plot_name_y(bang_text *out, const bang_plot *p, const bang_draw_block *label);

/* All of that, for a plot with numbers on both axes. */
void bang_plot_axes(bang_text *out, const bang_plot *p, const bang_draw_block *x_label,
                    const bang_draw_block *y_label);

/* An inner <svg> that cuts what lies outside, to be closed by the caller: it needs
 * no id that another chart of the same page could share. */
void bang_plot_open_clip(bang_text *out, const bang_plot *p, double margin);

#endif
