/* All kernels for one kind of vector instructions. The includer defines
 *
 *     VECTOR_BYTES   16 or 32
 *     TABLE          the name of the table
 *     LABEL          what the table calls itself
 *
 * Nothing here depends on VECTOR_BYTES but the speed: sums are taken in lanes of a fixed
 * number, and the file is compiled without fused operations.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "measure/kernels.h"
#include "measure/kernels_vector.h"

static void widen(double *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double)in[i];
}

/* 0 z is 0 unless z is not finite. */
static int all_finite(const double *z, size_t count)
{
    vector none[P] = {0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t p = 0; p < P; p++)
            none[p] += load(z + i + p * L) * 0;
    for (; i < count; i++)
        if (!(fabs(z[i]) <= DBL_MAX))
            return 0;
    return sum_of(none) == 0;
}

static void mix(double *out, const double *a, double w0, const double *b, double w1, size_t count)
{
    if (b)
        for (size_t i = 0; i < count; i++)
            out[i] = w0 * a[i] + w1 * b[i];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = w0 * a[i];
}

static size_t largest(const double *z, size_t count)
{
    double top = z[0];
    size_t i = 0;
    if (count >= LANES) {
        vector most[P];
        for (size_t p = 0; p < P; p++)
            most[p] = load(z + p * L);
        for (i = LANES; i + LANES <= count; i += LANES)
            for (size_t p = 0; p < P; p++)
                most[p] = larger(load(z + i + p * L), most[p]);
        for (size_t p = 0; p < P; p++)
            for (size_t l = 0; l < L; l++)
                top = most[p][l] > top ? most[p][l] : top;
    }
    for (; i < count; i++)
        top = z[i] > top ? z[i] : top;
    for (i = 0; i + LANES <= count; i += LANES) {
        whole found = {0};
        for (size_t p = 0; p < P; p++)
            found |= (whole)(load(z + i + p * L) == top);
        uint64_t any = 0;
        for (size_t l = 0; l < L; l++)
            any |= found[l];
        if (any)
            break;
    }
    while (i < count && z[i] != top)
        i++;
    return i < count ? i : 0; /* without any where all are not numbers */
}

/* The last numbers of a row, filled up with what has no share in any sum. */
static inline void load_rest(vector out[P], const double *z, size_t count)
{
    double filled[LANES];
    for (size_t i = 0; i < LANES; i++)
        filled[i] = i < count ? z[i] : (double)-INFINITY;
    for (size_t p = 0; p < P; p++)
        out[p] = load(filled + p * L);
}

static void exponentials(double *e, const double *z, size_t count, double top, double scale,
                         double sums[2])
{
    vector sum[P] = {0}, square[P] = {0}, rest[P];
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t p = 0; p < P; p++) {
            vector y = exponential((load(z + i + p * L) - top) * scale);
            if (e)
                store(e + i + p * L, y);
            sum[p] += y;
            square[p] += y * y;
        }
    if (i < count) {
        double last[LANES];
        load_rest(rest, z + i, count - i);
        for (size_t p = 0; p < P; p++) {
            vector y = exponential((rest[p] - top) * scale);
            store(last + p * L, y);
            sum[p] += y;
            square[p] += y * y;
        }
        if (e)
            memcpy(e + i, last, (count - i) * sizeof *e);
    }
    sums[0] = sum_of(sum);
    sums[1] = sum_of(square);
}

/* d is 0 where e is, since it may be infinite there. */
static inline void add_moments(vector sum[P], vector first[P], vector second[P], size_t p, vector d,
                               double scale)
{
    vector x = d * scale, y = exponential(x);
    d = (vector)((whole)d & ~(whole)(x < EXP_LEAST));
    vector yd = y * d;
    sum[p] += y;
    first[p] += yd;
    second[p] += yd * d;
}

static void moments(const double *z, size_t count, double top, double scale, double sums[3])
{
    vector sum[P] = {0}, first[P] = {0}, second[P] = {0}, rest[P];
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (size_t p = 0; p < P; p++)
            add_moments(sum, first, second, p, load(z + i + p * L) - top, scale);
    if (i < count) {
        load_rest(rest, z + i, count - i);
        for (size_t p = 0; p < P; p++)
            add_moments(sum, first, second, p, rest[p] - top, scale);
    }
    sums[0] = sum_of(sum);
    sums[1] = sum_of(first);
    sums[2] = sum_of(second);
}

static void logarithms(double *out, const double *p, size_t count)
{
    size_t i = 0;
    for (; i + L <= count; i += L)
        store(out + i, logarithm(load(p + i)));
    if (i < count) {
        double last[L] = {0};
        memcpy(last, p + i, (count - i) * sizeof *p);
        store(last, logarithm(load(last)));
        memcpy(out + i, last, (count - i) * sizeof *p);
    }
}

#include "measure/kernels_group.h"

const bang_measure_kernels TABLE = {
    .name = LABEL,
    .widen = widen,
    .finite = all_finite,
    .mix = mix,
    .largest = largest,
    .exponentials = exponentials,
    .moments = moments,
    .logarithms = logarithms,
    .turn_f32 = turn_f32,
    .turn_f64 = turn_f64,
    .scan = scan,
    .warm = warm,
    .soften = soften,
    .score = score,
    .blend = blend,
    .fold = fold,
};
