#include "bang/model/vit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/random.h"
#include "bang/base/text.h"

size_t bang_vit_tokens(const bang_vit_config *config)
{
    size_t side = config->image / config->patch;
    return side * side + 1;
}

size_t bang_vit_features(const bang_vit_config *config)
{
    return config->projection ? config->projection : config->width;
}

/* Up to these no tensor's size overflows, and no machine holds a model that needs more. */
enum { LARGEST = 1 << 20, LARGEST_IMAGE = 1 << 14, DEEPEST = 10000 };
static const size_t most_numbers = SIZE_MAX >> 16;

static void check_size(bang_text *problems, const char *what, size_t size, size_t least,
                       size_t most)
{
    if (size < least || size > most)
        bang_text_add(problems, "; %s: %zu: %zu to %zu are possible", what, size, least, most);
}

int bang_vit_check(const bang_vit_config *config, bang_error *err)
{
    bang_text problems = {0};
    check_size(&problems, "image", config->image, 1, LARGEST_IMAGE);
    check_size(&problems, "patch", config->patch, 1, LARGEST_IMAGE);
    if (config->patch && config->image % config->patch)
        bang_text_add(&problems, "; patch: %zu does not divide the image's %zu pixels",
                      config->patch, config->image);
    if (config->channels != 1 && config->channels != 3)
        bang_text_add(&problems, "; channels: %zu: 1 and 3 are possible", config->channels);
    check_size(&problems, "width", config->width, 1, LARGEST);
    check_size(&problems, "depth", config->depth, 1, DEEPEST);
    check_size(&problems, "hidden", config->hidden, 1, LARGEST);
    check_size(&problems, "heads", config->heads, 1, LARGEST);
    if (config->heads && config->width % config->heads)
        bang_text_add(&problems, "; heads: %zu do not divide the width %zu", config->heads,
                      config->width);
    check_size(&problems, "projection", config->projection, 0, LARGEST);
    check_size(&problems, "classes", config->classes, 0, LARGEST);
    if ((unsigned)config->gelu > BANG_GELU_TANH)
        bang_text_add(&problems, "; gelu: there is no kind %d", (int)config->gelu);
    if (!(config->epsilon > 0) || !isfinite(config->epsilon))
        bang_text_add(&problems, "; epsilon: %g is not positive", config->epsilon);
    return bang_text_fail(&problems, err);
}

/* Collects the tensors; the second time round there is room to note them. */
typedef struct places {
    bang_vit_tensor *tensors; /* NULL: only count them */
    size_t tensor_count, count;
    int overflow;
} places;

/* prefix has no point at its end; shape ends with the first 0. */
static size_t place(places *p, const char *prefix, const char *name, const size_t shape[4])
{
    bang_vit_tensor tensor = {.offset = p->count, .count = 1};
    for (; tensor.rank < 4 && shape[tensor.rank]; tensor.rank++) {
        tensor.shape[tensor.rank] = shape[tensor.rank];
        tensor.count *= shape[tensor.rank]; /* bang_vit_check: this fits */
    }
    if (tensor.count > most_numbers - p->count)
        p->overflow = 1;
    else
        p->count += tensor.count;
    snprintf(tensor.name, sizeof tensor.name, "%s%s", prefix, name);
    if (p->tensors)
        p->tensors[p->tensor_count] = tensor;
    p->tensor_count++;
    return tensor.offset;
}

#define PLACE(prefix, name, ...) place(p, prefix, name, (const size_t[4]){__VA_ARGS__})

static void place_block(places *p, bang_vit_block *out, size_t number, size_t width, size_t hidden)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "blocks.%zu.", number);
    /* one after the other: members of an initialiser may be computed in any order */
    out->norm1_gain = PLACE(prefix, "norm1.gain", width);
    out->norm1_bias = PLACE(prefix, "norm1.bias", width);
    out->qkv_weight = PLACE(prefix, "qkv.weight", 3 * width, width);
    out->qkv_bias = PLACE(prefix, "qkv.bias", 3 * width);
    out->proj_weight = PLACE(prefix, "proj.weight", width, width);
    out->proj_bias = PLACE(prefix, "proj.bias", width);
    out->norm2_gain = PLACE(prefix, "norm2.gain", width);
    out->norm2_bias = PLACE(prefix, "norm2.bias", width);
    out->fc1_weight = PLACE(prefix, "fc1.weight", hidden, width);
    out->fc1_bias = PLACE(prefix, "fc1.bias", hidden);
    out->fc2_weight = PLACE(prefix, "fc2.weight", width, hidden);
    out->fc2_bias = PLACE(prefix, "fc2.bias", width);
}

