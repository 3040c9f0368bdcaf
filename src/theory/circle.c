#include "theory/circle.h"

#include <math.h>

#include "theory/poisson.h"

/* log of P(Poisson(n) = n + shift) / P(Poisson(n) = n) */
static double log_ratio(double n, double shift)
{
    return shift * log(n) + lgamma(n + 1) - lgamma(n + shift + 1);
}

/* Nodes so that n + M and n - M hold less than 1e-18 of the mass at n. */
static size_t choose_nodes(int64_t n)
{
    double x = (double)n, limit = log(1e-18), low = 1, high = 64 + 12 * sqrt(x);
    while (high - low > 0.5) {
        double middle = 0.5 * (low + high);
        int fine = log_ratio(x, middle) < limit && (middle > x || log_ratio(x, -middle) < limit);
        if (fine)
            high = middle;
        else
            low = middle;
    }
    return (size_t)ceil(high);
}

/* transformed: its nodes are reached by a Fourier transform. */
void circle_choose(circle *o, const exact_case *c, const bang_theory_group *group, int transformed,
                   double limit)
{
    double n = (double)group->count;
    o->n = group->count;
    o->nodes = choose_nodes(o->n);
    if (transformed) {
        size_t nodes = 1;
        while (nodes < o->nodes)
            nodes *= 2;
        o->nodes = nodes;
    }
    poisson_stretch(&o->same_low, &o->same_high, n * c->same, o->n, limit);
    poisson_stretch(&o->other_low, &o->other_high, n * c->other, o->n, limit);
}

/* What may be lost per tail: amplified by at most K-1 and prod sqrt(2 pi n). */
double circle_tail_limit(const exact_case *c)
{
    double limit = 1e-20 / (double)c->classes;
    for (size_t g = 0; g < c->group_count; g++)
        limit /= sqrt(2 * acos(-1.0) * (double)c->groups[g].count);
    return limit;
}

int circle_setup(circle *o, const exact_case *c, const bang_theory_group *group, int transformed,
                 bang_arena *arena)
{
    circle_choose(o, c, group, transformed, circle_tail_limit(c));
    double n = (double)o->n, peak;
    o->root = bang_arena_alloc(arena, o->nodes, sizeof *o->root);
    o->same = bang_arena_alloc(arena, (size_t)(o->same_high - o->same_low + 1), sizeof *o->same);
    o->other =
        bang_arena_alloc(arena, (size_t)(o->other_high - o->other_low + 1), sizeof *o->other);
    if (!o->root || !o->same || !o->other)
        return -1;
    for (size_t j = 0; j < o->nodes; j++) {
        double angle = 2 * acos(-1.0) * (double)j / (double)o->nodes;
        o->root[j] = (complex_pair){cos(angle), sin(angle)};
    }
    poisson_table(o->same, n * c->same, o->same_low, o->same_high);
    poisson_table(o->other, n * c->other, o->other_low, o->other_high);
    poisson_table(&peak, n, o->n, o->n);
    o->inverse_peak = 1 / peak;
    return 0;
}

/* pmf[a - low] = p_a exp(i a theta_j); the phase index a j mod M is exact. */
void circle_phased(complex_pair *pmf, const circle *o, size_t j, const double *p, int64_t low,
                   int64_t high)
{
    size_t at = (size_t)low % o->nodes * j % o->nodes;
    for (int64_t a = low; a <= high; a++) {
        double value = p[a - low];
        pmf[a - low] = (complex_pair){value * o->root[at].re, value * o->root[at].im};
        at += j;
        if (at >= o->nodes)
            at -= o->nodes;
    }
}
