/* How results on coloured digits look in the report. */
#ifndef BANG_LAB_COLOR_SHOW_H
#define BANG_LAB_COLOR_SHOW_H

#include "lab/color.h"

/* Adds a picture of some images in distribution and under shift. */
int color_show_samples(json_t *show, const color_plan *plan, const bang_mnist *mnist,
                       bang_error *err);

/* A series of a line chart over p = .1 ... .9; band: one standard deviation. */
json_t *color_series(const char *name, const color_column *column, int color, int band);
/* The paper's numbers as points. */
json_t *color_paper_series(const char *name, const color_printed *printed, size_t rows, int color);
json_t *color_chart(const char *title, const char *note);

/* Counts distances from the paper and adds the verdict on all of them. */
typedef struct color_tally {
    size_t count, close; /* within 3 standard errors */
    double worst, worst_p;
} color_tally;
void color_tally_add(color_tally *tally, double distance, double p);
void color_show_agreement(json_t *show, const char *item, const char *claim,
                          const color_tally *tally);

/* {"p": [..], "mean": [..], "spread": [..]} of a printed column, as fractions. */
json_t *color_printed_json(const color_printed *printed, size_t rows);

/* What scripts read of a plan's units: p, single, ensemble, id. */
void color_result(json_t *result, const json_t *units, size_t models);

/* The networks of multicolor with cross-entropy: result["cross_entropy"]. before
 * is how many networks the experiment has trained already. */
color_plan color_entropy_plan(const bang_lab_options *options);
int color_run_entropy(json_t *result, size_t before, const bang_mnist *mnist,
                      const bang_lab_options *options, bang_error *err);

#endif
