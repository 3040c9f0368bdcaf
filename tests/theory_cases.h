/* Problems and naive references shared by the tests of theory. */
#ifndef BANG_TESTS_THEORY_CASES_H
#define BANG_TESTS_THEORY_CASES_H

#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/theory/theory.h"

/* A score on the stack: up to four groups. */
typedef struct small_score {
    bang_theory_score score;
    bang_theory_group groups[4];
} small_score;

static inline const bang_theory_score *make_score(small_score *s, double invariant, double noise,
                                                  size_t groups, const double *coefficients,
                                                  const int64_t *counts)
{
    s->score = (bang_theory_score){invariant, noise, groups, s->groups};
    for (size_t g = 0; g < groups; g++)
        s->groups[g] = (bang_theory_group){coefficients[g], counts[g]};
    return &s->score;
}

/* Phi by its series near 0 and its continued fraction in the tails, to be
 * independent of the code under test. */
static inline double naive_phi(double x)
{
    long double a = fabsl((long double)x), density = expl(-a * a / 2) / sqrtl(2 * acosl(-1.0L));
    if (a > 2.5L) {
        long double fraction = a;
        for (int k = 200; k >= 1; k--)
            fraction = a + k / fraction;
        return (double)(x < 0 ? density / fraction : 1 - density / fraction);
    }
    long double term = x, sum = x;
    for (int k = 1; k < 100; k++) {
        term *= (long double)x * x / (2 * k + 1);
        sum += term;
    }
    return (double)(0.5L + density * sum);
}

/* P(all noisy margins positive) by Simpson's rule; ties when noise is 0. */
static inline double naive_credit(const double *logits, int classes, double noise)
{
    if (noise <= 0) {
        int ties = 0;
        for (int k = 1; k < classes; k++) {
            if (logits[k] > logits[0] + 1e-9)
                return 0;
            ties += logits[k] > logits[0] - 1e-9;
        }
        return 1.0 / (1 + ties);
    }
    double sum = 0, h = 1.0 / 64;
    for (int i = -512; i <= 512; i++) {
        double z = i * h, product = exp(-0.5 * z * z) / sqrt(2 * acos(-1));
        for (int k = 1; k < classes; k++)
            product *= naive_phi((logits[0] - logits[k]) / noise + z);
        sum += product * (i == -512 || i == 512 ? 1 : i % 2 ? 4 : 2);
    }
    return sum * h / 3;
}

/* Walks all K^n outcomes of the features, one by one. */
static inline double enumerate(const bang_theory_score *score, int classes, double shift,
                               double *logits, size_t group, int64_t used, double probability)
{
    if (group == score->group_count)
        return probability * naive_credit(logits, classes, score->noise);
    if (used == score->groups[group].count)
        return enumerate(score, classes, shift, logits, group + 1, 0, probability);
    double sum = 0;
    for (int k = 0; k < classes; k++) {
        double chance = shift / classes + (k == 0 ? 1 - shift : 0);
        logits[k] += score->groups[group].coefficient;
        sum += enumerate(score, classes, shift, logits, group, used + 1, probability * chance);
        logits[k] -= score->groups[group].coefficient;
    }
    return sum;
}

static inline double naive_accuracy(const bang_theory_score *score, int classes, double shift)
{
    double logits[16] = {score->invariant};
    return enumerate(score, classes, shift, logits, 0, 0, 1);
}

static inline double accuracy_by(const bang_theory_score *score, int64_t classes, double shift,
                                 bang_theory_method method)
{
    bang_theory_options options = BANG_THEORY_OPTIONS_INIT;
    bang_theory_value value;
    bang_error err = {0};
    options.method = method;
    if (bang_theory_exact(&value, score, classes, shift, &options, &err) < 0)
        fail_msg("%s", err.message);
    if (method != BANG_THEORY_AUTO && value.method != BANG_THEORY_CLOSED)
        assert_int_equal(value.method, method);
    return value.accuracy;
}

#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a = (a), near_b = (b);                                                         \
        if (!(fabs(near_a - near_b) <= (tolerance)))                                               \
            fail_msg("%s = %.17g, %s = %.17g, difference %.3g", #a, near_a, #b, near_b,            \
                     near_a - near_b);                                                             \
    } while (0)

static inline void add_models(bang_theory_problem *problem, const char *const *models)
{
    bang_error err = {0};
    for (; *models; models++)
        if (bang_theory_add_model(problem, *models, &err) < 0)
            fail_msg("%s", err.message);
}

#define MODELS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
