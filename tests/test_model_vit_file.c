/* Vision transformers from and to files of four layouts. */
#include "named_vit.h"

#include "bang/base/file.h"
#include "bang/model/text.h"
#include "bang/model/vit_file.h"

static const vit_case small = {.width = 64,
                               .hidden = 96,
                               .patch = 4,
                               .grid = 3,
                               .channels = 3,
                               .depth = 2,
                               .projection = 24,
                               .classes = 5,
                               .text_width = 128,
                               .text_hidden = 100,
                               .vocabulary = 40,
                               .context = 9,
                               .text_depth = 3,
                               .dtype = BANG_F32};

static void load(bang_vit_model *out, const char *path, const bang_vit_hints *hints)
{
    bang_error err = {0};
    if (bang_vit_model_load(out, path, hints, &err) < 0)
        fail_msg("%s", err.message);
}

static void save(const bang_vit_model *model, const char *path)
{
    bang_error err = {0};
    if (bang_vit_model_save(model, path, &err) < 0)
        fail_msg("%s", err.message);
}

static void refuse(const char *path, const bang_vit_hints *hints, const char *why)
{
    bang_vit_model model;
    bang_error err = {0};
    assert_int_equal(bang_vit_model_load(&model, path, hints, &err), BANG_EDATA);
    if (!strstr(err.message, why) || strchr(err.message, '\n'))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
    assert_null(model.vit.parameters);
}

static void expect(const float *numbers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != number_of(name, i))
            fail_msg("%s: number %zu is %g, not %g", name, i, (double)numbers[i],
                     (double)number_of(name, i));
}

/* numbers is (rows, columns), the file's tensor (columns, rows). */
static void expect_turned(const float *numbers, size_t rows, size_t columns, const char *name)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            assert_true(numbers[i * columns + j] == number_of(name, j * rows + i));
}

static void expect_blocks(const float *parameters, const bang_vit_block *blocks, size_t depth,
                          const char *format, const char *const names[12],
                          const char *const thirds[3], size_t w, size_t m)
{
    for (size_t b = 0; b < depth; b++) {
        const bang_vit_block *o = &blocks[b];
        const size_t offsets[12] = {o->norm1_gain,  o->norm1_bias, o->qkv_weight, o->qkv_bias,
                                    o->proj_weight, o->proj_bias,  o->norm2_gain, o->norm2_bias,
                                    o->fc1_weight,  o->fc1_bias,   o->fc2_weight, o->fc2_bias};
        const size_t counts[12] = {w, w, 3 * w * w, 3 * w, w * w, w, w, w, m * w, m, m * w, w};
        for (int i = 0; i < 12; i++) {
            const char *hole = strchr(names[i], '%');
            char name[200];
            for (size_t k = 0; k < (hole ? 3 : 1); k++) {
                size_t count = counts[i] / (hole ? 3 : 1);
                snprintf(name, sizeof name, "%s%zu.%.*s%s%s", format, b,
                         hole ? (int)(hole - names[i]) : (int)strlen(names[i]), names[i],
                         hole ? thirds[k] : "", hole ? hole + 1 : "");
                expect(parameters + offsets[i] + k * count, count, name);
            }
        }
    }
}

static void expect_config(const bang_vit_model *model, const vit_case *c, int clip)
{
    const bang_vit_config *k = &model->vit.config;
    assert_int_equal(k->image, c->patch * c->grid);
    assert_int_equal(k->patch, c->patch);
    assert_int_equal(k->channels, c->channels);
    assert_int_equal(k->width, c->width);
    assert_int_equal(k->depth, c->depth);
    assert_int_equal(k->heads, c->width / 64);
    assert_int_equal(k->hidden, c->hidden);
    assert_int_equal(k->projection, clip ? c->projection : 0);
    assert_int_equal(k->classes, c->classes);
    assert_int_equal(k->gelu, clip ? BANG_GELU_QUICK : BANG_GELU_EXACT);
    assert_int_equal(k->patch_bias, !clip);
    assert_int_equal(k->norm_first, clip);
    assert_int_equal(k->unit_features, clip);
    assert_true(model->mean[1] == (clip ? 0.4578275F : 0.5F));
    assert_true(model->std[2] == (clip ? 0.27577711F : 0.5F));
}

