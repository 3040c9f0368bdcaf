/* Weight averaging on coloured digits: averaging reduced networks is averaging dense ones, what a
 * unit records fits together, means and intervals are those of plain formulas. */
#include <math.h>

#include "mnist_small.h"

#include "lab/average_colors.h"

static void near_to(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * (1 + fabs(want)));
}

static const color_plan plan = {.loss = BANG_CROSS_ENTROPY, .seeds = 1, .models = 1, .seed = 3};

/* Images of a set as pixels. */
static void render(bang_array *out, const bang_mnist *mnist, int test, double shift)
{
    bang_color_options o = BANG_COLOR_OPTIONS_INIT;
    bang_color_set set;
    o.seed = color_data_seed(&plan, 0);
    o.test = test;
    o.shift = shift;
    assert_int_equal(bang_color_make(&set, mnist, &o, NULL), 0);
    const size_t shape[] = {set.count, BANG_COLOR_PIXELS};
    assert_int_equal(bang_array_init(out, BANG_U8, 2, shape, NULL), 0);
    bang_color_render(out->data, &set, 0, set.count);
    bang_color_release(&set);
}

/* Columns of a group are equal in PM's images, in FM's and in the tests. */
static void assert_equal_columns(const bang_columns *columns, const bang_mnist *mnist)
{
    for (int k = 0; k < 3; k++) {
        bang_array images;
        render(&images, mnist, k == 2, k == 0 ? 1 : k == 1 ? 0 : .9);
        const uint8_t *pixels = images.data;
        for (size_t i = 0; i < images.shape[0]; i++, pixels += BANG_COLOR_PIXELS)
            for (size_t c = 0; c < BANG_COLOR_PIXELS; c++)
                if (pixels[c] != pixels[columns->first[columns->group[c]]])
                    fail_msg("set %d, image %zu: pixel %zu differs from its group", k, i, c);
        bang_array_release(&images);
    }
}

static void dense_predict(float *out, const bang_mlp *model, const bang_array *images)
{
    bang_columns all;
    bang_rows rows;
    assert_int_equal(bang_columns_init_all(&all, BANG_COLOR_PIXELS, NULL), 0);
    assert_int_equal(bang_rows_init_dense(&rows, &all, images, NULL), 0);
    assert_int_equal(bang_mlp_predict(out, model, &rows, 0, rows.count, NULL), 0);
    bang_rows_release(&rows);
    bang_columns_release(&all);
}

/* Reduced and dense, a network says the same of what PM and FM learn from. */
static void assert_same_on_training(const bang_mlp *dense, const average_data *data,
                                    const bang_mnist *mnist)
{
    bang_mlp reduced;
    assert_int_equal(bang_mlp_reduce(&reduced, dense, &data->columns, NULL), 0);
    for (int k = 0; k < 2; k++) {
        const bang_rows *rows = k ? &data->fine : &data->pre;
        bang_array images;
        float *a = calloc(rows->count * BANG_COLOR_CLASSES, sizeof *a);
        float *b = calloc(rows->count * BANG_COLOR_CLASSES, sizeof *b);
        if (!a || !b)
            abort();
        render(&images, mnist, 0, k ? 0 : 1);
        dense_predict(a, dense, &images);
        assert_int_equal(bang_mlp_predict(b, &reduced, rows, 0, rows->count, NULL), 0);
        for (size_t i = 0; i < rows->count * BANG_COLOR_CLASSES; i++)
            assert_true(fabs((double)a[i] - (double)b[i]) < 2e-5);
        bang_array_release(&images);
        free(a);
        free(b);
    }
    bang_mlp_release(&reduced);
}

