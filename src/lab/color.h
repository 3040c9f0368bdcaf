/* MultiColorMNIST and SingleColorMNIST (section 3.4, appendix C.3): what the
 * experiments on them share.
 *
 * A unit is one seed: a data draw, some networks trained on it from different
 * initialisations, their accuracies and those of their ensembles at every p.
 * Its record holds
 *
 *     {"models": [[accuracy at each of color_shifts], ...],      one per model
 *      "ensembles": {"2": [[..], ...], "4": ...},                disjoint groups in order
 *      "balanced": [[..], ...], "probabilities": [[..], ...],    the pairs, combined otherwise
 *      "scale": [..]}                                            of each model's outputs
 */
#ifndef BANG_LAB_COLOR_H
#define BANG_LAB_COLOR_H

#include "bang/data/color.h"
#include "bang/train/train.h"
#include "lab/lab.h"

enum { COLOR_SHIFTS = 12, COLOR_SIZES = 5 };
extern const double color_shifts[COLOR_SHIFTS]; /* 0, .1, ... .7, .75, .8, .85, .9 */
extern const int color_sizes[COLOR_SIZES];      /* 1, 2, 4, 8, 16 */

typedef struct color_plan {
    int single; /* SingleColorMNIST */
    bang_loss loss;
    bang_color_protocol protocol;
    size_t seeds, models;
    uint64_t seed;        /* of the first unit */
    size_t before, after; /* networks of the same experiment's other plans, for its progress */
    /* Looks into the trained networks, all pixels as inputs, with images in
     * distribution; adds to the unit's result. May be NULL. */
    int (*inspect)(json_t *result, const bang_mlp *const *models, size_t count,
                   const bang_array *images, const int64_t *labels, bang_error *err);
} color_plan;

/* "MultiColorMNIST" or "SingleColorMNIST". */
const char *color_data_name(const color_plan *plan);

/* Section of the report in which a plan's units are listed. */
const char *color_section(const color_plan *plan);

/* The plan that options ask for, with the numbers that the scale has unless
 * options say them. */
color_plan color_plan_make(const bang_lab_options *options, int single, size_t quick_seeds,
                           size_t quick_models);

/* The options of a record, a new reference: of unit i, or of what sums all up. */
json_t *color_plan_options(const color_plan *plan, const char *digest);
json_t *color_unit_options(const color_plan *plan, size_t i, const char *digest);

/* "multicolor/seed-3x16": the third seed with 16 models. */
void color_unit_key(char *out, size_t size, const color_plan *plan, size_t unit);

/* What is trained under a protocol. The network is released by the caller. */
int color_network(bang_mlp *out, const color_plan *plan, bang_error *err);
bang_train_options color_training(const color_plan *plan, size_t i, size_t model);
/* Seed of the data of unit i. */
uint64_t color_data_seed(const color_plan *plan, size_t i);
/* Numbers the random streams of the model within all that share a seed. */
uint64_t color_stream(const color_plan *plan, size_t i, size_t model);

/* MNIST, fetched if it is not there yet. */
int color_open_mnist(bang_mnist *out, const bang_lab_options *options, bang_error *err);

/* A warning when the digits are somebody's own. */
void color_show_foreign_digits(json_t *show, const bang_mnist *mnist);

/* Runs what is missing of a plan's units and returns the results of all, in
 * order (a new reference). A record under the key of what will sum them up that
 * was made with other options is an error, before any work. */
int color_units(json_t **out, const color_plan *plan, const char *summary, const bang_mnist *mnist,
                const bang_lab_options *options, bang_error *err);

/* Mean, standard deviation and standard error over what the units hold. */
typedef struct color_column {
    size_t n;
    double mean[COLOR_SHIFTS], sd[COLOR_SHIFTS], error[COLOR_SHIFTS];
} color_column;

/* Takes rows first, first + stride, ... of units[i][field] (and [field][size]
 * when size is not 0). */
void color_collect(color_column *out, const json_t *units, const char *field, int size,
                   size_t first, size_t stride);
/* The gain of the pairs' ensemble over the mean of its two models. */
void color_collect_gain(color_column *out, const json_t *units, const char *field);

/* {"mean": [..], "sd": [..], "stderr": [..], "n"} over p = .1 ... .9. */
json_t *color_column_json(const color_column *column);

/* A row of the paper's tables: its value and what it prints behind +-, per cent. */
typedef struct color_printed {
    double p, mean, spread;
} color_printed;
typedef struct color_paper {
    int spread_is_error;                             /* standard error, else standard deviation */
    const color_printed *model1, *model2, *ensemble; /* (rows) */
    size_t rows;
    const color_printed *sizes[COLOR_SIZES]; /* (size_rows) of 1, 2, 4, 8, 16 models */
    size_t size_rows;
} color_paper;
extern const color_paper color_paper_multi, color_paper_single;

/* Place of p in color_shifts. */
size_t color_shift_index(double p);
/* Distance of a measured mean from a printed one in standard errors of both. */
double color_distance(const color_column *column, const color_printed *printed,
                      const color_paper *paper);

#endif
