/* The values that sum_g c_g a_g takes when a_g runs over low_g .. high_g: every
 * method that is exact for arbitrary weights works on these levels, merged
 * where they agree up to rounding. On a lattice they are few; with incommensurable
 * weights there is one for every choice of the a_g. */
#ifndef BANG_THEORY_LEVELS_H
#define BANG_THEORY_LEVELS_H

#include "bang/base/arena.h"
#include "bang/theory/theory.h"

/* Adding group g: level i of the groups before, and a = low + j, lead to level
 * next[i * range + j] of the groups so far. */
typedef struct level_step {
    int64_t low;
    size_t range;    /* high - low + 1 */
    size_t previous; /* number of levels before */
    size_t count;    /* number of levels after */
    uint32_t *next;  /* (previous, range) */
} level_step;

typedef struct level_set {
    size_t count;
    double *value; /* (count), ascending */
    size_t step_count;
    level_step *steps; /* (step_count), one per group */
} level_set;

/* The number of which all coefficients are whole multiples, up to rounding; 0
 * when there is none of a useful size. */
double levels_unit(const bang_theory_group *groups, size_t group_count);

/* Upper bound of the number of levels, as a double since it may be huge. */
double levels_bound(const bang_theory_group *groups, size_t group_count, const int64_t *low,
                    const int64_t *high);

/* The memory of out belongs to arena. */
int levels_build(level_set *out, const bang_theory_group *groups, size_t group_count,
                 const int64_t *low, const int64_t *high, double tolerance, bang_arena *arena,
                 bang_error *err);

/* Index of the first level above value - tolerance. */
size_t levels_find(const level_set *levels, double value, double tolerance);

#endif
