/* Planning and running an average. */
#include "combine/average.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/combine/blocks.h"

/* Base, inputs, Fisher weights: one list of feeds. */
static int list_sources(bang_average *a, bang_error *err)
{
    const bang_average_options *o = &a->options;
    int base = o->method == BANG_AVERAGE_TASK || o->method == BANG_AVERAGE_TIES ||
               o->method == BANG_AVERAGE_DARE || o->method == BANG_AVERAGE_STOCK;
    int fisher = o->method == BANG_AVERAGE_FISHER;
    if (o->input_count == 0 || o->output_count == 0 || !o->weights || (base && !o->base) ||
        (fisher && !o->fishers) || (o->method == BANG_AVERAGE_SLERP && o->input_count != 2))
        return bang_fail(err, BANG_EUSAGE,
                         "average: inputs, outputs, weights or what the method needs are missing");
    a->first_input = base;
    a->feed_count = (size_t)base + o->input_count * (fisher ? 2 : 1);
    a->sources = bang_arena_alloc(&a->arena, a->feed_count, sizeof(void *));
    if (!a->sources)
        return bang_fail_memory(err);
    if (base)
        a->sources[0] = o->base;
    for (size_t i = 0; i < o->input_count; i++) {
        a->sources[a->first_input + i] = o->inputs[i];
        if (fisher)
            a->sources[o->input_count + i] = o->fishers[i];
    }
    for (size_t i = 0; i < a->feed_count; i++)
        if (!a->sources[i])
            return bang_fail(err, BANG_EUSAGE, "average: a checkpoint is missing: it is not open");
    return 0;
}

/* Weights are taken as they are; one that is surely not meant is pointed at. */
static void check_weights(bang_average *a)
{
    const bang_average_options *o = &a->options;
    if (o->method != BANG_AVERAGE_LINEAR && o->method != BANG_AVERAGE_FISHER)
        return;
    for (size_t k = 0; k < o->output_count + o->rule_count; k++) {
        const double *weights = k < o->output_count ? o->weights + k * o->input_count
                                                    : o->rules[k - o->output_count].weights;
        double sum = 0;
        for (size_t i = 0; i < o->input_count; i++)
            sum += weights[i];
        if (o->method == BANG_AVERAGE_LINEAR && fabs(sum - 1) > 1e-6)
            bang_average_say(
                &a->warnings,
                "the weights%s%.200s sum to %.10g, not to 1: they are used as they are",
                k < o->output_count ? "" : " of rule ",
                k < o->output_count ? "" : o->rules[k - o->output_count].glob, sum);
    }
}

/* One list of items for each output: their headers may differ in length. */
static int plan_outputs(bang_average *a, bang_error *err)
{
    const bang_average_options *o = &a->options;
    int code = 0;
    a->output_items = bang_arena_alloc(&a->arena, o->output_count, sizeof(void *));
    a->outputs = bang_arena_alloc(&a->arena, o->output_count, sizeof(void *));
    if (!a->output_items || !a->outputs)
        return bang_fail_memory(err);
    for (size_t k = 0; code == 0 && k < o->output_count; k++) {
        json_t *metadata = NULL;
        a->output_items[k] = bang_arena_alloc(&a->arena, a->count, sizeof **a->output_items);
        code =
            a->output_items[k] ? bang_average_recipe(&metadata, a, k, err) : bang_fail_memory(err);
        for (size_t i = 0; code == 0 && i < a->count; i++)
            a->output_items[k][i] = (bang_output_item){.name = a->tensors[i].name,
                                                       .dtype = a->tensors[i].dtype,
                                                       .rank = a->tensors[i].rank,
                                                       .shape = a->tensors[i].shape};
        bang_output_options options = {o->shard_size, o->folder, metadata};
        if (code == 0)
            code = bang_output_plan(&a->outputs[k], o->paths[k], a->output_items[k], a->count,
                                    &options, err);
        json_decref(metadata);
    }
    return code;
}

int bang_average_plan(bang_average **out, const bang_average_options *options, bang_stream *scan,
                      bang_error *err)
{
    bang_average *a = calloc(1, sizeof *a);
    *out = a;
    if (!a)
        return bang_fail_memory(err);
    a->options = *options;
    int code = list_sources(a, err);
    if (code == 0)
        code = bang_average_match(a, scan, err);
    if (code == 0) {
        check_weights(a);
        if (a->problems.size > 0)
            a->options.hash = 0; /* a refusal does not wait for that */
        code = bang_average_identify(a, err);
    }
    if (code == 0)
        code = plan_outputs(a, err);
    if (code == 0)
        code = bang_output_check(&a->problems, a->outputs, a->options.output_count, a->sources,
                                 a->feed_count, err);
    else if (code == BANG_EUSAGE && a->problems.size > 0) { /* one more of them */
        bang_average_say(&a->problems, "%s", err->message);
        code = 0;
    }
    if (code == 0 && (a->problems.failed || a->warnings.failed))
        code = bang_fail_memory(err);
    if (code == 0 && a->problems.size > 0)
        code = bang_fail(err, BANG_EDATA, "%.*s", (int)strcspn(a->problems.data, "\n"),
                         a->problems.data);
    return code;
}

