/* The parabola through accuracies against exact fractions and normal equations in long double. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/curve.h"
#include "bang/measure/statistics.h"

static void assert_close(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance))
        fail_msg("%.17g is not %.17g: %g off, %g allowed", found, expected, found - expected,
                 tolerance);
}

static void fit(bang_curve *curve, const double *x, const double *y, size_t count)
{
    bang_error err = {0};
    if (bang_curve_fit(curve, x, y, count, &err) < 0)
        fail_msg("%s", err.message);
}

/* x = -2 .. 2: the normal equations are (5 0 10; 0 10 0; 10 0 34) c = (7 5 17). */
static void test_fractions(void **state)
{
    (void)state;
    const double x[5] = {-2, -1, 0, 1, 2}, y[5] = {1, 0, 2, 1, 3};
    bang_curve curve;
    fit(&curve, x, y, 5);
    double c0 = (34.0 * 7 - 10 * 17) / 70, c1 = 5.0 / 10, c2 = (5.0 * 17 - 10 * 7) / 70;
    assert_close(curve.coefficients[0], c0, 1e-15);
    assert_close(curve.coefficients[1], c1, 1e-15);
    assert_close(curve.coefficients[2], c2, 1e-15);
    /* RSS = y'y - c'X'y = 15 - (7 c0 + 5 c1 + 17 c2); TSS = 15 - 49/5 */
    double rss = 15 - (7 * c0 + 5 * c1 + 17 * c2), tss = 15 - 49.0 / 5;
    assert_close(curve.residual_sd, sqrt(rss / 2), 1e-14);
    assert_close(curve.r_squared, 1 - rss / tss, 1e-14);
    assert_true(curve.least == -2 && curve.most == 2 && curve.count == 5);
    /* h(x) = (34 - 20 x^2 + 5 x^4)/70 + x^2/10; t has 2 degrees of freedom. */
    const double level = 0.95, p = (1 + level) / 2;
    double t = (2 * p - 1) / sqrt(2 * p * (1 - p));
    for (double at = -4; at <= 4; at += 0.5) {
        double h = (34 - 20 * at * at + 5 * at * at * at * at) / 70 + at * at / 10;
        double s = sqrt(rss / 2), expected = c0 + c1 * at + c2 * at * at;
        bang_curve_point point = bang_curve_at(&curve, at, level);
        assert_close(point.y, expected, 1e-14);
        assert_close(point.curve_half, t * s * sqrt(h), 1e-12);
        assert_close(point.point_half, t * s * sqrt(1 + h), 1e-12);
        bang_curve_residual residual = bang_curve_compare(&curve, at, 4);
        double ratio = fabs(4 - expected) / (s * sqrt(1 + h));
        assert_close(residual.residual, 4 - expected, 1e-14);
        assert_close(residual.standard_error, s * sqrt(1 + h), 1e-13);
        assert_close(residual.p, 1 - ratio / sqrt(2 + ratio * ratio), 1e-13);
        assert_int_equal(residual.outside, at < -2 || at > 2);
        /* At the end of the band a new point's p is 1 - level. */
        assert_close(bang_curve_compare(&curve, at, point.y + point.point_half).p, 0.05, 1e-12);
    }
}

