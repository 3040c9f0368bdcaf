#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/model/mlp.h"

static bang_mlp build(int layers, const size_t *width, bang_activation activation, uint64_t seed)
{
    bang_error err = {0};
    bang_mlp mlp;
    assert_int_equal(bang_mlp_init(&mlp, layers, width, activation, &err), 0);
    bang_mlp_randomise(&mlp, seed, 0);
    return mlp;
}

/* Pixels of patches, a grey picture tripled, and noise: equal columns, codes
 * and numbers. */
static bang_array picture(bang_dtype dtype, size_t rows, size_t width, uint64_t seed)
{
    bang_error err = {0};
    bang_array a;
    assert_int_equal(bang_array_init(&a, dtype, 2, (size_t[]){rows, width}, &err), 0);
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('p', 'i', 'c', 't'), 0);
    for (size_t i = 0; i < rows; i++) {
        uint64_t color = bang_random_below(&random, 10);
        uint8_t grey = 0;
        for (size_t j = 0; j < width; j++) {
            if (j % 3 == 0)
                grey = bang_random_below(&random, 5) ? 0 : (uint8_t)bang_random_below(&random, 256);
            uint8_t x = j < width / 2 ? (uint8_t)(color * (j / 4 + 1) * 37) : grey;
            if (dtype == BANG_U8)
                ((uint8_t *)a.data)[i * width + j] = x;
            else
                ((float *)a.data)[i * width + j] = (float)x / 100 - (x ? 1 : 0);
        }
    }
    return a;
}

static double activated(double z, bang_activation activation)
{
    switch (activation) {
    case BANG_RELU:
        return z > 0 ? z : 0;
    case BANG_GELU:
        return z * 0.5 * erfc(-z / sqrt(2));
    case BANG_TANH:
        return tanh(z);
    }
    return NAN;
}

/* The formula in bang/model/mlp.h, in double, one number after the other. */
static void naive(double *out, const bang_mlp *mlp, const bang_array *inputs, size_t row)
{
    static double now[512], next[512];
    for (size_t j = 0; j < mlp->width[0]; j++) {
        size_t at = row * mlp->width[0] + j;
        now[j] = inputs->dtype == BANG_U8
                     ? (double)((float)((const uint8_t *)inputs->data)[at] / 255.0f)
                     : (double)((const float *)inputs->data)[at];
    }
    for (int l = 0; l < mlp->layers; l++) {
        for (size_t j = 0; j < mlp->width[l + 1]; j++) {
            next[j] = (double)mlp->bias[l][j];
            for (size_t i = 0; i < mlp->width[l]; i++)
                next[j] += now[i] * (double)mlp->weight[l][i * mlp->stride[l + 1] + j];
            if (l + 1 < mlp->layers)
                next[j] = activated(next[j], mlp->activation);
        }
        memcpy(now, next, mlp->width[l + 1] * sizeof *now);
    }
    memcpy(out, now, mlp->width[mlp->layers] * sizeof *out);
}

static void assert_close(const float *logits, const bang_mlp *mlp, const bang_array *inputs,
                         size_t first, size_t count)
{
    double want[64];
    size_t classes = mlp->width[mlp->layers];
    for (size_t i = 0; i < count; i++) {
        naive(want, mlp, inputs, first + i);
        for (size_t c = 0; c < classes; c++)
            if (!(fabs((double)logits[i * classes + c] - want[c]) < 3e-6 * (1 + fabs(want[c]))))
                fail_msg("row %zu, output %zu: %.9g instead of %.9g", first + i, c,
                         (double)logits[i * classes + c], want[c]);
    }
}

