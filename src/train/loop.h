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

/* What mixes a batch: lambda ~ Beta(mixup, mixup), partner a permutation of count. */
double train_draw_mixing(uint32_t *partner, size_t count, const bang_train_options *options,
                         uint64_t step);

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
