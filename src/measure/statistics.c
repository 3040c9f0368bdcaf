#include "bang/measure/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "measure/special.h"

/* Kind after kind: given those before, its count is binomial with its share of what is left. */
void bang_resample(size_t *out, const size_t *counts, size_t kinds, bang_random *random)
{
    size_t left = 0;
    for (size_t i = 0; i < kinds; i++)
        left += counts[i];
    size_t draws = left;
    for (size_t i = 0; i < kinds; i++) {
        double p = left > 0 ? (double)counts[i] / (double)left : 0;
        out[i] = (size_t)bang_random_binomial(random, (int64_t)draws, p);
        draws -= out[i];
        left -= counts[i];
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, at the place p (count - 1) between them. */
static double quantile(const double *sorted, size_t count, double p)
{
    double place = p * (double)(count - 1);
    if (!(place > 0))
        return sorted[0];
    if (place >= (double)(count - 1))
        return sorted[count - 1];
    size_t below = (size_t)place;
    double part = place - (double)below, step = sorted[below + 1] - sorted[below];
    /* From the nearer side, as NumPy has it. */
    return part < 0.5 ? sorted[below] + step * part : sorted[below + 1] - step * (1 - part);
}

bang_interval bang_interval_of(double *values, size_t count, double level)
{
    bang_interval interval = {NAN, NAN, NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return interval;
    if (count == 0 || isnan(level))
        return interval;
    qsort(values, count, sizeof *values, by_value);
    interval.low = quantile(values, count, (1 - level) / 2);
    interval.high = quantile(values, count, (1 + level) / 2);
    /* After sorting, so that the order of the values does not show in the last bits. */
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    if (count > 1)
        interval.sd = sqrt(squares / (double)(count - 1));
    return interval;
}

/* P(X <= k) and P(X = k) of a binomial (n, 1/2), k < n/2. */
static void half_binomial(double *at_most, double *equal, size_t n, size_t k)
{
    if (n <= 60) { /* whole numbers: exact */
        uint64_t choose = 1, sum = 1;
        for (size_t i = 0; i < k; i++) {
            choose = choose * (n - i) / (i + 1);
            sum += choose;
        }
        *at_most = ldexp((double)sum, -(int)n);
        *equal = ldexp((double)choose, -(int)n);
        return;
    }
    if (k == 0) {
        *at_most = *equal = n < 2000 ? ldexp(1, -(int)n) : 0;
        return;
    }
    double least = (double)k, rest = (double)(n - k);
    *at_most = n - k == k + 1 ? 0.5 : bang_beta(0.5, rest, least + 1);
    *equal = bang_binomial_density(least, rest, 0.5, 0.5);
}

bang_mcnemar bang_mcnemar_test(size_t b, size_t c)
{
    bang_mcnemar test = {.b = b, .c = c, .p = 1, .mid_p = 1};
    if (b == c)
        return test;
    size_t least = b < c ? b : c, most = b < c ? c : b;
    double at_most, equal, excess = (double)(most - least) - 1;
    half_binomial(&at_most, &equal, least + most, least);
    test.p = fmin(1, 2 * at_most);
    test.mid_p = 2 * at_most - equal;
    test.chi_squared = excess * excess / ((double)least + (double)most);
    return test;
}

double bang_error_correlation(size_t both, size_t first, size_t second, size_t neither)
{
    double tt = (double)both, tf = (double)first, ft = (double)second, ff = (double)neither;
    /* n^2 times the variance of each model. The root of the square of one is exact: errors
     * that are the same correlate by 1 and not nearly so. */
    double of_first = (tt + tf) * (ft + ff), of_second = (tt + ft) * (tf + ff);
    if (!(of_first > 0 && of_second > 0))
        return NAN;
    double phi = (tt * ff - tf * ft) / sqrt(of_first * of_second);
    return fmax(-1, fmin(1, phi));
}
