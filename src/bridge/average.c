/* bang_bridge_average: from paths to one combined checkpoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"
#include "bang/bridge/bridge.h"
#include "bang/combine/average.h"
#include "request.h"

enum { INPUTS_MAX = 1024 };

typedef struct asked {
    const json_t *inputs, *weights;
    const char *output, *alpha, *method, *base, *dtype;
    double scale, density, drop;
    json_int_t max_memory, seed;
    int allow_nan, threads;
} asked;

/* What is open. */
typedef struct work {
    size_t count;
    bang_checkpoint *inputs[INPUTS_MAX];
    bang_checkpoint *base;
    double weights[INPUTS_MAX];
    bang_average_options options;
    bang_stream stream;
} work;

static int read_request(asked *a, json_t *request, bang_error *err)
{
    *a = (asked){
        .method = "linear", .dtype = "keep", .scale = 1, .density = 0.2, .drop = 0.9, .seed = 1};
    int rc = bang_request_unpack(
        request, err, "{s?o s?o s?s s?s s?s s?s s?s s?F s?F s?F s?I s?I s?b s?i}", "inputs",
        &a->inputs, "weights", &a->weights, "output", &a->output, "alpha", &a->alpha, "method",
        &a->method, "base", &a->base, "dtype", &a->dtype, "scale", &a->scale, "density",
        &a->density, "drop", &a->drop, "max_memory", &a->max_memory, "seed", &a->seed, "allow_nan",
        &a->allow_nan, "threads", &a->threads);
    if (rc < 0)
        return rc;
    if (!json_is_array(a->inputs) || !a->output || !*a->output)
        return bang_fail(err, BANG_EUSAGE, "inputs, output: both are needed: paths of checkpoints");
    if (json_array_size(a->inputs) > INPUTS_MAX)
        return bang_fail(err, BANG_EUSAGE, "inputs: at most %d", INPUTS_MAX);
    if (a->max_memory < 0)
        return bang_fail(err, BANG_EUSAGE, "max_memory: must not be negative");
    return bang_request_threads(a->threads, err);
}

/* The place of a name in a list; -1 if it is not there. */
static int find(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return -1;
}

static int choose(bang_average_options *o, const asked *a, size_t inputs, bang_error *err)
{
    static const char *const methods[] = {"linear", "slerp", "task", "ties", "dare", "stock"};
    static const char *const types[] = {"keep", "f32", "f16", "bf16"};
    static const int dtypes[] = {-1, BANG_F32, BANG_F16, BANG_BF16};
    int method = find(a->method, methods, 6), type = find(a->dtype, types, 4);
    int needs_base = method >= BANG_AVERAGE_TASK;
    if (method < 0)
        return bang_fail(err, BANG_EUSAGE,
                         "method %.40s: unknown: choose linear, slerp, task, ties, dare or stock",
                         a->method);
    if (type < 0)
        return bang_fail(err, BANG_EUSAGE, "dtype %.40s: unknown: choose keep, f32, f16 or bf16",
                         a->dtype);
    if (needs_base != (a->base != NULL))
        return bang_fail(err, BANG_EUSAGE, "base: method %s %s", a->method,
                         needs_base ? "needs what the inputs were fine-tuned from"
                                    : "has no use for it: leave it out");
    if (inputs < (needs_base ? 1U : 2U) || (method == BANG_AVERAGE_SLERP && inputs != 2))
        return bang_fail(err, BANG_EUSAGE, "inputs: %zu: method %s needs %s", inputs, a->method,
                         method == BANG_AVERAGE_SLERP ? "two"
                         : needs_base                 ? "at least one"
                                                      : "at least two");
    if (!(a->density > 0 && a->density <= 1) || !(a->drop >= 0 && a->drop < 1))
        return bang_fail(err, BANG_EUSAGE, "density, drop: must be in 0..1, drop below 1");
    o->method = (bang_average_method)method;
    o->dtype = dtypes[type];
    return 0;
}

/* 1 - alpha and alpha of two, alpha of one beside a base; weights as given; or 1/n each. */
static int weigh(work *w, const asked *a, bang_error *err)
{
    double alpha;
    int given = bang_request_numbers(w->weights, INPUTS_MAX, "weights", a->weights, err);
    if (given < 0)
        return given;
    if (given && ((size_t)given != w->count || a->alpha))
        return bang_fail(err, BANG_EUSAGE,
                         "weights: needs one for each of %zu inputs, and no alpha", w->count);
    if ((given || a->alpha) && w->options.method == BANG_AVERAGE_STOCK)
        return bang_fail(err, BANG_EUSAGE, "method stock: finds the weights itself");
    for (size_t i = 0; !given && i < w->count; i++)
        w->weights[i] = 1 / (double)w->count;
    if (a->alpha) {
        if (w->count > 2)
            return bang_fail(err, BANG_EUSAGE, "alpha: %zu inputs: give weights", w->count);
        if (bang_text_to_double(&alpha, a->alpha) < 0)
            return bang_fail(err, BANG_EUSAGE, "alpha %.40s: is no number", a->alpha);
        w->weights[0] = 1 - alpha;
        w->weights[w->count - 1] = alpha;
    }
    for (size_t i = 0; i < w->count; i++)
        if (!isfinite(w->weights[i]) ||
            (w->weights[i] < 0 && w->options.method == BANG_AVERAGE_TIES))
            return bang_fail(err, BANG_EUSAGE, "weights: method %s cannot use %g", a->method,
                             w->weights[i]);
    if (w->options.method == BANG_AVERAGE_SLERP && fabs(w->weights[0] + w->weights[1] - 1) > 1e-6)
        return bang_fail(err, BANG_EUSAGE, "weights: method slerp needs 1 - alpha and alpha");
    return 0;
}

