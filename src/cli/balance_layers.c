/* Balance by confidence: which numbers of a model are which layer of its checkpoint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance_work.h"
#include "bang/combine/layer.h"

float *balance_numbers(const predict_model *m, size_t *count)
{
    *count = m->is_vit ? m->vit.vit.map.count : m->mlp.count;
    return m->is_vit ? m->vit.vit.parameters : m->mlp.parameters;
}

/* The number of the layer that a tensor is in; a new one is added. SIZE_MAX: memory is out. */
static size_t find_layer(balance_work *w, const char *name)
{
    size_t length = bang_layer_length(name);
    for (size_t i = 0; i < w->layer_count; i++)
        if (strlen(w->layers[i]) == length && memcmp(w->layers[i], name, length) == 0)
            return i;
    w->layers[w->layer_count] = strndup(name, length);
    return w->layers[w->layer_count] ? w->layer_count++ : SIZE_MAX;
}

/* The header of a safetensors file with all tensors of the checkpoint as F32; *size: of the data
 * behind it. */
static char *make_header(const bang_checkpoint *checkpoint, size_t *size)
{
    json_t *root = json_object();
    *size = 0;
    if (checkpoint->metadata)
        json_object_set(root, "__metadata__", checkpoint->metadata);
    for (size_t i = 0; i < checkpoint->count; i++) {
        const bang_entry *e = &checkpoint->entries[i];
        json_t *shape = json_array();
        size_t bytes = sizeof(float);
        for (int d = 0; d < e->rank; d++) {
            json_array_append_new(shape, json_integer((json_int_t)e->shape[d]));
            bytes *= e->shape[d];
        }
        size_t end = *size + bytes;
        json_object_set_new(root, e->name,
                            json_pack("{ss so s[II]}", "dtype", "F32", "shape", shape,
                                      "data_offsets", (json_int_t)*size, (json_int_t)end));
        *size = end;
    }
    char *text = bang_json_text(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

/* The checkpoint as the bytes of a safetensors file, each number the number of its layer; the
 * caller frees it. */
static unsigned char *make_image(balance_work *w, const bang_checkpoint *checkpoint, size_t *size)
{
    size_t data = 0;
    char *header = make_header(checkpoint, &data);
    size_t length = header ? strlen(header) : 0;
    unsigned char *image = header ? malloc(8 + length + data) : NULL;
    *size = 8 + length + data;
    for (int i = 0; image && i < 8; i++)
        image[i] = (unsigned char)((uint64_t)length >> (8 * i));
    unsigned char *at = image ? image + 8 + length : NULL;
    if (image)
        memcpy(image + 8, header, length);
    free(header);
    for (size_t i = 0; image && i < checkpoint->count; i++) {
        const bang_entry *e = &checkpoint->entries[i];
        size_t layer = find_layer(w, e->name), count = 1;
        float number = (float)layer;
        for (int d = 0; d < e->rank; d++)
            count *= e->shape[d];
        for (size_t k = 0; layer != SIZE_MAX && k < count; k++, at += sizeof number)
            memcpy(at, &number, sizeof number);
        if (layer == SIZE_MAX) {
            free(image);
            return NULL;
        }
    }
    return image;
}

/* The image as a model of the first one's kind. */
static int read_image(predict_model *out, const balance_work *w, const void *image, size_t size,
                      bang_error *err)
{
    const predict_model *first = &w->pair.models[0];
    bang_checkpoint *checkpoint = NULL;
    if (!first->is_vit)
        return bang_mlp_parse(&out->mlp, image, size, first->path, err);
    bang_vit_hints hints = w->pair.pictures.hints;
    hints.heads = first->vit.vit.config.heads; /* a config beside the file may have said so */
    int rc = bang_checkpoint_parse(&checkpoint, image, size, first->path, err);
    if (rc == 0)
        rc = bang_vit_model_read(&out->vit, checkpoint, &hints, err);
    out->is_vit = rc == 0;
    if (rc == 0 && w->r->head)
        rc = bang_vit_model_set_head(&out->vit, w->r->head, err);
    if (rc == 0)
        picture_options_apply(w->c, &w->r->pictures, &out->vit, first->path);
    bang_checkpoint_close(checkpoint);
    return rc;
}

/* Where in the model's numbers another layer begins. */
static int find_runs(balance_work *w, const predict_model *image, bang_error *err)
{
    size_t count, all, capacity = 0;
    const float *layer = balance_numbers(image, &count);
    balance_numbers(&w->pair.models[0], &all);
    if (count != all)
        return bang_fail(err, BANG_EDATA, "%.300s: its layers cannot be told apart",
                         w->pair.models[0].path);
    /* a head from another file is nobody's */
    size_t end = image->is_vit && w->r->head ? image->vit.vit.map.head_weight : count;
    for (size_t i = 0; i <= count; i++) {
        float number = i < end ? layer[i] : -1;
        size_t is =
            number >= 0 && number < (float)w->layer_count ? (size_t)lroundf(number) : SIZE_MAX;
        if (w->run_count && i < count && w->runs[w->run_count - 1].layer == is)
            continue;
        if (w->run_count + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 64;
            balance_run *runs = realloc(w->runs, capacity * sizeof *runs);
            if (!runs)
                return bang_fail_memory(err);
            w->runs = runs;
        }
        w->runs[w->run_count++] = (balance_run){i, is};
    }
    w->run_count--; /* the last one only ends the one before */
    return 0;
}

static void find_changes(balance_work *w)
{
    size_t count;
    const float *pre = balance_numbers(&w->pair.models[0], &count);
    const float *fine = balance_numbers(&w->pair.models[1], &count);
    for (size_t i = 0; i < w->run_count; i++) {
        size_t first = w->runs[i].first, many = w->runs[i + 1].first - first;
        if (w->runs[i].layer != SIZE_MAX)
            w->used[w->runs[i].layer] = 1;
        if (w->runs[i].layer == SIZE_MAX || w->changed[w->runs[i].layer])
            continue;
        if (memcmp(pre + first, fine + first, many * sizeof *pre) != 0) {
            w->changed[w->runs[i].layer] = 1;
            w->changed_count++;
        }
    }
}

/* Readers know where a tensor's numbers go, whatever its layout calls it. So they are given a
 * checkpoint in which every number is that of its layer, and what they make of it is looked at. */
int balance_layers(balance_work *w, const bang_checkpoint *checkpoint, bang_error *err)
{
    predict_model model = {0};
    size_t size = 0;
    w->layers = calloc(checkpoint->count + 1, sizeof *w->layers);
    w->changed = calloc(checkpoint->count + 1, 1);
    w->used = calloc(checkpoint->count + 1, 1);
    unsigned char *image =
        w->layers && w->changed && w->used ? make_image(w, checkpoint, &size) : NULL;
    int rc = image ? read_image(&model, w, image, size, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = find_runs(w, &model, err);
    if (rc == 0)
        find_changes(w);
    predict_model_release(&model);
    free(image);
    return rc;
}

void balance_mix(balance_work *w, const unsigned char *hybrid)
{
    size_t count;
    const float *of[2] = {balance_numbers(&w->pair.models[0], &count),
                          balance_numbers(&w->pair.models[1], &count)};
    float *to = balance_numbers(&w->moving, &count);
    for (size_t i = 0; i < w->run_count; i++) {
        size_t first = w->runs[i].first, layer = w->runs[i].layer;
        const float *from = of[layer != SIZE_MAX && hybrid[layer]];
        memcpy(to + first, from + first, (w->runs[i + 1].first - first) * sizeof *to);
    }
}
