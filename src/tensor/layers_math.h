/* Vectors of exponentials and GELUs, after product_tile.h and with its macros;
 * the includer also defines REAL_BITS, 32 or 64.
 *
 * In float 2^x is right to 2e-7 of itself for x from -126 to 127 and the GELU to
 * 2e-7 of |x|, which the tests hold against libm; doubles go through libm one by
 * one. Both keep what is not a number.
 */
#if REAL_BITS == 32
typedef int32_t NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int64_t NAME(bits) __attribute__((vector_size(VECTOR_BYTES)));
#endif

/* yes where the condition, a comparison of vectors, holds, else no */
static inline VECTOR NAME(choose)(NAME(bits) condition, VECTOR yes, VECTOR no)
{
#if defined(__AVX2__) && VECTOR_BYTES == 32 && REAL_BITS == 32
    return _mm256_blendv_ps(no, yes, (VECTOR)condition);
#else
    return (VECTOR)((condition & (NAME(bits))yes) | (~condition & (NAME(bits))no));
#endif
}

static inline VECTOR NAME(below)(VECTOR x, REAL most) /* min(x, most) */
{
#if defined(__AVX512F__) && VECTOR_BYTES == 64 && REAL_BITS == 32
    return _mm512_min_ps(_mm512_set1_ps(most), x); /* the second if one is not a number */
#elif defined(__AVX2__) && VECTOR_BYTES == 32 && REAL_BITS == 32
    return _mm256_min_ps(_mm256_set1_ps(most), x);
#else
    return NAME(choose)(x > most, NAME(spread)(most), x);
#endif
}

static inline VECTOR NAME(above)(VECTOR x, REAL least)
{
#if defined(__AVX512F__) && VECTOR_BYTES == 64 && REAL_BITS == 32
    return _mm512_max_ps(_mm512_set1_ps(least), x);
#elif defined(__AVX2__) && VECTOR_BYTES == 32 && REAL_BITS == 32
    return _mm256_max_ps(_mm256_set1_ps(least), x);
#else
    return NAME(choose)(x < least, NAME(spread)(least), x);
#endif
}

static inline VECTOR NAME(magnitude)(VECTOR x)
{
    NAME(bits) sign = (NAME(bits))(-(VECTOR){0});
    return (VECTOR)((NAME(bits))x & ~sign);
}

/* 2^x; below -126 it is 0. x = whole + part with part in [-1/2, 1/2]: adding 3 2^22
 * leaves no bits for a fraction. The polynomial has the least relative error among
 * those of its degree with 2^0 = 1: 1.1e-7. */
static inline VECTOR NAME(power)(VECTOR x)
{
#if REAL_BITS == 32
    const VECTOR shift = NAME(spread)(12582912.0f);
    VECTOR shifted = x + shift, part = x - (shifted - shift);
    VECTOR y = part * 0.0013264727f + 0.0096715127f;
    y = y * part + 0.0555073374f;
    y = y * part + 0.2402224208f;
    y = y * part + 0.6931469776f;
    y = y * part + 1;
    y *= (VECTOR)(((NAME(bits))shifted + 127) << 23);
    return (VECTOR)((NAME(bits))y & ~(x < -126));
#else
    for (size_t i = 0; i < L; i++)
        x[i] = x[i] < -1022 ? 0 : exp2(x[i]);
    return x;
#endif
}

#define LOG2_E ((REAL)1.44269504088896340736)

/* The share s(x) of x that is its GELU, x s(x), and x s'(x). All three come from
 * one exponential of a negative number, so that nothing overflows. */
static inline __attribute__((always_inline)) VECTOR NAME(gelu_share)(VECTOR x, VECTOR *slope,
                                                                     const bang_gelu kind)
{
    if (kind == BANG_GELU_EXACT) {
        /* s(-|x|) = erfc(|x|/sqrt(2))/2 = exp(-x^2/2) p(t) with t = 1/(1 + .28 |x|) */
        VECTOR half;
        VECTOR bell = NAME(power)(x * x * (-LOG2_E / 2));
#if REAL_BITS == 32
        VECTOR t = 1 / (NAME(magnitude)(x) * 0.28f + 1);
        half = t * -0.1072356899f + 0.3957797047f;
        half = half * t - 0.2467025087f;
        half = half * t + 0.2768362413f;
        half = half * t + 0.0642846428f;
        half = half * t + 0.1170375958f;
        half *= t * bell;
#else
        for (size_t i = 0; i < L; i++)
            half[i] = 0.5 * erfc(0.70710678118654752440 * fabs(x[i]));
#endif
        *slope = x * bell * (REAL)0.39894228040143267794;
        return NAME(choose)(x < 0, half, 1 - half);
    }
    /* s(x) = 1/(1 + exp(-u)) */
    const REAL a = (REAL)1.5957691216057307118, b = (REAL)(1.5957691216057307118 * 0.044715);
    VECTOR u = kind == BANG_GELU_QUICK ? x * (REAL)1.702 : x * (x * x * b + a);
    VECTOR change = kind == BANG_GELU_QUICK ? u : x * (x * x * (3 * b) + a); /* x u'(x) */
    VECTOR e = NAME(power)(NAME(magnitude)(u) * -LOG2_E), inverse = 1 / (1 + e);
    *slope = change * e * inverse * inverse;
    return NAME(choose)(u < 0, e * inverse, inverse);
}

/* Beyond this a share is 0 or 1 and stays so; -60*0 is 0 where infinity is not. */
#define FAR ((REAL)(REAL_BITS == 32 ? 60 : 500))
static inline __attribute__((always_inline)) VECTOR NAME(gelu)(VECTOR x, const bang_gelu kind)
{
    VECTOR slope, from = NAME(above)(x, -FAR);
    return from * NAME(gelu_share)(NAME(below)(from, FAR), &slope, kind);
}

static inline __attribute__((always_inline)) VECTOR NAME(gelu_slope)(VECTOR x, VECTOR *activated,
                                                                     const bang_gelu kind)
{
    VECTOR slope, from = NAME(above)(x, -FAR);
    VECTOR share = NAME(gelu_share)(NAME(below)(from, FAR), &slope, kind);
    *activated = from * share;
    return share + slope;
}
