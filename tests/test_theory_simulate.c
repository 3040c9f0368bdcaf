/* The simulation: checks, closed forms, the paper's table, and the projected
 * path against the one that draws every coordinate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bang/theory/simulate.h"

#define RUN_OPTIONS(runs_, train_, test_)                                                          \
    {                                                                                              \
        .runs = (runs_), .train = (train_), .test = (test_), .ridge = 1e-3, .seed = 1              \
    }

/* A problem of one to three models; names end with NULL. */
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

static bang_simulation_result simulate(const bang_theory_problem *problem,
                                       const bang_simulation_options *options)
{
    bang_simulation_result result;
    bang_error err = {0};
    int rc = bang_simulate(&result, problem, options, &err);
    if (rc < 0)
        fail_msg("%s", err.message);
    return result;
}

/* The four numbers of a result of two models, and their errors. */
static void unpack(double mean[4], double error[4], const bang_simulation_result *r)
{
    memcpy(mean, (double[4]){r->mean[0], r->mean[1], r->wse_mean, r->ose_mean}, 4 * sizeof *mean);
    memcpy(error, (double[4]){r->error[0], r->error[1], r->wse_error, r->ose_error},
           4 * sizeof *error);
}

static void assert_near(const char *what, double measured, double expected, double within)
{
    if (!(fabs(measured - expected) <= within))
        fail_msg("%s: %.6f, expected %.6f, off by %.6f, allowed %.6f", what, measured, expected,
                 fabs(measured - expected), within);
}

static void assert_all_near(const bang_simulation_result *r, const double expected[4], double floor)
{
    static const char *const names[4] = {"model 1", "model 2", "WSE", "OSE"};
    double mean[4], error[4];
    unpack(mean, error, r);
    for (int i = 0; i < 4; i++)
        assert_near(names[i], mean[i], expected[i], 4 * fmax(error[i], floor));
}

/* Small-noise G of the paper's four examples; at sigma .01 it moves by less
 * than .001. One environment is three nearly independent draws of right or
 * wrong, which gives the error where none of a few hundred runs failed. */
static void test_paper_examples(void **state)
{
    (void)state;
    static const struct {
        const char *models[2];
        int64_t overlap[2];
        double exact[4]; /* model 1, model 2, WSE, OSE */
    } examples[4] = {
        {{"2,3", "2,3"}, {0, 0}, {.8650, .8650, .9730, .9730}},
        {{"2,3", "2,3"}, {1, 1}, {.8650, .8650, .9482, .9457}},
        {{"5,20", "4,20"}, {0, 0}, {.9417, .9005, .9864, .9864}},
        {{"5,20", "5,20"}, {4, 1}, {.9417, .9417, .9998, .9905}},
    };
    for (int i = 0; i < 4; i++) {
        bang_theory_problem problem =
            MAKE(3, .9, .01, examples[i].models[0], examples[i].models[1]);
        bang_error err = {0};
        assert_int_equal(
            bang_theory_set_overlap(&problem, examples[i].overlap[0], examples[i].overlap[1], &err),
            0);
        bang_simulation_options options = RUN_OPTIONS(400, 20000, 1000);
        bang_simulation_result r = simulate(&problem, &options);
        double least = 1 - examples[i].exact[2];
        assert_all_near(&r, examples[i].exact, sqrt(least / (3 * 400)));
        assert_true(r.error[0] > .003 && r.error[0] < .012);
        bang_theory_problem_release(&problem);
    }
}

/* Two models that share features, with unequal weights and scales, and noise
 * that matters in training and testing alike. */
static bang_theory_problem make_uneven(void)
{
    bang_theory_problem problem = MAKE(3, .7, .3, "v0,s0-1", "v0-1,s1-2");
    problem.weights[0] = .8, problem.weights[1] = .5;
    problem.scales[1] = 1.4;
    return problem;
}

