/* Sizes that names and shapes give away. */
#include <stdlib.h>
#include <string.h>

#include "model/layout.h"

/* Dimension i of a tensor, counted from its end when negative; 0 if it has none. */
static size_t dimension(const bang_checkpoint *c, const char *name, int i)
{
    const bang_entry *entry = bang_layout_entry(c, name);
    int at = entry && i < 0 ? entry->rank + i : i;
    return entry && at >= 0 && at < entry->rank ? entry->shape[at] : 0;
}

/* One more than the largest number after prefix. */
static size_t count_layers(const bang_checkpoint *c, const char *prefix)
{
    size_t depth = 0, number;
    for (size_t i = 0; i < c->count; i++)
        if (bang_layout_number(&number, bang_layout_unwrap(c->entries[i].name), prefix) &&
            number >= depth)
            depth = number + 1;
    return depth;
}

/* The edge of the image: patches in a square, with a class token or without. */
static size_t image_size(size_t positions, size_t patch)
{
    size_t edge = 0;
    while (edge < 65536 && (edge + 1) * (edge + 1) <= positions)
        edge++;
    if (edge > 0 && edge * edge + 1 == positions)
        return edge * patch;
    return edge * edge == positions ? edge * patch : 0;
}

/* Where an image tower has its sizes. */
typedef struct tower_names {
    const char *patch, *positions, *layers;
} tower_names;

static void measure_image(bang_layout_sizes *out, const bang_checkpoint *c,
                          const tower_names *names)
{
    const bang_entry *patch = bang_layout_entry(c, names->patch);
    if (!patch || patch->rank != 4)
        return;
    out->width = patch->shape[0];
    out->patch = patch->shape[3];
    out->image_size = image_size(dimension(c, names->positions, -2), out->patch);
    out->depth = count_layers(c, names->layers);
}

static void measure_vit(bang_layout_sizes *out, const bang_checkpoint *c)
{
    static const tower_names kinds[] = {
        {"patch_embed.proj.weight", "pos_embed", "blocks."},
        {"vit.embeddings.patch_embeddings.projection.weight", "vit.embeddings.position_embeddings",
         "vit.encoder.layer."},
        {"embeddings.patch_embeddings.projection.weight", "embeddings.position_embeddings",
         "encoder.layer."},
        {"conv_proj.weight", "encoder.pos_embedding", "encoder.layers.encoder_layer_"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !out->width; i++)
        measure_image(out, c, &kinds[i]);
}

static void measure_hf(bang_layout_sizes *out, const bang_checkpoint *c)
{
    static const tower_names image = {"vision_model.embeddings.patch_embedding.weight",
                                      "vision_model.embeddings.position_embedding.weight",
                                      "vision_model.encoder.layers."};
    measure_image(out, c, &image);
    out->text_width = dimension(c, "text_model.embeddings.token_embedding.weight", 1);
    out->vocabulary = dimension(c, "text_model.embeddings.token_embedding.weight", 0);
    out->context = dimension(c, "text_model.embeddings.position_embedding.weight", 0);
    out->text_depth = count_layers(c, "text_model.encoder.layers.");
    out->embedding = dimension(c, "visual_projection.weight", 0);
    if (!out->embedding)
        out->embedding = dimension(c, "text_projection.weight", 0);
}

static void measure_openai(bang_layout_sizes *out, const bang_checkpoint *c)
{
    static const tower_names image = {"visual.conv1.weight", "visual.positional_embedding",
                                      "visual.transformer.resblocks."};
    int custom = bang_layout_entry(c, "text.token_embedding.weight") != NULL;
    const char *token = custom ? "text.token_embedding.weight" : "token_embedding.weight";
    if (bang_layout_entry(c, image.positions)) /* else a ResNet */
        measure_image(out, c, &image);
    out->text_width = dimension(c, token, 1);
    out->vocabulary = dimension(c, token, 0);
    out->context = dimension(c, custom ? "text.positional_embedding" : "positional_embedding", 0);
    out->text_depth =
        count_layers(c, custom ? "text.transformer.resblocks." : "transformer.resblocks.");
    out->embedding = dimension(c, "visual.proj", 1);
    if (!out->embedding)
        out->embedding = dimension(c, custom ? "text.text_projection" : "text_projection", 1);
}

void bang_layout_measure(bang_layout_sizes *out, const bang_checkpoint *checkpoint,
                         bang_layout layout)
{
    *out = (bang_layout_sizes){0};
    if (layout == BANG_LAYOUT_CLIP_HF)
        measure_hf(out, checkpoint);
    else if (layout == BANG_LAYOUT_CLIP_OPENAI || layout == BANG_LAYOUT_CLIP_OPEN_CLIP)
        measure_openai(out, checkpoint);
    else if (layout == BANG_LAYOUT_VIT)
        measure_vit(out, checkpoint);
}

/* Names by which people know a width and a depth. */
static const char *size_name(size_t width, size_t depth)
{
    static const struct {
        size_t width, depth;
        const char *name;
    } known[] = {{192, 12, "-Ti"}, {384, 12, "-S"},  {768, 12, "-B"},    {1024, 24, "-L"},
                 {1280, 32, "-H"}, {1408, 40, "-g"}, {1664, 48, "-bigG"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].width == width && known[i].depth == depth)
            return known[i].name;
    return "";
}

typedef struct layer {
    unsigned long number;
    const bang_entry *weight;
} layer;

static int by_number(const void *left, const void *right)
{
    const layer *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* "784-512-10": inputs and the outputs of every layer. */
static void describe_mlp(bang_text *out, const bang_checkpoint *c)
{
    layer *layers = calloc(c->count + 1, sizeof *layers);
    size_t count = 0, size;
    const char *what;
    for (size_t i = 0; layers && i < c->count; i++)
        if (c->entries[i].rank == 2 &&
            bang_layout_split(c->entries[i].name, &size, &layers[count].number, &what) == 0)
            layers[count++].weight = &c->entries[i];
    if (layers)
        qsort(layers, count, sizeof *layers, by_number);
    if (count > 0)
        bang_text_add(out, "%zu", layers[0].weight->shape[1]);
    for (size_t i = 0; i < count; i++)
        bang_text_add(out, "-%zu", layers[i].weight->shape[0]);
    free(layers);
}

void bang_layout_describe(bang_text *out, const bang_checkpoint *checkpoint, bang_layout layout)
{
    bang_layout_sizes s;
    const char *between = "";
    bang_layout_measure(&s, checkpoint, layout);
    if (layout == BANG_LAYOUT_MLP)
        describe_mlp(out, checkpoint);
    if (s.width) {
        bang_text_add(out, "ViT%s/%zu, ", size_name(s.width, s.depth), s.patch);
        if (s.image_size)
            bang_text_add(out, "%zu px, ", s.image_size);
        bang_text_add(out, "width %zu, depth %zu", s.width, s.depth);
        between = "; ";
    }
    if (s.text_width)
        bang_text_add(out, "%stext width %zu, depth %zu", between, s.text_width, s.text_depth);
}
