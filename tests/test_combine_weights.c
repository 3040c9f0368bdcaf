/* Weights from measured sums, on vectors whose angles are known; layers by name. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/random.h"
#include "bang/combine/blocks.h"
#include "bang/combine/layer.h"

enum { SIZE = 64 };

/* The gram of x_0 and the differences of the others from it, exactly as blocks.h has it. */
static void gram_of(double *gram, const double (*x)[SIZE], size_t inputs)
{
    const void *in[8];
    bang_dtype types[8];
    for (size_t i = 0; i < inputs; i++) {
        in[i] = x[i];
        types[i] = BANG_F64;
    }
    memset(gram, 0, inputs * inputs * sizeof *gram);
    bang_block_gram(&(bang_block){.inputs = inputs, .count = SIZE, .in = in, .in_types = types},
                    gram);
}

static double norm(const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < SIZE; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* Two unit vectors with that angle between them, in no special direction. */
static void pair(double (*x)[SIZE], double angle, uint64_t seed)
{
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('s', 'l', 'r', 'p'), 0);
    double a[SIZE], b[SIZE], along = 0;
    for (size_t i = 0; i < SIZE; i++) {
        a[i] = bang_random_normal(&random);
        b[i] = bang_random_normal(&random);
    }
    double length = norm(a);
    for (size_t i = 0; i < SIZE; i++) {
        a[i] /= length;
        along += a[i] * b[i];
    }
    for (size_t i = 0; i < SIZE; i++)
        b[i] -= along * a[i];
    length = norm(b);
    for (size_t i = 0; i < SIZE; i++) {
        x[0][i] = a[i];
        x[1][i] = cos(angle) * a[i] + sin(angle) * b[i] / length;
    }
}

/* The formula, and that a unit vector stays one and turns by t of the angle. */
static void test_slerp(void **state)
{
    (void)state;
    static const double angles[] = {2e-4, 1e-3, 0.1, 1, 1.5707963267948966, 2, 3, 3.14};
    for (size_t a = 0; a < sizeof angles / sizeof *angles; a++)
        for (int step = 0; step <= 10; step++) {
            double x[3][SIZE], gram[9], w[2], t = step / 10.0, o = angles[a];
            pair(x, o, a + 1);
            gram_of(gram, (const double(*)[SIZE])x, 2);
            bang_weights_slerp(w, gram, t);
            /* Small angles are as good as others. Near pi |x_0 x d|^2 is what is left of
             * some 4 with a relative error of eps/sin^2, so the angle has one of eps/sin, and
             * the weights' slope is 1/sin^2. */
            double allowed = 64 * DBL_EPSILON / (o < 1.6 ? 1 : pow(sin(o), 3));
            assert_true(fabs(w[0] - sin((1 - t) * o) / sin(o)) <= allowed);
            assert_true(fabs(w[1] - sin(t * o) / sin(o)) <= allowed);
            for (size_t i = 0; i < SIZE; i++)
                x[2][i] = w[0] * x[0][i] + w[1] * x[1][i];
            assert_true(fabs(norm(x[2]) - 1) <= allowed);
            if (step == 0)
                assert_true(w[0] == 1 && w[1] == 0);
            if (step == 10)
                assert_true(w[0] == 0 && w[1] == 1);
        }
}

/* Lengths do not matter for the weights, only the angle does. */
static void test_slerp_lengths(void **state)
{
    (void)state;
    double x[2][SIZE], gram[4], w[2], v[2];
    pair(x, 0.7, 5);
    gram_of(gram, (const double(*)[SIZE])x, 2);
    bang_weights_slerp(w, gram, 0.3);
    for (size_t i = 0; i < SIZE; i++) {
        x[0][i] *= 3;
        x[1][i] *= 0.5;
    }
    gram_of(gram, (const double(*)[SIZE])x, 2);
    bang_weights_slerp(v, gram, 0.3);
    assert_true(fabs(w[0] - v[0]) < 1e-14 && fabs(w[1] - v[1]) < 1e-14);
}

