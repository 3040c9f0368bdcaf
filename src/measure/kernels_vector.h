/* Vectors of doubles and their exponential; included by kernels_template.h. */
#ifndef BANG_SRC_MEASURE_KERNELS_VECTOR_H
#define BANG_SRC_MEASURE_KERNELS_VECTOR_H

typedef double vector __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t whole __attribute__((vector_size(VECTOR_BYTES)));
typedef double loose __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef uint64_t loose_whole __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
/* L numbers are one vector. */
enum { L = VECTOR_BYTES / sizeof(double) };

static inline vector load(const double *p)
{
    return *(const loose *)(const void *)p;
}

static inline void store(double *p, vector v)
{
    *(loose *)(void *)p = v;
}

static inline vector spread(double x)
{
    return x - (vector){0}; /* minus, as x - 0 is x for both zeros */
}

/* yes where the condition, a comparison of vectors, holds, else no */
static inline vector choose(whole condition, vector yes, vector no)
{
#ifdef __AVX2__
    return _mm256_blendv_pd(no, yes, (vector)condition);
#else
    return (vector)((condition & (whole)yes) | (~condition & (whole)no));
#endif
}

/* x > y ? x : y, and so y if one is not a number */
static inline vector larger(vector x, vector y)
{
#ifdef __AVX2__
    return _mm256_max_pd(x, y);
#else
    return choose((whole)(x > y), x, y);
#endif
}

/* x < y ? x : y */
static inline vector smaller(vector x, vector y)
{
#ifdef __AVX2__
    return _mm256_min_pd(x, y);
#else
    return choose((whole)(x < y), x, y);
#endif
}

/* 2^x for x <= 0, and 2^-1022 below; NaN stays NaN. Quicker than e^x since x = n + r is exact:
 * adding 3 2^51 leaves no bits for a fraction, and its lower bits are n. What rounding of x costs
 * is 0.7 |x| 2^-53 of the result. The polynomial for (2^r - 1)/r leaves 2.0e-17 of 2^r. */
static inline vector power(vector x)
{
    const vector shift = spread(0x1.8p52 + 1023);
    x = larger(spread(-1022), x);
    vector shifted = x + shift, r = x - (shifted - shift);
    vector r2 = r * r, r4 = r2 * r2;
    vector a = (r * 0x1.ebfbdff82c598p-3 + 0x1.62e42fefa39efp-1) +
               r2 * (r * 0x1.3b2ab6fba1dd0p-7 + 0x1.c6b08d704a0c2p-5);
    vector b = (r * 0x1.4309130972778p-13 + 0x1.5d87fe78a5272p-10) +
               r2 * (r * 0x1.62bfd46f7ae0cp-20 + 0x1.ffcbfc6710084p-17);
    vector c = (r * 0x1.e6064f626db12p-28 + 0x1.b524fadf5b6e0p-24) + r2 * 0x1.e9d40bd1335b2p-32;
    vector y = r * (a + r4 * (b + r4 * c)) + 1;
    return y * (vector)((whole)shifted << 52);
}

/* log(x) of x >= 0, and that of the least double for 0; NaN and infinity give NaN. x = 2^n m
 * with m from sqrt(1/2) to sqrt(2), f = m - 1 and s = f/(2 + f): log(m) = 2 s + s R(s^2) = f - s
 * (f - R). The polynomial for R(z)/z interpolates at Chebyshev's points and leaves 4.2e-18 of
 * log(m). */
static inline vector logarithm(vector x)
{
    const uint64_t root = 0x3fe6a09e667f3bcd, bias = (uint64_t)1024 << 52; /* sqrt(1/2) */
    whole tiny = (whole)(x < DBL_MIN);
    whole bits = (whole)choose(tiny, x * 0x1p54, x);
    whole n = (bits - root + bias) >> 52; /* + 1024: not below 0 */
    vector f = (vector)(bits - ((n - 1024) << 52)) - 1;
    /* 2^52 + n, as its bits */
    vector whole_part = (vector)(n | (uint64_t)0x4330000000000000) - (0x1p52 + 1024);
    whole_part -= (vector)(tiny & (whole)spread(54));
    vector s = f / (f + 2), z = s * s, z2 = z * z;
    vector a = (z * 0x1.99999999952d7p-2 + 0x1.5555555555558p-1) +
               z2 * (z * 0x1.c71c62e3f11e6p-3 + 0x1.2492492df281ap-2);
    vector b = (z * 0x1.39fe51a7c18f9p-3 + 0x1.7462b51cb66b1p-3) + z2 * 0x1.2b5900de53b32p-3;
    vector r = z * (a + z2 * z2 * b);
    vector y =
        whole_part * 0x1.62e42feep-1 + (f - (s * (f - r) - whole_part * 0x1.a39ef35793c76p-33));
    vector none = choose((whole)(x == 0), spread(BANG_LOG_LEAST), spread((double)NAN));
    return choose((whole)(x > 0) & (whole)(x < (double)INFINITY), y, none);
}

#endif
