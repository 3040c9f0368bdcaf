/* The lab's maps: what is shown, and that verdicts follow from the numbers. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "lab/shift.h"

enum { COUNT = 12, PIXELS = BANG_SHIFT_SIDE * BANG_SHIFT_SIDE };

static const bang_vit_config config = {.image = BANG_SHIFT_SIDE,
                                       .patch = 7,
                                       .channels = 1,
                                       .width = 12,
                                       .depth = 2,
                                       .heads = 2,
                                       .hidden = 16,
                                       .classes = BANG_SHIFT_CLASSES,
                                       .epsilon = 1e-6,
                                       .patch_bias = 1};

static void make_data(shift_data *data)
{
    bang_error err = {0};
    *data = (shift_data){0};
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        bang_images *set = &data->test[s];
        bang_random random;
        bang_random_init(&random, 1, BANG_PURPOSE('t', 'e', 's', 't'), s);
        set->count = COUNT;
        set->classes = BANG_SHIFT_CLASSES;
        set->labels = calloc(COUNT, sizeof *set->labels);
        assert_non_null(set->labels);
        assert_int_equal(bang_array_init(&set->memory.inputs, BANG_U8, 3,
                                         (size_t[]){COUNT, BANG_SHIFT_SIDE, BANG_SHIFT_SIDE}, &err),
                         0);
        set->memory.count = COUNT;
        set->memory.width = PIXELS;
        uint8_t *pixels = set->memory.inputs.data;
        for (size_t i = 0; i < COUNT; i++)
            set->labels[i] = (int64_t)(i % BANG_SHIFT_CLASSES);
        for (size_t i = 0; i < (size_t)COUNT * PIXELS; i++)
            pixels[i] = (uint8_t)bang_random_below(&random, 256);
    }
}

static void release_data(shift_data *data)
{
    for (size_t s = 0; s < SHIFT_SETS; s++)
        bang_images_release(&data->test[s]);
}

static void make_model(bang_vit_model *model, uint64_t seed)
{
    bang_error err = {0};
    bang_random random;
    assert_int_equal(bang_vit_model_make(model, &config, seed, &err), 0);
    bang_random_init(&random, seed, BANG_PURPOSE('h', 'e', 'a', 'd'), 0);
    for (size_t i = model->vit.map.head_weight; i < model->vit.map.count; i++)
        model->vit.parameters[i] = (float)bang_random_normal(&random);
}

static const char *member(const json_t *show, size_t entry, const char *key)
{
    return json_string_value(json_object_get(json_array_get(show, entry), key));
}

/* A picture, a table of all sets, two verdicts; the same again to the byte. */
static void test_show(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_model models[3];
    shift_data data;
    make_data(&data);
    for (size_t m = 0; m < 3; m++)
        make_model(&models[m], m + 1);
    json_t *show = json_array(), *again = json_array();
    assert_int_equal(shift_maps(show, &models[0], &models[1], &models[2], &data, NULL, &err), 0);
    assert_int_equal(shift_maps(again, &models[0], &models[1], &models[2], &data, NULL, &err), 0);
    assert_true(json_equal(show, again));
    assert_int_equal(json_array_size(show), 4);
    assert_string_equal(member(show, 0, "kind"), "picture");
    assert_non_null(member(show, 0, "alt"));
    assert_memory_equal(member(show, 0, "png"), "iVBOR", 5);
    assert_string_equal(member(show, 1, "kind"), "table");
    const json_t *rows = json_object_get(json_array_get(show, 1), "rows"), *row;
    size_t columns = json_array_size(json_object_get(json_array_get(show, 1), "columns")), i;
    assert_int_equal(json_array_size(rows), SHIFT_SETS);
    json_array_foreach(rows, i, row) assert_int_equal(json_array_size(row), columns);
    for (size_t v = 2; v < 4; v++) {
        assert_string_equal(member(show, v, "item"), "Figure 2 (right)");
        assert_non_null(strstr(member(show, v, "because"), "holds"));
    }
    json_decref(show);
    json_decref(again);
    for (size_t m = 0; m < 3; m++)
        bang_vit_model_release(&models[m]);
    release_data(&data);
}

/* One model three times: its maps are alike, and no more diverse than themselves. */
static void test_same(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_model model;
    shift_data data;
    make_data(&data);
    make_model(&model, 1);
    json_t *show = json_array();
    assert_int_equal(shift_maps(show, &model, &model, &model, &data, NULL, &err), 0);
    assert_string_equal(member(show, 2, "holds"), "no");
    assert_non_null(strstr(member(show, 2, "because"), "correlate with 1.00"));
    assert_string_equal(member(show, 3, "holds"), "no");
    json_decref(show);
    bang_vit_model_release(&model);
    release_data(&data);
}

static void test_refuses(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_model model;
    shift_data data;
    make_data(&data);
    make_model(&model, 1);
    data.test[3].memory.width = 5;
    json_t *show = json_array();
    assert_int_equal(shift_maps(show, &model, &model, &model, &data, NULL, &err), BANG_EUSAGE);
    assert_int_equal(json_array_size(show), 0);
    bang_cancel cancel = {0};
    data.test[3].memory.width = PIXELS;
    atomic_store(&cancel.raised, 1);
    assert_int_equal(shift_maps(show, &model, &model, &model, &data, &cancel, &err),
                     BANG_ECANCELLED);
    json_decref(show);
    bang_vit_model_release(&model);
    release_data(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
