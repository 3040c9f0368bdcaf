#include "theory/sets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void index_set_release(index_set *set)
{
    free(set->intervals);
    *set = (index_set){0};
}

static int add_interval(index_set *set, int64_t begin, int64_t end, bang_error *err)
{
    if ((set->count & (set->count - 1)) == 0) { /* full at every power of two */
        size_t room = set->count ? 2 * set->count : 1;
        interval *grown = realloc(set->intervals, room * sizeof *grown);
        if (!grown)
            return bang_fail_memory(err);
        set->intervals = grown;
    }
    set->intervals[set->count++] = (interval){begin, end};
    return 0;
}

/* Reads digits at *at; -1 if there are none or the number is too large. */
static int64_t read_index(const char **at)
{
    int64_t value = 0;
    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); ++*at) {
        value = 10 * value + (**at - '0');
        if (value >= BANG_THEORY_MAX_FEATURES)
            return -1;
    }
    return value;
}

static int compare_intervals(const void *a, const void *b)
{
    const interval *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts and refuses an index that is named twice. */
static int close_set(index_set *set, char letter, const char *text, bang_error *err)
{
    if (set->count)
        qsort(set->intervals, set->count, sizeof *set->intervals, compare_intervals);
    for (size_t i = 1; i < set->count; i++)
        if (set->intervals[i].begin < set->intervals[i - 1].end)
            return bang_fail(err, BANG_EUSAGE,
                             "model '%s': index %c%lld is named twice: name each feature once",
                             text, letter, (long long)set->intervals[i].begin);
    return 0;
}

/* One item: an optional letter, then N, N-M or nothing after a letter. */
static int parse_item(index_set sets[FEATURE_KINDS], int *kind, const char **at, const char *text,
                      bang_error *err)
{
    int lettered = **at == 'v' || **at == 's';
    if (lettered)
        *kind = *(*at)++ == 'v' ? FEATURE_INVARIANT : FEATURE_SPURIOUS;
    if (lettered && (**at == ',' || **at == '\0'))
        return 0; /* "v" alone: none of this kind */
    int64_t first = read_index(at), last = first;
    if (first >= 0 && **at == '-') {
        ++*at;
        last = read_index(at);
    }
    if (*kind < 0 || first < 0 || last < first || (**at != ',' && **at != '\0'))
        return bang_fail(err, BANG_EUSAGE,
                         "model '%.80s': cannot be read: write counts as 2,3 or index sets as "
                         "v0-1,s0,2-3 (indices below %d)",
                         text, BANG_THEORY_MAX_FEATURES);
    return add_interval(&sets[*kind], first, last + 1, err);
}

int index_sets_parse(index_set sets[FEATURE_KINDS], const char *text, bang_error *err)
{
    memset(sets, 0, FEATURE_KINDS * sizeof *sets);
    int kind = -1;
    const char *at = text;
    for (;;) {
        int rc = parse_item(sets, &kind, &at, text, err);
        if (rc < 0)
            return rc;
        if (*at == '\0')
            break;
        at++;
    }
    int rc = close_set(&sets[FEATURE_INVARIANT], 'v', text, err);
    return rc < 0 ? rc : close_set(&sets[FEATURE_SPURIOUS], 's', text, err);
}

static int contains(const index_set *set, int64_t index)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->intervals[middle].end <= index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && set->intervals[low].begin <= index;
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_patterns(const void *a, const void *b)
{
    const bang_theory_pattern *x = a, *y = b;
    return (x->models > y->models) - (x->models < y->models);
}

/* Appends one pattern per stretch of indices between two interval ends. */
static void add_stretches(bang_theory_pattern *patterns, size_t *count, int64_t *ends,
                          const struct bang_theory_sets *sets, int models, int kind)
{
    size_t end_count = 0;
    for (int m = 0; m < models; m++)
        for (size_t i = 0; i < sets->of[m][kind].count; i++) {
            ends[end_count++] = sets->of[m][kind].intervals[i].begin;
            ends[end_count++] = sets->of[m][kind].intervals[i].end;
        }
    if (end_count)
        qsort(ends, end_count, sizeof *ends, compare_int64);
    for (size_t i = 0; i + 1 < end_count; i++) {
        if (ends[i] == ends[i + 1])
            continue;
        bang_theory_pattern pattern = {0};
        for (int m = 0; m < models; m++)
            if (contains(&sets->of[m][kind], ends[i]))
                pattern.models |= UINT64_C(1) << m;
        if (kind == FEATURE_INVARIANT)
            pattern.invariant = ends[i + 1] - ends[i];
        else
            pattern.spurious = ends[i + 1] - ends[i];
        if (pattern.models)
            patterns[(*count)++] = pattern;
    }
}

int index_sets_patterns(bang_theory_pattern **patterns, size_t *count,
                        const struct bang_theory_sets *sets, int models, bang_error *err)
{
    size_t intervals = 0;
    for (int m = 0; m < models; m++)
        intervals += sets->of[m][0].count + sets->of[m][1].count;
    bang_theory_pattern *found = calloc(2 * intervals + 1, sizeof *found);
    int64_t *ends = calloc(2 * intervals + 1, sizeof *ends);
    if (!found || !ends) {
        free(found);
        free(ends);
        return bang_fail_memory(err);
    }
    size_t total = 0;
    add_stretches(found, &total, ends, sets, models, FEATURE_INVARIANT);
    add_stretches(found, &total, ends, sets, models, FEATURE_SPURIOUS);
    free(ends);
    qsort(found, total, sizeof *found, compare_patterns);
    size_t kept = 0;
    for (size_t i = 0; i < total; i++) {
        if (kept && found[kept - 1].models == found[i].models) {
            found[kept - 1].invariant += found[i].invariant;
            found[kept - 1].spurious += found[i].spurious;
        } else {
            found[kept++] = found[i];
        }
    }
    *patterns = found;
    *count = kept;
    return 0;
}
