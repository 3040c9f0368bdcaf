#include "combine/difference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/combine/layer.h"

/* What is read, and what comes of it. */
typedef struct reading {
    bang_difference *found;
    bang_stream_item *items; /* (found->count) */
    bang_feed *feeds;        /* (found->count, 2) */
    bang_pair_sums *sums;    /* (found->count) */
} reading;

static int comparable(const bang_entry *a, const bang_entry *b)
{
    return bang_entry_same_shape(a, b) && (a->dtype == b->dtype || (bang_pair_is_number(a->dtype) &&
                                                                    bang_pair_is_number(b->dtype)));
}

static const char *keep_text(bang_difference *d, bang_text *text)
{
    char *kept = text->failed ? NULL : bang_arena_alloc(&d->arena, text->size + 1, 1);
    if (kept)
        memcpy(kept, text->data, text->size);
    bang_text_release(text);
    return kept;
}

static int add_mismatch(bang_difference *d, const bang_entry *a, const bang_entry *b)
{
    bang_text why = {0};
    if (!bang_entry_same_shape(a, b)) {
        char one[256], other[256];
        bang_entry_shape_text(one, sizeof one, a);
        bang_entry_shape_text(other, sizeof other, b);
        bang_text_add(&why, "shape %s and %s", one, other);
    } else if (a->dtype != b->dtype) {
        bang_text_add(&why, "type %s and %s, which are no numbers to compare",
                      bang_dtype_name(a->dtype), bang_dtype_name(b->dtype));
    } else {
        bang_text_add(&why, "bytes, of type %s, which are no numbers to compare",
                      bang_dtype_name(a->dtype));
    }
    const char *kept = keep_text(d, &why);
    d->different[d->different_count++] = (bang_mismatch){a, b, kept};
    return kept ? 0 : -1;
}

/* Who is in both, who in one. */
static int match(bang_difference *d, const bang_checkpoint *a, const bang_checkpoint *b)
{
    d->tensors = bang_arena_alloc(&d->arena, a->count, sizeof *d->tensors);
    d->different = bang_arena_alloc(&d->arena, a->count, sizeof *d->different);
    d->only_a = bang_arena_alloc(&d->arena, a->count, sizeof(bang_entry *));
    d->only_b = bang_arena_alloc(&d->arena, b->count, sizeof(bang_entry *));
    if (!d->tensors || !d->different || !d->only_a || !d->only_b)
        return -1;
    for (size_t i = 0; i < a->count; i++) {
        const bang_entry *entry = &a->entries[i], *other = bang_checkpoint_find(b, entry->name);
        if (!other)
            d->only_a[d->only_a_count++] = entry;
        else if (comparable(entry, other))
            d->tensors[d->count++] = (bang_tensor_change){.a = entry, .b = other};
        else if (add_mismatch(d, entry, other) < 0)
            return -1;
    }
    for (size_t i = 0; i < b->count; i++)
        if (!bang_checkpoint_find(a, b->entries[i].name))
            d->only_b[d->only_b_count++] = &b->entries[i];
    return 0;
}

static void look(void *context, size_t item, uint64_t first, size_t count, const void *const *in,
                 void *partial)
{
    const reading *r = context;
    const bang_entry *a = r->found->tensors[item].a, *b = r->found->tensors[item].b;
    bang_pair_sums *sums = partial;
    (void)first;
    if (bang_pair_is_number(a->dtype))
        bang_pair_block(sums, in[0], a->dtype, in[1], b->dtype, count);
    else
        sums->unequal = memcmp(in[0], in[1], count * bang_entry_step(a)) != 0;
}

static void take(void *context, size_t item, const void *partial)
{
    const reading *r = context;
    bang_pair_add(&r->sums[item], partial);
}

