/* Steps of the optimisers against arithmetic that is written out, and what goes
 * into a step: rates, targets, mixing, order. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "train/loop.h"

static const bang_train_options usual = BANG_TRAIN_OPTIONS_INIT;

/* z = w x + b with one output, whose target is 1: L = (z - 1)^2. The second
 * input is always 0, so that its weight feels decay alone. */
typedef struct line {
    bang_mlp shape;
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    double *parameters; /* w, 15 more, idle, 15 more, b, 15 more */
    int64_t labels[1];
} line;
enum { W = 0, IDLE = 16, B = 32 };

static const double x = 0.5, w0 = 0.25, idle0 = 0.75, b0 = -0.125;

static void make(line *l)
{
    bang_error err = {0};
    assert_int_equal(bang_mlp_init(&l->shape, 1, (size_t[]){2, 1}, BANG_RELU, &err), 0);
    assert_int_equal(bang_array_init(&l->inputs, BANG_F32, 2, (size_t[]){1, 2}, &err), 0);
    ((float *)l->inputs.data)[0] = (float)x;
    assert_int_equal(bang_columns_init_all(&l->columns, 2, &err), 0);
    assert_int_equal(bang_rows_init_dense(&l->rows, &l->columns, &l->inputs, &err), 0);
    l->parameters = aligned_alloc(64, l->shape.count * sizeof *l->parameters);
    assert_non_null(l->parameters);
    memset(l->parameters, 0, l->shape.count * sizeof *l->parameters);
    l->parameters[W] = w0;
    l->parameters[IDLE] = idle0;
    l->parameters[B] = b0;
    for (size_t i = 0; i < l->shape.count; i++)
        l->shape.parameters[i] = (float)l->parameters[i];
    l->labels[0] = 0;
}

static void drop(line *l)
{
    free(l->parameters);
    bang_mlp_release(&l->shape);
    bang_rows_release(&l->rows);
    bang_columns_release(&l->columns);
    bang_array_release(&l->inputs);
}

/* After options.steps steps, in double and in float. */
static void assert_steps(bang_train_options options, double w, double b)
{
    bang_error err = {0};
    line l;
    bang_train_result result;
    make(&l);
    assert_int_equal(
        train_run_f64(&l.shape, l.parameters, &l.rows, l.labels, &options, &result, &err), 0);
    assert_true(fabs(l.parameters[W] - w) < 1e-14);
    assert_true(fabs(l.parameters[B] - b) < 1e-14);
    if (options.optimizer != BANG_ADAM)
        assert_true(fabs(l.parameters[IDLE] - idle0 * result.decay) < 1e-14);
    for (size_t i = 0; i < l.shape.count; i++)
        if (i != W && i != IDLE && i != B)
            assert_true(l.parameters[i] == 0);
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &options, &result, &err), 0);
    assert_true(fabs((double)l.shape.parameters[W] - w) < 2e-6);
    assert_true(fabs((double)l.shape.parameters[B] - b) < 2e-6);
    drop(&l);
}

static void test_sgd(void **state)
{
    (void)state;
    const double r = 0.1, mu = 0.5, decay = 0.3;
    bang_train_options o = usual;
    o.optimizer = BANG_SGD;
    o.rate = r;
    /* plain: g = dL/dz = 2 (w x + b - 1); dL/dw = g x, dL/db = g */
    double g1 = 2 * (w0 * x + b0 - 1);
    o.steps = 1;
    assert_steps(o, w0 - r * g1 * x, b0 - r * g1);
    /* momentum and decay: the first moment is the gradient */
    o.momentum = mu;
    o.weight_decay = decay;
    double mw1 = g1 * x + decay * w0, mb1 = g1 + decay * b0;
    double w1 = w0 - r * mw1, b1 = b0 - r * mb1;
    assert_steps(o, w1, b1);
    double g2 = 2 * (w1 * x + b1 - 1);
    double mw2 = mu * mw1 + g2 * x + decay * w1, mb2 = mu * mb1 + g2 + decay * b1;
    double w2 = w1 - r * mw2, b2 = b1 - r * mb2;
    o.steps = 2;
    assert_steps(o, w2, b2);
    double g3 = 2 * (w2 * x + b2 - 1);
    o.steps = 3;
    assert_steps(o, w2 - r * (mu * mw2 + g3 * x + decay * w2),
                 b2 - r * (mu * mb2 + g3 + decay * b2));
}

