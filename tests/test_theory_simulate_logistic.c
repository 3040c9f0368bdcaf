/* The logistic fit: gradient against differences, minimiser against a method
 * that shares nothing with it but the objective. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bang/base/random.h"
#include "theory/logistic.h"

enum { N = 40, D = 11, K = 4 }; /* D is no multiple of a vector register */

typedef struct fixture {
    double x[N * D], w[K * D], gradient[K * D], logits[K];
    uint32_t y[N];
    double *scratch;
    bang_logistic_data data;
} fixture;

/* Noisy samples around K unit vectors, not separable. */
static void fill(fixture *f, double noise, double ridge)
{
    bang_random random;
    bang_random_init(&random, 7, BANG_PURPOSE('t', 'e', 's', 't'), 0);
    for (size_t s = 0; s < N; s++) {
        f->y[s] = (uint32_t)bang_random_below(&random, K);
        for (size_t i = 0; i < D; i++)
            f->x[s * D + i] = noise * bang_random_normal(&random) + (i == f->y[s]);
    }
    for (size_t i = 0; i < K * D; i++)
        f->w[i] = bang_random_normal(&random);
    f->scratch = calloc((size_t)bang_logistic_scratch(K, D), sizeof *f->scratch);
    assert_non_null(f->scratch);
    f->data = (bang_logistic_data){f->x, f->y, N, D, K, ridge, NULL};
}

static double loss_at(fixture *f, double *gradient)
{
    return bang_logistic_loss(gradient, &f->data, f->w, f->logits);
}

/* The objective as its definition reads. */
static double naive_loss(const bang_logistic_data *data, const double *w)
{
    double loss = 0, squares = 0;
    for (size_t s = 0; s < data->n; s++) {
        double sum = 0, truth = 0;
        for (size_t k = 0; k < data->classes; k++) {
            double logit = 0;
            for (size_t i = 0; i < data->d; i++)
                logit += w[k * data->d + i] * data->x[s * data->d + i];
            sum += exp(logit);
            truth = k == data->y[s] ? logit : truth;
        }
        loss += log(sum) - truth;
    }
    for (size_t i = 0; i < data->classes * data->d; i++)
        squares += w[i] * w[i];
    return loss / (double)data->n + data->ridge / 2 * squares;
}

static void test_loss_and_gradient(void **state)
{
    (void)state;
    fixture f;
    fill(&f, 1, .05);
    double step = 1e-5;
    assert_true(fabs(loss_at(&f, f.gradient) - naive_loss(&f.data, f.w)) < 1e-13);
    for (size_t i = 0; i < K * D; i++) {
        double kept = f.w[i];
        f.w[i] = kept + step;
        double up = naive_loss(&f.data, f.w);
        f.w[i] = kept - step;
        double down = naive_loss(&f.data, f.w);
        f.w[i] = kept;
        assert_true(fabs((up - down) / (2 * step) - f.gradient[i]) < 1e-9);
    }
    free(f.scratch);
}

/* Logits far beyond the range of exp. */
static void test_loss_does_not_overflow(void **state)
{
    (void)state;
    fixture f;
    fill(&f, 1, .05);
    for (size_t i = 0; i < K * D; i++)
        f.w[i] *= 1e5;
    double loss = loss_at(&f, f.gradient);
    assert_true(isfinite(loss) && loss > 1e5);
    for (size_t i = 0; i < K * D; i++)
        assert_true(isfinite(f.gradient[i]));
    free(f.scratch);
}

static void test_minimiser(void **state)
{
    (void)state;
    static const double noises[] = {1, .05, 0}, ridges[] = {.05, .01, .02};
    for (int c = 0; c < 3; c++) {
        fixture f;
        double fitted[K * D];
        fill(&f, noises[c], ridges[c]);
        bang_error err = {0};
        assert_int_equal(bang_logistic_fit(fitted, &f.data, f.scratch, &err), 0);
        /* Gradient descent from elsewhere; the step is below 1 / curvature. */
        for (int i = 0; i < 60000; i++) {
            loss_at(&f, f.gradient);
            for (size_t j = 0; j < K * D; j++)
                f.w[j] -= .1 * f.gradient[j];
        }
        for (size_t j = 0; j < K * D; j++)
            assert_true(fabs(f.w[j] - fitted[j]) < 1e-6);
        free(f.scratch);
    }
}

/* From ridges that barely hold W to ones that crush it, from no noise to noise
 * that hides everything. */
static void test_converges_widely(void **state)
{
    (void)state;
    static const double noises[] = {0, .01, 1, 1e3, 1e6}, ridges[] = {1e-9, 1e-3, 1, 1e9, 1e30};
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            fixture f;
            fill(&f, noises[a], ridges[b]);
            bang_error err = {0};
            int rc = bang_logistic_fit(f.w, &f.data, f.scratch, &err);
            if (rc < 0)
                fail_msg("noise %g, ridge %g: %s", noises[a], ridges[b], err.message);
            double start = 0, end = 0;
            loss_at(&f, f.gradient);
            for (size_t i = 0; i < K * D; i++) {
                end = fmax(end, fabs(f.gradient[i]));
                f.w[i] = 0;
            }
            loss_at(&f, f.gradient);
            for (size_t i = 0; i < K * D; i++)
                start = fmax(start, fabs(f.gradient[i]));
            assert_true(end <= 1e-8 * fmax(1, start));
            free(f.scratch);
        }
}

static void test_failures_are_said(void **state)
{
    (void)state;
    static const double bad[] = {1e200, INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        fixture f;
        fill(&f, 1, .05);
        f.x[3] = bad[i];
        bang_error err = {0};
        assert_int_equal(bang_logistic_fit(f.w, &f.data, f.scratch, &err), BANG_EUSAGE);
        assert_int_equal(err.code, BANG_EUSAGE);
        free(f.scratch);
    }
    fixture f;
    fill(&f, 1, .05);
    bang_cancel cancel = {1};
    f.data.cancel = &cancel;
    assert_int_equal(bang_logistic_fit(f.w, &f.data, f.scratch, NULL), BANG_ECANCELLED);
    free(f.scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_and_gradient), cmocka_unit_test(test_loss_does_not_overflow),
        cmocka_unit_test(test_minimiser),         cmocka_unit_test(test_converges_widely),
        cmocka_unit_test(test_failures_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