static void test_slerp_parallel(void **state)
{
    (void)state;
    static const double grams[][4] = {
        {0, 0, 0, 4},           /* x_0 = 0 */
        {4, -4, -4, 4},         /* x_1 = 0 */
        {0, 0, 0, 0},           /* both */
        {4, 0, 0, 0},           /* the same */
        {4, 2, 2, 1},           /* 1.5 times as long */
        {4, -8, -8, 16},        /* opposite */
        {1, 0, 0, 1e-12},       /* nearly the same */
        {1, -2, -2, 4 + 1e-12}, /* nearly opposite */
        {NAN, NAN, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof grams / sizeof *grams; i++) {
        double w[2];
        bang_weights_slerp(w, grams[i], 0.25);
        assert_true(w[0] == 0.75 && w[1] == 0.25);
    }
    /* Where the two rules meet they agree. */
    double w[2], o = 1.0001e-4;
    bang_weights_slerp(w, (double[]){1, 0, 0, tan(o) * tan(o)}, 0.25);
    assert_true(w[0] != 0.75);
    assert_true(fabs(w[0] - 0.75) < 1e-8 && fabs(w[1] - 0.25) < 1e-8);
}

/* d_i = c e_0 + s e_i, all of one length, so that each pair has the cosine c^2/(c^2 + s^2); the
 * base is anything. t makes w the point of the plane through the models nearest to the base's
 * line: Jang et al., equation 2 for two models. */
static void test_stock(void **state)
{
    (void)state;
    /* what is infinite must not vanish behind the base */
    double infinite[9] = {1, 0, 0, 0, INFINITY, NAN, 0, NAN, 1}, shown[3];
    assert_true(bang_weights_stock(shown, infinite, 2) == 1 && shown[0] == 0);
    for (size_t models = 2; models <= 6; models++) {
        double x[7][SIZE] = {{0}}, gram[49], w[7], c = 0.6, s = 0.8, sum = 0;
        for (size_t i = 0; i < SIZE; i++)
            x[0][i] = 0.1 * (double)i;
        for (size_t m = 1; m <= models; m++) {
            double length = (double)m; /* lengths do not matter for cosines */
            memcpy(x[m], x[0], sizeof x[0]);
            x[m][0] += length * c;
            x[m][m] += length * s;
        }
        gram_of(gram, (const double(*)[SIZE])x, models + 1);
        double cosine = c * c, n = (double)models;
        double t = bang_weights_stock(w, gram, models);
        assert_true(fabs(t - n * cosine / (1 + (n - 1) * cosine)) < 1e-12);
        assert_true(fabs(w[0] - (1 - t)) < 1e-15);
        for (size_t m = 0; m <= models; m++) {
            sum += w[m];
            assert_true(m == 0 || w[m] == t / n);
        }
        assert_true(fabs(sum - 1) < 1e-14);
    }
}

static void test_stock_ends(void **state)
{
    (void)state;
    double w[4];
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 1}, 1) == 1);
    assert_true(w[0] == 0 && w[1] == 1);
    /* nothing changed; or one of two only: no pair to learn from */
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 0, 0, 0, 0, 0}, 2) == 1);
    assert_true(w[0] == 0 && w[1] == 0.5 && w[2] == 0.5);
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 2, 0, 0, 0, 0}, 2) == 1);
    /* at a right angle or beyond nothing is left; alike all is */
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 2) == 0);
    assert_true(w[0] == 1 && w[1] == 0 && w[2] == 0);
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 1, -1, 0, -1, 1}, 2) == 0);
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 1, 1, 0, 1, 1}, 2) == 1);
    /* rounding above 1 does not matter */
    assert_true(bang_weights_stock(w, (double[]){1, 0, 0, 0, 1, 1.0000001, 0, 1.0000001, 1}, 2) ==
                1);
}

static void test_layers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *layer;
    } cases[] = {
        {"vision_model.encoder.layers.3.self_attn.q_proj.weight", "vision_model.encoder.layers.3"},
        {"model.layers.11.mlp.experts.7.w1.weight", "model.layers.11"},
        {"0.weight", "0"},
        {"layer1.0.conv1.weight", "layer1.0"},
        {"blocks.12", "blocks.12"},
        {"head.weight", "head"},
        {"model.embed_tokens.weight", "model.embed_tokens"},
        {"x.1a.y.weight", "x.1a.y"},
        {"x.a1.weight", "x.a1"},
        {"logit_scale", "logit_scale"},
        {"7", "7"},
        {"", ""},
        {".weight", ""},
        {"a..b", "a."},
        {"a..3.b", "a..3"},
        {"head.", "head"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = bang_layer_length(cases[i].name);
        if (length != strlen(cases[i].layer) || strncmp(cases[i].name, cases[i].layer, length) != 0)
            fail_msg("\"%s\": \"%.*s\"", cases[i].name, (int)length, cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slerp),          cmocka_unit_test(test_slerp_lengths),
        cmocka_unit_test(test_slerp_parallel), cmocka_unit_test(test_stock),
        cmocka_unit_test(test_stock_ends),     cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