static void test_forward(void **state)
{
    (void)state;
    static const size_t widths[4][5] = {{60, 7}, {60, 33, 10}, {61, 16, 17, 1}, {96, 5, 64, 3, 11}};
    bang_error err = {0};
    for (int layers = 1; layers <= 4; layers++)
        for (int activation = 0; activation < 3; activation++)
            for (int kind = 0; kind < 4; kind++) {
                const size_t *width = widths[layers - 1], rows_count = 530; /* two batches */
                bang_mlp mlp = build(layers, width, (bang_activation)activation, 9), reduced;
                bang_array inputs = picture(kind & 1 ? BANG_U8 : BANG_F32, rows_count, width[0], 4);
                bang_columns columns;
                bang_rows rows;
                float *logits = calloc(rows_count * width[layers], sizeof *logits);
                if (kind & 2) {
                    assert_int_equal(bang_columns_init_all(&columns, width[0], &err), 0);
                    assert_int_equal(bang_rows_init_dense(&rows, &columns, &inputs, &err), 0);
                } else {
                    assert_int_equal(bang_columns_init(&columns, width[0], &err), 0);
                    assert_int_equal(bang_columns_refine(&columns, &inputs, &err), 0);
                    assert_true(columns.group_count < width[0]);
                    assert_int_equal(bang_rows_init(&rows, &columns, &inputs, &err), 0);
                    assert_true(rows.block_count > 0 && rows.start[rows.count] > 0);
                }
                assert_int_equal(bang_mlp_reduce(&reduced, &mlp, &columns, &err), 0);
                assert_int_equal(bang_mlp_predict(logits, &reduced, &rows, 0, rows_count, &err), 0);
                assert_close(logits, &mlp, &inputs, 0, rows_count);
                assert_int_equal(bang_mlp_predict(logits, &reduced, &rows, 519, 11, &err), 0);
                assert_close(logits, &mlp, &inputs, 519, 11);
                assert_int_equal(bang_mlp_predict(logits, &reduced, &rows, 530, 0, &err), 0);
                assert_int_equal(bang_mlp_predict(logits, &reduced, &rows, 530, 1, &err),
                                 BANG_EUSAGE);
                assert_int_equal(bang_mlp_predict(logits, &reduced, &rows, 1, SIZE_MAX, &err),
                                 BANG_EUSAGE);
                free(logits);
                bang_mlp_release(&mlp);
                bang_mlp_release(&reduced);
                bang_rows_release(&rows);
                bang_columns_release(&columns);
                bang_array_release(&inputs);
            }
}

/* Several sets at once give the bits of each by itself, whether or not they
 * share their numbers. */
static void test_sets(void **state)
{
    (void)state;
    enum { SETS = 4, ROWS = 600, WIDTH = 96, CLASSES = 10 };
    bang_error err = {0};
    for (int shared = 0; shared < 2; shared++) {
        bang_array inputs[SETS];
        bang_rows rows[SETS];
        const bang_rows *pointers[SETS];
        bang_columns columns;
        float *together[SETS], *alone = calloc((size_t)ROWS * CLASSES, sizeof *alone);
        assert_int_equal(bang_columns_init(&columns, WIDTH, &err), 0);
        for (size_t s = 0; s < SETS; s++) {
            inputs[s] = picture(BANG_U8, ROWS, WIDTH, 20 + (shared ? 0 : s));
            for (size_t i = 0; i < ROWS; i++) /* other colours, the same rest */
                for (size_t j = 0; j < WIDTH / 2; j++)
                    ((uint8_t *)inputs[s].data)[i * WIDTH + j] =
                        (uint8_t)((i * (s + 3) % 10) * (j / 4 + 1) * 37);
            assert_int_equal(bang_columns_refine(&columns, &inputs[s], &err), 0);
        }
        for (size_t s = 0; s < SETS; s++) {
            assert_int_equal(bang_rows_init(&rows[s], &columns, &inputs[s], &err), 0);
            assert_int_equal(bang_rows_same_numbers(&rows[0], &rows[s]), shared || s == 0);
            pointers[s] = &rows[s];
            together[s] = calloc((size_t)ROWS * CLASSES, sizeof **together);
        }
        bang_mlp mlp = build(2, (size_t[]){WIDTH, 20, CLASSES}, BANG_RELU, 2), reduced;
        assert_int_equal(bang_mlp_reduce(&reduced, &mlp, &columns, &err), 0);
        assert_int_equal(bang_mlp_predict_sets(together, &reduced, pointers, SETS, &err), 0);
        assert_int_equal(bang_mlp_predict_sets(NULL, &reduced, NULL, 0, &err), 0);
        for (size_t s = 0; s < SETS; s++) {
            assert_int_equal(bang_mlp_predict(alone, &reduced, &rows[s], 0, ROWS, &err), 0);
            assert_memory_equal(alone, together[s], (size_t)ROWS * CLASSES * sizeof *alone);
            assert_close(alone, &mlp, &inputs[s], 0, ROWS);
        }
        assert_int_equal(bang_mlp_predict_sets(together, &mlp, pointers, SETS, &err), BANG_EUSAGE);
        for (size_t s = 0; s < SETS; s++) {
            free(together[s]);
            bang_rows_release(&rows[s]);
            bang_array_release(&inputs[s]);
        }
        free(alone);
        bang_mlp_release(&mlp);
        bang_mlp_release(&reduced);
        bang_columns_release(&columns);
    }
}

