/* What has to be known of whole tensors, layers or models before the first
 * number can be combined, and the weights that follow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/combine/blocks.h"
#include "combine/average.h"

struct measurement {
    bang_average *average;
    const size_t *tensors; /* (items) which tensor an item is */
    size_t inputs;         /* feeds that are measured: the base or first, and the models */
    int pass;              /* ties */
    uint32_t *prefix;      /* (group_count, inputs) */
    uint64_t *keep;        /* (group_count, inputs) */
    uint64_t *histogram;   /* (inputs, BANG_RADIX) of the group that is being counted */
    size_t group;          /* which that is */
};

static bang_block block_of(const struct measurement *m, size_t item, size_t count,
                           const void *const *in)
{
    const bang_average_tensor *t = &m->average->tensors[m->tensors[item]];
    return (bang_block){
        .inputs = m->inputs, .count = count, .in = in, .in_types = t->types, .out_type = BANG_F32};
}

static void gram_block(void *context, size_t item, uint64_t first, size_t count,
                       const void *const *in, void *partial)
{
    bang_block block = block_of(context, item, count, in);
    (void)first;
    bang_block_gram(&block, partial);
}

static void gram_fold(void *context, size_t item, const void *partial)
{
    struct measurement *m = context;
    size_t size = m->inputs * m->inputs;
    double *gram = m->average->grams + m->average->tensors[m->tensors[item]].group * size;
    for (size_t i = 0; i < size; i++)
        gram[i] += ((const double *)partial)[i];
}

static void histogram_block(void *context, size_t item, uint64_t first, size_t count,
                            const void *const *in, void *partial)
{
    const struct measurement *m = context;
    size_t group = m->average->tensors[m->tensors[item]].group;
    bang_block block = block_of(m, item, count, in);
    (void)first;
    bang_block_histogram(&block, m->pass, m->prefix + group * m->inputs, partial);
}

/* The group is complete: which bin holds the threshold of each input. */
static void select_bins(struct measurement *m)
{
    for (size_t i = 1; i < m->inputs; i++) {
        size_t at = m->group * m->inputs + i;
        if (m->keep[at] > 0)
            bang_radix_select(&m->prefix[at], &m->keep[at], m->pass, m->histogram + i * BANG_RADIX);
    }
    memset(m->histogram, 0, m->inputs * BANG_RADIX * sizeof *m->histogram);
}

/* Tensors of one group come one after the other, so one histogram is enough. */
static void histogram_fold(void *context, size_t item, const void *partial)
{
    struct measurement *m = context;
    size_t group = m->average->tensors[m->tensors[item]].group;
    if (group != m->group) {
        select_bins(m);
        m->group = group;
    }
    for (size_t i = 0; i < m->inputs * BANG_RADIX; i++)
        m->histogram[i] += ((const uint64_t *)partial)[i];
}

struct by_group {
    size_t tensor, group;
};

