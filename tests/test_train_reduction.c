/* The reduction is exact: a network over groups of equal columns trains as the
 * one over all columns does. In double, where rounding does not hide a wrong
 * factor. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/model/network.h"
#include "train/loop.h"

enum { ROWS = 300, PATCHES = 8, PIXELS = 9, SIDE = 5, CLASSES = 10, HIDDEN = 12, STEPS = 320 };
enum { COLORED = PATCHES * PIXELS * 3, WIDTH = COLORED + SIDE * SIDE * 3 };

typedef struct data {
    bang_array inputs;
    int64_t labels[ROWS];
    bang_columns all, groups;
    bang_rows dense, reduced;
} data;

/* Patches of one colour each, which tells the class more often than not, and a
 * grey picture in three channels. */
static void make_data(data *d)
{
    static const uint8_t palette[CLASSES][3] = {
        {255, 0, 0},   {0, 255, 0}, {0, 0, 255},     {255, 255, 0},   {0, 255, 255},
        {255, 0, 255}, {0, 0, 0},   {255, 255, 255}, {128, 128, 128}, {255, 165, 0}};
    bang_error err = {0};
    bang_random random;
    bang_random_init(&random, 21, BANG_PURPOSE('c', 'o', 'l', 'r'), 0);
    assert_int_equal(bang_array_init(&d->inputs, BANG_U8, 2, (size_t[]){ROWS, WIDTH}, &err), 0);
    for (size_t i = 0; i < ROWS; i++) {
        uint8_t *row = (uint8_t *)d->inputs.data + i * WIDTH;
        uint64_t label = bang_random_below(&random, CLASSES);
        d->labels[i] = (int64_t)label;
        for (size_t p = 0; p < PATCHES; p++) {
            uint64_t color = (label * 3 + p) % CLASSES;
            if (bang_random_uniform(&random) < 0.4)
                color = bang_random_below(&random, CLASSES);
            for (size_t j = 0; j < (size_t)PIXELS * 3; j++)
                row[p * PIXELS * 3 + j] = palette[color][j % 3];
        }
        for (size_t j = 0; j < (size_t)SIDE * SIDE; j++)
            memset(row + COLORED + 3 * j,
                   bang_random_below(&random, 4) ? 0 : (int)bang_random_below(&random, 256), 3);
    }
    assert_int_equal(bang_columns_init_all(&d->all, WIDTH, &err), 0);
    assert_int_equal(bang_rows_init_dense(&d->dense, &d->all, &d->inputs, &err), 0);
    assert_int_equal(bang_columns_init(&d->groups, WIDTH, &err), 0);
    assert_int_equal(bang_columns_refine(&d->groups, &d->inputs, &err), 0);
    assert_int_equal(d->groups.group_count, PATCHES * 3 + SIDE * SIDE);
    assert_int_equal(bang_rows_init(&d->reduced, &d->groups, &d->inputs, &err), 0);
    assert_true(d->reduced.block_count > 0 && d->reduced.start[ROWS] > 0);
}

static void drop_data(data *d)
{
    bang_rows_release(&d->dense);
    bang_rows_release(&d->reduced);
    bang_columns_release(&d->all);
    bang_columns_release(&d->groups);
    bang_array_release(&d->inputs);
}

typedef struct model {
    bang_mlp shape;
    double *parameters;
    double outputs[ROWS * CLASSES];
} model;

static void make_model(model *m, size_t inputs)
{
    bang_error err = {0};
    assert_int_equal(
        bang_mlp_init(&m->shape, 3, (size_t[]){inputs, HIDDEN, 9, CLASSES}, BANG_RELU, &err), 0);
    m->parameters = aligned_alloc(64, m->shape.count * sizeof *m->parameters);
    assert_non_null(m->parameters);
    memset(m->parameters, 0, m->shape.count * sizeof *m->parameters);
}

static void drop_model(model *m)
{
    free(m->parameters);
    bang_mlp_release(&m->shape);
}

