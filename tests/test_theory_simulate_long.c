/* The simulation at full size: against exact theory at finite noise, and both
 * paths against each other with enough runs to see a difference of .005. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bang/theory/simulate.h"

/* Accuracies in the order of the result: models, OSE, WSE. */
typedef struct numbers {
    int count;
    double mean[BANG_THEORY_MAX_MODELS + 2], error[BANG_THEORY_MAX_MODELS + 2];
} numbers;

static numbers simulate(const bang_theory_problem *problem, const bang_simulation_options *options)
{
    bang_simulation_result r;
    bang_error err = {0};
    if (bang_simulate(&r, problem, options, &err) < 0)
        fail_msg("%s", err.message);
    numbers out = {.count = r.models};
    for (int m = 0; m < r.models; m++)
        out.mean[m] = r.mean[m], out.error[m] = r.error[m];
    if (r.models > 1) {
        out.mean[out.count] = r.ose_mean, out.error[out.count++] = r.ose_error;
        out.mean[out.count] = r.wse_mean, out.error[out.count++] = r.wse_error;
    }
    return out;
}

/* Exact G of every model, OSE and WSE at the problem's sigma. */
static numbers predict(const bang_theory_problem *problem)
{
    numbers out = {.count = problem->models > 1 ? problem->models + 2 : 1};
    for (int i = 0; i < out.count; i++) {
        bang_theory_score score;
        bang_theory_value value;
        bang_error err = {0};
        int rc = i < problem->models    ? bang_theory_score_single(&score, problem, i, &err)
                 : i == problem->models ? bang_theory_score_ose(&score, problem, &err)
                                        : bang_theory_score_wse(&score, problem, &err);
        assert_int_equal(rc, 0);
        if (bang_theory_exact(&value, &score, problem->classes, problem->shift, NULL, &err) < 0)
            fail_msg("%s", err.message);
        out.mean[i] = value.accuracy, out.error[i] = value.standard_error;
        bang_theory_score_release(&score);
    }
    return out;
}

static void assert_agree(const char *what, const numbers *a, const numbers *b, double floor)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        double within = 4 * fmax(hypot(a->error[i], b->error[i]), floor);
        if (!(fabs(a->mean[i] - b->mean[i]) <= within))
            fail_msg("%s, number %d: %.6f and %.6f differ by more than %.6f", what, i, a->mean[i],
                     b->mean[i], within);
    }
}

static bang_theory_problem make(int64_t classes, double shift, double sigma,
                                const char *const *names)
{
    bang_theory_problem problem;
    bang_error err = {0};
    bang_theory_problem_init(&problem, classes, shift);
    problem.sigma = sigma;
    for (; *names; names++)
        assert_int_equal(bang_theory_add_model(&problem, *names, &err), 0);
    return problem;
}

#define MAKE(classes, shift, sigma, ...)                                                           \
    make(classes, shift, sigma, (const char *const[]){__VA_ARGS__, NULL})

/* The paper's table at its own size, beside exact G at sigma = .01. One
 * environment is three nearly independent draws of right or wrong: that gives
 * the error where hardly a run failed. */
static void test_paper_table(void **state)
{
    (void)state;
    bang_theory_problem examples[4] = {
        MAKE(3, .9, .01, "v0-1,s0-2", "v2-3,s3-5"),
        MAKE(3, .9, .01, "v0-1,s0-2", "v1-2,s2-4"),
        MAKE(3, .9, .01, "v0-4,s0-19", "v5-8,s20-39"),
        MAKE(3, .9, .01, "v0-4,s0-19", "v1-5,s19-38"),
    };
    for (int i = 0; i < 4; i++) {
        bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
        options.seed = 1 + i;
        numbers measured = simulate(&examples[i], &options), exact = predict(&examples[i]);
        double rarest = 1 - exact.mean[3];
        assert_agree("paper", &measured, &exact, sqrt(rarest / 3000));
        assert_true(measured.error[0] > .003 && measured.error[0] < .006);
        options.draw = BANG_DRAW_SAMPLE, options.runs = 100, options.seed += 10;
        numbers sampled = simulate(&examples[i], &options);
        assert_agree("paper, per sample", &sampled, &exact, sqrt(rarest / 1e6));
        bang_theory_problem_release(&examples[i]);
    }
}

