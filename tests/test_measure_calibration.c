/* Bins of confidence against sorting everything, and calibration errors by hand. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/measure/calibration.h"

static void test_equal_width(void **state)
{
    (void)state;
    /* (lo, hi]: an upper end belongs to its bin. */
    assert_int_equal(bang_bin_of(0, 4), 0);
    assert_int_equal(bang_bin_of(0.25, 4), 0);
    assert_int_equal(bang_bin_of(nextafter(0.25, 1), 4), 1);
    assert_int_equal(bang_bin_of(0.5, 4), 1);
    assert_int_equal(bang_bin_of(1, 4), 3);
    assert_int_equal(bang_bin_of(nextafter(1, 2), 4), 3);
    assert_int_equal(bang_bin_of(1.5, 4), 3);
    assert_int_equal(bang_bin_of(-1, 4), 0);
    assert_int_equal(bang_bin_of(NAN, 4), 0);
    assert_int_equal(bang_bin_of(0.7, 1), 0);
    assert_int_equal(bang_bin_of(1, BANG_BINS_MAX), BANG_BINS_MAX - 1);
    /* Whatever the rounding, the product decides: 15 (k/15) is k or beside it. */
    for (size_t k = 1; k <= BANG_BINS; k++) {
        double c = (double)k / BANG_BINS, product = BANG_BINS * c;
        assert_int_equal(bang_bin_of(c, BANG_BINS), product > (double)k ? k : k - 1);
        assert_int_equal(bang_bin_of(c - 0.01, BANG_BINS), k - 1);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Sorts all, and gives every sample the mean accuracy of those of its confidence: within a
 * bin that changes nothing, across a cut it is what sharing means. */
static void plain_bins(bang_bin *bins, size_t count, double *values, size_t n)
{
    long double *right = calloc(n + 1, sizeof *right);
    assert_non_null(right);
    qsort(values, n, sizeof *values, by_size);
    for (size_t i = 0, end; i < n; i = end) {
        long double sum = 0;
        for (end = i; end < n && fabs(values[end]) == fabs(values[i]); end++)
            sum += !signbit(values[end]);
        for (size_t j = i; j < end; j++)
            right[j] = sum / (long double)(end - i);
    }
    size_t at = 0;
    for (size_t b = 0; b < count; b++) {
        size_t size = n / count + (b < n % count);
        bins[b] = (bang_bin){size, NAN, NAN, NAN, NAN};
        long double confidence = 0, accuracy = 0;
        for (size_t i = at; i < at + size; i++) {
            confidence += (long double)fabs(values[i]);
            accuracy += right[i];
        }
        if (size) {
            bins[b].confidence = (double)(confidence / (long double)size);
            bins[b].accuracy = (double)(accuracy / (long double)size);
            bins[b].low = fabs(values[at]);
            bins[b].high = fabs(values[at + size - 1]);
        }
        at += size;
    }
    assert_int_equal(at, n);
    free(right);
}

static void assert_near(double a, double b)
{
    if (isnan(a) || isnan(b))
        assert_true(isnan(a) && isnan(b));
    else if (!(fabs(a - b) < 4e-16))
        fail_msg("%.17g is not %.17g", a, b);
}

static void check_mass(const double *values, size_t n, size_t count)
{
    double *mine = malloc((n + 1) * sizeof *mine), *plain = malloc((n + 1) * sizeof *plain);
    bang_bin *bins = malloc(count * sizeof *bins), *expected = malloc(count * sizeof *expected);
    bang_bin *again = malloc(count * sizeof *again);
    assert_true(mine && plain && bins && expected && again);
    for (size_t i = 0; i < n; i++)
        mine[i] = plain[i] = values[i];
    bang_bins_equal_mass(bins, count, mine, n);
    plain_bins(expected, count, plain, n);
    for (size_t b = 0; b < count; b++) {
        assert_int_equal(bins[b].count, expected[b].count);
        assert_near(bins[b].confidence, expected[b].confidence);
        assert_near(bins[b].accuracy, expected[b].accuracy);
        assert_true(bins[b].count == 0 || bins[b].low == expected[b].low);
        assert_true(bins[b].count == 0 || bins[b].high == expected[b].high);
        assert_int_equal(isnan(bins[b].low) != 0, bins[b].count == 0);
    }
    /* It is reordered, nothing else, and another order gives the same bits. */
    for (size_t i = 0; i < n; i++)
        plain[i] = values[n - 1 - i];
    bang_bins_equal_mass(again, count, plain, n);
    assert_memory_equal(again, bins, count * sizeof *bins);
    memcpy(plain, values, n * sizeof *plain);
    qsort(plain, n, sizeof *plain, by_size);
    qsort(mine, n, sizeof *mine, by_size);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(plain[i]) == fabs(mine[i]));
    free(mine), free(plain), free(bins), free(expected), free(again);
}

