/* From what models learned to patterns and scores. */
#include "theory_cases.h"

#include "bang/theory/simulate.h"

static const bang_theory_pattern *pattern_of(const bang_theory_problem *problem, uint64_t models)
{
    for (size_t i = 0; i < problem->pattern_count; i++)
        if (problem->patterns[i].models == models)
            return &problem->patterns[i];
    return NULL;
}

static void assert_pattern(const bang_theory_problem *problem, uint64_t models, int64_t invariant,
                           int64_t spurious)
{
    const bang_theory_pattern *found = pattern_of(problem, models);
    assert_int_equal(found ? found->invariant : 0, invariant);
    assert_int_equal(found ? found->spurious : 0, spurious);
}

static void test_counts_with_overlap(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("5,20", "4,21"));
    assert_int_equal(bang_theory_set_overlap(&problem, 3, 7, &err), 0);
    assert_pattern(&problem, 1, 2, 13);
    assert_pattern(&problem, 2, 1, 14);
    assert_pattern(&problem, 3, 3, 7);
    assert_int_equal(bang_theory_shared(&problem, 0, 1), 10);
    assert_int_equal(bang_theory_shared(&problem, 0, 0), 25);
    bang_theory_problem_release(&problem);
}

static void test_sets_say_the_same_as_counts(void **state)
{
    (void)state;
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    /* letters continue, ranges and order are free */
    add_models(&problem, MODELS("v0,2-3,s4,0,1", "s4-5,v3,9", "v0-1000000,s"));
    assert_pattern(&problem, 1, 0, 2);      /* s0 s1 */
    assert_pattern(&problem, 2, 0, 1);      /* s5 */
    assert_pattern(&problem, 3, 0, 1);      /* s4 */
    assert_pattern(&problem, 5, 2, 0);      /* v0 v2 */
    assert_pattern(&problem, 6, 1, 0);      /* v9 */
    assert_pattern(&problem, 7, 1, 0);      /* v3 */
    assert_pattern(&problem, 4, 999997, 0); /* the rest */
    bang_theory_problem_release(&problem);
}

static void test_wrong_models_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "2",
                                        "2,",
                                        ",3",
                                        "2,3,4",
                                        "-1,2",
                                        "2,-1",
                                        "a,b",
                                        "2.5,3",
                                        "x0",
                                        "v0,v0",
                                        "s1-3,2",
                                        "v3-1",
                                        "v0-",
                                        "v-1",
                                        "v0,,s1",
                                        "v0;s1",
                                        "s1 ,2",
                                        "v0-1-2",
                                        "vv",
                                        "2,10000001",
                                        "v10000000",
                                        "v99999999999999999999",
                                        "1e3,2",
                                        " 2,3",
                                        "2,3 ",
                                        "v0,s0,",
                                        "s0-2,v0,s2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bang_error err = {0};
        bang_theory_problem problem;
        bang_theory_problem_init(&problem, 3, 0.9);
        if (bang_theory_add_model(&problem, wrong[i], &err) == 0)
            fail_msg("accepted '%s'", wrong[i]);
        assert_int_equal(err.code, BANG_EUSAGE);
        assert_null(strchr(err.message, '\n'));
        assert_int_equal(problem.models, 0);
        bang_theory_problem_release(&problem);
    }
}

static void test_wrong_overlaps_are_refused(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 3, 0.9);
    assert_int_equal(bang_theory_set_overlap(&problem, 0, 0, &err), BANG_EUSAGE);
    add_models(&problem, MODELS("2,3", "1,5"));
    static const int64_t wrong[][2] = {{2, 0}, {0, 4}, {-1, 0}, {0, -1}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(bang_theory_set_overlap(&problem, wrong[i][0], wrong[i][1], &err),
                         BANG_EUSAGE);
    assert_int_equal(bang_theory_set_overlap(&problem, 1, 3, &err), 0);
    add_models(&problem, MODELS("1,1"));
    assert_int_equal(bang_theory_set_overlap(&problem, 0, 0, &err), BANG_EUSAGE);
    assert_int_equal(bang_theory_add_model(&problem, "v0", &err), BANG_EUSAGE);
    bang_theory_problem_release(&problem);
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("v0", "v0"));
    assert_int_equal(bang_theory_set_overlap(&problem, 0, 0, &err), BANG_EUSAGE);
    bang_theory_problem_release(&problem);
}

static void test_check_lists_everything(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, 1, 1.5);
    add_models(&problem, MODELS("2,3", "2,3"));
    problem.sigma = -1;
    problem.weights[1] = NAN;
    problem.scales[0] = INFINITY;
    problem.heads[1] = -1;
    assert_int_equal(bang_theory_check(&problem, &err), BANG_EUSAGE);
    static const char *const said[] = {"classes 1", "shift 1.5", "sigma -1",
                                       "weight",    "scale",     "head -1"};
    for (int i = 0; i < 6; i++)
        assert_non_null(strstr(err.message, said[i]));
    problem = (bang_theory_problem){
        .classes = 3, .shift = NAN, .patterns = problem.patterns, .sets = problem.sets};
    assert_int_equal(bang_theory_check(&problem, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "no model"));
    assert_non_null(strstr(err.message, "shift nan"));
    bang_theory_problem_release(&problem);
}

static void assert_group(const bang_theory_score *score, size_t g, double c, int64_t n)
{
    assert_true(g < score->group_count);
    assert_near(score->groups[g].coefficient, c, 1e-12);
    assert_int_equal(score->groups[g].count, n);
}