static void test_adam(void **state)
{
    (void)state;
    const double r = 0.01, c1 = 0.8, c2 = 0.9, eps = 1e-3;
    /* 0: ADAM; 1: ADAMW with decay; 2: ADAM with decay in the gradient */
    for (int kind = 0; kind < 3; kind++) {
        bang_train_options o = usual;
        o.optimizer = kind == 1 ? BANG_ADAMW : BANG_ADAM;
        o.rate = r;
        o.beta1 = c1;
        o.beta2 = c2;
        o.epsilon = eps;
        o.weight_decay = kind ? 0.4 : 0;
        double keep = kind == 1 ? 1 - r * 0.4 : 1, l2 = kind == 2 ? 0.4 : 0;
        /* t = 1: m^ = g, v^ = g^2 */
        double g = 2 * (w0 * x + b0 - 1), w = keep * w0, b = keep * b0;
        double gw = g * x + l2 * w0, gb = g + l2 * b0;
        w -= r * gw / (fabs(gw) + eps);
        b -= r * gb / (fabs(gb) + eps);
        o.steps = 1;
        assert_steps(o, w, b);
        /* t = 2 */
        double mw = (1 - c1) * gw, mb = (1 - c1) * gb;
        double vw = (1 - c2) * gw * gw, vb = (1 - c2) * gb * gb;
        g = 2 * (w * x + b - 1);
        gw = g * x + l2 * w;
        gb = g + l2 * b;
        w *= keep;
        b *= keep;
        mw = c1 * mw + (1 - c1) * gw;
        mb = c1 * mb + (1 - c1) * gb;
        vw = c2 * vw + (1 - c2) * gw * gw;
        vb = c2 * vb + (1 - c2) * gb * gb;
        w -= r * (mw / (1 - c1 * c1)) / (sqrt(vw / (1 - c2 * c2)) + eps);
        b -= r * (mb / (1 - c1 * c1)) / (sqrt(vb / (1 - c2 * c2)) + eps);
        o.steps = 2;
        assert_steps(o, w, b);
    }
}

static void test_clip(void **state)
{
    (void)state;
    bang_train_options o = usual;
    o.optimizer = BANG_SGD;
    o.rate = 0.1;
    o.weight_decay = 0.2;
    o.steps = 1;
    double g = 2 * (w0 * x + b0 - 1), norm = sqrt(g * x * g * x + g * g);
    o.clip_norm = 0.5;
    double scale = 0.5 / (norm + 1e-6); /* decay is added after the cut */
    assert_steps(o, w0 - 0.1 * (scale * g * x + 0.2 * w0), b0 - 0.1 * (scale * g + 0.2 * b0));
    o.clip_norm = norm + 1e-3;
    assert_steps(o, w0 - 0.1 * (g * x + 0.2 * w0), b0 - 0.1 * (g + 0.2 * b0));
}

static void assert_rate(const bang_train_options *o, uint64_t step, double want)
{
    assert_true(fabs(bang_train_rate(o, step) - want) <= 1e-15 * fabs(want) + 1e-18);
}

static void test_rates(void **state)
{
    (void)state;
    bang_train_options o = usual;
    o.rate = 0.2;
    o.steps = 110;
    o.warmup = 10;
    assert_rate(&o, 0, 0.02);
    assert_rate(&o, 4, 0.1);
    assert_rate(&o, 9, 0.2);
    assert_rate(&o, 10, 0.2);
    assert_rate(&o, 109, 0.2);
    o.schedule = BANG_COSINE;
    assert_rate(&o, 4, 0.1);
    assert_rate(&o, 10, 0.2);
    assert_rate(&o, 35, 0.1 * (1 + sqrt(0.5)));
    assert_true(fabs(bang_train_rate(&o, 60) - 0.1) < 1e-16);
    assert_true(fabs(bang_train_rate(&o, 110)) < 1e-16);
    assert_true(bang_train_rate(&o, 109) > 0);
    o.schedule = BANG_STEP;
    o.step_every = 30;
    o.step_factor = 0.5;
    assert_rate(&o, 9, 0.2);
    assert_rate(&o, 39, 0.2);
    assert_rate(&o, 40, 0.1);
    assert_rate(&o, 100, 0.025);
    o.warmup = o.steps = 10; /* no step is left after the warm-up */
    o.schedule = BANG_COSINE;
    assert_rate(&o, 9, 0.2);
    assert_rate(&o, 10, 0.2);
}

