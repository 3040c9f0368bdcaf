#include <float.h>
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "tensor/layers_kinds.h"
#include "tensor/naive.h"

#define REAL float
#define ATTENTION bang_attention_f32
#define LAYERS bang_layers_f32
#define NAIVE bang_layers_naive_f32
#define NAME(x) x##_f32
#define EPSILON ((double)FLT_EPSILON)
#include "layer_cases.h"
#undef REAL
#undef ATTENTION
#undef LAYERS
#undef NAIVE
#undef NAME
#undef EPSILON

#define REAL double
#define ATTENTION bang_attention_f64
#define LAYERS bang_layers_f64
#define NAIVE bang_layers_naive_f64
#define NAME(x) x##_f64
#define EPSILON DBL_EPSILON
#include "layer_cases.h"

static void test_portable_f32(void **state)
{
    (void)state;
    check_layers_f32(&bang_layers_portable_f32);
}

static void test_portable_f64(void **state)
{
    (void)state;
    check_layers_f64(&bang_layers_portable_f64);
}

/* On a machine without them this repeats what is above. */
static void test_best_f32(void **state)
{
    (void)state;
    check_layers_f32(bang_layers_best_f32());
}

static void test_best_f64(void **state)
{
    (void)state;
    check_layers_f64(bang_layers_best_f64());
}

/* A loss that weighs every output, and where its inputs begin. Slopes of all backward
 * functions against differences of it. */
enum { ROWS = 3, WIDTH = 11, TOKENS = 19, HEADS = 2, HEAD = 5, QUERIES = 18 };

typedef struct problem {
    const bang_layers_f64 *k;
    int what;  /* 0 .. 2: GELUs, 3 norm, 4 direction, 5 attention, 6 causal */
    double *x; /* inputs; the norm's gain and bias behind them */
    size_t inputs, outputs;
    double *weights; /* (outputs) */
    double *out, *slope, *out_slope, *mean, *scale, *scratch;
} problem;

static bang_attention_f64 attention_of(problem *p)
{
    return (bang_attention_f64){.tokens = TOKENS,
                                .heads = HEADS,
                                .width = HEAD,
                                .queries = QUERIES,
                                .causal = p->what == 6,
                                .qkv = p->x,
                                .out = p->out,
                                .sums = p->mean,
                                .out_gradient = p->out_slope,
                                .qkv_gradient = p->slope,
                                .scratch = p->scratch};
}

static double loss(problem *p)
{
    const double *gain = p->x + ROWS * WIDTH, *bias = gain + WIDTH;
    bang_attention_f64 a = attention_of(p);
    double sum = 0;
    if (p->what < 3)
        p->k->gelu_forward(p->out, p->x, p->inputs, (bang_gelu)p->what);
    else if (p->what == 3)
        p->k->norm_forward(p->out, p->mean, p->scale, p->x, gain, bias, ROWS, WIDTH, 1e-3);
    else if (p->what == 4)
        p->k->unit_forward(p->out, p->mean, p->x, ROWS, WIDTH);
    else
        p->k->attention_forward(&a);
    for (size_t i = 0; i < p->outputs; i++)
        sum += p->weights[i] * p->out[i];
    return sum;
}

static void slopes(problem *p)
{
    double *gain = p->slope + ROWS * WIDTH;
    bang_attention_f64 a = attention_of(p);
    loss(p);
    memset(p->slope, 0, p->inputs * sizeof *p->slope);
    memcpy(p->out_slope, p->weights, p->outputs * sizeof *p->out_slope);
    if (p->what < 3) {
        memcpy(p->slope, p->weights, p->outputs * sizeof *p->slope);
        p->k->gelu_backward(p->slope, NULL, p->x, p->inputs, (bang_gelu)p->what);
    } else if (p->what == 3) {
        p->k->norm_backward(p->slope, gain, gain + WIDTH, p->out_slope, p->x, p->mean, p->scale,
                            p->x + ROWS * WIDTH, ROWS, WIDTH);
    } else if (p->what == 4) {
        p->k->unit_backward(p->slope, p->out_slope, p->out, p->mean, ROWS, WIDTH);
    } else {
        p->k->attention_backward(&a);
    }
}

static void check_slopes(const bang_layers_f64 *k, int what)
{
    static const size_t inputs[] = {40,
                                    40,
                                    40,
                                    (ROWS + 2) * WIDTH,
                                    ROWS * WIDTH,
                                    TOKENS * 3 * HEADS * HEAD,
                                    TOKENS * 3 * HEADS * HEAD};
    size_t most = TOKENS * 3 * HEADS * HEAD;
    problem p = {.k = k, .what = what, .inputs = inputs[what], .outputs = inputs[what]};
    if (what >= 3)
        p.outputs = what < 5 ? ROWS * WIDTH : QUERIES * HEADS * HEAD;
    p.x = normals_f64(most, 1), p.weights = normals_f64(most, 2);
    p.out = room_f64(most), p.slope = room_f64(most), p.out_slope = room_f64(most);
    p.mean = room_f64(most), p.scale = room_f64(most);
    p.scratch = room_f64(bang_attention_scratch_f64(TOKENS, HEADS, HEAD));
    slopes(&p);
    for (size_t i = 0; i < p.inputs; i++) {
        double x = p.x[i], step = 1e-5;
        p.x[i] = x + step;
        double up = loss(&p);
        p.x[i] = x - step;
        double down = loss(&p), want = (up - down) / (2 * step);
        p.x[i] = x;
        if (!(fabs(p.slope[i] - want) <= 1e-8 * (1 + fabs(want))))
            fail_msg("%s %d: slope of input %zu is %.12g instead of %.12g", k->name, what, i,
                     p.slope[i], want);
    }
    free(p.x), free(p.weights), free(p.out), free(p.slope), free(p.out_slope);
    free(p.mean), free(p.scale), free(p.scratch);
}

static void test_slopes(void **state)
{
    (void)state;
    for (int what = 0; what < 7; what++) {
        check_slopes(&bang_layers_naive_f64, what);
        check_slopes(&bang_layers_portable_f64, what);
        check_slopes(bang_layers_best_f64(), what);
    }
}

/* The sum of squares of floats has the same bits for all kinds of processors. */
static void test_same_squares(void **state)
{
    (void)state;
    float *x = normals_f32(1000, 1);
    for (size_t count = 0; count < 1000; count += 1 + count / 3) {
        double one = bang_layers_portable_f32.square_sum(x, count);
        double other = bang_layers_best_f32()->square_sum(x, count);
        assert_memory_equal(&one, &other, sizeof one);
    }
    free(x);
}

static void test_choice(void **state)
{
    (void)state;
    assert_string_equal(bang_layers_portable_f32.name, "portable");
    assert_string_equal(bang_layers_naive_f64.name, "naive");
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        assert_ptr_equal(bang_layers_best_f32(), &bang_layers_avx2_f32);
        assert_ptr_equal(bang_layers_best_f64(), &bang_layers_avx2_f64);
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portable_f32), cmocka_unit_test(test_portable_f64),
        cmocka_unit_test(test_best_f32),     cmocka_unit_test(test_best_f64),
        cmocka_unit_test(test_slopes),       cmocka_unit_test(test_same_squares),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