static void test_reduced_average_is_dense_average(void **state)
{
    (void)state;
    enum { TESTS = 20 };
    static const double shifts[] = {0, .9};
    bang_mnist mnist;
    average_data data;
    average_scratch scratch = {0};
    bang_error err = {0};
    bang_mlp start, pre, fine, half, dense[2], average;
    bang_array images;
    float reduced[TESTS * BANG_COLOR_CLASSES], whole[TESTS * BANG_COLOR_CLASSES];
    small_mnist(&mnist, 6 * TESTS, 1);
    /* two pixels that only the digits to test tell apart */
    for (size_t i = 0; i < 5 * TESTS; i++)
        ((uint8_t *)mnist.train_images.data)[i * 784 + 2] =
            ((uint8_t *)mnist.train_images.data)[i * 784];
    if (average_data_make(&data, &scratch, &plan, 0, (average_tests){shifts, 2, 0}, &mnist, NULL,
                          &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(data.test[1].count, TESTS);
    assert_true(data.columns.group_count < 300);
    assert_equal_columns(&data.columns, &mnist);
    assert_int_equal(average_network(&start, &plan, 0, 0, 2, &err), 0);
    assert_same_on_training(&start, &data, &mnist);
    assert_int_equal(average_train_pre(&pre, &start, &data, &plan, 0, 0, NULL, &err), 0);
    const average_training training = {.steps = 50, .mixup = 0.2};
    assert_int_equal(average_train_fine(&fine, &pre, &data, &plan, 0, 0, training, NULL, &err), 0);
    assert_int_equal(average_mix(&half, &pre, &fine, 0.3, &err), 0);
    for (size_t i = 0; i < pre.count; i++)
        assert_true(fabs((double)half.parameters[i] - 0.7 * (double)pre.parameters[i] -
                         0.3 * (double)fine.parameters[i]) < 1e-6);
    const bang_mlp *const nets[2] = {&pre, &fine};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(bang_mlp_copy(&dense[k], &start, &err), 0);
        assert_int_equal(bang_mlp_expand(&dense[k], nets[k], &data.columns, 1, &err), 0);
    }
    assert_int_equal(average_mix(&average, &dense[0], &dense[1], 0.3, &err), 0);
    render(&images, &mnist, 1, .9);
    dense_predict(whole, &average, &images);
    assert_int_equal(bang_mlp_predict(reduced, &half, &data.test[1], 0, TESTS, &err), 0);
    double moved = 0;
    for (size_t i = 0; i < TESTS * BANG_COLOR_CLASSES; i++)
        assert_true(fabs((double)whole[i] - (double)reduced[i]) < 2e-4);
    for (size_t i = 0; i < pre.count; i++)
        moved += fabs((double)pre.parameters[i] - (double)fine.parameters[i]);
    assert_true(moved > 1);
    bang_mlp *all[] = {&start, &pre, &fine, &half, &dense[0], &dense[1], &average};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        bang_mlp_release(all[k]);
    bang_array_release(&images);
    bang_array_release(&scratch.train);
    bang_array_release(&scratch.test);
    average_data_release(&data);
    bang_mnist_release(&mnist);
}

static double number(const json_t *unit, const char *field, size_t row, size_t p)
{
    const json_t *rows = json_object_get(unit, field);
    assert_true(row < json_array_size(rows));
    assert_int_equal(json_array_size(json_array_get(rows, row)), COLOR_SHIFTS);
    return json_number_value(json_array_get(json_array_get(rows, row), p));
}

static json_t *run_unit(const bang_mnist *mnist)
{
    average_scratch scratch = {0};
    bang_error err = {0};
    json_t *unit = json_object();
    if (average_unit(unit, &plan, 0, mnist, &scratch, NULL, &err) < 0)
        fail_msg("%s", err.message);
    bang_array_release(&scratch.train);
    bang_array_release(&scratch.test);
    return unit;
}

/* Numbers of one unit that must agree with each other. */
static void test_unit(void **state)
{
    (void)state;
    bang_mnist mnist;
    small_mnist(&mnist, 300, 1);
    json_t *unit = run_unit(&mnist);
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        double pre = number(unit, "pre", 0, p), fine = number(unit, "vanilla/fine", 0, p);
        double wse = number(unit, "vanilla/wse", 0, p), ose = number(unit, "vanilla/ose", 0, p);
        for (int k = 0; k < 2; k++) {
            const char *curve = k ? "alphas/ose" : "alphas/wse";
            assert_true(number(unit, curve, 0, p) == pre);
            assert_true(number(unit, curve, AVERAGE_ALPHAS - 1, p) == fine);
            assert_true(number(unit, curve, AVERAGE_ALPHAS / 2, p) == (k ? ose : wse));
        }
        near_to(number(unit, "vanilla/wse/fft", 0, p) - number(unit, "vanilla/wse/ttf", 0, p),
                number(unit, "vanilla/wse/tt_ff", 0, p));
        near_to(number(unit, "vanilla/wse/tt_ff", 0, p) + number(unit, "vanilla/wse/tf_ft", 0, p),
                wse - fmax(pre, fine));
        near_to(number(unit, "ls/ose/tt_ff", 0, p) + number(unit, "ls/ose/tf_ft", 0, p),
                number(unit, "ls/ose", 0, p) - fmax(pre, number(unit, "ls/fine", 0, p)));
        /* where both are right, so is the mean of their outputs */
        assert_true(number(unit, "mixup-ls/ose/ttf", 0, p) == 0);
    }
    /* perfect colours are learned */
    assert_true(number(unit, "vanilla/fine", 0, 0) > 0.9);
    json_t *members = json_object_get(json_object_get(unit, "occlusion"), "members");
    assert_int_equal(json_array_size(members), AVERAGE_MEMBERS);
    json_t *units = json_pack("[O]", unit);
    double patches = average_map_mean(units, 1, "patches");
    /* the OSE's change is at most the mean of its members' */
    assert_true(average_map_mean(units, 3, "patches") <=
                (patches + average_map_mean(units, 0, "patches")) / 2 + 1e-6);
    assert_true(patches > average_map_mean(units, 0, "patches"));
    json_decref(units);
    json_decref(unit);
    bang_mnist_release(&mnist);
}

