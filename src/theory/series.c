/* Exact accuracy for any number of classes and many small groups, by powers of
 * truncated power series.
 *
 * Given that r_g features of group g keep their class, m_g = n_g - r_g are
 * spread evenly over the K-1 others, and with T = V + sum_g c_g r_g
 *
 *     P(correct | r) = prod_g m_g!/(K-1)^m_g [x^m] F_T(x),
 *     F_T = A^(K-1), or (1/K) sum_{j<K} (A+B)^j A^(K-1-j) with ties,
 *     A = sum_{a: c.a < T} prod_g x_g^a_g/a_g!,   B the same over c.a = T.
 *
 * Series in x_1..x_J are kept up to degree n_g in x_g; all terms are positive,
 * so products lose nothing. The power takes log2 K products by doubling.
 * With noise A is weighted by Phi((u - c.a)/tau), u = T + tau z, and z is
 * integrated.
 */
#include <math.h>
#include <string.h>

#include "bang/base/arena.h"
#include "theory/exact.h"
#include "theory/normal.h"

enum { MAX_GROUPS = 24, MAX_DEGREE = 100 /* n! must stay far from overflow */ };
static const double MAX_TERMS = 20000;

typedef struct series {
    const exact_case *c;
    size_t terms;                                   /* prod (n_g + 1) */
    size_t stride[MAX_GROUPS];                      /* of x_g in a series; the last is 1 */
    size_t degree[MAX_GROUPS];                      /* n_g */
    double *value;                                  /* (terms) c.a */
    double *base;                                   /* (terms) prod 1/a_g! */
    double *weight;                                 /* (terms) P(r) prod m_g!/(K-1)^m_g */
    double *a, *b, *sum, *power_a, *power_b, *work; /* (terms) series */
} series;

/* out += left * right over the box of group g and after; offsets are where
 * the boxes begin. */
static void add_product(const series *s, size_t g, double *out, const double *left,
                        const double *right)
{
    size_t n = s->degree[g], stride = s->stride[g];
    if (g + 1 == s->c->group_count) {
        for (size_t i = 0; i <= n; i++) {
            double x = left[i];
            if (x != 0)
                for (size_t j = 0; i + j <= n; j++)
                    out[i + j] += x * right[j];
        }
        return;
    }
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; i + j <= n; j++)
            add_product(s, g + 1, out + (i + j) * stride, left + i * stride, right + j * stride);
}

static void multiply(series *s, double *target, const double *factor)
{
    memset(s->work, 0, s->terms * sizeof *s->work);
    add_product(s, 0, s->work, target, factor);
    memcpy(target, s->work, s->terms * sizeof *s->work);
}

static void add(const series *s, double *target, const double *term)
{
    for (size_t i = 0; i < s->terms; i++)
        target[i] += term[i];
}

/* sum = A^(K-1), by squaring from the leading bit of K-1 down. */
static void power_without_tie(series *s)
{
    int64_t power = s->c->classes - 1;
    int bit = 62;
    while (!(power >> bit & 1))
        bit--;
    memcpy(s->sum, s->a, s->terms * sizeof *s->sum);
    while (bit-- > 0) {
        multiply(s, s->sum, s->sum);
        if (power >> bit & 1)
            multiply(s, s->sum, s->a);
    }
}

/* sum = S_K = sum_{j<K} b^j a^(K-1-j), b = A+B, from
 * S_2k = S_k (a^k + b^k) and S_(k+1) = S_k a + b^k. */
static void power_with_tie(series *s)
{
    int64_t count = s->c->classes;
    int bit = 62;
    while (!(count >> bit & 1))
        bit--;
    memset(s->sum, 0, s->terms * sizeof *s->sum);
    s->sum[0] = 1;
    memcpy(s->power_a, s->a, s->terms * sizeof *s->a);
    memcpy(s->power_b, s->b, s->terms * sizeof *s->b);
    while (bit-- > 0) {
        memset(s->work, 0, s->terms * sizeof *s->work);
        add_product(s, 0, s->work, s->sum, s->power_a);
        add_product(s, 0, s->work, s->sum, s->power_b);
        memcpy(s->sum, s->work, s->terms * sizeof *s->work);
        multiply(s, s->power_a, s->power_a);
        multiply(s, s->power_b, s->power_b);
        if (count >> bit & 1) {
            multiply(s, s->sum, s->a);
            add(s, s->sum, s->power_b);
            multiply(s, s->power_a, s->a);
            multiply(s, s->power_b, s->b);
        }
    }
}

/* P(correct and sum c.r = this level): the series of the level is in s->sum. */
static double collect(const series *s, const size_t *members, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) /* m = n - r mirrors the index */
        sum += s->weight[members[i]] * s->sum[s->terms - 1 - members[i]];
    return sum;
}

static double level_small_noise(series *s, double target, const size_t *members, size_t count)
{
    double tolerance = s->c->tolerance;
    int tie = 0, any = 0;
    for (size_t i = 0; i < s->terms; i++) {
        double margin = target - s->value[i];
        s->a[i] = margin > tolerance ? s->base[i] : 0;
        s->b[i] = margin >= -tolerance ? s->base[i] : 0;
        tie |= s->a[i] != s->b[i];
        any |= s->b[i] > 0;
    }
    if (!any)
        return 0;
    if (!tie) {
        power_without_tie(s);
        return collect(s, members, count);
    }
    power_with_tie(s);
    return collect(s, members, count) / (double)s->c->classes;
}

