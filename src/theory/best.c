/* The best weights under the Gaussian approximation. */
#include "theory/best.h"

#include <math.h>
#include <string.h>

enum { GRID = 2000 };

int score_at(bang_theory_score *out, const bang_theory_problem *problem, double alpha,
             bang_error *err)
{
    bang_theory_problem copy = *problem; /* shares the patterns */
    copy.weights[0] = 1 - alpha;
    copy.weights[1] = alpha;
    return bang_theory_score_wse(out, &copy, err);
}

/* What grows with the Gaussian accuracy: F_p itself, or its argument when
 * there is no noise, which does not saturate at 1. */
static int merit(double *out, const bang_theory_problem *problem, double alpha, bang_error *err)
{
    bang_theory_score score;
    int rc = score_at(&score, problem, alpha, err);
    if (rc < 0)
        return rc;
    if (problem->sigma > 0) {
        *out = bang_theory_gaussian(&score, problem->classes, problem->shift);
    } else {
        *out = bang_theory_gaussian_argument(&score, problem->shift);
        if (isnan(*out))
            *out = -INFINITY;
    }
    bang_theory_score_release(&score);
    return 0;
}

/* The derivative of x = P/sqrt(D) in alpha, up to a positive factor:
 * P' D - P D'/2, with P = sum_A (nv + (1-p) ns) c_A, D = sum_A ns c_A^2,
 * c_A = (sum_{m in A} b_m)^2, b = ((1-alpha) lambda_1, alpha lambda_2). */
static double argument_slope(const bang_theory_problem *problem, double alpha)
{
    double b[2] = {(1 - alpha) * problem->scales[0], alpha * problem->scales[1]};
    double slope[2] = {-problem->scales[0], problem->scales[1]};
    double p = 0, dp = 0, d = 0, dd = 0;
    for (size_t i = 0; i < problem->pattern_count; i++) {
        const bang_theory_pattern *pattern = &problem->patterns[i];
        double sum = 0, rate = 0;
        for (int m = 0; m < 2; m++)
            if (pattern->models >> m & 1) {
                sum += b[m];
                rate += slope[m];
            }
        double c = sum * sum, dc = 2 * sum * rate, ns = (double)pattern->spurious;
        double weight = (double)pattern->invariant + (1 - problem->shift) * ns;
        p += weight * c;
        dp += weight * dc;
        d += ns * c * c;
        dd += 2 * ns * c * dc;
    }
    return dp * d - 0.5 * p * dd;
}

