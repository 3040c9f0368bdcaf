/* One model, two ways to name it: the table behind every conversion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/layout.h"

/* Widths come first, so that what does not fit is told of what follows. */
const clip_slot bang_clip_slots[CLIP_SLOTS] = {
    {"visual.class_embedding", "vision_model.embeddings.class_embedding", "W", CLIP_SAME,
     CLIP_VISION},
    {"visual.conv1.weight", "vision_model.embeddings.patch_embedding.weight", "WCPQ", CLIP_SAME,
     CLIP_VISION},
    {"visual.positional_embedding", "vision_model.embeddings.position_embedding.weight", "NW",
     CLIP_SAME, CLIP_VISION},
    {"visual.ln_pre.weight", "vision_model.pre_layrnorm.weight", "W", CLIP_SAME, CLIP_VISION},
    {"visual.ln_pre.bias", "vision_model.pre_layrnorm.bias", "W", CLIP_SAME, CLIP_VISION},
    {"visual.ln_post.weight", "vision_model.post_layernorm.weight", "W", CLIP_SAME, CLIP_VISION},
    {"visual.ln_post.bias", "vision_model.post_layernorm.bias", "W", CLIP_SAME, CLIP_VISION},
    {"visual.proj", "visual_projection.weight", "WE", CLIP_TURNED, CLIP_VISION},
    {"ln_final.weight", "text_model.final_layer_norm.weight", "W", CLIP_SAME, CLIP_TEXT},
    {"ln_final.bias", "text_model.final_layer_norm.bias", "W", CLIP_SAME, CLIP_TEXT},
    {"token_embedding.weight", "text_model.embeddings.token_embedding.weight", "VW", CLIP_SAME,
     CLIP_TEXT},
    {"positional_embedding", "text_model.embeddings.position_embedding.weight", "NW", CLIP_SAME,
     CLIP_TEXT},
    {"text_projection", "text_projection.weight", "WE", CLIP_TURNED, CLIP_TEXT},
    {"logit_scale", "logit_scale", NULL, CLIP_SAME, CLIP_TOWERS},
};

const clip_slot bang_clip_layer_slots[CLIP_LAYER_SLOTS] = {
    {"ln_1.weight", "layer_norm1.weight", "W", CLIP_SAME, 0},
    {"ln_1.bias", "layer_norm1.bias", "W", CLIP_SAME, 0},
    {"attn.in_proj_weight", "self_attn.%_proj.weight", "TW", CLIP_STACKED, 0},
    {"attn.in_proj_bias", "self_attn.%_proj.bias", "T", CLIP_STACKED, 0},
    {"attn.out_proj.weight", "self_attn.out_proj.weight", "WW", CLIP_SAME, 0},
    {"attn.out_proj.bias", "self_attn.out_proj.bias", "W", CLIP_SAME, 0},
    {"ln_2.weight", "layer_norm2.weight", "W", CLIP_SAME, 0},
    {"ln_2.bias", "layer_norm2.bias", "W", CLIP_SAME, 0},
    {"mlp.c_fc.weight", "mlp.fc1.weight", "MW", CLIP_SAME, 0},
    {"mlp.c_fc.bias", "mlp.fc1.bias", "M", CLIP_SAME, 0},
    {"mlp.c_proj.weight", "mlp.fc2.weight", "WM", CLIP_SAME, 0},
    {"mlp.c_proj.bias", "mlp.fc2.bias", "W", CLIP_SAME, 0},
};

/* What stands before a layer's number. */
static const char *const layer_prefix[2][CLIP_TOWERS] = {
    {"visual.transformer.resblocks.", "transformer.resblocks."},
    {"vision_model.encoder.layers.", "text_model.encoder.layers."},
};

static const char thirds[] = "qkv";

const clip_slot *bang_clip_slot(const clip_place *place)
{
    return place->layered ? &bang_clip_layer_slots[place->slot] : &bang_clip_slots[place->slot];
}

/* 1 when name is pattern with q, k or v for its %; which of them to third. */
static int matches(const char *name, const char *pattern, int *third)
{
    *third = 0;
    for (; *pattern; name++, pattern++) {
        const char *which = *pattern == '%' && *name ? strchr(thirds, *name) : NULL;
        if (which)
            *third = (int)(which - thirds);
        else if (*name != *pattern)
            return 0;
    }
    return *name == '\0';
}

int bang_clip_find(clip_place *out, const char *name, int hf)
{
    *out = (clip_place){0};
    for (int s = 0; s < CLIP_SLOTS; s++) {
        const clip_slot *slot = &bang_clip_slots[s];
        out->slot = s;
        out->tower = slot->tower;
        if (strcmp(name, hf ? slot->hf : slot->openai) == 0)
            return 0;
    }
    out->layered = 1;
    for (int t = 0; t < CLIP_TOWERS; t++) {
        const char *rest = bang_layout_number(&out->layer, name, layer_prefix[hf][t]);
        out->tower = t;
        for (int s = 0; rest && out->layer < CLIP_LAYERS_MAX && s < CLIP_LAYER_SLOTS; s++) {
            const clip_slot *slot = &bang_clip_layer_slots[s];
            out->slot = s;
            if (matches(rest, hf ? slot->hf : slot->openai, &out->third))
                return 0;
        }
    }
    return -1;
}

void bang_clip_name(char *out, size_t size, const clip_place *place, int hf)
{
    const clip_slot *slot = bang_clip_slot(place);
    const char *name = hf ? slot->hf : slot->openai;
    if (!place->layered)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%s%zu.%s", layer_prefix[hf][place->tower], place->layer, name);
    char *which = strchr(out, '%');
    if (which)
        *which = thirds[place->third];
}

const char *bang_clip_foreign(const char *name)
{
    static const char *const begins[] = {"visual.layer1.", "visual.attnpool.", "visual.trunk."};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (bang_layout_begins(name, begins[i]))
            return begins[i];
    return NULL;
}
