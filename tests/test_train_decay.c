/* Weight decay and the exact reduction: trained on groups of equal inputs and
 * led back, every weight is what it would have become by itself. */
#include "testing.h"

#include <math.h>

#include "bang/train/train.h"

enum { ROWS = 40, GROUPS = 3, WIDTH = 12, CLASSES = 3 };

static void make_data(bang_array *inputs, int64_t *labels)
{
    bang_error err = {0};
    assert_int_equal(bang_array_init(inputs, BANG_F32, 2, (size_t[]){ROWS, WIDTH}, &err), 0);
    float *x = inputs->data;
    for (int i = 0; i < ROWS; i++) {
        labels[i] = i % CLASSES;
        for (int j = 0; j < WIDTH; j++) /* group g: 1 + g inputs and those left over */
            x[i * WIDTH + j] = (float)((i * (j < 1 ? 5 : j < 3 ? 7 : 11)) % 17) / 17;
    }
}

static void train(bang_mlp *out, const bang_array *inputs, const int64_t *labels, int reduce,
                  const bang_train_options *options)
{
    bang_error err = {0};
    bang_columns columns;
    bang_rows rows;
    bang_mlp work;
    bang_train_result result;
    assert_int_equal(bang_mlp_init(out, 2, (size_t[]){WIDTH, 5, CLASSES}, BANG_TANH, &err), 0);
    bang_mlp_randomise(out, 3, 0);
    assert_int_equal(reduce ? bang_columns_init(&columns, WIDTH, &err)
                            : bang_columns_init_all(&columns, WIDTH, &err),
                     0);
    assert_int_equal(bang_columns_refine(&columns, inputs, &err), 0);
    assert_int_equal(columns.group_count, reduce ? GROUPS : WIDTH);
    assert_int_equal(bang_rows_init(&rows, &columns, inputs, &err), 0);
    assert_int_equal(bang_mlp_reduce(&work, out, &columns, &err), 0);
    assert_int_equal(bang_train_mlp(&work, &rows, labels, options, &result, &err), 0);
    assert_int_equal(bang_mlp_expand(out, &work, &columns, result.decay, &err), 0);
    bang_mlp_release(&work);
    bang_rows_release(&rows);
    bang_columns_release(&columns);
}

static void check(const bang_train_options *options)
{
    bang_array inputs;
    int64_t labels[ROWS];
    bang_mlp plain, reduced, first;
    bang_error err = {0};
    make_data(&inputs, labels);
    train(&plain, &inputs, labels, 0, options);
    train(&reduced, &inputs, labels, 1, options);
    assert_int_equal(bang_mlp_copy(&first, &plain, &err), 0);
    bang_mlp_randomise(&first, 3, 0);
    float moved = 0;
    for (size_t i = 0; i < plain.count; i++) {
        moved = fmaxf(moved, fabsf(plain.parameters[i] - first.parameters[i]));
        assert_true(fabsf(plain.parameters[i] - reduced.parameters[i]) < 2e-5F);
    }
    assert_true(moved > 0.01F);
    bang_mlp_release(&plain);
    bang_mlp_release(&reduced);
    bang_mlp_release(&first);
    bang_array_release(&inputs);
}

static void test_decay(void **state)
{
    (void)state;
    bang_train_options options = BANG_TRAIN_OPTIONS_INIT;
    options.steps = 60;
    options.batch = 16;
    options.loss = BANG_CROSS_ENTROPY;
    options.weight_decay = 0.05;
    options.schedule = BANG_COSINE;
    options.optimizer = BANG_SGD;
    options.rate = 0.1;
    check(&options);
    options.momentum = 0.9;
    check(&options);
    options.clip_norm = 0.05;
    check(&options);
    options.clip_norm = 0;
    options.momentum = 0;
    options.optimizer = BANG_ADAMW;
    options.rate = 0.01;
    options.weight_decay = 0.5;
    check(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_decay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
