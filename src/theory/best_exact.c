/* The best weight by the exact accuracy.
 *
 * Without noise G depends on alpha only through the signs of the margins
 *     V(alpha) + sum_A c_A(alpha) d_A,   d_A = r_A1 - r_Ak, |d_A| <= n_A,
 * each a quadratic in alpha, so G is constant between their roots. The roots
 * cut [0,1] into cells, points and open intervals by turns; points count too,
 * since a tie may be worth more than what lies on both sides of it (often at 0
 * and 1, where one model is alone). G is known on every cell in one of two ways:
 * - two and three classes: every outcome (r_A1, r_A2, r_A3) adds its
 *   probability to the cells on which the true class wins, or its share;
 * - more classes: G is computed at every cell.
 * With noise G is smooth and its top is found by search.
 */
#include <math.h>
#include <stdlib.h>

#include "bang/base/arena.h"
#include "theory/best.h"
#include "theory/exact.h"

enum { MAX_PARTS = 3, MAX_MARGINS = 2000000, SEARCH_GRID = 64 };
static const double MAX_OUTCOMES = 3e7, PATIENCE = 60; /* seconds */

/* One quadratic a + b alpha + c alpha^2, the cells where it is positive and
 * those where it is 0. everywhere: it vanishes for every alpha. */
typedef struct margin {
    double a, b, c;
    int everywhere, stretches, zeros;
    uint32_t from[2], to[2]; /* positive on cells from .. to-1 */
    uint32_t zero[2];
} margin;

typedef struct landscape {
    const bang_theory_problem *problem;
    size_t parts; /* patterns with spurious features */
    const bang_theory_pattern *part[MAX_PARTS];
    double square[MAX_PARTS][3]; /* c_A as a quadratic */
    double constant[3];          /* V */
    size_t margin_count;         /* prod (2 n_A + 1) */
    margin *margins;             /* d_A + n_A are the digits of the index */
    size_t point_count;          /* 0 when there are too many margins */
    double *points;              /* (point_count): 0, the roots, 1 */
    size_t cell_count;           /* 2 point_count - 1; even cells are points */
    double *accuracy;            /* (cell_count + 1) */
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
            return 0;
        for (int k = 0; k < 3; k++)
            s->square[s->parts][k] = square[k];
        s->part[s->parts++] = pattern;
        s->margin_count *= 2 * (size_t)pattern->spurious + 1;
    }
    s->margins = bang_arena_alloc(arena, s->margin_count, sizeof *s->margins);
    s->points = bang_arena_alloc(arena, 2 * s->margin_count + 2, sizeof *s->points);
    if (!s->margins || !s->points)
        return -1;
    s->point_count = 2;
    return 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Real roots of a + b x + c x^2 in [0,1], ascending; a double root once. */
static int inner_roots(double out[2], double a, double b, double c)
{
    double root[2] = {0, 0};
    int count = 0, kept = 0;
    double discriminant = b * b - 4 * a * c, scale = fabs(a) + fabs(b) + fabs(c);
    if (fabs(c) <= 1e-14 * scale) {
        if (fabs(b) > 1e-14 * scale)
            root[count++] = -a / b;
    } else if (fabs(discriminant) <= 1e-13 * scale * scale) {
        root[count++] = -0.5 * b / c;
    } else if (discriminant > 0) {
        double t = -0.5 * (b + copysign(sqrt(discriminant), b));
        root[count++] = t / c;
        root[count++] = a / t;
    }
    if (count == 2 && root[0] > root[1]) {
        double swap = root[0];
        root[0] = root[1];
        root[1] = swap;
    }
    for (int i = 0; i < count; i++)
        if (root[i] > -1e-12 && root[i] < 1 + 1e-12)
            out[kept++] = fmin(fmax(root[i], 0), 1);
    return kept;
}

