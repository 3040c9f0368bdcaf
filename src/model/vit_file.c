/* Image towers from files: whose layout it is, what it has, and how large it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/layout.h"
#include "model/places.h"
#include "model/problems.h"
#include "model/vit_settings.h"

typedef struct reading {
    bang_checkpoint *checkpoint;
    bang_layout layout;
    name_index index;
    bang_vit_names names;
    vit_parts parts;
    places list;
    sizes sizes;
    size_t heads;
    vit_settings settings;
    bang_text problems;
} reading;

static int has(const reading *r, const char *name)
{
    return bang_names_find(&r->index, name) != NULL;
}

static int has_begin(const reading *r, const char *begin)
{
    return bang_names_begin(&r->index, begin) != NULL;
}

/* A ViT that lacks some tensor is still one: the check says what is missing. */
static int find_layout(reading *r)
{
    r->layout = bang_layout_guess(r->checkpoint);
    int clip_image = has_begin(r, "visual.") || has_begin(r, "vision_model.");
    if (r->layout == BANG_LAYOUT_CLIP_HF && clip_image)
        r->names = BANG_VIT_CLIP_HF;
    else if ((r->layout == BANG_LAYOUT_CLIP_OPENAI || r->layout == BANG_LAYOUT_CLIP_OPEN_CLIP) &&
             clip_image)
        r->names = BANG_VIT_CLIP_OPENAI;
    else if (has_begin(r, "vit.encoder.layer.") || has_begin(r, "vit.embeddings."))
        r->names = BANG_VIT_HF;
    else if (has_begin(r, "encoder.layer.") && has_begin(r, "embeddings.patch_embeddings."))
        r->names = BANG_VIT_HF, r->parts.bare = 1;
    else if (has_begin(r, "blocks.") &&
             (has_begin(r, "patch_embed.") || has(r, "pos_embed") || has(r, "cls_token")))
        r->names = BANG_VIT_TIMM;
    else
        return -1;
    return 0;
}

