/* What models learned, said as index sets. A set is kept as disjoint ascending
 * intervals, so that "s0-9999999" costs as little as "s0". */
#ifndef BANG_THEORY_SETS_H
#define BANG_THEORY_SETS_H

#include "bang/theory/theory.h"

enum { FEATURE_INVARIANT, FEATURE_SPURIOUS, FEATURE_KINDS };

typedef struct interval {
    int64_t begin, end; /* begin .. end-1 */
} interval;

typedef struct index_set {
    size_t count;
    interval *intervals; /* (count), ascending, disjoint */
} index_set;

struct bang_theory_sets {
    index_set of[BANG_THEORY_MAX_MODELS][FEATURE_KINDS];
};

/* Reads "v0,2-3,s4" into sets[0] (v) and sets[1] (s); the caller releases both
 * with index_set_release, also after a failure. */
int index_sets_parse(index_set sets[FEATURE_KINDS], const char *text, bang_error *err);
void index_set_release(index_set *set);

/* Counts features by the set of models that learned them. *patterns is
 * allocated for the caller. */
int index_sets_patterns(bang_theory_pattern **patterns, size_t *count,
                        const struct bang_theory_sets *sets, int models, bang_error *err);

#endif
