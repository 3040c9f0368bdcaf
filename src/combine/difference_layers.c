/* Which layers there are, and in which order they stand. */
#include <stdlib.h>
#include <string.h>

#include "bang/combine/layer.h"
#include "combine/difference.h"

/* The layer of a tensor, or one layer of all. */
typedef struct place {
    const char *name;
    size_t length; /* of the name that counts */
    size_t first;  /* index of the tensor, or of the layer's first */
    size_t rank;   /* first of all layers that differ in numbers only */
} place;

static size_t digits(const char *s, size_t left)
{
    size_t n = 0;
    while (n < left && s[n] >= '0' && s[n] <= '9')
        n++;
    return n;
}

/* Runs of digits: all alike, or by value (then the longer, with more zeros, last). */
static int compare_numbers(const char *a, size_t m, const char *b, size_t n)
{
    size_t zeros_a = 0, zeros_b = 0;
    while (zeros_a < m && a[zeros_a] == '0')
        zeros_a++;
    while (zeros_b < n && b[zeros_b] == '0')
        zeros_b++;
    if (m - zeros_a != n - zeros_b)
        return m - zeros_a < n - zeros_b ? -1 : 1;
    return memcmp(a + zeros_a, b + zeros_b, m - zeros_a);
}

static int compare_parts(const char *a, size_t m, const char *b, size_t n, int alike)
{
    size_t i = 0, k = 0;
    while (i < m && k < n) {
        size_t run_a = digits(a + i, m - i), run_b = digits(b + k, n - k);
        int order = 0;
        if (run_a && run_b) {
            if (!alike)
                order = compare_numbers(a + i, run_a, b + k, run_b);
            i += run_a;
            k += run_b;
        } else {
            order = (unsigned char)a[i++] - (unsigned char)b[k++];
        }
        if (order)
            return order;
    }
    return (i < m) - (k < n);
}

int bang_name_compare(const char *a, const char *b)
{
    int order = compare_parts(a, strlen(a), b, strlen(b), 0);
    return order ? order : strcmp(a, b);
}

static int compare_exactly(const place *a, const place *b)
{
    size_t least = a->length < b->length ? a->length : b->length;
    int order = least ? memcmp(a->name, b->name, least) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_layer(const void *left, const void *right)
{
    const place *a = left, *b = right;
    int order = compare_exactly(a, b);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

static int by_stack(const void *left, const void *right)
{
    const place *a = left, *b = right;
    int order = compare_parts(a->name, a->length, b->name, b->length, 1);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

static int by_rank(const void *left, const void *right)
{
    const place *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int order = compare_parts(a->name, a->length, b->name, b->length, 0);
    return order ? order : compare_exactly(a, b);
}

/* One place per layer out of one per tensor. */
static size_t merge(place *places, size_t count)
{
    size_t kept = 0;
    qsort(places, count, sizeof *places, by_layer);
    for (size_t i = 0; i < count; i++)
        if (!kept || compare_exactly(&places[kept - 1], &places[i]) != 0)
            places[kept++] = places[i];
    return kept;
}

static void arrange(place *places, size_t count)
{
    qsort(places, count, sizeof *places, by_stack);
    for (size_t i = 0; i < count; i++) {
        const place *before = i ? &places[i - 1] : NULL;
        int joins = before && compare_parts(before->name, before->length, places[i].name,
                                            places[i].length, 1) == 0;
        places[i].rank = joins ? before->rank : places[i].first;
    }
    qsort(places, count, sizeof *places, by_rank);
}

static const char *keep_name(bang_arena *arena, const place *at)
{
    char *name = bang_arena_alloc(arena, at->length + 1, 1);
    return name && at->length ? memcpy(name, at->name, at->length) : name;
}

/* The tensors once more, sorted by their layers, run along the layers sorted alike. */
static void assign(bang_difference *d, place *tensors, place *layers)
{
    size_t at = 0;
    for (size_t i = 0; i < d->layer_count; i++)
        layers[i].rank = i; /* where it stands */
    qsort(layers, d->layer_count, sizeof *layers, by_layer);
    for (size_t i = 0; i < d->count; i++) {
        while (compare_exactly(&layers[at], &tensors[i]) != 0)
            at++;
        d->tensors[tensors[i].first].layer = layers[at].rank;
    }
}

int bang_difference_layers(bang_difference *d)
{
    place *tensors = calloc(d->count + 1, sizeof *tensors);
    place *layers = calloc(d->count + 1, sizeof *layers);
    int rc = tensors && layers ? 0 : -1;
    for (size_t i = 0; i < d->count && rc == 0; i++) {
        const char *name = d->tensors[i].a->name;
        tensors[i] = (place){name, bang_layer_length(name), i, 0};
    }
    if (rc == 0 && d->count) {
        memcpy(layers, tensors, d->count * sizeof *layers);
        qsort(tensors, d->count, sizeof *tensors, by_layer);
        d->layer_count = merge(layers, d->count);
        arrange(layers, d->layer_count);
    }
    if (rc == 0)
        d->layers = bang_arena_alloc(&d->arena, d->layer_count, sizeof *d->layers);
    if (!d->layers)
        rc = -1;
    for (size_t i = 0; i < d->layer_count && rc == 0; i++) {
        d->layers[i].name = keep_name(&d->arena, &layers[i]);
        rc = d->layers[i].name ? 0 : -1;
    }
    if (rc == 0)
        assign(d, tensors, layers);
    free(tensors);
    free(layers);
    return rc;
}
