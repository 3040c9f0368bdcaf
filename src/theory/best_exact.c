/* The best weight by the exact accuracy.
 *
 * Without noise G depends on alpha only through the signs of the margins
 *     V(alpha) + sum_A c_A(alpha) d_A,   d_A = r_A1 - r_Ak, |d_A| <= n_A,
 * each a quadratic in alpha, so G is constant between their roots. All roots
 * in (0,1) are found, then G is known on every interval in one of two ways:
 * - two and three classes: every outcome (r_A1, r_A2, r_A3) adds its
 *   probability to the intervals on which all its margins are positive;
 * - more classes: G is computed at the middle of every interval.
 * With noise G is smooth and its top is found by search.
 */
#include <math.h>
#include <stdlib.h>

#include "bang/base/arena.h"
#include "theory/best.h"
#include "theory/exact.h"

enum { MAX_PARTS = 3, MAX_MARGINS = 2000000, SEARCH_GRID = 64 };
static const double MAX_OUTCOMES = 3e7, PATIENCE = 60; /* seconds */

/* One quadratic a + b alpha + c alpha^2 and where it is positive, as indices
 * into the intervals. zero: it vanishes for every alpha. */
typedef struct margin {
    double a, b, c;
    int zero, stretches;
    uint32_t from[2], to[2]; /* positive on intervals from .. to-1 */
} margin;

typedef struct landscape {
    const bang_theory_problem *problem;
    size_t parts; /* patterns with spurious features */
    const bang_theory_pattern *part[MAX_PARTS];
    double square[MAX_PARTS][3]; /* c_A as a quadratic */
    double constant[3];          /* V */
    size_t margin_count;         /* prod (2 n_A + 1) */
    margin *margins;             /* d_A + n_A are the digits of the index */
    size_t interval_count;
    double *ends;                /* (interval_count + 1): 0, the roots, 1 */
    double *accuracy;            /* (interval_count + 1) */
} landscape;

/* (sum_{m in A} b_m)^2 with b = (lambda_1 - lambda_1 alpha, lambda_2 alpha). */
static void pattern_square(double out[3], const bang_theory_problem *problem, uint64_t models)
{
    double constant = models & 1 ? problem->scales[0] : 0;
    double rate = (models & 2 ? problem->scales[1] : 0) - constant;
    out[0] = constant * constant;
    out[1] = 2 * constant * rate;
    out[2] = rate * rate;
}

static int setup(landscape *s, bang_arena *arena)
{
    s->margin_count = 1;
    for (size_t i = 0; i < s->problem->pattern_count; i++) {
        const bang_theory_pattern *pattern = &s->problem->patterns[i];
        double square[3];
        pattern_square(square, s->problem, pattern->models);
        for (int k = 0; k < 3; k++)
            s->constant[k] += (double)pattern->invariant * square[k];
        if (pattern->spurious == 0)
            continue;
        if (pattern->spurious > MAX_MARGINS ||
            (2 * (size_t)pattern->spurious + 1) * s->margin_count > MAX_MARGINS)
            return 0; /* too many: interval_count stays 0 */
        for (int k = 0; k < 3; k++)
            s->square[s->parts][k] = square[k];
        s->part[s->parts++] = pattern;
        s->margin_count *= 2 * (size_t)pattern->spurious + 1;
    }
    s->margins = bang_arena_alloc(arena, s->margin_count, sizeof *s->margins);
    s->ends = bang_arena_alloc(arena, 2 * s->margin_count + 2, sizeof *s->ends);
    if (!s->margins || !s->ends)
        return -1;
    s->interval_count = 1;
    return 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Real roots of a + b x + c x^2 strictly inside (0,1), ascending. */
static int inner_roots(double out[2], double a, double b, double c)
{
    double root[2];
    int count = 0, kept = 0;
    double discriminant = b * b - 4 * a * c, scale = fabs(a) + fabs(b) + fabs(c);
    if (fabs(c) <= 1e-14 * scale) {
        if (fabs(b) > 1e-14 * scale)
            root[count++] = -a / b;
    } else if (discriminant > 1e-14 * scale * scale) { /* a touch changes no sign */
        double t = -0.5 * (b + copysign(sqrt(discriminant), b));
        root[count++] = t / c;
        root[count++] = t != 0 ? a / t : 0;
    }
    if (count == 2 && root[0] > root[1]) {
        double swap = root[0];
        root[0] = root[1];
        root[1] = swap;
    }
    for (int i = 0; i < count; i++)
        if (root[i] > 1e-12 && root[i] < 1 - 1e-12)
            out[kept++] = root[i];
    return kept;
}

static void find_margins(landscape *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->margin_count; i++) {
        double q[3] = {s->constant[0], s->constant[1], s->constant[2]}, size = 0, root[2];
        size_t rest = i;
        for (size_t g = 0; g < s->parts; g++) {
            size_t base = 2 * (size_t)s->part[g]->spurious + 1;
            double d = (double)(rest % base) - (double)s->part[g]->spurious;
            rest /= base;
            for (int k = 0; k < 3; k++) {
                q[k] += d * s->square[g][k];
                size += fabs(d * s->square[g][k]);
            }
        }
        for (int k = 0; k < 3; k++) {
            size += fabs(s->constant[k]);
            q[k] = fabs(q[k]) <= 1e-14 * size ? 0 : q[k];
        }
        s->margins[i] = (margin){.a = q[0], .b = q[1], .c = q[2]};
        s->margins[i].zero = q[0] == 0 && q[1] == 0 && q[2] == 0;
        int roots = inner_roots(root, q[0], q[1], q[2]);
        for (int k = 0; k < roots; k++)
            s->ends[1 + count++] = root[k];
    }
    qsort(s->ends + 1, count, sizeof *s->ends, compare_doubles);
    size_t kept = 1; /* ends[0] = 0 */
    for (size_t i = 1; i <= count; i++)
        if (s->ends[i] - s->ends[kept - 1] > 1e-12)
            s->ends[kept++] = s->ends[i];
    s->ends[kept] = 1;
    s->interval_count = kept;
}

