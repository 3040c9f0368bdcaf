/* Temperatures fitted to logits.
 *
 * Calibration (Guo et al. 2017; on the ID set, as Kumar et al. 2022 do): the T that minimises
 *
 *     NLL(T) = mean_i [log sum_k exp(z_ik/T) - z_il/T],
 *
 * which is convex in 1/T. Found by Newton's method in 1/T, with its term of second order, within
 * brackets, first on some of the rows, then on all, until 1/T changes by less than 1e-12 of itself.
 *
 * Balance, without labels: the T at which one model is on average as confident as another,
 * mean_i max_k softmax(z_i/T)_k = target; confidence falls with T.
 */
#ifndef BANG_MEASURE_TEMPERATURE_H
#define BANG_MEASURE_TEMPERATURE_H

#include "bang/base/thread.h"
#include "bang/measure/logits.h"

/* Wide enough for logits of any unit: whole numbers of 8 bits, or sums of a thousand of them. */
#define BANG_TEMPERATURE_LEAST 1e-9
#define BANG_TEMPERATURE_MOST 1e9

typedef struct bang_temperature {
    double temperature; /* within the limits above */
    double nll;         /* mean at it; of a balance NaN */
    int at_limit;       /* no minimum (no equal confidence) between the limits: the better end */
} bang_temperature;

/* labels as in logits.h, not NULL; at least one row must count. */
int bang_temperature_fit(bang_temperature *out, const bang_logits *logits, const bang_label *labels,
                         int threads, bang_cancel *cancel, bang_error *err);

/* The temperature of logits at which their mean confidence is target. labels only say which
 * rows are left out, and may be NULL. */
int bang_temperature_balance(bang_temperature *out, const bang_logits *logits,
                             const bang_label *labels, double target, int threads,
                             bang_cancel *cancel, bang_error *err);

#endif
