/* Short trainings that PyTorch did in double precision (tools/make-torch-vectors),
 * done again: every loss and every parameter at the end. */
#include <math.h>

#include "testing.h"

#include "bang/store/safetensors.h"
#include "train/loop.h"

typedef struct trained {
    bang_tensors file;
    bang_mlp mlp;       /* the start, in float */
    double *parameters; /* the same in double, in the layout of mlp */
    bang_train_options options;
} trained;

static const char *text(const trained *t, const char *key)
{
    const char *value = bang_tensors_metadata(&t->file, key);
    if (!value)
        fail_msg("no %s", key);
    return value;
}

static double number(const trained *t, const char *key)
{
    char *end;
    double value = strtod(text(t, key), &end);
    assert_true(*end == 0);
    return value;
}

static const bang_array *tensor(const trained *t, const char *when, int layer, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%d.%s", when, 2 * layer, what);
    return bang_tensors_find(&t->file, name);
}

/* Calls visit for every parameter: its place and what the file says. */
static void each_parameter(const trained *t, const char *when, double *block,
                           void (*visit)(double *place, double value, void *context), void *context)
{
    size_t at = 0;
    for (int l = 0; l < t->mlp.layers; l++) {
        const bang_array *weight = tensor(t, when, l, "weight"), *bias = tensor(t, when, l, "bias");
        assert_true(weight && bias);
        size_t in = t->mlp.width[l], out = t->mlp.width[l + 1], stride = t->mlp.stride[l + 1];
        for (size_t i = 0; i < in; i++)
            for (size_t j = 0; j < out; j++) /* PyTorch has them output by input */
                visit(&block[at + i * stride + j], bang_array_number(weight, j * in + i), context);
        for (size_t j = 0; j < out; j++)
            visit(&block[at + in * stride + j], bang_array_number(bias, j), context);
        at += (in + 1) * stride;
    }
}

static void set(double *place, double value, void *context)
{
    (void)context;
    *place = value;
}

static void compare(double *place, double value, void *context)
{
    double *worst = context;
    *worst = fmax(*worst, fabs(*place - value));
    if (isnan(*place))
        *worst = INFINITY;
}

static void open_file(trained *t, const char *name)
{
    const char *source = getenv("BANG_SOURCE");
    bang_error err = {0};
    char path[1024];
    *t = (trained){.options = BANG_TRAIN_OPTIONS_INIT};
    snprintf(path, sizeof path, "%s/tests/data/torch/%s.safetensors", source ? source : ".", name);
    if (bang_safetensors_read(&t->file, path, &err) < 0)
        fail_msg("%s", err.message);
    size_t width[BANG_MLP_LAYERS_MAX + 1];
    int layers = 0;
    for (const bang_array *weight; (weight = tensor(t, "before", layers, "weight")); layers++) {
        width[layers] = weight->shape[1];
        width[layers + 1] = weight->shape[0];
    }
    bang_activation activation;
    assert_int_equal(bang_activation_find(&activation, text(t, "activation")), 0);
    assert_int_equal(bang_mlp_init(&t->mlp, layers, width, activation, &err), 0);
    t->parameters = aligned_alloc(64, t->mlp.count * sizeof *t->parameters);
    assert_non_null(t->parameters);
    memset(t->parameters, 0, t->mlp.count * sizeof *t->parameters);
    each_parameter(t, "before", t->parameters, set, NULL);
    for (size_t i = 0; i < t->mlp.count; i++)
        t->mlp.parameters[i] = (float)t->parameters[i];
    bang_train_options *o = &t->options;
    assert_int_equal(bang_loss_find(&o->loss, text(t, "loss")), 0);
    assert_int_equal(bang_optimizer_find(&o->optimizer, text(t, "optimizer")), 0);
    assert_int_equal(bang_schedule_find(&o->schedule, text(t, "schedule")), 0);
    o->label_smoothing = number(t, "label_smoothing");
    o->rate = number(t, "rate");
    o->beta1 = number(t, "beta1");
    o->beta2 = number(t, "beta2");
    o->epsilon = number(t, "epsilon");
    o->momentum = number(t, "momentum");
    o->weight_decay = number(t, "weight_decay");
    o->warmup = (uint64_t)number(t, "warmup");
    o->step_every = (uint64_t)number(t, "step_every");
    o->step_factor = number(t, "step_factor");
    o->clip_norm = number(t, "clip_norm");
    o->batch = (size_t)number(t, "batch");
    o->steps = (uint64_t)number(t, "steps");
    o->in_order = 1;
}

typedef struct losses {
    const bang_array *want;
    double worst;
} losses;

static void compare_loss(void *context, uint64_t step, double loss, double rate)
{
    (void)rate;
    losses *l = context;
    l->worst = fmax(l->worst, fabs(loss - bang_array_number(l->want, step)));
}

static void check(const char *name)
{
    bang_error err = {0};
    trained t;
    open_file(&t, name);
    const bang_array *inputs = bang_tensors_find(&t.file, "inputs");
    const bang_array *labels = bang_tensors_find(&t.file, "labels");
    losses in_double = {.want = bang_tensors_find(&t.file, "losses")}, in_float = in_double;
    assert_true(inputs && labels && in_double.want && labels->dtype == BANG_I64);
    assert_int_equal(in_double.want->count, t.options.steps);
    bang_columns columns;
    bang_rows rows;
    assert_int_equal(bang_columns_init_all(&columns, inputs->shape[1], &err), 0);
    assert_int_equal(bang_rows_init_dense(&rows, &columns, inputs, &err), 0);
    double worst = 0, worst_float = 0, moved = 0;
    each_parameter(&t, "after", t.parameters, compare, &moved);
    t.options.step = compare_loss;
    t.options.context = &in_double;
    assert_int_equal(
        train_run_f64(&t.mlp, t.parameters, &rows, labels->data, &t.options, NULL, &err), 0);
    each_parameter(&t, "after", t.parameters, compare, &worst);
    t.options.context = &in_float;
    assert_int_equal(bang_train_mlp(&t.mlp, &rows, labels->data, &t.options, NULL, &err), 0);
    for (size_t i = 0; i < t.mlp.count; i++)
        t.parameters[i] = (double)t.mlp.parameters[i];
    each_parameter(&t, "after", t.parameters, compare, &worst_float);
    print_message("%s: parameters moved by %.2g; in double off by %.1e (losses %.1e), in float "
                  "by %.1e (losses %.1e)\n",
                  name, moved, worst, in_double.worst, worst_float, in_float.worst);
    assert_true(moved > 0.02);
    assert_true(worst < 1e-10 && in_double.worst < 1e-10);
    assert_true(worst_float < 1e-4 && in_float.worst < 1e-4);
    free(t.parameters);
    bang_mlp_release(&t.mlp);
    bang_rows_release(&rows);
    bang_columns_release(&columns);
    bang_tensors_release(&t.file);
}

#define CASE(name)                                                                                 \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check(#name);                                                                              \
    }
CASE(mse_adam)
CASE(cross_entropy_adamw)
CASE(sgd_momentum)
CASE(gelu_adam_l2)
CASE(tanh_step)
#undef CASE

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mse_adam),     cmocka_unit_test(test_cross_entropy_adamw),
        cmocka_unit_test(test_sgd_momentum), cmocka_unit_test(test_gelu_adam_l2),
        cmocka_unit_test(test_tanh_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
