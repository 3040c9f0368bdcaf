#include "measure/special.h"

#include <float.h>
#include <math.h>

#include "bang/measure/statistics.h"

/* What Stirling's formula lacks: log z! - log(sqrt(2 pi z) (z/e)^z), z > 0. */
static double stirling_rest(double z)
{
    if (z < 15) {
        const double half_log_2pi = 0.91893853320467274178;
        return log(tgamma(z + 1)) - ((z + 0.5) * log(z) - z + half_log_2pi);
    }
    double r = 1 / z, s = r * r;
    return r * (1.0 / 12 +
                s * (-1.0 / 360 +
                     s * (1.0 / 1260 + s * (-1.0 / 1680 + s * (1.0 / 1188 - s * 691 / 360360)))));
}

/* k log(k/m) + m - k, which is 0 at k = m, without cancellation near it: with
 * v = (k - m)/(k + m), log(k/m) = 2 (v + v^3/3 + v^5/5 + ..). difference is k - m. */
static double deviance(double k, double m, double difference)
{
    double v = difference / (k + m);
    if (fabs(v) > 0.1)
        return k * log(k / m) - difference;
    double sum = difference * v, power = 2 * k * v, square = v * v;
    for (int odd = 3; odd < 100; odd += 2) {
        power *= square;
        double more = sum + power / odd;
        if (more == sum)
            break;
        sum = more;
    }
    return sum;
}

/* Loader, "Fast and accurate computation of binomial probabilities", 2000: the logarithms of
 * the factorials would be large and cancel; what is left of them here is small. */
double bang_binomial_density(double k, double rest, double x, double y)
{
    /* Of x and y the smaller one is the more exact. */
    double n = k + rest, more = x < y ? k - n * x : n * y - rest;
    double exponent = stirling_rest(n) - stirling_rest(k) - stirling_rest(rest) -
                      deviance(k, n * x, more) - deviance(rest, n * y, -more);
    const double pi = 3.14159265358979323846;
    return exp(exponent) * sqrt(n / (2 * pi * k) / rest);
}

/* x^a y^b / (a B(a, b)): the density above times b/(a + b). */
static double front(double x, double y, double a, double b)
{
    return bang_binomial_density(a, b, x, y) * (b / (a + b));
}

/* a/(b_0 + a_1/(b_1 + a_2/(b_2 + ..))): the even part of the continued fraction DLMF 8.17.22,
 * written with y so that nothing cancels where x is near 1, from the front (Lentz's method as
 * Thompson and Barnett have it). Takes about sqrt(max(a, b)) steps where x is near a/(a + b),
 * few elsewhere. */
static double fraction(double x, double y, double a, double b)
{
    double above = a * y - b * x + 1; /* > 0 where it is used: x < (a + 1)/(a + b) */
    double value = a / (a + 1) * above, c = value, d = 0;
    for (double m = 1; m < 1e8; m++) {
        double odd = a + 2 * m - 1;
        double numerator = (a + m - 1) / odd * ((a + b + m - 1) / odd * x) * ((b - m) * x) * m;
        double term = m + m * (b - m) / odd * x + (a + m) / (odd + 2) * (above + m * (1 + y));
        d = 1 / (term + numerator * d);
        c = term + numerator / c;
        double factor = c * d;
        value *= factor;
        if (fabs(factor - 1) <= DBL_EPSILON)
            break;
    }
    return a / value;
}

/* I_x(a, b) with y = 1 - x, which may say more than x where that is near 1. */
static double beta_of(double x, double y, double a, double b)
{
    if (!(x > 0))
        return x == 0 ? 0 : NAN;
    if (!(y > 0))
        return y == 0 ? 1 : NAN;
    /* The fraction converges quickly for x <= (a + 1)/(a + b + 2), y >= (b + 1)/(a + b + 2). */
    int left = x < y ? x * (a + b + 2) <= a + 1 : y * (a + b + 2) >= b + 1;
    if (left)
        return front(x, y, a, b) * fraction(x, y, a, b);
    return 1 - front(y, x, b, a) * fraction(y, x, b, a);
}

double bang_beta(double x, double a, double b)
{
    if (!(a > 0 && b > 0 && isfinite(a) && isfinite(b)))
        return NAN;
    return beta_of(x, 1 - x, a, b);
}

/* With x = df/(df + t^2): P(T > t) = I_x(df/2, 1/2)/2 and P(|T| < t) = I_{1-x}(1/2, df/2), t >= 0.
 */
static double tail_of(double t, double df)
{
    if (isinf(df))
        return erfc(t * sqrt(0.5)) / 2;
    double square = t * t;
    return beta_of(df / (df + square), square / (df + square), df / 2, 0.5) / 2;
}

static double middle_of(double t, double df)
{
    if (isinf(df))
        return erf(t * sqrt(0.5));
    double square = t * t;
    return beta_of(square / (df + square), df / (df + square), 0.5, df / 2);
}

/* t times the density at t > 0. */
static double slope_of(double t, double df)
{
    double square = t * t;
    if (isinf(df))
        return t * exp(-square / 2) * 0.39894228040143267794;
    return front(square / (df + square), df / (df + square), 0.5, df / 2) / 2;
}

double bang_student(double t, double df)
{
    if (isnan(t) || !(df > 0))
        return NAN;
    if (isinf(t))
        return t > 0;
    double tail = tail_of(fabs(t), df);
    return t > 0 ? 1 - tail : tail;
}

/* The t > 0 where the tail has probability p <= 1/2. Newton's method on the logarithms of
 * both, in which tails are nearly straight, within brackets; from p = 1/4 on with what
 * lies between -t and t, which is the more exact there. */
static double quantile_above(double p, double df)
{
    int middle = p >= 0.25;
    double target = log(middle ? 1 - 2 * p : p), low = -700, high = 700, u = 0;
    for (int step = 0; step < 200; step++) {
        double t = exp(u), value = middle ? middle_of(t, df) : tail_of(t, df);
        double above = log(value) - target, slope = slope_of(t, df) / value;
        int right = middle ? above > 0 : above < 0; /* too far to the right */
        *(right ? &high : &low) = u;
        double next = u - above / (middle ? 2 * slope : -slope);
        if (!(next > low && next < high))
            next = (low + high) / 2;
        double change = fabs(next - u);
        u = next;
        if (change < 1e-16 * fmax(1, fabs(u)) || high - low < 1e-15)
            break;
    }
    return exp(u);
}

double bang_student_quantile(double p, double df)
{
    if (!(p > 0 && p < 1 && df > 0))
        return NAN;
    if (p == 0.5)
        return 0;
    return p < 0.5 ? -quantile_above(p, df) : quantile_above(1 - p, df);
}
