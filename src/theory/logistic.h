/* Multinomial logistic regression without intercept:
 *
 *     min_W  1/n sum_i -log softmax(W x_i)[y_i]  +  ridge/2 ||W||^2
 *
 *     bang_logistic_data data = {x, y, n, d, K, 1e-3, cancel};
 *     double *scratch = bang_arena_alloc(&arena, bang_logistic_scratch(K, d), sizeof *scratch);
 *     bang_logistic_fit(w, &data, scratch, &err);
 */
#ifndef BANG_THEORY_LOGISTIC_H
#define BANG_THEORY_LOGISTIC_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"
#include "bang/base/thread.h"

typedef struct bang_logistic_data {
    const double *x;   /* (n, d) */
    const uint32_t *y; /* (n), each < classes */
    size_t n, d;
    size_t classes;      /* K */
    double ridge;        /* > 0 */
    bang_cancel *cancel; /* may be NULL; looked at within every evaluation */
} bang_logistic_data;

/* How many doubles bang_logistic_fit needs as scratch, as a double because the
 * caller checks sizes before it trusts them. */
double bang_logistic_scratch(double classes, double d);

/* The objective at w (K, d); fills its gradient (K, d). logits (K) is scratch.
 * NaN once cancel was raised. */
double bang_logistic_loss(double *gradient, const bang_logistic_data *data, const double *w,
                          double *logits);

/* The minimiser, into w (K, d); what w held does not matter. BANG_EUSAGE when
 * the iteration does not converge, BANG_ECANCELLED when it was stopped. */
int bang_logistic_fit(double *w, const bang_logistic_data *data, double *scratch, bang_error *err);

#endif