/* What is known and is not computed here. */
static const char *find_foreign(const reading *r)
{
    static const struct {
        const char *begin, *why;
    } known[] = {
        {"dist_token", "dist_token: a distilled DeiT has a second token and a second head: use "
                       "the DeiT without distillation"},
        {"head_dist.", "head_dist: a distilled DeiT has a second token and a second head: use "
                       "the DeiT without distillation"},
        {"deit.", "deit.: a distilled DeiT has a second token and a second head: use the DeiT "
                  "without distillation"},
        {"visual.layer1.", "visual.layer1: the image tower is a ResNet: only ViTs are read"},
        {"visual.attnpool.", "visual.attnpool: the image tower is a ResNet: only ViTs are read"},
        {"visual.trunk.", "visual.trunk: the image tower is a network of timm's: only CLIP's own "
                          "ViT is read"},
        {"conv_proj.", "conv_proj: torchvision's layout: use the same model in timm's"},
        {"fc_norm.", "fc_norm: this ViT averages its tokens: only those that use the class token "
                     "are read"},
        {"attn_pool.", "attn_pool: this ViT pools its tokens: only those that use the class token "
                       "are read"},
        {"pre_logits.", "pre_logits: a layer before the head is not read: use a file without"},
        {"reg_token", "reg_token: ViTs with register tokens are not read"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_begin(r, known[i].begin))
            return known[i].why;
    return NULL;
}

static const char *block_prefix(const reading *r)
{
    static const char *const prefixes[] = {
        [BANG_VIT_TIMM] = "blocks.",
        [BANG_VIT_HF] = "vit.encoder.layer.",
        [BANG_VIT_CLIP_OPENAI] = "visual.transformer.resblocks.",
        [BANG_VIT_CLIP_HF] = "vision_model.encoder.layers.",
    };
    return prefixes[r->names] + (r->names == BANG_VIT_HF && r->parts.bare ? strlen("vit.") : 0);
}

/* A head of its own name, or of the name that fine-tuned CLIPs have. */
static const char *find_head(const reading *r)
{
    const char *own = bang_vit_head_name(r->names), *other = "classification_head";
    char name[PLACE_NAME];
    for (int i = 0; i < 2; i++) {
        const char *head = i ? other : own;
        snprintf(name, sizeof name, "%s.weight", head);
        if (has(r, name))
            return head;
    }
    return NULL;
}

static int find_parts(reading *r, bang_error *err)
{
    int clip = r->names == BANG_VIT_CLIP_OPENAI || r->names == BANG_VIT_CLIP_HF;
    char bias[PLACE_NAME];
    vit_parts *parts = &r->parts;
    parts->depth = bang_names_layers(&r->index, block_prefix(r));
    if (parts->depth > r->checkpoint->count)
        return bang_fail(err, BANG_EDATA, "%s: %s%zu...: most blocks before it are missing",
                         r->checkpoint->path, block_prefix(r), parts->depth - 1);
    if (parts->depth == 0)
        bang_text_add(&r->problems, "%s0...: has no blocks\n", block_prefix(r));
    /* timm's CLIPs have ln_pre and no bias, too */
    parts->norm_first = clip || (r->names == BANG_VIT_TIMM && has_begin(r, "norm_pre."));
    parts->patch_bias = !clip && (!parts->norm_first || has(r, "patch_embed.proj.bias"));
    /* a tower alone may do without; beside a text tower it is missing */
    int text = has_begin(r, "text_model.") || has_begin(r, "transformer.resblocks.") ||
               has_begin(r, "text.transformer.resblocks.");
    parts->projection =
        clip && (text || has(r, "visual.proj") || has_begin(r, "visual_projection."));
    parts->head = find_head(r);
    snprintf(bias, sizeof bias, "%s.bias", parts->head ? parts->head : "");
    parts->head_bias = parts->head && has(r, bias);
    return bang_vit_places(&r->list, r->names, parts, err);
}

/* Tensors of the tower that no place took: with them it computes something else. */
static void refuse_unknown(reading *r)
{
    static const char *const towers[][6] = {
        [BANG_VIT_TIMM] = {"blocks.", "patch_embed.", "norm.", "norm_pre.", "head.", NULL},
        [BANG_VIT_HF] = {"vit.", "embeddings.", "encoder.", "layernorm.", "classifier.", NULL},
        [BANG_VIT_CLIP_OPENAI] = {"visual.", "classification_head.", NULL},
        [BANG_VIT_CLIP_HF] = {"vision_model.", "visual_projection.", "classification_head.",
                              "classifier.", NULL},
    };
    static const char *const harmless[] = {"vit.pooler.", "vit.embeddings.mask_token",
                                           "embeddings.mask_token",
                                           "vision_model.embeddings.position_ids"};
    for (size_t i = 0; i < r->index.count; i++) {
        const named *n = &r->index.items[i];
        int inside = 0;
        for (const char *const *t = towers[r->names]; *t && !inside; t++)
            inside = bang_layout_begins(n->name, *t);
        for (size_t k = 0; k < sizeof harmless / sizeof *harmless && inside; k++)
            inside = !bang_layout_begins(n->name, harmless[k]);
        if (inside && !n->used && !bang_text_ends_with(n->name, ".attn_mask"))
            bang_text_add(&r->problems, "%.200s: no ViT of this layout that is known has it\n",
                          n->entry->name);
    }
}

/* The grid of patches from the number of positions; 0 when they are no square. */
static size_t grid_of(size_t positions)
{
    size_t edge = 0;
    while (edge < 65536 && (edge + 1) * (edge + 1) < positions)
        edge++;
    return edge * edge + 1 == positions ? edge : 0;
}

static void make_config(bang_vit_config *out, reading *r)
{
    const size_t *of = r->sizes.of;
    size_t grid = grid_of(of['N']);
    *out = (bang_vit_config){.image = grid * of['P'],
                             .patch = of['P'],
                             .channels = of['C'],
                             .width = of['W'],
                             .depth = r->parts.depth,
                             .heads = r->heads,
                             .hidden = of['M'],
                             .projection = r->parts.projection ? of['E'] : 0,
                             .classes = r->parts.head ? of['K'] : 0,
                             .gelu = (bang_gelu)r->settings.image.gelu,
                             .epsilon = r->settings.image.epsilon,
                             .patch_bias = r->parts.patch_bias,
                             .norm_first = r->parts.norm_first,
                             .unit_features = r->settings.unit_features};
    if (grid == 0)
        bang_text_add(&r->problems,
                      "positions: %zu: must be a square and one for the class token\n", of['N']);
    size_t features = out->projection ? out->projection : out->width;
    if (r->parts.head && of['F'] != features)
        bang_text_add(&r->problems, "%s.weight: reads %zu numbers: the features have %zu\n",
                      r->parts.head, of['F'], features);
    bang_places_claim(&r->list, &r->sizes, r->checkpoint, &r->problems);
}

static int take_names(bang_vit_model *out, const json_t *classes, bang_error *err)
{
    size_t count = json_array_size(classes);
    out->class_names = calloc(count + 1, sizeof *out->class_names);
    if (!out->class_names)
        return bang_fail_memory(err);
    for (; out->class_count < count; out->class_count++) {
        const char *name = json_string_value(json_array_get(classes, out->class_count));
        if (!(out->class_names[out->class_count] = strdup(name ? name : "")))
            return bang_fail_memory(err);
    }
    return 0;
}

/* What bang wrote about that very file does not hold for what is made of it. */
static int take_metadata(bang_vit_model *out, const json_t *metadata, bang_error *err)
{
    const char *key;
    json_t *value;
    out->metadata = json_object();
    int failed = !out->metadata;
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!failed && strcmp(key, "bang") != 0 && !bang_layout_begins(key, "bang."))
            failed = json_object_set(out->metadata, key, value) < 0;
    }
    return failed ? bang_fail_memory(err) : 0;
}

