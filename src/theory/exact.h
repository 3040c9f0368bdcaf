/* The exact methods behind bang_theory_exact. Each comes as a pair: what it
 * would cost, in seconds of one core and only roughly, and the accuracy. A cost
 * of infinity says that the method cannot do the case; it must not be asked. */
#ifndef BANG_THEORY_EXACT_H
#define BANG_THEORY_EXACT_H

#include "bang/theory/theory.h"

/* A score with at least one group and 0 < p, scaled to max |c| = 1. */
typedef struct exact_case {
    bang_theory_group *groups; /* (group_count) */
    size_t group_count;
    double invariant, noise;
    int64_t classes;
    double same;      /* q = 1-p+p/K: a spurious feature shows its class */
    double other;     /* p/K: it shows one given other class */
    double tolerance; /* margins this close to 0 are ties */
    const bang_theory_options *options;
} exact_case;

double generating_cost(const exact_case *c);
double generating_refined_cost(const exact_case *c); /* closer, and itself some work */
int generating_accuracy(double *out, const exact_case *c, bang_error *err);

double lattice_cost(const exact_case *c);
int lattice_accuracy(double *out, const exact_case *c, bang_error *err);

double series_cost(const exact_case *c);
int series_accuracy(double *out, const exact_case *c, bang_error *err);

/* What the cheapest exact method for a score would cost; infinite when only
 * Monte Carlo is left. */
int exact_cost(double *out, const bang_theory_score *score, int64_t classes, double shift,
               bang_error *err);

int monte_carlo_accuracy(double *out, double *standard_error, const exact_case *c, bang_error *err);

#endif
