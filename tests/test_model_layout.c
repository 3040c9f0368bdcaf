/* Whose model a checkpoint is, by its names and shapes. */
#include "testing.h"

#include "bang/model/layout.h"

/* A checkpoint of names and shapes alone, "name 3,4" each; the guess needs no more. */
typedef struct sketch {
    bang_checkpoint checkpoint;
    bang_entry entries[64];
    size_t shapes[64][4];
    char names[64][96];
} sketch;

static void draw(sketch *s, const char *const *lines)
{
    *s = (sketch){0};
    s->checkpoint.entries = s->entries;
    for (; *lines; lines++) {
        size_t i = s->checkpoint.count++;
        size_t size = strcspn(*lines, " ");
        bang_entry *e = &s->entries[i];
        memcpy(s->names[i], *lines, size);
        e->name = s->names[i];
        e->dtype = BANG_F32;
        e->shape = s->shapes[i];
        const char *at = *lines + size;
        while (*at) {
            char *end;
            s->shapes[i][e->rank++] = strtoul(at + 1, &end, 10);
            at = end;
        }
    }
}

static void expect(bang_layout layout, const char *sizes, const char *const *lines)
{
    sketch s;
    bang_text text = {0};
    draw(&s, lines);
    bang_layout found = bang_layout_guess(&s.checkpoint);
    bang_layout_describe(&text, &s.checkpoint, found);
    if (found != layout || strcmp(text.data ? text.data : "", sizes) != 0)
        fail_msg("%s ...: %s: %s", lines[0], bang_layout_name(found), text.data ? text.data : "");
    bang_text_release(&text);
}
#define EXPECT(layout, sizes, ...)                                                                 \
    expect(BANG_LAYOUT_##layout, sizes, (const char *const[]){__VA_ARGS__, NULL})

static void test_names(void **state)
{
    (void)state;
    bang_layout layout;
    for (int i = 0; i < BANG_LAYOUT_COUNT; i++) {
        assert_int_equal(bang_layout_find(&layout, bang_layout_name((bang_layout)i)), 0);
        assert_int_equal(layout, i);
    }
    assert_int_equal(bang_layout_find(&layout, "clip"), -1);
    assert_string_equal(bang_layout_name(BANG_LAYOUT_CLIP_OPEN_CLIP), "clip-open_clip");
}

#define VISION                                                                                     \
    "visual.class_embedding 768", "visual.conv1.weight 768,3,16,16",                               \
        "visual.positional_embedding 197,768",                                                     \
        "visual.transformer.resblocks.0.attn.in_proj_weight 2304,768",                             \
        "visual.transformer.resblocks.11.attn.in_proj_weight 2304,768"
#define TEXT                                                                                       \
    "token_embedding.weight 49408,512", "ln_final.weight 512", "positional_embedding 77,512",      \
        "transformer.resblocks.11.attn.in_proj_weight 1536,512", "text_projection 512,512"
#define BOTH "ViT-B/16, 224 px, width 768, depth 12; text width 512, depth 12"

static void test_openai(void **state)
{
    (void)state;
    EXPECT(CLIP_OPENAI, BOTH, VISION, TEXT, "logit_scale");
    EXPECT(CLIP_OPENAI, BOTH, VISION, TEXT, "attn_mask 77,77", "input_resolution");
    EXPECT(CLIP_OPEN_CLIP, BOTH, VISION, TEXT, "attn_mask 77,77");
    EXPECT(CLIP_OPEN_CLIP, BOTH, VISION, TEXT, "logit_bias");
    EXPECT(CLIP_OPENAI, "ViT-B/16, 224 px, width 768, depth 12", VISION, "visual.proj 768,512");
    EXPECT(CLIP_OPENAI, "text width 512, depth 12", TEXT);
    EXPECT(CLIP_OPEN_CLIP, "text width 512, depth 2", "text.token_embedding.weight 100,512",
           "text.ln_final.weight 512", "text.transformer.resblocks.1.ln_1.weight 512");
    /* wise-ft: wrapped, with a head, the text tower's layers thrown away */
    EXPECT(CLIP_OPENAI, "ViT/32, 64 px, width 32, depth 2; text width 8, depth 0",
           "image_encoder.model.visual.class_embedding 32",
           "image_encoder.model.visual.conv1.weight 32,3,32,32",
           "image_encoder.model.visual.positional_embedding 5,32",
           "image_encoder.model.visual.transformer.resblocks.1.ln_1.weight 32",
           "image_encoder.model.token_embedding.weight 10,8", "classification_head.weight 10,4");
    EXPECT(CLIP_OPENAI, "ViT/32, width 32, depth 1", "module.model.visual.class_embedding 32",
           "module.model.visual.conv1.weight 32,3,32,32",
           "module.model.visual.positional_embedding 8,32",
           "module.model.visual.transformer.resblocks.0.ln_1.weight 32");
    /* a ResNet, and a tower of timm */
    EXPECT(CLIP_OPENAI, "text width 512, depth 12", "visual.conv1.weight 32,3,3,3",
           "visual.layer1.0.conv1.weight 64,64,1,1", "visual.attnpool.positional_embedding 50,2048",
           TEXT);
    EXPECT(CLIP_OPEN_CLIP, "text width 512, depth 12", "visual.trunk.stem.0.weight 96,3,4,4", TEXT);
}

static void test_hf(void **state)
{
    (void)state;
#define HF_VISION                                                                                  \
    "vision_model.embeddings.class_embedding 1024",                                                \
        "vision_model.embeddings.patch_embedding.weight 1024,3,14,14",                             \
        "vision_model.embeddings.position_embedding.weight 577,1024",                              \
        "vision_model.pre_layrnorm.weight 1024",                                                   \
        "vision_model.encoder.layers.23.layer_norm1.bias 1024"
    EXPECT(CLIP_HF, "ViT-L/14, 336 px, width 1024, depth 24", HF_VISION);
    EXPECT(CLIP_HF, "ViT-L/14, 336 px, width 1024, depth 24; text width 768, depth 1", HF_VISION,
           "text_model.embeddings.token_embedding.weight 49408,768",
           "text_model.encoder.layers.0.layer_norm1.bias 768");
    EXPECT(CLIP_HF, "text width 768, depth 0",
           "text_model.embeddings.token_embedding.weight 49408,768",
           "text_model.final_layer_norm.weight 768");
    /* SigLIP and BLIP only look alike */
    EXPECT(UNKNOWN, "", "vision_model.embeddings.patch_embedding.weight 768,3,16,16",
           "vision_model.embeddings.patch_embedding.bias 768",
           "vision_model.encoder.layers.0.self_attn.q_proj.weight 768,768",
           "text_model.embeddings.token_embedding.weight 32000,768",
           "text_model.final_layer_norm.weight 768", "text_model.head.weight 768,768");
    EXPECT(UNKNOWN, "", "vision_model.embeddings.class_embedding 1,1,768",
           "vision_model.encoder.layers.0.self_attn.qkv.weight 2304,768");
}

static void test_others(void **state)
{
    (void)state;
    EXPECT(VIT, "ViT-S/16, 224 px, width 384, depth 12", "cls_token 1,1,384", "pos_embed 1,197,384",
           "patch_embed.proj.weight 384,3,16,16", "blocks.0.attn.qkv.weight 1152,384",
           "blocks.11.attn.qkv.weight 1152,384");
    EXPECT(VIT, "ViT/8, 32 px, width 64, depth 1", "model.pos_embed 1,16,64",
           "model.patch_embed.proj.weight 64,3,8,8", "model.blocks.0.attn.qkv.weight 192,64");
    EXPECT(VIT, "ViT/16, 224 px, width 768, depth 1", "vit.embeddings.cls_token 1,1,768",
           "vit.embeddings.position_embeddings 1,197,768",
           "vit.embeddings.patch_embeddings.projection.weight 768,3,16,16",
           "vit.encoder.layer.0.attention.attention.query.weight 768,768");
    EXPECT(VIT, "ViT/16, 224 px, width 768, depth 1", "embeddings.cls_token 1,1,768",
           "embeddings.position_embeddings 1,197,768",
           "embeddings.patch_embeddings.projection.weight 768,3,16,16",
           "encoder.layer.0.attention.attention.query.weight 768,768");
    EXPECT(VIT, "ViT/16, 224 px, width 768, depth 1", "class_token 1,1,768",
           "conv_proj.weight 768,3,16,16", "encoder.pos_embedding 1,197,768",
           "encoder.layers.encoder_layer_0.ln_1.weight 768");
    EXPECT(MLP, "784-512-10", "2.bias 10", "2.weight 10,512", "0.weight 512,784", "0.bias 512");
    EXPECT(MLP, "4-2", "fc.1.weight 2,4");
    EXPECT(UNKNOWN, "", "fc.1.weight 2,4", "fd.1.weight 2,4");
    EXPECT(UNKNOWN, "", "0.weight 2,3,1,1");
    EXPECT(UNKNOWN, "", "0.bias 2");
    EXPECT(UNKNOWN, "", "model.layers.0.self_attn.q_proj.weight 64,64", "lm_head.weight 100,64");
    expect(BANG_LAYOUT_UNKNOWN, "", (const char *const[]){NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_openai),
        cmocka_unit_test(test_hf),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
