/* The paper's account of two layers (appendix D.2): the outputs of a network near a base, split
 * into terms, and what they make of the difference of averaging weights and outputs.
 *
 * With base W_0 = (A_0, B_0) and a model's change (dA, dB), h = A_0'X, d = dA'X, ReLU u(h) and
 * D = diag(h > 0):
 *
 *     f = (B_0 + dB)'u(h + d)
 *     fixed     (a)  B_0'u(h)
 *     linear    (b)  dB'u(h) + B_0'D d
 *     bilinear  (c)  dB'D d
 *     rest      (xi) (B_0 + dB)'r,   r_i = |h_i + d_i| where unit i is on in one of h, h + d and
 *                                    off in the other, else 0
 *
 * A bias is the weight of an input, or of a hidden unit, that is always 1. Of two models' weight-
 * space ensemble (WSE: the mean of both changes) and output-space ensemble (OSE: the mean of both
 * outputs), (a) and (b) agree, and
 *
 *     WSE - OSE = -(1/4) (dB_1 - dB_2)'D (d_1 - d_2) + (xi_WSE - (xi_1 + xi_2)/2).
 *
 * Both parts are small of second order in the change on average, so a small change does not make
 * xi small beside the bilinear part. In mean square it is the other way round: the bilinear part
 * is of order four, but xi of order three, as a share of the units that goes like the change is
 * switched, each by an amount that goes like it.
 */
#ifndef BANG_LAB_TWO_LAYER_H
#define BANG_LAB_TWO_LAYER_H

#include "lab/average.h"

enum { TWO_HIDDEN_MAX = 256, TWO_OUTPUTS_MAX = 16 };
enum { TWO_FIRST, TWO_SECOND, TWO_WSE, TWO_OSE, TWO_MEMBERS };
enum { TWO_FIXED, TWO_LINEAR, TWO_BILINEAR, TWO_REST, TWO_TERMS };

/* The second layer of a base and of two changes; the bias is the last line. */
typedef struct two_layer_heads {
    size_t hidden, outputs;
    double base[(TWO_HIDDEN_MAX + 1) * TWO_OUTPUTS_MAX]; /* (hidden + 1, outputs) */
    double change[2][(TWO_HIDDEN_MAX + 1) * TWO_OUTPUTS_MAX];
} two_layer_heads;

/* One image: outputs, and their terms. */
typedef struct two_layer_split {
    double output[TWO_MEMBERS][TWO_OUTPUTS_MAX]; /* by running the networks */
    double term[TWO_MEMBERS][TWO_TERMS][TWO_OUTPUTS_MAX];
    size_t switched[3]; /* hidden units of the first, the second, the WSE */
} two_layer_split;

/* h, d1, d2: (hidden). Both changes are multiplied by scale first, those of heads too. */
void two_layer_split_image(two_layer_split *out, const two_layer_heads *heads, const double *h,
                           const double *d1, const double *d2, double scale);

/* Takes from every output and term its mean over the outputs. What is common to all classes
 * changes no prediction and no probability, so it is no part of how two models differ. */
void two_layer_centre(two_layer_split *x, size_t outputs);

/* Sums over images and outputs, of what two_layer_centre leaves. */
typedef struct two_layer_sums {
    size_t images, outputs, hidden;
    double output[TWO_MEMBERS], term[TWO_MEMBERS][TWO_TERMS]; /* of squares */
    double whole, bilinear, rest;                /* of squares, of WSE - OSE and its two parts */
    double whole_size, bilinear_size, rest_size; /* of absolute values */
    size_t switched[3];
    size_t differ;   /* images that WSE and OSE put into different classes */
    size_t foretold; /* of them: OSE + the bilinear part says what WSE says */
    size_t alarms;   /* images for which it differs from OSE although WSE does not */
    size_t right[TWO_MEMBERS];
} two_layer_sums;

/* Sums over the first count rows. The networks have one hidden layer and read the groups of
 * rows->columns; first or second may be the base itself. */
int two_layer_measure(two_layer_sums *out, const bang_mlp *base, const bang_mlp *first,
                      const bang_mlp *second, double scale, const bang_rows *rows,
                      const int64_t *labels, size_t count, bang_error *err);

#endif
