/* The weight alpha of the second of two models as a variable. */
#ifndef BANG_THEORY_BEST_H
#define BANG_THEORY_BEST_H

#include "bang/theory/theory.h"

/* The score of the weight-space ensemble with weights 1-alpha, alpha. */
int score_at(bang_theory_score *out, const bang_theory_problem *problem, double alpha,
             bang_error *err);

/* Where the exact accuracy of the weight-space ensemble is largest: interval
 * and value are NaN when that cannot be found in reasonable time. */
int best_exact_alpha(double interval[2], double *value, const bang_theory_problem *problem,
                     const bang_theory_options *options, bang_error *err);

#endif