static void test_smoothing(void **state)
{
    (void)state;
    bang_train_options o = usual;
    double hit, miss;
    o.label_smoothing = 0.2;
    train_smooth(&hit, &miss, 5, &o);
    assert_true(fabs(hit - 0.84) < 1e-15 && fabs(miss - 0.04) < 1e-15);
    o.smoothing = BANG_SMOOTHING_OTHERS;
    train_smooth(&hit, &miss, 5, &o);
    assert_true(fabs(hit - 0.8) < 1e-15 && fabs(miss - 0.05) < 1e-15);
    o.smoothing = BANG_SMOOTHING_CLASSY_VISION;
    train_smooth(&hit, &miss, 5, &o); /* .2/1.2 = 1/6 */
    assert_true(fabs(hit - (5.0 / 6 + 1.0 / 30)) < 1e-15 && fabs(miss - 1.0 / 30) < 1e-15);
    for (int mode = 0; mode < 3; mode++) {
        o.smoothing = (bang_smoothing)mode;
        o.label_smoothing = 0;
        train_smooth(&hit, &miss, 10, &o);
        assert_true(hit == 1 && miss == 0);
        train_smooth(&hit, &miss, 1, &o);
        assert_true(hit == 1 && miss == 0);
        o.label_smoothing = 0.3;
        train_smooth(&hit, &miss, 7, &o);
        assert_true(fabs(hit + 6 * miss - 1) < 1e-15);
    }
}

/* Beta(a, a) has mean 1/2, variance 1/(4 (2a + 1)) and, with d = 2a + 1, fourth
 * central moment 3/(16 d (d + 2)). */
static void test_mixing_is_beta(void **state)
{
    (void)state;
    static const double shapes[] = {0.2, 1, 5};
    enum { DRAWS = 40000 };
    for (size_t s = 0; s < 3; s++) {
        bang_train_options o = usual;
        o.mixup = shapes[s];
        double sum = 0, squares = 0, d = 2 * shapes[s] + 1;
        size_t below = 0;
        for (uint64_t t = 0; t < DRAWS; t++) {
            uint32_t partner[3];
            double lambda = train_draw_mixing(partner, 3, &o, t);
            assert_true(lambda >= 0 && lambda <= 1);
            sum += lambda - 0.5;
            squares += (lambda - 0.5) * (lambda - 0.5);
            below += lambda < 0.25;
        }
        double variance = 1 / (4 * d), fourth = 3 / (16 * d * (d + 2));
        assert_true(fabs(sum / DRAWS) < 4 * sqrt(variance / DRAWS));
        assert_true(fabs(squares / DRAWS - variance) <
                    4 * sqrt((fourth - variance * variance) / DRAWS));
        if (shapes[s] == 1) /* uniform */
            assert_true(fabs((double)below / DRAWS - 0.25) < 4 * sqrt(0.1875 / DRAWS));
    }
}

static void test_mixing_of_extremes(void **state)
{
    (void)state;
    static const double shapes[] = {1e-310, 1e-100, 1e-3, 9e5};
    for (size_t s = 0; s < 4; s++) {
        bang_train_options o = usual;
        o.mixup = shapes[s];
        int sides[2] = {0, 0};
        for (uint64_t t = 0; t < 200; t++) {
            double lambda = train_draw_mixing(NULL, 0, &o, t);
            assert_true(lambda >= 0 && lambda <= 1);
            sides[lambda > 0.5]++;
            if (s < 2)
                assert_true(lambda == 0 || lambda == 1 || s == 1);
            if (s == 3)
                assert_true(fabs(lambda - 0.5) < 0.01);
        }
        assert_true(sides[0] > 60 && sides[1] > 60);
    }
}

static void test_partners(void **state)
{
    (void)state;
    bang_train_options o = usual;
    o.mixup = 0.5;
    enum { COUNT = 7, DRAWS = 7000 };
    size_t met[COUNT][COUNT] = {{0}};
    uint32_t partner[COUNT], again[COUNT];
    for (uint64_t t = 0; t < DRAWS; t++) {
        int seen[COUNT] = {0};
        double lambda = train_draw_mixing(partner, COUNT, &o, t);
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(partner[i] < COUNT && !seen[partner[i]]++);
            met[i][partner[i]]++;
        }
        assert_true(train_draw_mixing(again, COUNT, &o, t) == lambda);
        assert_memory_equal(partner, again, sizeof partner);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) /* 1000 expected, standard deviation 29 */
            assert_in_range(met[i][j], 870, 1130);
    double lambda = train_draw_mixing(partner, COUNT, &o, 0);
    o.stream = 1;
    assert_true(train_draw_mixing(partner, COUNT, &o, 0) != lambda);
    o.stream = 0;
    o.seed = 2;
    assert_true(train_draw_mixing(partner, COUNT, &o, 0) != lambda);
}

