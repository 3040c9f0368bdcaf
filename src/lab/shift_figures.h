/* Parts of charts as report.h describes them; references are stolen where they are given. */
#ifndef BANG_LAB_SHIFT_FIGURES_H
#define BANG_LAB_SHIFT_FIGURES_H

#include "lab/shift_show.h"

/* A chart of fractions, shown as per cent. */
json_t *shift_figure_begin(const char *kind, const char *title, const char *note);
void shift_figure_label(json_t *figure, const char *key, const char *text);
/* Returns the series, borrowed. */
json_t *shift_figure_add(json_t *figure, json_t *series);
/* One without series is left out. */
void shift_figure_show(json_t *show, json_t *figure);
json_t *shift_figure_line(const char *name, int color);
void shift_figure_point(json_t *series, double x, double y);
/* Names of the sets from first on (0: ID). */
json_t *shift_figure_sets(size_t first);

#endif
