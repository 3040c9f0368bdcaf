/* The best weights against dense search and known optima. */
#include "theory_cases.h"

static bang_theory_best best_of(bang_theory_problem *problem)
{
    bang_theory_best best;
    bang_error err = {0};
    if (bang_theory_find_best(&best, problem, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return best;
}

static double wse_at(const bang_theory_problem *problem, double alpha, int exact)
{
    bang_theory_problem copy = *problem;
    bang_theory_score score;
    bang_error err = {0};
    copy.weights[0] = 1 - alpha;
    copy.weights[1] = alpha;
    assert_int_equal(bang_theory_score_wse(&score, &copy, &err), 0);
    double out = exact ? accuracy_by(&score, copy.classes, copy.shift, BANG_THEORY_AUTO)
                       : bang_theory_gaussian(&score, copy.classes, copy.shift);
    bang_theory_score_release(&score);
    return out;
}

static const struct {
    int64_t classes;
    double shift;
    const char *one, *two;
    int64_t overlap[2];
    double scale;
} cases[] = {
    {3, 0.9, "2,4", "1,6", {0, 0}, 1},   {3, 0.9, "2,3", "2,3", {1, 1}, 1},
    {3, 0.7, "3,9", "1,5", {1, 2}, 1},   {3, 0.9, "2,3", "0,3", {0, 0}, 1},
    {2, 0.9, "2,7", "1,9", {1, 3}, 1.5}, {5, 0.9, "2,4", "1,6", {0, 1}, 1},
    {3, 0.9, "5,20", "4,20", {0, 0}, 1}, {3, 0.9, "2,3", "2,3", {0, 0}, 2},
    {3, 0.9, "2,4", "1,6", {0, 1}, 1}, /* best at the point 0 itself */
    {4, 0.8, "1,3", "2,4", {1, 2}, 1},   {2, 1, "1,5", "1,4", {0, 3}, 1},
};

/* No point of a grid beats the optimum; inside the interval G is the optimum,
 * just outside it is less. */
static void test_against_dense_search(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_error err = {0};
        bang_theory_problem problem;
        bang_theory_problem_init(&problem, cases[i].classes, cases[i].shift);
        add_models(&problem, MODELS(cases[i].one, cases[i].two));
        bang_theory_set_overlap(&problem, cases[i].overlap[0], cases[i].overlap[1], &err);
        problem.scales[1] = cases[i].scale;
        bang_theory_best best = best_of(&problem);
        for (int k = 0; k <= 200; k++) {
            assert_true(wse_at(&problem, k / 200.0, 0) <= best.wse_gaussian + 1e-14);
            assert_true(wse_at(&problem, k / 200.0, 1) <= best.wse_exact + 1e-12);
        }
        assert_near(wse_at(&problem, best.alpha_gaussian, 0), best.wse_gaussian, 1e-14);
        double low = best.alpha_exact[0], high = best.alpha_exact[1], step = (high - low) / 8;
        for (int k = 1; k < 8; k++)
            assert_near(wse_at(&problem, low + k * step, 1), best.wse_exact, 1e-12);
        double less = low > 0 ? low - 1e-9 : NAN, more = high < 1 ? high + 1e-9 : NAN;
        if (high == 0) /* next to 0 the other model's weight must not vanish in rounding */
            more = 1e-5;
        if (low > 0)
            assert_true(wse_at(&problem, less, 1) < best.wse_exact - 1e-12);
        if (high < 1)
            assert_true(wse_at(&problem, more, 1) < best.wse_exact - 1e-12);
        bang_theory_problem_release(&problem);
    }
}

/* (2,4) + (1,6) at p = .9. Without overlap the Gaussian optimum has
 * c_m = b_m/ns_m, so (alpha/(1-alpha))^2 = (1.6/6)/(2.4/4) = 4/9. */
static void test_wise_ft_example(void **state)
{
    (void)state;
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("2,4", "1,6"));
    bang_theory_best best = best_of(&problem);
    assert_near(best.alpha_gaussian, 0.4, 1e-13);
    assert_near(best.alpha_exact[0], sqrt(2) - 1, 1e-12);
    assert_near(best.alpha_exact[1], 0.4364916731, 1e-10);
    assert_near(best.wse_exact, 0.8998738912, 1e-10);
    assert_near(wse_at(&problem, 0.5, 1), 0.8771, 5e-5);
    assert_near(best.ose_weights[0], 9.0 / 13, 1e-12);
    assert_near(best.ose_weights[1], 4.0 / 13, 1e-12);
    bang_theory_problem_release(&problem);
}

