/* Files that are no vision transformer, or a broken one: all that is wrong is said. */
#include <math.h>

#include "named_vit.h"

#include "bang/model/text.h"
#include "bang/model/vit_file.h"

static const vit_case small = {.width = 64,
                               .hidden = 8,
                               .patch = 2,
                               .grid = 2,
                               .channels = 3,
                               .depth = 2,
                               .projection = 6,
                               .classes = 3,
                               .text_width = 64,
                               .text_hidden = 8,
                               .vocabulary = 10,
                               .context = 5,
                               .text_depth = 2,
                               .dtype = BANG_F32};

typedef int (*loader)(const char *path, bang_error *err);

static int load_image(const char *path, bang_error *err)
{
    bang_vit_model model;
    int rc = bang_vit_model_load(&model, path, NULL, err);
    bang_vit_model_release(&model);
    return rc;
}

static int load_text(const char *path, bang_error *err)
{
    bang_text_tower tower;
    bang_checkpoint *checkpoint;
    if (bang_checkpoint_open(&checkpoint, path, err) < 0)
        fail_msg("%s", err->message);
    int rc = bang_text_tower_load(&tower, checkpoint, NULL, err);
    bang_text_tower_release(&tower);
    bang_checkpoint_close(checkpoint);
    return rc;
}

/* Releases tensors; says ends with NULL. */
static void refuse(const char *folder, loader load, bang_tensors *tensors, const char *const *says)
{
    const char *path = in_folder(folder, "model.st");
    bang_error err = {0};
    if (bang_safetensors_write(path, tensors, &err) < 0)
        fail_msg("%s", err.message);
    bang_tensors_release(tensors);
    assert_int_equal(load(path, &err), BANG_EDATA);
    assert_true(strncmp(err.message, path, strlen(path)) == 0);
    assert_null(strchr(err.message, '\n'));
    for (; *says; says++)
        if (!strstr(err.message, *says))
            fail_msg("\"%s\" does not say \"%s\"", err.message, *says);
}
#define REFUSE(load, tensors, ...)                                                                 \
    refuse(*state, load, tensors, (const char *const[]){__VA_ARGS__, NULL})

/* Takes a tensor out of tensors. */
static void drop(bang_tensors *tensors, const char *name)
{
    for (size_t i = 0; i < tensors->count; i++)
        if (strcmp(tensors->items[i].name, name) == 0) {
            free(tensors->items[i].name);
            bang_array_release(&tensors->items[i].array);
            tensors->items[i] = tensors->items[--tensors->count];
            return;
        }
    fail_msg("%s: not there", name);
}

static bang_array *find(bang_tensors *tensors, const char *name)
{
    bang_array *array = (bang_array *)bang_tensors_find(tensors, name);
    assert_non_null(array);
    return array;
}

static void test_broken(void **state)
{
    bang_tensors t = {0};
    make_timm(&t, &small);
    drop(&t, "blocks.1.norm2.bias");
    drop(&t, "patch_embed.proj.weight");
    drop(&t, "norm.weight");
    ADD(&t, &small, "norm.weight", 63);
    drop(&t, "blocks.0.mlp.fc2.weight");
    ADD(&t, &small, "blocks.0.mlp.fc2.weight", 8, 64);
    ADD(&t, &small, "blocks.0.ls1.gamma", 64);
    REFUSE(load_image, &t, "patch_embed.proj.weight: missing",
           "norm.weight: shape (63,): must be (64,)",
           "blocks.0.mlp.fc2.weight: shape (8, 64): must be (64, 8)",
           "blocks.1.norm2.bias: missing",
           "blocks.0.ls1.gamma: no ViT of this layout that is known has it");

    make_timm(&t, &small);
    ((float *)find(&t, "blocks.1.attn.qkv.weight")->data)[7] = NAN;
    ((float *)find(&t, "head.bias")->data)[0] = INFINITY;
    ((float *)find(&t, "head.bias")->data)[2] = -INFINITY;
    REFUSE(load_image, &t, "blocks.1.attn.qkv.weight: 1 of its numbers is not finite",
           "head.bias: 2 of its numbers are not finite");

    make_timm(&t, &small);
    find(&t, "norm.bias")->dtype = BANG_I32;
    drop(&t, "pos_embed");
    ADD(&t, &small, "pos_embed", 1, 7, 64);
    REFUSE(load_image, &t, "norm.bias: type I32: must be F16, BF16, F32 or F64");
    make_timm(&t, &small);
    drop(&t, "pos_embed");
    ADD(&t, &small, "pos_embed", 1, 7, 64);
    drop(&t, "head.weight");
    ADD(&t, &small, "head.weight", 3, 60);
    REFUSE(load_image, &t, "positions: 7: must be a square and one for the class token",
           "head.weight: reads 60 numbers: the features have 64");
    make_timm(&t, &small);
    drop(&t, "patch_embed.proj.weight");
    ADD(&t, &small, "patch_embed.proj.weight", 64, 3, 2, 3);
    REFUSE(load_image, &t, "patch_embed.proj.weight: shape (64, 3, 2, 3): must be (64, any, ");
    make_timm(&t, &small);
    drop(&t, "patch_embed.proj.weight");
    ADD(&t, &small, "patch_embed.proj.weight", 64, 4, 2, 2);
    REFUSE(load_image, &t, "channels: 4: 1 and 3 are possible");
    make_timm(&t, &small);
    ADD(&t, &small, "module.norm.bias", 64);
    REFUSE(load_image, &t, "norm.bias", ": are the same tensor: leave one out");
}

