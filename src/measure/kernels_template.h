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

static void mix(double *out, const double *a, double w0, const double *b, double w1, size_t count)
{
    if (b)
        for (size_t i = 0; i < count; i++)
            out[i] = w0 * a[i] + w1 * b[i];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = w0 * a[i];
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
    .mix = mix,
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
