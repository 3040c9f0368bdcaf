/* F_p against identities, against plain quadrature and against sampling. */
#include "theory_cases.h"

static void test_identities(void **state)
{
    (void)state;
    static const int64_t classes[] = {2, 3, 5, 10, 100, 1000, 100000};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        assert_near(bang_theory_fp(0, classes[i], 1), 1 / (double)classes[i], 3e-15);
    for (double p = 0.05; p <= 1; p += 0.05) {
        double mii = p * (5 - 3 * p) / 3, mij = p * (4 - 3 * p) / 3;
        assert_near(bang_theory_fp(0, 3, p), 0.25 + asin(mij / mii) / (2 * acos(-1)), 3e-15);
        /* two classes: one Gaussian margin */
        double m2 = p * (4 - 2 * p) / 2;
        assert_near(bang_theory_fp(1.3, 2, p), naive_phi(1.3 / sqrt(m2)), 3e-15);
    }
}

/* E_Z[Phi((x + a Z)/b)^(K-1)] by Simpson with a step four times finer. */
static double naive_fp(double x, double classes, double p)
{
    double b = sqrt(p / classes), a = sqrt(p * (1 - p) + p / classes), sum = 0;
    int n = 40000;
    double h = 18.0 / n;
    for (int i = 0; i <= n; i++) {
        double z = -9 + i * h;
        double f = exp(-0.5 * z * z) * pow(naive_phi((x + a * z) / b), classes - 1);
        sum += f * (i == 0 || i == n ? 1 : i % 2 ? 4 : 2);
    }
    return sum * h / 3 / sqrt(2 * acos(-1));
}

static void test_against_simpson(void **state)
{
    (void)state;
    static const double shifts[] = {0.02, 0.3, 0.9, 1};
    static const double at[] = {-1, 0.2, 1, 2.5};
    static const int64_t classes[] = {2, 3, 10, 60};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++)
                assert_near(bang_theory_fp(at[k], classes[c], shifts[i]),
                            naive_fp(at[k], (double)classes[c], shifts[i]), 2e-13);
}

static void test_shape(void **state)
{
    (void)state;
    for (double p = 0.1; p <= 1; p += 0.3) {
        double before = 0;
        for (double x = -4; x <= 8; x += 0.25) {
            double now = bang_theory_fp(x, 1000, p);
            assert_true(now >= before - 1e-15 && now >= 0 && now <= 1);
            before = now;
        }
    }
    assert_near(bang_theory_fp(INFINITY, 3, 0.9), 1, 0);
    assert_near(bang_theory_fp(-INFINITY, 3, 0.9), 0, 0);
    assert_near(bang_theory_fp(1, 3, 0), 1, 0);
    assert_near(bang_theory_fp(0, 3, 0), 1.0 / 3, 1e-16);
}

/* Noise enters both the common and the own variance of the margins: checked by
 * drawing the Gaussian margins. */
static void test_noise_against_sampling(void **state)
{
    (void)state;
    small_score s;
    const bang_theory_score *score = make_score(&s, 3, 1.5, 1, (double[]){1}, (int64_t[]){12});
    double p = 0.8, k = 4, hits = 0;
    int draws = 400000;
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('g', 'a', 'u', 's'), 0);
    double mean = 3 + (1 - p) * 12, own = sqrt(12 * p / k + 2.25),
           common = sqrt(12 * (p * (1 - p) + p / k) + 2.25);
    for (int i = 0; i < draws; i++) {
        double shared = mean + common * bang_random_normal(&random);
        int fine = 1;
        for (int c = 1; c < 4; c++)
            fine &= shared + own * bang_random_normal(&random) > 0;
        hits += fine;
    }
    double value = bang_theory_gaussian(score, 4, p);
    assert_near(value, hits / draws, 4 * sqrt(value * (1 - value) / draws));
}

/* For many features the approximation closes in on the exact accuracy. */
static void test_central_limit(void **state)
{
    (void)state;
    double gap = 1;
    for (int64_t n = 20; n <= 20000; n *= 10) {
        small_score s;
        double v = round(0.6 * sqrt((double)n));
        const bang_theory_score *score = make_score(&s, v, 0, 1, (double[]){1}, (int64_t[]){n});
        double now = fabs(bang_theory_gaussian(score, 3, 1) -
                          accuracy_by(score, 3, 1, BANG_THEORY_GENERATING));
        assert_true(now < gap / 2);
        gap = now;
    }
    assert_true(gap < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),    cmocka_unit_test(test_against_simpson),
        cmocka_unit_test(test_shape),         cmocka_unit_test(test_noise_against_sampling),
        cmocka_unit_test(test_central_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
