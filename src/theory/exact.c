/* G by the cheapest exact method that fits, else sampled; and the two
 * probabilities that need no method: in distribution, and of one failure. */
#include "theory/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory/normal.h"

/* An exact method that would take longer gives way to Monte Carlo. */
static const double PATIENCE = 30; /* seconds of one core */

/* Margins this small beside the sum of all coefficients are ties: what weights
 * such as .7 and .3 leave by rounding, or a root typed with all its digits. */
static const double TIE = 1e-14;

static const char *const names[] = {"auto",    "closed-form", "generating-function",
                                    "lattice", "series",      "monte-carlo"};

const char *bang_theory_method_name(bang_theory_method method)
{
    return (size_t)method < sizeof names / sizeof *names ? names[method] : NULL;
}

int bang_theory_method_parse(bang_theory_method *out, const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (i != BANG_THEORY_CLOSED && strcmp(names[i], name) == 0) {
            *out = (bang_theory_method)i;
            return 0;
        }
    return -1;
}

/* E_Z[Phi(margin/tau + Z)^(K-1)], the tie rule when tau = 0. */
static double sure_logits(double margin, double size, double noise, double classes)
{
    if (noise <= 0)
        return fabs(margin) <= TIE * size ? 1 / classes : margin > 0;
    double step = normal_step(classes), missing = 0;
    for (int i = -(int)(NORMAL_REACH / step); i <= (int)(NORMAL_REACH / step); i++) {
        double z = i * step;
        missing -= normal_density(z) * expm1((classes - 1) * normal_log_cdf(margin / noise + z));
    }
    return 1 - fmin(step * missing, 1);
}

static double coefficient_sum(const bang_theory_score *score, int absolute)
{
    double sum = absolute ? fabs(score->invariant) : score->invariant;
    for (size_t g = 0; g < score->group_count; g++) {
        double c = score->groups[g].coefficient;
        sum += (absolute ? fabs(c) : c) * (double)score->groups[g].count;
    }
    return sum;
}

double bang_theory_id_accuracy(const bang_theory_score *score, int64_t classes)
{
    return sure_logits(coefficient_sum(score, 0), coefficient_sum(score, 1), score->noise,
                       (double)classes);
}

typedef struct exact_method {
    bang_theory_method method;
    double (*cost)(const exact_case *c);
    int (*accuracy)(double *out, const exact_case *c, bang_error *err);
} exact_method;

static const exact_method methods[] = {
    {BANG_THEORY_GENERATING, generating_cost, generating_accuracy},
    {BANG_THEORY_LATTICE, lattice_cost, lattice_accuracy},
    {BANG_THEORY_SERIES, series_cost, series_accuracy},
};

/* The exact method to use, or NULL for Monte Carlo. */
static int choose_method(const exact_method **out, const exact_case *c, bang_error *err)
{
    bang_theory_method wanted = c->options->method;
    double best = PATIENCE;
    *out = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        double cost = wanted == BANG_THEORY_MONTE_CARLO ? INFINITY : methods[i].cost(c);
        if (methods[i].method == wanted) {
            *out = &methods[i];
            if (isinf(cost))
                return bang_fail(err, BANG_EUSAGE,
                                 "method %s: cannot do this case (classes, groups or sizes): use "
                                 "auto",
                                 bang_theory_method_name(wanted));
        } else if (wanted == BANG_THEORY_AUTO && cost < best) {
            best = cost;
            *out = &methods[i];
        }
    }
    if (wanted != BANG_THEORY_AUTO)
        return 0;
    /* With many classes the crude cost hopes that most nodes are dropped. */
    int hoped = *out == &methods[0] && c->classes > 100 && best > 0.02;
    if (hoped && !(generating_refined_cost(c) < PATIENCE))
        *out = series_cost(c) < PATIENCE ? &methods[2] : NULL;
    else if (!*out && generating_refined_cost(c) < PATIENCE)
        *out = &methods[0];
    return 0;
}

static int run_method(bang_theory_value *out, const exact_case *c, bang_error *err)
{
    const exact_method *method;
    int rc = choose_method(&method, c, err);
    if (rc < 0)
        return rc;
    *out = (bang_theory_value){.method = method ? method->method : BANG_THEORY_MONTE_CARLO};
    rc = method ? method->accuracy(&out->accuracy, c, err)
                : monte_carlo_accuracy(&out->accuracy, &out->standard_error, c, err);
    out->accuracy = fmin(fmax(out->accuracy, 0), 1); /* rounding may leave 0..1 by 1e-16 */
    return rc;
}

/* Scales score to max |c| = 1; the caller frees c->groups. */
static int make_case(exact_case *c, const bang_theory_score *score, int64_t classes, double shift,
                     const bang_theory_options *options, bang_error *err)
{
    static const bang_theory_options defaults = BANG_THEORY_OPTIONS_INIT;
    bang_theory_group *groups = calloc(score->group_count, sizeof *groups);
    if (!groups)
        return bang_fail_memory(err);
    double largest = 0, smallest = INFINITY;
    for (size_t g = 0; g < score->group_count; g++) {
        largest = fmax(largest, fabs(score->groups[g].coefficient));
        smallest = fmin(smallest, fabs(score->groups[g].coefficient));
    }
    double size = coefficient_sum(score, 1);
    /* noise drowns what so small a feature could decide */
    if (smallest < 8 * TIE * size && score->noise < 1e-3 * size) {
        free(groups);
        return bang_fail(err, BANG_EUSAGE,
                         "weights or scales: a feature counts %.2g times as much as another: too "
                         "unequal to compare exactly, bring them closer",
                         largest / smallest);
    }
    for (size_t g = 0; g < score->group_count; g++)
        groups[g] =
            (bang_theory_group){score->groups[g].coefficient / largest, score->groups[g].count};
    *c = (exact_case){.groups = groups,
                      .group_count = score->group_count,
                      .invariant = score->invariant / largest,
                      .noise = score->noise / largest,
                      .classes = classes,
                      .same = 1 - shift + shift / (double)classes,
                      .other = shift / (double)classes,
                      .tolerance = TIE * size / largest,
                      .options = options ? options : &defaults};
    return 0;
}

static int is_sure(const bang_theory_score *score, double shift)
{
    return shift <= 0 || score->group_count == 0;
}

int bang_theory_exact(bang_theory_value *out, const bang_theory_score *score, int64_t classes,
                      double shift, const bang_theory_options *options, bang_error *err)
{
    if (is_sure(score, shift)) {
        *out = (bang_theory_value){bang_theory_id_accuracy(score, classes), 0, BANG_THEORY_CLOSED};
        return 0;
    }
    exact_case c;
    int rc = make_case(&c, score, classes, shift, options, err);
    if (rc < 0)
        return rc;
    rc = run_method(out, &c, err);
    free(c.groups);
    return rc;
}

int exact_cost(double *out, const bang_theory_score *score, int64_t classes, double shift,
               bang_error *err)
{
    *out = 0;
    if (is_sure(score, shift))
        return 0;
    exact_case c;
    int rc = make_case(&c, score, classes, shift, NULL, err);
    if (rc < 0)
        return rc;
    *out = INFINITY;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        *out = fmin(*out, methods[i].cost(&c));
    free(c.groups);
    return 0;
}