static int open_inputs(work *w, const asked *a, bang_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(a->inputs); i++) {
        const char *path = json_string_value(json_array_get(a->inputs, i));
        rc = path ? bang_checkpoint_open(&w->inputs[i], path, err)
                  : bang_fail(err, BANG_EUSAGE, "inputs: entry %zu is no text", i + 1);
        w->count += rc == 0;
    }
    if (rc == 0 && a->base)
        rc = bang_checkpoint_open(&w->base, a->base, err);
    return rc;
}

static json_t *tell(const work *w, const asked *a, const bang_average *average)
{
    bang_average_result result = bang_average_get(average);
    const bang_output *target = bang_average_target(average, 0);
    size_t files = bang_output_file_count(target);
    const char *written =
        w->options.folder || files < 2 ? a->output : bang_output_file_path(target, files - 1);
    json_t *warnings = json_array();
    for (const char *line = result.warnings; *line;) {
        size_t size = strcspn(line, "\n");
        json_array_append_new(warnings, json_stringn(line, size));
        line += size + (line[size] == '\n');
    }
    return json_pack("{sI sI sI sI s[s] so}", "tensors", (json_int_t)result.tensors, "copied",
                     (json_int_t)result.copied, "bytes_read", (json_int_t)w->stream.bytes_read,
                     "bytes_written", (json_int_t)w->stream.bytes_written, "outputs", written,
                     "warnings", warnings);
}

static int run(json_t **told, work *w, const asked *a, bang_error *err)
{
    bang_average_options *o = &w->options;
    bang_average *average = NULL;
    o->inputs = (const bang_checkpoint *const *)w->inputs;
    o->input_count = w->count;
    o->base = w->base;
    o->paths = &a->output;
    o->output_count = 1;
    o->weights = w->weights;
    o->weight_text = a->alpha ? &a->alpha : NULL;
    o->scale = a->scale;
    o->density = a->density;
    o->drop = a->drop;
    o->seed = (uint64_t)a->seed;
    o->allow_nan = a->allow_nan;
    o->folder = bang_output_is_folder(a->output, w->inputs[0]);
    w->stream.threads = a->threads;
    w->stream.max_memory = (uint64_t)a->max_memory;
    int rc = bang_average_plan(&average, o, &w->stream, err);
    if (rc == 0 && o->folder)
        rc = bang_output_copy_others(bang_average_target(average, 0), w->inputs[0], err);
    if (rc == 0)
        rc = bang_average_run(average, &w->stream, err);
    if (rc == 0)
        *told = tell(w, a, average);
    else if (average && *bang_average_problems(average))
        bang_fail(err, rc, "%s", bang_average_problems(average));
    bang_average_free(average);
    return rc;
}

int bang_bridge_average(char **out, const char *request, bang_error *err)
{
    return bang_bridge_average_until(out, request, NULL, err);
}

int bang_bridge_average_until(char **out, const char *request, bang_cancel *cancel, bang_error *err)
{
    json_t *parsed, *told = NULL;
    asked a;
    *out = NULL;
    int rc = bang_request_parse(&parsed, request, err);
    if (rc < 0)
        return rc;
    work *w = calloc(1, sizeof *w);
    if (!w) {
        json_decref(parsed);
        return bang_fail_memory(err);
    }
    w->options = (bang_average_options)BANG_AVERAGE_OPTIONS_INIT;
    w->stream = (bang_stream)BANG_STREAM_INIT;
    w->stream.cancel = cancel;
    rc = read_request(&a, parsed, err);
    if (rc == 0)
        rc = choose(&w->options, &a, json_array_size(a.inputs), err);
    if (rc == 0)
        rc = open_inputs(w, &a, err);
    if (rc == 0)
        rc = weigh(w, &a, err);
    if (rc == 0)
        rc = run(&told, w, &a, err);
    for (size_t i = 0; i < w->count; i++)
        bang_checkpoint_close(w->inputs[i]);
    bang_checkpoint_close(w->base);
    free(w);
    json_decref(parsed);
    return rc < 0 ? rc : bang_request_answer(out, told, err);
}