const char *bang_average_problems(const bang_average *a)
{
    return a && a->problems.data ? a->problems.data : "";
}

static size_t combine(const bang_average *a, const bang_average_tensor *t, size_t output,
                      uint64_t first, const bang_block *block)
{
    const bang_average_options *o = &a->options;
    double room[64] = {0}, *weights = room; /* those of the feeds: none for the base */
    if (t->weights)
        return bang_block_linear(block, t->weights + output * a->feed_count);
    if (a->feed_count > 64 && !(weights = calloc(a->feed_count, sizeof *weights)))
        return block->count; /* then the output is not kept */
    size_t bad = 0;
    if (t->copies[output] != NO_COPY) /* kept from one input, in another type */
        weights[t->copies[output]] = 1;
    else
        memcpy(weights + a->first_input, bang_average_weights(a, t, output),
               o->input_count * sizeof *weights);
    if (t->copies[output] != NO_COPY)
        bad = bang_block_linear(block, weights);
    else if (o->method == BANG_AVERAGE_DARE)
        bad = bang_block_dare(block, weights, o->scale, o->drop, o->seed, t->key, first);
    else if (o->method == BANG_AVERAGE_TIES)
        bad = bang_block_ties(block, weights, o->scale, a->thresholds + t->group * a->feed_count);
    else
        bad = bang_block_fisher(block, weights);
    if (weights != room)
        free(weights);
    return bad;
}

static void make(void *context, size_t output, size_t item, uint64_t first, size_t count,
                 const void *const *in, void *out)
{
    bang_average *a = context;
    bang_average_tensor *t = &a->tensors[item];
    size_t bad = 0, from = t->copies[output];
    if (from != NO_COPY && t->types[from] == t->dtype) {
        memcpy(out, in[from], count * a->items[item].step);
        if (bang_dtype_is_real(t->dtype))
            bad = bang_block_not_finite(out, t->dtype, count);
    } else {
        bang_block block = {.inputs = a->feed_count,
                            .count = count,
                            .in = in,
                            .in_types = t->types,
                            .out = out,
                            .out_type = t->dtype};
        bad = combine(a, t, output, first, &block);
    }
    if (bad > 0)
        atomic_fetch_add(&t->bad[output], bad);
}

/* The bytes of an input, not only its numbers. */
static int is_copied_to(const bang_average_tensor *t, size_t output)
{
    return t->copies[output] != NO_COPY && t->types[t->copies[output]] == t->dtype;
}

/* Numbers of a tensor that are not finite, in outputs where it is copied or where it is not. */
static unsigned long long count_bad(const bang_average *a, const bang_average_tensor *t, int copied)
{
    unsigned long long bad = 0;
    for (size_t k = 0; k < a->options.output_count; k++)
        bad += is_copied_to(t, k) == copied ? t->bad[k] : 0;
    return bad;
}

/* Tells which tensors came out with numbers that are not finite; returns how many. */
static size_t tell_bad(bang_average *a, bang_text *out, int copied, const char *end)
{
    size_t tensors = 0;
    for (size_t i = 0; i < a->count; i++) {
        unsigned long long bad = count_bad(a, &a->tensors[i], copied);
        if (bad > 0 && ++tensors <= 10)
            bang_average_say(out, "tensor \"%.200s\": %llu number%s NaN or infinite as %s%s",
                             a->tensors[i].name, bad, bad == 1 ? " is" : "s are",
                             bang_dtype_name(a->tensors[i].dtype), end);
    }
    if (tensors > 10)
        bang_average_say(out, "%zu more tensors have NaN or infinite numbers%s", tensors - 10,
                         copied ? end : "");
    return tensors;
}

/* What is computed must be finite. A copy is what was asked for: some models have buffers of
 * infinities, and the weights 0 and 1 are exact. */
static int check_finite(bang_average *a, bang_error *err)
{
    int allowed = a->options.allow_nan;
    size_t tensors = tell_bad(a, allowed ? &a->warnings : &a->problems, 0,
                              allowed ? "" : ": nothing was written: --allow-nan keeps them");
    if (tensors > 0 && !allowed)
        return bang_fail(err, BANG_EDATA, "%.*s", (int)strcspn(a->problems.data, "\n"),
                         a->problems.data);
    tell_bad(a, &a->warnings, 1, ", copied as they are");
    return 0;
}

