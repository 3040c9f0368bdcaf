/* What the training loops in float and in double share: which rows, which
 * targets, which rate. */
#ifndef BANG_TRAIN_LOOP_H
#define BANG_TRAIN_LOOP_H

#include "bang/base/arena.h"
#include "bang/base/random.h"
#include "bang/train/train.h"

typedef struct train_order {
    const bang_train_options *options;
    uint32_t *index; /* (rows) this epoch's order */
    size_t rows, next;
    uint64_t epoch;
} train_order;

/* The next batch: up to options->batch rows of this epoch. */
const uint32_t *train_next_batch(train_order *order, size_t *count);

/* Batches in an epoch. */
uint64_t train_epoch_steps(size_t rows, size_t batch);
/* Makes the batch of a step, counted from 0, the next. */
void train_seek(train_order *order, uint64_t step);

/* What mixes a batch: lambda ~ Beta(mixup, mixup), partner a permutation of count. */
double train_draw_mixing(uint32_t *partner, size_t count, const bang_train_options *options,
                         uint64_t step);

/* What this rank takes of a batch: its share of the rows, and behind them the partners that
 * they mix with and that lie in other shares. */
typedef struct train_part {
    const uint32_t *index; /* (count + behind) rows of the data */
    size_t count, behind;
    uint32_t *own, *places; /* (batch) memory, of several ranks */
} train_part;

/* The part of a batch of count rows. Returns lambda; partner (part->count) are places in it. */
double train_take_part(train_part *part, uint32_t *partner, const uint32_t *index, size_t count,
                       const bang_train_options *options, uint64_t step);

/* What a step leaves to the next besides weights and moments: doubles only, as they are
 * saved. */
typedef struct train_kept {
    double power1, power2;       /* beta^t */
    double shrink, shrink_mean;  /* a weight, 1 at first, and its moment under decay alone */
    double epoch_loss, in_epoch; /* sum over the rows of this epoch, and their number */
} train_kept;

/* Targets of the true class and of each other one under label smoothing. */
void train_smooth(double *hit, double *miss, size_t classes, const bang_train_options *options);

/* The loops: parameters (mlp->count) are trained in place. */
int train_run_f32(const bang_mlp *shape, float *parameters, const bang_rows *rows,
                  const int64_t *labels, const bang_train_options *options,
                  bang_train_result *result, bang_error *err);
int train_run_f64(const bang_mlp *shape, double *parameters, const bang_rows *rows,
                  const int64_t *labels, const bang_train_options *options,
                  bang_train_result *result, bang_error *err);

#endif