static void test_exact_parabola(void **state)
{
    (void)state;
    double x[20], y[20];
    for (int i = 0; i < 20; i++) {
        x[i] = 0.62 + 0.004 * i * (i % 3 + 1);
        y[i] = 0.3 - 1.5 * x[i] + 2.25 * x[i] * x[i];
    }
    bang_curve curve;
    fit(&curve, x, y, 20);
    assert_close(curve.coefficients[0], 0.3, 1e-12);
    assert_close(curve.coefficients[1], -1.5, 1e-11);
    assert_close(curve.coefficients[2], 2.25, 1e-11);
    assert_close(curve.residual_sd, 0, 1e-15);
    assert_close(curve.r_squared, 1, 1e-14);
    /* Three points: through all of them, and nothing left to judge by. */
    fit(&curve, x, y, 3);
    for (int i = 0; i < 3; i++)
        assert_close(bang_curve_at(&curve, x[i], 0.95).y, y[i], 1e-15);
    assert_true(isnan(curve.residual_sd));
    assert_close(curve.r_squared, 1, 1e-14);
    assert_true(isnan(bang_curve_at(&curve, 0.7, 0.95).curve_half));
    assert_true(isnan(bang_curve_at(&curve, 0.7, 0.95).point_half));
    assert_true(isnan(bang_curve_compare(&curve, 0.7, 1).p));
    assert_true(isnan(bang_curve_compare(&curve, 0.7, 1).standard_error));
    assert_close(bang_curve_compare(&curve, x[0], y[0] + 1).residual, 1, 1e-14);
    /* All y equal: a line, whose R^2 is not defined, and which is certain. */
    for (int i = 0; i < 20; i++)
        y[i] = 0.5;
    fit(&curve, x, y, 20);
    assert_true(isnan(curve.r_squared) && curve.residual_sd == 0);
    assert_true(bang_curve_compare(&curve, 0.7, 0.5).p == 1);
    assert_true(bang_curve_compare(&curve, 0.7, 0.6).p == 0);
    assert_true(bang_curve_at(&curve, 0.7, 0.95).point_half == 0);
}

/* Normal equations of (1, x - x0, (x - x0)^2), inverted by cofactors in long double. */
struct plain {
    long double at, coefficients[3], inverse[3][3], rss, tss;
};

static long double plain_value(const struct plain *plain, double x)
{
    long double d = (long double)x - plain->at;
    return plain->coefficients[0] + d * (plain->coefficients[1] + d * plain->coefficients[2]);
}

static long double plain_leverage(const struct plain *plain, double x)
{
    long double d = (long double)x - plain->at, v[3] = {1, d, d * d}, sum = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += v[i] * plain->inverse[i][j] * v[j];
    return sum;
}

static void plain_fit(struct plain *plain, const double *x, const double *y, size_t count)
{
    long double a[3][3] = {{0}}, right[3] = {0}, mean = 0;
    *plain = (struct plain){.at = (long double)x[0]};
    for (size_t i = 0; i < count; i++) {
        long double d = (long double)x[i] - plain->at, v[3] = {1, d, d * d};
        mean += (long double)y[i] / (long double)count;
        for (int j = 0; j < 3; j++) {
            right[j] += v[j] * (long double)y[i];
            for (int k = 0; k < 3; k++)
                a[j][k] += v[j] * v[k];
        }
    }
    long double determinant = 0;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) {
            int r = (j + 1) % 3, s = (j + 2) % 3, t = (k + 1) % 3, u = (k + 2) % 3;
            plain->inverse[k][j] = a[r][t] * a[s][u] - a[r][u] * a[s][t];
        }
    for (int k = 0; k < 3; k++)
        determinant += a[0][k] * plain->inverse[k][0];
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) {
            plain->inverse[j][k] /= determinant;
            plain->coefficients[j] += plain->inverse[j][k] * right[k];
        }
    for (size_t i = 0; i < count; i++) {
        long double residual = (long double)y[i] - plain_value(plain, x[i]);
        plain->rss += residual * residual;
        plain->tss += ((long double)y[i] - mean) * ((long double)y[i] - mean);
    }
}

