/* The lab's towers on clothes, with clothes made up here: class c is a bright band at row 2 c. */
#include "mnist_small.h"

#include <math.h>

#include "bang/base/json.h"
#include "bang/base/random.h"
#include "lab/shift.h"
#include "lab/shift_probe.h"
#include "lab/shift_unit.h"

enum { TRAIN = 300, TEST = 200, K = 10 };

static void draw(bang_array *images, bang_array *labels, size_t count, uint64_t seed)
{
    assert_int_equal(bang_array_init(images, BANG_U8, 3, (size_t[]){count, 28, 28}, NULL), 0);
    assert_int_equal(bang_array_init(labels, BANG_U8, 1, &count, NULL), 0);
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('t', 'l', 'f', 'a'), 0);
    for (size_t i = 0; i < count; i++) {
        uint8_t label = (uint8_t)bang_random_below(&random, K), *image = images->data;
        ((uint8_t *)labels->data)[i] = label;
        for (size_t p = 0; p < 784; p++) {
            size_t row = p / 28;
            double bright = row >= 2u * label && row < 2u * label + 5 ? 120 : 60;
            image[i * 784 + p] =
                (uint8_t)fmin(255, fmax(0, bright + 50 * bang_random_normal(&random)));
        }
    }
}

static int setup(void **state)
{
    bang_mnist mnist = {0};
    if (small_setup(state) < 0)
        return -1;
    draw(&mnist.train_images, &mnist.train_labels, TRAIN, 1);
    draw(&mnist.test_images, &mnist.test_labels, TEST, 2);
    small_write(in_folder(*state, "clothes"), &mnist);
    bang_mnist_release(&mnist);
    return bang_fashion_get(in_folder(*state, "clothes"), NULL, NULL);
}

static void make_model(bang_vit_model *out, uint64_t seed)
{
    const bang_vit_config config = {.image = 28,
                                    .patch = 7,
                                    .channels = 1,
                                    .width = 32,
                                    .depth = 1,
                                    .heads = 2,
                                    .hidden = 32,
                                    .classes = 10,
                                    .gelu = BANG_GELU_EXACT,
                                    .epsilon = 1e-5,
                                    .patch_bias = 1};
    assert_int_equal(bang_vit_model_make(out, &config, seed, NULL), 0);
}

/* A model that was moved a little away. */
static void move(bang_vit_model *model, double by)
{
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('t', 'l', 'f', 'm'), 0);
    for (size_t i = 0; i < model->vit.map.count; i++)
        model->vit.parameters[i] += (float)(by * bang_random_normal(&random));
}