static int read_all(reading *r, const bang_checkpoint *a, const bang_checkpoint *b,
                    bang_stream *stream, bang_error *err)
{
    bang_difference *d = r->found;
    r->items = calloc(d->count + 1, sizeof *r->items);
    r->feeds = calloc(d->count + 1, 2 * sizeof *r->feeds);
    r->sums = calloc(d->count + 1, sizeof *r->sums);
    if (!r->items || !r->feeds || !r->sums)
        return bang_fail_memory(err);
    for (size_t i = 0; i < d->count; i++) {
        bang_feed *feeds = r->feeds + 2 * i;
        feeds[0] = (bang_feed){a, d->tensors[i].a};
        feeds[1] = (bang_feed){b, d->tensors[i].b};
        r->items[i] =
            (bang_stream_item){.feeds = feeds, .count = bang_entry_count(d->tensors[i].a)};
        r->sums[i].unequal = d->tensors[i].a->dtype != d->tensors[i].b->dtype;
    }
    return bang_stream_scan(stream, r->items, d->count, 2, sizeof(bang_pair_sums), look, take, r,
                            err);
}

/* A type without arithmetic is kept only where it is equal. */
static int judge_tensors(reading *r)
{
    bang_difference *d = r->found;
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        bang_tensor_change tensor = d->tensors[i];
        int number = bang_pair_is_number(tensor.a->dtype);
        if (!number && r->sums[i].unequal) {
            if (add_mismatch(d, tensor.a, tensor.b) < 0)
                return -1;
            continue;
        }
        tensor.equal = !r->sums[i].unequal;
        d->equal += (size_t)tensor.equal;
        bang_pair_finish(&tensor.change, &r->sums[i], number ? r->items[i].count : 0);
        if (tensor.change.not_finite) {
            bang_change *c = &tensor.change;
            c->norm_a = c->norm_b = NAN;
            c->cosine = c->norm_ratio = c->relative_change = c->max_abs = NAN;
        }
        r->sums[kept] = r->sums[i];
        d->tensors[kept++] = tensor;
    }
    d->count = kept;
    return 0;
}

int bang_tensor_change_counts(const bang_tensor_change *tensor)
{
    return !bang_dtype_is_integer(tensor->a->dtype) && !bang_dtype_is_integer(tensor->b->dtype);
}

/* Of integers that differ, and nothing else, there is nothing to say. */
static void undefine(bang_change *change)
{
    if (change->count == 0)
        *change = (bang_change){0, 0, NAN, NAN, NAN, NAN, NAN, NAN};
}

static int sum_layers(reading *r)
{
    bang_difference *d = r->found;
    bang_pair_sums total = {0}, *sums = calloc(d->layer_count + 1, sizeof *sums);
    uint64_t all = 0;
    if (!sums)
        return -1;
    for (size_t i = 0; i < d->count; i++) {
        const bang_tensor_change *tensor = &d->tensors[i];
        bang_layer_change *layer = &d->layers[tensor->layer];
        layer->tensors++;
        layer->equal += (size_t)tensor->equal;
        if (!bang_tensor_change_counts(tensor))
            continue;
        layer->change.count += tensor->change.count;
        all += tensor->change.count;
        bang_pair_add(&sums[tensor->layer], &r->sums[i]);
        bang_pair_add(&total, &r->sums[i]);
    }
    for (size_t i = 0; i < d->layer_count; i++)
        bang_pair_finish(&d->layers[i].change, &sums[i], d->layers[i].change.count);
    bang_pair_finish(&d->total, &total, all);
    for (size_t i = 0; i < d->count; i++) {
        if (bang_tensor_change_counts(&d->tensors[i]) || d->tensors[i].equal)
            continue;
        undefine(&d->layers[d->tensors[i].layer].change);
        undefine(&d->total);
    }
    free(sums);
    return 0;
}

int bang_difference_measure(bang_difference *out, const bang_checkpoint *a,
                            const bang_checkpoint *b, bang_stream *stream, bang_error *err)
{
    reading r = {.found = out};
    *out = (bang_difference){0};
    int rc = match(out, a, b) < 0 ? bang_fail_memory(err) : 0;
    if (rc == 0)
        rc = read_all(&r, a, b, stream, err);
    if (rc == 0 && (judge_tensors(&r) < 0 || bang_difference_layers(out) < 0 || sum_layers(&r) < 0))
        rc = bang_fail_memory(err);
    free(r.items);
    free(r.feeds);
    free(r.sums);
    return rc;
}

void bang_difference_release(bang_difference *difference)
{
    bang_arena_release(&difference->arena);
    *difference = (bang_difference){0};
}
