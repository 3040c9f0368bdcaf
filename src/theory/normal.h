/* The standard normal distribution. */
#ifndef BANG_THEORY_NORMAL_H
#define BANG_THEORY_NORMAL_H

#include <math.h>

/* Phi(x); the small tail keeps its relative accuracy. */
static inline double normal_cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static inline double normal_density(double x)
{
    return 0.39894228040143267794 * exp(-0.5 * x * x);
}

/* log Phi(x), accurate where Phi is near 1 and where it is near 0. */
static inline double normal_log_cdf(double x)
{
    return x > 0 ? log1p(-normal_cdf(-x)) : log(normal_cdf(x));
}

/* The trapezoidal rule in a standard normal variable: nodes -NORMAL_REACH ..
 * NORMAL_REACH; beyond lies less than 1e-18. The step resolves Phi(.+z)^(K-1),
 * whose width shrinks like 1/sqrt(log K). */
#define NORMAL_REACH 9.0
static inline double normal_step(double classes)
{
    return 0.36 / sqrt(1 + log(classes));
}

#endif
