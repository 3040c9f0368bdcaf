/* The two loops that the simulation spends its linear algebra in. Sums run in
 * eight fixed lanes: without -ffast-math a compiler may not reorder one sum,
 * but it may compute eight of them side by side, and the result is the same on
 * every machine. */
#ifndef BANG_THEORY_SIMULATE_VECTOR_H
#define BANG_THEORY_SIMULATE_VECTOR_H

#include <stddef.h>

/* sum_i a_i b_i; a and b (n). */
static inline double vector_dot(const double *restrict a, const double *restrict b, size_t n)
{
    double lanes[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t l = 0; l < 8; l++)
            lanes[l] += a[i + l] * b[i + l];
    for (size_t l = 0; i < n; i++, l++)
        lanes[l] += a[i] * b[i];
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
           ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

/* y += c x; x and y (n). */
static inline void vector_add(double *restrict y, double c, const double *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += c * x[i];
}

#endif
