/* Linear combinations, Fisher's average and sums of products, against plain
 * references, in all number types. */
#include "testing.h"

#include <float.h>

#include "combine_cases.h"

static double linear_at(const struct problem *p, const double *weights, size_t i)
{
    double sum = 0;
    int any = 0;
    for (size_t input = 0; input < p->block.inputs; input++)
        if (weights[input] != 0) {
            double part = times(p, rounded(p, weights[input]), get(p, input, i));
            sum = any ? plus(p, sum, part) : part;
            any = 1;
        }
    return sum;
}

static void check_linear(struct problem *p, const double *weights)
{
    for (int v = 0; v < 2; v++) {
        size_t bad = version_for(v, p)->linear(&p->block, weights);
        CHECK_OUTPUT(p, bad, linear_at(p, weights, i));
        assert_int_equal(bang_block_linear(&p->block, weights), bad);
        CHECK_OUTPUT(p, bad, linear_at(p, weights, i));
    }
}

static void test_linear_types(void **state)
{
    (void)state;
    static const double weights[] = {0.3, 0.7, -1.25};
    for (int a = 0; a < REAL_TYPES; a++)
        for (int b = 0; b < REAL_TYPES; b++)
            for (int out = 0; out < REAL_TYPES; out++) {
                struct problem p;
                make_problem(&p, 2 + (size_t)(a + out) % 2, 83,
                             (bang_dtype[]){real_types[a], real_types[b]}, 2, real_types[out],
                             (size_t)(a + b + out) % 2, 1);
                check_linear(&p, weights);
                drop_problem(&p);
            }
}

/* Any length, aligned or not, also longer than what is worked on at once. */
static void test_linear_lengths(void **state)
{
    (void)state;
    static const double weights[MOST_INPUTS] = {0.1, 0.2, 0, 0.3, -0.4, 0.5, 0.25};
    for (size_t count = 0; count < 75; count++)
        for (int type = 0; type < REAL_TYPES; type++) {
            struct problem p;
            size_t length = count < 70 ? count : 1000 * (count - 69) + count;
            make_problem(&p, 1 + count % 7, length, real_types + type, 1, real_types[type],
                         count % 3, count);
            check_linear(&p, weights);
            drop_problem(&p);
        }
}

static void test_left_out(void **state)
{
    (void)state;
    struct problem p;
    make_problem(&p, 4, 100, real_types + 1, 1, BANG_F32, 0, 2);
    for (size_t i = 0; i < 100; i++)
        put(&p, 2, i, NAN);
    p.in[0] = NULL;
    check_linear(&p, (double[]){0, 0.5, 0, 2});
    check_linear(&p, (double[]){0, 0, 0, -1.5});
    check_linear(&p, (double[]){0, 1, 0, 0});
    assert_memory_equal(p.block.out, p.in[1], 400); /* a copy */
    check_linear(&p, (double[]){0, 0, 0, 0});
    for (size_t i = 0; i < 100; i++)
        assert_true(result(&p, i) == 0);
    assert_int_equal(bang_block_linear(&p.block, (double[]){0, 1, 0.5, 0}), 100);
    drop_problem(&p);
}

/* (x + y)/2 is rounded once, and F64 stays a double. */
static void test_average(void **state)
{
    (void)state;
    for (int type = 0; type < REAL_TYPES; type++) {
        struct problem p;
        make_problem(&p, 2, 1500, real_types + type, 1, real_types[type], 0, 3);
        assert_int_equal(bang_block_linear(&p.block, (double[]){0.5, 0.5}), 0);
        CHECK_OUTPUT(&p, 0, (get(&p, 0, i) + get(&p, 1, i)) / 2);
        drop_problem(&p);
    }
    struct problem p;
    make_problem(&p, 2, 1, real_types, 1, BANG_F64, 0, 3);
    put(&p, 0, 0, 1);
    put(&p, 1, 0, 1 + 0x1p-40);
    assert_int_equal(bang_block_linear(&p.block, (double[]){0.5, 0.5}), 0);
    assert_true(result(&p, 0) == 1 + 0x1p-41);
    drop_problem(&p);
}

