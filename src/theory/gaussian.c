/* The central-limit approximation of the paper (propositions 2 and 3), for any
 * K, with and without noise. */
#include <math.h>

#include "bang/theory/theory.h"
#include "theory/normal.h"

/* P(m + a Z > b Z_k for k = 2..K) with standard normal Z, Z_k:
 * E_Z[Phi((m + a Z)/b)^(K-1)], b > 0.
 *
 * Trapezoid over Z. The factor Phi^(K-1) is 1 or 0 to all digits outside a
 * stretch of Z, so only the complement inside that stretch costs an erfc. */
static double all_margins_positive(double m, double a, double b, double classes)
{
    double slope = a / b, power = classes - 1;
    double step = fmin(0.1, 0.2 / (sqrt(1 + slope * slope) * sqrt(2 * log(classes + 2))));
    /* Above t = high every Phi^(K-1) is 1; below low it is under 1e-18. */
    double high = NORMAL_REACH + 1, low = -NORMAL_REACH - 1;
    if (power > 60) /* already Phi(0)^60 vanishes */
        low = 0;
    int64_t last = (int64_t)ceil(NORMAL_REACH / step);
    double missing = 0;
    for (int64_t i = -last; i <= last; i++) {
        double z = (double)i * step, t = (m + a * z) / b;
        if (t >= high) {
            if (slope > 0)
                break; /* t only grows with z */
            continue;
        }
        double density = normal_density(z);
        missing += t < low ? density : -density * expm1(power * normal_log_cdf(t));
    }
    return 1 - fmin(step * missing, 1);
}

/* With margins of one sign only, chance plays no part. */
static double sure_accuracy(double margin, double classes)
{
    return margin > 0 ? 1 : margin < 0 ? 0 : 1 / classes;
}

double bang_theory_fp(double x, int64_t classes, double shift)
{
    double k = (double)classes;
    if (shift <= 0)
        return sure_accuracy(x, k);
    if (isinf(x))
        return x > 0;
    double own = shift / k, common = shift * (1 - shift) + own;
    return all_margins_positive(x, sqrt(common), sqrt(own), k);
}

typedef struct moments {
    double mean, square; /* V + (1-p) sum c n, sum c^2 n */
    double size;         /* |V| + sum |c| n: what rounding is measured against */
} moments;

static moments score_moments(const bang_theory_score *score, double shift)
{
    moments out = {score->invariant, 0, fabs(score->invariant)};
    for (size_t g = 0; g < score->group_count; g++) {
        double c = score->groups[g].coefficient, n = (double)score->groups[g].count;
        out.mean += (1 - shift) * c * n;
        out.square += c * c * n;
        out.size += fabs(c) * n;
    }
    if (fabs(out.mean) <= 1e-14 * out.size)
        out.mean = 0;
    return out;
}

double bang_theory_gaussian(const bang_theory_score *score, int64_t classes, double shift)
{
    moments s = score_moments(score, shift);
    double k = (double)classes, noise = score->noise * score->noise;
    double own = s.square * shift / k + noise;
    double common = s.square * (shift * (1 - shift) + shift / k) + noise;
    if (own <= 0)
        return sure_accuracy(s.mean, k);
    return all_margins_positive(s.mean, sqrt(common), sqrt(own), k);
}

double bang_theory_gaussian_argument(const bang_theory_score *score, double shift)
{
    moments s = score_moments(score, shift);
    return s.mean / sqrt(s.square);
}
