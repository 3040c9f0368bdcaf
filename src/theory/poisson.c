#include "theory/poisson.h"

#include <math.h>
#include <stddef.h>

/* Chernoff: P(X >= k) and P(X <= k) are at most exp(k - mean - k log(k/mean))
 * beyond the mean; both ends are found by bisection. */
void poisson_stretch(int64_t *low, int64_t *high, double mean, int64_t most, double limit)
{
    double bound = log(limit), span = 4 + 12 * sqrt(mean) + 2 * mean;
    double inside = mean, outside = mean + fmax(span, 60 - 2 * bound);
    while (outside - inside > 0.5) {
        double k = 0.5 * (inside + outside);
        if (k - mean - k * log(k / mean) < bound)
            outside = k;
        else
            inside = k;
    }
    *high = outside < (double)most ? (int64_t)ceil(outside) : most;
    inside = mean;
    outside = 0;
    while (inside - outside > 0.5 && -mean < bound) {
        double k = 0.5 * (inside + outside);
        if (k - mean - k * log(k / mean) < bound)
            outside = k;
        else
            inside = k;
    }
    *low = (int64_t)floor(outside);
    if (*low > *high)
        *low = *high;
}

/* By recurrence from the largest
 * one, whose own value follows from Stirling's series: near the bulk every
 * value is then good to a few roundings, which exp(k log mean - mean -
 * lgamma(k+1)) would not be. */
void poisson_table(double *out, double mean, int64_t low, int64_t high)
{
    double mode = fmin(fmax(floor(mean), (double)low), (double)high);
    double value;
    if (mode < 16) {
        value = exp(-mean);
        for (double k = 1; k <= mode; k++)
            value *= mean / k;
    } else {
        double d = (mean - mode) / mode, i = 1 / (mode * mode);
        double series = (1.0 / 12 - i * (1.0 / 360 - i * (1.0 / 1260 - i / 1680))) / mode;
        value = exp(mode * (log1p(d) - d) - series) / sqrt(2 * acos(-1.0) * mode);
    }
    size_t at = (size_t)((int64_t)mode - low), count = (size_t)(high - low + 1);
    out[at] = value;
    for (size_t j = at; j + 1 < count; j++)
        out[j + 1] = out[j] * mean / (double)(low + (int64_t)j + 1);
    for (size_t j = at; j > 0; j--)
        out[j - 1] = out[j] * (double)(low + (int64_t)j) / mean;
}
