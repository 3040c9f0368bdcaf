/* One number after the other, with the C library's functions. */
#include <math.h>

#include "measure/kernels.h"

static void widen(double *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)in[i];
}

static int all_finite(const double *z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(z[i]))
            return 0;
    return 1;
}

static void mix(double *out, const double *a, double w0, const double *b, double w1, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = b ? w0 * a[i] + w1 * b[i] : w0 * a[i];
}

static size_t largest(const double *z, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (z[i] > z[best])
            best = i;
    return best;
}

static void exponentials(double *e, const double *z, size_t count, double top, double scale,
                         double sums[2])
{
    sums[0] = sums[1] = 0;
    for (size_t i = 0; i < count; i++) {
        double y = exp(scale * (z[i] - top));
        if (e)
            e[i] = y;
        sums[0] += y;
        sums[1] += y * y;
    }
}

static void moments(const double *z, size_t count, double top, double scale, double sums[3])
{
    sums[0] = sums[1] = sums[2] = 0;
    for (size_t i = 0; i < count; i++) {
        double d = z[i] - top, y = exp(scale * d);
        sums[0] += y;
        if (y > 0) { /* else d may be infinite */
            sums[1] += y * d;
            sums[2] += y * d * d;
        }
    }
}

const bang_measure_kernels bang_measure_naive = {
    .name = "naive",
    .widen = widen,
    .finite = all_finite,
    .mix = mix,
    .largest = largest,
    .exponentials = exponentials,
    .moments = moments,
};
