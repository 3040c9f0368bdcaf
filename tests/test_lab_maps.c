/* The lab's maps: what records hold, what is shown, and that verdicts follow from the numbers. */
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

static double at(const json_t *maps, const char *kind, const char *what, const char *name, size_t i)
{
    const json_t *k = json_object_get(maps, kind);
    return json_number_value(json_array_get(json_object_get(json_object_get(k, what), name), i));
}

static json_t *maps_of(const bang_vit_model *a, const bang_vit_model *b, const bang_vit_model *c,
                       const bang_vit_model *other, int picture)
{
    const bang_vit_model *models[] = {a, b, c, other};
    bang_error err = {0};
    json_t *result = json_object();
    shift_data data;
    make_data(&data);
    if (shift_maps(result, models, &data, picture, NULL, &err) < 0)
        fail_msg("%s", err.message);
    release_data(&data);
    return result;
}

/* Numbers of all sets, and a picture where it is wanted; the same again to the bit. */
static void test_record(void **state)
{
    (void)state;
    bang_vit_model models[4];
    for (size_t m = 0; m < 4; m++)
        make_model(&models[m], m + 1);
    json_t *maps = maps_of(&models[0], &models[1], &models[2], &models[3], 1);
    json_t *again = maps_of(&models[0], &models[1], &models[2], &models[3], 0);
    json_t *plain = maps_of(&models[0], &models[1], &models[2], NULL, 0);
    assert_memory_equal(json_string_value(json_object_get(maps, "png")), "iVBOR", 5);
    assert_int_equal(json_object_del(maps, "png"), 0);
    assert_true(json_equal(maps, again));
    assert_null(json_object_get(plain, "png"));
    assert_int_equal(json_array_size(json_object_get(maps, "n")), SHIFT_SETS);
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        assert_true(at(maps, "gradcam", "effective", "avg", s) >= 1);
        assert_true(at(maps, "hirescam", "effective", "avg", s) <= 16);
        assert_true(fabs(at(maps, "gradcam", "correlation", "fine-other", s)) <= 1);
        assert_true(fabs(at(plain, "gradcam", "correlation", "pre-fine", s) -
                         at(maps, "gradcam", "correlation", "pre-fine", s)) < 1e-12);
    }
    /* without the other one there is nothing to hold PM and FM against */
    const json_t *ood = json_object_get(json_object_get(plain, "gradcam"), "ood");
    assert_true(json_is_null(json_array_get(json_object_get(ood, "apart"), 0)));
    json_decref(maps);
    json_decref(again);
    json_decref(plain);
    for (size_t m = 0; m < 4; m++)
        bang_vit_model_release(&models[m]);
}

/* All models explain the true class, whatever they predict: a head that has another bias, and so
 * predicts one class for all, looks where it looked. */
static void test_one_class(void **state)
{
    (void)state;
    bang_vit_model model, sure;
    make_model(&model, 1);
    make_model(&sure, 1);
    sure.vit.parameters[sure.vit.map.head_bias + 3] += 1000;
    json_t *maps = maps_of(&model, &sure, &model, &sure, 0);
    for (size_t s = 0; s < SHIFT_SETS; s++) {
        assert_true(fabs(at(maps, "gradcam", "correlation", "pre-fine", s) - 1) < 1e-6);
        assert_true(fabs(at(maps, "hirescam", "correlation", "pre-fine", s) - 1) < 1e-6);
    }
    assert_true(fabs(at(maps, "hirescam", "ood", "apart", 0)) < 1e-6);
    assert_true(fabs(at(maps, "hirescam", "ood", "over_fine", 0)) < 1e-6);
    json_decref(maps);
    bang_vit_model_release(&model);
    bang_vit_model_release(&sure);
}

