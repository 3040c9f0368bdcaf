/* Vision transformers as files of other frameworks have them: every number of a tensor
 * follows from its name, so that a test can say what must stand where. */
#ifndef BANG_TESTS_NAMED_VIT_H
#define BANG_TESTS_NAMED_VIT_H

#include "testing.h"

#include "bang/store/safetensors.h"
#include "bang/tensor/convert.h"

/* Number i of the tensor of that name: exact in every type with a sign and 7 bits. */
static inline float number_of(const char *name, size_t i)
{
    uint32_t hash = 2166136261U;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    hash = (hash ^ (uint32_t)i) * 2654435761U;
    return (float)((int)(hash >> 20 & 255) - 128) / 128;
}

typedef struct vit_case {
    size_t width, hidden, patch, grid, channels, depth, projection, classes;
    size_t text_width, text_hidden, vocabulary, context, text_depth;
    bang_dtype dtype;
    const char *prefix, *text_prefix;
} vit_case;

/* Adds the tensor prefix + name, whose numbers are those of name. */
static inline void add_named(bang_tensors *out, const vit_case *c, const char *name, int rank,
                             const size_t *shape)
{
    bang_array array;
    bang_error err = {0};
    char full[256];
    snprintf(full, sizeof full, "%s%s", c->prefix ? c->prefix : "", name);
    if (bang_array_init(&array, c->dtype, rank, shape, &err) < 0)
        fail_msg("%s", err.message);
    char *bytes = array.data;
    for (size_t i = 0; i < array.count; i++) {
        float number = number_of(name, i);
        bang_from_f32(bytes + i * bang_dtype_size(c->dtype), c->dtype, &number, 1);
    }
    if (bang_tensors_add(out, full, &array, &err) < 0)
        fail_msg("%s", err.message);
}
#define ADD(out, c, name, ...)                                                                     \
    add_named(out, c, name, (int)(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)),               \
              (size_t[]){__VA_ARGS__})

/* A block's tensors: twelve names after prefix, "%" in two of them for q, k, v. */
static inline void add_block(bang_tensors *out, const vit_case *c, const char *prefix,
                             const char *const names[12], const char *const thirds[3], size_t w,
                             size_t m)
{
    const size_t shapes[12][2] = {{w}, {w}, {3 * w, w}, {3 * w}, {w, w}, {w},
                                  {w}, {w}, {m, w},     {m},     {w, m}, {w}};
    for (int i = 0; i < 12; i++) {
        const char *hole = strchr(names[i], '%');
        size_t shape[2] = {shapes[i][0], shapes[i][1]};
        char name[200];
        for (int k = 0; k < (hole ? 3 : 1); k++) {
            snprintf(name, sizeof name, "%s%.*s%s%s", prefix,
                     hole ? (int)(hole - names[i]) : (int)strlen(names[i]), names[i],
                     hole ? thirds[k] : "", hole ? hole + 1 : "");
            shape[0] = hole ? w : shapes[i][0];
            add_named(out, c, name, shapes[i][1] ? 2 : 1, shape);
        }
    }
}

static const char *const timm_names[12] = {"norm1.weight",  "norm1.bias",       "attn.qkv.weight",
                                           "attn.qkv.bias", "attn.proj.weight", "attn.proj.bias",
                                           "norm2.weight",  "norm2.bias",       "mlp.fc1.weight",
                                           "mlp.fc1.bias",  "mlp.fc2.weight",   "mlp.fc2.bias"};
static const char *const hf_names[12] = {
    "layernorm_before.weight",    "layernorm_before.bias",         "attention.attention.%.weight",
    "attention.attention.%.bias", "attention.output.dense.weight", "attention.output.dense.bias",
    "layernorm_after.weight",     "layernorm_after.bias",          "intermediate.dense.weight",
    "intermediate.dense.bias",    "output.dense.weight",           "output.dense.bias"};
static const char *const hf_thirds[3] = {"query", "key", "value"};
static const char *const openai_names[12] = {
    "ln_1.weight",          "ln_1.bias",          "attn.in_proj_weight", "attn.in_proj_bias",
    "attn.out_proj.weight", "attn.out_proj.bias", "ln_2.weight",         "ln_2.bias",
    "mlp.c_fc.weight",      "mlp.c_fc.bias",      "mlp.c_proj.weight",   "mlp.c_proj.bias"};
static const char *const clip_hf_names[12] = {"layer_norm1.weight",
                                              "layer_norm1.bias",
                                              "self_attn.%.weight",
                                              "self_attn.%.bias",
                                              "self_attn.out_proj.weight",
                                              "self_attn.out_proj.bias",
                                              "layer_norm2.weight",
                                              "layer_norm2.bias",
                                              "mlp.fc1.weight",
                                              "mlp.fc1.bias",
                                              "mlp.fc2.weight",
                                              "mlp.fc2.bias"};
static const char *const clip_thirds[3] = {"q_proj", "k_proj", "v_proj"};

static inline void add_blocks(bang_tensors *out, const vit_case *c, const char *format,
                              const char *const names[12], const char *const thirds[3], size_t w,
                              size_t m, size_t depth)
{
    char prefix[100];
    for (size_t b = 0; b < depth; b++) {
        snprintf(prefix, sizeof prefix, "%s%zu.", format, b);
        add_block(out, c, prefix, names, thirds, w, m);
    }
}

static inline size_t tokens_of(const vit_case *c)
{
    return c->grid * c->grid + 1;
}

