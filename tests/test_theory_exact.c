/* Every exact method against exact rationals, those against plain enumeration
 * of all outcomes, and the methods against each other where neither can go. */
#include "theory_cases.h"

static const bang_theory_method methods[] = {BANG_THEORY_GENERATING, BANG_THEORY_LATTICE,
                                             BANG_THEORY_SERIES};

static double rational(const bang_theory_score *score, int64_t classes, int64_t p, int64_t of)
{
    bang_error err = {0};
    double out = NAN;
    if (bang_theory_exact_rational(&out, score, classes, p, of, &err) < 0)
        fail_msg("%s", err.message);
    return out;
}

/* Rationals and all methods agree with walking through K^n outcomes. */
static void test_against_enumeration(void **state)
{
    (void)state;
    static const struct {
        int classes;
        double invariant;
        size_t groups;
        double c[3];
        int64_t n[3];
    } cases[] = {
        {2, 1, 1, {1}, {7}},
        {3, 2, 1, {1}, {3}},
        {3, 4, 2, {1, 2}, {4, 1}},
        {3, 6, 2, {1, 4}, {4, 1}},
        {3, 0, 1, {1}, {6}},
        {4, 1, 1, {1}, {6}},
        {5, 2, 2, {1, 2}, {3, 2}},
        {4, 1.5, 2, {0.7, 0.3}, {3, 3}},
        {3, 1, 3, {0.3, 0.7, 1}, {3, 3, 2}},
        {3, -1, 1, {1}, {5}},
        {3, 2, 2, {-0.2, 1.2}, {3, 4}},
        {2, 0.5, 2, {-1, 1}, {4, 4}},
        {4, 2, 2, {-1, 3}, {2, 3}},
        {3, 2, 1, {-1}, {5}},
        {6, 1, 1, {1}, {5}},
        {3, 0.09, 2, {0.09, 0.49}, {4, 3}},
        {3, 1, 2, {0.5772156649015, 1}, {3, 4}}, /* no common unit */
        {2, 0.4, 2, {-0.5772156649015, 1}, {3, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int p = 1; p <= 10; p += 3) {
            small_score s;
            const bang_theory_score *score =
                make_score(&s, cases[i].invariant, 0, cases[i].groups, cases[i].c, cases[i].n);
            double expected = naive_accuracy(score, cases[i].classes, p / 10.0);
            assert_near(rational(score, cases[i].classes, p, 10), expected, 1e-13);
            for (size_t m = 0; m < 3; m++)
                if (cases[i].classes <= 3 || methods[m] != BANG_THEORY_LATTICE)
                    assert_near(accuracy_by(score, cases[i].classes, p / 10.0, methods[m]),
                                expected, 1e-13);
        }
}

/* The promise: 1e-12 against exact rationals, here on random cases. */
static void test_against_rationals(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 7, BANG_PURPOSE('c', 'a', 's', 'e'), 0);
    static const int64_t class_counts[] = {2, 3, 3, 4, 7, 10, 37, 100, 1000, 100000};
    for (int i = 0; i < 120; i++) {
        int64_t classes = class_counts[bang_random_below(&random, 10)];
        size_t groups = 1 + bang_random_below(&random, 3);
        int64_t counts[3];
        double coefficients[3];
        for (size_t g = 0; g < groups; g++) {
            counts[g] = 1 + (int64_t)bang_random_below(&random, groups == 1 ? 40 : 14 / groups);
            coefficients[g] = (double)(1 + bang_random_below(&random, 8)) / (i % 2 ? 1 : 7);
            for (size_t k = 0; k < g; k++)
                if (coefficients[k] == coefficients[g])
                    coefficients[g] += 0.37;
        }
        double invariant = (double)bang_random_below(&random, 6) / (i % 2 ? 1 : 7);
        int64_t p = 1 + (int64_t)bang_random_below(&random, 20);
        small_score s;
        const bang_theory_score *score = make_score(&s, invariant, 0, groups, coefficients, counts);
        double expected = rational(score, classes, p, 20);
        for (size_t m = 0; m < 3; m++)
            if (classes <= 3 || methods[m] != BANG_THEORY_LATTICE)
                assert_near(accuracy_by(score, classes, (double)p / 20, methods[m]), expected,
                            1e-12);
        assert_near(accuracy_by(score, classes, (double)p / 20, BANG_THEORY_AUTO), expected, 1e-12);
    }
}

static void test_noise_against_enumeration(void **state)
{
    (void)state;
    static const double noises[] = {1e-9, 0.05, 0.3, 1, 4};
    static const struct {
        int classes;
        double invariant;
        size_t groups;
        double c[2];
        int64_t n[2];
    } cases[] = {
        {2, 1, 1, {1}, {4}},
        {3, 2, 1, {1}, {3}},
        {3, 4, 2, {1, 2}, {2, 1}},
        {4, 1, 1, {1}, {3}},
        {5, 0.5, 2, {0.75, 0.25}, {1, 2}}}; /* binary fractions: the walk adds them exactly */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof noises / sizeof *noises; k++) {
            small_score s;
            const bang_theory_score *score = make_score(&s, cases[i].invariant, noises[k],
                                                        cases[i].groups, cases[i].c, cases[i].n);
            double expected = naive_accuracy(score, cases[i].classes, 0.8);
            for (size_t m = 0; m < 3; m++)
                if (cases[i].classes <= 3 || methods[m] != BANG_THEORY_LATTICE)
                    assert_near(accuracy_by(score, cases[i].classes, 0.8, methods[m]), expected,
                                1e-12);
        }
}

