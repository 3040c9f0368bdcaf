/* CLIPs of any size with random bytes for numbers, named by hand in both layouts. */
#ifndef BANG_TESTS_TINY_CLIP_H
#define BANG_TESTS_TINY_CLIP_H

#include "testing.h"

#include "bang/base/random.h"
#include "bang/store/safetensors.h"

typedef struct tiny_clip {
    int hf;
    size_t width, depth, patch, positions; /* no image tower when width is 0 */
    size_t text_width, text_depth, context, vocabulary;
    size_t embedding;  /* 0: no projections */
    bang_dtype matrix; /* of weights with two dimensions and more; others are F32 */
    int ids;           /* position_ids, in Hugging Face's layout */
    const char *prefix, *text_prefix;
} tiny_clip;

/* No two bytes alike over the tests that use it, and no number that is special. */
static inline bang_random *tiny_random(void)
{
    static bang_random random;
    static int ready;
    if (!ready)
        bang_random_init(&random, 7, BANG_PURPOSE('c', 'l', 'i', 'p'), 0);
    ready = 1;
    return &random;
}

static inline void tiny_add(bang_tensors *out, bang_dtype dtype, int rank, const size_t *shape,
                            const char *prefix, const char *name)
{
    bang_array array;
    bang_error err = {0};
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix ? prefix : "", name);
    if (bang_array_init(&array, dtype, rank, shape, &err) < 0)
        fail_msg("%s", err.message);
    unsigned char *bytes = array.data;
    for (size_t i = 0; i < array.count * bang_dtype_size(dtype); i++)
        bytes[i] = (unsigned char)bang_random_u32(tiny_random());
    if (bang_tensors_add(out, full, &array, &err) < 0)
        fail_msg("%s", err.message);
}

#define TINY_VECTOR(name, a) tiny_add(out, BANG_F32, 1, (size_t[]){a}, prefix, name)
#define TINY_MATRIX(name, a, b) tiny_add(out, clip->matrix, 2, (size_t[]){a, b}, prefix, name)

static inline void tiny_layer(bang_tensors *out, const tiny_clip *clip, size_t w,
                              const char *prefix)
{
    static const char *const thirds[3][2] = {{"self_attn.k_proj.weight", "self_attn.k_proj.bias"},
                                             {"self_attn.v_proj.weight", "self_attn.v_proj.bias"},
                                             {"self_attn.q_proj.weight", "self_attn.q_proj.bias"}};
    int hf = clip->hf;
    for (int i = 0; hf && i < 3; i++) {
        TINY_MATRIX(thirds[i][0], w, w);
        TINY_VECTOR(thirds[i][1], w);
    }
    if (!hf) {
        TINY_MATRIX("attn.in_proj_weight", 3 * w, w);
        TINY_VECTOR("attn.in_proj_bias", 3 * w);
    }
    TINY_MATRIX(hf ? "self_attn.out_proj.weight" : "attn.out_proj.weight", w, w);
    TINY_VECTOR(hf ? "self_attn.out_proj.bias" : "attn.out_proj.bias", w);
    TINY_VECTOR(hf ? "layer_norm1.weight" : "ln_1.weight", w);
    TINY_VECTOR(hf ? "layer_norm1.bias" : "ln_1.bias", w);
    TINY_MATRIX(hf ? "mlp.fc1.weight" : "mlp.c_fc.weight", 4 * w + 1, w);
    TINY_VECTOR(hf ? "mlp.fc1.bias" : "mlp.c_fc.bias", 4 * w + 1);
    TINY_MATRIX(hf ? "mlp.fc2.weight" : "mlp.c_proj.weight", w, 4 * w + 1);
    TINY_VECTOR(hf ? "mlp.fc2.bias" : "mlp.c_proj.bias", w);
    TINY_VECTOR(hf ? "layer_norm2.weight" : "ln_2.weight", w);
    TINY_VECTOR(hf ? "layer_norm2.bias" : "ln_2.bias", w);
}

