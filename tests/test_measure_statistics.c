/* Tests and intervals against whole numbers, closed forms and the moments of what is drawn. */
#include "distribution.h"

#include "bang/measure/statistics.h"
#include "measure/special.h"

static void assert_close(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.17g is not %.17g: %g off, %g allowed", found, expected, found - expected,
                 tolerance);
}

/* P(X <= k) and P(X = k) of a binomial (n, 1/2): in long double from the largest term down, which
 * is good to some 1e-17 of itself. */
static void plain_half(long double *at_most, long double *equal, size_t n, size_t k)
{
    long double term = 1, sum = 0;
    for (size_t i = 0; i < k; i++)
        term = term * (long double)(n - i) / (long double)(i + 1);
    *equal = ldexpl(term, -(int)n);
    for (size_t i = k + 1; i-- > 0;) {
        sum += term;
        term = term * (long double)i / (long double)(n - i + 1);
    }
    *at_most = ldexpl(sum, -(int)n);
}

static void test_mcnemar_small(void **state)
{
    (void)state;
    static uint64_t pascal[61][61];
    for (int n = 0; n <= 60; n++)
        for (int k = 0; k <= n; k++)
            pascal[n][k] = k == 0 || k == n ? 1 : pascal[n - 1][k - 1] + pascal[n - 1][k];
    for (size_t b = 0; b <= 40; b++)
        for (size_t c = 0; b + c <= 60; c++) {
            bang_mcnemar test = bang_mcnemar_test(b, c), other = bang_mcnemar_test(c, b);
            uint64_t sum = 0, all = UINT64_C(1) << (b + c);
            size_t least = b < c ? b : c;
            for (size_t i = 0; i <= least; i++)
                sum += pascal[b + c][i];
            double p = 2 * ((double)sum / (double)all);
            double mid = (double)(2 * sum - pascal[b + c][least]) / (double)all;
            assert_true(test.b == b && test.c == c);
            assert_true(test.p == (p < 1 ? p : 1));
            assert_close(test.mid_p, b == c ? 1 : mid, 3e-16);
            assert_true(other.p == test.p && other.mid_p == test.mid_p);
            assert_true(other.chi_squared == test.chi_squared);
        }
    /* Six against none: 2/64. */
    assert_true(bang_mcnemar_test(6, 0).p == 0.03125);
    assert_true(bang_mcnemar_test(6, 0).mid_p == 0.015625);
    assert_true(bang_mcnemar_test(0, 0).p == 1 && bang_mcnemar_test(0, 0).mid_p == 1);
    assert_true(bang_mcnemar_test(0, 0).chi_squared == 0);
    assert_true(bang_mcnemar_test(7, 7).chi_squared == 0);
    assert_close(bang_mcnemar_test(5, 15).chi_squared, 81.0 / 20, 1e-15);
    assert_true(bang_mcnemar_test(3, 4).chi_squared == 0);
}