static void compare_paths(bang_simulation_fit fit, bang_simulation_draw draw, int64_t dimension,
                          int64_t runs)
{
    bang_theory_problem problem = make_uneven();
    bang_simulation_options options = RUN_OPTIONS(runs, 30, 20);
    options.fit = fit, options.draw = draw, options.dimension = dimension;
    bang_simulation_result projected = simulate(&problem, &options);
    options.full = 1, options.seed = 2;
    bang_simulation_result full = simulate(&problem, &options);
    double mean[4], error[4], full_mean[4], full_error[4];
    unpack(mean, error, &projected);
    unpack(full_mean, full_error, &full);
    for (int i = 0; i < 4; i++) {
        assert_true(mean[i] > .4 && mean[i] < .98); /* else nothing would be tested */
        assert_near("mean", mean[i], full_mean[i], 4 * hypot(error[i], full_error[i]));
        /* The spread over runs shows what samples of one run share. */
        assert_near("spread", error[i] / full_error[i], 1, 4 / sqrt((double)runs));
    }
    bang_theory_problem_release(&problem);
}

static void test_projected_is_full(void **state)
{
    (void)state;
    compare_paths(BANG_FIT_MEAN, BANG_DRAW_ENVIRONMENT, 0, 4000);
    compare_paths(BANG_FIT_MEAN, BANG_DRAW_SAMPLE, 40, 4000);
    compare_paths(BANG_FIT_POPULATION, BANG_DRAW_ENVIRONMENT, 17, 4000);
    compare_paths(BANG_FIT_LOGISTIC, BANG_DRAW_ENVIRONMENT, 0, 1500);
}

/* Logistic heads are the smaller the more features a model has, and ensembles of them are others
 * than those of means: theory has to be of the heads that were fitted, in ensembles that favour
 * small models by far. */
static void test_heads_of_a_fit(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(4, .9, .01, "v0,s0,2,3", "v0,s4,3", "s4,v0");
    bang_simulation_options options = RUN_OPTIONS(800, 150, 50);
    options.seed = 5;
    bang_error err = {0};
    for (int fit = BANG_FIT_MEAN; fit <= BANG_FIT_LOGISTIC; fit++) {
        options.fit = (bang_simulation_fit)fit;
        bang_simulation_result r = simulate(&problem, &options);
        bang_theory_problem fitted = bang_simulation_fitted(&problem, &options, &r);
        bang_theory_score score;
        bang_theory_value wse, ose;
        assert_int_equal(bang_theory_score_wse(&score, &fitted, &err), 0);
        assert_int_equal(bang_theory_exact(&wse, &score, 4, .9, NULL, &err), 0);
        bang_theory_score_release(&score);
        assert_int_equal(bang_theory_score_ose(&score, &fitted, &err), 0);
        assert_int_equal(bang_theory_exact(&ose, &score, 4, .9, NULL, &err), 0);
        bang_theory_score_release(&score);
        assert_near("WSE", r.wse_mean, wse.accuracy, 4 * r.wse_error);
        assert_near("OSE", r.ose_mean, ose.accuracy, 4 * r.ose_error);
        /* without a ridge they would be as 1/4, 1/3 and 1/2 */
        static const double expected[2][3] = {{1, 1, 1}, {.55, .7, 1}};
        for (int m = 0; m < 3; m++)
            assert_near("head", fit == BANG_FIT_MEAN ? r.heads[m] : fitted.heads[m],
                        expected[fit][m], .04);
        assert_true(fit == BANG_FIT_LOGISTIC || fitted.heads[0] == 1);
        bang_theory_best best;
        assert_int_equal(bang_theory_find_best(&best, &fitted, NULL, &err),
                         fit == BANG_FIT_MEAN ? 0 : BANG_EUSAGE);
    }
    bang_theory_problem_release(&problem);
}

/* Equally many features, equal heads, whatever the noise of training says: ties stay ties. */
static void test_equal_heads_of_a_fit(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(3, .9, .05, "2,3", "3,2", "1,1");
    bang_simulation_options options = RUN_OPTIONS(3, 60, 10);
    options.fit = BANG_FIT_LOGISTIC;
    bang_simulation_result r = simulate(&problem, &options);
    bang_theory_problem fitted = bang_simulation_fitted(&problem, &options, &r);
    assert_true(fitted.heads[0] == fitted.heads[1] && fitted.heads[0] < fitted.heads[2]);
    assert_true(fitted.heads[2] == 1);
    bang_theory_problem_release(&problem);
}

