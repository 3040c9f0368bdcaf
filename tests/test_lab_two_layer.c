/* Terms of two-layer networks near a base, against plain sums and what is known of them. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "lab/two_layer_show.h"

enum { HIDDEN = 12, OUTPUTS = 4 };

typedef struct sample {
    two_layer_heads heads;
    double h[HIDDEN], d[2][HIDDEN];
} sample;

/* h: at least gap away from 0. */
static void draw(sample *s, bang_random *random, double gap)
{
    s->heads.hidden = HIDDEN;
    s->heads.outputs = OUTPUTS;
    for (int i = 0; i < (HIDDEN + 1) * OUTPUTS; i++) {
        s->heads.base[i] = bang_random_normal(random);
        s->heads.change[0][i] = bang_random_normal(random);
        s->heads.change[1][i] = bang_random_normal(random);
    }
    for (int i = 0; i < HIDDEN; i++) {
        double h = bang_random_normal(random);
        s->h[i] = h + (h > 0 ? gap : -gap);
        s->d[0][i] = bang_random_normal(random);
        s->d[1][i] = bang_random_normal(random);
    }
}

static void split(two_layer_split *out, const sample *s, double scale)
{
    two_layer_split_image(out, &s->heads, s->h, s->d[0], s->d[1], scale);
}

/* Output k of the network with these shares of both changes, as one would write it down. */
static double network(const sample *s, double first, double second, int k)
{
    double sum = 0;
    for (int i = 0; i <= HIDDEN; i++) {
        int at = i * OUTPUTS + k;
        double head =
            s->heads.base[at] + first * s->heads.change[0][at] + second * s->heads.change[1][at];
        double z = i < HIDDEN ? s->h[i] + first * s->d[0][i] + second * s->d[1][i] : 1;
        sum += head * fmax(z, 0);
    }
    return sum;
}

static void near_to(double got, double want)
{
    assert_true(fabs(got - want) <= 1e-12 * (1 + fabs(want)));
}

static bang_random start(uint64_t stream)
{
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('t', 'e', 's', 't'), stream);
    return random;
}

/* The terms sum to the network's output; WSE and OSE agree in the first two, and differ in the
 * third as the closed form says. */
static void test_terms(void **state)
{
    (void)state;
    bang_random random = start(1);
    for (int round = 0; round < 50; round++) {
        const double shares[3][2] = {{1, 0}, {0, 1}, {.5, .5}};
        sample s;
        two_layer_split x;
        draw(&s, &random, 0);
        split(&x, &s, 1);
        for (int k = 0; k < OUTPUTS; k++) {
            for (int m = 0; m < TWO_MEMBERS; m++) {
                double sum = 0;
                for (int t = 0; t < TWO_TERMS; t++)
                    sum += x.term[m][t][k];
                near_to(x.output[m][k], sum);
                if (m < 3)
                    near_to(x.output[m][k], network(&s, shares[m][0], shares[m][1], k));
            }
            near_to(x.output[TWO_OSE][k], (network(&s, 1, 0, k) + network(&s, 0, 1, k)) / 2);
            near_to(x.term[TWO_WSE][TWO_FIXED][k], network(&s, 0, 0, k));
            near_to(x.term[TWO_WSE][TWO_FIXED][k], x.term[TWO_OSE][TWO_FIXED][k]);
            near_to(x.term[TWO_WSE][TWO_LINEAR][k], x.term[TWO_OSE][TWO_LINEAR][k]);
            double closed = 0; /* -1/4 (dB_1 - dB_2)' D (d_1 - d_2) */
            for (int i = 0; i < HIDDEN; i++) {
                int at = i * OUTPUTS + k;
                if (s.h[i] > 0)
                    closed -= (s.heads.change[0][at] - s.heads.change[1][at]) *
                              (s.d[0][i] - s.d[1][i]) / 4;
            }
            near_to(x.term[TWO_WSE][TWO_BILINEAR][k] - x.term[TWO_OSE][TWO_BILINEAR][k], closed);
        }
    }
}