static int fill(bang_vit_model *out, reading *r, bang_error *err)
{
    bang_vit_config config;
    bang_error why = {0};
    make_config(&config, r);
    size_t names = json_array_size(r->settings.classes);
    if (names && names != config.classes)
        bang_text_add(&r->problems, "metadata: %s: names %zu classes: the head has %zu\n",
                      bang_vit_key, names, config.classes);
    int rc = bang_problems_fail(&r->problems, r->checkpoint->path, NULL, err);
    if (rc == 0 && (rc = bang_vit_init(&out->vit, &config, &why)) < 0)
        rc = bang_fail(err, rc == BANG_EUSAGE ? BANG_EDATA : rc, "%s: %s", r->checkpoint->path,
                       why.message);
    if (rc == 0)
        rc = bang_places_read(out->vit.parameters, &r->list, &out->vit.map, out->vit.map.blocks,
                              r->checkpoint, &r->problems, err);
    if (rc == 0)
        rc = bang_problems_fail(&r->problems, r->checkpoint->path, NULL, err);
    if (rc == 0 && names)
        rc = take_names(out, r->settings.classes, err);
    else if (rc == 0 && config.classes && json_array_size(r->settings.labels) == config.classes)
        rc = take_names(out, r->settings.labels, err);
    if (rc == 0)
        rc = take_metadata(out, r->checkpoint->metadata, err);
    out->names = r->names;
    out->bare = r->parts.bare;
    memcpy(out->mean, r->settings.mean, sizeof out->mean);
    memcpy(out->std, r->settings.std, sizeof out->std);
    return rc;
}

static int fail_layout(const reading *r, bang_error *err)
{
    const char *path = r->checkpoint->path, *foreign = find_foreign(r);
    if (foreign)
        return bang_fail(err, BANG_EDATA, "%s: %s", path, foreign);
    if (r->layout == BANG_LAYOUT_CLIP_HF || r->layout == BANG_LAYOUT_CLIP_OPENAI ||
        r->layout == BANG_LAYOUT_CLIP_OPEN_CLIP)
        return bang_fail(err, BANG_EDATA, "%s: a CLIP without its image tower", path);
    return bang_fail(err, BANG_EDATA,
                     "%s: layout %s: is neither a ViT of timm or Hugging Face nor a CLIP", path,
                     bang_layout_name(r->layout));
}

static const char *token_name(const reading *r)
{
    static const char *const tokens[] = {
        [BANG_VIT_TIMM] = "cls_token",
        [BANG_VIT_HF] = "vit.embeddings.cls_token",
        [BANG_VIT_CLIP_OPENAI] = "visual.class_embedding",
        [BANG_VIT_CLIP_HF] = "vision_model.embeddings.class_embedding",
    };
    return tokens[r->names] + (r->parts.bare ? strlen("vit.") : 0);
}

static int read_model(bang_vit_model *out, reading *r, const bang_vit_hints *hints, bang_error *err)
{
    if (find_layout(r) < 0 || find_foreign(r))
        return fail_layout(r, err);
    if (!has(r, token_name(r)))
        return bang_fail(err, BANG_EDATA, "%s: %s: missing: only ViTs with a class token are read",
                         r->checkpoint->path, token_name(r));
    int rc = find_parts(r, err);
    if (rc < 0)
        return rc;
    bang_vit_settings_read(&r->settings, r->checkpoint, r->names, hints, &r->problems);
    bang_places_check(&r->list, &r->index, &r->sizes, &r->problems);
    refuse_unknown(r);
    if (r->sizes.of['W'])
        r->heads = bang_vit_settings_heads(&r->settings.image, r->sizes.of['W'], 0, &r->problems);
    rc = bang_problems_fail(&r->problems, r->checkpoint->path, NULL, err);
    return rc == 0 ? fill(out, r, err) : rc;
}

int bang_vit_model_read(bang_vit_model *out, bang_checkpoint *checkpoint,
                        const bang_vit_hints *hints, bang_error *err)
{
    reading r = {.checkpoint = checkpoint};
    *out = (bang_vit_model){0};
    int rc = bang_names_init(&r.index, checkpoint, err);
    if (rc == 0)
        rc = read_model(out, &r, hints, err);
    bang_vit_settings_release(&r.settings);
    bang_places_release(&r.list);
    bang_name_index_release(&r.index);
    bang_text_release(&r.problems);
    if (rc < 0)
        bang_vit_model_release(out);
    return rc;
}

int bang_vit_model_load(bang_vit_model *out, const char *path, const bang_vit_hints *hints,
                        bang_error *err)
{
    bang_checkpoint *checkpoint;
    *out = (bang_vit_model){0};
    int rc = bang_checkpoint_open(&checkpoint, path, err);
    if (rc < 0)
        return rc;
    rc = bang_vit_model_read(out, checkpoint, hints, err);
    bang_checkpoint_close(checkpoint);
    return rc;
}
