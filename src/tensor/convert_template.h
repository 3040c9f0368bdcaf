/* The conversions for one kind of vector instructions. The includer defines
 *
 *     NAME(x)   x with a suffix of its own
 *     LABEL     what the table calls itself
 *
 * Numbers are copied out of and into their bytes one by one, since neither side
 * need be aligned; the compiler makes vectors of them.
 */
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#include "tensor/convert.h"
#include "tensor/small.h"

/* All of `in`, each a FROM named x, into `out` as a TO. */
#define EACH(TO, FROM, VALUE)                                                                      \
    do {                                                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            FROM x;                                                                                \
            memcpy(&x, source + i * sizeof x, sizeof x);                                           \
            TO y = (TO)(VALUE);                                                                    \
            memcpy(target + i * sizeof y, &y, sizeof y);                                           \
        }                                                                                          \
    } while (0)

/* Processors with AVX2 know F16 themselves. */
static void NAME(float_of_f16)(char *restrict target, const char *restrict source, size_t count)
{
#ifdef __F16C__
    for (; count >= 8; count -= 8, source += 16, target += 32)
        _mm256_storeu_ps((float *)(void *)target,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)source)));
#endif
    EACH(float, uint16_t, bang_float_of_small(x, BANG_SMALL_F16));
}

static void NAME(f16_of_float)(char *restrict target, const char *restrict source, size_t count)
{
#ifdef __F16C__
    for (; count >= 8; count -= 8, source += 32, target += 16)
        _mm_storeu_si128((__m128i *)(void *)target,
                         _mm256_cvtps_ph(_mm256_loadu_ps((const float *)(const void *)source),
                                         _MM_FROUND_TO_NEAREST_INT));
#endif
    EACH(uint16_t, float, bang_small_of_float(x, BANG_SMALL_F16));
}

static void NAME(copy)(char *restrict target, const char *restrict source, size_t bytes)
{
    if (bytes > 0)
        memcpy(target, source, bytes);
}

static void NAME(to_f32)(float *out, const void *in, bang_dtype dtype, size_t count)
{
    char *restrict target = (char *)out;
    const char *restrict source = in;
    if (dtype == BANG_F32)
        NAME(copy)(target, source, count * sizeof *out);
    else if (dtype == BANG_F16)
        NAME(float_of_f16)(target, source, count);
    else if (dtype == BANG_BF16)
        EACH(float, uint16_t, bang_float_of_small(x, BANG_SMALL_BF16));
    else if (dtype == BANG_F64)
        EACH(float, double, x);
    else if (dtype == BANG_F8_E4M3)
        EACH(float, uint8_t, bang_float_of_small(x, BANG_SMALL_E4M3));
    else if (dtype == BANG_F8_E5M2)
        EACH(float, uint8_t, bang_float_of_small(x, BANG_SMALL_E5M2));
}

static void NAME(from_f32)(void *out, bang_dtype dtype, const float *in, size_t count)
{
    char *restrict target = out;
    const char *restrict source = (const char *)in;
    if (dtype == BANG_F32)
        NAME(copy)(target, source, count * sizeof *in);
    else if (dtype == BANG_F16)
        NAME(f16_of_float)(target, source, count);
    else if (dtype == BANG_BF16)
        EACH(uint16_t, float, bang_small_of_float(x, BANG_SMALL_BF16));
    else if (dtype == BANG_F64)
        EACH(double, float, x);
    else if (dtype == BANG_F8_E4M3)
        EACH(uint8_t, float, bang_small_of_float(x, BANG_SMALL_E4M3));
    else if (dtype == BANG_F8_E5M2)
        EACH(uint8_t, float, bang_small_of_float(x, BANG_SMALL_E5M2));
}

static void NAME(to_f64)(double *out, const void *in, bang_dtype dtype, size_t count)
{
    char *restrict target = (char *)out;
    const char *restrict source = in;
    if (dtype == BANG_F64)
        NAME(copy)(target, source, count * sizeof *out);
    else if (dtype == BANG_F32)
        EACH(double, float, x);
    else if (dtype == BANG_F16)
        EACH(double, uint16_t, bang_float_of_small(x, BANG_SMALL_F16));
    else if (dtype == BANG_BF16)
        EACH(double, uint16_t, bang_float_of_small(x, BANG_SMALL_BF16));
    else if (dtype == BANG_F8_E4M3)
        EACH(double, uint8_t, bang_float_of_small(x, BANG_SMALL_E4M3));
    else if (dtype == BANG_F8_E5M2)
        EACH(double, uint8_t, bang_float_of_small(x, BANG_SMALL_E5M2));
}

static void NAME(from_f64)(void *out, bang_dtype dtype, const double *in, size_t count)
{
    char *restrict target = out;
    const char *restrict source = (const char *)in;
    if (dtype == BANG_F64)
        NAME(copy)(target, source, count * sizeof *in);
    else if (dtype == BANG_F32)
        EACH(float, double, x);
    else if (dtype == BANG_F16)
        EACH(uint16_t, double, bang_small_of_double(x, BANG_SMALL_F16));
    else if (dtype == BANG_BF16)
        EACH(uint16_t, double, bang_small_of_double(x, BANG_SMALL_BF16));
    else if (dtype == BANG_F8_E4M3)
        EACH(uint8_t, double, bang_small_of_double(x, BANG_SMALL_E4M3));
    else if (dtype == BANG_F8_E5M2)
        EACH(uint8_t, double, bang_small_of_double(x, BANG_SMALL_E5M2));
}

const bang_converter NAME(bang_converter) = {
    LABEL, NAME(to_f32), NAME(from_f32), NAME(to_f64), NAME(from_f64),
};

#undef EACH