enum { SHAPES = 9 };

/* Confidences as models have them, and orders that a careless selection is slow or wrong on. */
static double shaped(int shape, size_t i, size_t n, bang_random *random)
{
    double u = bang_random_uniform(random);
    switch (shape) {
    case 0:
        return u;
    case 1: /* most are nearly certain */
        return 1 - 0.5 * pow(u, 20);
    case 2: /* many exactly */
        return u < 0.6 ? 1 : u;
    case 3:
        return 1;
    case 4: /* few values: runs of ties over several bins */
        return 0.1 * ceil(4 * u);
    case 5:
        return (double)(i + 1) / (double)n;
    case 6:
        return (double)(n - i) / (double)n;
    case 7: /* up and down */
        return (double)(1 + (i < n / 2 ? i : n - 1 - i)) / (double)n;
    default: /* far apart */
        return exp(-30 * u);
    }
}

static void test_equal_mass(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 7, 14, 15, 16, 29, 100, 1000, 4099};
    static const size_t bins[] = {1, 2, 3, 15, 64, BANG_BINS_MAX};
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t n = sizes[s];
            double *values = malloc((n + 1) * sizeof *values);
            bang_random random;
            assert_non_null(values);
            bang_random_init(&random, 5, BANG_PURPOSE('b', 'i', 'n', 's'), n);
            for (size_t i = 0; i < n; i++) {
                double c = shaped(shape, i, n, &random);
                values[i] = bang_random_uniform(&random) < c ? c : -c;
            }
            for (size_t b = 0; b < sizeof bins / sizeof *bins; b++)
                check_mass(values, n, bins[b]);
            free(values);
        }
}

static void test_ties(void **state)
{
    (void)state;
    /* Two bins of two; the middle two are tied, one of them right: half each. */
    double values[4] = {0.25, -0.5, 0.5, -0.75};
    bang_bin bins[2];
    bang_bins_equal_mass(bins, 2, values, 4);
    assert_true(bins[0].accuracy == 0.75 && bins[1].accuracy == 0.25);
    assert_true(bins[0].confidence == 0.375 && bins[1].confidence == 0.625);
    assert_true(bins[0].low == 0.25 && bins[0].high == 0.5);
    assert_true(bins[1].low == 0.5 && bins[1].high == 0.75);
    /* A run of ties over three bins, beside another one. */
    double longer[8] = {-0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0.75, -0.75};
    bang_bin five[5]; /* 2 2 2 1 1 */
    bang_bins_equal_mass(five, 5, longer, 8);
    for (size_t b = 0; b < 3; b++)
        assert_near(five[b].accuracy, 4.0 / 6);
    assert_true(five[3].accuracy == 0.5 && five[4].accuracy == 0.5);
    /* What is no confidence does not pass for one. */
    double odd[2] = {NAN, 0.5};
    bang_bins_equal_mass(bins, 1, odd, 2);
    assert_true(isnan(bins[0].confidence));
}

static void test_calibration(void **state)
{
    (void)state;
    bang_bin bins[4] = {
        {2, 0.25, 0.5, 0, 0.5}, {0, NAN, NAN, 0, 0}, {1, 0.75, 0, 0.5, 1}, {5, 1, 1, 0, 1}};
    bang_calibration found;
    bang_calibration_of(&found, bins, 4);
    assert_near(found.ece, (2 * 0.25 + 0.75) / 8);
    assert_near(found.mce, 0.75);
    assert_near(found.rms, sqrt((2 * 0.0625 + 0.5625) / 8));
    /* Perfect. */
    bang_calibration_of(&found, &bins[3], 1);
    assert_true(found.ece == 0 && found.mce == 0 && found.rms == 0);
    /* No samples; no labels. */
    bang_calibration_of(&found, &bins[1], 1);
    assert_true(isnan(found.ece) && isnan(found.mce) && isnan(found.rms));
    bins[0].accuracy = NAN;
    bang_calibration_of(&found, bins, 4);
    assert_true(isnan(found.ece) && isnan(found.mce) && isnan(found.rms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_width),
        cmocka_unit_test(test_equal_mass),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_calibration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
