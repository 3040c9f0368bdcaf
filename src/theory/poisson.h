/* Poisson probabilities over the stretch where they matter. */
#ifndef BANG_THEORY_POISSON_H
#define BANG_THEORY_POISSON_H

#include <stdint.h>

/* The stretch around the mean of Poisson(mean) outside which less than limit
 * lies on each side, cut at most. */
void poisson_stretch(int64_t *low, int64_t *high, double mean, int64_t most, double limit);

/* out[k - low] = P(Poisson(mean) = k) for low <= k <= high. */
void poisson_table(double *out, double mean, int64_t low, int64_t high);

#endif