static void find_margins(landscape *s)
{
    size_t count = 0;
    s->points[count++] = 0;
    s->points[count++] = 1;
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
        for (int k = 0; k < 3; k++)
            size += fabs(s->constant[k]);
        for (int k = 0; k < 3; k++)
            q[k] = fabs(q[k]) <= 1e-14 * size ? 0 : q[k];
        s->margins[i] = (margin){.a = q[0], .b = q[1], .c = q[2]};
        s->margins[i].everywhere = q[0] == 0 && q[1] == 0 && q[2] == 0;
        int roots = inner_roots(root, q[0], q[1], q[2]);
        for (int k = 0; k < roots; k++)
            s->points[count++] = root[k];
    }
    qsort(s->points, count, sizeof *s->points, compare_doubles);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (s->points[i] - s->points[kept - 1] > 1e-12)
            s->points[kept++] = s->points[i];
    s->points[kept - 1] = 1; /* may have been merged with a root just below */
    s->point_count = kept;
    s->cell_count = 2 * kept - 1;
}

/* The cell of the point that a root became. */
static uint32_t cell_of(const landscape *s, double root)
{
    size_t low = 0, high = s->point_count - 1;
    while (low < high) { /* the last point that is not above root */
        size_t middle = low + (high - low + 1) / 2;
        if (s->points[middle] <= root + 1e-13)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint32_t)(2 * low);
}

static void find_cells(landscape *s)
{
    for (size_t i = 0; i < s->margin_count; i++) {
        margin *m = &s->margins[i];
        double root[2], at[4] = {0};
        uint32_t edge[4] = {0};
        int roots = m->everywhere ? 0 : inner_roots(root, m->a, m->b, m->c);
        for (int k = 0; k < roots; k++) {
            at[k + 1] = root[k];
            edge[k + 1] = cell_of(s, root[k]);
            if (k == 0 || edge[k + 1] != edge[k])
                m->zero[m->zeros++] = edge[k + 1];
        }
        at[roots + 1] = 1;
        edge[roots + 1] = (uint32_t)s->cell_count;
        for (int k = 0; k <= roots && !m->everywhere; k++) {
            uint32_t from = edge[k] + (k > 0), to = edge[k + 1];
            double x = 0.5 * (at[k] + at[k + 1]);
            if (from >= to || m->a + x * (m->b + x * m->c) <= 0)
                continue;
            m->from[m->stretches] = from;
            m->to[m->stretches++] = to;
        }
    }
}

/* -1, 0 or 1 on one cell. */
static int sign_on(const margin *m, uint32_t cell)
{
    for (int i = 0; i < m->zeros; i++)
        if (m->zero[i] == cell)
            return 0;
    for (int i = 0; i < m->stretches; i++)
        if (m->from[i] <= cell && cell < m->to[i])
            return 1;
    return m->everywhere ? 0 : -1;
}

/* accuracy holds differences until they are summed up. */
static void add_cells(landscape *s, double credit, uint32_t from, uint32_t to)
{
    if (from < to) {
        s->accuracy[from] += credit;
        s->accuracy[to] -= credit;
    }
}

/* Where one margin vanishes on a cell the outcome is a tie there: with the
 * other positive it counts 1/2, with both zero 1/3. */
static void add_ties(landscape *s, double probability, const margin *x, const margin *y)
{
    for (int i = 0; i < x->zeros; i++) {
        int other = sign_on(y, x->zero[i]);
        if (other >= 0)
            add_cells(s, other ? probability / 2 : probability / 3, x->zero[i], x->zero[i] + 1);
    }
}

static void add_outcome(landscape *s, double probability, const margin *x, const margin *y)
{
    const margin whole = {.stretches = 1, .from = {0}, .to = {(uint32_t)s->cell_count}};
    if (x->everywhere) {
        const margin *swap = x;
        x = y;
        y = swap;
    }
    if (x->everywhere) { /* both */
        add_cells(s, probability / 3, 0, (uint32_t)s->cell_count);
        return;
    }
    int tied = y->everywhere;
    if (!tied) {
        add_ties(s, probability, x, y);
        for (int i = 0; i < y->zeros; i++) /* those of x are in already */
            if (sign_on(x, y->zero[i]) > 0)
                add_cells(s, probability / 2, y->zero[i], y->zero[i] + 1);
    } else {
        for (int i = 0; i < x->zeros; i++)
            add_cells(s, probability / 3, x->zero[i], x->zero[i] + 1);
        y = &whole;
    }
    for (int i = 0; i < x->stretches; i++)
        for (int j = 0; j < y->stretches; j++) {
            uint32_t from = x->from[i] > y->from[j] ? x->from[i] : y->from[j];
            uint32_t to = x->to[i] < y->to[j] ? x->to[i] : y->to[j];
            add_cells(s, tied ? probability / 2 : probability, from, to);
        }
}