/* Two classes have one margin, so the ratio that is maximised is all of F_p. */
static void test_output_weights_cannot_be_improved(void **state)
{
    (void)state;
    static const double sigmas[] = {0, 0.05};
    for (int i = 0; i < 2; i++) {
        bang_error err = {0};
        bang_theory_problem problem;
        bang_theory_problem_init(&problem, 2, 0.8);
        problem.sigma = sigmas[i];
        add_models(&problem, MODELS("v0-2,s0-5", "v1-3,s4-12", "v4,s12-15"));
        problem.scales[2] = 1.3;
        bang_theory_best best = best_of(&problem);
        assert_true(isnan(best.alpha_gaussian) && isnan(best.wse_exact));
        assert_near(best.ose_weights[0] + best.ose_weights[1] + best.ose_weights[2], 1, 1e-12);
        for (int m = 0; m < 3; m++)
            for (int side = -1; side <= 1; side += 2) {
                bang_theory_score score;
                memcpy(problem.weights, best.ose_weights, sizeof problem.weights);
                problem.weights[m] += 0.02 * side;
                assert_int_equal(bang_theory_score_ose(&score, &problem, &err), 0);
                assert_true(bang_theory_gaussian(&score, 2, 0.8) < best.ose_gaussian);
                bang_theory_score_release(&score);
            }
        bang_theory_problem_release(&problem);
    }
}

static void test_degenerate_optima(void **state)
{
    (void)state;
    bang_theory_problem problem;
    /* a model without spurious features needs no partner */
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("2,0", "2,3"));
    bang_theory_best best = best_of(&problem);
    assert_near(best.ose_weights[0], 1, 1e-12);
    assert_near(best.wse_exact, 1, 1e-15); /* a sum of probabilities */
    assert_near(best.alpha_exact[0], 0, 0);
    bang_theory_problem_release(&problem);
    /* twice the same model: any weight is as good */
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("v0,s0-2", "v0,s0-2"));
    best = best_of(&problem);
    assert_near(best.alpha_gaussian, 0.5, 0);
    assert_near(best.alpha_exact[0], 0, 0);
    assert_near(best.alpha_exact[1], 1, 0);
    assert_near(best.ose_weights[0], 0.5, 1e-12);
    bang_theory_problem_release(&problem);
    /* no shift */
    bang_theory_problem_init(&problem, 3, 0);
    add_models(&problem, MODELS("1,4", "2,3"));
    best = best_of(&problem);
    assert_near(best.wse_gaussian, 1, 0);
    assert_near(best.wse_exact, 1, 0);
    bang_theory_problem_release(&problem);
    /* nothing learned */
    bang_theory_problem_init(&problem, 4, 0.5);
    add_models(&problem, MODELS("0,0", "0,0"));
    best = best_of(&problem);
    assert_near(best.wse_exact, 0.25, 1e-15);
    assert_near(best.ose_weights[1], 0.5, 1e-15);
    bang_theory_problem_release(&problem);
    /* one model: nothing to weigh */
    bang_theory_problem_init(&problem, 3, 0.5);
    add_models(&problem, MODELS("1,1"));
    best = best_of(&problem);
    assert_true(isnan(best.alpha_gaussian) && !best.has_ose);
    bang_theory_problem_release(&problem);
}

/* The best weight may be 0 or 1 itself, next to which weights vanish. */
static void test_with_noise_at_the_end(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    problem.sigma = 0.1;
    add_models(&problem, MODELS("2,4", "2,4"));
    assert_int_equal(bang_theory_set_overlap(&problem, 0, 2, &err), 0);
    bang_theory_best best = best_of(&problem);
    assert_near(best.alpha_exact[0], 0, 0);
    assert_near(best.wse_exact, wse_at(&problem, 0, 1), 1e-14);
    assert_true(best.wse_exact > wse_at(&problem, 0.5, 1));
    bang_theory_problem_release(&problem);
}

static void test_with_noise(void **state)
{
    (void)state;
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    problem.sigma = 0.1;
    add_models(&problem, MODELS("2,4", "1,6"));
    bang_theory_best best = best_of(&problem);
    assert_true(best.alpha_exact[0] == best.alpha_exact[1]);
    for (int k = 0; k <= 400; k++) {
        assert_true(wse_at(&problem, k / 400.0, 1) <= best.wse_exact + 1e-12);
        assert_true(wse_at(&problem, k / 400.0, 0) <= best.wse_gaussian + 1e-12);
    }
    bang_theory_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_dense_search),
        cmocka_unit_test(test_wise_ft_example),
        cmocka_unit_test(test_output_weights_cannot_be_improved),
        cmocka_unit_test(test_degenerate_optima),
        cmocka_unit_test(test_with_noise),
        cmocka_unit_test(test_with_noise_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
