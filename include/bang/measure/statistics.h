/* Whether a difference is real: resampling, McNemar's test, and the functions they need.
 *
 * The bootstrap draws as many rows as there are, with replacement. Everything that is asked
 * depends on counts of rows of the same kind alone (bang_pattern), and those of a resample are
 * multinomial: drawing them instead of rows is the same distribution, and does not depend on
 * the number of rows. Models are paired, as a row carries all of them.
 *
 *     bang_random random;
 *     bang_random_init(&random, seed, BANG_PURPOSE('b','o','o','t'), replicate);
 *     bang_resample(drawn, counts, kinds, &random);
 *     ...
 *     bang_interval interval = bang_interval_of(values, replicates, 0.95);
 */
#ifndef BANG_MEASURE_STATISTICS_H
#define BANG_MEASURE_STATISTICS_H

#include <stddef.h>

#include "bang/base/random.h"

/* One resample of counts, (kinds): multinomial with the same sum. */
void bang_resample(size_t *out, const size_t *counts, size_t kinds, bang_random *random);

typedef struct bang_interval {
    double low, high; /* quantiles (1 - level)/2 and (1 + level)/2 of the replicates */
    double sd;        /* of the replicates (n - 1): the standard error; NaN of one */
} bang_interval;

/* Sorts values, (count). Quantiles are interpolated linearly, as NumPy does. NaN without
 * values, or when one of them is NaN. */
bang_interval bang_interval_of(double *values, size_t count, double level);

/* Of rows that exactly one of two models gets right, b are the first's and c the second's.
 * If the models are equally good, b is binomial (b + c, 1/2). */
typedef struct bang_mcnemar {
    size_t b, c;
    double p;           /* exact, two-sided: min(1, 2 P(X <= min(b, c))); 1 when b + c = 0 */
    double mid_p;       /* the same less P(X = min(b, c)): less conservative; 1 when b = c */
    double chi_squared; /* (|b - c| - 1)^2 / (b + c), with b != c; 0 when b = c */
} bang_mcnemar;
bang_mcnemar bang_mcnemar_test(size_t b, size_t c);

/* Correlation of two models' errors (phi) from the counts of both right, only the first, only
 * the second, neither; NaN when one of them is always right or always wrong. */
double bang_error_correlation(size_t both, size_t first, size_t second, size_t neither);

/* The regularised incomplete beta function I_x(a, b), a, b > 0; to 1e-13 of 1. */
double bang_beta(double x, double a, double b);
/* P(T <= t) of Student's t with df > 0 degrees of freedom, and its inverse, 0 < p < 1. */
double bang_student(double t, double df);
double bang_student_quantile(double p, double df);

#endif