static void test_blocks(void **state)
{
    bang_tensors t = {0};
    vit_case c = small;
    make_timm(&t, &c);
    ADD(&t, &c, "blocks.4.norm1.weight", 64);
    REFUSE(load_image, &t, "blocks.2.norm1.weight and all others of that block: missing",
           "blocks.3.norm1.weight and all others of that block: missing",
           "blocks.4.norm1.bias: missing");
    make_timm(&t, &c);
    ADD(&t, &c, "blocks.99999999.norm1.weight", 64);
    REFUSE(load_image, &t, "blocks.99999999...: most blocks before it are missing");
    c.depth = 0;
    make_openai(&t, &c);
    ADD(&t, &c, "visual.transformer.resblocks.x", 64);
    REFUSE(load_image, &t, "visual.transformer.resblocks.0...: has no blocks");
}

/* One clear line each. */
static void test_foreign(void **state)
{
    bang_tensors t = {0};
    make_timm(&t, &small);
    ADD(&t, &small, "dist_token", 1, 1, 64);
    REFUSE(load_image, &t, "dist_token: a distilled DeiT");
    make_timm(&t, &small);
    drop(&t, "cls_token");
    REFUSE(load_image, &t, "cls_token: missing: only ViTs with a class token are read");
    make_timm(&t, &small);
    ADD(&t, &small, "fc_norm.weight", 64);
    REFUSE(load_image, &t, "fc_norm: this ViT averages its tokens");
    make_openai_text(&t, &small);
    REFUSE(load_image, &t, "a CLIP without its image tower");
    make_openai_text(&t, &small);
    ADD(&t, &small, "visual.layer1.0.conv1.weight", 4, 3, 1, 1);
    ADD(&t, &small, "visual.conv1.weight", 4, 3, 1, 1);
    REFUSE(load_image, &t, "the image tower is a ResNet");
    make_openai(&t, &small);
    ADD(&t, &small, "visual.transformer.resblocks.0.ls_1.gamma", 64);
    REFUSE(load_image, &t, "visual.transformer.resblocks.0.ls_1.gamma: no ViT of this layout");
    make_clip_hf(&t, &small);
    ADD(&t, &small, "classifier.weight", 2, 64);
    REFUSE(load_image, &t, "classifier.weight: no ViT of this layout");
    ADD(&t, &small, "conv_proj.weight", 4, 3, 1, 1);
    ADD(&t, &small, "class_token", 4);
    ADD(&t, &small, "encoder.layers.encoder_layer_0.ln_1.weight", 4);
    REFUSE(load_image, &t, "torchvision's layout");
    ADD(&t, &small, "0.weight", 4, 3);
    REFUSE(load_image, &t, "layout mlp: is neither a ViT of timm or Hugging Face nor a CLIP");
    make_openai(&t, &small);
    drop(&t, "visual.proj");
    make_openai_text(&t, &small);
    REFUSE(load_image, &t, "visual.proj: missing");
}

static void test_metadata(void **state)
{
    static const char *const wrong[][3] = {
        {"{", "metadata: bang.vit: line 1"},
        {"{\"classes\": [\"a\", 2, \"c\"]}", "classes: must be a list of names"},
        {"{\"classes\": [\"a\", \"b\"]}", "metadata: bang.vit: names 2 classes: the head has 3"},
        {"{\"heads\": 0, \"gelu\": \"relu\"}", "heads: is no count", "gelu relu"},
        {"{\"mean\": [1, 2], \"std\": [1, 0, 1]}", "mean: must be one or three numbers",
         "std: must be one or three positive numbers"},
        {"{\"heads\": 7}", "heads: 7: do not divide the width 64"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bang_tensors t = {0};
        make_timm(&t, &small);
        assert_int_equal(bang_tensors_set_metadata(&t, "bang.vit", wrong[i][0], NULL), 0);
        REFUSE(load_image, &t, wrong[i][1], wrong[i][2]);
    }
}

static void test_text(void **state)
{
    bang_tensors t = {0};
    make_openai(&t, &small);
    REFUSE(load_text, &t, "has no text tower");
    make_timm(&t, &small);
    REFUSE(load_text, &t, "layout vit: only a CLIP has a text tower");
    make_openai_text(&t, &small);
    drop(&t, "logit_scale");
    drop(&t, "ln_final.bias");
    drop(&t, "text_projection");
    ADD(&t, &small, "text_projection", 6, 64);
    REFUSE(load_text, &t, "ln_final.bias: missing", "logit_scale: missing",
           "text_projection: shape (6, 64): must be (64, any)");
    make_hf_text(&t, &small);
    *(float *)find(&t, "logit_scale")->data = NAN;
    ADD(&t, &small, "text_model.encoder.layers.1.gamma", 1);
    REFUSE(load_text, &t, "logit_scale: nan: is no logarithm of a scale",
           "text_model.encoder.layers.1.gamma: no text tower that is known has it");
    vit_case c = small;
    c.text_depth = 0;
    make_openai_text(&t, &c);
    make_openai(&t, &c);
    REFUSE(load_text, &t, "the layers of its text tower are missing");
    c = small;
    c.text_width = 40;
    make_hf_text(&t, &c);
    REFUSE(load_text, &t, "width 40 is no multiple of 64: say how many with --text-heads N");
    make_openai_text(&t, &small);
    *(float *)find(&t, "token_embedding.weight")->data = INFINITY;
    REFUSE(load_text, &t, "token_embedding.weight: 1 of its numbers is not finite");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_broken),   TEST(test_blocks), TEST(test_foreign),
        TEST(test_metadata), TEST(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
