/* What the layouts call the tensors of an image tower and of a text tower. */
#include <stdio.h>
#include <string.h>

#include "model/layout.h"
#include "model/places.h"

/* A tensor that a tower has once. */
typedef struct whole_slot {
    size_t field; /* of bang_vit_map */
    const char *timm, *hf;
    const char *clip;  /* OpenAI's name; Hugging Face's is in bang_clip_slots */
    const char *shape; /* see place */
    int ones;          /* in timm's and Hugging Face's ViT */
} whole_slot;

static const whole_slot wholes[] = {
    {offsetof(bang_vit_map, token), "cls_token", "embeddings.cls_token", "visual.class_embedding",
     "W", 2},
    {offsetof(bang_vit_map, patch_weight), "patch_embed.proj.weight",
     "embeddings.patch_embeddings.projection.weight", "visual.conv1.weight", "WCPP", 0},
    {offsetof(bang_vit_map, patch_bias), "patch_embed.proj.bias",
     "embeddings.patch_embeddings.projection.bias", NULL, "W", 0},
    {offsetof(bang_vit_map, positions), "pos_embed", "embeddings.position_embeddings",
     "visual.positional_embedding", "NW", 1},
    {offsetof(bang_vit_map, first_gain), "norm_pre.weight", NULL, "visual.ln_pre.weight", "W", 0},
    {offsetof(bang_vit_map, first_bias), "norm_pre.bias", NULL, "visual.ln_pre.bias", "W", 0},
    {offsetof(bang_vit_map, norm_gain), "norm.weight", "layernorm.weight", "visual.ln_post.weight",
     "W", 0},
    {offsetof(bang_vit_map, norm_bias), "norm.bias", "layernorm.bias", "visual.ln_post.bias", "W",
     0},
    {offsetof(bang_vit_map, projection), NULL, NULL, "visual.proj", "EW", 0},
};

/* A tensor that each block has; the order is that of bang_clip_layer_slots. */
typedef struct block_slot {
    size_t field; /* of bang_vit_block */
    const char *timm, *hf;
    const char *shape;
} block_slot;

static const block_slot slots[] = {
    {offsetof(bang_vit_block, norm1_gain), "norm1.weight", "layernorm_before.weight", "W"},
    {offsetof(bang_vit_block, norm1_bias), "norm1.bias", "layernorm_before.bias", "W"},
    {offsetof(bang_vit_block, qkv_weight), "attn.qkv.weight", "attention.attention.%s.weight",
     "TW"},
    {offsetof(bang_vit_block, qkv_bias), "attn.qkv.bias", "attention.attention.%s.bias", "T"},
    {offsetof(bang_vit_block, proj_weight), "attn.proj.weight", "attention.output.dense.weight",
     "WW"},
    {offsetof(bang_vit_block, proj_bias), "attn.proj.bias", "attention.output.dense.bias", "W"},
    {offsetof(bang_vit_block, norm2_gain), "norm2.weight", "layernorm_after.weight", "W"},
    {offsetof(bang_vit_block, norm2_bias), "norm2.bias", "layernorm_after.bias", "W"},
    {offsetof(bang_vit_block, fc1_weight), "mlp.fc1.weight", "intermediate.dense.weight", "MW"},
    {offsetof(bang_vit_block, fc1_bias), "mlp.fc1.bias", "intermediate.dense.bias", "M"},
    {offsetof(bang_vit_block, fc2_weight), "mlp.fc2.weight", "output.dense.weight", "WM"},
    {offsetof(bang_vit_block, fc2_bias), "mlp.fc2.bias", "output.dense.bias", "W"},
};

_Static_assert(sizeof slots / sizeof *slots == CLIP_LAYER_SLOTS, "one for each of CLIP's");

static int is_stacked(const char *shape)
{
    return shape[0] == 'T';
}

/* The name of a block's tensor, with query, key or value in place of %s. */
static void set_hf_name(char out[PLACE_NAME], const vit_parts *parts, size_t block,
                        const char *name, int third)
{
    const char *what = third == 0 ? "query" : third == 1 ? "key" : "value";
    const char *hole = strstr(name, "%s");
    int before = hole ? (int)(hole - name) : (int)strlen(name);
    snprintf(out, PLACE_NAME, "%sencoder.layer.%zu.%.*s%s%s", parts->bare ? "" : "vit.", block,
             before, name, hole ? what : "", hole ? hole + 2 : "");
}

static int add_block_place(places *out, bang_vit_names names, const vit_parts *parts, size_t block,
                           int slot)
{
    place *p = bang_places_add(out);
    if (!p)
        return -1;
    p->block = block;
    p->field = slots[slot].field;
    p->shape = slots[slot].shape;
    int apart = names == BANG_VIT_HF || names == BANG_VIT_CLIP_HF;
    p->parts = apart && is_stacked(p->shape) ? 3 : 1;
    clip_place clip = {.tower = CLIP_VISION, .layered = 1, .layer = block, .slot = slot};
    for (clip.third = 0; clip.third < p->parts; clip.third++) {
        char *name = p->names[clip.third];
        if (names == BANG_VIT_TIMM)
            snprintf(name, PLACE_NAME, "blocks.%zu.%s", block, slots[slot].timm);
        else if (names == BANG_VIT_HF)
            set_hf_name(name, parts, block, slots[slot].hf, clip.third);
        else
            bang_clip_name(name, PLACE_NAME, &clip, names == BANG_VIT_CLIP_HF);
    }
    return 0;
}