/* The table of combinations: coefficients, invariant part and noise. */
static void test_scores_of_two_models(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_score score;
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("5,20", "4,18"));
    bang_theory_set_overlap(&problem, 3, 7, &err);
    problem.sigma = 0.01;
    double n1 = 25, n2 = 22, no = 10;
    assert_int_equal(bang_theory_score_single(&score, &problem, 1, &err), 0);
    assert_group(&score, 0, 1, 18);
    assert_near(score.invariant, 4, 0);
    assert_near(score.noise, 0.01 * n2, 1e-15);
    bang_theory_score_release(&score);
    assert_int_equal(bang_theory_score_ose(&score, &problem, &err), 0);
    assert_int_equal(score.group_count, 2);
    assert_group(&score, 0, 1, 24);
    assert_group(&score, 1, 2, 7);
    assert_near(score.invariant, 9, 1e-12);
    assert_near(score.noise, 0.01 * sqrt(n1 * n1 + n2 * n2 + 2 * no * no), 1e-15);
    bang_theory_score_release(&score);
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    assert_group(&score, 0, 1, 24);
    assert_group(&score, 1, 4, 7);
    assert_near(score.invariant, 9 + 2 * 3, 1e-12);
    assert_near(score.noise, 0.01 * (n1 + n2 + 2 * no), 1e-15);
    bang_theory_score_release(&score);
    problem.weights[0] = 0.7;
    problem.weights[1] = 0.3;
    problem.scales[1] = 2;
    assert_int_equal(bang_theory_score_ose(&score, &problem, &err), 0);
    assert_group(&score, 0, 0.7, 13);
    assert_group(&score, 1, 1.2, 11);
    assert_group(&score, 2, 1.9, 7);
    bang_theory_score_release(&score);
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    assert_group(&score, 0, 0.36, 11);
    assert_group(&score, 1, 0.49, 13);
    assert_group(&score, 2, 1.69, 7);
    assert_near(score.noise, 0.01 * (0.49 * n1 + 0.36 * n2 + 2 * 0.42 * no), 1e-14);
    bang_theory_score_release(&score);
    /* heads of other sizes: (sum a)(sum b), a = (.7, .3), b = (.7, .6) */
    problem.heads[1] = 0.5;
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    assert_group(&score, 0, 0.18, 11);
    assert_group(&score, 1, 0.49, 13);
    assert_group(&score, 2, 1.3, 7);
    double head = 0.49 * n1 + 0.09 * n2 + 2 * 0.21 * no;
    double phi = 0.49 * n1 + 0.36 * n2 + 2 * 0.42 * no;
    assert_near(score.noise, 0.01 * sqrt(head * phi), 1e-14);
    bang_theory_score_release(&score);
    assert_int_equal(bang_theory_score_ose(&score, &problem, &err), 0);
    assert_group(&score, 0, 0.6, 11);
    assert_group(&score, 2, 1.3, 7);
    bang_theory_score_release(&score);
    bang_theory_problem_release(&problem);
}

static void test_scores_of_three_models(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_score score;
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("v0,s0-3", "v0-1,s2-5", "v1,s3-9"));
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    /* s0 s1 | s2 | s3 | s4 s5 | s6..s9: in 1, 2, 3, 2, 1 models */
    assert_int_equal(score.group_count, 3);
    assert_group(&score, 0, 1, 6);
    assert_group(&score, 1, 4, 3);
    assert_group(&score, 2, 9, 1);
    assert_near(score.invariant, 4 + 4, 1e-12);
    bang_theory_score_release(&score);
    /* weights that cancel: a shared feature without influence drops out */
    problem.weights[0] = 1;
    problem.weights[1] = -1;
    problem.weights[2] = 0;
    assert_int_equal(bang_theory_score_ose(&score, &problem, &err), 0);
    assert_int_equal(score.group_count, 2);
    assert_group(&score, 0, -1, 2);
    assert_group(&score, 1, 1, 2);
    bang_theory_score_release(&score);
    bang_theory_problem_release(&problem);
}

/* Only ratios of weights count, near-equal ones are equal, and weights too far
 * apart for doubles are refused instead of guessed. */
static void test_extreme_weights(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_theory_problem problem;
    bang_theory_score score;
    bang_theory_value value;
    static const struct {
        double weights[2];
        double accuracy; /* NaN: refused */
    } cases[] = {{{1, 1}, 0.973027},
                 {{1e-160, 1e-160}, 0.973027},
                 {{1e-300, 3e-300}, 0.935065},
                 {{1, 1 + 1e-13}, 0.973027},
                 {{1, 1 + 1e-15}, 0.973027},
                 {{1e5, 1}, 0.935065},
                 {{1e9, 1}, NAN}};
    bang_theory_problem_init(&problem, 3, 0.9);
    add_models(&problem, MODELS("2,3", "2,3"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(problem.weights, cases[i].weights, sizeof cases[i].weights);
        assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
        int rc = bang_theory_exact(&value, &score, 3, 0.9, NULL, &err);
        if (isnan(cases[i].accuracy))
            assert_int_equal(rc, BANG_EUSAGE);
        else
            assert_near(value.accuracy, cases[i].accuracy, 1e-12);
        bang_theory_score_release(&score);
    }
    bang_theory_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_with_overlap),
        cmocka_unit_test(test_sets_say_the_same_as_counts),
        cmocka_unit_test(test_wrong_models_are_refused),
        cmocka_unit_test(test_wrong_overlaps_are_refused),
        cmocka_unit_test(test_check_lists_everything),
        cmocka_unit_test(test_scores_of_two_models),
        cmocka_unit_test(test_scores_of_three_models),
        cmocka_unit_test(test_extreme_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
