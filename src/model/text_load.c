/* A CLIP's text tower from a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/text.h"
#include "bang/tensor/convert.h"
#include "model/layout.h"
#include "model/places.h"
#include "model/problems.h"
#include "model/vit_settings.h"

typedef struct reading {
    bang_checkpoint *checkpoint;
    int hf;
    const char *prefix; /* open_clip's "text.", or "" */
    name_index index;
    places list;
    sizes sizes;
    vit_settings settings;
    text_map map;
    bang_text problems;
} reading;

void bang_text_tower_release(bang_text_tower *tower)
{
    free(tower->parameters);
    free(tower->blocks);
    *tower = (bang_text_tower){0};
}

/* Whose names, and that there is a text tower of CLIP's own kind at all. */
static int find_layout(reading *r, bang_error *err)
{
    bang_layout layout = bang_layout_guess(r->checkpoint);
    const char *path = r->checkpoint->path;
    r->hf = layout == BANG_LAYOUT_CLIP_HF;
    r->prefix = "";
    if (!r->hf && layout != BANG_LAYOUT_CLIP_OPENAI && layout != BANG_LAYOUT_CLIP_OPEN_CLIP)
        return bang_fail(err, BANG_EDATA, "%s: layout %s: only a CLIP has a text tower", path,
                         bang_layout_name(layout));
    if (!r->hf && bang_names_begin(&r->index, "text."))
        r->prefix = "text.";
    if (bang_names_begin(&r->index, "text.transformer.embeddings.") ||
        bang_names_begin(&r->index, "text.transformer.encoder."))
        return bang_fail(err, BANG_EDATA,
                         "%s: text.transformer: a text tower of another kind: only CLIP's own is "
                         "read",
                         path);
    char token[PLACE_NAME];
    snprintf(token, sizeof token, "%s%s", r->prefix,
             r->hf ? "text_model.embeddings." : "token_embedding.");
    return bang_names_begin(&r->index, token)
               ? 0
               : bang_fail(err, BANG_EDATA,
                           "%s: has no text tower: use the file that its image tower came from",
                           path);
}

static int find_places(reading *r, bang_error *err)
{
    char blocks[PLACE_NAME];
    snprintf(blocks, sizeof blocks, "%s%s", r->prefix,
             r->hf ? "text_model.encoder.layers." : "transformer.resblocks.");
    size_t depth = bang_names_layers(&r->index, blocks);
    if (depth > r->checkpoint->count)
        return bang_fail(err, BANG_EDATA, "%s: %s%zu...: most blocks before it are missing",
                         r->checkpoint->path, blocks, depth - 1);
    if (depth == 0)
        return bang_fail(err, BANG_EDATA,
                         "%s: the layers of its text tower are missing: use the file that it was "
                         "fine-tuned from",
                         r->checkpoint->path);
    return bang_text_places(&r->list, r->hf, r->prefix, depth, err);
}

/* Tensors of the tower that no place took. */
static void refuse_unknown(reading *r)
{
    for (size_t i = 0; i < r->index.count; i++) {
        const named *n = &r->index.items[i];
        const char *rest = n->name;
        if (!bang_layout_begins(rest, r->prefix))
            continue;
        rest += strlen(r->prefix);
        int inside = *r->prefix || bang_layout_begins(rest, "text_model.") ||
                     bang_layout_begins(rest, "transformer.") ||
                     bang_layout_begins(rest, "text_projection");
        int harmless = bang_text_ends_with(rest, "attn_mask") ||
                       strcmp(rest, "text_model.embeddings.position_ids") == 0;
        if (inside && !harmless && !n->used)
            bang_text_add(&r->problems, "%.200s: no text tower that is known has it\n",
                          n->entry->name);
    }
}

static int read_scale(double *out, reading *r, bang_error *err)
{
    const named *found = bang_names_find(&r->index, "logit_scale");
    unsigned char bytes[sizeof(double)];
    if (!found) {
        bang_text_add(&r->problems, "logit_scale: missing\n");
        return 0;
    }
    const bang_entry *entry = found->entry;
    if (!bang_dtype_is_real(entry->dtype) || bang_entry_count(entry) != 1) {
        bang_text_add(&r->problems, "%.200s: must be one real number\n", entry->name);
        return 0;
    }
    int rc = bang_checkpoint_read(r->checkpoint, entry, 0, bytes, (size_t)entry->bytes, err);
    if (rc < 0)
        return rc;
    bang_to_f64(out, bytes, entry->dtype, 1);
    if (!isfinite(*out) || fabs(*out) > 30)
        bang_text_add(&r->problems, "%.200s: %g: is no logarithm of a scale\n", entry->name, *out);
    return 0;
}

