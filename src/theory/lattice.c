/* Exact accuracy for two and three classes with arbitrary weights, by dynamic
 * programming over the features.
 *
 * A spurious feature of coefficient c adds c to the logit sum of exactly one
 * class, so s_1 + s_2 + s_3 = W, the sum of all coefficients, and the pair
 * (s_1, s_2) tells everything. The table holds the probability of each pair
 * of levels; one feature takes it to
 *
 *     P'(s_1, s_2) = q P(s_1 - c, s_2) + p/K [P(s_1, s_2 - c) + P(s_1, s_2)].
 *
 * For K = 2 the last class is the second one and s_1 alone suffices.
 */
#include <math.h>

#include "theory/exact.h"
#include "theory/levels.h"
#include "theory/normal.h"
#include "theory/walk.h"

enum { MAX_GROUPS = 64 };
static const double MAX_LEVELS = 12000; /* the table then takes 1.2 GB */

typedef struct lattice {
    const exact_case *c;
    level_set levels;
    size_t columns; /* levels of s_2: 1 for two classes */
    double *table;  /* (levels, columns) */
    double total;   /* W */
} lattice;

static const size_t none = (size_t)-1;

static void full_ranges(const exact_case *c, int64_t *low, int64_t *high)
{
    for (size_t g = 0; g < c->group_count; g++) {
        low[g] = 0;
        high[g] = c->groups[g].count;
    }
}

/* from[i]: the level that is c below level i, or none. */
static void find_predecessors(size_t *from, const level_set *levels, double c, double tolerance)
{
    for (size_t i = 0; i < levels->count; i++) {
        double value = levels->value[i] - c;
        size_t at = levels_find(levels, value, tolerance);
        from[i] = at < levels->count && levels->value[at] <= value + tolerance ? at : none;
    }
}

/* One feature. Going away from the predecessors the table can be updated in
 * place: downwards for c > 0, upwards for c < 0. */
static void add_feature(lattice *s, const size_t *from, int downwards)
{
    size_t rows = s->levels.count, columns = s->columns;
    double same = s->c->same, other = s->c->other;
    for (size_t k = 0; k < rows; k++) {
        size_t i = downwards ? rows - 1 - k : k;
        double *row = s->table + i * columns;
        const double *kept = from[i] == none ? NULL : s->table + from[i] * columns;
        for (size_t l = 0; l < columns; l++) {
            size_t j = downwards ? columns - 1 - l : l;
            double value = other * row[j];
            if (columns > 1 && from[j] != none)
                value += other * row[from[j]];
            if (kept)
                value += same * kept[j];
            row[j] = value;
        }
    }
}

/* P(a + z > z_2, b + z > z_3) for margins a, b in units of tau. */
static double both_positive(double a, double b)
{
    const double root = 1.41421356237309504880, sure = 10 * root;
    if (a < -sure || b < -sure)
        return 0;
    if (a > sure)
        return normal_cdf(b / root);
    if (b > sure)
        return normal_cdf(a / root);
    double step = normal_step(3), sum = 0;
    for (int k = -(int)(NORMAL_REACH / step); k <= (int)(NORMAL_REACH / step); k++) {
        double z = k * step;
        sum += normal_density(z) * normal_cdf(a + z) * normal_cdf(b + z);
    }
    return step * sum;
}

/* What a pair of margins is worth: 1, 0, or a share of a tie. */
static double credit(const exact_case *c, double a, double b)
{
    if (c->noise > 0)
        return both_positive(a / c->noise, b / c->noise);
    double least = fmin(a, b);
    if (least > c->tolerance)
        return 1;
    if (least < -c->tolerance)
        return 0;
    return 1.0 / (1 + (a <= c->tolerance) + (b <= c->tolerance));
}

/* Divided by the sum of the table, which drifts from 1 by a rounding a feature. */
static double expected_credit(const lattice *s)
{
    const exact_case *c = s->c;
    double sum = 0, total = 0, far = 1e300;
    for (size_t i = 0; i < s->levels.count; i++) {
        double own = s->levels.value[i];
        for (size_t j = 0; j < s->columns; j++) {
            double probability = s->table[i * s->columns + j];
            total += probability;
            if (probability < 1e-30)
                continue;
            double second = s->columns > 1 ? s->levels.value[j] : 0;
            double last = s->total - own - second;
            double a = s->columns > 1 ? c->invariant + own - second : far;
            sum += probability * credit(c, a, c->invariant + own - last);
        }
    }
    return sum / total;
}

static int table_accuracy(double *out, const exact_case *c, bang_error *err)
{
    bang_arena arena = {0};
    lattice s = {.c = c};
    uint64_t done = 0, features = 0;
    for (size_t g = 0; g < c->group_count; g++)
        features += (uint64_t)c->groups[g].count;
    int64_t low[MAX_GROUPS], high[MAX_GROUPS];
    full_ranges(c, low, high);
    int rc =
        levels_build(&s.levels, c->groups, c->group_count, low, high, c->tolerance, &arena, err);
    if (rc == 0) {
        s.columns = c->classes == 2 ? 1 : s.levels.count;
        s.table = bang_arena_alloc(&arena, s.levels.count * s.columns, sizeof *s.table);
        size_t *from = bang_arena_alloc(&arena, s.levels.count, sizeof *from);
        if (!s.table || !from) {
            rc = bang_fail_memory(err);
        } else {
            size_t zero = levels_find(&s.levels, 0, c->tolerance);
            s.table[zero * s.columns + (s.columns > 1 ? zero : 0)] = 1;
            for (size_t g = 0; g < c->group_count && rc == 0; g++) {
                double coefficient = c->groups[g].coefficient;
                s.total += coefficient * (double)c->groups[g].count;
                find_predecessors(from, &s.levels, coefficient, c->tolerance);
                for (int64_t i = 0; i < c->groups[g].count && rc == 0; i++) {
                    add_feature(&s, from, coefficient > 0);
                    bang_progress_step(c->options->progress, ++done, features);
                    if (bang_cancelled(c->options->cancel))
                        rc = bang_fail(err, BANG_ECANCELLED, "interrupted");
                }
            }
            *out = expected_credit(&s);
        }
    }
    bang_arena_release(&arena);
    return rc;
}

static double table_cost(const exact_case *c)
{
    if (c->classes > 3 || c->group_count > MAX_GROUPS)
        return INFINITY;
    int64_t low[MAX_GROUPS], high[MAX_GROUPS];
    full_ranges(c, low, high);
    double levels = levels_bound(c->groups, c->group_count, low, high), features = 0;
    if (levels > (c->classes == 2 ? 1e7 : MAX_LEVELS))
        return INFINITY;
    double candidates = 1; /* building the levels looks at every combination once */
    for (size_t g = 0; g < c->group_count; g++) {
        features += (double)c->groups[g].count;
        candidates = levels_bound(c->groups, g, low, high) * (double)(high[g] + 1);
        if (candidates > 1e8)
            return INFINITY;
    }
    double cells = c->classes == 2 ? levels : levels * levels;
    return 2e-9 * cells * features + (c->noise > 0 ? 1e-6 : 5e-9) * cells;
}

/* Commensurable weights without noise have a faster way (walk.c). */
double lattice_cost(const exact_case *c)
{
    return fmin(table_cost(c), walk_cost(c));
}

int lattice_accuracy(double *out, const exact_case *c, bang_error *err)
{
    return walk_cost(c) <= table_cost(c) ? walk_accuracy(out, c, err) : table_accuracy(out, c, err);
}
