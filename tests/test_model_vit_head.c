/* Heads that are exchanged, names of classes, new models, and text towers in their layouts. */
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
                               .text_width = 192,
                               .text_hidden = 8,
                               .vocabulary = 10,
                               .context = 5,
                               .text_depth = 2,
                               .dtype = BANG_F32};

static void load_clip(bang_vit_model *out, const char *path)
{
    bang_tensors tensors = {0};
    bang_error err = {0};
    make_openai(&tensors, &small);
    bang_tensors_set_metadata(&tensors, "made by", "hand", NULL);
    bang_tensors_set_metadata(&tensors, "bang", "a recipe of that file alone", NULL);
    write_tensors(path, &tensors);
    if (bang_vit_model_load(out, path, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

static void test_head(void **state)
{
    const char *folder = *state, *path = in_folder(folder, "head.safetensors");
    static const float weight[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, bias[] = {-1, 0.5F};
    static const char *const names[] = {"n01440764", "Kater, \"groß\""};
    bang_vit_model model, again;
    bang_error err = {0};
    load_clip(&model, in_folder(folder, "clip.safetensors"));
    assert_int_equal(model.vit.config.classes, 0);
    assert_int_equal(bang_head_save(path, weight, bias, 2, 6, names, &err), 0);
    assert_int_equal(bang_vit_model_set_head(&model, path, &err), 0);
    assert_int_equal(model.vit.config.classes, 2);
    assert_memory_equal(model.vit.parameters + model.vit.map.head_weight, weight, sizeof weight);
    assert_memory_equal(model.vit.parameters + model.vit.map.head_bias, bias, sizeof bias);
    assert_int_equal(model.class_count, 2);
    assert_string_equal(model.class_names[1], names[1]);
    for (size_t i = 0; i < small.projection * small.width; i++)
        assert_true(model.vit.parameters[model.vit.map.projection + i] ==
                    number_of("visual.proj", i % small.width * small.projection + i / small.width));

    /* names, head and foreign metadata come along with the model */
    const char *tuned = in_folder(folder, "tuned.safetensors");
    assert_int_equal(bang_vit_model_save(&model, tuned, &err), 0);
    assert_int_equal(bang_vit_model_load(&again, tuned, NULL, &err), 0);
    assert_int_equal(again.class_count, 2);
    assert_string_equal(again.class_names[0], names[0]);
    assert_string_equal(json_string_value(json_object_get(again.metadata, "made by")), "hand");
    assert_null(json_object_get(again.metadata, "bang"));
    assert_memory_equal(again.vit.parameters, model.vit.parameters,
                        model.vit.map.count * sizeof(float));

    /* a head without names and from a whole model */
    assert_int_equal(bang_head_save(path, weight, bias, 2, 6, NULL, &err), 0);
    assert_int_equal(bang_vit_model_set_head(&again, path, &err), 0);
    assert_int_equal(again.class_count, 0);
    assert_null(again.class_names);
    assert_int_equal(bang_vit_model_set_head(&again, tuned, &err), 0);
    assert_int_equal(again.class_count, 2);
    bang_vit_model_release(&again);
    bang_vit_model_release(&model);
}

static void test_head_names(void **state)
{
    static const char *const prefixes[] = {"classification_head", "head", "module.classifier"};
    const char *path = in_folder(*state, "head.safetensors");
    bang_vit_model model;
    bang_error err = {0};
    load_clip(&model, in_folder(*state, "clip.safetensors"));
    for (int i = 0; i < 3; i++) {
        bang_tensors tensors = {0};
        vit_case c = {.dtype = i == 1 ? BANG_F16 : BANG_F64};
        char name[64];
        snprintf(name, sizeof name, "%s.weight", prefixes[i]);
        ADD(&tensors, &c, name, (size_t)i + 2, 6);
        write_tensors(path, &tensors);
        assert_int_equal(bang_vit_model_set_head(&model, path, &err), 0);
        assert_int_equal(model.vit.config.classes, i + 2);
        assert_true(model.vit.parameters[model.vit.map.head_weight + 11] == number_of(name, 11));
        assert_true(model.vit.parameters[model.vit.map.head_bias] == 0);
    }
    bang_vit_model_release(&model);
}

static void test_head_refused(void **state)
{
    const char *path = in_folder(*state, "head.safetensors");
    static const float weight[14], bias[2];
    bang_tensors tensors = {0};
    bang_vit_model model;
    bang_error err = {0};
    load_clip(&model, in_folder(*state, "clip.safetensors"));
    size_t count = model.vit.map.count;
    assert_int_equal(bang_head_save(path, weight, bias, 2, 7, NULL, &err), 0);
    assert_int_equal(bang_vit_model_set_head(&model, path, &err), BANG_EDATA);
    assert_non_null(
        strstr(err.message,
               "head.safetensors: classification_head.weight: shape (2, 7): must be (any, 6"));
    ADD(&tensors, &small, "x.weight", 2, 6);
    write_tensors(path, &tensors);
    assert_int_equal(bang_vit_model_set_head(&model, path, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "no head: it has neither classification_head.weight"));
    ADD(&tensors, &small, "head.weight", 2, 6);
    ADD(&tensors, &small, "head.bias", 3);
    bang_tensors_set_metadata(&tensors, "bang.vit", "{\"classes\": [\"a\"]}", NULL);
    write_tensors(path, &tensors);
    assert_int_equal(bang_vit_model_set_head(&model, path, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "head.bias: shape (3,): must be (2,)"));
    assert_non_null(strstr(err.message, "names 1 classes: the head has 2"));
    assert_int_equal(bang_vit_model_set_head(&model, in_folder(*state, "none"), &err), BANG_EIO);
    static const char *const wrong[] = {"a", "\xff"};
    assert_int_equal(bang_head_save(path, weight, bias, 2, 7, wrong, &err), BANG_EUSAGE);
    assert_int_equal(model.vit.map.count, count);
    assert_int_equal(model.vit.config.classes, 0);
    bang_vit_model_release(&model);
}

static void test_new(void **state)
{
    const char *path = in_folder(*state, "new.safetensors");
    static const char *const names[] = {"zero", "one", "two"};
    bang_vit_config config = {.image = 28,
                              .patch = 7,
                              .channels = 1,
                              .width = 20,
                              .depth = 2,
                              .heads = 4,
                              .hidden = 40,
                              .classes = 10,
                              .gelu = BANG_GELU_TANH,
                              .epsilon = 1e-6,
                              .patch_bias = 1};
    bang_vit_model model, again;
    bang_error err = {0};
    assert_int_equal(bang_vit_model_make(&model, &config, 3, &err), 0);
    assert_int_equal(bang_vit_model_new_head(&model, 3, names, &err), 0);
    assert_true(model.mean[0] == 0.5F && model.std[2] == 0.5F);
    model.mean[0] = 0.1307F;
    model.std[0] = 0.3081F;
    assert_int_equal(bang_vit_model_save(&model, path, &err), 0);
    assert_int_equal(bang_vit_model_load(&again, path, NULL, &err), 0);
    assert_memory_equal(&again.vit.config, &model.vit.config, sizeof config);
    assert_int_equal(again.vit.config.heads, 4);
    assert_true(again.mean[0] == 0.1307F && again.std[0] == 0.3081F);
    assert_string_equal(again.class_names[2], "two");
    assert_memory_equal(again.vit.parameters, model.vit.parameters,
                        model.vit.map.count * sizeof(float));
    bang_vit_model_release(&again);
    /* timm's CLIPs: a norm before the blocks, patches without bias */
    bang_vit_model_release(&model);
    config.norm_first = 1;
    config.patch_bias = 0;
    assert_int_equal(bang_vit_model_make(&model, &config, 3, &err), 0);
    assert_int_equal(bang_vit_model_save(&model, path, &err), 0);
    assert_int_equal(bang_vit_model_load(&again, path, NULL, &err), 0);
    assert_memory_equal(&again.vit.config, &config, sizeof config);
    assert_memory_equal(again.vit.parameters, model.vit.parameters,
                        model.vit.map.count * sizeof(float));
    bang_vit_model_release(&again);
    model.names = BANG_VIT_HF;
    assert_int_equal(bang_vit_model_save(&model, path, &err), BANG_EDATA);
    bang_vit_model_release(&model);
    config.projection = 4;
    assert_int_equal(bang_vit_model_make(&model, &config, 3, &err), BANG_EUSAGE);
}

static void expect_same(const float *numbers, const char *name, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != number_of(name, i))
            fail_msg("%s: number %zu is not what the file has", name, i);
}

/* In OpenAI's, open_clip's and Hugging Face's layout. */
static void test_text(void **state)
{
    const char *path = in_folder(*state, "clip.safetensors");
    for (int i = 0; i < 3; i++) {
        vit_case c = small;
        bang_tensors tensors = {0};
        bang_checkpoint *checkpoint;
        bang_text_tower tower;
        bang_error err = {0};
        int hf = i == 2;
        c.text_prefix = i == 1 ? "text." : NULL;
        c.prefix = i ? "module." : NULL;
        c.dtype = i == 1 ? BANG_F16 : BANG_F32;
        (hf ? make_hf_text : make_openai_text)(&tensors, &c);
        write_tensors(path, &tensors);
        assert_int_equal(bang_checkpoint_open(&checkpoint, path, &err), 0);
        if (bang_text_tower_load(&tower, checkpoint, NULL, &err) < 0)
            fail_msg("%s", err.message);
        const bang_text_config *k = &tower.config;
        assert_int_equal(k->vocabulary, c.vocabulary);
        assert_int_equal(k->context, c.context);
        assert_int_equal(k->width, c.text_width);
        assert_int_equal(k->depth, 2);
        assert_int_equal(k->heads, 3);
        assert_int_equal(k->hidden, c.text_hidden);
        assert_int_equal(k->projection, c.projection);
        assert_int_equal(k->gelu, i == 1 ? BANG_GELU_EXACT : BANG_GELU_QUICK);
        assert_true(k->epsilon == 1e-5);
        assert_true(tower.logit_scale == (double)number_of("logit_scale", 0));
        size_t w = c.text_width, m = c.text_hidden;
        expect_same(tower.tokens,
                    hf ? "text_model.embeddings.token_embedding.weight" : "token_embedding.weight",
                    c.vocabulary * w);
        expect_same(tower.positions,
                    hf ? "text_model.embeddings.position_embedding.weight" : "positional_embedding",
                    c.context * w);
        expect_same(tower.norm_gain, hf ? "text_model.final_layer_norm.weight" : "ln_final.weight",
                    w);
        expect_same(tower.norm_bias, hf ? "text_model.final_layer_norm.bias" : "ln_final.bias", w);
        const bang_vit_block *b = &tower.blocks[1];
        const float *p = tower.parameters;
        expect_same(p + b->fc2_weight,
                    hf ? "text_model.encoder.layers.1.mlp.fc2.weight"
                       : "transformer.resblocks.1.mlp.c_proj.weight",
                    w * m);
        if (hf) {
            expect_same(p + b->qkv_weight, "text_model.encoder.layers.1.self_attn.q_proj.weight",
                        w * w);
            expect_same(p + b->qkv_weight + 2 * w * w,
                        "text_model.encoder.layers.1.self_attn.v_proj.weight", w * w);
            expect_same(p + b->qkv_bias + w, "text_model.encoder.layers.1.self_attn.k_proj.bias",
                        w);
            expect_same(tower.projection, "text_projection.weight", c.projection * w);
        } else {
            expect_same(p + b->qkv_weight, "transformer.resblocks.1.attn.in_proj_weight",
                        3 * w * w);
            expect_same(p + b->qkv_bias, "transformer.resblocks.1.attn.in_proj_bias", 3 * w);
            for (size_t e = 0; e < c.projection; e++)
                for (size_t j = 0; j < w; j++)
                    assert_true(tower.projection[e * w + j] ==
                                number_of("text_projection", j * c.projection + e));
        }
        bang_text_tower_release(&tower);
        bang_checkpoint_close(checkpoint);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_head), TEST(test_head_names), TEST(test_head_refused),
        TEST(test_new),  TEST(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