/* Numbers that the output's type cannot hold are counted after rounding. */
static void test_not_finite(void **state)
{
    (void)state;
    static const double values[] = {
        448,     464,        465,      480, 57344,    61439,  61440,    65504,     65519, 65520,
        3.39e38, 0x1.ffp127, INFINITY, NAN, 0x1p-149, 0x1p-9, -0x1p-24, -INFINITY, -1e5};
    static const struct {
        bang_dtype type;
        size_t bad;
    } cases[] = {
        {BANG_F32, 3},          /* two infinities and a NaN */
        {BANG_BF16, 3 + 1},     /* 0x1.ffp127 is half way, and to even is up */
        {BANG_F16, 3 + 4},      /* from 65520 on */
        {BANG_F8_E5M2, 3 + 7},  /* from 61440 on */
        {BANG_F8_E4M3, 3 + 11}, /* above 464 */
    };
    enum { VALUES = sizeof values / sizeof *values, COPIES = 70 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct problem p;
        make_problem(&p, 1, VALUES * COPIES, real_types + 1, 1, cases[c].type, 1, 4);
        for (size_t i = 0; i < VALUES * COPIES; i++)
            put(&p, 0, i, values[i % VALUES]);
        check_linear(&p, (double[]){1});
        size_t bad = bang_block_linear(&p.block, (double[]){1});
        assert_int_equal(bad, cases[c].bad * COPIES);
        assert_int_equal(bang_block_not_finite(p.block.out, cases[c].type, VALUES * COPIES), bad);
        assert_int_equal(bang_block_not_finite(p.in[0], BANG_F32, VALUES * COPIES), 3 * COPIES);
        drop_problem(&p);
    }
    /* Which NaN comes out does not depend on those that went in. */
    for (int type = 0; type < REAL_TYPES; type++) {
        struct problem p;
        make_problem(&p, 2, 40, real_types + type, 1, real_types[type], 0, 4);
        memset(p.rooms[0], 0xff, 40 * 8);
        memset(p.rooms[1], 0x7f, 40 * 8);
        assert_int_equal(bang_block_linear(&p.block, (double[]){1, 1}), 40);
        char nan[8];
        bang_from_f64(nan, real_types[type], &(double){NAN}, 1);
        for (size_t i = 0; i < 40; i++)
            assert_memory_equal((char *)p.block.out + i * bang_dtype_size(real_types[type]), nan,
                                bang_dtype_size(real_types[type]));
        drop_problem(&p);
    }
}

static double fisher_at(const struct problem *p, const double *weights, size_t i)
{
    size_t models = p->block.inputs / 2;
    double upper = 0, lower = 0, mean = 0, total = 0;
    for (size_t m = 0; m < models; m++)
        total += weights[m];
    for (size_t m = 0; m < models; m++) {
        if (weights[m] == 0)
            continue;
        double part = times(p, rounded(p, weights[m]), get(p, models + m, i)), x = get(p, m, i);
        upper = plus(p, upper, times(p, part, x));
        lower = plus(p, lower, part);
        mean = plus(p, mean, times(p, rounded(p, weights[m] / total), x));
    }
    return lower <= 0 ? mean : over(p, upper, lower);
}