/* Bit for bit. */
static void assert_same(const bang_simulation_result *a, const bang_simulation_result *b)
{
    double mean[2][4], error[2][4];
    unpack(mean[0], error[0], a);
    unpack(mean[1], error[1], b);
    assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
    assert_memory_equal(error[0], error[1], sizeof error[0]);
}

static void test_same_for_any_threads(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        bang_theory_problem problem = make_uneven();
        bang_simulation_options options = RUN_OPTIONS(50, 20, 100);
        options.full = full;
        options.threads = 1;
        bang_simulation_result one = simulate(&problem, &options);
        for (options.threads = 0; options.threads < 4; options.threads++) {
            bang_simulation_result many = simulate(&problem, &options);
            assert_same(&one, &many);
        }
        options.seed = 2;
        bang_simulation_result other = simulate(&problem, &options);
        assert_true(other.ose_mean != one.ose_mean && other.mean[0] != one.mean[0]);
        bang_theory_problem_release(&problem);
    }
}

/* A new environment per sample has the same mean and a far smaller spread. */
static void test_draw_per_sample(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(3, .9, .01, "2,3", "2,3");
    bang_simulation_options options = RUN_OPTIONS(400, 20000, 1000);
    bang_simulation_result environment = simulate(&problem, &options);
    options.draw = BANG_DRAW_SAMPLE, options.seed = 2;
    bang_simulation_result sample = simulate(&problem, &options);
    double mean[4], error[4];
    unpack(mean, error, &sample);
    assert_all_near(&environment, mean, 0);
    assert_true(sample.error[0] < environment.error[0] / 5);
    /* 1000 independent samples of .865 each. */
    assert_near("spread", sample.error[0] / sqrt(.865 * .135 / 1000 / 400), 1, .2);
    bang_theory_problem_release(&problem);
}

/* Without noise ties decide: 1 - 5p^3/27 for one model, and the two ensembles
 * with a shared feature of either kind (THEORY, errata 1 and 2). */
static void test_small_noise_limit(void **state)
{
    (void)state;
    double p = .8;
    bang_theory_problem problem = MAKE(3, p, 0, "v0-1,s0-2", "v1-2,s2-4");
    bang_simulation_options options = RUN_OPTIONS(200, 0, 2000);
    options.draw = BANG_DRAW_SAMPLE;
    double single = 1 - 5 * pow(p, 3) / 27;
    double exact[4] = {single, single, 1 - 4 * pow(p, 4) / 81 - 8 * pow(p, 5) / 243,
                       1 - 4 * pow(p, 4) / 81 - pow(p, 5) / 27};
    for (int full = 0; full < 2; full++) {
        for (int mean = 0; mean < 2; mean++) {
            options.full = full;
            options.fit = mean ? BANG_FIT_MEAN : BANG_FIT_POPULATION;
            options.train = mean ? 100 : 0;
            options.seed = 1 + 2 * full + mean;
            bang_simulation_result r = simulate(&problem, &options);
            assert_all_near(&r, exact, 0);
        }
    }
    bang_theory_problem_release(&problem);
}

/* Three models that share, weigh and scale in every way, beside exact G. */
static void test_exact_theory(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(4, .8, .15, "v0,s0-1", "v0-1,s1-2", "v1-2,s0,3-5");
    problem.weights[0] = .5, problem.weights[1] = .2, problem.weights[2] = .3;
    problem.scales[1] = 1.5, problem.scales[2] = .8;
    bang_simulation_options options = RUN_OPTIONS(100, 0, 5000);
    options.fit = BANG_FIT_POPULATION, options.draw = BANG_DRAW_SAMPLE;
    bang_simulation_result r = simulate(&problem, &options);
    assert_int_equal(r.models, 3);
    const double measured[5] = {r.mean[0], r.mean[1], r.mean[2], r.ose_mean, r.wse_mean};
    const double error[5] = {r.error[0], r.error[1], r.error[2], r.ose_error, r.wse_error};
    for (int i = 0; i < 5; i++) {
        bang_theory_score score;
        bang_theory_value value;
        int rc = i < 3    ? bang_theory_score_single(&score, &problem, i, NULL)
                 : i == 3 ? bang_theory_score_ose(&score, &problem, NULL)
                          : bang_theory_score_wse(&score, &problem, NULL);
        assert_int_equal(rc, 0);
        assert_int_equal(bang_theory_exact(&value, &score, 4, .8, NULL, NULL), 0);
        assert_near("G", measured[i], value.accuracy, 4 * hypot(error[i], value.standard_error));
        bang_theory_score_release(&score);
    }
    bang_theory_problem_release(&problem);
}