/* count numbers of the block of parameters, from the next multiple of 16 on. */
static size_t lay(size_t *next, size_t count)
{
    size_t at = *next;
    *next += (count + 15) / 16 * 16;
    return at;
}

/* Says where everything lies; returns how many numbers that is. */
static size_t lay_out(bang_text_tower *out, text_map *map)
{
    const bang_text_config *c = &out->config;
    size_t w = c->width, m = c->hidden, next = 0;
    map->tokens = lay(&next, c->vocabulary * w);
    map->positions = lay(&next, c->context * w);
    for (size_t b = 0; b < c->depth; b++) {
        bang_vit_block *block = &out->blocks[b];
        block->norm1_gain = lay(&next, w);
        block->norm1_bias = lay(&next, w);
        block->qkv_weight = lay(&next, 3 * w * w);
        block->qkv_bias = lay(&next, 3 * w);
        block->proj_weight = lay(&next, w * w);
        block->proj_bias = lay(&next, w);
        block->norm2_gain = lay(&next, w);
        block->norm2_bias = lay(&next, w);
        block->fc1_weight = lay(&next, m * w);
        block->fc1_bias = lay(&next, m);
        block->fc2_weight = lay(&next, w * m);
        block->fc2_bias = lay(&next, w);
    }
    map->norm_gain = lay(&next, w);
    map->norm_bias = lay(&next, w);
    map->projection = lay(&next, c->projection * w);
    return next;
}

static int allocate(bang_text_tower *out, text_map *map, bang_error *err)
{
    void *memory = NULL;
    out->blocks = calloc(out->config.depth, sizeof *out->blocks);
    if (!out->blocks)
        return bang_fail_memory(err);
    size_t count = lay_out(out, map); /* bang_places_claim has seen that this is no large number */
    if (count > SIZE_MAX / sizeof(float) || posix_memalign(&memory, 64, count * sizeof(float)) != 0)
        return bang_fail_memory(err);
    out->parameters = memset(memory, 0, count * sizeof(float));
    out->tokens = out->parameters + map->tokens;
    out->positions = out->parameters + map->positions;
    out->norm_gain = out->parameters + map->norm_gain;
    out->norm_bias = out->parameters + map->norm_bias;
    out->projection = out->parameters + map->projection;
    return 0;
}

static int read_tower(bang_text_tower *out, reading *r, const bang_vit_hints *hints,
                      bang_error *err)
{
    const size_t *of = r->sizes.of;
    int rc = find_layout(r, err);
    if (rc == 0)
        rc = find_places(r, err);
    if (rc < 0)
        return rc;
    bang_vit_settings_read(&r->settings, r->checkpoint,
                           r->hf ? BANG_VIT_CLIP_HF : BANG_VIT_CLIP_OPENAI, hints, &r->problems);
    bang_places_check(&r->list, &r->index, &r->sizes, &r->problems);
    refuse_unknown(r);
    size_t heads =
        of['W'] ? bang_vit_settings_heads(&r->settings.text, of['W'], 1, &r->problems) : 0;
    bang_places_claim(&r->list, &r->sizes, r->checkpoint, &r->problems);
    rc = read_scale(&out->logit_scale, r, err);
    if (rc == 0)
        rc = bang_problems_fail(&r->problems, r->checkpoint->path, NULL, err);
    out->config = (bang_text_config){.vocabulary = of['V'],
                                     .context = of['N'],
                                     .width = of['W'],
                                     .depth = r->list.items[r->list.count - 1].block + 1,
                                     .heads = heads,
                                     .hidden = of['M'],
                                     .projection = of['E'],
                                     .gelu = (bang_gelu)r->settings.text.gelu,
                                     .epsilon = r->settings.text.epsilon};
    if (rc == 0)
        rc = allocate(out, &r->map, err);
    if (rc == 0)
        rc = bang_places_read(out->parameters, &r->list, &r->map, out->blocks, r->checkpoint,
                              &r->problems, err);
    return rc == 0 ? bang_problems_fail(&r->problems, r->checkpoint->path, NULL, err) : rc;
}

int bang_text_tower_load(bang_text_tower *out, bang_checkpoint *checkpoint,
                         const bang_vit_hints *hints, bang_error *err)
{
    reading r = {.checkpoint = checkpoint};
    *out = (bang_text_tower){0};
    int rc = bang_names_init(&r.index, checkpoint, err);
    if (rc == 0)
        rc = read_tower(out, &r, hints, err);
    bang_vit_settings_release(&r.settings);
    bang_places_release(&r.list);
    bang_name_index_release(&r.index);
    bang_text_release(&r.problems);
    if (rc < 0)
        bang_text_tower_release(out);
    return rc;
}
