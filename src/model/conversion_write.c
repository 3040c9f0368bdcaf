/* The one pass over the numbers: copied, or rounded to another type. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bang/tensor/convert.h"
#include "model/conversion.h"

/* What the blocks of a stream are made from. */
typedef struct writing {
    const bang_conversion *plan;
    size_t *tensors;          /* (stream items) whose part it is */
    bang_dtype *types;        /* (stream items) of the part */
    atomic_ullong *overflows; /* (tensors) */
    bang_feed *feeds;         /* (stream items) */
    bang_stream_item *items;  /* (count) */
    size_t count;
} writing;

void bang_conversion_retype(bang_conversion *plan, bang_dtype dtype)
{
    for (size_t i = 0; i < plan->count; i++)
        if (bang_dtype_is_real(plan->tensors[i].dtype))
            plan->tensors[i].dtype = dtype;
}

bang_output_item *bang_conversion_items(bang_conversion *plan)
{
    struct bang_conversion_state *state = plan->state;
    if (!state->items)
        state->items = bang_arena_alloc(&state->arena, plan->count, sizeof *state->items);
    for (size_t i = 0; state->items && i < plan->count; i++) {
        const bang_conversion_tensor *t = &plan->tensors[i];
        state->items[i] = (bang_output_item){
            .name = t->name, .dtype = t->dtype, .rank = t->rank, .shape = t->shape};
    }
    return state->items;
}

/* From here on a finite number rounds to infinity. */
static double limit_of(bang_dtype dtype)
{
    switch (dtype) {
    case BANG_F16:
        return 65520;
    case BANG_BF16:
        return 0x1.ffp127;
    case BANG_F32:
        return 0x1.ffffffp127;
    default:
        return INFINITY;
    }
}

static size_t round_doubles(void *out, bang_dtype to, const void *in, size_t count)
{
    double block[1024];
    double limit = limit_of(to);
    size_t beyond = 0;
    bang_to_f64(block, in, BANG_F64, count);
    for (size_t i = 0; i < count; i++)
        beyond += fabs(block[i]) >= limit && isfinite(block[i]);
    bang_from_f64(out, to, block, count);
    return beyond;
}

static size_t round_floats(void *out, bang_dtype to, const void *in, bang_dtype from, size_t count)
{
    float block[1024];
    double limit = limit_of(to);
    size_t beyond = 0;
    bang_to_f32(block, in, from, count);
    for (size_t i = 0; i < count; i++)
        beyond += (double)fabsf(block[i]) >= limit && isfinite(block[i]);
    bang_from_f32(out, to, block, count);
    return beyond;
}

/* Little-endian as every output is. */
static void count_up(unsigned char *out, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < 8; b++)
            out[8 * i + b] = (unsigned char)((first + i) >> 8 * b & 255);
}

static void make(void *context, size_t output, size_t item, uint64_t first, size_t count,
                 const void *const *in, void *out)
{
    enum { BLOCK = 1024 };
    writing *w = context;
    const bang_conversion_tensor *tensor = &w->plan->tensors[w->tensors[item]];
    bang_dtype from = w->types[item], to = tensor->dtype;
    size_t beyond = 0;
    (void)output;
    if (tensor->part_count == 0) {
        count_up(out, first, count);
        return;
    }
    if (from == to) {
        memcpy(out, in[0], count * w->items[item].step);
        return;
    }
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        const unsigned char *source = (const unsigned char *)in[0] + i * bang_dtype_size(from);
        unsigned char *target = (unsigned char *)out + i * bang_dtype_size(to);
        beyond += from == BANG_F64 ? round_doubles(target, to, source, n)
                                   : round_floats(target, to, source, from, n);
    }
    if (beyond > 0)
        atomic_fetch_add(&w->overflows[w->tensors[item]], beyond);
}

static int prepare(writing *w, const bang_conversion *plan, bang_error *err)
{
    size_t most = plan->count * BANG_CONVERSION_PARTS + 1;
    const bang_output_item *outputs = plan->state->items;
    w->plan = plan;
    w->tensors = calloc(most, sizeof *w->tensors);
    w->types = calloc(most, sizeof *w->types);
    w->overflows = calloc(plan->count + 1, sizeof *w->overflows);
    w->feeds = calloc(most, sizeof *w->feeds);
    w->items = calloc(most, sizeof *w->items);
    if (!w->tensors || !w->types || !w->overflows || !w->feeds || !w->items)
        return bang_fail_memory(err);
    for (size_t i = 0; i < plan->count; i++) {
        const bang_conversion_tensor *tensor = &plan->tensors[i];
        uint64_t offset = outputs[i].offset;
        size_t parts = tensor->part_count ? tensor->part_count : 1;
        for (size_t k = 0; k < parts; k++) {
            const bang_entry *entry = tensor->part_count ? tensor->parts[k] : NULL;
            bang_stream_item *item = &w->items[w->count];
            bang_feed *feed = &w->feeds[w->count];
            *feed = (bang_feed){plan->checkpoint, entry};
            *item = (bang_stream_item){
                .feeds = feed, .file = outputs[i].file, .offset = offset, .item = i};
            item->count = entry ? bang_entry_count(entry) : tensor->shape[1];
            item->step = bang_dtype_size(tensor->dtype) ? bang_dtype_size(tensor->dtype) : 1;
            w->types[w->count] = entry ? entry->dtype : tensor->dtype;
            w->tensors[w->count++] = i;
            offset += item->count * item->step;
        }
    }
    return 0;
}

int bang_conversion_write(bang_conversion *plan, bang_output *output, bang_stream *stream,
                          bang_error *err)
{
    writing w = {0};
    if (!plan->state->items)
        return bang_fail(err, BANG_EUSAGE,
                         "conversion: its items were not planned: see bang_conversion_items");
    int rc = prepare(&w, plan, err);
    if (rc == 0)
        rc = bang_stream_write(stream, w.items, w.count, 1, &output, 1, make, &w, err);
    for (size_t i = 0; rc == 0 && i < plan->count; i++)
        plan->tensors[i].overflows = atomic_load(&w.overflows[i]);
    free(w.tensors);
    free(w.types);
    free(w.overflows);
    free(w.feeds);
    free(w.items);
    return rc;
}