/* Saved and loaded again it is the same, and saved again the same bytes. */
static void expect_round_trip(const char *folder, const bang_vit_model *model)
{
    bang_vit_model again;
    const char *first = in_folder(folder, "first.safetensors");
    const char *second = in_folder(folder, "second.safetensors");
    char *a, *b;
    size_t a_size, b_size;
    save(model, first);
    load(&again, first, NULL);
    assert_memory_equal(&again.vit.config, &model->vit.config, sizeof again.vit.config);
    assert_memory_equal(again.vit.parameters, model->vit.parameters,
                        model->vit.map.count * sizeof(float));
    assert_int_equal(again.names, model->names);
    assert_int_equal(again.bare, model->bare);
    assert_memory_equal(again.mean, model->mean, sizeof again.mean);
    assert_memory_equal(again.std, model->std, sizeof again.std);
    assert_int_equal(again.class_count, model->class_count);
    for (size_t i = 0; i < model->class_count; i++)
        assert_string_equal(again.class_names[i], model->class_names[i]);
    save(&again, second);
    assert_int_equal(bang_file_read(&a, &a_size, first, NULL), 0);
    assert_int_equal(bang_file_read(&b, &b_size, second, NULL), 0);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
    bang_vit_model_release(&again);
}

/* The names that a saved file has are those of tensors, no more and no fewer. */
static void expect_names(const char *path, const bang_tensors *tensors)
{
    bang_tensors saved;
    bang_error err = {0};
    assert_int_equal(bang_safetensors_read(&saved, path, &err), 0);
    assert_int_equal(saved.count, tensors->count);
    for (size_t i = 0; i < tensors->count; i++) {
        const bang_array *a = &tensors->items[i].array;
        const bang_array *b = bang_tensors_find(&saved, tensors->items[i].name);
        if (!b || b->rank != a->rank || memcmp(a->shape, b->shape, sizeof a->shape) != 0 ||
            memcmp(a->data, b->data, a->count * sizeof(float)) != 0)
            fail_msg("%s: missing, misshapen or other numbers", tensors->items[i].name);
    }
    assert_string_equal(bang_tensors_metadata(&saved, "format"), "pt");
    bang_tensors_release(&saved);
}

static void test_timm(void **state)
{
    const char *path = in_folder(*state, "timm.safetensors");
    bang_tensors tensors = {0}, same = {0};
    bang_vit_model model;
    const vit_case *c = &small;
    make_timm(&tensors, c);
    write_tensors(path, &tensors);
    load(&model, path, NULL);
    assert_int_equal(model.names, BANG_VIT_TIMM);
    expect_config(&model, c, 0);
    assert_true(model.vit.config.epsilon == 1e-6);
    const float *p = model.vit.parameters;
    const bang_vit_map *map = &model.vit.map;
    expect(p + map->token, c->width, "cls_token");
    expect(p + map->positions, tokens_of(c) * c->width, "pos_embed");
    expect(p + map->patch_weight, c->width * 3 * 16, "patch_embed.proj.weight");
    expect(p + map->patch_bias, c->width, "patch_embed.proj.bias");
    expect_blocks(p, map->blocks, c->depth, "blocks.", timm_names, NULL, c->width, c->hidden);
    expect(p + map->norm_gain, c->width, "norm.weight");
    expect(p + map->norm_bias, c->width, "norm.bias");
    expect(p + map->head_weight, c->classes * c->width, "head.weight");
    expect(p + map->head_bias, c->classes, "head.bias");
    expect_round_trip(*state, &model);
    make_timm(&same, c);
    expect_names(in_folder(*state, "first.safetensors"), &same);
    bang_tensors_release(&same);
    bang_vit_model_release(&model);
}