static void place_all(places *p, bang_vit_map *out, const bang_vit_config *c)
{
    size_t width = c->width;
    out->patch_weight = PLACE("patch", ".weight", width, c->channels, c->patch, c->patch);
    out->patch_bias = c->patch_bias ? PLACE("patch", ".bias", width) : SIZE_MAX;
    out->token = PLACE("", "class", width);
    out->positions = PLACE("", "positions", bang_vit_tokens(c), width);
    out->first_gain = c->norm_first ? PLACE("norm_first", ".gain", width) : SIZE_MAX;
    out->first_bias = c->norm_first ? PLACE("norm_first", ".bias", width) : SIZE_MAX;
    for (size_t l = 0; l < c->depth; l++) {
        bang_vit_block block;
        place_block(p, &block, l, width, c->hidden);
        if (out->blocks)
            out->blocks[l] = block;
    }
    out->norm_gain = PLACE("norm", ".gain", width);
    out->norm_bias = PLACE("norm", ".bias", width);
    out->projection = c->projection ? PLACE("", "projection", c->projection, width) : SIZE_MAX;
    out->head_weight =
        c->classes ? PLACE("head", ".weight", c->classes, bang_vit_features(c)) : SIZE_MAX;
    out->head_bias = c->classes ? PLACE("head", ".bias", c->classes) : SIZE_MAX;
}

int bang_vit_map_init(bang_vit_map *out, const bang_vit_config *config, bang_error *err)
{
    places p = {0};
    *out = (bang_vit_map){0};
    int rc = bang_vit_check(config, err);
    if (rc < 0)
        return rc;
    place_all(&p, out, config);
    if (p.overflow)
        return bang_fail(err, BANG_EUSAGE,
                         "model: its parameters do not fit into memory: a smaller width or depth");
    out->blocks = calloc(config->depth, sizeof *out->blocks);
    out->tensors = calloc(p.tensor_count, sizeof *out->tensors);
    if (!out->blocks || !out->tensors) {
        bang_vit_map_release(out);
        return bang_fail_memory(err);
    }
    p = (places){.tensors = out->tensors};
    place_all(&p, out, config);
    out->tensor_count = p.tensor_count;
    out->count = p.count;
    return 0;
}

void bang_vit_map_release(bang_vit_map *map)
{
    free(map->blocks);
    free(map->tensors);
    *map = (bang_vit_map){0};
}

int bang_vit_init(bang_vit *out, const bang_vit_config *config, bang_error *err)
{
    *out = (bang_vit){.config = *config};
    int rc = bang_vit_map_init(&out->map, config, err);
    if (rc < 0)
        return rc;
    void *block = NULL;
    size_t bytes = out->map.count * sizeof *out->parameters;
    if (posix_memalign(&block, 64, bytes) != 0) {
        bang_vit_release(out);
        return bang_fail_memory(err);
    }
    bang_memory_large(block, bytes);
    out->parameters = memset(block, 0, bytes);
    return 0;
}

void bang_vit_release(bang_vit *vit)
{
    free(vit->parameters);
    bang_vit_map_release(&vit->map);
    *vit = (bang_vit){0};
}

static void fill_normal(float *to, size_t count, float scale, bang_random *random)
{
    for (size_t i = 0; i < count; i++)
        to[i] = scale * (float)bang_random_normal(random);
}

static void fill_uniform(float *to, size_t count, float bound, bang_random *random)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bound * ((float)bang_random_u32(random) * 0x1p-31f - 1);
}

void bang_vit_randomise(bang_vit *vit, uint64_t seed)
{
    const bang_vit_map *map = &vit->map;
    for (size_t t = 0; t < map->tensor_count; t++) {
        const bang_vit_tensor *tensor = &map->tensors[t];
        float *to = vit->parameters + tensor->offset;
        bang_random random;
        bang_random_init(&random, seed, BANG_PURPOSE('v', 'i', 't', ' '), t);
        if (tensor->offset == map->token || tensor->offset == map->positions) {
            fill_normal(to, tensor->count, .02F, &random);
        } else if (tensor->rank > 1 && tensor->offset != map->head_weight) {
            /* uniform on +-b has the variance b^2/3; in is what one output adds up */
            size_t out = tensor->shape[0], in = tensor->count / out;
            fill_uniform(to, tensor->count, (float)sqrt(6 / (double)(in + out)), &random);
        } else {
            float one = bang_text_ends_with(tensor->name, ".gain") ? 1 : 0;
            for (size_t i = 0; i < tensor->count; i++)
                to[i] = one;
        }
    }
}

int bang_vit_new_head(bang_vit *vit, size_t classes, bang_error *err)
{
    bang_vit_config config = vit->config;
    bang_vit other;
    config.classes = classes;
    int rc = bang_vit_init(&other, &config, err);
    if (rc < 0)
        return rc;
    size_t tower = vit->map.head_weight == SIZE_MAX ? vit->map.count : vit->map.head_weight;
    memcpy(other.parameters, vit->parameters, tower * sizeof *vit->parameters);
    bang_vit_release(vit);
    *vit = other;
    return 0;
}
