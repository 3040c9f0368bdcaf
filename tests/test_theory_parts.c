/* The parts that the exact methods are made of, each against its definition. */
#include "theory_cases.h"

#include "bang/base/arena.h"
#include "theory/fourier.h"
#include "theory/levels.h"
#include "theory/loss.h"
#include "theory/poisson.h"

static void test_fourier_against_definition(void **state)
{
    (void)state;
    enum { SIZE = 64, COLUMNS = 3 };
    complex_pair in[SIZE * COLUMNS], out[SIZE * COLUMNS], root[SIZE];
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('f', 'o', 'u', 'r'), 0);
    for (int i = 0; i < SIZE * COLUMNS; i++)
        in[i] = out[i] = (complex_pair){bang_random_normal(&random), bang_random_normal(&random)};
    for (int k = 0; k < SIZE; k++)
        root[k] = (complex_pair){cos(2 * acos(-1) * k / SIZE), sin(2 * acos(-1) * k / SIZE)};
    fourier_columns(out, SIZE, COLUMNS, root);
    for (int j = 0; j < SIZE; j++)
        for (int c = 0; c < COLUMNS; c++) {
            complex_pair sum = {0, 0};
            for (int a = 0; a < SIZE; a++)
                sum = complex_add(sum, complex_mul(in[a * COLUMNS + c], root[a * j % SIZE]));
            assert_near(out[j * COLUMNS + c].re, sum.re, 1e-12);
            assert_near(out[j * COLUMNS + c].im, sum.im, 1e-12);
        }
}

static void test_poisson_against_definition(void **state)
{
    (void)state;
    static const double means[] = {1e-8, 0.3, 5, 77.5, 1000, 90000.25};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        int64_t low, high;
        poisson_stretch(&low, &high, means[i], 1000000, 1e-20);
        double *table = malloc((size_t)(high - low + 1) * sizeof *table), sum = 0;
        assert_non_null(table);
        poisson_table(table, means[i], low, high);
        for (int64_t k = low; k <= high; k++) {
            long double log_value = k * logl((long double)means[i]) - (long double)means[i] -
                                    lgammal((long double)k + 1);
            /* the recurrence takes a rounding a step from the mode; lgammal is
             * good to a rounding of its own value */
            double expected = (double)expl(log_value);
            double steps = 16 + fabs((double)k - means[i]);
            double reference = 2e-19 * (double)lgammal((long double)k + 1);
            assert_near(table[k - low], expected, (3e-16 * steps + reference) * expected);
            sum += table[k - low];
        }
        assert_near(sum, 1, 1e-14);
        free(table);
    }
    /* cut at most */
    int64_t low, high;
    poisson_stretch(&low, &high, 10, 4, 1e-20);
    assert_true(high == 4 && low == 0);
}

static void test_levels(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_arena arena = {0};
    level_set levels;
    /* 0.3 a + 0.7 b: ten units of 0.1 make 0.3 * 7 = 0.7 * 3 one level */
    const bang_theory_group groups[2] = {{0.3, 7}, {0.7, 3}};
    const int64_t low[2] = {0, 0}, high[2] = {7, 3};
    assert_near(levels_unit(groups, 2), 0.1, 1e-15);
    assert_true(levels_bound(groups, 2, low, high) <= 32);
    assert_int_equal(levels_build(&levels, groups, 2, low, high, 1e-12, &arena, &err), 0);
    assert_int_equal(levels.count, 31); /* 32 combinations, one shared value */
    const level_step *last = &levels.steps[1];
    for (size_t a = 0; a <= 7; a++)
        for (size_t b = 0; b <= 3; b++) {
            size_t before = levels.steps[0].next[a];
            double value = levels.value[last->next[before * last->range + b]];
            assert_near(value, 0.3 * (double)a + 0.7 * (double)b, 1e-12);
        }
    for (size_t i = 1; i < levels.count; i++)
        assert_true(levels.value[i] > levels.value[i - 1] + 1e-9);
    assert_int_equal(levels_find(&levels, 2.1, 1e-12),
                     last->next[levels.steps[0].next[7] * last->range]);
    const bang_theory_group unrelated[2] = {{1, 3}, {0.5772156649015, 3}};
    assert_near(levels_unit(unrelated, 2), 0, 0);
    bang_arena_release(&arena);
}

/* full^(K-1) - F for real probabilities, where all is known; many classes go
 * through logarithms, few through products. */
static void test_loss_against_sums(void **state)
{
    (void)state;
    static const double tails[][2] = {{0.3, 0.1}, {1e-9, 0}, {0.9, 0.2}, {1, 0.4}, {0.2, 0.2}};
    for (int64_t classes = 2; classes <= 40; classes++)
        for (int i = 0; i < 5; i++) {
            double over = tails[i][0], above = tails[i][1];
            tail t = {.full = {1, 0}, .over = {over, 0}, .above = {above, 0}};
            t.tie = over != above;
            double sum = 0;
            for (int64_t j = 0; j < classes; j++)
                sum += pow(1 - above, (double)j) * pow(1 - over, (double)(classes - 1 - j));
            double f = t.tie ? sum / (double)classes : pow(1 - over, (double)(classes - 1));
            assert_near(tail_loss(&t, classes).re, 1 - f, 1e-14);
        }
}

static void test_complex_functions(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 2, BANG_PURPOSE('c', 'p', 'l', 'x'), 0);
    for (int i = 0; i < 1000; i++) {
        complex_pair z = {bang_random_normal(&random), bang_random_normal(&random)};
        complex_pair back = complex_exp(complex_log(z));
        assert_near(back.re, z.re, 1e-14);
        assert_near(back.im, z.im, 1e-14);
        complex_pair one = complex_div(z, z);
        assert_near(one.re, 1, 1e-15);
        assert_near(one.im, 0, 1e-15);
        z = complex_scale(z, 1e-10); /* where log(1+z) and exp(z)-1 would lose ten digits */
        complex_pair same = complex_expm1(complex_log1p(z));
        assert_near(same.re, z.re, 1e-25);
        assert_near(same.im, z.im, 1e-25);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fourier_against_definition),
        cmocka_unit_test(test_poisson_against_definition),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_loss_against_sums),
        cmocka_unit_test(test_complex_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
