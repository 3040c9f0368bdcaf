/* Training of a multi-layer perceptron.
 *
 *     bang_train_options options = BANG_TRAIN_OPTIONS_INIT;
 *     options.steps = 5000;
 *     bang_train_mlp(&mlp, &rows, labels, &options, &result, &err);
 *
 * One model runs on one thread; train many models in a bang_parallel_for. The
 * result depends on the options, the data and the processor's vector
 * instructions, never on the number of threads.
 *
 * Ranks share every batch: each computes the gradient of its rows, and all take the step of the
 * sum. The batch is that of all together, so how many ranks there are changes nothing but the
 * order of sums. All have the same weights and moments; rank 0 alone writes the state, and what
 * it has read all go on from, however many they were before.
 */
#ifndef BANG_TRAIN_TRAIN_H
#define BANG_TRAIN_TRAIN_H

#include "bang/base/progress.h"
#include "bang/base/rank.h"
#include "bang/base/thread.h"
#include "bang/model/mlp.h"

/* MSE: mean over batch and classes of (z - y)^2.
 * CROSS_ENTROPY: mean over the batch of -sum_k y_k log softmax(z)_k. */
typedef enum bang_loss { BANG_MSE, BANG_CROSS_ENTROPY } bang_loss;

/* What label smoothing e makes of the one-hot target of K classes:
 * ORIGINAL: (1 - e) onehot + e/K
 * OTHERS: 1 - e for the true class, e/(K - 1) for each other
 * CLASSY_VISION: ORIGINAL with e/(1 + e) in place of e */
typedef enum bang_smoothing {
    BANG_SMOOTHING_ORIGINAL,
    BANG_SMOOTHING_OTHERS,
    BANG_SMOOTHING_CLASSY_VISION,
} bang_smoothing;

/* Step t = 1, 2, ... with gradient g and rate r:
 * SGD: g += decay w; m = momentum m + g (m = g at first); w -= r m
 * ADAM: g += decay w; m, v as below; w -= r m^ / (sqrt(v^) + eps)
 * ADAMW: w -= r decay w, then ADAM without the decay
 * with m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, m^ = m/(1-b1^t), v^ = v/(1-b2^t). */
typedef enum bang_optimizer { BANG_SGD, BANG_ADAM, BANG_ADAMW } bang_optimizer;

/* Rate at step s = 0, 1, ...: while s < warmup it is rate (s+1)/warmup; then
 * CONSTANT: rate
 * COSINE: rate (1 + cos(pi (s - warmup)/(steps - warmup)))/2
 * STEP: rate step_factor^floor((s - warmup)/step_every) */
typedef enum bang_schedule { BANG_CONSTANT, BANG_COSINE, BANG_STEP } bang_schedule;

/* Names as the command line has them ("mse", "cross-entropy"; "original",
 * "others", "classy_vision"; "adamw", ...; "cosine", ...); -1 when none fits. */
int bang_loss_find(bang_loss *out, const char *name);
int bang_smoothing_find(bang_smoothing *out, const char *name);
int bang_optimizer_find(bang_optimizer *out, const char *name);
int bang_schedule_find(bang_schedule *out, const char *name);

/* A training that can be stopped and gone on with: parameters, moments and all else that
 * the next step depends on, in one file. It is written every so many seconds and on a
 * cancel, and stays when the training is done: remove it once the result is safe. A run
 * that was killed and resumed ends with the same bits as one that was not, if all options
 * are the same; others are refused, naming them. */
typedef struct bang_train_state {
    const char *path; /* NULL: none is written */
    double seconds;   /* between two writes; 0: after every step */
    int resume;       /* go on from the file, if it is there */
    double *own;      /* (own_count) numbers of the caller's, saved and restored with the rest */
    size_t own_count;
    uint64_t beside; /* bytes of what is to be written on its disk in the end: before the first
                      * step it must have room for them and for a state */
    /* NULL, or hears why a state could not be written in between: then the training goes on with
     * the one before, and the next is tried when it is due */
    void (*missed)(void *context, const char *why);
    void *context;
} bang_train_state;

typedef struct bang_train_options {
    bang_loss loss;
    double label_smoothing; /* e, 0 .. 1 */
    bang_smoothing smoothing;
    double mixup; /* lambda ~ Beta(mixup, mixup) per batch; 0: none */
    bang_optimizer optimizer;
    double rate, beta1, beta2, epsilon, momentum, weight_decay;
    bang_schedule schedule;
    uint64_t warmup, step_every;
    double step_factor;
    double clip_norm; /* largest global norm of the gradient; 0: no limit */
    size_t batch;
    uint64_t steps;
    uint64_t seed, stream;         /* of the order, the mixing, ...: one stream per model */
    int in_order;                  /* rows in the order of the file instead of shuffled */
    const bang_progress *progress; /* may be NULL */
    bang_cancel *cancel;           /* may be NULL */
    /* after each step, with the loss of its batch; may be NULL */
    void (*step)(void *context, uint64_t step, double loss, double rate);
    void *context;
    bang_train_state state;
    bang_ranks *ranks; /* that share every batch; NULL: this process alone. Borrowed */
} bang_train_options;
#define BANG_TRAIN_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .loss = BANG_MSE, .optimizer = BANG_ADAM, .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999,      \
        .epsilon = 1e-8, .step_every = 1000, .step_factor = 0.1, .batch = 100, .steps = 5000,      \
        .seed = 1, .state = {                                                                      \
            .seconds = 300                                                                         \
        }                                                                                          \
    }

typedef struct bang_train_result {
    double loss;           /* mean over the rows of the last epoch or what there was of it */
    double decay;          /* what weight decay alone makes of a weight 1, for bang_mlp_expand */
    uint64_t resumed_from; /* step; 0: from the beginning */
    uint64_t saved;        /* step of the state's file, as written or read; 0: none */
} bang_train_result;

/* All that is wrong with the options, in one message. */
int bang_train_check(const bang_train_options *options, bang_error *err);

/* Removes the file of a state and what a killed run may have left beside it; one that is
 * not there is fine. */
int bang_train_state_remove(const char *path, bang_error *err);

/* The rate at a step, counted from 0. */
double bang_train_rate(const bang_train_options *options, uint64_t step);

/* Trains in place. mlp reads the groups of rows->columns; labels (rows->count)
 * are below the number of outputs. Rows are shuffled anew in every epoch; the
 * last batch of an epoch may be smaller. ADAM with weight decay needs columns
 * that are all different, as its step is not the same for equal inputs. On a cancel the
 * state is written, where there is to be one, and BANG_ECANCELLED returned. */
int bang_train_mlp(bang_mlp *mlp, const bang_rows *rows, const int64_t *labels,
                   const bang_train_options *options, bang_train_result *result, bang_error *err);

#endif