static inline void tiny_ids(bang_tensors *out, const char *prefix, const char *name, size_t count)
{
    tiny_add(out, BANG_I64, 2, (size_t[]){1, count}, prefix, name);
    int64_t *ids = out->items[out->count - 1].array.data;
    for (size_t i = 0; i < count; i++)
        ids[i] = (int64_t)i;
}

static inline void tiny_vision(bang_tensors *out, const tiny_clip *clip)
{
    const char *prefix = clip->prefix;
    size_t w = clip->width, p = clip->patch;
    int hf = clip->hf;
    char layer[256];
    TINY_VECTOR(hf ? "vision_model.embeddings.class_embedding" : "visual.class_embedding", w);
    tiny_add(out, clip->matrix, 4, (size_t[]){w, 3, p, p}, prefix,
             hf ? "vision_model.embeddings.patch_embedding.weight" : "visual.conv1.weight");
    TINY_MATRIX(hf ? "vision_model.embeddings.position_embedding.weight"
                   : "visual.positional_embedding",
                clip->positions, w);
    if (clip->ids)
        tiny_ids(out, prefix, "vision_model.embeddings.position_ids", clip->positions);
    TINY_VECTOR(hf ? "vision_model.pre_layrnorm.weight" : "visual.ln_pre.weight", w);
    TINY_VECTOR(hf ? "vision_model.pre_layrnorm.bias" : "visual.ln_pre.bias", w);
    for (size_t l = 0; l < clip->depth; l++) {
        snprintf(layer, sizeof layer, "%s%s.%zu.", prefix ? prefix : "",
                 hf ? "vision_model.encoder.layers" : "visual.transformer.resblocks", l);
        tiny_layer(out, clip, w, layer);
    }
    TINY_VECTOR(hf ? "vision_model.post_layernorm.weight" : "visual.ln_post.weight", w);
    TINY_VECTOR(hf ? "vision_model.post_layernorm.bias" : "visual.ln_post.bias", w);
    if (clip->embedding && hf)
        TINY_MATRIX("visual_projection.weight", clip->embedding, w);
    else if (clip->embedding)
        TINY_MATRIX("visual.proj", w, clip->embedding);
}

static inline void tiny_text(bang_tensors *out, const tiny_clip *clip)
{
    size_t w = clip->text_width;
    int hf = clip->hf;
    char prefix[128], layer[256];
    snprintf(prefix, sizeof prefix, "%s%s", clip->prefix ? clip->prefix : "",
             clip->text_prefix ? clip->text_prefix : "");
    TINY_MATRIX(hf ? "text_model.embeddings.token_embedding.weight" : "token_embedding.weight",
                clip->vocabulary, w);
    TINY_MATRIX(hf ? "text_model.embeddings.position_embedding.weight" : "positional_embedding",
                clip->context, w);
    if (clip->ids)
        tiny_ids(out, prefix, "text_model.embeddings.position_ids", clip->context);
    for (size_t l = 0; l < clip->text_depth; l++) {
        snprintf(layer, sizeof layer, "%s%s.%zu.", prefix,
                 hf ? "text_model.encoder.layers" : "transformer.resblocks", l);
        tiny_layer(out, clip, w, layer);
    }
    TINY_VECTOR(hf ? "text_model.final_layer_norm.weight" : "ln_final.weight", w);
    TINY_VECTOR(hf ? "text_model.final_layer_norm.bias" : "ln_final.bias", w);
    if (clip->embedding && hf)
        TINY_MATRIX("text_projection.weight", clip->embedding, w);
    else if (clip->embedding)
        TINY_MATRIX("text_projection", w, clip->embedding);
}

static inline void tiny_make(bang_tensors *out, const tiny_clip *clip)
{
    *out = (bang_tensors){0};
    if (clip->width)
        tiny_vision(out, clip);
    if (clip->text_width)
        tiny_text(out, clip);
    if (clip->width && clip->text_width)
        tiny_add(out, BANG_F32, 0, NULL, clip->prefix, "logit_scale");
}

#endif