static inline void make_timm(bang_tensors *out, const vit_case *c)
{
    size_t w = c->width;
    ADD(out, c, "cls_token", 1, 1, w);
    ADD(out, c, "pos_embed", 1, tokens_of(c), w);
    ADD(out, c, "patch_embed.proj.weight", w, c->channels, c->patch, c->patch);
    ADD(out, c, "patch_embed.proj.bias", w);
    add_blocks(out, c, "blocks.", timm_names, NULL, w, c->hidden, c->depth);
    ADD(out, c, "norm.weight", w);
    ADD(out, c, "norm.bias", w);
    if (c->classes) {
        ADD(out, c, "head.weight", c->classes, w);
        ADD(out, c, "head.bias", c->classes);
    }
}

/* vit: "vit." or "", which stands before all but the head. */
static inline void make_hf(bang_tensors *out, const vit_case *c, const char *vit)
{
    size_t w = c->width;
    char layers[40], name[200];
    snprintf(layers, sizeof layers, "%sencoder.layer.", vit);
#define NAME(text) (snprintf(name, sizeof name, "%s%s", vit, text), name)
    ADD(out, c, NAME("embeddings.cls_token"), 1, 1, w);
    ADD(out, c, NAME("embeddings.position_embeddings"), 1, tokens_of(c), w);
    ADD(out, c, NAME("embeddings.patch_embeddings.projection.weight"), w, c->channels, c->patch,
        c->patch);
    ADD(out, c, NAME("embeddings.patch_embeddings.projection.bias"), w);
    add_blocks(out, c, layers, hf_names, hf_thirds, w, c->hidden, c->depth);
    ADD(out, c, NAME("layernorm.weight"), w);
    ADD(out, c, NAME("layernorm.bias"), w);
#undef NAME
    if (c->classes) {
        ADD(out, c, "classifier.weight", c->classes, w);
        ADD(out, c, "classifier.bias", c->classes);
    }
}

static inline void make_clip_head(bang_tensors *out, const vit_case *c)
{
    vit_case plain = *c;
    plain.prefix = NULL; /* as wise-ft has it: beside what it wraps */
    if (c->classes) {
        ADD(out, &plain, "classification_head.weight", c->classes,
            c->projection ? c->projection : c->width);
        ADD(out, &plain, "classification_head.bias", c->classes);
    }
}

static inline void make_openai(bang_tensors *out, const vit_case *c)
{
    size_t w = c->width;
    ADD(out, c, "visual.class_embedding", w);
    ADD(out, c, "visual.positional_embedding", tokens_of(c), w);
    ADD(out, c, "visual.conv1.weight", w, c->channels, c->patch, c->patch);
    ADD(out, c, "visual.ln_pre.weight", w);
    ADD(out, c, "visual.ln_pre.bias", w);
    add_blocks(out, c, "visual.transformer.resblocks.", openai_names, NULL, w, c->hidden, c->depth);
    ADD(out, c, "visual.ln_post.weight", w);
    ADD(out, c, "visual.ln_post.bias", w);
    if (c->projection)
        ADD(out, c, "visual.proj", w, c->projection);
    make_clip_head(out, c);
}

static inline void make_clip_hf(bang_tensors *out, const vit_case *c)
{
    size_t w = c->width;
    ADD(out, c, "vision_model.embeddings.class_embedding", w);
    ADD(out, c, "vision_model.embeddings.position_embedding.weight", tokens_of(c), w);
    ADD(out, c, "vision_model.embeddings.patch_embedding.weight", w, c->channels, c->patch,
        c->patch);
    ADD(out, c, "vision_model.pre_layrnorm.weight", w);
    ADD(out, c, "vision_model.pre_layrnorm.bias", w);
    add_blocks(out, c, "vision_model.encoder.layers.", clip_hf_names, clip_thirds, w, c->hidden,
               c->depth);
    ADD(out, c, "vision_model.post_layernorm.weight", w);
    ADD(out, c, "vision_model.post_layernorm.bias", w);
    if (c->projection)
        ADD(out, c, "visual_projection.weight", c->projection, w);
    make_clip_head(out, c);
}

static inline void make_openai_text(bang_tensors *out, const vit_case *c)
{
    size_t w = c->text_width;
    vit_case text = *c;
    char prefix[100];
    snprintf(prefix, sizeof prefix, "%s%s", c->prefix ? c->prefix : "",
             c->text_prefix ? c->text_prefix : "");
    text.prefix = prefix;
    ADD(out, &text, "token_embedding.weight", c->vocabulary, w);
    ADD(out, &text, "positional_embedding", c->context, w);
    add_blocks(out, &text, "transformer.resblocks.", openai_names, NULL, w, c->text_hidden,
               c->text_depth);
    ADD(out, &text, "ln_final.weight", w);
    ADD(out, &text, "ln_final.bias", w);
    ADD(out, &text, "text_projection", w, c->projection);
    add_named(out, c, "logit_scale", 0, NULL);
}

static inline void make_hf_text(bang_tensors *out, const vit_case *c)
{
    size_t w = c->text_width;
    ADD(out, c, "text_model.embeddings.token_embedding.weight", c->vocabulary, w);
    ADD(out, c, "text_model.embeddings.position_embedding.weight", c->context, w);
    add_blocks(out, c, "text_model.encoder.layers.", clip_hf_names, clip_thirds, w, c->text_hidden,
               c->text_depth);
    ADD(out, c, "text_model.final_layer_norm.weight", w);
    ADD(out, c, "text_model.final_layer_norm.bias", w);
    ADD(out, c, "text_projection.weight", c->projection, w);
    add_named(out, c, "logit_scale", 0, NULL);
}

/* Writes and releases. */
static inline void write_tensors(const char *path, bang_tensors *tensors)
{
    bang_error err = {0};
    if (bang_safetensors_write(path, tensors, &err) < 0)
        fail_msg("%s", err.message);
    bang_tensors_release(tensors);
}

#endif