static int has_whole(const whole_slot *slot, const vit_parts *parts)
{
    switch (slot->field) {
    case offsetof(bang_vit_map, patch_bias):
        return parts->patch_bias;
    case offsetof(bang_vit_map, first_gain):
    case offsetof(bang_vit_map, first_bias):
        return parts->norm_first;
    case offsetof(bang_vit_map, projection):
        return parts->projection;
    default:
        return 1;
    }
}

static int add_whole_place(places *out, bang_vit_names names, const vit_parts *parts,
                           const whole_slot *slot)
{
    place *p = bang_places_add(out);
    if (!p)
        return -1;
    p->field = slot->field;
    p->shape = slot->shape;
    if (names == BANG_VIT_TIMM || names == BANG_VIT_HF)
        p->ones = slot->ones;
    if (names == BANG_VIT_TIMM)
        snprintf(p->names[0], PLACE_NAME, "%s", slot->timm);
    else if (names == BANG_VIT_HF)
        snprintf(p->names[0], PLACE_NAME, "%s%s", parts->bare ? "" : "vit.", slot->hf);
    else {
        clip_place clip;
        int hf = names == BANG_VIT_CLIP_HF;
        bang_clip_find(&clip, slot->clip, 0);
        bang_clip_name(p->names[0], PLACE_NAME, &clip, hf);
        p->turned = !hf && bang_clip_slot(&clip)->form == CLIP_TURNED;
    }
    return 0;
}

static int add_head(places *out, const vit_parts *parts)
{
    place *weight = bang_places_add(out);
    if (!weight)
        return -1;
    weight->field = offsetof(bang_vit_map, head_weight);
    weight->shape = "KF";
    snprintf(weight->names[0], PLACE_NAME, "%s.weight", parts->head);
    place *bias = parts->head_bias ? bang_places_add(out) : NULL;
    if (!bias)
        return parts->head_bias ? -1 : 0;
    bias->field = offsetof(bang_vit_map, head_bias);
    bias->shape = "K";
    snprintf(bias->names[0], PLACE_NAME, "%s.bias", parts->head);
    return 0;
}

int bang_head_places(places *out, const vit_parts *parts, bang_error *err)
{
    *out = (places){0};
    return add_head(out, parts) < 0 ? bang_fail_memory(err) : 0;
}

const char *bang_vit_head_name(bang_vit_names names)
{
    return names == BANG_VIT_TIMM ? "head"
           : names == BANG_VIT_HF ? "classifier"
                                  : "classification_head";
}

int bang_vit_places(places *out, bang_vit_names names, const vit_parts *parts, bang_error *err)
{
    *out = (places){0};
    int failed = 0;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes && !failed; i++)
        if (has_whole(&wholes[i], parts))
            failed = add_whole_place(out, names, parts, &wholes[i]);
    for (size_t b = 0; b < parts->depth && !failed; b++)
        for (int s = 0; s < CLIP_LAYER_SLOTS && !failed; s++)
            failed = add_block_place(out, names, parts, b, s);
    if (parts->head && !failed)
        failed = add_head(out, parts);
    if (!failed)
        return 0;
    bang_places_release(out);
    return bang_fail_memory(err);
}

/* A tensor that a text tower has once. */
static const struct {
    size_t field; /* of text_map */
    const char *clip, *shape;
} texts[] = {
    {offsetof(text_map, norm_gain), "ln_final.weight", "W"},
    {offsetof(text_map, norm_bias), "ln_final.bias", "W"},
    {offsetof(text_map, tokens), "token_embedding.weight", "VW"},
    {offsetof(text_map, positions), "positional_embedding", "NW"},
    {offsetof(text_map, projection), "text_projection", "EW"},
};

static int add_text_place(places *out, int hf, const char *prefix, const clip_place *where,
                          size_t field, const char *shape)
{
    place *p = bang_places_add(out);
    if (!p)
        return -1;
    clip_place clip = *where;
    p->block = clip.layered ? clip.layer : PLACE_WHOLE;
    p->field = field;
    p->shape = shape;
    p->parts = hf && is_stacked(shape) ? 3 : 1;
    p->turned = !hf && bang_clip_slot(where)->form == CLIP_TURNED;
    for (clip.third = 0; clip.third < p->parts; clip.third++) {
        char name[PLACE_NAME];
        bang_clip_name(name, sizeof name, &clip, hf);
        snprintf(p->names[clip.third], PLACE_NAME, "%s%s", prefix, name);
    }
    return 0;
}

int bang_text_places(places *out, int hf, const char *prefix, size_t depth, bang_error *err)
{
    *out = (places){0};
    int failed = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !failed; i++) {
        clip_place clip;
        bang_clip_find(&clip, texts[i].clip, 0);
        failed = add_text_place(out, hf, prefix, &clip, texts[i].field, texts[i].shape);
    }
    for (size_t b = 0; b < depth && !failed; b++)
        for (int s = 0; s < CLIP_LAYER_SLOTS && !failed; s++) {
            clip_place clip = {.tower = CLIP_TEXT, .layered = 1, .layer = b, .slot = s};
            failed = add_text_place(out, hf, prefix, &clip, slots[s].field, slots[s].shape);
        }
    if (!failed)
        return 0;
    bang_places_release(out);
    return bang_fail_memory(err);
}
