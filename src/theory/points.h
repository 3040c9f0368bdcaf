/* Where the logit of the true class is compared with the others: one point per
 * value of V + S_1 in the small-noise limit, a grid of u = V + S_1 + tau z with
 * noise. */
#ifndef BANG_THEORY_POINTS_H
#define BANG_THEORY_POINTS_H

#include "theory/exact.h"
#include "theory/levels.h"

/* P(true class at u) = sum_j right_weight[j] P(S_1 = right_first + j);
 * P(S_2 >= u) = sum_j wrong_weight[j] P(S_2 = wrong_first + j)
 *             + P(S_2 at wrong_first + wrong_count or above).
 * A tie is a point whose single wrong level equals u. */
typedef struct point {
    size_t right_first, right_count;
    const double *right_weight;
    size_t wrong_first, wrong_count;
    const double *wrong_weight;
    int tie;
    double real_weight, real_over, real_above; /* the values for real probabilities */
} point;

typedef struct point_set {
    size_t count;
    point *points;
} point_set;

/* Points whose loss, weight min(1, (K-1) P(S_2 >= u)), is below limit over
 * their number are left out. The memory of out belongs to arena. */
int points_build(point_set *out, const exact_case *c, const level_set *wrong,
                 const double *wrong_probability, const level_set *right,
                 const double *right_probability, double limit, bang_arena *arena, bang_error *err);

#endif
