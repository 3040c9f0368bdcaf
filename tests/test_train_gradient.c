/* The gradient of every parameter against differences of the loss, in double.
 * Both come out of the training loop itself: the loss from a step at rate 0,
 * the gradient from how a step of SGD at rate 1 moves the parameters. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "train/loop.h"

enum { ROWS = 21, WIDTH = 30 };

typedef struct problem {
    bang_mlp shape; /* its own parameters are not used */
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    int64_t labels[ROWS];
    double *parameters; /* (shape.count), padding zero */
} problem;

/* Half of the inputs are colours of three numbers, twice each; the others are
 * floats, of which some are zero. */
static void make(problem *p, int layers, const size_t *hidden, bang_activation activation,
                 int reduced)
{
    bang_error err = {0};
    bang_random random;
    bang_random_init(&random, 11, BANG_PURPOSE('g', 'r', 'a', 'd'), (uint64_t)layers);
    assert_int_equal(bang_array_init(&p->inputs, BANG_F32, 2, (size_t[]){ROWS, WIDTH}, &err), 0);
    float *x = p->inputs.data;
    for (size_t i = 0; i < ROWS; i++) {
        p->labels[i] = (int64_t)bang_random_below(&random, 5);
        for (size_t j = 0; j < WIDTH; j++)
            if (j < 18)
                x[i * WIDTH + j] = (float)((i % 4 + 1) * (j % 9 + 2) % 7) / 7.0f;
            else
                x[i * WIDTH + j] =
                    bang_random_below(&random, 3) ? (float)bang_random_normal(&random) : 0;
    }
    if (reduced) {
        assert_int_equal(bang_columns_init(&p->columns, WIDTH, &err), 0);
        assert_int_equal(bang_columns_refine(&p->columns, &p->inputs, &err), 0);
        assert_true(p->columns.group_count < WIDTH - 5);
        assert_int_equal(bang_rows_init(&p->rows, &p->columns, &p->inputs, &err), 0);
        assert_true(!p->rows.dense && p->rows.block_count > 0 && p->rows.start[ROWS] > 0);
    } else {
        assert_int_equal(bang_columns_init_all(&p->columns, WIDTH, &err), 0);
        assert_int_equal(bang_rows_init_dense(&p->rows, &p->columns, &p->inputs, &err), 0);
    }
    size_t width[8] = {p->columns.group_count};
    for (int l = 1; l < layers; l++)
        width[l] = hidden[l - 1];
    width[layers] = 5;
    assert_int_equal(bang_mlp_init(&p->shape, layers, width, activation, &err), 0);
    p->parameters = aligned_alloc(64, p->shape.count * sizeof *p->parameters);
    assert_non_null(p->parameters);
    bang_mlp_randomise(&p->shape, 3, 0);
    for (size_t i = 0; i < p->shape.count; i++)
        p->parameters[i] = (double)p->shape.parameters[i];
}

static void drop(problem *p)
{
    free(p->parameters);
    bang_mlp_release(&p->shape);
    bang_rows_release(&p->rows);
    bang_columns_release(&p->columns);
    bang_array_release(&p->inputs);
}

static void keep_loss(void *context, uint64_t step, double loss, double rate)
{
    (void)step, (void)rate;
    *(double *)context = loss;
}

/* One step over all rows; the loss before it. */
static double step(const problem *p, double *parameters, bang_train_options options, double rate)
{
    bang_error err = {0};
    double loss = NAN;
    options.optimizer = BANG_SGD;
    options.rate = rate;
    options.batch = ROWS;
    options.steps = 1;
    options.step = keep_loss;
    options.context = &loss;
    assert_int_equal(
        train_run_f64(&p->shape, parameters, &p->rows, p->labels, &options, NULL, &err), 0);
    return loss;
}

/* dL/dw by five points, and how far the two sides disagree. */
static double difference(const problem *p, size_t at, bang_train_options options, double loss,
                         double *disagreement)
{
    const double h = 1e-4;
    double side[5], w = p->parameters[at];
    for (int i = -2; i <= 2; i++) {
        p->parameters[at] = w + i * h;
        side[i + 2] = i ? step(p, p->parameters, options, 0) : loss;
    }
    p->parameters[at] = w;
    /* one-sided, with the curvature taken out: equal but for h^2 where L is smooth */
    double right = (4 * side[3] - side[4] - 3 * side[2]) / (2 * h);
    double left = (3 * side[2] - 4 * side[1] + side[0]) / (2 * h);
    *disagreement = fabs(right - left);
    return (8 * (side[3] - side[1]) - (side[4] - side[0])) / (12 * h);
}

