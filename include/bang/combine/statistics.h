/* What the numbers of each tensor are like, in one pass over a checkpoint.
 *
 *     bang_statistics *all = calloc(model->count, sizeof *all);
 *     bang_statistics_measure(all, model, &stream, &err);
 *     printf("%g .. %g\n", all[0].min, all[0].max);
 *
 * Sums are in double and formed in the same order whatever the threads.
 */
#ifndef BANG_COMBINE_STATISTICS_H
#define BANG_COMBINE_STATISTICS_H

#include "bang/store/stream.h"

typedef struct bang_statistics {
    int known; /* 0: a type without arithmetic (F4, C64, ...), nothing below is set */
    uint64_t count, nan, inf;
    /* Of the finite numbers; NAN where there is none. norm = sqrt(sum x^2). Integers are
     * taken as doubles. */
    double min, max, mean, norm;
} bang_statistics;

/* out: (checkpoint->count), in the order of its entries. */
int bang_statistics_measure(bang_statistics *out, const bang_checkpoint *checkpoint,
                            bang_stream *stream, bang_error *err);

#endif