/* While no unit is switched there is no rest at all, and WSE - OSE is the bilinear part. */
static void test_no_switch_no_rest(void **state)
{
    (void)state;
    bang_random random = start(2);
    for (int round = 0; round < 20; round++) {
        sample s;
        two_layer_split x;
        draw(&s, &random, 10);
        split(&x, &s, 1);
        for (int m = 0; m < 3; m++)
            assert_int_equal(x.switched[m], 0);
        for (int k = 0; k < OUTPUTS; k++) {
            for (int m = 0; m < TWO_MEMBERS; m++)
                assert_true(x.term[m][TWO_REST][k] == 0);
            near_to(x.output[TWO_WSE][k] - x.output[TWO_OSE][k],
                    x.term[TWO_WSE][TWO_BILINEAR][k] - x.term[TWO_OSE][TWO_BILINEAR][k]);
        }
    }
}

/* (b) is the derivative along the change, (c) half the second one, by finite differences. */
static void test_derivatives(void **state)
{
    (void)state;
    bang_random random = start(3);
    const double e = 1e-4;
    sample s;
    two_layer_split x;
    draw(&s, &random, 0.01);
    split(&x, &s, 1);
    for (int k = 0; k < OUTPUTS; k++)
        for (int m = 0; m < 3; m++) {
            double a = m == 1 ? 0 : m == 2 ? .5 : 1, b = m == 0 ? 0 : m == 2 ? .5 : 1;
            double up = network(&s, e * a, e * b, k), down = network(&s, -e * a, -e * b, k);
            double here = network(&s, 0, 0, k);
            assert_true(fabs((up - down) / (2 * e) - x.term[m][TWO_LINEAR][k]) < 1e-8);
            assert_true(fabs((up - 2 * here + down) / (2 * e * e) - x.term[m][TWO_BILINEAR][k]) <
                        1e-5);
        }
}

/* How a smaller change shrinks both parts: the bilinear one with its square, exactly; the root
 * mean square of the rest with its power 1.5, and its mean size with the square. */
static void test_orders(void **state)
{
    (void)state;
    enum { ROUNDS = 40000 };
    const double scale[2] = {1. / 16, 1. / 64};
    double bilinear[2] = {0}, rest[2] = {0}, size[2] = {0};
    bang_random random = start(4);
    for (int round = 0; round < ROUNDS; round++) {
        sample s;
        draw(&s, &random, 0);
        for (int j = 0; j < 2; j++) {
            two_layer_split x;
            split(&x, &s, scale[j]);
            for (int k = 0; k < OUTPUTS; k++) {
                double c = x.term[TWO_WSE][TWO_BILINEAR][k] - x.term[TWO_OSE][TWO_BILINEAR][k];
                double r = x.term[TWO_WSE][TWO_REST][k] - x.term[TWO_OSE][TWO_REST][k];
                bilinear[j] += c * c;
                rest[j] += r * r;
                size[j] += fabs(r);
            }
        }
    }
    near_to(log(bilinear[0] / bilinear[1]) / log(4) / 2, 2);
    assert_true(fabs(log(rest[0] / rest[1]) / log(4) / 2 - 1.5) < 0.05);
    assert_true(fabs(log(size[0] / size[1]) / log(4) - 2) < 0.1);
}

enum { ROWS = 300, INPUTS = 7 };

typedef struct made {
    bang_array inputs;
    bang_columns columns;
    bang_rows rows;
    int64_t labels[ROWS];
    bang_mlp base, first, second;
} made;

static void make(made *m)
{
    const size_t width[] = {INPUTS, HIDDEN, OUTPUTS};
    bang_random random = start(6);
    bang_mlp *all[] = {&m->base, &m->first, &m->second};
    assert_int_equal(bang_array_init(&m->inputs, BANG_F32, 2, (size_t[]){ROWS, INPUTS}, NULL), 0);
    for (size_t i = 0; i < m->inputs.count; i++)
        ((float *)m->inputs.data)[i] = (float)bang_random_normal(&random);
    for (size_t i = 0; i < ROWS; i++)
        m->labels[i] = (int64_t)bang_random_below(&random, OUTPUTS);
    assert_int_equal(bang_columns_init_all(&m->columns, INPUTS, NULL), 0);
    assert_int_equal(bang_rows_init_dense(&m->rows, &m->columns, &m->inputs, NULL), 0);
    for (uint64_t k = 0; k < 3; k++) {
        assert_int_equal(bang_mlp_init(all[k], 2, width, BANG_RELU, NULL), 0);
        bang_mlp_randomise(all[k], 9, k);
    }
}