static int list_stream_items(bang_average *a, bang_error *err)
{
    a->items = bang_arena_alloc(&a->arena, a->count, sizeof *a->items);
    if (!a->items)
        return bang_fail_memory(err);
    for (size_t i = 0; i < a->count; i++) {
        const bang_average_tensor *t = &a->tensors[i];
        size_t size = bang_dtype_size(t->dtype);
        size = size ? size : 1;
        a->items[i] = (bang_stream_item){.feeds = t->feeds,
                                         .count = a->output_items[0][i].bytes / size,
                                         .file = a->output_items[0][i].file,
                                         .offset = a->output_items[0][i].offset,
                                         .step = size,
                                         .item = i};
    }
    return 0;
}

int bang_average_run(bang_average *a, bang_stream *stream, bang_error *err)
{
    int code = bang_average_measure(a, stream, err);
    if (code == 0)
        code = list_stream_items(a, err);
    for (size_t k = 0; code == 0 && k < a->options.output_count; k++)
        code = bang_output_begin(a->outputs[k], err);
    if (code == 0)
        code = bang_stream_write(stream, a->items, a->count, a->feed_count, a->outputs,
                                 a->options.output_count, make, a, err);
    if (code == 0)
        code = check_finite(a, err);
    for (size_t k = 0; code == 0 && k < a->options.output_count; k++)
        code = bang_output_commit(a->outputs[k], err);
    /* Part files go now; what was measured stays. */
    for (size_t k = 0; k < a->options.output_count && code < 0; k++) {
        bang_output_free(a->outputs[k]);
        a->outputs[k] = NULL;
    }
    return code;
}

static int is_copied(const bang_average_tensor *t, size_t outputs)
{
    for (size_t k = 0; k < outputs; k++)
        if (!is_copied_to(t, k))
            return 0;
    return 1;
}

bang_average_result bang_average_get(const bang_average *a)
{
    bang_average_result r = {.tensors = a->count,
                             .target = a->target,
                             .scale_count = a->scale_count,
                             .scales = a->scales,
                             .warnings = a->warnings.data ? a->warnings.data : ""};
    for (size_t i = 0; i < a->count; i++)
        r.copied += is_copied(&a->tensors[i], a->options.output_count);
    for (size_t k = 0; k < a->options.output_count; k++)
        r.bytes += a->outputs && a->outputs[k] ? bang_output_bytes(a->outputs[k]) : 0;
    return r;
}

bang_output *bang_average_target(const bang_average *a, size_t output)
{
    return a->outputs[output];
}

/* What is done to one tensor: whose bytes it gets, or the weights, output after
 * output where they differ. */
static void describe(bang_text *out, const bang_average *a, const bang_average_tensor *t)
{
    const bang_average_options *o = &a->options;
    int alike = 1;
    for (size_t k = 1; k < o->output_count; k++)
        alike = alike && t->copies[k] == t->copies[0];
    if (t->copies[0] != NO_COPY) {
        for (size_t k = 0; k < (alike ? 1 : o->output_count); k++)
            bang_text_add(out, "%s%s", k ? ", " : "copy of ", a->sources[t->copies[k]]->path);
        return;
    }
    if (o->method == BANG_AVERAGE_STOCK) {
        bang_text_add(out, "weights follow from the angles");
        return;
    }
    if (isnan(bang_average_weights(a, t, 0)[0])) {
        bang_text_add(out, "weights are not known yet");
        return;
    }
    bang_text_add(out, "%s", t->rule ? "rule:" : "weights");
    for (size_t k = 0; k < (t->rule ? 1 : o->output_count); k++) {
        const double *weights = bang_average_weights(a, t, k);
        for (size_t i = 0; i < o->input_count; i++)
            bang_text_add(out, "%s%.6g", i ? "," : " ", weights[i]);
    }
}

void bang_average_describe(bang_text *out, const bang_average *a)
{
    size_t widest = 0;
    for (size_t i = 0; i < a->count; i++) {
        size_t length = strlen(a->tensors[i].name);
        widest = length > widest && length <= 64 ? length : widest;
    }
    for (size_t i = 0; i < a->count; i++) {
        const bang_average_tensor *t = &a->tensors[i];
        for (const char *c = t->name; *c; c++) /* a name may hold anything */
            bang_text_add(out, "%c", (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
        size_t length = strlen(t->name);
        bang_text_add(out, "%*s  %-7s  ", length < widest ? (int)(widest - length) : 0, "",
                      bang_dtype_name(t->dtype));
        describe(out, a, t);
        bang_text_add(out, "\n");
    }
}

void bang_average_free(bang_average *a)
{
    if (!a)
        return;
    for (size_t k = 0; a->outputs && k < a->options.output_count; k++)
        bang_output_free(a->outputs[k]);
    json_decref(a->files);
    json_decref(a->base_files);
    json_decref(a->fisher_files);
    bang_text_release(&a->problems);
    bang_text_release(&a->warnings);
    bang_arena_release(&a->arena);
    free(a);
}