/* Sizes that rationals do not reach: the three methods share no code. */
static void test_methods_agree_on_larger_cases(void **state)
{
    (void)state;
    static const struct {
        int64_t classes;
        double invariant, noise, shift;
        size_t groups;
        double c[3];
        int64_t n[3];
        bang_theory_method other;
    } cases[] = {
        {3, 5, 0, 0.9, 1, {1}, {800}, BANG_THEORY_LATTICE},
        {3, 20, 0, 1, 2, {1, 2}, {200, 60}, BANG_THEORY_LATTICE},
        {3, 20, 3, 0.9, 2, {1, 4}, {100, 20}, BANG_THEORY_LATTICE},
        {2, 5, 0, 0.95, 2, {1, 4}, {300, 40}, BANG_THEORY_LATTICE},
        {1000, 5, 0, 1, 1, {1}, {100}, BANG_THEORY_SERIES},
        {10, 5, 0, 0.95, 2, {1, 4}, {30, 6}, BANG_THEORY_SERIES},
        {1000, 2, 0.3, 1, 1, {1}, {60}, BANG_THEORY_SERIES},
        {50, 3, 0, 0.9, 3, {0.3, 0.7, 1}, {6, 6, 3}, BANG_THEORY_SERIES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        small_score s;
        const bang_theory_score *score = make_score(&s, cases[i].invariant, cases[i].noise,
                                                    cases[i].groups, cases[i].c, cases[i].n);
        double one = accuracy_by(score, cases[i].classes, cases[i].shift, BANG_THEORY_GENERATING);
        double two = accuracy_by(score, cases[i].classes, cases[i].shift, cases[i].other);
        assert_true(one > 0.05 && one < 1 - 1e-9);
        assert_near(one, two, 1e-12);
    }
}

/* K = 2 has a closed form: a binomial sum, here in long double. */
static void test_large_binary_case(void **state)
{
    (void)state;
    const int64_t n = 20000, v = 30;
    const long double p = 0.99L, q = 1 - p / 2;
    long double sum = 0;
    for (int64_t r = 0; r <= n; r++) {
        long double term = lgammal(n + 1.0L) - lgammal(r + 1.0L) - lgammal(n - r + 1.0L) +
                           r * logl(q) + (n - r) * logl(1 - q);
        int64_t margin = v + 2 * r - n;
        sum += margin > 0 ? expl(term) : margin == 0 ? 0.5L * expl(term) : 0;
    }
    small_score s;
    const bang_theory_score *score = make_score(&s, (double)v, 0, 1, (double[]){1}, (int64_t[]){n});
    assert_near(accuracy_by(score, 2, 0.99, BANG_THEORY_GENERATING), (double)sum, 1e-12);
    assert_near(accuracy_by(score, 2, 0.99, BANG_THEORY_LATTICE), (double)sum, 1e-12);
}

static void test_degenerate_cases(void **state)
{
    (void)state;
    small_score s;
    /* p = 0, or nothing spurious: certain */
    const bang_theory_score *score = make_score(&s, 1, 0, 1, (double[]){1}, (int64_t[]){5});
    assert_near(accuracy_by(score, 3, 0, BANG_THEORY_AUTO), 1, 0);
    score = make_score(&s, 0, 0, 1, (double[]){1}, (int64_t[]){5});
    assert_near(accuracy_by(score, 3, 0, BANG_THEORY_AUTO), 1, 0);
    score = make_score(&s, 2, 0, 0, NULL, NULL);
    assert_near(accuracy_by(score, 3, 0.9, BANG_THEORY_AUTO), 1, 0);
    /* no feature at all: a guess */
    score = make_score(&s, 0, 0, 0, NULL, NULL);
    assert_near(accuracy_by(score, 7, 0.9, BANG_THEORY_AUTO), 1.0 / 7, 1e-15);
    assert_near(bang_theory_gaussian(score, 7, 0.9), 1.0 / 7, 1e-15);
    assert_near(bang_theory_id_accuracy(score, 7), 1.0 / 7, 1e-15);
    /* only spurious features under full shift: a guess */
    score = make_score(&s, 0, 0, 1, (double[]){1}, (int64_t[]){9});
    for (size_t m = 0; m < 3; m++)
        assert_near(accuracy_by(score, 3, 1, methods[m]), 1.0 / 3, 1e-13);
    /* an overwhelming invariant part */
    score = make_score(&s, 100, 0, 1, (double[]){1}, (int64_t[]){9});
    for (size_t m = 0; m < 3; m++)
        assert_near(accuracy_by(score, 3, 1, methods[m]), 1, 1e-14);
    /* tiny shift */
    score = make_score(&s, 1, 0, 1, (double[]){1}, (int64_t[]){9});
    assert_near(accuracy_by(score, 10, 1e-300, BANG_THEORY_GENERATING), 1, 1e-15);
}

/* Weights such as .7 and .3 give ties that rounding must not break, and a
 * typed root is meant as the root. */
static void test_ties_survive_rounding(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("2,3", "2,3"));
    problem.scales[1] = 1.4142135623730951;
    bang_theory_score score;
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    double p = 0.9, expected = 1 - 4 * pow(p, 5) / 81 - 2 * pow(p, 6) / 243;
    for (size_t m = 0; m < 3; m++)
        assert_near(accuracy_by(&score, 3, 0.9, methods[m]), expected, 1e-13);
    bang_theory_score_release(&score);
    /* weights .1 to all of ten equal models: the same as weights 1 */
    small_score a, b;
    const bang_theory_score *tenths =
        make_score(&a, 0.1 + 0.1 + 0.1, 0, 1, (double[]){0.1}, (int64_t[]){7});
    const bang_theory_score *ones = make_score(&b, 3, 0, 1, (double[]){1}, (int64_t[]){7});
    for (size_t m = 0; m < 3; m++)
        assert_near(accuracy_by(tenths, 3, 0.9, methods[m]), accuracy_by(ones, 3, 0.9, methods[m]),
                    1e-14);
    bang_theory_problem_release(&problem);
}