static double level_with_noise(series *s, double target, const size_t *members, size_t count)
{
    double step = normal_step((double)s->c->classes), sum = 0;
    int last = (int)ceil(NORMAL_REACH / step);
    for (int k = -last; k <= last; k++) {
        double z = k * step;
        for (size_t i = 0; i < s->terms; i++) {
            double margin = target - s->value[i];
            if (fabs(margin) <= s->c->tolerance)
                margin = 0;
            s->a[i] = s->base[i] * normal_cdf(margin / s->c->noise + z);
        }
        power_without_tie(s);
        sum += step * normal_density(z) * collect(s, members, count);
    }
    return sum;
}

/* prod_g over the digits of every index: value, base and weight. */
static void fill_tables(series *s)
{
    const exact_case *c = s->c;
    for (size_t i = 0; i < s->terms; i++) {
        double value = 0, base = 1, weight = 1;
        for (size_t g = 0; g < c->group_count; g++) {
            size_t a = i / s->stride[g] % (s->degree[g] + 1), n = s->degree[g];
            value += c->groups[g].coefficient * (double)a;
            /* C(n,a) q^a (p/K)^(n-a) (n-a)! = q^a (p/K)^(n-a) n!/a! */
            for (size_t k = 1; k <= a; k++)
                base /= (double)k;
            for (size_t k = a + 1; k <= n; k++)
                weight *= (double)k * c->other;
            weight *= pow(c->same, (double)a);
        }
        s->value[i] = value;
        s->base[i] = base;
        s->weight[i] = weight;
    }
}

static void sort_by_value(size_t *order, const series *s, size_t *scratch)
{
    for (size_t i = 0; i < s->terms; i++)
        order[i] = i;
    for (size_t width = 1; width < s->terms; width *= 2) { /* bottom-up merge sort */
        for (size_t at = 0; at < s->terms; at += 2 * width) {
            size_t i = at, middle = at + width < s->terms ? at + width : s->terms;
            size_t j = middle, end = at + 2 * width < s->terms ? at + 2 * width : s->terms;
            for (size_t k = at; k < end; k++) {
                int left = i < middle && (j >= end || s->value[order[i]] <= s->value[order[j]]);
                scratch[k] = left ? order[i++] : order[j++];
            }
        }
        memcpy(order, scratch, s->terms * sizeof *order);
    }
}

static int setup(series *s, bang_arena *arena)
{
    s->terms = 1;
    for (size_t g = s->c->group_count; g-- > 0;) {
        s->stride[g] = s->terms;
        s->degree[g] = (size_t)s->c->groups[g].count;
        s->terms *= s->degree[g] + 1;
    }
    double **all[] = {&s->value, &s->base,    &s->weight,  &s->a,   &s->b,
                      &s->sum,   &s->power_a, &s->power_b, &s->work};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i] = bang_arena_alloc(arena, s->terms, sizeof(double));
        if (!*all[i])
            return -1;
    }
    fill_tables(s);
    return 0;
}

static double term_count(const exact_case *c)
{
    double terms = c->group_count > MAX_GROUPS ? INFINITY : 1;
    for (size_t g = 0; g < c->group_count; g++)
        terms *= c->groups[g].count > MAX_DEGREE ? INFINITY : (double)c->groups[g].count + 1;
    return terms;
}

int series_accuracy(double *out, const exact_case *c, bang_error *err)
{
    bang_arena arena = {0};
    series s = {.c = c};
    int rc = setup(&s, &arena) < 0 ? bang_fail_memory(err) : 0;
    size_t *order = rc == 0 ? bang_arena_alloc(&arena, 2 * s.terms, sizeof *order) : NULL;
    if (rc == 0 && !order)
        rc = bang_fail_memory(err);
    double sum = 0;
    if (rc == 0)
        sort_by_value(order, &s, order + s.terms);
    for (size_t begin = 0, end; rc == 0 && begin < s.terms; begin = end) {
        for (end = begin + 1; end < s.terms; end++)
            if (s.value[order[end]] - s.value[order[end - 1]] > c->tolerance)
                break;
        double target = c->invariant + s.value[order[begin]];
        sum += c->noise > 0 ? level_with_noise(&s, target, order + begin, end - begin)
                            : level_small_noise(&s, target, order + begin, end - begin);
        bang_progress_step(c->options->progress, end, s.terms);
        if (bang_cancelled(c->options->cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "interrupted");
    }
    *out = sum;
    bang_arena_release(&arena);
    return rc;
}

double series_cost(const exact_case *c)
{
    double terms = term_count(c), pairs = 1;
    if (!(terms <= MAX_TERMS))
        return INFINITY;
    double largest = 0; /* log of (K-1)^n/n!, the largest coefficient */
    for (size_t g = 0; g < c->group_count; g++)
        largest += (double)c->groups[g].count * log((double)c->classes) -
                   lgamma((double)c->groups[g].count + 1);
    if (largest > 650) /* of 709 that a double holds */
        return INFINITY;
    for (size_t g = 0; g < c->group_count; g++)
        pairs *= 0.5 * ((double)c->groups[g].count + 1) * ((double)c->groups[g].count + 2);
    double products = 2 + 4 * log2((double)c->classes);
    return terms * pairs * products * 1e-9 * (c->noise > 0 ? 30 : 1);
}
