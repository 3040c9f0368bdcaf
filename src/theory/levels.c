#include "theory/levels.h"

#include <math.h>
#include <stdlib.h>

/* One way to reach a value, before merging. */
typedef struct candidate {
    double value;
    uint32_t from; /* position in (previous, range) */
} candidate;

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Smallest q <= limit with |x - round(x q)/q| within rounding, else 0. */
static double small_denominator(double x, double limit)
{
    double before = 0, now = 1, rest = x; /* continued fraction: denominators */
    for (int i = 0; i < 40; i++) {
        double numerator = round(x * now);
        if (fabs(x * now - numerator) <= 2e-15 * fabs(x) * now)
            return now;
        double fraction = rest - floor(rest);
        if (fraction < 1e-14)
            return 0;
        rest = 1 / fraction;
        double next = floor(rest) * now + before;
        before = now;
        now = next;
        if (now > limit)
            return 0;
    }
    return 0;
}

double levels_unit(const bang_theory_group *groups, size_t group_count)
{
    double scale = 1;
    for (size_t g = 0; g < group_count && scale > 0; g++) {
        double q = small_denominator(scale * groups[g].coefficient / groups[0].coefficient, 1e4);
        scale = q > 0 && scale * q <= 1e8 ? scale * q : 0;
    }
    return scale > 0 ? fabs(groups[0].coefficient) / scale : 0;
}

double levels_bound(const bang_theory_group *groups, size_t group_count, const int64_t *low,
                    const int64_t *high)
{
    double product = 1, span = 0;
    for (size_t g = 0; g < group_count; g++)
        product *= (double)(high[g] - low[g] + 1);
    double unit = group_count ? levels_unit(groups, group_count) : 0;
    if (!(unit > 0))
        return product;
    for (size_t g = 0; g < group_count; g++)
        span += fabs(groups[g].coefficient) / unit * (double)(high[g] - low[g]);
    return fmin(product, span + 1);
}

/* Levels before, plus c times low..high, sorted and merged. scratch holds
 * previous * range candidates. */
static int add_group(level_set *set, level_step *step, double coefficient, double tolerance,
                     candidate *scratch, bang_arena *arena)
{
    size_t total = step->previous * step->range;
    for (size_t i = 0; i < step->previous; i++)
        for (size_t j = 0; j < step->range; j++)
            scratch[i * step->range + j] =
                (candidate){set->value[i] + coefficient * (double)(step->low + (int64_t)j),
                            (uint32_t)(i * step->range + j)};
    if (step->previous > 1 || coefficient < 0)
        qsort(scratch, total, sizeof *scratch, compare_candidates);
    step->count = 0;
    for (size_t i = 0; i < total; i++)
        step->count += i == 0 || scratch[i].value - scratch[i - 1].value > tolerance;
    double *value = bang_arena_alloc(arena, step->count, sizeof *value);
    step->next = bang_arena_alloc(arena, total, sizeof *step->next);
    if (!value || !step->next)
        return -1;
    size_t level = 0;
    for (size_t i = 0; i < total; i++) {
        if (i == 0 || scratch[i].value - scratch[i - 1].value > tolerance)
            value[level++] = scratch[i].value;
        step->next[scratch[i].from] = (uint32_t)(level - 1);
    }
    set->value = value;
    set->count = step->count;
    return 0;
}

int levels_build(level_set *out, const bang_theory_group *groups, size_t group_count,
                 const int64_t *low, const int64_t *high, double tolerance, bang_arena *arena,
                 bang_error *err)
{
    *out = (level_set){.count = 1, .step_count = group_count};
    out->value = bang_arena_alloc(arena, 1, sizeof *out->value);
    out->steps = bang_arena_alloc(arena, group_count, sizeof *out->steps);
    if (!out->value || !out->steps)
        return bang_fail_memory(err);
    for (size_t g = 0; g < group_count; g++) {
        level_step *step = &out->steps[g];
        *step = (level_step){.low = low[g], .previous = out->count};
        step->range = (size_t)(high[g] - low[g] + 1);
        if (step->previous == 0 || step->range > UINT32_MAX / step->previous)
            return bang_fail(err, BANG_EUSAGE, "too many distinct logits for an exact method");
        candidate *scratch = calloc(step->previous * step->range, sizeof *scratch);
        int rc =
            scratch ? add_group(out, step, groups[g].coefficient, tolerance, scratch, arena) : -1;
        free(scratch);
        if (rc < 0)
            return bang_fail_memory(err);
    }
    return 0;
}

size_t levels_find(const level_set *levels, double value, double tolerance)
{
    size_t first = 0, last = levels->count;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (levels->value[middle] < value - tolerance)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}