static void test_monte_carlo(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_options options = BANG_THEORY_OPTIONS_INIT;
    options.method = BANG_THEORY_MONTE_CARLO;
    options.samples = 200000;
    static const double noises[] = {0, 0.5};
    for (int i = 0; i < 2; i++) {
        small_score s;
        const bang_theory_score *score =
            make_score(&s, 2, noises[i], 2, (double[]){1, 2}, (int64_t[]){8, 60});
        double exact = accuracy_by(score, 5, 0.95, BANG_THEORY_GENERATING);
        bang_theory_value one, two, other;
        options.threads = 1;
        options.seed = 1;
        assert_int_equal(bang_theory_exact(&one, score, 5, 0.95, &options, &err), 0);
        assert_true(one.standard_error > 1e-4 && one.standard_error < 2e-3);
        assert_near(one.accuracy, exact, 4.5 * one.standard_error);
        options.threads = 3;
        assert_int_equal(bang_theory_exact(&two, score, 5, 0.95, &options, &err), 0);
        assert_true(one.accuracy == two.accuracy && one.standard_error == two.standard_error);
        options.seed = 2;
        assert_int_equal(bang_theory_exact(&other, score, 5, 0.95, &options, &err), 0);
        assert_true(one.accuracy != other.accuracy);
    }
}

/* A case with many large groups of unrelated weights: sampled, and said so. */
static void test_falls_back_and_says_so(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_options options = BANG_THEORY_OPTIONS_INIT;
    options.samples = 4096;
    small_score s;
    const bang_theory_score *score = make_score(
        &s, 1, 0, 4, (double[]){0.31337, 0.577215, 0.6931471, 1}, (int64_t[]){60, 70, 80, 90});
    bang_theory_value value;
    assert_int_equal(bang_theory_exact(&value, score, 10, 1, &options, &err), 0);
    assert_int_equal(value.method, BANG_THEORY_MONTE_CARLO);
    assert_true(value.standard_error > 0);
    options.method = BANG_THEORY_LATTICE;
    assert_int_equal(bang_theory_exact(&value, score, 10, 1, &options, &err), BANG_EUSAGE);
    options.method = BANG_THEORY_SERIES;
    assert_int_equal(bang_theory_exact(&value, score, 10, 1, &options, &err), BANG_EUSAGE);
}

static void test_cancel(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_cancel cancel;
    atomic_init(&cancel.raised, 1);
    bang_theory_options options = BANG_THEORY_OPTIONS_INIT;
    options.cancel = &cancel;
    small_score s;
    const bang_theory_score *score = make_score(&s, 5, 0, 2, (double[]){1, 2}, (int64_t[]){20, 10});
    for (size_t m = 0; m < 3; m++) {
        bang_theory_value value;
        options.method = methods[m];
        assert_int_equal(bang_theory_exact(&value, score, 3, 0.9, &options, &err), BANG_ECANCELLED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_enumeration),
        cmocka_unit_test(test_against_rationals),
        cmocka_unit_test(test_noise_against_enumeration),
        cmocka_unit_test(test_methods_agree_on_larger_cases),
        cmocka_unit_test(test_large_binary_case),
        cmocka_unit_test(test_degenerate_cases),
        cmocka_unit_test(test_ties_survive_rounding),
        cmocka_unit_test(test_monte_carlo),
        cmocka_unit_test(test_falls_back_and_says_so),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