static void release(made *m)
{
    bang_rows_release(&m->rows);
    bang_columns_release(&m->columns);
    bang_array_release(&m->inputs);
    bang_mlp_release(&m->base);
    bang_mlp_release(&m->first);
    bang_mlp_release(&m->second);
}

static size_t right_ones(const float *z, const int64_t *labels)
{
    size_t right = 0;
    for (size_t i = 0; i < ROWS; i++, z += OUTPUTS) {
        size_t best = 0;
        for (size_t k = 1; k < OUTPUTS; k++)
            best = z[k] > z[best] ? k : best;
        right += (int64_t)best == labels[i];
    }
    return right;
}

/* Logits less their mean over the classes. */
static void centre(float *z)
{
    for (size_t i = 0; i < ROWS; i++, z += OUTPUTS) {
        double mean = 0;
        for (size_t k = 0; k < OUTPUTS; k++)
            mean += (double)z[k] / OUTPUTS;
        for (size_t k = 0; k < OUTPUTS; k++)
            z[k] = (float)((double)z[k] - mean);
    }
}

/* The sums are those of the networks as the program runs them elsewhere. */
static void test_measure(void **state)
{
    (void)state;
    made m;
    two_layer_sums sums;
    float z[4][ROWS * OUTPUTS];
    bang_mlp half;
    bang_error err = {0};
    make(&m);
    assert_int_equal(average_mix(&half, &m.first, &m.second, 0.5, &err), 0);
    const bang_mlp *nets[] = {&m.first, &m.second, &half};
    double square[4] = {0}, whole = 0;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(bang_mlp_predict(z[k], nets[k], &m.rows, 0, ROWS, &err), 0);
        centre(z[k]);
    }
    for (size_t i = 0; i < ROWS * OUTPUTS; i++) {
        z[TWO_OSE][i] = (z[0][i] + z[1][i]) / 2;
        whole += pow((double)z[TWO_WSE][i] - (double)z[TWO_OSE][i], 2);
        for (int k = 0; k < 4; k++)
            square[k] += (double)z[k][i] * (double)z[k][i];
    }
    assert_int_equal(
        two_layer_measure(&sums, &m.base, &m.first, &m.second, 1, &m.rows, m.labels, ROWS, &err),
        0);
    assert_int_equal(sums.images, ROWS);
    for (int k = 0; k < 4; k++) {
        assert_true(fabs(sums.output[k] / square[k] - 1) < 1e-5);
        assert_int_equal(sums.right[k], right_ones(z[k], m.labels));
    }
    assert_true(fabs(sums.whole / whole - 1) < 1e-5);
    assert_true(sums.differ > 0 && sums.foretold <= sums.differ);
    assert_true(sums.switched[0] > 0 && sums.switched[2] > 0);
    /* a pair of the base and a model: one change is nothing */
    assert_int_equal(
        two_layer_measure(&sums, &m.base, &m.base, &m.second, 1, &m.rows, m.labels, ROWS, &err), 0);
    assert_int_equal(sums.switched[0], 0);
    assert_true(sums.term[TWO_FIRST][TWO_LINEAR] == 0 && sums.term[TWO_FIRST][TWO_REST] == 0);
    near_to(sums.bilinear, sums.term[TWO_SECOND][TWO_BILINEAR] / 16); /* -1/4 (c) of the other */
    bang_mlp_release(&half);
    release(&m);
}

