/* What the experiments on coloured digits make of their units: means, spreads,
 * gains and distances, against plain formulas. */
#include <math.h>

#include "testing.h"

#include "lab/color.h"

/* Units with made-up accuracies: seed u, model m, shift p. */
static double accuracy(size_t u, size_t m, size_t p)
{
    return 0.2 + 0.05 * sin((double)(7 * u + 1)) + 0.1 * cos((double)(3 * u + 5 * m + p)) +
           0.01 * (double)p;
}

static json_t *row(double (*value)(size_t, size_t, size_t), size_t u, size_t m)
{
    json_t *out = json_array();
    for (size_t p = 0; p < COLOR_SHIFTS; p++)
        json_array_append_new(out, json_real(value(u, m, p)));
    return out;
}

static double pair(size_t u, size_t r, size_t p)
{
    return (accuracy(u, 2 * r, p) + accuracy(u, 2 * r + 1, p)) / 2 + 0.02 * (double)(r + u + 1);
}

static json_t *make_units(size_t seeds, size_t models)
{
    json_t *units = json_array();
    for (size_t u = 0; u < seeds; u++) {
        json_t *all = json_array(), *pairs = json_array();
        for (size_t m = 0; m < models; m++)
            json_array_append_new(all, row(accuracy, u, m));
        for (size_t r = 0; r < models / 2; r++)
            json_array_append_new(pairs, row(pair, u, r));
        json_array_append_new(units, json_pack("{so s{so} sO}", "models", all, "ensembles", "2",
                                               pairs, "balanced", pairs));
    }
    return units;
}

static void near_to(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * (1 + fabs(want)));
}

static void test_collect(void **state)
{
    (void)state;
    enum { SEEDS = 3, MODELS = 4 };
    json_t *units = make_units(SEEDS, MODELS);
    color_column all, second;
    color_collect(&all, units, "models", 0, 0, 1);
    color_collect(&second, units, "models", 0, 1, 2);
    assert_int_equal(all.n, SEEDS * MODELS);
    assert_int_equal(second.n, SEEDS * MODELS / 2);
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        double mean = 0, square = 0, within = 0, between = 0, seed_mean[SEEDS] = {0};
        for (size_t u = 0; u < SEEDS; u++)
            for (size_t m = 0; m < MODELS; m++) {
                mean += accuracy(u, m, p) / (SEEDS * MODELS);
                seed_mean[u] += accuracy(u, m, p) / MODELS;
            }
        for (size_t u = 0; u < SEEDS; u++) {
            between += pow(seed_mean[u] - mean, 2) / (SEEDS - 1);
            for (size_t m = 0; m < MODELS; m++) {
                square += pow(accuracy(u, m, p) - mean, 2) / (SEEDS * MODELS - 1);
                within += pow(accuracy(u, m, p) - seed_mean[u], 2) / (SEEDS * (MODELS - 1));
            }
        }
        near_to(all.mean[p], mean);
        near_to(all.sd[p], sqrt(square));
        near_to(all.error[p], sqrt(fmax(between, within / MODELS) / SEEDS));
        double odd = 0;
        for (size_t u = 0; u < SEEDS; u++)
            odd += (accuracy(u, 1, p) + accuracy(u, 3, p)) / (2 * SEEDS);
        near_to(second.mean[p], odd);
    }
    json_decref(units);
}

static void test_gain(void **state)
{
    (void)state;
    json_t *units = make_units(2, 4);
    color_column gain, balanced;
    color_collect_gain(&gain, units, "ensembles");
    color_collect_gain(&balanced, units, "balanced");
    assert_int_equal(gain.n, 4);
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        near_to(gain.mean[p], 0.02 * (1 + 2 + 2 + 3) / 4);
        near_to(balanced.mean[p], gain.mean[p]);
    }
    json_decref(units);
}