/* At large noise, with every kind of sharing, weights and scales. */
static void test_finite_noise_is_theory(void **state)
{
    (void)state;
    bang_theory_problem problems[3] = {
        MAKE(4, .8, .15, "v0,s0-1", "v0-1,s1-2", "v1-2,s0,3-5"),
        MAKE(7, .9, .1, "v0-2,s0-7", "v2,s6-9"),
        MAKE(3, .6, .5, "v0,s0-1"),
    };
    problems[0].weights[0] = .5, problems[0].weights[1] = .2, problems[0].weights[2] = .3;
    problems[0].scales[1] = 1.5, problems[0].scales[2] = .8;
    problems[1].weights[0] = 1, problems[1].weights[1] = -.4;
    for (int i = 0; i < 3; i++) {
        bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
        options.fit = BANG_FIT_POPULATION, options.draw = BANG_DRAW_SAMPLE;
        options.runs = 200;
        numbers exact = predict(&problems[i]);
        numbers measured = simulate(&problems[i], &options);
        assert_agree("population", &measured, &exact, 0);
        options.fit = BANG_FIT_MEAN, options.train = 10000000, options.seed = 2;
        measured = simulate(&problems[i], &options);
        assert_agree("mean of many", &measured, &exact, 0);
        bang_theory_problem_release(&problems[i]);
    }
}

/* Projected and full, for every fit and draw, d at its least and above it. */
static void compare_paths(bang_theory_problem *problem, int64_t more)
{
    static const int64_t runs[3] = {8000, 1500, 8000}; /* by fit */
    int64_t features = 0;
    for (size_t i = 0; i < problem->pattern_count; i++)
        features += problem->patterns[i].invariant + problem->patterns[i].spurious;
    for (int fit = BANG_FIT_MEAN; fit <= BANG_FIT_POPULATION; fit++)
        for (int draw = BANG_DRAW_ENVIRONMENT; draw <= BANG_DRAW_SAMPLE; draw++) {
            bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
            options.runs = runs[fit], options.train = 30, options.test = 10;
            options.fit = (bang_simulation_fit)fit, options.draw = (bang_simulation_draw)draw;
            options.dimension = more ? features * problem->classes + more : 0;
            options.ridge = .01;
            options.seed = 1 + 10 * fit + 100 * draw;
            numbers projected = simulate(problem, &options);
            options.full = 1, options.seed++;
            numbers full = simulate(problem, &options);
            assert_agree("projected and full", &projected, &full, 0);
            for (int i = 0; i < full.count; i++)
                assert_true(fabs(projected.error[i] / full.error[i] - 1) <
                            4 / sqrt((double)options.runs));
        }
}

static void test_projected_is_full(void **state)
{
    (void)state;
    bang_theory_problem two = MAKE(3, .7, .3, "v0,s0-1", "v0-1,s1-2");
    two.weights[0] = .8, two.weights[1] = .5;
    two.scales[1] = 1.4;
    compare_paths(&two, 0);
    compare_paths(&two, 12);
    bang_theory_problem three = MAKE(4, .6, .25, "v0,s0", "v0-1,s1", "s0-1");
    three.weights[1] = .6, three.weights[2] = -.3;
    three.scales[0] = -1;
    compare_paths(&three, 0);
    bang_theory_problem_release(&two);
    bang_theory_problem_release(&three);
}

/* At the paper's size the logistic fit and the class means agree: both point
 * along sum_f mu_f(k). */
static void test_logistic_on_paper_example(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(3, .9, .01, "v0-1,s0-2", "v1-2,s2-4");
    bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
    options.fit = BANG_FIT_LOGISTIC, options.runs = 200, options.train = 5000;
    numbers measured = simulate(&problem, &options), exact = predict(&problem);
    assert_agree("logistic", &measured, &exact, 0);
    bang_theory_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_table),
        cmocka_unit_test(test_finite_noise_is_theory),
        cmocka_unit_test(test_projected_is_full),
        cmocka_unit_test(test_logistic_on_paper_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