static void test_fisher(void **state)
{
    (void)state;
    static const double weights[] = {1, 0.5, 0};
    for (int type = 0; type < REAL_TYPES; type++)
        for (int out = 0; out < REAL_TYPES; out++)
            for (size_t models = 1; models <= 3; models++) {
                struct problem p;
                make_problem(&p, 2 * models, 1300, (bang_dtype[]){real_types[type], BANG_F32}, 2,
                             real_types[out], (size_t)out % 2, 5);
                for (size_t m = 0; m < models; m++)
                    for (size_t i = 0; i < p.block.count; i++) /* as squares are; some vanish */
                        put(&p, models + m, i,
                            i % 5 ? get(&p, models + m, i) * get(&p, models + m, i) : 0);
                if (models == 3)
                    p.in[2] = p.in[5] = NULL;
                for (int v = 0; v < 2; v++) {
                    size_t bad = version_for(v, &p)->fisher(&p.block, weights);
                    CHECK_OUTPUT(&p, bad, fisher_at(&p, weights, i));
                    assert_int_equal(bang_block_fisher(&p.block, weights), bad);
                }
                drop_problem(&p);
            }
    /* A NaN does not hide behind the average. */
    struct problem p;
    make_problem(&p, 4, 1, real_types + 1, 1, BANG_F32, 0, 6);
    put(&p, 2, 0, NAN);
    assert_int_equal(bang_block_fisher(&p.block, (double[]){1, 1}), 1);
    drop_problem(&p);
}

/* |computed - exact| <= (n + 2) 2^-53 sum |v_i v_j| whatever the order of a sum; the reference in
 * long double is better than that by 2^11. */
static void check_gram(size_t inputs, size_t count, size_t skip)
{
    struct problem p;
    double grams[2][MOST_INPUTS * MOST_INPUTS];
    make_problem(&p, inputs, count, real_types, REAL_TYPES, BANG_F32, skip, count + inputs);
    for (int v = 0; v < 2; v++) {
        for (size_t i = 0; i < inputs * inputs; i++)
            grams[v][i] = 0.25; /* is added to */
        version(v)->gram(&p.block, grams[v]);
    }
    assert_memory_equal(grams[0], grams[1], inputs * inputs * sizeof **grams);
    for (size_t a = 0; a < inputs; a++)
        for (size_t b = 0; b < inputs; b++) {
            long double sum = 0.25L, size = 0.25L;
            for (size_t i = 0; i < count; i++) {
                double base = get(&p, 0, i), x = get(&p, a, i), y = get(&p, b, i);
                long double product = (long double)(a ? x - base : x) * (b ? y - base : y);
                sum += product;
                size += fabsl(product);
            }
            long double error = fabsl(sum - grams[0][a * inputs + b]);
            if (!(error <= (long double)(count + 2) * 0x1p-53L * size))
                fail_msg("%zu numbers, %zu times %zu: %.17g, not %.17Lg", count, a, b,
                         grams[0][a * inputs + b], sum);
        }
    for (size_t i = 0; i < inputs * inputs; i++)
        grams[1][i] = 0.25;
    bang_block_gram(&p.block, grams[1]);
    assert_memory_equal(grams[0], grams[1], inputs * inputs * sizeof **grams);
    drop_problem(&p);
}

static void test_gram(void **state)
{
    (void)state;
    for (size_t count = 0; count < 40; count++)
        check_gram(3, count, count % 2);
    for (size_t inputs = 1; inputs <= MOST_INPUTS; inputs++)
        check_gram(inputs, 1111, 0);
    check_gram(2, 5000, 1);
}

/* A difference that a float could not hold. */
static void test_gram_differences(void **state)
{
    (void)state;
    struct problem p;
    double gram[4] = {0};
    make_problem(&p, 2, 1, (bang_dtype[]){BANG_F32, BANG_F32}, 2, BANG_F32, 0, 7);
    put(&p, 0, 0, 1);
    put(&p, 1, 0, 0x1p-30);
    bang_block_gram(&p.block, gram);
    assert_true(gram[0] == 1 && gram[1] == 0x1p-30 - 1 && gram[2] == gram[1]);
    assert_true(gram[3] == (0x1p-30 - 1) * (0x1p-30 - 1));
    drop_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_types), cmocka_unit_test(test_linear_lengths),
        cmocka_unit_test(test_left_out),     cmocka_unit_test(test_average),
        cmocka_unit_test(test_not_finite),   cmocka_unit_test(test_fisher),
        cmocka_unit_test(test_gram),         cmocka_unit_test(test_gram_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
