/* Weight averaging on MultiColorMNIST, which the paper leaves to future work (appendix C.3), and
 * its account of two layers (appendix D.2): what both experiments share.
 *
 * A pre-trained model (PM) learns from random colours (p = 1), where the digit alone helps; a
 * fine-tuned one (FM) goes on from it with perfect colours (p = 0). Both read the same groups of
 * equal columns, so that averaging them is averaging the networks that read all pixels.
 *
 * A unit is one seed: a draw of colours and some pairs of networks. It runs on one thread.
 */
#ifndef BANG_LAB_AVERAGE_H
#define BANG_LAB_AVERAGE_H

#include "lab/color.h"

/* Images of a seed. */
typedef struct average_data {
    bang_columns columns; /* equal in all that follows */
    bang_rows pre, fine;  /* to train on: p = 1, p = 0 */
    size_t test_count;
    bang_rows test[COLOR_SHIFTS]; /* at the plan's shifts */
    int64_t *train_labels, *test_labels;
} average_data;

typedef struct average_scratch {
    bang_array train, test; /* images as pixels; made once and reused */
} average_scratch;

/* What is trained: PM for 150 steps, FM for 300 unless steps says else. */
typedef struct average_training {
    uint64_t steps; /* 0: the recipe's */
    double smoothing, mixup;
    uint64_t order; /* of the images, below 15: another number, another order */
} average_training;

/* The tests of a unit: images (0: all there are) at each of shifts (count, at most
 * COLOR_SHIFTS). */
typedef struct average_tests {
    const double *shifts;
    size_t count, images;
} average_tests;

/* Makes the images of unit i. The caller releases them. */
int average_data_make(average_data *out, average_scratch *scratch, const color_plan *plan, size_t i,
                      average_tests tests, const bang_mnist *mnist, bang_cancel *cancel,
                      bang_error *err);
void average_data_release(average_data *data);

/* The network as it is before any training, reading all pixels: 64 hidden units in each of
 * hidden layers. The caller releases it. */
int average_network(bang_mlp *out, const color_plan *plan, size_t i, size_t pair, int hidden,
                    bang_error *err);
/* PM from that network, FM from PM: new networks on reduced inputs, which the caller releases. */
int average_train_pre(bang_mlp *out, const bang_mlp *start, const average_data *data,
                      const color_plan *plan, size_t i, size_t pair, bang_cancel *cancel,
                      bang_error *err);
int average_train_fine(bang_mlp *out, const bang_mlp *pre, const average_data *data,
                       const color_plan *plan, size_t i, size_t pair, average_training training,
                       bang_cancel *cancel, bang_error *err);
/* (1 - alpha) a + alpha b of two networks of one shape; the caller releases it. */
int average_mix(bang_mlp *out, const bang_mlp *a, const bang_mlp *b, double alpha, bang_error *err);

/* {"data", "protocol", "models", "mnist", and the recipe}: what a record depends on, a new
 * reference. */
json_t *average_options(const color_plan *plan, int hidden, const char *digest);

/* An experiment's units. unit fills the result of seed i. */
typedef struct average_runner {
    const char *experiment, *section;
    int hidden;          /* layers */
    const char *measure; /* what records hold, where it could be something else; or NULL */
    int (*unit)(json_t *result, const color_plan *plan, size_t i, const bang_mnist *mnist,
                average_scratch *scratch, bang_cancel *cancel, bang_error *err);
    /* From all units to what is shown. context: what the caller of average_run gave. */
    int (*summary)(json_t *result, json_t *show, const color_plan *plan, const json_t *units,
                   const bang_mnist *mnist, bang_error *err);
} average_runner;

/* Runs the units that are missing, in waves of a few, and sums them up. */
int average_run(json_t *result, const average_runner *runner, color_plan plan,
                const bang_lab_options *options, bang_error *err);

/* The mean of a quantity over some shifts, over pairs and seeds. */
typedef struct average_estimate {
    size_t pairs, seeds;
    size_t above; /* pairs with a positive value */
    double mean, sd;
    double error;     /* standard error: seeds are independent, pairs of a seed are not */
    double low, high; /* 95 %, Student's t over seeds (over pairs where there is one seed) */
} average_estimate;

/* Of units[..][field], rows of one number per shift, the mean over shifts from .. to - 1; less
 * the same of minus, or of the larger of minus and other, pair by pair (NULL: none). Rows
 * first, first + stride, ... are taken. */
typedef struct average_choice {
    const char *field, *minus, *other;
    size_t from, to;
    size_t first, stride; /* of field; stride 0: all rows */
} average_choice;
void average_estimate_of(average_estimate *out, const json_t *units, average_choice choice);

/* "+1.23 [+0.50, +1.96]" in per cent; the mean alone where there is no interval. */
void average_interval_text(char *out, size_t size, const average_estimate *e);

#endif
