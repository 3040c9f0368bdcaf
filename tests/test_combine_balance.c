/* How much of a fine-tuned change balances confidence: probes with a known answer, and the
 * paper's model, where the answer gives the accuracy of two equally confident models. */
#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/combine/balance.h"
#include "bang/measure/tally.h"
#include "bang/measure/temperature.h"
#include "bang/theory/theory.h"

static void close_to(double actual, double expected, double tolerance, int line)
{
    if (!(fabs(actual - expected) <= tolerance))
        fail_msg("line %d: %.17g instead of %.17g", line, actual, expected);
}
#define assert_close(actual, expected, tolerance) close_to(actual, expected, tolerance, __LINE__)

/* A model whose layer l is scale[l] times too large; hybrids lose `mismatch` of their logits. */
struct scaled {
    size_t layers;
    const double *scale;
    double mismatch;
    size_t calls;
    int fail;             /* at the last call allowed: an error of its own */
    double confidence[2]; /* what the first and the others say; 0: something sensible */
    double tau;           /* 0: the right one */
};

static int scaled_probe(void *context, double *confidence, double *tau, double target,
                        const unsigned char *hybrid, size_t layers, bang_error *err)
{
    struct scaled *s = context;
    double product = 1;
    size_t fine = 0;
    assert_int_equal(layers, s->layers);
    for (size_t i = 0; i < layers; i++) {
        assert_in_range(hybrid[i], 0, 1);
        product *= hybrid[i] ? s->scale[i] : 1;
        fine += hybrid[i];
    }
    if (fine > 0 && fine < layers)
        product *= s->mismatch;
    if (s->calls == 0) { /* the pre-trained model, whose confidence is not known */
        assert_true(isnan(target));
        assert_int_equal(fine, 0);
    } else {
        assert_true(target == 0.25);
    }
    s->calls++;
    if (s->fail && s->calls == (size_t)s->fail)
        return bang_fail(err, BANG_EIO, "the probe's own");
    *confidence = product / (3 + product);
    if (s->confidence[s->calls > 1] != 0)
        *confidence = s->confidence[s->calls > 1];
    *tau = s->calls == 1 ? -5 : s->tau != 0 ? s->tau : product; /* of the first it is not read */
    return 0;
}

static void test_scales_are_found(void **state)
{
    (void)state;
    const double scale[] = {1, 3, 0.5, 7};
    bang_error err = {0};
    for (int k = 0; k < 3; k++) {
        struct scaled s = {.layers = 4, .scale = scale, .mismatch = (double[]){1, 0.2, 4}[k]};
        bang_balance b;
        assert_int_equal(bang_balance_find(&b, 4, 1, scaled_probe, &s, &err), 0);
        assert_int_equal(s.calls, 2 + 2 * 4);
        assert_int_equal(b.layer_count, 4);
        assert_true(b.confidence == 0.25 && b.whole.without == 0.25);
        assert_close(b.whole.tau, 10.5, 1e-12);
        assert_close(b.whole.alpha, 1 / 11.5, 1e-12);
        assert_close(b.whole.scale, 2 / 11.5, 1e-12);
        assert_close(b.whole.confidence, 10.5 / 13.5, 1e-12);
        for (size_t i = 0; i < 4; i++) {
            assert_close(b.layers[i].tau, scale[i], 1e-12);
            assert_close(b.layers[i].alpha, 1 / (1 + scale[i]), 1e-12);
            assert_close(b.layers[i].scale, 2 / (1 + scale[i]), 1e-12);
            double with = scale[i] * s.mismatch, without = 10.5 / scale[i] * s.mismatch;
            assert_close(b.layers[i].confidence, with / (3 + with), 1e-12);
            assert_close(b.layers[i].without, without / (3 + without), 1e-12);
        }
        bang_balance_release(&b);
        assert_null(b.layers);
    }
}

static void test_whole_model_takes_two_probes(void **state)
{
    (void)state;
    const double scale[] = {2, 0.25};
    struct scaled s = {.layers = 2, .scale = scale, .mismatch = 1};
    bang_error err = {0};
    bang_balance b;
    assert_int_equal(bang_balance_find(&b, 2, 0, scaled_probe, &s, &err), 0);
    assert_int_equal(s.calls, 2);
    assert_int_equal(b.layer_count, 0);
    assert_null(b.layers);
    /* less confident than the pre-trained: its change is made larger */
    assert_true(b.whole.tau == 0.5);
    assert_close(b.whole.alpha, 2.0 / 3, 1e-15);
    assert_close(b.whole.scale, 4.0 / 3, 1e-15);
    bang_balance_release(&b);
    /* a single layer is the model */
    s = (struct scaled){.layers = 1, .scale = scale, .mismatch = 9};
    assert_int_equal(bang_balance_find(&b, 1, 1, scaled_probe, &s, &err), 0);
    assert_int_equal(s.calls, 2);
    assert_true(b.layer_count == 1 && b.layers[0].tau == 2 && b.layers[0].alpha == b.whole.alpha);
    bang_balance_release(&b);
}

