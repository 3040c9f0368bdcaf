/* Appendix D.6: how likely is it that one given wrong class beats the true one?
 * Only the difference d_g = r_g1 - r_gk counts; a feature changes it by +1 with
 * probability q, by -1 with p/K, else not. */
#include <math.h>
#include <string.h>

#include "theory/levels.h"
#include "theory/normal.h"

enum { MAX_COUNT = 4000, MAX_GROUPS = 64 };
static const double MAX_COMBINATIONS = 2e7;

/* P(d = j - n) for j = 0 .. 2n, by adding features; out has 2n+1 entries. */
static void difference_table(double *out, int64_t count, double same, double other)
{
    size_t n = (size_t)count;
    memset(out, 0, (2 * n + 1) * sizeof *out);
    out[n] = 1;
    for (size_t k = 1; k <= n; k++) { /* before: d within -(k-1) .. k-1 */
        double before = 0, here = 0;
        for (size_t j = n - k; j <= n + k; j++) {
            double after = j < n + k ? out[j + 1] : 0;
            here = out[j];
            out[j] = same * before + (1 - same - other) * here + other * after;
            before = here;
        }
    }
}

static double sum_failures(const level_set *levels, const double *probability,
                           const bang_theory_score *score, double tolerance)
{
    double sum = 0;
    for (size_t i = 0; i < levels->count; i++) {
        double margin = score->invariant + levels->value[i];
        if (fabs(margin) <= tolerance)
            margin = 0;
        if (score->noise > 0) /* the noise of two logits */
            sum += probability[i] * normal_cdf(-margin / (score->noise * sqrt(2)));
        else if (margin < 0)
            sum += probability[i];
    }
    return sum;
}

int bang_theory_failure(double *out, const bang_theory_score *score, int64_t classes, double shift,
                        bang_error *err)
{
    double other = shift / (double)classes, same = 1 - shift + other;
    double combinations = 1, size = fabs(score->invariant);
    int64_t low[MAX_GROUPS], high[MAX_GROUPS];
    if (score->group_count > MAX_GROUPS)
        combinations = INFINITY;
    for (size_t g = 0; g < score->group_count && g < MAX_GROUPS; g++) {
        int64_t n = score->groups[g].count;
        low[g] = -n;
        high[g] = n;
        combinations = levels_bound(score->groups, g, low, high) * (2 * (double)n + 1);
        if (n > MAX_COUNT || combinations > MAX_COMBINATIONS) {
            combinations = INFINITY;
            break;
        }
        size += fabs(score->groups[g].coefficient) * (double)n;
    }
    if (!(combinations <= MAX_COMBINATIONS))
        return bang_fail(err, BANG_EUSAGE,
                         "failure probability: too many spurious features: take at most %d of one "
                         "weight",
                         MAX_COUNT);
    bang_arena arena = {0};
    level_set levels;
    int rc = levels_build(&levels, score->groups, score->group_count, low, high, 1e-14 * size,
                          &arena, err);
    size_t most = 1;
    for (size_t g = 0; rc == 0 && g < levels.step_count; g++)
        most = levels.steps[g].count > most ? levels.steps[g].count : most;
    double *now = bang_arena_alloc(&arena, most, sizeof *now);
    double *next = bang_arena_alloc(&arena, most, sizeof *next);
    double *table = bang_arena_alloc(&arena, 2 * MAX_COUNT + 1, sizeof *table);
    if (rc == 0 && (!now || !next || !table))
        rc = bang_fail_memory(err);
    if (rc == 0) {
        now[0] = 1;
        for (size_t g = 0; g < levels.step_count; g++) {
            const level_step *step = &levels.steps[g];
            difference_table(table, score->groups[g].count, same, other);
            memset(next, 0, step->count * sizeof *next);
            for (size_t i = 0; i < step->previous; i++)
                for (size_t j = 0; j < step->range; j++)
                    next[step->next[i * step->range + j]] += now[i] * table[j];
            double *swap = now;
            now = next;
            next = swap;
        }
        *out = sum_failures(&levels, now, score, 1e-14 * size);
    }
    bang_arena_release(&arena);
    return rc;
}
