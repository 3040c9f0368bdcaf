/* bang predict: do all ranks hold the same models and data, and were they asked the same? */
#include <stdio.h>

#include "bang/base/agree.h"
#include "bang/base/digest.h"
#include "predict.h"

static int add_bytes(json_t *about, const char *key, const void *data, size_t size, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_digest_bytes(digest, data, size, err);
    return rc == 0 && json_object_set_new(about, key, json_string(digest)) < 0
               ? bang_fail_memory(err)
               : rc;
}

/* Its weights, and what they mean. */
static int add_model(json_t *about, const predict_model *m, size_t number, bang_error *err)
{
    char weights[48], shape[48];
    bang_text text = {0};
    const bang_vit_config *c = &m->vit.vit.config;
    snprintf(weights, sizeof weights, "weights of model %zu", number);
    snprintf(shape, sizeof shape, "sizes and settings of model %zu", number);
    if (m->is_vit)
        bang_text_add(&text, "vit %zu %zu %zu %zu %zu %zu %zu %zu %zu %d %.9g %d %d %d", c->image,
                      c->patch, c->channels, c->width, c->depth, c->heads, c->hidden, c->projection,
                      c->classes, (int)c->gelu, c->epsilon, c->patch_bias != 0, c->norm_first != 0,
                      c->unit_features != 0);
    for (int i = 0; m->is_vit && i < 3; i++)
        bang_text_add(&text, " %.9g %.9g", (double)m->vit.mean[i], (double)m->vit.std[i]);
    if (!m->is_vit)
        bang_text_add(&text, "mlp %d", (int)m->mlp.activation);
    for (int l = 0; !m->is_vit && l <= m->mlp.layers; l++)
        bang_text_add(&text, " %zu", m->mlp.width[l]);
    int rc =
        text.failed ? bang_fail_memory(err) : add_bytes(about, shape, text.data, text.size, err);
    bang_text_release(&text);
    if (rc < 0)
        return rc;
    return m->is_vit
               ? add_bytes(about, weights, m->vit.vit.parameters,
                           m->vit.vit.map.count * sizeof(float), err)
               : add_bytes(about, weights, m->mlp.parameters, m->mlp.count * sizeof(float), err);
}

static int add_data(json_t *about, const predict_request *r, bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_images_digest(digest, &r->set, err);
    if (rc == 0 && json_object_set_new(about, "data", json_string(digest)) < 0)
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = bang_images_digest_sizes(digest, &r->set, err);
    if (rc == 0 && json_object_set_new(about, "sizes of files", json_string(digest)) < 0)
        rc = bang_fail_memory(err);
    if (rc == 0 && r->has_map)
        rc = add_bytes(about, "map", r->map.output, r->map.first[r->map.classes] * sizeof(uint32_t),
                       err);
    return rc;
}

int predict_agree(const cli *c, const predict_request *r, bang_error *err)
{
    if (bang_ranks_count(c->ranks) == 1)
        return 0;
    json_t *about = json_pack(
        "{sI sI sI sb sb sI sI sb}", "models", (json_int_t)r->count, "inputs",
        (json_int_t)r->set.count, "batch", (json_int_t)r->batch, "features", r->features,
        "skip bad pictures", r->pictures.skip_bad, "crop", (json_int_t)r->pictures.crop, "border",
        (json_int_t)(r->has_map ? r->map.border : 0), "probabilities", r->probabilities);
    int rc = about ? 0 : bang_fail_memory(err);
    for (size_t m = 0; m < r->count && rc == 0; m++)
        rc = add_model(about, &r->models[m], m + 1, err);
    if (rc == 0 && r->weights)
        rc = add_bytes(about, "weights", r->weights, r->count * sizeof *r->weights, err);
    if (rc == 0)
        rc = add_data(about, r, err);
    if (rc == 0)
        rc = bang_ranks_agree(c->ranks, about, err);
    json_decref(about);
    return rc;
}