/* Made-up rows: unit u, pair k, shift p. */
static double made(size_t u, size_t k, size_t p)
{
    return 0.5 + 0.1 * sin((double)(5 * u + 3 * k)) + 0.01 * (double)p;
}

static json_t *make_units(size_t seeds, size_t pairs)
{
    json_t *units = json_array();
    for (size_t u = 0; u < seeds; u++) {
        json_t *a = json_array(), *b = json_array(), *c = json_array();
        for (size_t k = 0; k < pairs; k++) {
            json_t *rows[3] = {json_array(), json_array(), json_array()};
            for (size_t p = 0; p < COLOR_SHIFTS; p++) {
                json_array_append_new(rows[0], json_real(made(u, k, p)));
                json_array_append_new(rows[1], json_real(0.4));
                json_array_append_new(rows[2], json_real(k ? 0.3 : 0.55));
            }
            json_array_append_new(a, rows[0]);
            json_array_append_new(b, rows[1]);
            json_array_append_new(c, rows[2]);
        }
        json_array_append_new(units, json_pack("{so so so}", "a", a, "b", b, "c", c));
    }
    return units;
}

static void test_estimates(void **state)
{
    (void)state;
    enum { SEEDS = 3, PAIRS = 2, FROM = 7, TO = 12 };
    json_t *units = make_units(SEEDS, PAIRS);
    average_estimate e;
    average_choice c = {.field = "a", .minus = "b", .other = "c", .from = FROM, .to = TO};
    double seed[SEEDS], mean = 0, spread = 0;
    size_t above = 0;
    for (size_t u = 0; u < SEEDS; u++) {
        seed[u] = 0;
        for (size_t k = 0; k < PAIRS; k++) {
            double value = made(u, k, 9) - (k ? 0.4 : 0.55); /* p = 9 is the middle */
            above += value > 0;
            seed[u] += value / PAIRS;
        }
        mean += seed[u] / SEEDS;
    }
    for (size_t u = 0; u < SEEDS; u++)
        spread += pow(seed[u] - mean, 2) / (SEEDS - 1);
    average_estimate_of(&e, units, c);
    assert_int_equal(e.pairs, SEEDS * PAIRS);
    assert_int_equal(e.seeds, SEEDS);
    assert_int_equal(e.above, above);
    near_to(e.mean, mean);
    near_to(e.error, sqrt(spread / SEEDS));
    /* Student's t of two degrees of freedom: 4.302652729911275 */
    assert_true(fabs((e.high - e.low) / 2 / e.error - 4.302652729911275) < 1e-9);
    /* the second of every two rows */
    c = (average_choice){.field = "a", .from = 0, .to = 1, .first = 1, .stride = 2};
    average_estimate_of(&e, units, c);
    near_to(e.mean, (made(0, 1, 0) + made(1, 1, 0) + made(2, 1, 0)) / 3);
    assert_int_equal(e.pairs, SEEDS);
    json_decref(units);
    units = make_units(1, 4); /* one seed: the pairs are what there is */
    average_estimate_of(&e, units, (average_choice){.field = "a", .from = 0, .to = 1});
    assert_true(isfinite(e.error) && e.seeds == 1);
    assert_true(fabs((e.high - e.low) / 2 / e.error - 3.182446305284263) < 1e-9);
    json_decref(units);
    units = make_units(1, 1);
    average_estimate_of(&e, units, (average_choice){.field = "a", .from = 0, .to = 1});
    char text[64];
    assert_true(isnan(e.error) && isnan(e.low));
    average_interval_text(text, sizeof text, &e);
    assert_string_equal(text, "+50.00");
    json_decref(units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduced_average_is_dense_average),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