/* The index of the end that a root became. */
static uint32_t end_index(const landscape *s, double root)
{
    size_t low = 0, high = s->interval_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->ends[middle] < root - 5e-13)
            low = middle + 1;
        else
            high = middle;
    }
    /* merged roots took the value of the first of them */
    if (low > 0 && fabs(s->ends[low - 1] - root) < fabs(s->ends[low] - root))
        low--;
    return (uint32_t)low;
}

static void find_stretches(landscape *s)
{
    for (size_t i = 0; i < s->margin_count; i++) {
        margin *m = &s->margins[i];
        double root[2], at[4] = {0};
        int roots = inner_roots(root, m->a, m->b, m->c);
        for (int k = 0; k < roots; k++)
            at[k + 1] = root[k];
        at[roots + 1] = 1;
        for (int k = 0; k <= roots && !m->zero; k++) {
            double x = 0.5 * (at[k] + at[k + 1]);
            if (m->a + x * (m->b + x * m->c) <= 0)
                continue;
            uint32_t from = k == 0 ? 0 : end_index(s, at[k]);
            uint32_t to = k == roots ? (uint32_t)s->interval_count : end_index(s, at[k + 1]);
            if (m->stretches && m->to[m->stretches - 1] == from) {
                m->to[m->stretches - 1] = to;
            } else {
                m->from[m->stretches] = from;
                m->to[m->stretches++] = to;
            }
        }
    }
}

/* Adds an outcome: accuracy holds differences until they are summed up. */
static void add_outcome(landscape *s, double probability, const margin *x, const margin *y)
{
    static const margin always = {.zero = 1};
    double credit = probability / (1 + x->zero + (y ? y->zero : 0));
    if (!y)
        y = &always;
    margin whole = {.stretches = 1, .from = {0}, .to = {(uint32_t)s->interval_count}};
    if (x->zero)
        x = &whole;
    if (y->zero)
        y = &whole;
    for (int i = 0; i < x->stretches; i++)
        for (int j = 0; j < y->stretches; j++) {
            uint32_t from = x->from[i] > y->from[j] ? x->from[i] : y->from[j];
            uint32_t to = x->to[i] < y->to[j] ? x->to[i] : y->to[j];
            if (from < to) {
                s->accuracy[from] += credit;
                s->accuracy[to] -= credit;
            }
        }
}

/* All outcomes of part g and after; second and third index the margins. */
static void add_outcomes(landscape *s, size_t g, double probability, size_t second, size_t third,
                         size_t stride)
{
    if (g >= s->parts || g >= MAX_PARTS) {
        const margin *other = s->problem->classes == 2 ? NULL : &s->margins[third];
        add_outcome(s, probability, &s->margins[second], other);
        return;
    }
    double k = (double)s->problem->classes, moved = s->problem->shift / k;
    double same = 1 - s->problem->shift + moved;
    int64_t n = s->part[g]->spurious;
    size_t next = stride * (2 * (size_t)n + 1);
    for (int64_t r1 = 0; r1 <= n; r1++) {
        double kept = lgamma((double)n + 1) - lgamma((double)r1 + 1) + (double)r1 * log(same);
        int64_t most = s->problem->classes == 2 ? 0 : n - r1;
        for (int64_t r3 = 0; r3 <= most; r3++) {
            int64_t r2 = n - r1 - r3;
            double chance = exp(kept + (double)(n - r1) * log(moved) - lgamma((double)r2 + 1) -
                                lgamma((double)r3 + 1));
            add_outcomes(s, g + 1, probability * chance, second + stride * (size_t)(n + r1 - r2),
                         third + stride * (size_t)(n + r1 - r3), next);
        }
    }
}

