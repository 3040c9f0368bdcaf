/* One group of features as a circle of nodes in generating.c. */
#ifndef BANG_THEORY_CIRCLE_H
#define BANG_THEORY_CIRCLE_H

#include "bang/base/arena.h"
#include "theory/complex.h"
#include "theory/exact.h"

/* One group: its Poisson probabilities and the roots of unity of its nodes. */
typedef struct circle {
    int64_t n;
    size_t nodes;                /* M */
    complex_pair *root;          /* (nodes) exp(2 pi i j / M) */
    int64_t same_low, same_high; /* where Poisson(n q) lives, at most n */
    int64_t other_low, other_high;
    double *same, *other; /* their probabilities */
    double inverse_peak;  /* 1 / P(Poisson(n) = n) ~ sqrt(2 pi n) */
} circle;

/* What may be lost per tail of one Poisson distribution. */
double circle_tail_limit(const exact_case *c);

/* Sets n, nodes and the stretches; transformed: the nodes are reached by a
 * Fourier transform, so their number is a power of two. */
void circle_choose(circle *o, const exact_case *c, const bang_theory_group *group, int transformed,
                   double limit);

/* Chooses and fills in the tables; -1 when memory is out. */
int circle_setup(circle *o, const exact_case *c, const bang_theory_group *group, int transformed,
                 bang_arena *arena);

/* pmf[a - low] = p[a - low] exp(i a theta_j), low <= a <= high. */
void circle_phased(complex_pair *pmf, const circle *o, size_t j, const double *p, int64_t low,
                   int64_t high);

#endif
