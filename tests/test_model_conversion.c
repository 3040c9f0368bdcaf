/* One CLIP in several layouts: there and back gives the same bytes. */
#include "tiny_clip.h"

#include "bang/base/file.h"
#include "bang/model/conversion.h"

static const tiny_clip kinds[] = {
    {.width = 8,
     .depth = 2,
     .patch = 4,
     .positions = 5,
     .text_width = 4,
     .text_depth = 3,
     .context = 7,
     .vocabulary = 11,
     .embedding = 6,
     .matrix = BANG_F32},
    {.width = 3,
     .depth = 11,
     .patch = 1,
     .positions = 2,
     .text_width = 5,
     .text_depth = 1,
     .context = 1,
     .vocabulary = 2,
     .embedding = 1,
     .matrix = BANG_F16},
    {.width = 1,
     .depth = 1,
     .patch = 2,
     .positions = 10,
     .text_width = 7,
     .text_depth = 2,
     .context = 3,
     .vocabulary = 4,
     .embedding = 9,
     .matrix = BANG_BF16},
    {.width = 6, .depth = 2, .patch = 2, .positions = 5, .embedding = 5, .matrix = BANG_F64},
    {.width = 6, .depth = 2, .patch = 2, .positions = 5, .matrix = BANG_F8_E4M3},
    {.text_width = 6, .text_depth = 2, .context = 3, .vocabulary = 9, .matrix = BANG_F32},
    {.width = 6,
     .depth = 1,
     .patch = 2,
     .positions = 5,
     .text_width = 4,
     .text_depth = 0,
     .context = 3,
     .vocabulary = 9,
     .embedding = 2,
     .matrix = BANG_F32},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bang_checkpoint *open_file(const char *path)
{
    bang_checkpoint *c;
    bang_error err = {0};
    if (bang_checkpoint_open(&c, path, &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

static void save(const char *path, bang_tensors *tensors)
{
    bang_error err = {0};
    if (bang_safetensors_write(path, tensors, &err) < 0)
        fail_msg("%s", err.message);
    bang_tensors_release(tensors);
}

/* What a plan says, without the stream. */
static void follow(bang_tensors *out, const bang_conversion *plan)
{
    *out = (bang_tensors){0};
    for (size_t i = 0; i < plan->count; i++) {
        const bang_conversion_tensor *t = &plan->tensors[i];
        bang_array array;
        bang_error err = {0};
        assert_int_equal(bang_array_init(&array, t->dtype, t->rank, t->shape, &err), 0);
        unsigned char *at = array.data;
        for (size_t k = 0; k < t->part_count; at += t->parts[k++]->bytes)
            if (bang_checkpoint_read(plan->checkpoint, t->parts[k], 0, at,
                                     (size_t)t->parts[k]->bytes, &err) < 0)
                fail_msg("%s", err.message);
        if (t->part_count == 0)
            for (size_t n = 0; n < array.count; n++)
                ((int64_t *)array.data)[n] = (int64_t)n;
        else
            assert_int_equal(at - (unsigned char *)array.data,
                             array.count * bang_dtype_size(array.dtype));
        assert_int_equal(bang_tensors_add(out, t->name, &array, &err), 0);
    }
    out->metadata = json_incref(plan->metadata);
}

/* How the real command writes it. */
static void stream(const char *path, bang_conversion *plan)
{
    bang_error err = {0};
    bang_output *output = NULL;
    bang_stream how = BANG_STREAM_INIT;
    how.max_memory = 1 << 30; /* sanitizers need much themselves */
    bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    options.metadata = plan->metadata;
    if (bang_output_plan(&output, path, bang_conversion_items(plan), plan->count, &options, &err) <
            0 ||
        bang_output_begin(output, &err) < 0 ||
        bang_conversion_write(plan, output, &how, &err) < 0 || bang_output_commit(output, &err) < 0)
        fail_msg("%s", err.message);
    bang_output_free(output);
}

static bang_conversion *plan_of(bang_checkpoint *c, bang_layout to)
{
    bang_conversion *plan;
    bang_error err = {0};
    if (bang_conversion_plan(&plan, c, to, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

static void convert(const char *from, const char *to, bang_layout layout)
{
    bang_checkpoint *c = open_file(from);
    bang_conversion *plan = plan_of(c, layout);
    bang_tensors tensors;
    follow(&tensors, plan);
    save(to, &tensors);
    char streamed[1024];
    snprintf(streamed, sizeof streamed, "%s.streamed.safetensors", to);
    stream(streamed, plan);
    bang_conversion_free(plan);
    bang_checkpoint_close(c);
    char *a, *b;
    size_t m, n;
    bang_error err = {0};
    assert_int_equal(bang_file_read(&a, &m, to, &err), 0);
    assert_int_equal(bang_file_read(&b, &n, streamed, &err), 0);
    assert_int_equal(m, n);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void assert_same_file(const char *left, const char *right)
{
    char *a, *b;
    size_t m, n;
    bang_error err = {0};
    assert_int_equal(bang_file_read(&a, &m, left, &err), 0);
    assert_int_equal(bang_file_read(&b, &n, right, &err), 0);
    assert_int_equal(m, n);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void assert_layout(const char *path, bang_layout layout)
{
    bang_checkpoint *c = open_file(path);
    assert_string_equal(bang_layout_name(bang_layout_guess(c)), bang_layout_name(layout));
    bang_checkpoint_close(c);
}

static void test_round_trips(void **state)
{
    const char *folder = *state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < 6; way++) { /* from OpenAI, from HF, from HF with ids; metadata */
            tiny_clip clip = kinds[kind];
            bang_tensors tensors;
            bang_error err = {0};
            const char *a = in_folder(folder, "a.safetensors");
            const char *b = in_folder(folder, "b.safetensors");
            const char *back = in_folder(folder, "back.safetensors");
            clip.hf = way % 3 > 0;
            clip.ids = way % 3 == 2;
            tiny_make(&tensors, &clip);
            if (way >= 3)
                bang_tensors_set_metadata(&tensors, "format", "pt", &err);
            tiny_add(&tensors, BANG_I32, 0, NULL, NULL, "input_resolution");
            tiny_add(&tensors, BANG_F32, 2, (size_t[]){3, 2}, NULL, "classification_head.weight");
            save(a, &tensors);
            bang_layout from = clip.hf ? BANG_LAYOUT_CLIP_HF : BANG_LAYOUT_CLIP_OPENAI;
            bang_layout to = clip.hf ? BANG_LAYOUT_CLIP_OPENAI : BANG_LAYOUT_CLIP_HF;
            assert_layout(a, from);
            convert(a, b, to);
            assert_layout(b, to);
            convert(b, back, from);
            assert_same_file(a, back);
        }
}

/* The mapping held against its definition, number by number. */
static void test_meaning(void **state)
{
    const char *folder = *state;
    tiny_clip clip = kinds[0];
    bang_tensors before, after;
    bang_error err = {0};
    const char *a = in_folder(folder, "a.safetensors"), *b = in_folder(folder, "b.safetensors");
    tiny_make(&before, &clip);
    assert_int_equal(bang_safetensors_write(a, &before, &err), 0);
    convert(a, b, BANG_LAYOUT_CLIP_HF);
    assert_int_equal(bang_safetensors_read(&after, b, &err), 0);
    const uint32_t *fused =
        bang_tensors_find(&before, "transformer.resblocks.2.attn.in_proj_weight")->data;
    static const char *const thirds[] = {"text_model.encoder.layers.2.self_attn.q_proj.weight",
                                         "text_model.encoder.layers.2.self_attn.k_proj.weight",
                                         "text_model.encoder.layers.2.self_attn.v_proj.weight"};
    for (size_t t = 0; t < 3; t++) {
        const bang_array *third = bang_tensors_find(&after, thirds[t]);
        assert_non_null(third);
        assert_int_equal(third->shape[0], clip.text_width);
        assert_memory_equal(third->data, fused + t * 16, 64);
    }
    const uint32_t *bias =
        bang_tensors_find(&before, "visual.transformer.resblocks.1.attn.in_proj_bias")->data;
    assert_memory_equal(
        bang_tensors_find(&after, "vision_model.encoder.layers.1.self_attn.v_proj.bias")->data,
        bias + 2 * clip.width, 4 * clip.width);
    const uint32_t *proj = bang_tensors_find(&before, "visual.proj")->data;
    const bang_array *turned = bang_tensors_find(&after, "visual_projection.weight");
    assert_int_equal(turned->shape[0], clip.embedding);
    assert_int_equal(turned->shape[1], clip.width);
    for (size_t i = 0; i < clip.width; i++)
        for (size_t j = 0; j < clip.embedding; j++)
            assert_int_equal(((const uint32_t *)turned->data)[j * clip.width + i],
                             proj[i * clip.embedding + j]);
    assert_memory_equal(bang_tensors_find(&before, "visual.ln_pre.bias")->data,
                        bang_tensors_find(&after, "vision_model.pre_layrnorm.bias")->data,
                        4 * clip.width);
    assert_memory_equal(
        bang_tensors_find(&before, "transformer.resblocks.0.mlp.c_fc.weight")->data,
        bang_tensors_find(&after, "text_model.encoder.layers.0.mlp.fc1.weight")->data, 64);
    assert_int_equal(before.count + 2 * 2 * 5, after.count); /* q, k, v of 5 layers */
    bang_tensors_release(&before);
    bang_tensors_release(&after);
}

static int has_note(const bang_conversion *plan, const char *text)
{
    for (size_t i = 0; i < json_array_size(plan->notes); i++)
        if (strstr(json_string_value(json_array_get(plan->notes, i)), text))
            return 1;
    return 0;
}

/* Wrappers go; the same weights come out as from the plain file. */
static void test_wrappers(void **state)
{
    const char *folder = *state;
    static const struct {
        const char *prefix, *text;
    } ways[] = {{"module.", NULL},
                {"model.", NULL},
                {"image_encoder.model.", NULL},
                {"module.image_encoder.model.", NULL},
                {NULL, "text."},
                {"module.", "text."}};
    const char *a = in_folder(folder, "a.safetensors"), *b = in_folder(folder, "b.safetensors");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        tiny_clip clip = kinds[0];
        bang_tensors tensors;
        clip.prefix = ways[i].prefix;
        clip.text_prefix = ways[i].text;
        tiny_make(&tensors, &clip);
        int outer = clip.prefix && strncmp(clip.prefix, "module.", 7) == 0;
        tiny_add(&tensors, BANG_F32, 1, (size_t[]){2}, outer ? "module." : "",
                 "classification_head.bias");
        save(a, &tensors);
        convert(a, b, BANG_LAYOUT_CLIP_OPEN_CLIP);
        bang_checkpoint *c = open_file(b), *from = open_file(a);
        bang_conversion *plan = plan_of(from, BANG_LAYOUT_CLIP_OPENAI);
        assert_non_null(bang_checkpoint_find(c, "visual.proj"));
        int has_text = ways[i].text != NULL; /* it is open_clip's, and stays there */
        assert_non_null(
            bang_checkpoint_find(c, &"text.transformer.resblocks.2.ln_2.bias"[has_text ? 0 : 5]));
        assert_non_null(bang_checkpoint_find(c, &"text.text_projection"[has_text ? 0 : 5]));
        assert_int_equal(has_note(plan, "names lose text."), has_text);
        assert_non_null(bang_checkpoint_find(c, "classification_head.bias"));
        assert_true(has_note(plan, "classification_head.bias"));
        assert_int_equal(has_note(plan, "wraps"), ways[i].prefix != NULL);
        bang_conversion_free(plan);
        bang_checkpoint_close(from);
        bang_checkpoint_close(c);
    }
}

/* open_clip's "text." stays in its layout, and comes back from any other. */
static void test_text_prefix(void **state)
{
    const char *folder = *state;
    const char *a = in_folder(folder, "a.safetensors"), *b = in_folder(folder, "b.safetensors");
    const char *d = in_folder(folder, "d.safetensors"), *e = in_folder(folder, "e.safetensors");
    for (int way = 0; way < 4; way++) { /* with metadata; with what only open_clip has */
        tiny_clip clip = kinds[0];
        bang_tensors tensors;
        bang_error err = {0};
        clip.text_prefix = "text.";
        tiny_make(&tensors, &clip);
        if (way % 2)
            bang_tensors_set_metadata(&tensors, "format", "pt", &err);
        if (way / 2)
            tiny_add(&tensors, BANG_F32, 0, NULL, NULL, "logit_bias");
        save(a, &tensors);
        assert_layout(a, BANG_LAYOUT_CLIP_OPEN_CLIP);
        convert(a, b, BANG_LAYOUT_CLIP_OPEN_CLIP);
        assert_same_file(a, b);
        convert(a, b, BANG_LAYOUT_CLIP_HF);
        convert(b, d, BANG_LAYOUT_CLIP_OPEN_CLIP);
        assert_same_file(a, d);
        convert(b, d, BANG_LAYOUT_CLIP_OPENAI); /* the note goes along */
        bang_checkpoint *c = open_file(d);
        assert_non_null(bang_checkpoint_find(c, "ln_final.weight"));
        assert_string_equal(json_string_value(json_object_get(c->metadata, "bang.text_prefix")),
                            "text.");
        bang_checkpoint_close(c);
        convert(d, e, BANG_LAYOUT_CLIP_OPEN_CLIP);
        assert_same_file(a, e);
        convert(a, e, BANG_LAYOUT_CLIP_OPENAI);
        assert_same_file(d, e);
    }
    /* Before some names only it cannot come back, and any other note is none. */
    tiny_clip clip = kinds[0];
    bang_tensors tensors;
    bang_error err = {0};
    clip.text_prefix = "text.";
    tiny_make(&tensors, &clip);
    for (size_t i = 0; i < tensors.count; i++)
        if (strcmp(tensors.items[i].name, "text.ln_final.bias") == 0)
            memmove(tensors.items[i].name, "ln_final.bias", sizeof "ln_final.bias");
    bang_tensors_set_metadata(&tensors, "bang.text_prefix", "../", &err);
    save(a, &tensors);
    bang_checkpoint *c = open_file(a);
    bang_conversion *plan = plan_of(c, BANG_LAYOUT_CLIP_HF);
    assert_true(has_note(plan, "text., which others of the text tower lack"));
    bang_conversion_free(plan);
    plan = plan_of(c, BANG_LAYOUT_CLIP_OPEN_CLIP);
    for (size_t i = 0; i < plan->count; i++)
        assert_non_null(bang_checkpoint_find(c, plan->tensors[i].name));
    bang_conversion_free(plan);
    bang_checkpoint_close(c);
}

/* position_ids that are not 0, 1, 2, ... are data, and kept. */
static void test_odd_ids(void **state)
{
    const char *folder = *state;
    const char *a = in_folder(folder, "a.safetensors"), *b = in_folder(folder, "b.safetensors");
    const char *back = in_folder(folder, "back.safetensors");
    tiny_clip clip = kinds[0];
    bang_tensors tensors;
    clip.hf = clip.ids = 1;
    tiny_make(&tensors, &clip);
    for (size_t i = 0; i < tensors.count; i++)
        if (strcmp(tensors.items[i].name, "text_model.embeddings.position_ids") == 0)
            ((int64_t *)tensors.items[i].array.data)[3] = 4;
    save(a, &tensors);
    convert(a, b, BANG_LAYOUT_CLIP_OPENAI);
    bang_checkpoint *c = open_file(b);
    assert_non_null(bang_checkpoint_find(c, "text_model.embeddings.position_ids"));
    assert_null(bang_checkpoint_find(c, "vision_model.embeddings.position_ids"));
    assert_string_equal(json_string_value(json_object_get(c->metadata, "bang.position_ids")),
                        "vision");
    bang_checkpoint_close(c);
    convert(b, back, BANG_LAYOUT_CLIP_HF);
    assert_same_file(a, back);
}

static void refuse(const char *path, bang_layout to, int code, const char *const *why)
{
    bang_checkpoint *c = open_file(path);
    bang_conversion *plan = NULL;
    bang_error err = {0};
    bang_text lines = {0};
    assert_int_equal(bang_conversion_plan(&plan, c, to, &lines, &err), code);
    assert_null(plan);
    for (; *why; why++)
        if (!strstr(err.message, *why) && !(lines.data && strstr(lines.data, *why)))
            fail_msg("%s: not in %s", *why, err.message);
    bang_text_release(&lines);
    bang_checkpoint_close(c);
}
#define REFUSE(path, to, code, ...) refuse(path, to, code, (const char *const[]){__VA_ARGS__, NULL})

/* Without the tensors named, and with others in other shapes. */
static void damage(const char *path, const tiny_clip *clip, const char *without, const char *other)
{
    bang_tensors tensors;
    tiny_make(&tensors, clip);
    for (size_t i = 0; i < tensors.count; i++) {
        bang_tensor *t = &tensors.items[i];
        if (without && strstr(t->name, without))
            snprintf(t->name, strlen(t->name) + 1, "%zu", i);
        if (other && strstr(t->name, other)) {
            bang_error err;
            bang_array_release(&t->array);
            assert_int_equal(bang_array_init(&t->array, BANG_F32, 2, (size_t[]){2, 9}, &err), 0);
        }
    }
    save(path, &tensors);
}

static void test_refusals(void **state)
{
    const char *path = in_folder(*state, "a.safetensors");
    tiny_clip clip = kinds[0], hf = kinds[0];
    hf.hf = 1;
    damage(path, &clip, "ln_2", "out_proj.weight");
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA,
           "visual.transformer.resblocks.1.ln_2.weight: missing",
           "transformer.resblocks.2.ln_2.bias: missing",
           "transformer.resblocks.0.attn.out_proj.weight: shape (2, 9): must be (4, 4)", "; and ");
    damage(path, &hf, "layers.1.self_attn.k_proj", "visual_projection");
    REFUSE(path, BANG_LAYOUT_CLIP_OPENAI, BANG_EDATA,
           "vision_model.encoder.layers.1.self_attn.k_proj.weight: missing",
           "visual_projection.weight: shape (2, 9): must be (any, 8)");
    damage(path, &hf, "text_projection", NULL);
    REFUSE(path, BANG_LAYOUT_CLIP_OPENAI, BANG_EDATA, "text_projection.weight: missing");
    damage(path, &clip, "visual.transformer.resblocks.0.", NULL);
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA,
           "visual.transformer.resblocks.0.ln_1.weight and all others of that layer: missing");
    damage(path, &clip, NULL, "text_projection");
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA, "text_projection: shape (2, 9): must be (4, 6)");
    REFUSE(path, BANG_LAYOUT_VIT, BANG_EUSAGE, "choose clip-hf");

    bang_tensors tensors = {0};
    tiny_add(&tensors, BANG_F32, 2, (size_t[]){2, 3}, NULL, "0.weight");
    save(path, &tensors);
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA, "layout mlp: only a CLIP");
}

/* Names that meet, types that do not, towers that the other layout lacks. */
static void test_clashes(void **state)
{
    const char *path = in_folder(*state, "a.safetensors");
    tiny_clip clip = kinds[0], hf = kinds[1];
    bang_tensors tensors;
    hf.hf = 1;
    tiny_make(&tensors, &clip);
    tiny_add(&tensors, BANG_F32, 1, (size_t[]){1}, NULL, "visual_projection.weight");
    tiny_add(&tensors, BANG_F32, 1, (size_t[]){4}, NULL, "model.ln_final.bias");
    save(path, &tensors);
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA, "are the same tensor");
    tiny_make(&tensors, &clip);
    tiny_add(&tensors, BANG_F32, 1, (size_t[]){1}, NULL, "visual_projection.weight");
    save(path, &tensors);
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA, "visual_projection.weight: two tensors");

    tiny_make(&tensors, &hf);
    for (size_t i = 0; i < tensors.count; i++)
        if (strcmp(tensors.items[i].name,
                   "vision_model.encoder.layers.10.self_attn.k_proj.weight") == 0)
            tensors.items[i].array.dtype = BANG_BF16;
    save(path, &tensors);
    REFUSE(path, BANG_LAYOUT_CLIP_OPENAI, BANG_EDATA, "k_proj.weight: is BF16", "is F16");

    clip.width = 0;
    tiny_make(&tensors, &clip);
    tiny_add(&tensors, BANG_F32, 4, (size_t[]){2, 3, 3, 3}, NULL, "visual.conv1.weight");
    tiny_add(&tensors, BANG_F32, 4, (size_t[]){2, 2, 1, 1}, NULL, "visual.layer1.0.conv1.weight");
    save(path, &tensors);
    REFUSE(path, BANG_LAYOUT_CLIP_HF, BANG_EDATA, "visual.layer1.", "no ViT");
    convert(path, in_folder(*state, "b.safetensors"), BANG_LAYOUT_CLIP_OPEN_CLIP);
    assert_same_file(path, in_folder(*state, "b.safetensors"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trips, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_meaning, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_wrappers, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_text_prefix, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_odd_ids, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_refusals, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_clashes, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