/* Cases whose value is known without any theory. */
static void test_degenerate(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        bang_simulation_options options = RUN_OPTIONS(3, 50, 100);
        options.full = full;
        bang_theory_problem nothing = MAKE(5, .5, .2, "0,0", "3,0");
        bang_simulation_result r = simulate(&nothing, &options);
        assert_near("no feature", r.mean[0], .2, 1e-12);
        assert_near("no noise to speak of", r.mean[1], 1, 0.1);
        nothing.scales[1] = 0;
        r = simulate(&nothing, &options);
        assert_near("scaled to nothing", r.mean[1], .2, 1e-12);
        assert_near("both nothing", r.wse_mean, .2, 1e-12);
        bang_theory_problem_release(&nothing);

        bang_theory_problem twins = MAKE(3, .9, .4, "v0,s0-2", "v0,s0-2");
        r = simulate(&twins, &options);
        assert_true(r.mean[0] == r.mean[1] && r.mean[0] == r.ose_mean && r.mean[0] == r.wse_mean);
        twins.weights[1] = -1;
        r = simulate(&twins, &options);
        assert_near("models that cancel", r.ose_mean, 1.0 / 3, 1e-12);
        assert_near("models that cancel", r.wse_mean, 1.0 / 3, 1e-12);
        bang_theory_problem_release(&twins);

        bang_theory_problem same = MAKE(3, 0, 0, "1,0", "0,9");
        r = simulate(&same, &options);
        assert_near("no shift", r.mean[0] + r.mean[1] + r.ose_mean + r.wse_mean, 4, 0);
        bang_theory_problem_release(&same);
    }
}

/* K = 2, one invariant feature: the margin is 1 + sqrt(2) sigma z. */
static void test_single_model(void **state)
{
    (void)state;
    bang_theory_problem problem = MAKE(2, .3, 1, "1,0");
    bang_simulation_options options = RUN_OPTIONS(100, 0, 5000);
    options.fit = BANG_FIT_POPULATION;
    bang_simulation_result r = simulate(&problem, &options);
    assert_int_equal(r.models, 1);
    assert_int_equal(r.runs, 100);
    assert_near("accuracy", r.mean[0], erfc(-.5) / 2, 4 * r.error[0]);
    assert_near("error", r.error[0], sqrt(.76 * .24 / 5e5), 2e-4);
    assert_true(isnan(r.ose_mean) && isnan(r.ose_error) && isnan(r.wse_mean) && isnan(r.wse_error));
    options.runs = 1;
    r = simulate(&problem, &options);
    assert_true(isnan(r.error[0]) && isfinite(r.mean[0]));
    bang_theory_problem_release(&problem);
}

/* One training sample: its class is told from the others, which stay at 0 and
 * tie, so accuracy is 1/K + (1 - 1/K)/K. */
static void test_empty_classes(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        bang_theory_problem problem = MAKE(3, 0, 0, "2,1", "1,1");
        bang_simulation_options options = RUN_OPTIONS(400, 1, 50);
        options.full = full;
        bang_simulation_result r = simulate(&problem, &options);
        assert_all_near(&r, (double[4]){5.0 / 9, 5.0 / 9, 5.0 / 9, 5.0 / 9}, 0);
        bang_theory_problem_release(&problem);
    }
}

static void refuse(const bang_theory_problem *problem, const bang_simulation_options *options,
                   const char *word)
{
    bang_simulation_result result;
    bang_error err = {0};
    assert_int_equal(bang_simulate(&result, problem, options, &err), BANG_EUSAGE);
    assert_int_equal(err.code, BANG_EUSAGE);
    if (!strstr(err.message, word))
        fail_msg("'%s' does not mention '%s'", err.message, word);
    assert_int_equal(bang_simulate(&result, problem, options, NULL), BANG_EUSAGE);
}