/* A change that raises all classes alike is no difference of two models. */
static void test_common_part_is_none(void **state)
{
    (void)state;
    made m;
    two_layer_sums plain, raised;
    bang_error err = {0};
    make(&m);
    assert_int_equal(
        two_layer_measure(&plain, &m.base, &m.first, &m.second, 1, &m.rows, m.labels, ROWS, &err),
        0);
    for (size_t i = 0; i < HIDDEN; i++)
        for (size_t k = 0; k < OUTPUTS; k++)
            m.second.weight[1][i * m.second.stride[2] + k] += 8;
    assert_int_equal(
        two_layer_measure(&raised, &m.base, &m.first, &m.second, 1, &m.rows, m.labels, ROWS, &err),
        0);
    assert_true(plain.whole > 0 && plain.rest > 0);
    assert_true(fabs(raised.whole / plain.whole - 1) < 1e-4);
    assert_true(fabs(raised.bilinear / plain.bilinear - 1) < 1e-4);
    assert_true(fabs(raised.rest / plain.rest - 1) < 1e-4);
    assert_true(fabs(raised.output[TWO_SECOND] / plain.output[TWO_SECOND] - 1) < 1e-4);
    release(&m);
}

static void test_refuses(void **state)
{
    (void)state;
    made m;
    two_layer_sums sums;
    bang_mlp deep;
    bang_error err = {0};
    make(&m);
    const size_t width[] = {INPUTS, HIDDEN, HIDDEN, OUTPUTS};
    assert_int_equal(bang_mlp_init(&deep, 3, width, BANG_RELU, NULL), 0);
    assert_int_equal(
        two_layer_measure(&sums, &deep, &deep, &deep, 1, &m.rows, m.labels, ROWS, &err),
        BANG_EUSAGE);
    assert_int_equal(
        two_layer_measure(&sums, &m.base, &m.base, &m.base, 1, &m.rows, m.labels, ROWS + 1, &err),
        BANG_EUSAGE);
    bang_mlp_release(&deep);
    release(&m);
}

/* A record of one network: sums with these squares of the whole and of the rest. */
static json_t *record(double whole, double rest)
{
    json_t *cell = json_pack(
        "{si si s[ffff] s[[ffff][ffff][ffff][ffff]] s[fff] s[fff] s[iii] si si si si s[iiii]}",
        "images", 10, "logits", 100, "output", 1., 1., 1., 1., "term", 1., 1., 1., 1., 1., 1., 1.,
        1., 4., 1., 1., 1., 1., 1., 1., 1., "squares", whole, 1., rest, "sizes", 1., 1., 1.,
        "switched", 1, 2, 3, "units", 640, "differ", 4, "foretold", 3, "alarms", 1, "right", 5, 6,
        7, 8);
    return json_pack("{s[{s{s[[oO]]}}]}", "networks", "pre-fine", "steps", cell, cell);
}

static void test_cells(void **state)
{
    (void)state;
    json_t *units = json_pack("[oo]", record(10, 2), record(30, 3));
    two_layer_cell c;
    two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", 0, 1);
    assert_int_equal(c.networks, 2);
    near_to(c.share, 5. / 40);
    near_to(c.share_error, fabs(.2 - .1) / 2);
    near_to(c.whole, sqrt(40. / 200));
    near_to(c.rest, sqrt(5. / 200));
    near_to(c.term[TWO_WSE][TWO_FIXED], sqrt(8. / 200));
    near_to(c.switched, 4. / 1280);
    near_to(c.accuracy[TWO_OSE], .8);
    assert_int_equal(c.different, 8);
    two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", 0, TWO_SHIFTS);
    assert_int_equal(c.images, 40);
    near_to(c.share, 5. / 40);
    json_decref(units);
}

/* Networks of a seed are one draw, and one of which nothing differs has no share. */
static void test_error_is_of_seeds(void **state)
{
    (void)state;
    json_t *units = json_pack("[oooo]", record(10, 2), record(30, 3), record(0, 0), record(20, 1));
    json_t *two = json_object_get(json_array_get(units, 1), "networks");
    json_t *more = record(10, 5);
    two_layer_cell c;
    json_array_extend(two, json_object_get(more, "networks"));
    two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", 0, 1);
    assert_int_equal(c.networks, 5);
    near_to(c.share, 11. / 70);
    near_to(c.share_error, .05); /* of .2, .2 and .05: sd .15/sqrt(3) */
    json_decref(more);
    json_decref(units);
    units = json_pack("[o]", record(10, 2));
    two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", 0, 1);
    assert_true(isnan(c.share_error));
    json_decref(units);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_no_switch_no_rest),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_common_part_is_none),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_error_is_of_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