/* All outcomes of part g and after; second and third index the margins. */
static void add_outcomes(landscape *s, size_t g, double probability, size_t second, size_t third,
                         size_t stride)
{
    if (g >= s->parts || g >= MAX_PARTS) {
        const margin won = {.stretches = 1, .from = {0}, .to = {(uint32_t)s->cell_count}};
        const margin *other = s->problem->classes == 2 ? &won : &s->margins[third];
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
    if (rc == BANG_EUSAGE) { /* alpha too near to 0 or 1 to tell: not a candidate */
        *out = -1;
        rc = 0;
    }
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
    if (rc == BANG_EUSAGE) { /* such scales cannot be compared at all */
        *out = INFINITY;
        rc = 0;
    }
    return rc;
}

static double cell_middle(const landscape *s, size_t cell)
{
    return 0.5 * (s->points[cell / 2] + s->points[(cell + 1) / 2]);
}

static int fill_accuracies(landscape *s, const bang_theory_options *options, bang_error *err)
{
    double outcomes = 1, cost;
    for (size_t g = 0; g < s->parts; g++) {
        double n = (double)s->part[g]->spurious;
        outcomes *= s->problem->classes == 2 ? n + 1 : 0.5 * (n + 1) * (n + 2);
    }
    if (s->problem->classes <= 3 && s->problem->shift > 0 && outcomes <= MAX_OUTCOMES) {
        find_cells(s);
        add_outcomes(s, 0, 1, 0, 0, 1);
        for (size_t i = 1; i < s->cell_count; i++)
            s->accuracy[i] += s->accuracy[i - 1];
        return 0;
    }
    int rc = accuracy_cost(&cost, s->problem, 0.4142, err);
    if (rc == 0 && cost * (double)s->cell_count > PATIENCE)
        s->cell_count = 0;
    for (size_t i = 0; rc == 0 && i < s->cell_count; i++)
        rc = accuracy_at(&s->accuracy[i], s->problem, cell_middle(s, i), options, err);
    return rc;
}

/* The widest run of cells whose accuracy is the largest. */
static void widest_top(double interval[2], const landscape *s)
{
    double best = 0, width = -1;
    for (size_t i = 0; i < s->cell_count; i++)
        best = fmax(best, s->accuracy[i]);
    for (size_t i = 0, j; i < s->cell_count; i = j) {
        j = i + 1;
        if (s->accuracy[i] < best - 1e-12)
            continue;
        while (j < s->cell_count && s->accuracy[j] >= best - 1e-12)
            j++;
        double low = s->points[i / 2], high = s->points[j / 2];
        if (j % 2) /* ends with a point */
            high = s->points[(j - 1) / 2];
        if (high - low > width + 1e-12) {
            width = high - low;
            interval[0] = low;
            interval[1] = high;
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
            x = x < 1e-5 ? 0 : x > 1 - 1e-5 ? 1 : x; /* nearer, a weight is lost in rounding */
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
    if (rc == 0 && s.point_count) {
        find_margins(&s);
        s.accuracy = bang_arena_alloc(&arena, s.cell_count + 1, sizeof *s.accuracy);
        rc = s.accuracy ? fill_accuracies(&s, options, err) : bang_fail_memory(err);
    }
    if (rc == 0 && s.cell_count) {
        widest_top(interval, &s);
        rc = accuracy_at(value, problem, 0.5 * (interval[0] + interval[1]), options, err);
    }
    bang_arena_release(&arena);
    return rc;
}