static void test_order(void **state)
{
    (void)state;
    enum { ROWS = 103, BATCH = 25 };
    uint32_t index[ROWS], before[ROWS];
    bang_train_options o = usual;
    o.batch = BATCH;
    train_order order = {.options = &o, .index = index, .rows = ROWS};
    for (int epoch = 0; epoch < 4; epoch++) {
        int seen[ROWS] = {0};
        size_t moved = 0;
        for (int b = 0; b < 5; b++) {
            size_t count;
            const uint32_t *batch = train_next_batch(&order, &count);
            assert_int_equal(count, b < 4 ? BATCH : 3);
            for (size_t i = 0; i < count; i++)
                assert_true(batch[i] < ROWS && !seen[batch[i]]++);
        }
        assert_int_equal(order.next, 0);
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(seen[i], 1);
            moved += epoch > 0 && index[i] != before[i];
        }
        assert_true(epoch == 0 || moved > ROWS / 2);
        memcpy(before, index, sizeof before);
    }
    o.in_order = 1;
    for (uint32_t row = 0; row < 2 * ROWS;) {
        size_t count;
        const uint32_t *batch = train_next_batch(&order, &count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(batch[i], row++ % ROWS);
    }
    o.batch = SIZE_MAX; /* all in one */
    size_t count;
    train_next_batch(&order, &count);
    assert_int_equal(count, ROWS);
}

static void test_bad_options_all_at_once(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_train_options o = {.label_smoothing = 1.5,
                            .mixup = -1,
                            .rate = NAN,
                            .beta1 = 1,
                            .beta2 = -0.1,
                            .epsilon = 1e-60, /* 0 as a float */
                            .momentum = 1,
                            .weight_decay = -1,
                            .clip_norm = INFINITY,
                            .schedule = BANG_STEP,
                            .step_factor = INFINITY,
                            .warmup = 9,
                            .steps = 8};
    assert_int_equal(bang_train_check(&o, &err), BANG_EUSAGE);
    static const char *const names[] = {"label smoothing", "mixup",    "learning rate", "betas",
                                        "epsilon",         "momentum", "weight decay",  "clip norm",
                                        "step schedule",   "batch",    "warm-up"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strstr(err.message, names[i]))
            fail_msg("%s is not in: %s", names[i], err.message);
    assert_null(strchr(err.message, '\n'));
    assert_int_equal(bang_train_check(&usual, &err), 0);
    o = usual;
    o.schedule = BANG_STEP;
    o.step_factor = INFINITY;
    assert_int_equal(bang_train_check(&o, &err), BANG_EUSAGE);
    line l;
    make(&l);
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &o, NULL, &err), BANG_EUSAGE);
    drop(&l);
}

static void test_names(void **state)
{
    (void)state;
    bang_loss loss;
    bang_smoothing smoothing;
    bang_optimizer optimizer;
    bang_schedule schedule;
    assert_int_equal(bang_loss_find(&loss, "cross-entropy"), 0);
    assert_int_equal(loss, BANG_CROSS_ENTROPY);
    assert_int_equal(bang_smoothing_find(&smoothing, "classy_vision"), 0);
    assert_int_equal(smoothing, BANG_SMOOTHING_CLASSY_VISION);
    assert_int_equal(bang_optimizer_find(&optimizer, "adamw"), 0);
    assert_int_equal(optimizer, BANG_ADAMW);
    assert_int_equal(bang_schedule_find(&schedule, "step"), 0);
    assert_int_equal(schedule, BANG_STEP);
    assert_int_equal(bang_loss_find(&loss, ""), -1);
    assert_int_equal(bang_optimizer_find(&optimizer, "Adam"), -1);
}

static void test_bad_data(void **state)
{
    (void)state;
    bang_error err = {0};
    line l;
    make(&l);
    l.labels[0] = 1;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &usual, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "row 0 has label 1"));
    l.labels[0] = -1;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &usual, NULL, &err), BANG_EDATA);
    l.labels[0] = 0;
    ((float *)l.inputs.data)[0] = NAN;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &usual, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "not finite at step 1:"));
    l.rows.count = 0;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &usual, NULL, &err), BANG_EUSAGE);
    l.rows.count = 1;
    l.columns.group_count = 1; /* one group: another network, and not for Adam with L2 */
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &usual, NULL, &err), BANG_EUSAGE);
    l.columns.group_count = 2;
    l.columns.width = 3;
    bang_train_options o = usual;
    o.weight_decay = 0.1;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &o, NULL, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "adamw"));
    l.columns.width = 2;
    drop(&l);
}