static int compare_groups(const void *left, const void *right)
{
    const struct by_group *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

/* The tensors that are combined, group after group; the caller frees both lists. */
static int list_items(bang_stream_item **items, size_t **tensors, size_t *count,
                      const bang_average *a, bang_error *err)
{
    struct by_group *list = calloc(a->count + 1, sizeof *list);
    *items = calloc(a->count + 1, sizeof **items);
    *tensors = calloc(a->count + 1, sizeof **tensors);
    *count = 0;
    if (!list || !*items || !*tensors) {
        free(list);
        return bang_fail_memory(err);
    }
    for (size_t i = 0; i < a->count; i++)
        if (a->tensors[i].kind == TENSOR_MIX && !bang_average_is_statistic(&a->tensors[i]))
            list[(*count)++] = (struct by_group){i, a->tensors[i].group};
    qsort(list, *count, sizeof *list, compare_groups);
    for (size_t k = 0; k < *count; k++) {
        const bang_average_tensor *t = &a->tensors[list[k].tensor];
        (*tensors)[k] = list[k].tensor;
        (*items)[k] = (bang_stream_item){.feeds = t->feeds,
                                         .count = bang_entry_count(t->feeds[a->first_input].entry)};
    }
    free(list);
    return 0;
}

static int measure_grams(struct measurement *m, const bang_stream_item *items, size_t count,
                         bang_stream *stream, bang_error *err)
{
    bang_average *a = m->average;
    size_t size = m->inputs * m->inputs;
    a->grams = bang_arena_alloc(&a->arena, a->group_count * size, sizeof *a->grams);
    if (!a->grams)
        return bang_fail_memory(err);
    return bang_stream_scan(stream, items, count, m->inputs, size * sizeof(double), gram_block,
                            gram_fold, m, err);
}

/* ties: the threshold of every group and model, exactly, in three passes. */
static int measure_thresholds(struct measurement *m, const bang_stream_item *items, size_t count,
                              bang_stream *stream, bang_error *err)
{
    bang_average *a = m->average;
    size_t all = a->group_count * m->inputs;
    m->prefix = bang_arena_alloc(&a->arena, all, sizeof *m->prefix);
    m->keep = bang_arena_alloc(&a->arena, all, sizeof *m->keep);
    m->histogram = bang_arena_alloc(&a->arena, m->inputs * BANG_RADIX, sizeof *m->histogram);
    a->thresholds = bang_arena_alloc(&a->arena, all, sizeof *a->thresholds);
    uint64_t *numbers = bang_arena_alloc(&a->arena, a->group_count, sizeof *numbers);
    if (!m->prefix || !m->keep || !m->histogram || !a->thresholds || !numbers)
        return bang_fail_memory(err);
    for (size_t k = 0; k < count; k++)
        numbers[a->tensors[m->tensors[k]].group] += items[k].count;
    for (size_t g = 0; g < a->group_count; g++) {
        uint64_t keep = (uint64_t)floor(a->options.density * (double)numbers[g] + 1e-6);
        keep = keep < 1 ? 1 : keep > numbers[g] ? numbers[g] : keep;
        for (size_t i = 0; i < m->inputs; i++)
            m->keep[g * m->inputs + i] = numbers[g] > 0 ? keep : 0;
    }
    int code = 0;
    for (m->pass = 0; code == 0 && m->pass < BANG_RADIX_PASSES; m->pass++) {
        m->group = count > 0 ? a->tensors[m->tensors[0]].group : 0;
        code = bang_stream_scan(stream, items, count, m->inputs,
                                m->inputs * BANG_RADIX * sizeof *m->histogram, histogram_block,
                                histogram_fold, m, err);
        if (code == 0)
            select_bins(m);
    }
    memcpy(a->thresholds, m->prefix, all * sizeof *a->thresholds);
    return code;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The middle of what the layers moved, relative to their norms, over all inputs;
 * of an even number the mean of the two in the middle. */
static double median_change(const bang_average *a, size_t inputs, bang_error *err)
{
    double *list = calloc(a->group_count * inputs + 1, sizeof *list);
    size_t count = 0;
    if (!list) {
        bang_fail_memory(err);
        return NAN;
    }
    for (size_t g = 0; g < a->group_count; g++) {
        const double *gram = a->grams + g * inputs * inputs;
        for (size_t i = 1; i < inputs; i++)
            if (gram[0] > 0 && gram[i * inputs + i] > 0 && isfinite(gram[i * inputs + i]))
                list[count++] = sqrt(gram[i * inputs + i] / gram[0]);
    }
    qsort(list, count, sizeof *list, by_value);
    double median = count == 0       ? 0
                    : count % 2 == 1 ? list[count / 2]
                                     : (list[count / 2 - 1] + list[count / 2]) / 2;
    free(list);
    return median;
}

/* target |x_0|/|x_i - x_0|; 1 where one of them is zero or not finite. */
static double scale_for(double target, double norm, double change)
{
    double scale = change > 0 ? target * (norm / change) : 1;
    /* an infinite change is not scaled away: it has to show in the output */
    return norm > 0 && isfinite(change) && isfinite(scale) ? scale : 1;
}

/* Fills scales: for the model, or for every layer. */
static int find_scales(bang_average *a, size_t inputs, bang_error *err)
{
    int layers = a->options.balance == BANG_BALANCE_LAYER_NORM;
    a->target = a->options.target >= 0 ? a->options.target : median_change(a, inputs, err);
    if (isnan(a->target))
        return BANG_EMEMORY;
    a->scales = bang_arena_alloc(&a->arena, a->group_count * inputs, sizeof *a->scales);
    if (!a->scales)
        return bang_fail_memory(err);
    for (size_t i = 1; i < inputs; i++) {
        double norm = 0, change = 0;
        for (size_t g = 0; g < a->group_count; g++) {
            const double *gram = a->grams + g * inputs * inputs;
            norm += gram[0];
            change += gram[i * inputs + i];
            if (!layers)
                continue;
            double x = sqrt(gram[0]), d = sqrt(gram[i * inputs + i]);
            a->scales[a->scale_count++] =
                (bang_average_scale){a->groups[g], i, x, d, scale_for(a->target, x, d)};
        }
        if (!layers)
            a->scales[a->scale_count++] = (bang_average_scale){
                NULL, i, sqrt(norm), sqrt(change), scale_for(a->target, sqrt(norm), sqrt(change))};
    }
    return 0;
}

/* x_0 + sum_i w_i s_i (x_i - x_0) with w_0 = 1 - sum: the weights of the changes are
 * scaled, and what they lose the first input gets. */
static void balance(const bang_average *a, const bang_average_tensor *t, double *weights)
{
    size_t inputs = a->options.input_count, layers = a->options.balance == BANG_BALANCE_LAYER_NORM;
    for (size_t i = 1; i < inputs; i++) {
        const bang_average_scale *s =
            &a->scales[layers ? (i - 1) * a->group_count + t->group : i - 1];
        if (s->scale == 1)
            continue;
        weights[0] += weights[i] * (1 - s->scale);
        weights[i] *= s->scale;
    }
}

/* The weights of one tensor's feeds in one output, where it is a linear
 * combination; -1 where it is not. */
static int weigh(const bang_average *a, const bang_average_tensor *t, size_t output, double *w)
{
    const double *given = bang_average_weights(a, t, output);
    size_t inputs = a->options.input_count;
    const double *gram = a->grams ? a->grams + t->group * a->feed_count * a->feed_count : NULL;
    double sum = 0;
    if (bang_average_is_statistic(t)) { /* b + sum w_i d_i, or sum w_i x_i */
        for (size_t i = 0; i < inputs; i++)
            sum += w[a->first_input + i] = given[i];
        if (bang_average_has_base(a))
            w[0] = 1 - sum;
        return 0;
    }
    switch (a->options.method) {
    case BANG_AVERAGE_LINEAR:
        memcpy(w, given, inputs * sizeof *w);
        if (a->options.balance != BANG_BALANCE_NONE)
            balance(a, t, w);
        return 0;
    case BANG_AVERAGE_SLERP:
        bang_weights_slerp(w, gram, given[1]);
        return 0;
    case BANG_AVERAGE_TASK:
        for (size_t i = 0; i < inputs; i++) {
            w[i + 1] = a->options.scale * given[i];
            sum += w[i + 1];
        }
        w[0] = 1 - sum;
        return 0;
    case BANG_AVERAGE_STOCK:
        bang_weights_stock(w, gram, inputs);
        return 0;
    default:
        return -1;
    }
}

/* A weight of 1 and otherwise 0: the bytes of that feed, if the type stays. */
static int single(const bang_average *a, const double *weights, size_t *feed)
{
    size_t ones = 0;
    for (size_t f = 0; f < a->feed_count; f++) {
        if (weights[f] == 1) {
            *feed = f;
            ones++;
        } else if (weights[f] != 0)
            return 0;
    }
    return ones == 1;
}

/* Which feeds no output needs: they are not read. */
static void drop_feeds(const bang_average *a, bang_average_tensor *t)
{
    for (size_t f = 0; f < a->feed_count; f++) {
        int needed = 0;
        for (size_t o = 0; o < a->options.output_count; o++)
            needed = needed || t->weights[o * a->feed_count + f] != 0;
        if (!needed)
            t->feeds[f].entry = NULL;
    }
}

static int weigh_all(bang_average *a, bang_error *err)
{
    size_t outputs = a->options.output_count, feeds = a->feed_count;
    for (size_t i = 0; i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind != TENSOR_MIX)
            continue;
        double *weights = bang_arena_alloc(&a->arena, outputs * feeds, sizeof *weights);
        if (!weights)
            return bang_fail_memory(err);
        size_t copies = 0;
        for (size_t o = 0; o < outputs; o++) {
            size_t feed = 0;
            int linear = weigh(a, t, o, weights + o * feeds) == 0, sole;
            if (linear) {
                t->weights = weights;
                sole = single(a, weights + o * feeds, &feed);
            } else {
                feed = bang_average_sole_feed(a, t, o);
                sole = feed != NO_COPY;
            }
            if (sole && t->types[feed] == t->dtype) {
                t->copies[o] = feed;
                copies++;
            }
        }
        if (t->weights)
            drop_feeds(a, t);
        if (copies == outputs)
            t->kind = TENSOR_COPY;
    }
    return 0;
}

int bang_average_measure(bang_average *a, bang_stream *stream, bang_error *err)
{
    struct measurement m = {.average = a, .inputs = a->feed_count};
    bang_stream_item *items = NULL;
    size_t *tensors = NULL, count = 0;
    int grams = a->options.method == BANG_AVERAGE_SLERP ||
                a->options.method == BANG_AVERAGE_STOCK || a->options.balance != BANG_BALANCE_NONE;
    int code = list_items(&items, &tensors, &count, a, err);
    m.tensors = tensors;
    if (code == 0 && grams)
        code = measure_grams(&m, items, count, stream, err);
    if (code == 0 && a->options.method == BANG_AVERAGE_TIES)
        code = measure_thresholds(&m, items, count, stream, err);
    if (code == 0 && a->options.balance != BANG_BALANCE_NONE)
        code = find_scales(a, m.inputs, err);
    if (code == 0)
        code = weigh_all(a, err);
    free(items);
    free(tensors);
    return code;
}