/* Accuracies in a narrow range, as models have them. */
static void test_plain(void **state)
{
    (void)state;
    enum { MOST = 200 };
    double x[MOST], y[MOST];
    for (uint64_t run = 0; run < 60; run++) {
        bang_random random;
        bang_random_init(&random, 8, BANG_PURPOSE('f', 'i', 't', ' '), run);
        size_t count = 4 + bang_random_below(&random, MOST - 3);
        double width = pow(10, -2 * bang_random_uniform(&random));
        for (size_t i = 0; i < count; i++) {
            x[i] = 0.45 + width * bang_random_uniform(&random);
            y[i] = 0.6 + 0.5 * (x[i] - 0.4) + 0.01 * bang_random_normal(&random);
        }
        bang_curve curve;
        struct plain plain;
        fit(&curve, x, y, count);
        plain_fit(&plain, x, y, count);
        double df = (double)count - 3, s = sqrt((double)plain.rss / df);
        assert_close(curve.residual_sd, s, 1e-13 * s);
        assert_close(curve.r_squared, (double)(1 - plain.rss / plain.tss), 1e-12);
        double sum = 0, second = 2 * (double)plain.coefficients[2];
        assert_close(2 * curve.coefficients[2], second, 1e-10 * fabs(second));
        for (size_t i = 0; i < count; i++) {
            /* Half of the interval at the level of one standard deviation of t. */
            double level = 2 * bang_student(1, df) - 1;
            bang_curve_point point = bang_curve_at(&curve, x[i], level);
            double h = (point.curve_half / s) * (point.curve_half / s);
            sum += h;
            assert_close(point.y, (double)plain_value(&plain, x[i]), 1e-14);
            assert_close(h, (double)plain_leverage(&plain, x[i]), 1e-11);
            const double *c = curve.coefficients;
            assert_close(c[0] + x[i] * (c[1] + x[i] * c[2]), point.y, 1e-10);
        }
        assert_close(sum, 3, 1e-10);
        /* Far outside, too. */
        double far = 0.45 + 3 * width, h = (double)plain_leverage(&plain, far);
        double expected = (double)plain_value(&plain, far);
        bang_curve_residual residual = bang_curve_compare(&curve, far, 0.9);
        assert_close(residual.residual, 0.9 - expected, 1e-10 * (1 + fabs(expected)));
        assert_close(residual.standard_error, s * sqrt(1 + h), 1e-10 * s * sqrt(1 + h));
        assert_int_equal(residual.outside, 1);
    }
}

/* Of many data sets drawn around one parabola, the interval of a new point holds it as often as
 * it says. */
static void test_coverage(void **state)
{
    (void)state;
    enum { SETS = 4000, POINTS = 8 };
    int inside_point = 0, inside_curve = 0, small = 0;
    for (uint64_t set = 0; set < SETS; set++) {
        bang_random random;
        double x[POINTS], y[POINTS];
        bang_random_init(&random, 2, BANG_PURPOSE('c', 'o', 'v', 'e'), set);
        for (int i = 0; i < POINTS; i++) {
            x[i] = 0.7 + 0.01 * i;
            y[i] = 0.1 + 2 * x[i] - x[i] * x[i] + 0.005 * bang_random_normal(&random);
        }
        bang_curve curve;
        fit(&curve, x, y, POINTS);
        double truth = 0.1 + 2 * 0.79 - 0.79 * 0.79;
        double fresh = truth + 0.005 * bang_random_normal(&random);
        bang_curve_point point = bang_curve_at(&curve, 0.79, 0.8);
        inside_point += fabs(fresh - point.y) < point.point_half;
        inside_curve += fabs(truth - point.y) < point.curve_half;
        small += bang_curve_compare(&curve, 0.79, fresh).p < 0.1;
    }
    double sd = sqrt(0.8 * 0.2 * SETS);
    assert_close(inside_point, 0.8 * SETS, 4 * sd);
    assert_close(inside_curve, 0.8 * SETS, 4 * sd);
    assert_close(small, 0.1 * SETS, 4 * sqrt(0.1 * 0.9 * SETS));
}

static void refuse(const double *x, const double *y, size_t count, const char *part)
{
    bang_curve curve;
    bang_error err = {0};
    assert_int_equal(bang_curve_fit(&curve, x, y, count, &err), BANG_EDATA);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void test_refuse(void **state)
{
    (void)state;
    double x[5] = {1, 2, 1, 2, 1}, y[5] = {1, 2, 3, 4, 5};
    refuse(x, y, 5, "2 different x");
    refuse(x, y, 0, "0 different x");
    refuse(x, y, 1, "1 different x");
    x[4] = 1 + 1e-15;
    refuse(x, y, 5, "too close together");
    x[4] = NAN;
    refuse(x, y, 5, "point 5");
    x[4] = 3;
    y[1] = INFINITY;
    refuse(x, y, 5, "point 2");
    bang_curve curve;
    y[1] = 2;
    fit(&curve, x, y, 5);
    assert_int_equal(curve.count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fractions), cmocka_unit_test(test_exact_parabola),
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
