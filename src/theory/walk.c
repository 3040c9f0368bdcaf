/* Exact accuracy for two and three classes when all weights are multiples k_g
 * of one unit, by walking through what the features keep.
 *
 * If r_g features of group g keep their class, the m_g = n_g - r_g others go to
 * the second or third class by a fair coin, X = sum_g k_g Binomial(m_g, 1/2)
 * goes to the second and M - X, M = sum_g k_g m_g, to the third. With
 * D = V + sum_g k_g r_g the true class wins if M - D < X < D, and shares a tie
 * at either end. One more moved feature turns the probabilities of X into
 * P'(x) = (P(x) + P(x - k))/2, so a walk over all m, one step at a time, meets
 * every distribution that is needed. Only the bulk of each is kept. With two
 * classes X = M goes to the second class and nothing is left to toss.
 */
#include "theory/walk.h"

#include <math.h>
#include <string.h>

#include "bang/base/arena.h"
#include "theory/levels.h"

enum { MAX_GROUPS = 16 };
static const double NEGLIGIBLE = 1e-24, MAX_SPAN = 2e7;

/* P(X = first + i) = now[i], i = 0 .. count-1; now lies in one of two buffers. */
typedef struct spread {
    int64_t first;
    size_t count;
    double *now;
    double *buffer[2];
    int used; /* the buffer that holds now */
} spread;

typedef struct walk {
    const exact_case *c;
    int64_t step[MAX_GROUPS];     /* k_g */
    int64_t kept_low[MAX_GROUPS]; /* where Binomial(n_g, q) lives */
    int64_t kept_high[MAX_GROUPS];
    double *kept[MAX_GROUPS];      /* its probabilities there */
    spread spread[MAX_GROUPS + 1]; /* of X after the groups before */
    double invariant;              /* V in units */
    double tolerance;
    uint64_t done, total; /* values of m_1 */
} walk;

/* Binomial(n, q) by recurrence from its mode, scaled to sum 1; stops where
 * terms vanish. out has n+1 entries. */
static void binomial_table(double *out, int64_t n, double q, int64_t *low, int64_t *high)
{
    int64_t mode = (int64_t)fmin(floor(((double)n + 1) * q), (double)n);
    double odds = q / (1 - q), sum = 1;
    out[mode] = 1;
    for (*high = mode; *high < n && out[*high] > NEGLIGIBLE; ++*high) {
        out[*high + 1] = out[*high] * odds * (double)(n - *high) / (double)(*high + 1);
        sum += out[*high + 1];
    }
    for (*low = mode; *low > 0 && out[*low] > NEGLIGIBLE; --*low) {
        out[*low - 1] = out[*low] / odds * (double)*low / (double)(n - *low + 1);
        sum += out[*low - 1];
    }
    for (int64_t k = *low; k <= *high; k++)
        out[k] /= sum;
}

/* One more feature of step k is tossed, or, with two classes, moved. */
static void toss(spread *x, int64_t k, int fair)
{
    if (!fair) {
        x->first += k;
        return;
    }
    size_t shift = (size_t)(k < 0 ? -k : k), count = x->count + shift;
    double *restrict to = x->buffer[!x->used];
    const double *restrict from = x->now;
    size_t alone = shift < x->count ? shift : x->count; /* no partner below */
    for (size_t i = 0; i < alone; i++)
        to[i] = 0.5 * from[i];
    for (size_t i = alone; i < shift; i++)
        to[i] = 0;
    for (size_t i = shift; i < x->count; i++)
        to[i] = 0.5 * (from[i] + from[i - shift]);
    for (size_t i = x->count > shift ? x->count : shift; i < count; i++)
        to[i] = 0.5 * from[i - shift];
    size_t begin = 0;
    while (begin < count && to[begin] < NEGLIGIBLE)
        begin++;
    while (count > begin && to[count - 1] < NEGLIGIBLE)
        count--;
    x->first += (int64_t)begin + (k < 0 ? k : 0);
    x->count = count - begin;
    x->now = to + begin;
    x->used = !x->used;
}

/* Many features of step k at once, from X = first alone: first + k Binomial(m, 1/2). */
static void toss_many(spread *x, int64_t k, int64_t m)
{
    int64_t low, high;
    size_t shift = (size_t)(k < 0 ? -k : k);
    double *table = x->buffer[1];
    binomial_table(table, m, 0.5, &low, &high);
    x->count = (size_t)(high - low) * shift + 1;
    memset(x->buffer[0], 0, x->count * sizeof *x->now);
    for (int64_t j = low; j <= high; j++)
        x->buffer[0][(size_t)(j - low) * shift] = table[k < 0 ? high + low - j : j];
    x->first += k < 0 ? k * high : k * low;
}

/* P(X = value), 0 outside the bulk or between the steps. */
static double at(const spread *x, double value, double tolerance)
{
    double i = round(value) - (double)x->first;
    if (fabs(value - round(value)) > tolerance || i < 0 || i >= (double)x->count)
        return 0;
    return x->now[(size_t)i];
}

/* P(true class wins): M - D < X < D, and a share of the ties at the ends; with
 * two classes only X < D counts. */