static void test_refusals(void **state)
{
    (void)state;
    bang_theory_problem problem = make_uneven();
    const bang_simulation_options good = RUN_OPTIONS(2, 10, 10);
    bang_simulation_options bad;
#define REFUSE(field, value, word) (bad = good, bad.field = (value), refuse(&problem, &bad, word))
    REFUSE(runs, 0, "runs 0");
    REFUSE(runs, INT64_MAX, "too large");
    REFUSE(train, 0, "train 0");
    REFUSE(test, -1, "test -1");
    REFUSE(test, INT64_MAX, "too large");
    REFUSE(fit, (bang_simulation_fit)7, "fit 7");
    REFUSE(draw, (bang_simulation_draw)7, "draw 7");
    REFUSE(dimension, -1, "dimension -1");
    REFUSE(dimension, 14, "at least 15");
    REFUSE(dimension, INT64_MAX, "too large");
    REFUSE(ridge, 0, "ridge 0");
    REFUSE(ridge, NAN, "ridge");
    REFUSE(ridge, INFINITY, "ridge inf");
    REFUSE(threads, -1, "threads -1");
    bad = good, bad.fit = BANG_FIT_LOGISTIC, bad.train = INT64_MAX;
    refuse(&problem, &bad, "too large");
    bad = good, bad.full = 1, bad.train = INT64_MAX;
    refuse(&problem, &bad, "too large");
    problem.sigma = -1;
    refuse(&problem, &good, "sigma -1");
    bad = good, bad.runs = 0, bad.test = 0, bad.ridge = -1;
    refuse(&problem, &bad, "sigma");
    refuse(&problem, &bad, "; runs 0: must be at least 1; test 0: must be at least 1; ridge -1");
    problem.sigma = 0;
    problem.patterns[0].spurious = -1;
    refuse(&problem, &good, "of pattern 1");
    problem.patterns[0].spurious = 1;
    problem.patterns[0].models = 8;
    refuse(&problem, &good, "does not exist");
    bang_theory_problem_release(&problem);
    bang_theory_problem huge = MAKE(10000000, .5, 1, "10000000,10000000", "10000000,10000000");
    refuse(&huge, &good, "too large");
    bang_theory_problem_release(&huge);
}

/* population needs no training sample. */
static void test_population_ignores_train(void **state)
{
    (void)state;
    bang_theory_problem problem = make_uneven();
    bang_simulation_options options = RUN_OPTIONS(5, -7, 10);
    options.fit = BANG_FIT_POPULATION;
    simulate(&problem, &options);
    bang_theory_problem_release(&problem);
}

typedef struct counted {
    atomic_int calls, last;
    bang_cancel *cancel;
} counted;

static void count_steps(void *context, uint64_t done, uint64_t total)
{
    counted *c = context;
    atomic_fetch_add(&c->calls, 1);
    if (done == total)
        atomic_fetch_add(&c->last, 1);
    if (c->cancel && done == 5)
        atomic_store(&c->cancel->raised, 1);
}

static void test_progress_and_cancel(void **state)
{
    (void)state;
    bang_theory_problem problem = make_uneven();
    bang_simulation_options options = RUN_OPTIONS(40, 10, 10);
    counted counter = {0};
    bang_progress progress = {count_steps, &counter};
    options.progress = &progress;
    simulate(&problem, &options);
    assert_int_equal(counter.calls, 40);
    assert_int_equal(counter.last, 1);

    bang_cancel cancel = {0};
    bang_simulation_result result;
    bang_error err = {0};
    options.cancel = counter.cancel = &cancel;
    options.runs = 100000;
    assert_int_equal(bang_simulate(&result, &problem, &options, &err), BANG_ECANCELLED);
    bang_theory_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_examples),
        cmocka_unit_test(test_projected_is_full),
        cmocka_unit_test(test_same_for_any_threads),
        cmocka_unit_test(test_draw_per_sample),
        cmocka_unit_test(test_small_noise_limit),
        cmocka_unit_test(test_heads_of_a_fit),
        cmocka_unit_test(test_equal_heads_of_a_fit),
        cmocka_unit_test(test_exact_theory),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_single_model),
        cmocka_unit_test(test_empty_classes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_population_ignores_train),
        cmocka_unit_test(test_progress_and_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
