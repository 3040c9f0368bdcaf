#include "classes.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    return strcmp(**(char *const *const *)left, **(char *const *const *)right);
}

/* Names are many where there are many classes: sorted. */
long classes_find(int64_t *place, const bang_images *set, char *const *names, size_t count)
{
    long found = 0;
    for (size_t i = 0; i < set->classes; i++)
        place[i] = -1;
    if (!set->class_names || count == 0)
        return 0;
    char *const **sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return -1;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &names[i];
    qsort((void *)sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < set->classes; i++) {
        char *const *name = &set->class_names[i];
        char *const **hit =
            bsearch((const void *)&name, (const void *)sorted, count, sizeof *sorted, by_name);
        size_t at = hit ? (size_t)(hit - sorted) : 0;
        int twin = hit && ((at > 0 && by_name(hit, hit - 1) == 0) ||
                           (at + 1 < count && by_name(hit, hit + 1) == 0));
        place[i] = hit && !twin ? *hit - names : -1;
        found += place[i] >= 0;
    }
    free((void *)sorted);
    return found;
}

size_t classes_renumber(bang_images *set, const int64_t *place)
{
    size_t moved = 0;
    for (size_t i = 0; i < set->classes; i++)
        moved += place[i] != (int64_t)i;
    for (size_t i = 0; i < set->count; i++)
        if (set->labels[i] >= 0)
            set->labels[i] = place[set->labels[i]];
    return moved;
}
