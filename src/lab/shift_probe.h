/* A linear probe: multinomial logistic regression on features, by full batches, to the optimum.
 *
 *     minimise  L(W) = -1/n sum_i log softmax(W x_i)_{y_i},   x with a 1 behind it
 *
 * The Hessian is at most 1/2 I (x) S with S = X^T X / n (Boehning), so W - 2 S^-1 dL/dW never
 * ascends, whatever the scale of the features: steps of that kind with Nesterov's momentum,
 * restarted when it leads uphill. No random number, no rate to choose, one thread.
 */
#ifndef BANG_LAB_SHIFT_PROBE_H
#define BANG_LAB_SHIFT_PROBE_H

#include <stdint.h>

#include "bang/base/thread.h"

typedef struct shift_probe {
    size_t count, features, classes;
    const float *x;        /* (count, features) */
    const int64_t *labels; /* (count) 0 .. classes - 1 */
    bang_cancel *cancel;   /* may be NULL */
} shift_probe;

/* weight (classes, features) and bias (classes) are set; loss, which may be NULL, is L there. */
int shift_probe_fit(float *weight, float *bias, double *loss, const shift_probe *probe,
                    bang_error *err);

#endif