static int accuracy_at(double *out, const bang_theory_problem *problem, double alpha,
                       const bang_theory_options *options, bang_error *err)
{
    bang_theory_score score;
    bang_theory_value value = {0};
    int rc = score_at(&score, problem, alpha, err);
    if (rc < 0)
        return rc;
    rc = bang_theory_exact(&value, &score, problem->classes, problem->shift, options, err);
    bang_theory_score_release(&score);
    *out = value.accuracy;
    return rc;
}

/* Seconds for G at alpha; infinite if only Monte Carlo would do. */
static int accuracy_cost(double *out, const bang_theory_problem *problem, double alpha,
                         bang_error *err)
{
    bang_theory_score score;
    int rc = score_at(&score, problem, alpha, err);
    if (rc < 0)
        return rc;
    rc = exact_cost(out, &score, problem->classes, problem->shift, err);
    bang_theory_score_release(&score);
    return rc;
}

static int fill_accuracies(landscape *s, const bang_theory_options *options, bang_error *err)
{
    double outcomes = 1, cost;
    for (size_t g = 0; g < s->parts; g++) {
        double n = (double)s->part[g]->spurious;
        outcomes *= s->problem->classes == 2 ? n + 1 : 0.5 * (n + 1) * (n + 2);
    }
    if (s->problem->classes <= 3 && outcomes <= MAX_OUTCOMES) {
        find_stretches(s);
        add_outcomes(s, 0, 1, 0, 0, 1);
        for (size_t i = 1; i < s->interval_count; i++)
            s->accuracy[i] += s->accuracy[i - 1];
        return 0;
    }
    int rc = accuracy_cost(&cost, s->problem, 0.4142, err);
    if (rc == 0 && cost * (double)s->interval_count > PATIENCE)
        s->interval_count = 0;
    for (size_t i = 0; rc == 0 && i < s->interval_count; i++) {
        double middle = 0.5 * (s->ends[i] + s->ends[i + 1]);
        rc = accuracy_at(&s->accuracy[i], s->problem, middle, options, err);
    }
    return rc;
}

/* The widest run of intervals whose accuracy is the largest. */
static void widest_top(double interval[2], const landscape *s)
{
    double best = 0, width = 0;
    for (size_t i = 0; i < s->interval_count; i++)
        best = fmax(best, s->accuracy[i]);
    for (size_t i = 0, j; i < s->interval_count; i = j) {
        j = i + 1;
        if (s->accuracy[i] < best - 1e-12)
            continue;
        while (j < s->interval_count && s->accuracy[j] >= best - 1e-12)
            j++;
        if (s->ends[j] - s->ends[i] > width + 1e-12) {
            width = s->ends[j] - s->ends[i];
            interval[0] = s->ends[i];
            interval[1] = s->ends[j];
        }
    }
}

/* With noise: a grid, then halving steps around its best point. */
static int search_smooth(double interval[2], double *value, const bang_theory_problem *problem,
                         const bang_theory_options *options, bang_error *err)
{
    double cost, here, alpha = 0.5, best = 0, step = 1.0 / SEARCH_GRID;
    int rc = accuracy_cost(&cost, problem, 0.4142, err);
    if (rc < 0 || cost * 2 * SEARCH_GRID > PATIENCE)
        return rc;
    rc = accuracy_at(&best, problem, alpha, options, err);
    for (int i = 0; i <= SEARCH_GRID && rc == 0; i++) {
        rc = accuracy_at(&here, problem, i * step, options, err);
        if (rc == 0 && here > best) {
            best = here;
            alpha = i * step;
        }
    }
    for (step /= 2; step > 1e-8 && rc == 0; step /= 2) {
        double center = alpha;
        for (int side = -1; side <= 1 && rc == 0; side += 2) {
            double x = fmin(fmax(center + side * step, 0), 1);
            rc = accuracy_at(&here, problem, x, options, err);
            if (rc == 0 && here > best) {
                best = here;
                alpha = x;
            }
        }
    }
    interval[0] = interval[1] = alpha;
    *value = best;
    return rc;
}

int best_exact_alpha(double interval[2], double *value, const bang_theory_problem *problem,
                     const bang_theory_options *options, bang_error *err)
{
    interval[0] = interval[1] = *value = NAN;
    if (problem->sigma > 0)
        return search_smooth(interval, value, problem, options, err);
    bang_arena arena = {0};
    landscape s = {.problem = problem};
    int rc = setup(&s, &arena) < 0 ? bang_fail_memory(err) : 0;
    if (rc == 0 && s.interval_count) {
        find_margins(&s);
        s.accuracy = bang_arena_alloc(&arena, s.interval_count + 1, sizeof *s.accuracy);
        rc = s.accuracy ? fill_accuracies(&s, options, err) : bang_fail_memory(err);
    }
    if (rc == 0 && s.interval_count) {
        widest_top(interval, &s);
        rc = accuracy_at(value, problem, 0.5 * (interval[0] + interval[1]), options, err);
    }
    bang_arena_release(&arena);
    return rc;
}
