#include "classes.h"

#include <stdlib.h>
#include <string.h>

typedef int order(const void *left, const void *right);

static int by_name(const void *left, const void *right)
{
    return strcmp(**(char *const *const *)left, **(char *const *const *)right);
}

static int plain(char c)
{
    if (c == '_' || c == '-')
        return ' ';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static int by_plain_name(const void *left, const void *right)
{
    const char *a = **(char *const *const *)left, *b = **(char *const *const *)right;
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return plain(*a) - plain(*b);
}

/* The place among sorted of the one name that is equal to name, or -1. */
static int64_t find(char *const *name, char *const *const *sorted, size_t count, order *compare)
{
    char *const *const *hit =
        bsearch((const void *)&name, (const void *)sorted, count, sizeof *sorted, compare);
    if (!hit)
        return -1;
    size_t at = (size_t)(hit - sorted);
    int twin = (at > 0 && compare((const void *)hit, (const void *)(hit - 1)) == 0) ||
               (at + 1 < count && compare((const void *)hit, (const void *)(hit + 1)) == 0);
    return twin ? -1 : (int64_t)at;
}

/* Looks for the classes that have no place yet. users, (count), are the classes that have
 * or want a name: what is wanted twice is nobody's. */
static void find_all(int64_t *place, size_t *users, int64_t *wish, const bang_images *set,
                     char *const *names, char *const **sorted, size_t count, order *compare)
{
    qsort((void *)sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; i < set->classes; i++) {
        int64_t at = place[i] < 0 ? find(&set->class_names[i], sorted, count, compare) : -1;
        wish[i] = at < 0 ? -1 : sorted[at] - names;
        if (at >= 0)
            users[wish[i]]++;
    }
    for (size_t i = 0; i < set->classes; i++)
        if (wish[i] >= 0 && users[wish[i]] == 1)
            place[i] = wish[i];
}

/* Names are many where there are many classes: sorted. */
long classes_find(int64_t *place, const bang_images *set, char *const *names, size_t count)
{
    long found = -1;
    for (size_t i = 0; i < set->classes; i++)
        place[i] = -1;
    if (!set->class_names || count == 0)
        return 0;
    char *const **sorted = calloc(count, sizeof *sorted);
    size_t *users = calloc(count, sizeof *users);
    int64_t *wish = calloc(set->classes + 1, sizeof *wish);
    if (sorted && users && wish) {
        for (size_t i = 0; i < count; i++)
            sorted[i] = &names[i];
        find_all(place, users, wish, set, names, sorted, count, by_name);
        find_all(place, users, wish, set, names, sorted, count, by_plain_name);
        found = 0;
        for (size_t i = 0; i < set->classes; i++)
            found += place[i] >= 0;
    }
    free((void *)sorted);
    free(users);
    free(wish);
    return found;
}

int classes_in_order(const bang_images *set, const int64_t *place, size_t outputs)
{
    for (size_t i = 0; i < set->classes; i++)
        if (place[i] >= 0 && place[i] != (int64_t)i)
            return 0;
    return set->classes == outputs;
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
