#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/class_map.h"

/* Which class of the map each class of the set is, or -1. */
static int match(int64_t *to, const bang_images *set, const bang_class_map *map, size_t *found,
                 bang_error *err)
{
    char number[24];
    bang_outputs index = {0}; /* of the map's folders, to look names up in */
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < map->classes; i++)
        rc = bang_names_add(&index.names, strdup(map->folders[i]), err);
    if (rc == 0)
        rc = bang_outputs_sort(&index, err);
    for (size_t i = 0; rc == 0 && i < set->classes; i++) {
        snprintf(number, sizeof number, "%zu", i);
        to[i] = bang_outputs_find(&index, set->class_names ? set->class_names[i] : number);
        if (to[i] >= 0)
            found[to[i]]++;
    }
    bang_outputs_release(&index);
    return rc;
}

static void warn(bang_text *warnings, const bang_images *set, const bang_class_map *map,
                 const size_t *found)
{
    bang_some missing = {0};
    for (size_t i = 0; i < map->classes; i++)
        if (!found[i])
            bang_some_add(&missing, map->folders[i]);
    if (missing.count) {
        bang_text_add(warnings, "%.80s: %zu of %zu classes %s no pictures here: ", map->name,
                      missing.count, map->classes, missing.count == 1 ? "has" : "have");
        bang_some_end(warnings, &missing);
        bang_text_add(warnings, "\n");
    }
    if (map->images && set->count != map->images)
        bang_text_add(warnings, "%.80s: %zu pictures, but %zu are expected\n", map->name,
                      set->count, map->images);
}

/* Keeps the pictures whose class is in the map, with its number. */
static void keep(bang_images *set, const int64_t *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        int64_t label = set->labels[i] >= 0 ? to[set->labels[i]] : -1;
        if (label < 0) {
            free(set->paths[i]);
            continue;
        }
        set->paths[kept] = set->paths[i];
        set->labels[kept++] = label;
    }
    set->count = kept;
}

int bang_class_map_apply(bang_images *set, const bang_class_map *map, bang_text *warnings,
                         bang_error *err)
{
    if (!set->paths || set->classes == 0)
        return bang_fail(err, BANG_EUSAGE,
                         "%.80s: pictures without class folders: a map needs their names",
                         map->name);
    int64_t *to = calloc(set->classes, sizeof *to);
    size_t *found = calloc(map->classes + 1, sizeof *found);
    bang_names names = {0};
    int rc = to && found ? match(to, set, map, found, err) : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < map->classes; i++)
        rc = bang_names_add(&names, strdup(map->folders[i]), err);
    size_t matched = 0;
    for (size_t i = 0; rc == 0 && i < map->classes; i++)
        matched += found[i] > 0;
    if (rc == 0 && matched == 0)
        rc = bang_fail(err, BANG_EDATA,
                       "%.80s: no class folder of the data is in the map: it names %.80s, the data "
                       "%.80s",
                       map->name, map->classes ? map->folders[0] : "none",
                       set->class_names ? set->class_names[0] : "0");
    if (rc == 0) {
        keep(set, to);
        for (size_t i = 0; set->class_names && i < set->classes; i++)
            free(set->class_names[i]);
        free(set->class_names);
        set->class_names = names.list;
        set->classes = names.count;
        names = (bang_names){0};
        warn(warnings, set, map, found);
        if (warnings->failed)
            rc = bang_fail_memory(err);
    }
    bang_names_release(&names);
    free(found);
    free(to);
    return rc;
}