static double win(const walk *w, const spread *x, int64_t moved, double kept)
{
    int two = w->c->classes == 2;
    double bottom = two ? -INFINITY : (double)moved - kept, top = kept, sum = 0;
    if (bottom > top + w->tolerance)
        return 0;
    if (fabs(top - bottom) <= w->tolerance) /* both ends at once: a tie of three */
        return at(x, top, w->tolerance) / 3;
    double low = fmax(ceil(bottom + w->tolerance) - (double)x->first, 0);
    double high = fmin(floor(top - w->tolerance) - (double)x->first, (double)x->count - 1);
    if (low <= 0 && high >= (double)x->count - 1)
        return 1;
    for (size_t i = (size_t)low; low <= high && i <= (size_t)high; i++)
        sum += x->now[i];
    return sum + 0.5 * (at(x, top, w->tolerance) + (two ? 0 : at(x, bottom, w->tolerance)));
}

/* All m_g of group g and after. */
static double walk_group(walk *w, size_t g, int64_t moved, double kept)
{
    const exact_case *c = w->c;
    const spread *before = &w->spread[g];
    if (g == c->group_count)
        return win(w, before, moved, w->invariant + kept);
    spread *x = &w->spread[g + 1];
    int64_t n = c->groups[g].count, k = w->step[g];
    x->first = before->first;
    x->count = before->count;
    x->used = 0;
    x->now = x->buffer[0];
    memcpy(x->now, before->now, x->count * sizeof *x->now);
    int64_t begin = 0, fewest = n - w->kept_high[g];
    if (x->count == 1 && c->classes == 3 && fewest > 1) {
        toss_many(x, k, fewest);
        begin = fewest;
    }
    double sum = 0;
    for (int64_t m = begin; m <= n - w->kept_low[g]; m++) {
        if (m > begin)
            toss(x, k, c->classes == 3);
        int64_t r = n - m;
        if (r <= w->kept_high[g])
            sum +=
                w->kept[g][r] * walk_group(w, g + 1, moved + k * m, kept + (double)k * (double)r);
        if (g == 0 && m >= fewest) {
            bang_progress_step(c->options->progress, ++w->done, w->total);
            if (bang_cancelled(c->options->cancel))
                break;
        }
    }
    return sum;
}

/* Weights in units, V in units; 0 if they have none. */
static int find_steps(walk *w)
{
    const exact_case *c = w->c;
    double unit = levels_unit(c->groups, c->group_count), span = 0;
    if (!(unit > 0))
        return 0;
    for (size_t g = 0; g < c->group_count; g++) {
        w->step[g] = (int64_t)llround(c->groups[g].coefficient / unit);
        span += fabs((double)w->step[g]) * (double)c->groups[g].count;
    }
    w->invariant = c->invariant / unit;
    w->tolerance = c->tolerance / unit;
    return span <= MAX_SPAN;
}

int walk_accuracy(double *out, const exact_case *c, bang_error *err)
{
    bang_arena arena = {0};
    walk w = {.c = c};
    find_steps(&w);
    size_t span = 1;
    int rc = 0;
    for (size_t g = 0; g <= c->group_count && rc == 0; g++) {
        for (int i = 0; i < 2; i++)
            w.spread[g].buffer[i] = bang_arena_alloc(&arena, span, sizeof(double));
        w.spread[g].now = w.spread[g].buffer[0];
        if (!w.spread[g].buffer[0] || !w.spread[g].buffer[1])
            rc = bang_fail_memory(err);
        if (rc < 0 || g == c->group_count)
            break;
        int64_t n = c->groups[g].count;
        span += (size_t)(n * (w.step[g] < 0 ? -w.step[g] : w.step[g]));
        w.kept[g] = bang_arena_alloc(&arena, (size_t)n + 1, sizeof(double));
        if (!w.kept[g])
            rc = bang_fail_memory(err);
        else
            binomial_table(w.kept[g], n, c->same, &w.kept_low[g], &w.kept_high[g]);
    }
    if (rc == 0) {
        w.spread[0].now[0] = 1;
        w.spread[0].count = 1;
        w.total = (uint64_t)(w.kept_high[0] - w.kept_low[0] + 1);
        *out = walk_group(&w, 0, 0, 0);
        if (bang_cancelled(c->options->cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "interrupted");
    }
    bang_arena_release(&arena);
    return rc;
}

/* Combinations of kept features in their bulk times the width of X. */
double walk_cost(const exact_case *c)
{
    walk w = {.c = c};
    if (c->classes > 3 || c->noise > 0 || c->group_count > MAX_GROUPS || !find_steps(&w))
        return INFINITY;
    double combinations = 1, variance = 0, most = 1, steps = 0;
    for (size_t g = 0; g < c->group_count; g++) {
        double n = (double)c->groups[g].count, k = fabs((double)w.step[g]);
        steps += g > 0 ? combinations * n : 0; /* they are tossed up to the bulk, too */
        combinations *= fmin(n, 21 * sqrt(n * c->same * (1 - c->same)) + 2) + 1;
        variance += 0.25 * k * k * n * (1 - c->same);
        most += k * n;
    }
    return 1.5e-9 * (combinations + steps) * fmin(most, 22 * sqrt(variance) + 2);
}
