/* Drawn numbers against the distribution that they should have. */
#ifndef BANG_TESTS_DISTRIBUTION_H
#define BANG_TESTS_DISTRIBUTION_H

#include "testing.h"

#include <math.h>

#include "bang/base/random.h"

/* Chi-square of counts against expected ones in standard deviations of its
 * distribution (df = cells-1, variance 2 df). */
static inline double chi_square(const double *observed, const double *expected, int cells)
{
    double sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i];
    return (sum - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

static inline double log_binomial(double n, double k, double p)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p);
}

/* Cells of at least ten expected draws; the tails are put together. */
static inline void check_binomial(int64_t count, double p, int draws)
{
    enum { MOST = 4000 };
    static double observed[MOST], expected[MOST];
    assert_true(count < MOST);
    memset(observed, 0, sizeof observed);
    bang_random random;
    bang_random_init(&random, 11, BANG_PURPOSE('b', 'i', 'n', 'o'), (uint64_t)count);
    double mean = 0, square = 0, n = (double)count;
    for (int i = 0; i < draws; i++) {
        int64_t k = bang_random_binomial(&random, count, p);
        assert_true(k >= 0 && k <= count);
        observed[k]++;
        mean += ((double)k - n * p) / draws;
        square += ((double)k - n * p) * ((double)k - n * p) / draws;
    }
    double variance = n * p * (1 - p), excess = (1 - 6 * p * (1 - p)) / variance;
    assert_true(fabs(mean) < 4 * sqrt(variance / draws));
    assert_true(fabs(square - variance) < 4 * variance * sqrt((2 + excess) / draws));

    int cells = 0;
    double rest_observed = 0, rest_expected = 0;
    for (int64_t k = 0; k <= count; k++) {
        rest_observed += observed[k];
        rest_expected += draws * exp(log_binomial(n, (double)k, p));
        if (rest_expected >= 10) {
            observed[cells] = rest_observed;
            expected[cells++] = rest_expected;
            rest_observed = rest_expected = 0;
        }
    }
    observed[cells - 1] += rest_observed;
    expected[cells - 1] += rest_expected;
    assert_true(cells >= 2);
    double score = chi_square(observed, expected, cells);
    if (fabs(score) >= 4)
        fail_msg("binomial(%lld, %g): chi-square is %g sd off", (long long)count, p, score);
}

#endif
