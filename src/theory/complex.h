/* Complex arithmetic without the NaN checks that C's own product and quotient
 * carry (they cost more than the arithmetic). */
#ifndef BANG_THEORY_COMPLEX_H
#define BANG_THEORY_COMPLEX_H

#include <math.h>

typedef struct complex_pair {
    double re, im;
} complex_pair;

static inline complex_pair complex_add(complex_pair a, complex_pair b)
{
    return (complex_pair){a.re + b.re, a.im + b.im};
}

static inline complex_pair complex_sub(complex_pair a, complex_pair b)
{
    return (complex_pair){a.re - b.re, a.im - b.im};
}

static inline complex_pair complex_mul(complex_pair a, complex_pair b)
{
    return (complex_pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline complex_pair complex_scale(complex_pair a, double factor)
{
    return (complex_pair){a.re * factor, a.im * factor};
}

/* |a|^2 */
static inline double complex_norm(complex_pair a)
{
    return a.re * a.re + a.im * a.im;
}

/* Scaled by the larger part of b, so that |b|^2 cannot underflow. */
static inline complex_pair complex_div(complex_pair a, complex_pair b)
{
    double size = fmax(fabs(b.re), fabs(b.im));
    b = (complex_pair){b.re / size, b.im / size};
    double norm = size * complex_norm(b);
    return (complex_pair){(a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm};
}

static inline complex_pair complex_exp(complex_pair a)
{
    double size = exp(a.re);
    return (complex_pair){size * cos(a.im), size * sin(a.im)};
}

static inline complex_pair complex_log(complex_pair a)
{
    return (complex_pair){log(hypot(a.re, a.im)), atan2(a.im, a.re)};
}

/* log(1 + a), accurate for small a. */
static inline complex_pair complex_log1p(complex_pair a)
{
    return (complex_pair){0.5 * log1p(2 * a.re + complex_norm(a)), atan2(a.im, 1 + a.re)};
}

/* exp(a) - 1, accurate for small a. */
static inline complex_pair complex_expm1(complex_pair a)
{
    double half = sin(0.5 * a.im);
    if (isinf(a.re) && a.re < 0)
        return (complex_pair){-1, 0};
    return (complex_pair){expm1(a.re) * cos(a.im) - 2 * half * half, exp(a.re) * sin(a.im)};
}

#endif