static void predict(model *m, const bang_rows *rows)
{
    bang_error err = {0};
    bang_network_f64 net;
    uint32_t index[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        index[i] = i;
    assert_int_equal(bang_network_init_f64(&net, &m->shape, m->parameters, ROWS, 0, &err), 0);
    assert_int_equal(bang_network_accept_f64(&net, rows, &err), 0);
    bang_network_tabulate_f64(&net, rows);
    bang_network_forward_f64(&net, rows, index, ROWS, NULL);
    for (size_t i = 0; i < ROWS; i++)
        memcpy(m->outputs + i * CLASSES, net.x[3] + i * net.stride[3], CLASSES * sizeof(double));
    bang_network_release_f64(&net);
}

/* Trains both from the same start; the larger of the largest differences of
 * outputs and of all weights, the reduced ones expanded. */
static double compare(const data *d, const bang_columns *groups, bang_train_options options,
                      double *moved)
{
    bang_error err = {0};
    model full, small;
    bang_train_result result, other;
    bang_rows reduced = d->reduced;
    make_model(&full, WIDTH);
    make_model(&small, groups->group_count);
    bang_mlp_randomise(&full.shape, 17, 0);
    size_t n = full.shape.stride[1], head = WIDTH * n, small_head = groups->group_count * n;
    for (size_t i = 0; i < full.shape.count; i++)
        full.parameters[i] = (double)full.shape.parameters[i];
    for (size_t i = 0; i < head; i++)
        small.parameters[groups->group[i / n] * n + i % n] += full.parameters[i];
    memcpy(small.parameters + small_head, full.parameters + head,
           (full.shape.count - head) * sizeof(double));
    double *start = malloc(head * sizeof *start), *sum = malloc(small_head * sizeof *sum);
    assert_true(start && sum);
    memcpy(start, full.parameters, head * sizeof *start);
    memcpy(sum, small.parameters, small_head * sizeof *sum);

    predict(&full, &d->dense);
    predict(&small, &reduced);
    for (size_t i = 0; i < (size_t)ROWS * CLASSES; i++)
        assert_true(fabs(full.outputs[i] - small.outputs[i]) < 1e-13);
    double before = full.outputs[0];
    reduced.columns = groups;
    assert_int_equal(
        train_run_f64(&full.shape, full.parameters, &d->dense, d->labels, &options, &other, &err),
        0);
    assert_int_equal(
        train_run_f64(&small.shape, small.parameters, &reduced, d->labels, &options, &result, &err),
        0);
    predict(&full, &d->dense);
    predict(&small, &reduced);
    *moved = fabs(full.outputs[0] - before);
    double worst = fabs(result.decay - other.decay);
    for (size_t i = 0; i < (size_t)ROWS * CLASSES; i++)
        worst = fmax(worst, fabs(full.outputs[i] - small.outputs[i]));
    for (size_t i = 0; i < head; i++) {
        size_t g = groups->group[i / n];
        double all = small.parameters[g * n + i % n], first = sum[g * n + i % n];
        double w =
            result.decay * start[i] + (all - result.decay * first) / d->groups.multiplicity[g];
        worst = fmax(worst, fabs(w - full.parameters[i]));
    }
    for (size_t i = head; i < full.shape.count; i++)
        worst = fmax(worst, fabs(full.parameters[i] - small.parameters[i - head + small_head]));
    free(start);
    free(sum);
    drop_model(&full);
    drop_model(&small);
    return worst;
}

static void check(const char *what, bang_train_options options)
{
    data d;
    double moved;
    make_data(&d);
    options.steps = STEPS;
    options.batch = 32; /* the last of an epoch has 12 */
    options.seed = 6;
    double worst = compare(&d, &d.groups, options, &moved);
    /* one group that counts one column too many, in a copy */
    bang_columns wrong = d.groups;
    uint32_t multiplicity[WIDTH];
    memcpy(multiplicity, d.groups.multiplicity, d.groups.group_count * sizeof *multiplicity);
    multiplicity[0]++;
    wrong.multiplicity = multiplicity;
    double off = compare(&d, &wrong, options, &moved);
    print_message("%s: largest difference %.1e; %.1e with a wrong multiplicity\n", what, worst,
                  off);
    assert_true(moved > 0.01);
    assert_true(worst < 1e-10);
    assert_true(off > 1e-5);
    drop_data(&d);
}

static void test_sgd(void **state)
{
    (void)state;
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    o.optimizer = BANG_SGD;
    o.rate = 0.05;
    o.momentum = 0.9;
    check("SGD with momentum", o);
    o.weight_decay = 0.02;
    check("SGD with momentum and decay", o);
    o.schedule = BANG_COSINE;
    o.warmup = 20;
    check("SGD with momentum, decay, warm-up and cosine", o);
}

static void test_adam(void **state)
{
    (void)state;
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    check("Adam", o);
    o.loss = BANG_CROSS_ENTROPY;
    o.optimizer = BANG_ADAMW;
    o.weight_decay = 0.1;
    check("AdamW with decay", o);
}

static void test_clip(void **state)
{
    (void)state;
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    o.optimizer = BANG_SGD;
    o.rate = 0.1;
    o.loss = BANG_CROSS_ENTROPY;
    o.clip_norm = 0.3;
    check("SGD, clipped", o);
    o.optimizer = BANG_ADAMW;
    o.rate = 1e-3;
    o.weight_decay = 0.05;
    check("AdamW, clipped", o);
}

static void test_mixup(void **state)
{
    (void)state;
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    o.mixup = 0.4;
    o.loss = BANG_CROSS_ENTROPY;
    o.label_smoothing = 0.1;
    check("Adam, mixed", o);
}

/* The float loop with the functions that users call: the same function as the
 * dense network within what rounding does in a few steps. */
static void test_as_users_call_it(void **state)
{
    (void)state;
    bang_error err = {0};
    data d;
    bang_mlp full, start, small, expanded;
    bang_train_result result;
    static float a[ROWS * CLASSES], b[ROWS * CLASSES];
    make_data(&d);
    assert_int_equal(bang_mlp_init(&full, 2, (size_t[]){WIDTH, HIDDEN, CLASSES}, BANG_TANH, &err),
                     0);
    bang_mlp_randomise(&full, 4, 0);
    assert_int_equal(bang_mlp_copy(&start, &full, &err), 0);
    assert_int_equal(bang_mlp_copy(&expanded, &full, &err), 0);
    assert_int_equal(bang_mlp_reduce(&small, &full, &d.groups, &err), 0);
    bang_train_options o = BANG_TRAIN_OPTIONS_INIT;
    o.optimizer = BANG_SGD;
    o.rate = 0.05;
    o.momentum = 0.5;
    o.weight_decay = 0.5; /* strong, so that a decay left out would show */
    o.steps = 60;
    assert_int_equal(bang_train_mlp(&full, &d.dense, d.labels, &o, &result, &err), 0);
    assert_int_equal(bang_train_mlp(&small, &d.reduced, d.labels, &o, &result, &err), 0);
    assert_true(result.decay < 0.3);
    assert_int_equal(bang_mlp_expand(&expanded, &small, &d.groups, result.decay, &err), 0);
    for (size_t i = 0; i < full.count; i++)
        assert_true(fabsf(full.parameters[i] - expanded.parameters[i]) < 1e-5f);
    assert_int_equal(bang_mlp_predict(a, &full, &d.dense, 0, ROWS, &err), 0);
    assert_int_equal(bang_mlp_predict(b, &small, &d.reduced, 0, ROWS, &err), 0);
    for (size_t i = 0; i < (size_t)ROWS * CLASSES; i++)
        assert_true(fabsf(a[i] - b[i]) < 1e-4f);
    bang_mlp_release(&full);
    bang_mlp_release(&start);
    bang_mlp_release(&small);
    bang_mlp_release(&expanded);
    drop_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_mixup),
        cmocka_unit_test(test_as_users_call_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
