/* The experiment on two layers: what is run, and how its results look. */
#ifndef BANG_LAB_TWO_LAYER_SHOW_H
#define BANG_LAB_TWO_LAYER_SHOW_H

#include "lab/two_layer.h"

enum { TWO_SHIFTS = 4, TWO_LENGTHS = 4, TWO_SCALES = 6, TWO_PAIRS = 2 };
enum { TWO_RECIPE = 2 };                            /* which length is that of the recipe */
enum { TWO_FINE_FINE, TWO_PRE_FINE };               /* the pairs */
extern const double two_layer_shifts[TWO_SHIFTS];   /* 0, .5, .8, .9 */
extern const uint64_t two_layer_steps[TWO_LENGTHS]; /* 30, 100, 300, 1000 */
extern const double two_layer_scales[TWO_SCALES];   /* 1, 1/2 .. 1/32 */
extern const char *const two_layer_pairs[TWO_PAIRS];

int two_layer_unit(json_t *result, const color_plan *plan, size_t i, const bang_mnist *mnist,
                   average_scratch *scratch, bang_cancel *cancel, bang_error *err);

/* One cell of the experiment over all networks of all units. */
typedef struct two_layer_cell {
    size_t networks;
    double term[TWO_MEMBERS][TWO_TERMS]; /* root mean squares over centred logits */
    double whole, bilinear, rest;        /* the same of WSE - OSE and its parts */
    double share;                        /* of the squares of WSE - OSE: sum rest^2 / sum whole^2 */
    double share_error;                  /* its standard error over seeds; NaN of one */
    double switched;                     /* share of the hidden units, of the pair's second model */
    double differ, accuracy[TWO_MEMBERS]; /* shares of images */
    size_t images, different, foretold, alarms;
} two_layer_cell;

/* From units[..]["networks"][..][pair][field][row][p], p = TWO_SHIFTS for all shifts together;
 * field is "steps" or "scales". */
void two_layer_cell_of(two_layer_cell *out, const json_t *units, int pair, const char *field,
                       size_t row, size_t p);

/* Tables, figures, verdicts. */
void two_layer_show_terms(json_t *show, const json_t *units);
void two_layer_show_difference(json_t *show, const json_t *units);
void two_layer_show_scales(json_t *result, json_t *show, const json_t *units);
void two_layer_show_verdicts(json_t *show, const json_t *units);

#endif
