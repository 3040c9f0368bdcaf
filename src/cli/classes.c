#include "classes.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    return strcmp(**(char *const *const *)left, **(char *const *const *)right);
}

/* Names are many where there are many classes: sorted. */
long classes_find(int64_t *place, const bang_images *set, const bang_vit_model *model)
{
    long found = 0;
    for (size_t i = 0; i < set->classes; i++)
        place[i] = -1;
    if (!set->class_names || model->class_count == 0)
        return 0;
    char *const **sorted = calloc(model->class_count, sizeof *sorted);
    if (!sorted)
        return -1;
    for (size_t i = 0; i < model->class_count; i++)
        sorted[i] = &model->class_names[i];
    qsort((void *)sorted, model->class_count, sizeof *sorted, by_name);
    for (size_t i = 0; i < set->classes; i++) {
        char *const *name = &set->class_names[i];
        char *const *const *hit = bsearch((const void *)&name, (const void *)sorted,
                                          model->class_count, sizeof *sorted, by_name);
        place[i] = hit ? *hit - model->class_names : -1;
        found += hit != NULL;
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
