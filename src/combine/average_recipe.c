/* How an output was made, kept in its metadata: enough to make it again and to
 * see whether the inputs are the same. No time, host or folder is in it, so
 * that equal work gives equal bytes. */
#include <stdlib.h>
#include <string.h>

#include "bang/base/digest.h"
#include "bang/base/json.h"
#include "combine/average.h"

static const char *const methods[] = {
    [BANG_AVERAGE_LINEAR] = "linear", [BANG_AVERAGE_SLERP] = "slerp",
    [BANG_AVERAGE_TASK] = "task",     [BANG_AVERAGE_TIES] = "ties",
    [BANG_AVERAGE_DARE] = "dare",     [BANG_AVERAGE_STOCK] = "stock",
    [BANG_AVERAGE_FISHER] = "fisher",
};

/* What is told of one file. */
static int describe_file(json_t **out, const bang_checkpoint_file *file, int hash, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    if (hash && bang_digest_file(digest, file->path, err) < 0)
        return err->code;
    *out = json_pack("{ss sI}", "file", file->name, "bytes", (json_int_t)file->size);
    if (!*out)
        return bang_fail(err, BANG_EDATA, "%s: its name is no UTF-8: rename it", file->path);
    if (file->header_digest[0])
        json_object_set_new(*out, "header_sha256", json_string(file->header_digest));
    if (hash)
        json_object_set_new(*out, "sha256", json_string(digest));
    return 0;
}

/* One entry for a checkpoint: its file, or the list of its shards. */
static int add_checkpoint(json_t *list, const bang_checkpoint *c, int hash, bang_error *err)
{
    json_t *files = json_array(), *entry = NULL;
    int code = files ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < c->file_count; i++) {
        if (!c->files[i].path) /* a member of a zip */
            continue;
        code = describe_file(&entry, &c->files[i], hash, err);
        if (code == 0 && json_array_append_new(files, entry) < 0)
            code = bang_fail_memory(err);
    }
    if (code == 0) {
        entry = json_array_size(files) == 1 ? json_incref(json_array_get(files, 0))
                                            : json_pack("{sO}", "shards", files);
        code = json_array_append_new(list, entry) < 0 ? bang_fail_memory(err) : 0;
    }
    json_decref(files);
    return code;
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, bang_json_number(values[i]));
    return list;
}

/* What only some methods have. */
static void add_settings(json_t *recipe, const bang_average *a)
{
    const bang_average_options *o = &a->options;
    static const char *const scopes[] = {NULL, "tensor", "layer", "model"};
    if (bang_average_has_base(a) && o->method != BANG_AVERAGE_STOCK)
        json_object_set_new(recipe, "scale", bang_json_number(o->scale));
    if (o->method == BANG_AVERAGE_TIES)
        json_object_set_new(recipe, "density", bang_json_number(o->density));
    if (o->method == BANG_AVERAGE_DARE) {
        json_object_set_new(recipe, "drop", bang_json_number(o->drop));
        json_object_set_new(recipe, "seed", json_integer((json_int_t)o->seed));
    }
    if (scopes[o->scope])
        json_object_set_new(recipe, "scope", json_string(scopes[o->scope]));
    if (o->balance != BANG_BALANCE_NONE) {
        json_object_set_new(recipe, "balance",
                            json_string(o->balance == BANG_BALANCE_NORM ? "norm" : "layer-norm"));
        json_object_set_new(recipe, "target",
                            o->target >= 0 ? bang_json_number(o->target) : json_string("median"));
    }
    if (o->on_integer != BANG_CHOOSE_ERROR)
        json_object_set_new(recipe, "on_integer",
                            json_string(o->on_integer == BANG_CHOOSE_FIRST ? "first" : "last"));
    if (o->on_missing != BANG_MISSING_ERROR)
        json_object_set_new(recipe, "on_missing",
                            json_string(o->on_missing == BANG_MISSING_KEEP ? "keep" : "drop"));
    if (o->dtype >= 0)
        json_object_set_new(recipe, "dtype", json_string(bang_dtype_name((bang_dtype)o->dtype)));
    if (o->rule_count > 0) {
        json_t *rules = json_array();
        for (size_t i = 0; i < o->rule_count; i++)
            json_array_append_new(rules, json_pack("{ss so}", o->rules[i].layer ? "layer" : "match",
                                                   o->rules[i].glob, "weights",
                                                   numbers(o->rules[i].weights, o->input_count)));
        json_object_set_new(recipe, "rules", rules);
    }
    if (o->recipe)
        json_object_update(recipe, (json_t *)o->recipe);
}

int bang_average_identify(bang_average *a, bang_error *err)
{
    const bang_average_options *o = &a->options;
    a->files = json_array();
    a->base_files = json_array();
    a->fisher_files = json_array();
    int code = a->files && a->base_files && a->fisher_files ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < o->input_count; i++)
        code = add_checkpoint(a->files, o->inputs[i], o->hash, err);
    if (code == 0 && bang_average_has_base(a))
        code = add_checkpoint(a->base_files, o->base, o->hash, err);
    for (size_t i = 0; code == 0 && o->method == BANG_AVERAGE_FISHER && i < o->input_count; i++)
        code = add_checkpoint(a->fisher_files, o->fishers[i], o->hash, err);
    return code;
}

int bang_average_recipe(json_t **out, const bang_average *a, size_t output, bang_error *err)
{
    const bang_average_options *o = &a->options;
    const json_t *kept = o->inputs[0]->metadata;
    json_t *recipe = json_object();
    json_t *metadata = kept ? json_copy((json_t *)kept) : json_object();
    /* Readers of Hugging Face's refuse metadata without it. */
    if (!json_object_get(metadata, "format"))
        json_object_set_new(metadata, "format", json_string("pt"));
    json_object_set_new(recipe, "version", json_string(BANG_VERSION));
    json_object_set_new(recipe, "method", json_string(methods[o->method]));
    json_object_set(recipe, "inputs", a->files);
    if (bang_average_has_base(a))
        json_object_set(recipe, "base", json_array_get(a->base_files, 0));
    if (o->method == BANG_AVERAGE_FISHER)
        json_object_set(recipe, "fisher", a->fisher_files);
    if (o->method != BANG_AVERAGE_STOCK)
        json_object_set_new(recipe, "weights",
                            numbers(o->weights + output * o->input_count, o->input_count));
    if (o->weight_text && o->weight_text[output])
        json_object_set_new(recipe, "alpha", json_string(o->weight_text[output]));
    add_settings(recipe, a);
    char *text = bang_json_text(recipe, JSON_COMPACT | JSON_REAL_PRECISION(17));
    int failed = !text || json_object_set_new(metadata, "bang", json_string(text)) < 0;
    free(text);
    json_decref(recipe);
    if (failed) {
        json_decref(metadata);
        return bang_fail_memory(err);
    }
    *out = metadata;
    return 0;
}
