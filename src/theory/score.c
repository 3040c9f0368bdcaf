/* From what models learned to the one form that all methods work on. */
#include <math.h>
#include <stdlib.h>

#include "bang/theory/theory.h"

void bang_theory_score_release(bang_theory_score *score)
{
    free(score->groups);
    *score = (bang_theory_score){0};
}

/* A pattern with its coefficient. */
typedef struct weighted {
    double coefficient;
    const bang_theory_pattern *pattern;
} weighted;

static int compare_weighted(const void *a, const void *b)
{
    const weighted *x = a, *y = b;
    return (x->coefficient > y->coefficient) - (x->coefficient < y->coefficient);
}

/* Takes one coefficient per pattern and merges patterns that act alike: what
 * differs by less than the margin of a tie (see exact.c) cannot be told apart,
 * in the spurious part as in the invariant one. */
static int build(bang_theory_score *out, const bang_theory_problem *problem,
                 const double *coefficients, double noise, bang_error *err)
{
    size_t count = problem->pattern_count;
    *out = (bang_theory_score){.noise = noise};
    out->groups = calloc(count + 1, sizeof *out->groups);
    weighted *all = calloc(count + 1, sizeof *all);
    if (!out->groups || !all) {
        free(all);
        bang_theory_score_release(out);
        return bang_fail_memory(err);
    }
    double size = 0, last = NAN;
    for (size_t i = 0; i < count; i++) {
        const bang_theory_pattern *pattern = &problem->patterns[i];
        all[i] = (weighted){coefficients[i], pattern};
        size += fabs(coefficients[i]) * (double)(pattern->invariant + pattern->spurious);
    }
    qsort(all, count, sizeof *all, compare_weighted);
    for (size_t i = 0; i < count; i++) {
        double c = all[i].coefficient;
        if (c - last <= fmin(4e-14 * size, 1e-3 * fabs(c)))
            c = last;
        last = c;
        out->invariant += c * (double)all[i].pattern->invariant;
        if (all[i].pattern->spurious == 0 || c == 0)
            continue;
        if (out->group_count == 0 || out->groups[out->group_count - 1].coefficient != c)
            out->groups[out->group_count++].coefficient = c;
        out->groups[out->group_count - 1].count += all[i].pattern->spurious;
    }
    free(all);
    return 0;
}

/* sum_mm' factor_m factor_m' N_mm'^power, N_mm' the features that both share. */
static double shared_form(const bang_theory_problem *problem, const double *factor, int power)
{
    double sum = 0;
    for (int a = 0; a < problem->models; a++)
        for (int b = 0; b < problem->models; b++) {
            double shared = (double)bang_theory_shared(problem, a, b);
            sum += factor[a] * factor[b] * (power == 2 ? shared * shared : shared);
        }
    return fmax(sum, 0);
}

/* factor_m summed over the models of a pattern; what is left of .1 + .2 - .3 is 0. */
static double pattern_sum(const bang_theory_pattern *pattern, const double *factor, int models)
{
    double sum = 0, size = 0;
    for (int m = 0; m < models; m++)
        if (pattern->models >> m & 1) {
            sum += factor[m];
            size += fabs(factor[m]);
        }
    return fabs(sum) <= 1e-15 * size ? 0 : sum;
}

/* Only ratios count. Factors near the ends of the double range are brought to
 * its middle, by a power of two so that nothing is rounded. */
static void centre_factors(double *factor, int models)
{
    double largest = 0;
    int exponent = 0;
    for (int m = 0; m < models; m++)
        largest = fmax(largest, fabs(factor[m]));
    if (largest > 0)
        frexp(largest, &exponent);
    if (abs(exponent) > 100)
        for (int m = 0; m < models; m++)
            factor[m] = ldexp(factor[m], -exponent);
}

/* Outputs combined as sum_m factor_m w_m'x Phi_m: c_A = sum_{m in A} factor_m,
 * tau^2 = sigma^2 sum_mm' factor_m factor_m' N_mm'^2, since heads and summed
 * noises of two models overlap in their N_mm' shared features. */
static int build_outputs(bang_theory_score *out, const bang_theory_problem *problem,
                         const double *factor, bang_error *err)
{
    double noise = problem->sigma * sqrt(shared_form(problem, factor, 2));
    double *coefficients = calloc(problem->pattern_count + 1, sizeof *coefficients);
    if (!coefficients)
        return bang_fail_memory(err);
    for (size_t i = 0; i < problem->pattern_count; i++)
        coefficients[i] = pattern_sum(&problem->patterns[i], factor, problem->models);
    int rc = build(out, problem, coefficients, noise, err);
    free(coefficients);
    return rc;
}

int bang_theory_score_single(bang_theory_score *out, const bang_theory_problem *problem, int m,
                             bang_error *err)
{
    double factor[BANG_THEORY_MAX_MODELS] = {0};
    factor[m] = problem->scales[m] != 0; /* alone, a model predicts the same at any scale */
    return build_outputs(out, problem, factor, err);
}

int bang_theory_score_ose(bang_theory_score *out, const bang_theory_problem *problem,
                          bang_error *err)
{
    double factor[BANG_THEORY_MAX_MODELS];
    for (int m = 0; m < problem->models; m++)
        factor[m] =
            problem->weights[m] * problem->heads[m] * problem->scales[m] * problem->scales[m];
    centre_factors(factor, problem->models);
    return build_outputs(out, problem, factor, err);
}

/* c_A = (sum_{m in A} a_m) (sum_{m in A} b_m) with b_m = beta_m lambda_m of the featurizers and
 * a_m = s_m b_m of the heads, tau^2 = sigma^2 (a'Na) (b'Nb). */
int bang_theory_score_wse(bang_theory_score *out, const bang_theory_problem *problem,
                          bang_error *err)
{
    double head[BANG_THEORY_MAX_MODELS], phi[BANG_THEORY_MAX_MODELS];
    for (int m = 0; m < problem->models; m++) {
        phi[m] = problem->weights[m] * problem->scales[m];
        head[m] = problem->heads[m] * phi[m];
    }
    centre_factors(phi, problem->models);
    centre_factors(head, problem->models);
    double noise =
        problem->sigma * sqrt(shared_form(problem, head, 1) * shared_form(problem, phi, 1));
    double *coefficients = calloc(problem->pattern_count + 1, sizeof *coefficients);
    if (!coefficients)
        return bang_fail_memory(err);
    for (size_t i = 0; i < problem->pattern_count; i++) {
        const bang_theory_pattern *pattern = &problem->patterns[i];
        coefficients[i] = pattern_sum(pattern, head, problem->models) *
                          pattern_sum(pattern, phi, problem->models);
    }
    int rc = build(out, problem, coefficients, noise, err);
    free(coefficients);
    return rc;
}