/* Bytes of 0 .. 1 in a picture that no reduction helps are read as they are. */
static void test_dense_without_codes(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    float logits[40 * 3];
    assert_int_equal(bang_array_init(&inputs, BANG_U8, 3, (size_t[]){40, 5, 5}, &err), 0);
    for (size_t i = 0; i < 1000; i++)
        ((uint8_t *)inputs.data)[i] = (uint8_t)(1 + i * 7919 % 255);
    assert_int_equal(bang_columns_init(&columns, 25, &err), 0);
    assert_int_equal(bang_columns_refine(&columns, &inputs, &err), 0);
    assert_int_equal(bang_rows_init(&rows, &columns, &inputs, &err), 0);
    assert_ptr_equal(rows.dense, &inputs);
    bang_mlp mlp = build(2, (size_t[]){25, 4, 3}, BANG_TANH, 3);
    assert_int_equal(bang_mlp_predict(logits, &mlp, &rows, 0, 40, &err), 0);
    assert_close(logits, &mlp, &inputs, 0, 40);
    bang_mlp_release(&mlp);
    bang_rows_release(&rows);
    bang_columns_release(&columns);
    bang_array_release(&inputs);
}

static bang_columns three_groups(void)
{
    bang_error err = {0};
    bang_array a;
    bang_columns c;
    assert_int_equal(bang_array_init(&a, BANG_U8, 2, (size_t[]){1, 6}, &err), 0);
    memcpy(a.data, (uint8_t[]){1, 2, 1, 3, 1, 2}, 6);
    assert_int_equal(bang_columns_init(&c, 6, &err), 0);
    assert_int_equal(bang_columns_refine(&c, &a, &err), 0);
    assert_int_equal(c.group_count, 3);
    bang_array_release(&a);
    return c;
}

static void test_reduce_and_expand(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_columns c = three_groups();
    bang_mlp mlp = build(2, (size_t[]){6, 5, 3}, BANG_RELU, 8), reduced, before;
    assert_int_equal(bang_mlp_reduce(&reduced, &mlp, &c, &err), 0);
    assert_int_equal(bang_mlp_copy(&before, &mlp, &err), 0);
    size_t n = mlp.stride[1];
    for (size_t j = 0; j < n; j++) {
        const float *w = mlp.weight[0];
        assert_float_equal(reduced.weight[0][j], w[j] + w[2 * n + j] + w[4 * n + j], 1e-6);
        assert_float_equal(reduced.weight[0][n + j], w[n + j] + w[5 * n + j], 1e-6);
        assert_true(reduced.weight[0][2 * n + j] == w[3 * n + j]);
        assert_true(reduced.bias[0][j] == mlp.bias[0][j]);
    }
    assert_memory_equal(reduced.weight[1], mlp.weight[1], 5 * mlp.stride[2] * sizeof(float));
    /* nothing was trained */
    assert_int_equal(bang_mlp_expand(&mlp, &reduced, &c, 1, &err), 0);
    for (size_t i = 0; i < mlp.count; i++)
        assert_float_equal(mlp.parameters[i], before.parameters[i], 1e-7);
    /* a sum of three moves by .6, with a decay of .5: each weight is half of itself and .2 */
    for (size_t j = 0; j < 5; j++)
        reduced.weight[0][j] = 0.5f * reduced.weight[0][j] + 0.6f;
    reduced.bias[1][2] = 77;
    assert_int_equal(bang_mlp_expand(&mlp, &reduced, &c, 0.5, &err), 0);
    for (size_t j = 0; j < 5; j++)
        for (size_t i = 0; i < 6; i += 2)
            assert_float_equal(mlp.weight[0][i * n + j], 0.5f * before.weight[0][i * n + j] + 0.2f,
                               1e-6);
    for (size_t j = 5; j < n; j++)
        assert_true(mlp.weight[0][j] == 0); /* padding */
    assert_true(mlp.bias[1][2] == 77);

    bang_mlp other = build(2, (size_t[]){6, 5, 4}, BANG_RELU, 8);
    assert_int_equal(bang_mlp_expand(&other, &reduced, &c, 1, &err), BANG_EUSAGE);
    assert_int_equal(bang_mlp_expand(&mlp, &mlp, &c, 1, &err), BANG_EUSAGE);
    bang_mlp_release(&other);
    bang_mlp_release(&before);
    other = build(1, (size_t[]){5, 3}, BANG_RELU, 8);
    assert_int_equal(bang_mlp_reduce(&before, &other, &c, &err), BANG_EUSAGE);
    assert_int_equal(bang_mlp_expand(&other, &reduced, &c, 1, &err), BANG_EUSAGE);
    bang_mlp_release(&other);
    bang_mlp_release(&mlp);
    bang_mlp_release(&reduced);
    bang_columns_release(&c);
}

