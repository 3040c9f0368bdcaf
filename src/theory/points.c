#include "theory/points.h"

#include <math.h>

#include "theory/normal.h"

typedef struct builder {
    const exact_case *c;
    const level_set *wrong, *right;
    const double *right_probability;
    double *wrong_suffix; /* (wrong->count + 1) real */
    const double *wrong_probability;
    double limit; /* of one point */
    bang_arena *arena;
    point_set *out;
    size_t capacity;
    int failed;
} builder;

static const double one = 1;

/* Fills the real values and keeps the point if it matters. */
static void keep(builder *b, point p)
{
    p.real_weight = 0;
    for (size_t j = 0; j < p.right_count; j++)
        p.real_weight += p.right_weight[j] * b->right_probability[p.right_first + j];
    p.real_above = b->wrong_suffix[p.wrong_first + p.wrong_count];
    p.real_over = p.real_above;
    for (size_t j = 0; j < p.wrong_count; j++)
        p.real_over += p.wrong_weight[j] * b->wrong_probability[p.wrong_first + j];
    if (!p.tie)
        p.real_above = p.real_over;
    double loss = p.real_weight * fmin(1, (double)(b->c->classes - 1) * p.real_over);
    if (loss < b->limit)
        return;
    if (b->out->count == b->capacity) {
        size_t room = b->capacity ? 2 * b->capacity : 64;
        point *grown = bang_arena_alloc(b->arena, room, sizeof *grown);
        if (!grown) {
            b->failed = 1;
            return;
        }
        for (size_t i = 0; i < b->out->count; i++)
            grown[i] = b->out->points[i];
        b->out->points = grown;
        b->capacity = room;
    }
    b->out->points[b->out->count++] = p;
}

static void small_noise_points(builder *b)
{
    for (size_t i = 0; i < b->right->count; i++) {
        double u = b->c->invariant + b->right->value[i];
        size_t first = levels_find(b->wrong, u, b->c->tolerance);
        int tie = first < b->wrong->count && b->wrong->value[first] <= u + b->c->tolerance;
        keep(b, (point){i, 1, &one, first, (size_t)tie, &one, tie, 0, 0, 0});
    }
}

/* Phi((v - u)/tau) of the wrong levels v within reach of u = base + tau z. The
 * difference v - base is taken first: tau may be far below the rounding of u. */
static void add_wrong_window(builder *b, point *p, double base, double z)
{
    double tau = b->c->noise, reach = (NORMAL_REACH + 1) * tau;
    p->wrong_first = levels_find(b->wrong, base + tau * z - reach, 0);
    size_t end = p->wrong_first;
    while (end < b->wrong->count && b->wrong->value[end] <= base + tau * z + reach)
        end++;
    p->wrong_count = end - p->wrong_first;
    double *weight = bang_arena_alloc(b->arena, p->wrong_count, sizeof *weight);
    if (!weight) {
        b->failed = 1;
        p->wrong_count = 0;
        return;
    }
    for (size_t j = 0; j < p->wrong_count; j++) {
        double difference = b->wrong->value[p->wrong_first + j] - base;
        if (fabs(difference) <= b->c->tolerance)
            difference = 0;
        weight[j] = normal_cdf(difference / tau - z);
    }
    p->wrong_weight = weight;
}

/* A grid of z around every level of its own: right where levels lie far apart. */
static void separate_points(builder *b, double step)
{
    int64_t last = (int64_t)ceil(NORMAL_REACH / step);
    for (int64_t k = -last; k <= last; k++) {
        double z = (double)k * step;
        double *weight = bang_arena_alloc(b->arena, 1, sizeof *weight);
        if (!weight) {
            b->failed = 1;
            return;
        }
        *weight = step * normal_density(z);
        for (size_t i = 0; i < b->right->count && !b->failed; i++) {
            if (*weight * b->right_probability[i] < b->limit)
                continue;
            point p = {.right_first = i, .right_count = 1, .right_weight = weight};
            add_wrong_window(b, &p, b->c->invariant + b->right->value[i], z);
            keep(b, p);
        }
    }
}

/* One grid of u for all levels: right where their bells overlap. */
static void common_points(builder *b, double step)
{
    double tau = b->c->noise, reach = NORMAL_REACH * tau;
    double begin = b->c->invariant + b->right->value[0] - reach;
    double end = b->c->invariant + b->right->value[b->right->count - 1] + reach;
    int64_t last = (int64_t)ceil((end - begin) / (step * tau));
    size_t first = 0;
    for (int64_t k = 0; k <= last && !b->failed; k++) {
        double u = begin + (double)k * step * tau, s = u - b->c->invariant;
        while (first < b->right->count && b->right->value[first] < s - reach)
            first++;
        size_t stop = first;
        while (stop < b->right->count && b->right->value[stop] <= s + reach)
            stop++;
        if (stop == first)
            continue;
        double *weight = bang_arena_alloc(b->arena, stop - first, sizeof *weight);
        if (!weight) {
            b->failed = 1;
            return;
        }
        for (size_t i = first; i < stop; i++)
            weight[i - first] = step * normal_density((s - b->right->value[i]) / tau);
        point p = {.right_first = first, .right_count = stop - first, .right_weight = weight};
        add_wrong_window(b, &p, u, 0);
        keep(b, p);
    }
}

int points_build(point_set *out, const exact_case *c, const level_set *wrong,
                 const double *wrong_probability, const level_set *right,
                 const double *right_probability, double limit, bang_arena *arena, bang_error *err)
{
    *out = (point_set){0};
    builder b = {.c = c,
                 .wrong = wrong,
                 .right = right,
                 .right_probability = right_probability,
                 .wrong_probability = wrong_probability,
                 .limit = limit / (double)right->count,
                 .arena = arena,
                 .out = out};
    b.wrong_suffix = bang_arena_alloc(arena, wrong->count + 1, sizeof *b.wrong_suffix);
    if (!b.wrong_suffix)
        return bang_fail_memory(err);
    for (size_t i = wrong->count; i-- > 0;)
        b.wrong_suffix[i] = b.wrong_suffix[i + 1] + wrong_probability[i];
    double step = normal_step((double)c->classes);
    double span = right->value[right->count - 1] - right->value[0];
    if (c->noise <= 0) {
        small_noise_points(&b);
    } else {
        b.limit /= 64;
        /* one grid for all if it has fewer points and u keeps enough digits */
        double common = (span / c->noise + 2 * NORMAL_REACH) / step;
        double separate = (double)right->count * 2 * NORMAL_REACH / step;
        double size = fabs(c->invariant) + fabs(right->value[0]) + span;
        if (common < separate && c->noise > 1e-3 * size)
            common_points(&b, step);
        else
            separate_points(&b, step);
    }
    return b.failed ? bang_fail_memory(err) : 0;
}
