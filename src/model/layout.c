#include "model/layout.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[BANG_LAYOUT_COUNT] = {
    [BANG_LAYOUT_UNKNOWN] = "unknown",
    [BANG_LAYOUT_CLIP_HF] = "clip-hf",
    [BANG_LAYOUT_CLIP_OPENAI] = "clip-openai",
    [BANG_LAYOUT_CLIP_OPEN_CLIP] = "clip-open_clip",
    [BANG_LAYOUT_VIT] = "vit",
    [BANG_LAYOUT_MLP] = "mlp",
};

const char *bang_layout_name(bang_layout layout)
{
    return (unsigned)layout < BANG_LAYOUT_COUNT ? names[layout] : "unknown";
}

int bang_layout_find(bang_layout *out, const char *name)
{
    for (int i = 0; i < BANG_LAYOUT_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (bang_layout)i;
            return 0;
        }
    return -1;
}

int bang_layout_begins(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* DataParallel, torch.compile, soups, wise-ft, training frameworks. */
const char *bang_layout_unwrap_once(const char *name)
{
    static const char *const wrappers[] = {"module.",        "_orig_mod.", "model.",
                                           "image_encoder.", "clip.",      "clip_model."};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (bang_layout_begins(name, wrappers[i]))
            return name + strlen(wrappers[i]);
    return name;
}

const char *bang_layout_unwrap(const char *name)
{
    const char *inner;
    while ((inner = bang_layout_unwrap_once(name)) != name)
        name = inner;
    return name;
}

const bang_entry *bang_layout_entry(const bang_checkpoint *checkpoint, const char *name)
{
    for (size_t i = 0; i < checkpoint->count; i++)
        if (strcmp(bang_layout_unwrap(checkpoint->entries[i].name), name) == 0)
            return &checkpoint->entries[i];
    return NULL;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *bang_layout_number(size_t *number, const char *name, const char *prefix)
{
    enum { DIGITS_MOST = 9 };
    if (!bang_layout_begins(name, prefix))
        return NULL;
    const char *begin = name + strlen(prefix), *end = begin;
    while (is_digit(*end))
        end++;
    if (end == begin || end - begin > DIGITS_MOST || *end != '.' ||
        (*begin == '0' && end > begin + 1))
        return NULL;
    *number = strtoul(begin, NULL, 10);
    return end + 1;
}

int bang_layout_split(const char *name, size_t *size, unsigned long *number, const char **what)
{
    enum { DIGITS_MOST = 9 };
    const char *end = strrchr(name, '.'), *begin = end;
    if (!end)
        return -1;
    while (begin > name && is_digit(begin[-1]))
        begin--;
    if (begin == end || end - begin > DIGITS_MOST || (begin > name && begin[-1] != '.'))
        return -1;
    *size = (size_t)(begin - name);
    *number = strtoul(begin, NULL, 10);
    *what = end + 1;
    return 0;
}

static int has(const bang_checkpoint *c, const char *name)
{
    return bang_layout_entry(c, name) != NULL;
}

static int has_begin(const bang_checkpoint *c, const char *begin)
{
    for (size_t i = 0; i < c->count; i++)
        if (bang_layout_begins(bang_layout_unwrap(c->entries[i].name), begin))
            return 1;
    return 0;
}

/* SigLIP names its towers alike, but has no class token; BLIP has q, k, v in one.
 * A file that lacks some tensor is still a CLIP: a conversion says what is missing. */
static int is_clip_hf(const bang_checkpoint *c)
{
    if (has_begin(c, "vision_model."))
        return has_begin(c, "vision_model.pre_layrnorm.") ||
               (has(c, "vision_model.embeddings.class_embedding") &&
                has_begin(c, "vision_model.encoder.layers.0.self_attn.q_proj."));
    return has(c, "text_model.embeddings.token_embedding.weight") &&
           has(c, "text_model.final_layer_norm.weight") && !has(c, "text_model.head.weight");
}

static int is_clip_openai(const bang_checkpoint *c)
{
    int vit = (has(c, "visual.class_embedding") || has_begin(c, "visual.ln_pre.")) &&
              has_begin(c, "visual.transformer.resblocks.");
    int foreign = 0;
    for (size_t i = 0; i < c->count && !foreign; i++)
        foreign = bang_clip_foreign(bang_layout_unwrap(c->entries[i].name)) != NULL;
    int text = (has(c, "token_embedding.weight") && has(c, "ln_final.weight")) ||
               (has(c, "text.token_embedding.weight") && has(c, "text.ln_final.weight"));
    return vit || (foreign && (text || has(c, "logit_scale"))) ||
           (text && (has_begin(c, "transformer.resblocks.") ||
                     has_begin(c, "text.transformer.resblocks.")));
}

/* See layout.h: who reads one of the two reads the other. */
static bang_layout openai_or_open_clip(const bang_checkpoint *c)
{
    if (has(c, "input_resolution") || has(c, "context_length") || has(c, "vocab_size"))
        return BANG_LAYOUT_CLIP_OPENAI;
    int other = has_begin(c, "text.") || has(c, "attn_mask") || has(c, "logit_bias") ||
                has_begin(c, "visual.trunk.") || has(c, "transformer.resblocks.0.ls_1.gamma") ||
                has(c, "visual.transformer.resblocks.0.ls_1.gamma");
    return other ? BANG_LAYOUT_CLIP_OPEN_CLIP : BANG_LAYOUT_CLIP_OPENAI;
}

/* timm, Hugging Face with and without its own wrapper, torchvision. */
static int is_vit(const bang_checkpoint *c)
{
    return (has(c, "patch_embed.proj.weight") && has(c, "pos_embed") &&
            has_begin(c, "blocks.0.")) ||
           (has(c, "vit.embeddings.patch_embeddings.projection.weight") &&
            has_begin(c, "vit.encoder.layer.0.")) ||
           (has(c, "embeddings.patch_embeddings.projection.weight") &&
            has(c, "embeddings.cls_token") && has_begin(c, "encoder.layer.0.")) ||
           (has(c, "conv_proj.weight") && has(c, "class_token") &&
            has_begin(c, "encoder.layers.encoder_layer_0."));
}

/* What bang_mlp_load would take, by names and ranks. */
static int is_mlp(const bang_checkpoint *c)
{
    size_t weights = 0, first = 0;
    for (size_t i = 0; i < c->count; i++) {
        const bang_entry *e = &c->entries[i];
        size_t size;
        unsigned long number;
        const char *what;
        if (bang_layout_split(e->name, &size, &number, &what) < 0)
            return 0;
        int weight = strcmp(what, "weight") == 0;
        if ((!weight && strcmp(what, "bias") != 0) || e->rank != (weight ? 2 : 1))
            return 0;
        if (i == 0)
            first = size;
        if (size != first || memcmp(e->name, c->entries[0].name, size) != 0)
            return 0;
        weights += (size_t)weight;
    }
    return weights > 0;
}

bang_layout bang_layout_guess(const bang_checkpoint *checkpoint)
{
    if (is_clip_hf(checkpoint))
        return BANG_LAYOUT_CLIP_HF;
    if (is_clip_openai(checkpoint))
        return openai_or_open_clip(checkpoint);
    if (is_vit(checkpoint))
        return BANG_LAYOUT_VIT;
    return is_mlp(checkpoint) ? BANG_LAYOUT_MLP : BANG_LAYOUT_UNKNOWN;
}