/* A rate so large that the weights run away. */
static void test_divergence(void **state)
{
    (void)state;
    bang_error err = {0};
    line l;
    make(&l);
    bang_train_options o = usual;
    o.optimizer = BANG_SGD;
    o.rate = 1e6;
    assert_int_equal(bang_train_mlp(&l.shape, &l.rows, l.labels, &o, NULL, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "learning rate"));
    drop(&l);
}

typedef struct log {
    double loss[16], rate[16];
    uint64_t steps, done, total;
    bang_cancel *cancel;
    uint64_t cancel_at;
} log_of_steps;

static void note(void *context, uint64_t step, double loss, double rate)
{
    log_of_steps *log = context;
    assert_int_equal(step, log->steps);
    log->loss[log->steps] = loss;
    log->rate[log->steps++] = rate;
    if (log->cancel && log->steps == log->cancel_at)
        atomic_store(&log->cancel->raised, 1);
}

static void note_progress(void *context, uint64_t done, uint64_t total)
{
    log_of_steps *log = context;
    log->done = done;
    log->total = total;
}

/* Five rows in batches of two: the last batch of an epoch is one row, and its
 * loss counts as one. */
static void test_result_and_reports(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_mlp mlp;
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    const int64_t labels[5] = {0, 1, 2, 1, 0};
    assert_int_equal(bang_array_init(&inputs, BANG_F32, 2, (size_t[]){5, 3}, &err), 0);
    for (size_t i = 0; i < 15; i++)
        ((float *)inputs.data)[i] = (float)(i * i % 7);
    assert_int_equal(bang_columns_init_all(&columns, 3, &err), 0);
    assert_int_equal(bang_rows_init_dense(&rows, &columns, &inputs, &err), 0);
    assert_int_equal(bang_mlp_init(&mlp, 2, (size_t[]){3, 4, 3}, BANG_TANH, &err), 0);
    bang_train_options o = usual;
    bang_progress progress = {note_progress, NULL};
    o.batch = 2;
    o.schedule = BANG_COSINE;
    o.step = note;
    o.progress = &progress;
    for (uint64_t steps = 0; steps <= 8; steps++) {
        log_of_steps log = {.total = 99};
        bang_train_result result;
        progress.context = o.context = &log;
        o.steps = steps;
        bang_mlp_randomise(&mlp, 1, 0);
        assert_int_equal(bang_train_mlp(&mlp, &rows, labels, &o, &result, &err), 0);
        assert_int_equal(log.steps, steps);
        assert_true(result.decay == 1);
        if (steps > 0) {
            assert_int_equal(log.done, steps);
            assert_int_equal(log.total, steps);
        }
        double sum = 0, count = 0;
        for (uint64_t t = steps ? (steps - 1) / 3 * 3 : 0; t < steps; t++) {
            double size = t % 3 == 2 ? 1 : 2;
            sum += size * log.loss[t];
            count += size;
            assert_true(log.rate[t] == bang_train_rate(&o, t));
        }
        assert_true(fabs(result.loss - (count > 0 ? sum / count : 0)) < 1e-12);
    }
    bang_cancel cancel = {0};
    log_of_steps log = {.cancel = &cancel, .cancel_at = 3};
    progress.context = o.context = &log;
    o.cancel = &cancel;
    assert_int_equal(bang_train_mlp(&mlp, &rows, labels, &o, NULL, &err), BANG_ECANCELLED);
    assert_int_equal(log.steps, 3);
    o.cancel = NULL;
    o.step = NULL;
    o.progress = NULL;
    o.batch = SIZE_MAX; /* more than there are is all that there are */
    assert_int_equal(bang_train_mlp(&mlp, &rows, labels, &o, NULL, &err), 0);
    bang_mlp_release(&mlp);
    bang_rows_release(&rows);
    bang_columns_release(&columns);
    bang_array_release(&inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_smoothing),
        cmocka_unit_test(test_mixing_is_beta),
        cmocka_unit_test(test_mixing_of_extremes),
        cmocka_unit_test(test_partners),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bad_options_all_at_once),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_data),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_result_and_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