static void test_hf(void **state)
{
    const char *path = in_folder(*state, "hf.safetensors");
    const vit_case *c = &small;
    for (int bare = 0; bare < 2; bare++) {
        const char *vit = bare ? "" : "vit.",
                   *layers = bare ? "encoder.layer." : "vit.encoder.layer.";
        bang_tensors tensors = {0}, same = {0};
        bang_vit_model model;
        make_hf(&tensors, c, vit);
        ADD(&tensors, c, bare ? "pooler.dense.weight" : "vit.pooler.dense.weight", 64, 64);
        write_tensors(path, &tensors);
        load(&model, path, NULL);
        assert_int_equal(model.names, BANG_VIT_HF);
        expect_config(&model, c, 0);
        assert_true(model.vit.config.epsilon == 1e-12);
        expect_blocks(model.vit.parameters, model.vit.map.blocks, c->depth, layers, hf_names,
                      hf_thirds, c->width, c->hidden);
        expect(model.vit.parameters + model.vit.map.head_weight, c->classes * c->width,
               "classifier.weight");
        expect_round_trip(*state, &model);
        make_hf(&same, c, vit);
        expect_names(in_folder(*state, "first.safetensors"), &same);
        bang_tensors_release(&same);
        bang_vit_model_release(&model);
    }
}

static void expect_clip(const bang_vit_model *model, const vit_case *c, int hf)
{
    const float *p = model->vit.parameters;
    const bang_vit_map *map = &model->vit.map;
    expect(p + map->token, c->width,
           hf ? "vision_model.embeddings.class_embedding" : "visual.class_embedding");
    expect(p + map->positions, tokens_of(c) * c->width,
           hf ? "vision_model.embeddings.position_embedding.weight"
              : "visual.positional_embedding");
    expect(p + map->patch_weight, c->width * 3 * 16,
           hf ? "vision_model.embeddings.patch_embedding.weight" : "visual.conv1.weight");
    expect(p + map->first_gain, c->width,
           hf ? "vision_model.pre_layrnorm.weight" : "visual.ln_pre.weight");
    expect(p + map->first_bias, c->width,
           hf ? "vision_model.pre_layrnorm.bias" : "visual.ln_pre.bias");
    expect_blocks(p, map->blocks, c->depth,
                  hf ? "vision_model.encoder.layers." : "visual.transformer.resblocks.",
                  hf ? clip_hf_names : openai_names, clip_thirds, c->width, c->hidden);
    expect(p + map->norm_gain, c->width,
           hf ? "vision_model.post_layernorm.weight" : "visual.ln_post.weight");
    expect(p + map->norm_bias, c->width,
           hf ? "vision_model.post_layernorm.bias" : "visual.ln_post.bias");
    if (c->projection && hf)
        expect(p + map->projection, c->projection * c->width, "visual_projection.weight");
    else if (c->projection)
        expect_turned(p + map->projection, c->projection, c->width, "visual.proj");
}

static void try_clip(const char *folder, const vit_case *c, int hf, int text)
{
    const char *path = in_folder(folder, "clip.safetensors");
    bang_tensors tensors = {0}, same = {0};
    bang_vit_model model;
    vit_case plain = *c;
    (hf ? make_clip_hf : make_openai)(&tensors, c);
    if (text)
        (hf ? make_hf_text : make_openai_text)(&tensors, c);
    write_tensors(path, &tensors);
    load(&model, path, NULL);
    assert_int_equal(model.names, hf ? BANG_VIT_CLIP_HF : BANG_VIT_CLIP_OPENAI);
    expect_config(&model, c, 1);
    assert_true(model.vit.config.epsilon == 1e-5);
    expect_clip(&model, c, hf);
    if (c->classes)
        expect(model.vit.parameters + model.vit.map.head_weight,
               c->classes * bang_vit_features(&model.vit.config), "classification_head.weight");
    expect_round_trip(folder, &model);
    plain.prefix = NULL;
    plain.dtype = BANG_F32;
    (hf ? make_clip_hf : make_openai)(&same, &plain);
    expect_names(in_folder(folder, "first.safetensors"), &same);
    bang_tensors_release(&same);
    bang_vit_model_release(&model);
}