/* Compares all parameters; returns how many were skipped at a kink. */
static size_t check(const problem *p, bang_train_options options, double *worst)
{
    double *after = aligned_alloc(64, p->shape.count * sizeof *after);
    size_t skipped = 0, head = p->shape.width[0] * p->shape.stride[1], compared = 0;
    memcpy(after, p->parameters, p->shape.count * sizeof *after);
    double loss = step(p, after, options, 1);
    for (size_t i = 0, at = 0; i < (size_t)p->shape.layers; i++)
        for (size_t in = 0; in <= p->shape.width[i]; in++)
            for (size_t out = 0; out < p->shape.stride[i + 1]; out++, at++) {
                double moved = p->parameters[at] - after[at], apart;
                if (out >= p->shape.width[i + 1]) {
                    assert_true(moved == 0); /* padding */
                    continue;
                }
                /* the sum of a group's weights moves as often as it has members */
                size_t group = at / p->shape.stride[1];
                double got = at < head ? moved / p->columns.multiplicity[group] : moved;
                double want = difference(p, at, options, loss, &apart);
                if (p->shape.activation == BANG_RELU && apart > 1e-8) {
                    skipped++;
                    continue;
                }
                /* signs count; below 1e-3 rounding of the loss is what is seen */
                double error = fabs(got - want) / fmax(fabs(got) + fabs(want), 1e-3);
                *worst = fmax(*worst, error);
                compared++;
                if (!(error < 1e-7))
                    fail_msg("layer %zu, input %zu, output %zu: %.12g instead of %.12g", i, in, out,
                             got, want);
            }
    free(after);
    assert_true(skipped * 20 < compared);
    return skipped;
}

static void check_all(const char *what, bang_train_options options, int shallowest, int deepest,
                      bang_activation first)
{
    static const size_t hidden[3] = {5, 17, 4};
    size_t skipped = 0;
    double worst = 0;
    for (int layers = shallowest; layers <= deepest; layers++)
        for (int activation = (int)first; activation < 3; activation++)
            for (int reduced = 0; reduced < 2; reduced++) {
                if (layers == 1 && activation > 0)
                    continue;
                problem p;
                make(&p, layers, hidden, (bang_activation)activation, reduced);
                size_t kinks = check(&p, options, &worst);
                skipped += kinks;
                drop(&p);
            }
    print_message("%s: worst %.1e, %zu skipped at kinks\n", what, worst, skipped);
}

static const bang_train_options plain = {
    .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .seed = 4, .in_order = 1};

static void test_hard_targets(void **state)
{
    (void)state;
    bang_train_options options = plain;
    options.loss = BANG_MSE;
    check_all("squared error", options, 1, 2, BANG_RELU);
    options.loss = BANG_CROSS_ENTROPY;
    check_all("cross-entropy", options, 1, 4, BANG_RELU);
}

static void test_smoothed_targets(void **state)
{
    (void)state;
    for (int mode = 0; mode < 3; mode++)
        for (int loss = 0; loss < 2; loss++) {
            bang_train_options options = plain;
            options.loss = (bang_loss)loss;
            options.label_smoothing = 0.2;
            options.smoothing = (bang_smoothing)mode;
            check_all("smoothed", options, 2, 2, BANG_TANH);
        }
}

static void test_mixed_targets(void **state)
{
    (void)state;
    bang_train_options options = plain;
    options.mixup = 0.7;
    options.loss = BANG_MSE;
    check_all("mixed, squared error", options, 3, 3, BANG_RELU);
    options.loss = BANG_CROSS_ENTROPY;
    options.label_smoothing = 0.1;
    options.smoothing = BANG_SMOOTHING_OTHERS;
    check_all("mixed and smoothed, cross-entropy", options, 3, 3, BANG_RELU);
}

/* The loss itself, once, against its formula for a network whose outputs are
 * its biases. */
static void test_values(void **state)
{
    (void)state;
    problem p;
    make(&p, 1, NULL, BANG_RELU, 0);
    memset(p.parameters, 0, p.shape.count * sizeof *p.parameters);
    double *bias = p.parameters + p.shape.width[0] * p.shape.stride[1], z[5], mse = 0, ce = 0;
    for (size_t c = 0; c < 5; c++)
        z[c] = bias[c] = 0.3 * (double)c - 0.5;
    bang_train_options options = plain;
    options.label_smoothing = 0.25;
    double sum = exp(z[0]) + exp(z[1]) + exp(z[2]) + exp(z[3]) + exp(z[4]);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < 5; c++) {
            double y = 0.05 + ((int64_t)c == p.labels[i] ? 0.75 : 0);
            mse += (z[c] - y) * (z[c] - y) / (5 * ROWS);
            ce -= y * (z[c] - log(sum)) / ROWS;
        }
    assert_true(fabs(step(&p, p.parameters, options, 0) - mse) < 1e-14);
    options.loss = BANG_CROSS_ENTROPY;
    assert_true(fabs(step(&p, p.parameters, options, 0) - ce) < 1e-14);
    bias[1] = 5000; /* exp of it is infinite */
    bias[2] = -5000;
    double loss = step(&p, p.parameters, options, 0);
    assert_true(isfinite(loss) && loss > 1000);
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hard_targets),
        cmocka_unit_test(test_smoothed_targets),
        cmocka_unit_test(test_mixed_targets),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