/* Uniform on +-1/sqrt(inputs): bounds, mean, variance 1/(3 inputs), padding. */
static void test_randomise(void **state)
{
    (void)state;
    bang_mlp a = build(2, (size_t[]){400, 50, 9}, BANG_RELU, 5);
    bang_mlp b = build(2, (size_t[]){400, 50, 9}, BANG_RELU, 5);
    assert_memory_equal(a.parameters, b.parameters, a.count * sizeof *a.parameters);
    bang_mlp_randomise(&b, 5, 1);
    assert_true(memcmp(a.bias[1], b.bias[1], 9 * sizeof(float)) != 0);
    bang_mlp_randomise(&b, 6, 0);
    assert_true(memcmp(a.bias[1], b.bias[1], 9 * sizeof(float)) != 0);
    bang_mlp_randomise(&b, 5, 0);
    assert_memory_equal(a.parameters, b.parameters, a.count * sizeof *a.parameters);
    for (int l = 0; l < 2; l++) {
        double in = (double)a.width[l], bound = 1 / sqrt(in), sum = 0, squares = 0, most = 0;
        size_t n = a.stride[l + 1], count = (a.width[l] + 1) * a.width[l + 1];
        for (size_t i = 0; i <= a.width[l]; i++)
            for (size_t j = 0; j < n; j++) {
                double w = (double)(i < a.width[l] ? a.weight[l][i * n + j] : a.bias[l][j]);
                if (j >= a.width[l + 1])
                    assert_true(w == 0);
                sum += w;
                squares += w * w;
                most = fmax(most, fabs(w));
            }
        assert_true(most <= bound * (1 + 1e-7) && most > bound * (1 - 20 / (double)count));
        double mean = sum / (double)count, variance = squares / (double)count;
        assert_true(fabs(mean) < 5 * bound / sqrt(3 * (double)count));
        /* the variance of w^2 is bound^4 (1/5 - 1/9) */
        assert_true(fabs(variance - bound * bound / 3) <
                    5 * bound * bound * sqrt(4.0 / 45 / (double)count));
    }
    bang_mlp_release(&a);
    bang_mlp_release(&b);
}

static void test_refused(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_mlp mlp;
    size_t wide[40];
    for (int i = 0; i < 40; i++)
        wide[i] = 1;
    assert_int_equal(bang_mlp_init(&mlp, 0, wide, BANG_RELU, &err), BANG_EUSAGE);
    assert_int_equal(bang_mlp_init(&mlp, 33, wide, BANG_RELU, &err), BANG_EUSAGE);
    assert_int_equal(bang_mlp_init(&mlp, 32, wide, BANG_RELU, &err), 0);
    bang_mlp_release(&mlp);
    wide[1] = 0;
    assert_int_equal(bang_mlp_init(&mlp, 2, wide, BANG_RELU, &err), BANG_EUSAGE);
    wide[1] = (size_t)1 << 40;
    assert_int_equal(bang_mlp_init(&mlp, 2, wide, BANG_RELU, &err), BANG_EUSAGE);
    bang_activation a;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bang_activation_find(&a, bang_activation_name((bang_activation)i)), 0);
        assert_int_equal(a, i);
    }
    assert_int_equal(bang_activation_find(&a, "sigmoid"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_dense_without_codes),
        cmocka_unit_test(test_reduce_and_expand),
        cmocka_unit_test(test_randomise),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
