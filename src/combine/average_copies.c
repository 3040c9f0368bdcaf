/* Tensors without arithmetic: whose bytes the outputs get. */
#include <stdlib.h>
#include <string.h>

#include "combine/average.h"

int bang_average_is_counter(const bang_average_tensor *t)
{
    return bang_text_ends_with(t->name, "num_batches_tracked");
}

int bang_average_is_statistic(const bang_average_tensor *t)
{
    return bang_text_ends_with(t->name, "running_mean") ||
           bang_text_ends_with(t->name, "running_var");
}

void bang_average_copy_from(const bang_average *a, bang_average_tensor *t, size_t feed)
{
    for (size_t o = 0; o < a->options.output_count; o++)
        t->copies[o] = feed;
    for (size_t f = 0; f < a->feed_count; f++)
        if (f != feed)
            t->feeds[f].entry = NULL;
}

size_t bang_average_sole_feed(const bang_average *a, const bang_average_tensor *t, size_t output)
{
    const double *weights = bang_average_weights(a, t, output);
    size_t found = NO_COPY;
    if ((a->options.method != BANG_AVERAGE_LINEAR && a->options.method != BANG_AVERAGE_SLERP &&
         a->options.method != BANG_AVERAGE_FISHER) ||
        a->options.balance != BANG_BALANCE_NONE)
        return NO_COPY;
    for (size_t i = 0; i < a->options.input_count; i++) {
        if (weights[i] == 0)
            continue;
        if (weights[i] != 1 || found != NO_COPY)
            return NO_COPY;
        found = a->first_input + i;
    }
    return found;
}

/* Feeds that no output copies are not read. */
static void drop_others(const bang_average *a, bang_average_tensor *t)
{
    for (size_t f = 0; f < a->feed_count; f++) {
        int needed = 0;
        for (size_t o = 0; o < a->options.output_count; o++)
            needed = needed || t->copies[o] == f;
        if (!needed)
            t->feeds[f].entry = NULL;
    }
}

/* Every output has one input only: then it is a copy of that, integers too. */
static int choose_sole(const bang_average *a, bang_average_tensor *t)
{
    for (size_t o = 0; o < a->options.output_count; o++)
        if (bang_average_sole_feed(a, t, o) == NO_COPY)
            return 0;
    for (size_t o = 0; o < a->options.output_count; o++)
        t->copies[o] = bang_average_sole_feed(a, t, o);
    drop_others(a, t);
    return 1;
}

/* A counter of batches: of the last input that has a weight. Returns whether there
 * was a choice. */
static int choose_counter(const bang_average *a, bang_average_tensor *t)
{
    size_t inputs = a->options.input_count;
    int choice = 0;
    for (size_t o = 0; o < a->options.output_count; o++) {
        const double *weights = bang_average_weights(a, t, o);
        size_t last = inputs - 1;
        while (last > 0 && weights[last] == 0)
            last--;
        t->copies[o] = a->first_input + last;
        choice = choice || bang_average_sole_feed(a, t, o) == NO_COPY;
    }
    drop_others(a, t);
    return choice;
}

/* Which input a tensor without arithmetic comes from; for those that must be
 * equal the comparison follows. */
void bang_average_choose_copies(bang_average *a)
{
    size_t last = a->first_input + a->options.input_count - 1;
    bang_average_names statistics = {0};
    for (size_t i = 0; i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind == TENSOR_MIX) {
            int combined = 0;
            for (size_t o = 0; o < a->options.output_count; o++)
                combined = combined || bang_average_sole_feed(a, t, o) == NO_COPY;
            if (combined && bang_average_is_statistic(t))
                bang_average_add_name(&statistics, t->name);
        } else if (t->copies[0] != NO_COPY || choose_sole(a, t))
            continue;
        else if (a->options.on_integer != BANG_CHOOSE_ERROR)
            bang_average_copy_from(
                a, t, a->options.on_integer == BANG_CHOOSE_LAST ? last : a->first_input);
    }
    bang_average_end_names(&statistics, &a->warnings,
                           "running statistics of batch norm were combined",
                           "recompute them with a pass over training data");
}

struct comparison {
    const bang_average *average;
    const size_t *tensors; /* (items) which tensor an item is */
    unsigned char *differs;
};

static void compare_block(void *context, size_t item, uint64_t first, size_t count,
                          const void *const *in, void *partial)
{
    const struct comparison *c = context;
    const bang_average *a = c->average;
    const bang_average_tensor *t = &a->tensors[c->tensors[item]];
    size_t size = count * bang_entry_step(t->feeds[a->first_input].entry);
    (void)first;
    for (size_t i = 1; i < a->options.input_count; i++)
        if (memcmp(in[a->first_input], in[a->first_input + i], size) != 0)
            *(unsigned char *)partial = 1;
}

static void compare_fold(void *context, size_t item, const void *partial)
{
    const struct comparison *c = context;
    c->differs[item] |= *(const unsigned char *)partial;
}

/* All inputs can be read side by side. */
static int alike(const bang_average *a, const bang_average_tensor *t)
{
    const bang_entry *first = t->feeds[a->first_input].entry;
    for (size_t i = 1; i < a->options.input_count; i++) {
        const bang_entry *entry = t->feeds[a->first_input + i].entry;
        if (!entry || entry->dtype != first->dtype || !bang_entry_same_shape(first, entry))
            return 0;
    }
    return 1;
}

/* Tensors without arithmetic must be equal, but for counters of batches. */
int bang_average_compare_copies(bang_average *a, bang_stream *scan, bang_error *err)
{
    bang_stream_item *items = calloc(a->count + 1, sizeof *items);
    size_t *tensors = calloc(a->count + 1, sizeof *tensors), count = 0;
    unsigned char *differs = calloc(a->count + 1, 1);
    bang_average_names names = {0}, counters = {0};
    int code = items && tensors && differs ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < a->count; i++) {
        bang_average_tensor *t = &a->tensors[i];
        if (t->kind != TENSOR_COPY || t->copies[0] != NO_COPY || !alike(a, t))
            continue;
        items[count] = (bang_stream_item){
            .feeds = t->feeds, .count = bang_entry_count(t->feeds[a->first_input].entry)};
        tensors[count++] = i;
    }
    struct comparison comparison = {a, tensors, differs};
    if (code == 0 && count > 0)
        code = bang_stream_scan(scan, items, count, a->feed_count, 1, compare_block, compare_fold,
                                &comparison, err);
    for (size_t k = 0; code == 0 && k < count; k++) {
        bang_average_tensor *t = &a->tensors[tensors[k]];
        if (bang_average_is_counter(t)) {
            if (choose_counter(a, t) && differs[k])
                bang_average_add_name(&counters, t->name);
            continue;
        }
        if (differs[k])
            bang_average_add_name(&names, t->name);
        bang_average_copy_from(a, t, a->first_input);
    }
    bang_average_end_names(&counters, &a->warnings, "counters of batches differ",
                           "taken from the last input");
    bang_average_end_names(
        &names, &a->problems, "integers or types without arithmetic differ",
        "they cannot be averaged: --on-integer first or last says whose to take");
    free(items);
    free(tensors);
    free(differs);
    return code;
}