static void test_mcnemar_large(void **state)
{
    (void)state;
    static const size_t cases[][2] = {{30, 31},    {33, 36},   {30, 34},     {31, 31},
                                      {29, 32},    {0, 61},    {1, 80},      {40, 41},
                                      {50, 90},    {100, 130}, {0, 1000},    {1000, 1000},
                                      {999, 1000}, {700, 900}, {5000, 5300}, {4000, 6000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t b = cases[i][0], c = cases[i][1];
        bang_mcnemar test = bang_mcnemar_test(b, c);
        long double at_most, equal;
        plain_half(&at_most, &equal, b + c, b);
        double p = (double)fminl(1, 2 * at_most), mid = (double)(2 * at_most - equal);
        assert_close(test.p, p, 1e-13 * p);
        assert_close(test.mid_p, b == c ? 1 : mid, 1e-13 * mid);
    }
    /* Far beyond: the normal distribution, whose error falls as 1/n at k + 1/2, and for mid_p
     * at k, where a step of the distribution function is cut in half. */
    for (size_t n = 10000000; n <= 1000000000; n *= 10)
        for (double z = 0.5; z < 6; z += 0.5) {
            size_t k = (size_t)((double)n / 2 - z * sqrt((double)n) / 2);
            bang_mcnemar test = bang_mcnemar_test(k, n - k);
            double scale = sqrt(2 / (double)n), middle = (double)n / 2 - (double)k;
            double p = erfc((middle - 0.5) * scale), mid = erfc(middle * scale);
            assert_close(test.p, p, 100 * p / (double)n);
            assert_close(test.mid_p, mid, 100 * mid / (double)n);
        }
    /* Hopeless, but not wrong. */
    assert_true(bang_mcnemar_test(0, 100000).p == 0 && bang_mcnemar_test(0, 100000).mid_p == 0);
    assert_true(bang_mcnemar_test(0, 1000).p == ldexp(1, -999));
    assert_true(bang_mcnemar_test(1000001, 1000000).p == 1);
}

static void test_error_correlation(void **state)
{
    (void)state;
    assert_true(bang_error_correlation(40, 0, 0, 7) == 1);
    assert_true(bang_error_correlation(48271, 0, 0, 1729) == 1);
    assert_true(bang_error_correlation(0, 9, 13, 0) == -1);
    assert_true(bang_error_correlation(6, 3, 4, 2) == 0);
    assert_true(isnan(bang_error_correlation(5, 0, 3, 0)));
    assert_true(isnan(bang_error_correlation(0, 0, 3, 9)));
    assert_true(isnan(bang_error_correlation(0, 0, 0, 0)));
    /* Against the correlation of the two columns of zeros and ones. */
    size_t n[4] = {17, 5, 3, 11};
    double mean[2] = {22.0 / 36, 20.0 / 36}, cov = 0, var[2] = {0, 0};
    for (int kind = 0; kind < 4; kind++)
        for (size_t i = 0; i < n[kind]; i++) {
            double first = kind == 0 || kind == 1, second = kind == 0 || kind == 2;
            cov += (first - mean[0]) * (second - mean[1]);
            var[0] += (first - mean[0]) * (first - mean[0]);
            var[1] += (second - mean[1]) * (second - mean[1]);
        }
    assert_close(bang_error_correlation(17, 5, 3, 11), cov / sqrt(var[0] * var[1]), 1e-15);
}

static void test_beta(void **state)
{
    (void)state;
    /* Whole a and b: P(X >= a) of a binomial (a + b - 1, x). */
    for (int a = 1; a <= 40; a += 3)
        for (int b = 1; b <= 40; b += 3)
            for (int i = 1; i < 32; i++) {
                long double x = i / 32.0L, sum = 0, choose = 1;
                int n = a + b - 1;
                for (int j = 0; j <= n; j++) {
                    if (j >= a)
                        sum += choose * powl(x, j) * powl(1 - x, n - j);
                    choose = choose * (n - j) / (j + 1);
                }
                assert_close(bang_beta((double)x, a, b), (double)sum, 1e-14);
            }
    const double pi = acos(-1);
    /* Of such x, 1 - x is exact. */
    for (double x = 0x1p-30; x < 1; x = x < 0.05 ? 4 * x : x + 0x1p-7) {
        assert_close(bang_beta(x, 0.5, 0.5), 2 / pi * asin(sqrt(x)), 1e-14);
        assert_close(bang_beta(x, 1, 7.5), -expm1(7.5 * log1p(-x)), 1e-14);
        assert_close(bang_beta(x, 0.01, 1), pow(x, 0.01), 1e-14);
        for (double a = 0.3; a < 1e5; a *= 7)
            for (double b = 0.7; b < 1e5; b *= 5) {
                double here = bang_beta(x, a, b);
                assert_true(here >= 0 && here <= 1);
                assert_close(here + bang_beta(1 - x, b, a), 1, 1e-13);
                /* I_x(a, b) - I_x(a + 1, b) = x^a (1-x)^b / (a B(a, b)) */
                double step = bang_binomial_density(a, b, x, 1 - x) * b / (a + b);
                assert_close(here - bang_beta(x, a + 1, b), step, 1e-13);
            }
    }
    assert_true(bang_beta(0, 2, 3) == 0 && bang_beta(1, 2, 3) == 1);
    assert_true(isnan(bang_beta(0.5, 0, 1)) && isnan(bang_beta(0.5, 1, -1)));
    assert_true(isnan(bang_beta(-0.1, 1, 1)) && isnan(bang_beta(1.1, 1, 1)));
    assert_true(isnan(bang_beta(NAN, 1, 1)) && isnan(bang_beta(0.5, INFINITY, 1)));
}

static void test_density(void **state)
{
    (void)state;
    for (size_t n = 2; n < 3000; n = n * 3 / 2 + 1)
        for (size_t k = 1; k < n; k += 1 + n / 17) {
            long double at_most, equal;
            plain_half(&at_most, &equal, n, k);
            double found = bang_binomial_density((double)k, (double)(n - k), 0.5, 0.5);
            assert_close(found, (double)equal, 2e-13 * (double)equal);
        }
    /* (k + 1) P(k + 1) (1 - x) = (n - k) P(k) x, whatever k. */
    for (double k = 0.25; k < 1e6; k *= 3) {
        double x = 0.3, rest = 1.7 * k + 3, here = bang_binomial_density(k, rest, x, 1 - x);
        double next = bang_binomial_density(k + 1, rest - 1, x, 1 - x);
        assert_close((k + 1) * next * (1 - x), rest * here * x, 1e-12 * rest * here);
    }
}

static void test_student(void **state)
{
    (void)state;
    const double pi = acos(-1);
    for (double t = -50; t <= 50; t += 0.37) {
        assert_close(bang_student(t, 1), 0.5 + atan(t) / pi, 1e-14);
        assert_close(bang_student(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-14);
        double s = t / sqrt(4 + t * t); /* df 4: 1/2 + 3/4 (s - s^3/3) */
        assert_close(bang_student(t, 4), 0.5 + 0.75 * (s - s * s * s / 3), 1e-14);
        assert_close(bang_student(t, 7.3) + bang_student(-t, 7.3), 1, 1e-15);
    }
    /* Tails keep their digits: df 2 is 1/(t^2 + ..) far out. */
    assert_close(bang_student(-1e6, 2), 0.5 * 1e-12 * (1 - 1.5e-12), 1e-25);
    /* Many: normal, less t (t^2 + 1)/(4 df) of its density; then normal at last. */
    for (double t = -5; t <= 5; t += 0.25) {
        double normal = erfc(-t / sqrt(2)) / 2, density = exp(-t * t / 2) / sqrt(2 * pi);
        double df = 1e7;
        assert_close(bang_student(t, df), normal - density * t * (t * t + 1) / (4 * df), 1e-13);
        assert_close(bang_student(t, 1e15), normal, 1e-14);
        assert_close(bang_student(t, 1e300), normal, 1e-14);
        assert_close(bang_student(t, INFINITY), normal, 1e-15);
    }
    assert_true(bang_student(0, 3) == 0.5);
    assert_true(bang_student(INFINITY, 3) == 1 && bang_student(-INFINITY, 3) == 0);
    assert_true(isnan(bang_student(NAN, 3)) && isnan(bang_student(1, 0)));
    assert_true(isnan(bang_student(1, NAN)));
}

static void test_student_quantile(void **state)
{
    (void)state;
    const double pi = acos(-1);
    for (double p = 1e-12; p < 1; p = p < 0.01 ? 3 * p : p + 0.01) {
        double one = p < 0.5 ? -1 / tan(pi * p) : tan(pi * (p - 0.5));
        double two = (2 * p - 1) / sqrt(2 * p * (1 - p));
        assert_close(bang_student_quantile(p, 1), one, 1e-13 * fabs(one) + 1e-15);
        assert_close(bang_student_quantile(p, 2), two, 1e-13 * fabs(two) + 1e-15);
        for (double df = 0.5; df < 1e9; df *= 3.7) {
            double t = bang_student_quantile(p, df);
            assert_close(bang_student(t, df), p, 2e-13 * fmin(p, 1 - p));
            if (p > 0.25 && p < 0.5) /* 1 - p is nearly exact */
                assert_close(bang_student_quantile(1 - p, df), -t, 1e-13 * fabs(t) + 1e-15);
        }
    }
    /* Known from every book. */
    assert_close(bang_student_quantile(0.975, 1), 12.706204736174698, 1e-12);
    assert_close(bang_student_quantile(0.975, INFINITY), 1.959963984540054, 1e-14);
    /* Near the middle t is p - 1/2 over the density there: 1/(2 sqrt 2) with df 2. */
    assert_close(bang_student_quantile(0.5 + 0x1p-40, 2), 0x1p-40 * sqrt(8), 1e-26);
    assert_true(bang_student_quantile(0.5, 3) == 0);
    assert_true(isnan(bang_student_quantile(0, 3)) && isnan(bang_student_quantile(1, 3)));
    assert_true(isnan(bang_student_quantile(0.5, -1)) && isnan(bang_student_quantile(NAN, 3)));
}

enum { KINDS = 6 };

/* Counts N p: means N p_i, covariances N p_i ([i = j] - p_j), each within 4.5 standard errors. */
static void check_resample(const size_t *counts, int draws)
{
    size_t total = 0, drawn[KINDS];
    double sum[KINDS] = {0}, product[KINDS][KINDS] = {{0}};
    for (int i = 0; i < KINDS; i++)
        total += counts[i];
    double n = (double)total;
    for (int r = 0; r < draws; r++) {
        bang_random random;
        bang_random_init(&random, 9, BANG_PURPOSE('b', 'o', 'o', 't'), (uint64_t)r);
        bang_resample(drawn, counts, KINDS, &random);
        size_t all = 0;
        for (int i = 0; i < KINDS; i++) {
            all += drawn[i];
            assert_true(counts[i] > 0 || drawn[i] == 0);
            double off = (double)drawn[i] - (double)counts[i];
            sum[i] += off;
            for (int j = 0; j <= i; j++)
                product[i][j] += off * ((double)drawn[j] - (double)counts[j]);
        }
        assert_int_equal(all, total);
    }
    for (int i = 0; i < KINDS; i++) {
        double p = (double)counts[i] / fmax(n, 1), var = n * p * (1 - p);
        assert_close(sum[i] / draws, 0, 4.5 * sqrt(var / draws));
        for (int j = 0; j <= i; j++) {
            double q = (double)counts[j] / fmax(n, 1), cov = i == j ? var : -n * p * q;
            /* Of the product of two nearly normal ones: var var' + cov^2, and what the
             * excess of small counts adds. */
            double spread = var * n * q * (1 - q) + cov * cov + fabs(cov) + 1;
            assert_close(product[i][j] / draws, cov, 4.5 * sqrt(spread / draws));
        }
    }
}

static void test_resample(void **state)
{
    (void)state;
    static const size_t few[KINDS] = {3, 0, 20, 1, 5, 11},
                        many[KINDS] = {25000, 40, 0, 9000, 15959, 1},
                        most[KINDS] = {1000000000, 1, 500000000, 77, 0, 1200000000},
                        one[KINDS] = {0, 0, 0, 7, 0, 0}, none[KINDS] = {0};
    check_resample(few, 20000);
    check_resample(many, 20000);
    check_resample(most, 20000);
    check_resample(one, 10);
    check_resample(none, 10);
    /* The same stream, the same counts; another one, others. */
    bang_random random;
    size_t drawn[3][KINDS];
    for (uint64_t i = 0; i < 3; i++) {
        bang_random_init(&random, 9, BANG_PURPOSE('b', 'o', 'o', 't'), i / 2);
        bang_resample(drawn[i], many, KINDS, &random);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(drawn[0], drawn[2], sizeof drawn[0]);
    bang_resample(NULL, NULL, 0, &random);
}

/* Where draws lie in the distribution is uniform: P(X < k) + v P(X = k) with v uniform. In 50
 * cells, by the distribution function that was tested above, at sizes that a table would not hold.
 */
static void test_binomial_far(void **state)
{
    (void)state;
    enum { CELLS = 50, DRAWS = 20000 };
    static const struct {
        int64_t n;
        double p;
    } cases[] = {{50000, 0.31}, {1000000, 0.5}, {1281167, 0.00002}, {40000000, 0.9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double observed[CELLS] = {0}, expected[CELLS];
        double n = (double)cases[i].n, p = cases[i].p;
        bang_random random;
        bang_random_init(&random, 4, BANG_PURPOSE('f', 'a', 'r', ' '), i);
        for (int draw = 0; draw < DRAWS; draw++) {
            double k = (double)bang_random_binomial(&random, cases[i].n, p);
            double up = k < n ? bang_beta(1 - p, n - k, k + 1) : 1;
            double below = k > 0 ? bang_beta(1 - p, n - k + 1, k) : 0;
            double place = below + bang_random_uniform(&random) * (up - below);
            assert_true(up >= below);
            observed[(int)fmin(CELLS - 1, place * CELLS)]++;
        }
        for (int cell = 0; cell < CELLS; cell++)
            expected[cell] = (double)DRAWS / CELLS;
        assert_close(chi_square(observed, expected, CELLS), 0, 4);
    }
}

static void test_interval(void **state)
{
    (void)state;
    double values[11] = {7, 0, 10, 3, 1, 2, 9, 4, 5, 8, 6};
    bang_interval half = bang_interval_of(values, 11, 0.5);
    assert_true(half.low == 2.5 && half.high == 7.5);
    assert_close(half.sd, sqrt(11), 1e-15);
    for (int i = 0; i < 11; i++)
        assert_true(values[i] == i);
    bang_interval most = bang_interval_of(values, 11, 0.95);
    assert_close(most.low, 0.25, 1e-14);
    assert_close(most.high, 9.75, 1e-14);
    bang_interval all = bang_interval_of(values, 11, 1);
    assert_true(all.low == 0 && all.high == 10);
    bang_interval median = bang_interval_of(values, 11, 0);
    assert_true(median.low == 5 && median.high == 5);
    /* Two numbers: the line between them; equal ones stay what they are. */
    double two[2] = {0.3, 0.1};
    bang_interval line = bang_interval_of(two, 2, 0.8);
    assert_close(line.low, 0.12, 1e-16);
    assert_close(line.high, 0.28, 1e-16);
    assert_close(line.sd, 0.1 * sqrt(2), 1e-16);
    double same[3] = {0.7, 0.7, 0.7};
    bang_interval flat = bang_interval_of(same, 3, 0.95);
    assert_true(flat.low == 0.7 && flat.high == 0.7);
    assert_close(flat.sd, 0, 1e-15);
    bang_interval single = bang_interval_of(same, 1, 0.95);
    assert_true(single.low == 0.7 && single.high == 0.7 && isnan(single.sd));
    bang_interval empty = bang_interval_of(same, 0, 0.95);
    assert_true(isnan(empty.low) && isnan(empty.high) && isnan(empty.sd));
    values[6] = NAN;
    bang_interval unknown = bang_interval_of(values, 11, 0.2);
    assert_true(isnan(unknown.low) && isnan(unknown.high) && isnan(unknown.sd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mcnemar_small),     cmocka_unit_test(test_mcnemar_large),
        cmocka_unit_test(test_error_correlation), cmocka_unit_test(test_beta),
        cmocka_unit_test(test_density),           cmocka_unit_test(test_student),
        cmocka_unit_test(test_student_quantile),  cmocka_unit_test(test_resample),
        cmocka_unit_test(test_binomial_far),      cmocka_unit_test(test_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