static void test_extremes_have_values(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_balance b;
    const double scale[] = {1e9, 1e-9};
    struct scaled s = {.layers = 2, .scale = scale, .mismatch = 1};
    assert_true(bang_balance_alpha(1) == 0.5 && bang_balance_alpha(0) == 1);
    assert_true(bang_balance_alpha(INFINITY) == 0);
    assert_int_equal(bang_balance_find(&b, 2, 1, scaled_probe, &s, &err), 0);
    assert_close(b.layers[0].tau / 1e9, 1, 1e-12);
    assert_close(b.layers[1].tau * 1e9, 1, 1e-12);
    bang_balance_release(&b);
    s = (struct scaled){.layers = 2, .scale = scale, .mismatch = 1, .tau = 1e-300};
    assert_int_equal(bang_balance_find(&b, 2, 1, scaled_probe, &s, &err), 0);
    assert_close(b.layers[0].tau * 1e150, 1e-150 * 1e150, 1e-12);
    bang_balance_release(&b);
}

static void test_refuses(void **state)
{
    (void)state;
    const double scale[] = {2, 3};
    const struct {
        struct scaled s;
        const char *message;
    } cases[] = {
        {{.confidence = {NAN, 0}}, "confidence of nan"},
        {{.confidence = {1.5, 0}}, "confidence of 1.5"},
        {{.confidence = {0, -0.1}}, "confidence of -0.1"},
        {{.tau = NAN}, "temperature of nan"},
        {{.tau = INFINITY}, "temperature of inf"},
        {{.tau = -1}, "temperature of -1"},
        {{.fail = 1}, "the probe's own"},
        {{.fail = 2}, "the probe's own"},
        {{.fail = 4}, "the probe's own"},
        {{.fail = 6}, "the probe's own"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scaled s = cases[i].s;
        bang_error err = {0};
        bang_balance b;
        s.layers = 2;
        s.scale = scale;
        s.mismatch = 1;
        int rc = bang_balance_find(&b, 2, 1, scaled_probe, &s, &err);
        assert_int_equal(rc, s.fail ? BANG_EIO : BANG_EDATA);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_true(b.layers == NULL && b.layer_count == 0);
    }
    bang_error err = {0};
    bang_balance b;
    assert_int_equal(bang_balance_find(&b, 0, 1, scaled_probe, NULL, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "no layers"));
}

/* The paper's model on samples: each model is a head w and a featurizer Phi over some of FEATURES
 * features, each of which shows one of three classes; logit k counts w_f Phi_f over the features
 * that show k. */
enum { FEATURES = 10, CLASSES = 3, SAMPLES = 2000 };

struct paper {
    const int (*has)[FEATURES]; /* (2) features of PM and FM */
    double lambda;              /* FM is (lambda w, lambda Phi) */
    unsigned char (*shows)[FEATURES];
    double (*logits)[CLASSES];
};

static int paper_probe(void *context, double *confidence, double *tau, double target,
                       const unsigned char *hybrid, size_t layers, bang_error *err)
{
    struct paper *p = context;
    bang_table table;
    bang_logits logits = {&table, 0, NULL};
    bang_member member = {.part_count = 1, .parts = {{0, 1, 1}}};
    bang_tally_input input = {1, &logits, NULL, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally;
    assert_int_equal(layers, 2);
    memset(p->logits, 0, SAMPLES * sizeof *p->logits);
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t f = 0; f < FEATURES; f++) {
            double w = p->has[hybrid[0]][f] ? (hybrid[0] ? p->lambda : 1) : 0;
            double phi = p->has[hybrid[1]][f] ? (hybrid[1] ? p->lambda : 1) : 0;
            p->logits[i][p->shows[i][f]] += w * phi;
        }
    bang_table_of(&table, "model", BANG_F64, p->logits, SAMPLES, CLASSES);
    options.threads = 1;
    int rc = bang_tally_run(&tally, &input, &options, err);
    if (rc < 0)
        return rc;
    *confidence = tally->of[0].confidence;
    bang_tally_free(tally);
    bang_temperature found = {.temperature = 1};
    if (!isnan(target))
        rc = bang_temperature_balance(&found, &logits, NULL, target, 1, NULL, err);
    *tau = found.temperature;
    return rc;
}

/* Exchangeable models: every sample is there once more with the models' features exchanged, so
 * that but for lambda both are equally confident. Features f and 9 - f take each other's place. */
static void draw(struct paper *p, double shift)
{
    bang_random random;
    bang_random_init(&random, 7, BANG_PURPOSE('p', 'a', 'i', 'r'), 0);
    for (size_t i = 0; i < SAMPLES; i += 2)
        for (size_t f = 0; f < FEATURES; f++) {
            int invariant = f == 0 || f == 1 || f == 8 || f == 9;
            int moved = !invariant && bang_random_uniform(&random) < shift;
            unsigned char shown = moved ? (unsigned char)bang_random_below(&random, CLASSES) : 0;
            p->shows[i][f] = p->shows[i + 1][FEATURES - 1 - f] = shown;
        }
}

/* WSE of the paper's models at weights 1 - alpha and alpha. */
static double wse(double alpha, double lambda, int overlap, double shift)
{
    bang_theory_problem problem;
    bang_theory_score score;
    bang_theory_value value;
    bang_error err = {0};
    bang_theory_problem_init(&problem, CLASSES, shift);
    assert_int_equal(bang_theory_add_model(&problem, "2,3", &err), 0);
    assert_int_equal(bang_theory_add_model(&problem, "2,3", &err), 0);
    if (overlap)
        assert_int_equal(bang_theory_set_overlap(&problem, 0, 1, &err), 0);
    problem.weights[0] = 1 - alpha;
    problem.weights[1] = alpha;
    problem.scales[1] = lambda;
    assert_int_equal(bang_theory_score_wse(&score, &problem, &err), 0);
    assert_int_equal(bang_theory_exact(&value, &score, CLASSES, shift, NULL, &err), 0);
    bang_theory_score_release(&score);
    bang_theory_problem_release(&problem);
    return value.accuracy;
}

/* Proposition 4's models, of no common feature and of one: alpha_l restores what the scale cost. */
static void test_balances_the_papers_model(void **state)
{
    (void)state;
    static const int apart[2][FEATURES] = {{1, 1, 1, 1, 1, 0, 0, 0, 0, 0},
                                           {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}};
    static const int sharing[2][FEATURES] = {{1, 1, 1, 0, 1, 1, 0, 0, 0, 0},
                                             {0, 0, 0, 0, 1, 1, 0, 1, 1, 1}};
    const double shift = 0.9, lambdas[] = {1, 1.5, 3, 0.4};
    struct paper p = {.shows = calloc(SAMPLES, sizeof *p.shows),
                      .logits = calloc(SAMPLES, sizeof *p.logits)};
    bang_error err = {0};
    assert_true(p.shows && p.logits);
    draw(&p, shift);
    for (int k = 0; k < 8; k++) {
        int overlap = k % 2;
        double lambda = p.lambda = lambdas[k / 2];
        bang_balance b;
        p.has = overlap ? sharing : apart;
        assert_int_equal(bang_balance_find(&b, 2, 1, paper_probe, &p, &err), 0);
        assert_close(b.whole.tau / (lambda * lambda), 1, 1e-9);
        for (size_t l = 0; l < 2; l++) {
            assert_close(b.layers[l].tau / lambda, 1, 1e-9);
            /* what a hybrid's own temperature would have said is wrong here */
            assert_true(lambda < 1 || b.layers[l].confidence < b.whole.confidence);
        }
        double alpha = b.layers[0].alpha;
        assert_close(alpha, 1 / (1 + lambda), 1e-9);
        /* both models have the weight (1 - alpha) in each layer */
        assert_close(alpha * lambda, 1 - alpha, 1e-9);
        bang_balance_release(&b);
    }
    free(p.shows);
    free(p.logits);
}

static void test_balance_restores_accuracy(void **state)
{
    (void)state;
    const double shift = 0.9, lambda = 3;
    for (int overlap = 0; overlap < 2; overlap++) {
        double even = wse(0.5, 1, overlap, shift), uneven = wse(0.5, lambda, overlap, shift);
        double layers = wse(bang_balance_alpha(lambda), lambda, overlap, shift);
        double whole = wse(bang_balance_alpha(lambda * lambda), lambda, overlap, shift);
        assert_close(layers, even, 1e-12);
        if (!overlap)
            assert_true(even - uneven > 34.0 / 729 * shift * shift * shift);
        /* the whole model's tau counts both layers, and each takes it: the roles are exchanged */
        assert_close(whole, uneven, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_are_found),
        cmocka_unit_test(test_whole_model_takes_two_probes),
        cmocka_unit_test(test_extremes_have_values),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_balances_the_papers_model),
        cmocka_unit_test(test_balance_restores_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