static void test_clip(void **state)
{
    static const char *const prefixes[] = {NULL, "module.", "image_encoder.model.",
                                           "module.model."};
    static const bang_dtype types[] = {BANG_F32, BANG_F16, BANG_BF16, BANG_F64};
    for (int i = 0; i < 4; i++) {
        vit_case c = small;
        c.prefix = prefixes[i];
        c.dtype = types[i];
        c.classes = i % 2 ? 5 : 0;
        for (int hf = 0; hf < 2; hf++) {
            try_clip(*state, &c, hf, i < 2);
            c.projection = i < 2 ? 24 : 0; /* a tower alone may do without */
            try_clip(*state, &c, hf, i < 2);
        }
    }
}

/* open_clip's own files use GELU; a model with quick GELU is told by the user. */
static void test_settings(void **state)
{
    const char *path = in_folder(*state, "clip.safetensors");
    bang_tensors tensors = {0};
    bang_vit_model model;
    vit_case c = small;
    c.text_prefix = "text.";
    make_openai(&tensors, &c);
    make_openai_text(&tensors, &c);
    write_tensors(path, &tensors);
    load(&model, path, NULL);
    assert_int_equal(model.vit.config.gelu, BANG_GELU_EXACT);
    bang_vit_model_release(&model);
    bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    hints.heads = 4;
    hints.gelu = BANG_GELU_TANH;
    hints.epsilon = 1e-4;
    load(&model, path, &hints);
    assert_int_equal(model.vit.config.gelu, BANG_GELU_TANH);
    assert_int_equal(model.vit.config.heads, 4);
    assert_true(model.vit.config.epsilon == 1e-4);
    /* what was said is in the metadata of what is saved, and can be said otherwise */
    expect_round_trip(*state, &model);
    bang_vit_model_release(&model);
    hints = (bang_vit_hints)BANG_VIT_HINTS_INIT;
    hints.heads = 8;
    load(&model, in_folder(*state, "first.safetensors"), &hints);
    assert_int_equal(model.vit.config.heads, 8);
    assert_int_equal(model.vit.config.gelu, BANG_GELU_TANH);
    bang_vit_model_release(&model);
    hints.heads = 5;
    refuse(path, &hints, "heads: 5: do not divide the width 64: say how many with --heads N");
}

static size_t heads_of(const char *folder, size_t width)
{
    const char *path = in_folder(folder, "wide.safetensors");
    bang_tensors tensors = {0};
    bang_vit_model model;
    vit_case c = {.width = width,
                  .hidden = 1,
                  .patch = 1,
                  .grid = 1,
                  .channels = 1,
                  .depth = 1,
                  .dtype = BANG_F16};
    make_timm(&tensors, &c);
    write_tensors(path, &tensors);
    load(&model, path, NULL);
    size_t heads = model.vit.config.heads;
    bang_vit_model_release(&model);
    return heads;
}

static void test_heads(void **state)
{
    assert_int_equal(heads_of(*state, 192), 3);
    assert_int_equal(heads_of(*state, 1280), 16);
    assert_int_equal(heads_of(*state, 1024), 16);
    const char *path = in_folder(*state, "odd.safetensors");
    bang_tensors tensors = {0};
    vit_case c = small;
    c.width = 48;
    make_timm(&tensors, &c);
    write_tensors(path, &tensors);
    refuse(path, NULL, "width 48 is no multiple of 64: say how many with --heads N");
}