/* A unit whose effects are these, by Grad-CAM; by HiResCAM they are nothing. */
static json_t *make_unit(double apart, double over_pre, double over_fine)
{
    json_t *kinds[2];
    for (int k = 0; k < 2; k++) {
        double on = k == 0;
        kinds[k] = json_pack("{s{s[ffffff] s[ffffff]} s{s[ff] s[ff] s[ff]}}", "correlation",
                             "pre-fine", .5, .5, .5, .5, .5, .5, "fine-other", .8, .8, .8, .8, .8,
                             .8, "ood", "apart", on * apart, 1e-6, "over_pre", on * over_pre, 1e-6,
                             "over_fine", on * over_fine, 1e-6);
        assert_non_null(kinds[k]);
    }
    return json_pack("{s{ss so so}}", "maps", "png", "iVBOR", "gradcam", kinds[0], "hirescam",
                     kinds[1]);
}

static void check_verdicts(json_t *units, const char *apart, const char *more)
{
    json_t *show = json_array();
    shift_maps_show(show, units);
    assert_int_equal(json_array_size(show), 4);
    assert_string_equal(member(show, 0, "kind"), "picture");
    assert_non_null(member(show, 0, "alt"));
    assert_string_equal(member(show, 1, "kind"), "table");
    const json_t *table = json_array_get(show, 1), *row;
    size_t columns = json_array_size(json_object_get(table, "columns")), i;
    assert_int_equal(json_array_size(json_object_get(table, "rows")), SHIFT_SETS + 1);
    assert_int_equal(json_array_size(json_object_get(table, "decimals")), columns);
    json_array_foreach(json_object_get(table, "rows"), i, row)
        assert_int_equal(json_array_size(row), columns);
    for (size_t v = 2; v < 4; v++)
        assert_string_equal(member(show, v, "item"), "Figure 2 (right)");
    assert_string_equal(member(show, 2, "holds"), apart);
    assert_string_equal(member(show, 3, "holds"), more);
    json_decref(show);
    json_decref(units);
}

static void test_verdicts(void **state)
{
    (void)state;
    json_t *show = json_array(), *none = json_pack("[{}]");
    shift_maps_show(show, none);
    assert_int_equal(json_array_size(show), 0);
    json_decref(show);
    json_decref(none);
    check_verdicts(
        json_pack("[ooo]", make_unit(.30, 1, 2), make_unit(.31, 1.1, 2), make_unit(.29, .9, 2)),
        "yes", "yes");
    /* more than PM alone is not more than both */
    check_verdicts(json_pack("[ooo]", make_unit(-.3, 1, -2), make_unit(-.31, 1, -2.1),
                             make_unit(-.29, 1, -1.9)),
                   "no", "no");
    check_verdicts(
        json_pack("[ooo]", make_unit(.3, -1, 2), make_unit(-.3, 2, 2), make_unit(.2, .5, 2)),
        "open", "open");
    /* two that agree may decide, one alone may not */
    check_verdicts(json_pack("[oo]", make_unit(.30, 1, 2), make_unit(.31, 1.1, 2)), "yes", "yes");
    check_verdicts(json_pack("[oo]", make_unit(.30, 1, 2), make_unit(-.01, -.1, 2)), "open",
                   "open");
    check_verdicts(json_pack("[o]", make_unit(.30, 1, 2)), "open", "open");
}

static void test_refuses(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_model model;
    shift_data data;
    make_data(&data);
    make_model(&model, 1);
    const bang_vit_model *models[] = {&model, &model, &model, &model};
    json_t *result = json_object();
    data.test[3].memory.width = 5;
    assert_int_equal(shift_maps(result, models, &data, 1, NULL, &err), BANG_EUSAGE);
    data.test[3].memory.width = PIXELS;
    data.test[3].labels[2] = 10;
    assert_int_equal(shift_maps(result, models, &data, 1, NULL, &err), BANG_EUSAGE);
    data.test[3].labels[2] = 1;
    bang_cancel cancel = {0};
    atomic_store(&cancel.raised, 1);
    assert_int_equal(shift_maps(result, models, &data, 1, &cancel, &err), BANG_ECANCELLED);
    assert_int_equal(json_object_size(result), 0);
    json_decref(result);
    bang_vit_model_release(&model);
    release_data(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_one_class),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
