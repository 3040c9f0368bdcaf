#include <stdlib.h>

#include "measure/tally.h"

enum { PLAIN_MEMBERS = 12, FIRST_SLOTS = 64 };

int bang_counts_init(bang_counts *counts, size_t members, bang_error *err)
{
    *counts = (bang_counts){0};
    if (members <= PLAIN_MEMBERS) {
        counts->plain = calloc((size_t)1 << members, sizeof *counts->plain);
    } else {
        counts->capacity = FIRST_SLOTS;
        counts->slots = calloc(counts->capacity, sizeof *counts->slots);
    }
    return counts->plain || counts->slots ? 0 : bang_fail_memory(err);
}

void bang_counts_release(bang_counts *counts)
{
    free(counts->plain);
    free(counts->slots);
    *counts = (bang_counts){0};
}

/* Where the pattern is, or the free place (count 0) where it belongs. */
static bang_pattern *slot_of(bang_pattern *slots, size_t capacity, uint64_t right)
{
    uint64_t hash = right * 0x9E3779B97F4A7C15U;
    size_t at = (size_t)(hash ^ hash >> 32) & (capacity - 1);
    while (slots[at].count > 0 && slots[at].right != right)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static int grow(bang_counts *counts, bang_error *err)
{
    size_t capacity = 2 * counts->capacity;
    bang_pattern *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return bang_fail_memory(err);
    for (size_t i = 0; i < counts->capacity; i++)
        if (counts->slots[i].count > 0)
            *slot_of(slots, capacity, counts->slots[i].right) = counts->slots[i];
    free(counts->slots);
    counts->slots = slots;
    counts->capacity = capacity;
    return 0;
}

int bang_counts_add(bang_counts *counts, uint64_t right, bang_error *err)
{
    if (counts->plain) {
        counts->plain[right]++;
        return 0;
    }
    bang_pattern *slot = slot_of(counts->slots, counts->capacity, right);
    slot->right = right;
    if (slot->count++ > 0 || ++counts->used <= counts->capacity / 2)
        return 0;
    return grow(counts, err);
}

static size_t places(const bang_counts *counts, size_t members)
{
    return counts->plain ? (size_t)1 << members : counts->capacity;
}

static bang_pattern pattern_at(const bang_counts *counts, size_t i)
{
    return counts->plain ? (bang_pattern){i, counts->plain[i]} : counts->slots[i];
}

static int by_right(const void *a, const void *b)
{
    uint64_t x = ((const bang_pattern *)a)->right, y = ((const bang_pattern *)b)->right;
    return (x > y) - (x < y);
}

int bang_counts_collect(bang_pattern **out, size_t *count, const bang_counts *counts,
                        size_t counts_count, size_t members, bang_error *err)
{
    size_t most = 0, found = 0, kept = 0;
    *out = NULL;
    *count = 0;
    for (size_t c = 0; c < counts_count; c++)
        for (size_t i = 0; i < places(&counts[c], members); i++)
            most += pattern_at(&counts[c], i).count > 0;
    bang_pattern *all = malloc((most + 1) * sizeof *all);
    if (!all)
        return bang_fail_memory(err);
    for (size_t c = 0; c < counts_count; c++)
        for (size_t i = 0; i < places(&counts[c], members); i++) {
            bang_pattern pattern = pattern_at(&counts[c], i);
            if (pattern.count > 0)
                all[found++] = pattern;
        }
    qsort(all, found, sizeof *all, by_right);
    for (size_t i = 0; i < found; i++)
        if (kept > 0 && all[kept - 1].right == all[i].right)
            all[kept - 1].count += all[i].count;
        else
            all[kept++] = all[i];
    *out = all;
    *count = kept;
    return 0;
}