/* A folder as a hub has it: the config knows what the tensors do not tell. */
static void test_config(void **state)
{
    static const char vit[] = "{\"num_attention_heads\": 2, \"hidden_act\": \"gelu_new\", "
                              "\"layer_norm_eps\": 1e-7}";
    static const char clip[] =
        "{\"vision_config\": {\"num_attention_heads\": 4, \"hidden_act\": \"gelu\"}, "
        "\"text_config\": {\"num_attention_heads\": 16, \"layer_norm_eps\": 1e-6}}";
    static const char preprocessor[] = "{\"image_mean\": [0.1, 0.2, 0.3], \"image_std\": [1]}";
    const char *folder = *state;
    bang_tensors tensors = {0};
    bang_vit_model model;
    bang_text_tower tower;
    bang_checkpoint *checkpoint;
    vit_case c = small;
    make_hf(&tensors, &c, "vit.");
    write_tensors(in_folder(folder, "model.safetensors"), &tensors);
    bang_file_put(in_folder(folder, "config.json"), vit, strlen(vit), NULL);
    load(&model, folder, NULL);
    assert_int_equal(model.vit.config.heads, 2);
    assert_int_equal(model.vit.config.gelu, BANG_GELU_TANH);
    assert_true(model.vit.config.epsilon == 1e-7);
    bang_vit_model_release(&model);
    load(&model, in_folder(folder, "model.safetensors"), NULL);
    assert_int_equal(model.vit.config.heads, 2);
    save(&model, in_folder(folder, "other.safetensors"));
    bang_vit_model_release(&model);

    bang_file_put(in_folder(folder, "config.json"), clip, strlen(clip), NULL);
    bang_file_put(in_folder(folder, "preprocessor_config.json"), preprocessor, strlen(preprocessor),
                  NULL);
    load(&model, in_folder(folder, "other.safetensors"), NULL); /* is not of that config */
    assert_int_equal(model.vit.config.heads, 2);
    bang_vit_model_release(&model);
    make_clip_hf(&tensors, &c);
    make_hf_text(&tensors, &c);
    write_tensors(in_folder(folder, "model.safetensors"), &tensors);
    load(&model, folder, NULL);
    assert_int_equal(model.vit.config.heads, 4);
    assert_int_equal(model.vit.config.gelu, BANG_GELU_EXACT);
    assert_true(model.vit.config.epsilon == 1e-5);
    assert_true(model.mean[2] == 0.3F && model.std[0] == 1 && model.std[2] == 1);
    bang_vit_model_release(&model);
    assert_int_equal(bang_checkpoint_open(&checkpoint, folder, NULL), 0);
    assert_int_equal(bang_text_tower_load(&tower, checkpoint, NULL, NULL), 0);
    assert_int_equal(tower.config.heads, 16);
    assert_int_equal(tower.config.gelu, BANG_GELU_QUICK);
    assert_true(tower.config.epsilon == 1e-6);
    bang_text_tower_release(&tower);
    bang_checkpoint_close(checkpoint);

    static const char wrong[] = "{\"vision_config\": {\"hidden_act\": \"relu\", "
                                "\"num_attention_heads\": \"four\", \"layer_norm_eps\": -1}}";
    bang_file_put(in_folder(folder, "config.json"), wrong, strlen(wrong), NULL);
    refuse(folder, NULL,
           "config.json: num_attention_heads: is no count; config.json: hidden_act "
           "relu: only gelu, quick_gelu and gelu_pytorch_tanh are known; "
           "config.json: layer_norm_eps: must be a small positive number");
    bang_file_put(in_folder(folder, "config.json"), "{", 1, NULL);
    refuse(folder, NULL, "config.json: line 1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_timm),     TEST(test_hf),    TEST(test_clip),
        TEST(test_settings), TEST(test_heads), TEST(test_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