/* Halves [low, high], on which slope goes from + to -, down to rounding. */
static double bisect_slope(const bang_theory_problem *problem, double low, double high)
{
    for (int i = 0; i < 100 && high - low > 0; i++) {
        double middle = 0.5 * (low + high);
        if (middle <= low || middle >= high)
            break;
        if (argument_slope(problem, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static int golden_section(double *out, const bang_theory_problem *problem, double low, double high,
                          bang_error *err)
{
    const double ratio = 0.61803398874989484820;
    double x[2] = {high - ratio * (high - low), low + ratio * (high - low)}, f[2];
    int rc = merit(&f[0], problem, x[0], err);
    if (rc == 0)
        rc = merit(&f[1], problem, x[1], err);
    while (rc == 0 && high - low > 1e-9) {
        int left = f[0] >= f[1];
        if (left)
            high = x[1];
        else
            low = x[0];
        x[left] = x[!left];
        f[left] = f[!left];
        x[!left] = left ? high - ratio * (high - low) : low + ratio * (high - low);
        rc = merit(&f[!left], problem, x[!left], err);
    }
    *out = 0.5 * (low + high);
    return rc;
}

/* A grid finds the right hill, then its top is taken to rounding (the square
 * root of it with noise). On level ground 1/2 stays. */
static int best_gaussian_alpha(double *out, const bang_theory_problem *problem, bang_error *err)
{
    double best, value;
    *out = 0.5;
    int rc = merit(&best, problem, 0.5, err);
    for (int i = 0; i <= GRID && rc == 0; i++) {
        rc = merit(&value, problem, (double)i / GRID, err);
        if (rc == 0 && value > best + 1e-13 * fabs(best)) {
            best = value;
            *out = (double)i / GRID;
        }
    }
    double low = fmax(*out - 1.0 / GRID, 0), high = fmin(*out + 1.0 / GRID, 1);
    if (rc < 0 || isinf(best))
        return rc;
    double top = *out;
    if (problem->sigma > 0)
        rc = golden_section(&top, problem, low, high, err);
    else if (argument_slope(problem, low) > 0 && argument_slope(problem, high) < 0)
        top = bisect_slope(problem, low, high);
    if (rc == 0)
        rc = merit(&value, problem, top, err);
    if (rc == 0 && value >= best)
        *out = top;
    return rc;
}

/* Eigenvectors of the symmetric matrix a (n, n) by Jacobi rotations: a becomes
 * diagonal, the columns of v are the vectors. */
static void diagonalise(double a[][BANG_THEORY_MAX_MODELS], double v[][BANG_THEORY_MAX_MODELS],
                        int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            v[i][j] = i == j;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, diagonal = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                *(i == j ? &diagonal : &off) += a[i][j] * a[i][j];
        if (off <= 1e-32 * diagonal)
            return;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                if (a[i][j] == 0)
                    continue;
                double theta = 0.5 * atan2(2 * a[i][j], a[j][j] - a[i][i]);
                double c = cos(theta), s = sin(theta);
                for (int k = 0; k < n; k++) {
                    double x = a[k][i], y = a[k][j];
                    a[k][i] = c * x - s * y;
                    a[k][j] = s * x + c * y;
                    x = v[k][i];
                    y = v[k][j];
                    v[k][i] = c * x - s * y;
                    v[k][j] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = a[i][k], y = a[j][k];
                    a[i][k] = c * x - s * y;
                    a[j][k] = s * x + c * y;
                }
            }
    }
}

static void normalise(double *weights, int models)
{
    double sum = 0, size = 0;
    for (int m = 0; m < models; m++) {
        sum += weights[m];
        size += fabs(weights[m]);
    }
    for (int m = 0; m < models; m++)
        weights[m] = sum > 1e-12 * size ? weights[m] / sum : weights[m] / size;
}

/* Output-space weights: a margin has mean b'g and variance g'Qg in g_m =
 * beta_m lambda_m^2, with b_m = nv_m + (1-p) ns_m and
 *     Q = p(K+2-pK)/K N^S + 2 sigma^2 N o N,
 * N^S the shared spurious features. Mean over deviation is largest at g = Q^-1 b;
 * without noise that is the largest F_p. Where Q is singular and b has a part
 * that meets no variance at all, that part alone is best. */
static void best_output_weights(double *weights, const bang_theory_problem *problem)
{
    int n = problem->models;
    double k = (double)problem->classes, p = problem->shift;
    double q[BANG_THEORY_MAX_MODELS][BANG_THEORY_MAX_MODELS] = {{0}};
    double v[BANG_THEORY_MAX_MODELS][BANG_THEORY_MAX_MODELS];
    double b[BANG_THEORY_MAX_MODELS] = {0}, sure[BANG_THEORY_MAX_MODELS] = {0};
    double largest = 0, size = 0, sure_size = 0;
    for (size_t i = 0; i < problem->pattern_count; i++) {
        const bang_theory_pattern *a = &problem->patterns[i];
        for (int m = 0; m < n; m++)
            for (int l = 0; a->models >> m & 1 && l < n; l++)
                if (a->models >> l & 1)
                    q[m][l] += p * (k + 2 - p * k) / k * (double)a->spurious;
        for (int m = 0; m < n; m++)
            if (a->models >> m & 1)
                b[m] += (double)a->invariant + (1 - p) * (double)a->spurious;
    }
    for (int m = 0; m < n; m++)
        for (int l = 0; l < n; l++) {
            double shared = problem->sigma * (double)bang_theory_shared(problem, m, l);
            q[m][l] += 2 * shared * shared;
        }
    diagonalise(q, v, n);
    for (int j = 0; j < n; j++)
        largest = fmax(largest, q[j][j]);
    memset(weights, 0, (size_t)n * sizeof *weights);
    for (int j = 0; j < n; j++) {
        double along = 0;
        for (int m = 0; m < n; m++)
            along += v[m][j] * b[m];
        int null = q[j][j] <= 1e-12 * largest;
        for (int m = 0; m < n; m++)
            *(null ? &sure[m] : &weights[m]) += v[m][j] * along / (null ? 1 : q[j][j]);
    }
    for (int m = 0; m < n; m++) {
        size += b[m] * b[m];
        sure_size += sure[m] * sure[m];
    }
    if (sure_size > 1e-18 * size)
        memcpy(weights, sure, (size_t)n * sizeof *weights);
    if (size == 0) /* no features at all */
        for (int m = 0; m < n; m++)
            weights[m] = 1;
    for (int m = 0; m < n; m++)
        weights[m] /= problem->scales[m] != 0 ? problem->scales[m] * problem->scales[m] : 1;
    normalise(weights, n);
}

static int gaussian_of(double *out, const bang_theory_problem *problem, bang_theory_score *score,
                       int rc)
{
    if (rc == 0) {
        *out = bang_theory_gaussian(score, problem->classes, problem->shift);
        bang_theory_score_release(score);
    }
    return rc;
}

int bang_theory_find_best(bang_theory_best *out, const bang_theory_problem *problem,
                          const bang_theory_options *options, bang_error *err)
{
    bang_theory_score score;
    *out = (bang_theory_best){.alpha_gaussian = NAN,
                              .wse_gaussian = NAN,
                              .alpha_exact = {NAN, NAN},
                              .wse_exact = NAN,
                              .ose_gaussian = NAN};
    int rc = bang_theory_check(problem, err);
    for (int m = 0; m < problem->models && rc == 0; m++)
        if (problem->heads[m] != 1)
            rc = bang_fail(err, BANG_EUSAGE, "head %g of model %d: the best weights are those of 1",
                           problem->heads[m], m + 1);
    if (rc == 0 && problem->models >= 2) {
        bang_theory_problem copy = *problem; /* shares the patterns */
        best_output_weights(copy.weights, problem);
        out->has_ose = 1;
        memcpy(out->ose_weights, copy.weights, sizeof copy.weights);
        rc = gaussian_of(&out->ose_gaussian, problem, &score,
                         bang_theory_score_ose(&score, &copy, err));
    }
    if (rc < 0 || problem->models != 2)
        return rc;
    rc = best_gaussian_alpha(&out->alpha_gaussian, problem, err);
    if (rc == 0)
        rc = gaussian_of(&out->wse_gaussian, problem, &score,
                         score_at(&score, problem, out->alpha_gaussian, err));
    if (rc == 0)
        rc = best_exact_alpha(out->alpha_exact, &out->wse_exact, problem, options, err);
    return rc;
}
