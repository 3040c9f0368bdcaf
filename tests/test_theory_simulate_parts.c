/* The steps of one run, each by itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "theory/simulate_plan.h"

static bang_theory_problem make_two(int64_t classes)
{
    bang_theory_problem problem;
    bang_theory_problem_init(&problem, classes, .7);
    problem.sigma = .3;
    assert_int_equal(bang_theory_add_model(&problem, "v0,s0-1", NULL), 0);
    assert_int_equal(bang_theory_add_model(&problem, "v0-1,s1-2", NULL), 0);
    problem.weights[0] = .8, problem.weights[1] = .5;
    problem.scales[1] = 1.4;
    return problem;
}

static void assert_near(const char *what, double measured, double expected, double within)
{
    if (!(fabs(measured - expected) <= within))
        fail_msg("%s: %.17g, expected %.17g", what, measured, expected);
}

/* With cancel raised, each long step of a run stops by itself. */
static void test_cancel_inside_a_run(void **state)
{
    (void)state;
    bang_theory_problem problem = make_two(3);
    bang_cancel cancel = {1};
    for (int fit = BANG_FIT_MEAN; fit <= BANG_FIT_POPULATION; fit++)
        for (int full = 0; full < 2; full++) {
            bang_simulation_options options = {.runs = 1, .train = 10, .test = 10, .ridge = 1};
            options.fit = (bang_simulation_fit)fit, options.full = full, options.cancel = &cancel;
            simulation_plan plan;
            simulation_scratch scratch;
            double hits[SIMULATION_SCORES];
            bang_error err = {0};
            assert_int_equal(bang_simulation_plan_init(&plan, &problem, &options, &err), 0);
            assert_int_equal(bang_simulation_scratch_init(&scratch, &plan, &err), 0);
            int draws_samples = fit == BANG_FIT_LOGISTIC || (fit == BANG_FIT_MEAN && full);
            assert_int_equal(bang_simulation_fit_heads(&plan, &scratch, 0, &err),
                             draws_samples ? BANG_ECANCELLED : 0);
            if (!full)
                assert_int_equal(bang_simulation_project(&plan, &scratch, &err), BANG_ECANCELLED);
            assert_int_equal(bang_simulation_test(hits, &plan, &scratch, 0, &err), BANG_ECANCELLED);
            bang_arena_release(&scratch.arena);
            bang_simulation_plan_release(&plan);
        }
    bang_theory_problem_release(&problem);
}

/* A = B B' with B (6, 2) has rank 2: the factor must return A from two columns. */
static void test_factorise_semidefinite(void **state)
{
    (void)state;
    enum { N = 6, RANK = 2 };
    double b[N][RANK] = {{0, 0}, {1, 2}, {1, 2}, {.1, -7}, {-3, .3}, {1e-8, 1e-8}};
    double a[N * N], f[N * N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i * N + j] = f[i * N + j] = b[i][0] * b[j][0] + b[i][1] * b[j][1];
    assert_int_equal(bang_simulation_factorise(f, N, NULL, NULL), 0);
    int columns = 0;
    for (int i = 0; i < N; i++) {
        columns += f[i * N + i] > 0;
        for (int j = 0; j <= i; j++) {
            double product = 0;
            for (int k = 0; k <= j; k++)
                product += f[i * N + k] * f[j * N + k];
            double scale = sqrt(a[i * N + i] * a[j * N + j]);
            assert_near("product", product, a[i * N + j], 1e-13 * scale);
        }
    }
    assert_int_equal(columns, RANK);
}

/* The factor against the covariance of simulate_measure.c, formed naively; the
 * sizes are beyond one strip and one piece of the blocked product. */
static void check_factor(bang_simulation_fit fit)
{
    bang_theory_problem problem = make_two(13);
    bang_simulation_options options = {
        .runs = 1, .train = 40, .test = 1, .fit = fit, .dimension = 1100, .ridge = 1, .seed = 3};
    simulation_plan plan;
    simulation_scratch scratch;
    assert_int_equal(bang_simulation_plan_init(&plan, &problem, &options, NULL), 0);
    assert_int_equal(bang_simulation_scratch_init(&scratch, &plan, NULL), 0);
    assert_int_equal(bang_simulation_fit_heads(&plan, &scratch, 0, NULL), 0);
    assert_int_equal(bang_simulation_project(&plan, &scratch, NULL), 0);
    size_t L = plan.logits, d = plan.dimension;
    assert_int_equal(L, 39);
    /* Features that model 1, model 2 and the WSE count, weighed: one of model 1
     * alone, two shared, two of model 2 alone. */
    double shared = .8 + .5 * 1.4, second = .5 * 1.4;
    double overlap[3][3] = {{3, 2 * 1.4, .8 + 2 * shared},
                            {0, 4 * 1.96, 1.4 * (2 * shared + 2 * second)},
                            {0, 0, .64 + 2 * shared * shared + 2 * second * second}};
    for (size_t i = 0; i < L; i++)
        for (size_t j = 0; j <= i; j++) {
            double inner = 0, product = 0;
            for (size_t c = 0; c < d; c++)
                inner += scratch.heads[i * d + c] * scratch.heads[j * d + c];
            for (size_t c = 0; c <= j; c++)
                product += scratch.factor[i * L + c] * scratch.factor[j * L + c];
            assert_near("covariance", product, .09 * overlap[j / 13][i / 13] * inner, 1e-11);
        }
    bang_arena_release(&scratch.arena);
    bang_simulation_plan_release(&plan);
    bang_theory_problem_release(&problem);
}

static void test_factor_is_of_the_covariance(void **state)
{
    (void)state;
    check_factor(BANG_FIT_MEAN);
    check_factor(BANG_FIT_POPULATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_inside_a_run),
        cmocka_unit_test(test_factorise_semidefinite),
        cmocka_unit_test(test_factor_is_of_the_covariance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