static json_t *fashion(const bang_vit_model *pre, const bang_vit_model *fine, uint64_t seed)
{
    json_t *result = json_object();
    bang_error err = {0};
    if (shift_fashion(result, pre, fine, seed, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return result;
}

static double at(const json_t *result, const char *key, size_t index)
{
    return json_number_value(json_array_get(json_object_get(result, key), index));
}

static double number(const json_t *result, const char *key)
{
    return json_number_value(json_object_get(result, key));
}

static void test_curves(void **state)
{
    (void)state;
    bang_vit_model pre = {0}, fine = {0};
    make_model(&pre, 1);
    make_model(&fine, 1);
    move(&fine, 0.05);
    json_t *result = fashion(&pre, &fine, 3), *again = fashion(&pre, &fine, 3);
    assert_true(json_equal(result, again));
    assert_int_equal(number(result, "n"), TEST);
    assert_int_equal(json_array_size(json_object_get(result, "wse")), SHIFT_ALPHAS);
    assert_int_equal(json_array_size(json_object_get(result, "ose")), SHIFT_ALPHAS);
    assert_float_equal(at(result, "alphas", 1), 0.1, 1e-6);
    /* the ends are the models, in weights and in outputs */
    assert_float_equal(at(result, "wse", 0), number(result, "pre"), 0);
    assert_float_equal(at(result, "ose", 0), number(result, "pre"), 0);
    assert_float_equal(at(result, "wse", 10), number(result, "fine"), 0);
    assert_float_equal(at(result, "ose", 10), number(result, "fine"), 0);
    assert_true(number(result, "pre") > 0.5); /* chance is a tenth */
    /* the head is the pre-trained tower's: moved features do it harm */
    assert_true(number(result, "fine") < number(result, "pre") - 0.05);
    double more = (number(result, "only_wse") - number(result, "only_ose")) / TEST;
    assert_true(fabs(more - (at(result, "wse", 5) - at(result, "ose", 5))) < 1e-9);
    assert_null(json_object_get(result, "missing"));
    json_decref(result);
    json_decref(again);
    bang_vit_model_release(&pre);
    bang_vit_model_release(&fine);
}

/* A model with itself is itself, whatever its own head says of digits. */
static void test_itself(void **state)
{
    (void)state;
    bang_vit_model pre = {0}, same = {0};
    make_model(&pre, 2);
    make_model(&same, 2);
    for (size_t i = same.vit.map.head_weight; i < same.vit.map.count; i++)
        same.vit.parameters[i] = 7;
    json_t *result = fashion(&pre, &same, 1);
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        assert_float_equal(at(result, "wse", a), number(result, "pre"), 0);
        assert_float_equal(at(result, "ose", a), number(result, "pre"), 0);
    }
    assert_int_equal(number(result, "only_wse"), 0);
    assert_int_equal(number(result, "only_ose"), 0);
    json_decref(result);
    bang_vit_model_release(&pre);
    bang_vit_model_release(&same);
}

static void test_missing(void **state)
{
    (void)state;
    bang_vit_model model = {0};
    make_model(&model, 1);
    json_t *result = fashion(&model, &model, 1);
    assert_int_equal(json_object_size(result), 1);
    assert_non_null(strstr(json_string_value(json_object_get(result, "missing")),
                           "apt install dataset-fashion-mnist"));
    json_decref(result);
    bang_vit_model_release(&model);
}

/* The clothes that records name: none, these, or no run at all where they are torn. */
static void test_named(void **state)
{
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    bang_mnist digits, mnist = {0};
    bang_error err = {0};
    small_mnist(&digits, 1200, 200);
    shift_plan plan = shift_plan_make(&options, &digits);
    plan.method_count = plan.grid_count = 1;
    assert_int_equal(shift_plan_seal(&plan, &digits, &options, &err), 0);
    json_t *without = shift_unit_options(&plan, 0, "digits");
    assert_true(json_is_null(json_object_get(without, "fashion")));
    draw(&mnist.train_images, &mnist.train_labels, TRAIN, 1);
    draw(&mnist.test_images, &mnist.test_labels, TEST, 2);
    small_write(in_folder(*state, "clothes"), &mnist);
    assert_int_equal(bang_fashion_get(in_folder(*state, "clothes"), NULL, NULL), 0);
    assert_int_equal(shift_plan_seal(&plan, &digits, &options, &err), 0);
    json_t *with = shift_unit_options(&plan, 0, "digits");
    assert_true(json_is_string(json_object_get(with, "fashion")));
    assert_true(json_equal(json_object_get(with, "recipes"), json_object_get(without, "recipes")));
    const char *torn = in_folder(*state, "cache/fashion-mnist/t10k-labels-idx1-ubyte");
    assert_int_equal(exists(torn), 1);
    assert_int_equal(bang_file_put(torn, "torn", 4, NULL), 0);
    assert_int_equal(shift_plan_seal(&plan, &digits, &options, &err), BANG_EDATA);
    bang_vit_model model = {0};
    json_t *result = json_object();
    make_model(&model, 1);
    assert_int_equal(shift_fashion(result, &model, &model, 1, NULL, &err), BANG_EDATA);
    bang_vit_model_release(&model);
    json_decref(result);
    json_decref(with);
    json_decref(without);
    bang_mnist_release(&mnist);
    bang_mnist_release(&digits);
}

/* Whose optimum is known: the share of each class among images of the same features. */
static void test_probe(void **state)
{
    (void)state;
    enum { N = 60, FEATURES = 2, CLASSES = 3 };
    static const double share[2][CLASSES] = {{.5, .3, .2}, {.1, .1, .8}};
    float x[N][FEATURES], weight[CLASSES][FEATURES], bias[CLASSES];
    int64_t labels[N];
    double expected = 0, loss = 0;
    size_t n = 0;
    for (int kind = 0; kind < 2; kind++)
        for (int c = 0; c < CLASSES; c++)
            for (int i = 0; i < (int)lround(30 * share[kind][c]); i++, n++) {
                x[n][0] = kind ? 1000 : 998; /* far from 0, and twice the same */
                x[n][1] = -2 * x[n][0];
                labels[n] = c;
                expected -= log(share[kind][c]) / N;
            }
    assert_int_equal(n, N);
    const shift_probe probe = {N, FEATURES, CLASSES, x[0], labels, NULL};
    bang_error err = {0};
    assert_int_equal(shift_probe_fit(weight[0], bias, &loss, &probe, &err), 0);
    assert_true(loss >= expected - 1e-9);
    /* and the head that is handed back has these shares */
    for (int kind = 0; kind < 2; kind++)
        for (int c = 0; c < CLASSES; c++) {
            double z[CLASSES], sum = 0;
            for (int k = 0; k < CLASSES; k++) {
                const float *row = x[30 * kind];
                z[k] = (double)bias[k] + (double)weight[k][0] * (double)row[0] +
                       (double)weight[k][1] * (double)row[1];
                sum += exp(z[k]);
            }
            assert_true(fabs(exp(z[c]) / sum - share[kind][c]) < 0.01);
        }
    assert_float_equal(loss, expected, 1e-3);
    bang_cancel cancel = {.raised = 1};
    shift_probe stopped = probe;
    stopped.cancel = &cancel;
    assert_int_equal(shift_probe_fit(weight[0], bias, NULL, &stopped, &err), BANG_ECANCELLED);
}

static void test_refused(void **state)
{
    (void)state;
    bang_vit_model model = {0};
    bang_error err = {0};
    const bang_vit_config config = {.image = 14,
                                    .patch = 7,
                                    .channels = 1,
                                    .width = 8,
                                    .depth = 1,
                                    .heads = 1,
                                    .hidden = 8,
                                    .classes = 10,
                                    .epsilon = 1e-5};
    assert_int_equal(bang_vit_model_make(&model, &config, 1, NULL), 0);
    json_t *result = json_object();
    assert_int_equal(shift_fashion(result, &model, &model, 1, NULL, &err), BANG_EUSAGE);
    json_decref(result);
    bang_vit_model_release(&model);
}

int main(void)
{
#define WITH_CLOTHES(test) cmocka_unit_test_setup_teardown(test, setup, drop_folder)
    const struct CMUnitTest tests[] = {
        WITH_CLOTHES(test_curves),
        WITH_CLOTHES(test_itself),
        cmocka_unit_test_setup_teardown(test_missing, small_setup, drop_folder),
        cmocka_unit_test_setup_teardown(test_named, small_setup, drop_folder),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
