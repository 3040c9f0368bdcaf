/* Image towers and heads to files, and heads from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/safetensors.h"
#include "model/places.h"
#include "model/problems.h"
#include "model/vit_settings.h"

static const char *const gelu_names[] = {
    [BANG_GELU_EXACT] = "exact", [BANG_GELU_QUICK] = "quick", [BANG_GELU_TANH] = "tanh"};

static json_t *name_list(const char *const *class_names, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, json_string(class_names[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *channel_list(const float *numbers, size_t channels)
{
    json_t *list = json_array();
    for (size_t i = 0; i < channels && i < 3; i++)
        json_array_append_new(list, json_real((double)numbers[i]));
    return list;
}

/* Puts settings, whose reference it takes, and the names beside what metadata holds. */
static int add_settings(json_t *metadata, json_t *settings, const char *const *class_names,
                        size_t count, bang_error *err)
{
    int rc = metadata && settings ? 0 : bang_fail_memory(err);
    json_t *list = rc == 0 && count ? name_list(class_names, count) : NULL;
    if (rc == 0 && count && (!list || json_object_set_new(settings, "classes", list) < 0))
        rc = bang_fail(err, BANG_EUSAGE, "class names: one is not UTF-8, or memory is out");
    char *line = rc == 0 ? bang_json_line(settings) : NULL;
    if (rc == 0 && (!line || json_object_set_new(metadata, bang_vit_key, json_string(line)) < 0))
        rc = bang_fail_memory(err);
    /* Readers of Hugging Face's refuse metadata without it. */
    if (rc == 0 && !json_object_get(metadata, "format") &&
        json_object_set_new(metadata, "format", json_string("pt")) < 0)
        rc = bang_fail_memory(err);
    free(line);
    json_decref(settings);
    return rc;
}

static int model_metadata(json_t **out, const bang_vit_model *model, bang_error *err)
{
    const bang_vit_config *c = &model->vit.config;
    *out = model->metadata ? json_copy(model->metadata) : json_object();
    json_t *settings =
        json_pack("{sI ss sf so so sb}", "heads", (json_int_t)c->heads, "gelu", gelu_names[c->gelu],
                  "epsilon", c->epsilon, "mean", channel_list(model->mean, c->channels), "std",
                  channel_list(model->std, c->channels), "unit_features", c->unit_features);
    return add_settings(*out, settings, (const char *const *)model->class_names, model->class_count,
                        err);
}

static void sizes_of(sizes *out, const bang_vit_config *c)
{
    *out = (sizes){0};
    out->of['W'] = c->width;
    out->of['M'] = c->hidden;
    out->of['N'] = bang_vit_tokens(c);
    out->of['C'] = c->channels;
    out->of['P'] = c->patch;
    out->of['E'] = c->projection;
    out->of['F'] = bang_vit_features(c);
    out->of['K'] = c->classes;
}

/* Tensors that point into the parameters; what lies transposed is a copy. */
typedef struct writing {
    bang_tensors tensors;
    float *turned; /* the copy, or NULL: a tower has one projection */
} writing;

static void release_writing(writing *w)
{
    for (size_t i = 0; i < w->tensors.count; i++)
        free(w->tensors.items[i].name);
    free(w->tensors.items);
    json_decref(w->tensors.metadata);
    free(w->turned);
}

static int turn(writing *w, bang_array *array, const float *from, bang_error *err)
{
    size_t rows = array->shape[0], columns = array->shape[1]; /* of the file */
    w->turned = malloc((array->count + 1) * sizeof *w->turned);
    if (!w->turned)
        return bang_fail_memory(err);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            w->turned[i * columns + j] = from[j * rows + i];
    array->data = w->turned;
    return 0;
}

static int add_place(writing *w, const place *p, const sizes *s, float *from, bang_error *err)
{
    for (int k = 0; k < p->parts; k++) {
        bang_tensor *tensor = &w->tensors.items[w->tensors.count];
        bang_array *array = &tensor->array;
        if (!(tensor->name = strdup(p->names[k])))
            return bang_fail_memory(err);
        w->tensors.count++;
        *array = (bang_array){.dtype = BANG_F32, .count = 1, .data = from};
        array->rank = bang_place_shape(array->shape, p, s);
        for (int i = 0; i < array->rank; i++)
            array->count *= array->shape[i];
        int rc = p->turned ? turn(w, array, from, err) : 0;
        if (rc < 0)
            return rc;
        from += array->count;
    }
    return 0;
}

static int check_names(const bang_vit_model *model, const char *path, bang_error *err)
{
    const bang_vit_config *c = &model->vit.config;
    bang_text problems = {0};
    int clip = model->names == BANG_VIT_CLIP_OPENAI || model->names == BANG_VIT_CLIP_HF;
    if (c->projection && !clip)
        bang_text_add(&problems, "a projection: only a CLIP's layout has a name for it\n");
    if (c->norm_first && model->names == BANG_VIT_HF)
        bang_text_add(&problems, "a norm before the blocks: this layout has no name for it\n");
    if (clip && (c->patch_bias || !c->norm_first))
        bang_text_add(&problems, "a CLIP has a norm before the blocks and no bias of patches\n");
    if (!c->patch_bias && model->names == BANG_VIT_HF)
        bang_text_add(&problems, "patches without bias: this layout has always one\n");
    return bang_problems_fail(&problems, path, NULL, err);
}

int bang_vit_model_save(const bang_vit_model *model, const char *path, bang_error *err)
{
    const bang_vit *vit = &model->vit;
    vit_parts parts = {.bare = model->bare,
                       .depth = vit->config.depth,
                       .patch_bias = vit->config.patch_bias,
                       .norm_first = vit->config.norm_first,
                       .projection = vit->config.projection > 0,
                       .head = vit->config.classes ? bang_vit_head_name(model->names) : NULL,
                       .head_bias = 1};
    places list = {0};
    writing w = {0};
    sizes s;
    int rc = check_names(model, path, err);
    if (rc == 0)
        rc = bang_vit_places(&list, model->names, &parts, err);
    if (rc == 0)
        rc = model_metadata(&w.tensors.metadata, model, err);
    if (rc == 0 &&
        !(w.tensors.items = calloc(list.count * PLACE_PARTS + 1, sizeof *w.tensors.items)))
        rc = bang_fail_memory(err);
    sizes_of(&s, &vit->config);
    for (size_t i = 0; rc == 0 && i < list.count; i++)
        rc = add_place(
            &w, &list.items[i], &s,
            vit->parameters + bang_place_offset(&list.items[i], &vit->map, vit->map.blocks), err);
    if (rc == 0)
        rc = bang_safetensors_write(path, &w.tensors, err);
    release_writing(&w);
    bang_places_release(&list);
    return rc;
}

int bang_head_save(const char *path, const float *weight, const float *bias, size_t classes,
                   size_t features, const char *const *names, bang_error *err)
{
    char weight_name[] = "classification_head.weight", bias_name[] = "classification_head.bias";
    bang_tensor items[] = {
        {weight_name, {BANG_F32, 2, {classes, features}, classes * features, (void *)weight}},
        {bias_name, {BANG_F32, 1, {classes}, classes, (void *)bias}}};
    bang_tensors tensors = {2, 2, items, json_object()};
    int rc = 0;
    if (names)
        rc = add_settings(tensors.metadata, json_object(), names, classes, err);
    else if (json_object_set_new(tensors.metadata, "format", json_string("pt")) < 0)
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = bang_safetensors_write(path, &tensors, err);
    json_decref(tensors.metadata);
    return rc;
}