/* One seed says nothing of how seeds differ; one number nothing of any spread. */
static void test_few(void **state)
{
    (void)state;
    color_column c;
    json_t *units = make_units(1, 4);
    color_collect(&c, units, "models", 0, 0, 1);
    near_to(c.error[3], c.sd[3] / 2);
    json_decref(units);
    units = make_units(1, 1);
    color_collect(&c, units, "models", 0, 0, 1);
    assert_int_equal(c.n, 1);
    assert_true(isnan(c.sd[3]) && isnan(c.error[3]));
    json_t *json = color_column_json(&c);
    assert_true(json_is_null(json_array_get(json_object_get(json, "sd"), 2)));
    assert_int_equal(json_array_size(json_object_get(json, "mean")), COLOR_SHIFTS - 1);
    json_decref(json);
    color_collect(&c, units, "ensembles", 16, 0, 1);
    assert_int_equal(c.n, 0);
    json_decref(units);
}

static void test_distance(void **state)
{
    (void)state;
    color_column c = {.n = 20};
    size_t p = color_shift_index(0.8);
    assert_true(color_shifts[p] == 0.8);
    c.mean[p] = 0.52;
    c.error[p] = 0.01;
    color_printed printed = {0.8, 50, 2};
    double draw = 0.5 * 0.5 / 10000, digit = pow(0.00005 / sqrt(3), 2);
    near_to(color_distance(&c, &printed, &color_paper_multi),
            0.02 / sqrt(0.0001 + 0.0004 + draw + digit));
    near_to(color_distance(&c, &printed, &color_paper_single),
            0.02 / sqrt(0.0001 + 0.0004 / 20 + draw + digit));
}

/* The tables as typed: p in order, accuracy falling with it. */
static void test_paper(void **state)
{
    (void)state;
    const color_paper *papers[] = {&color_paper_multi, &color_paper_single};
    for (int k = 0; k < 2; k++) {
        const color_printed *columns[] = {papers[k]->model1, papers[k]->model2,
                                          papers[k]->ensemble};
        for (int c = 0; c < 3; c++)
            for (size_t i = 0; i < papers[k]->rows; i++) {
                assert_true(color_shifts[color_shift_index(columns[c][i].p)] == columns[c][i].p);
                assert_true(columns[c][i].p == columns[0][i].p);
                assert_true(i == 0 || columns[c][i].mean <= columns[c][i - 1].mean);
            }
        for (int s = 0; s < COLOR_SIZES; s++)
            for (size_t i = 1; i < papers[k]->size_rows; i++)
                assert_true(papers[k]->sizes[s][i].mean < papers[k]->sizes[s][i - 1].mean);
    }
}

/* Protocols differ in what they say they differ in. */
static void test_plans(void **state)
{
    (void)state;
    bang_lab_options options = BANG_LAB_OPTIONS_INIT;
    options.seed = 5;
    color_plan plan = color_plan_make(&options, 0, 20, 2);
    assert_int_equal(plan.seeds, 20);
    assert_int_equal(color_data_seed(&plan, 3), 8);
    assert_int_equal(color_training(&plan, 0, 0).steps, 5000);
    options.full = 1;
    plan = color_plan_make(&options, 0, 20, 2);
    assert_int_equal(plan.models, 16);
    options.models = 3;
    options.protocol = BANG_COLOR_PUBLISHED;
    plan = color_plan_make(&options, 0, 20, 2);
    assert_int_equal(plan.models, 3);
    assert_int_equal(color_data_seed(&plan, 3), 5);
    assert_true(color_stream(&plan, 1, 0) != color_stream(&plan, 0, 1));
    assert_int_equal(color_training(&plan, 0, 0).batch, 64);
    assert_int_equal(color_training(&plan, 0, 0).steps, 4501);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collect),  cmocka_unit_test(test_gain),  cmocka_unit_test(test_few),
        cmocka_unit_test(test_distance), cmocka_unit_test(test_paper), cmocka_unit_test(test_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
