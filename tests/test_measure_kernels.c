/* Loops over rows of logits: every version against the plain one, and against each other to
 * the last bit; the logarithm against the C library's in long double. */
#include "testing.h"

#include <float.h>
#include <math.h>

#include "bang/base/random.h"
#include "measure/kernels.h"

enum { MOST = 1003, SIZES = 72 };

static const bang_measure_kernels *versions[2];
static size_t version_count;

static int find_versions(void **state)
{
    (void)state;
    versions[version_count++] = &bang_measure_portable;
    if (bang_measure_best() != &bang_measure_portable)
        versions[version_count++] = bang_measure_best();
    return 0;
}

/* 1 .. 70, and two longer rows. */
static size_t size_of(size_t i)
{
    return i < 70 ? i + 1 : i == 70 ? 1000 : MOST;
}

static bang_random stream(uint64_t index)
{
    bang_random random;
    bang_random_init(&random, 7, BANG_PURPOSE('t', 'e', 's', 't'), index);
    return random;
}

/* Logits of usual and unusual spread. */
static void fill(double *z, size_t count, double spread, uint64_t index)
{
    bang_random random = stream(index);
    for (size_t i = 0; i < count; i++)
        z[i] = spread * bang_random_normal(&random);
}

static void close_to(double x, double y, double relative)
{
    if (!(fabs(x - y) <= relative * fabs(y) + DBL_MIN))
        fail_msg("%.17g is not %.17g within %g", x, y, relative);
}

static void test_same_bits(void **state)
{
    (void)state;
    static double z[MOST], y[MOST], out[2][MOST];
    if (version_count < 2)
        skip();
    for (size_t i = 0; i < SIZES; i++) {
        size_t count = size_of(i);
        fill(z, count, 5, i);
        fill(y, count, 5, i + 1000);
        for (size_t v = 0; v < 2; v++)
            versions[v]->mix(out[v], z, 0.3, y, 0.7, count);
        assert_memory_equal(out[0], out[1], count * sizeof *z);
        for (size_t k = 0; k < count; k++)
            y[k] = exp(y[k]);
        for (size_t v = 0; v < 2; v++)
            versions[v]->logarithms(out[v], y, count);
        assert_memory_equal(out[0], out[1], count * sizeof *z);
    }
}

static void test_plain(void **state)
{
    (void)state;
    static double z[MOST], y[MOST], out[MOST], right[MOST];
    for (size_t i = 0; i < SIZES; i++)
        for (size_t v = 0; v < version_count; v++) {
            const bang_measure_kernels *k = versions[v];
            size_t count = size_of(i);
            fill(z, count, 5, i);
            fill(y, count, 5, i + 1000);
            k->mix(out, z, 0.25, y, -3, count);
            bang_measure_naive.mix(right, z, 0.25, y, -3, count);
            assert_memory_equal(out, right, count * sizeof *z);
            memcpy(out, z, count * sizeof *z);
            k->mix(out, out, 0.7, NULL, 0, count);
            bang_measure_naive.mix(right, z, 0.7, NULL, 0, count);
            assert_memory_equal(out, right, count * sizeof *z);
        }
}

/* Rows side by side: the same numbers as row by row. */
static void fill_side(double *z, size_t count, double spread, uint64_t index)
{
    fill(z, BANG_SIDE * count, spread, index);
}

static void test_logarithm(void **state)
{
    (void)state;
    enum { COUNT = 1 << 16 };
    static double x[COUNT], y[COUNT];
    bang_random random = stream(2);
    double worst = 0;
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            double u = bang_random_uniform(&random);
            x[i] = (double[]){u,
                              1 + 1000 * u,
                              exp2(2000 * u - 1000),
                              1 + (u - 0.5) / 64,
                              ldexp(u, -1023),
                              exp2(-50 * u)}[round];
        }
        x[0] = 1;
        for (size_t v = 0; v < version_count; v++) {
            versions[v]->logarithms(y, x, COUNT - v);
            for (size_t i = 0; i < COUNT - v; i++) {
                long double right = logl((long double)x[i]);
                double size = fabs((double)right);
                double ulp = size > 0 ? nextafter(size, INFINITY) - size : DBL_MIN;
                double off = (double)(fabsl((long double)y[i] - right) / (long double)ulp);
                worst = off > worst ? off : worst;
            }
            assert_true(y[0] == 0);
        }
    }
    print_message("logarithm: %.3f ulp at most\n", worst);
    assert_true(worst <= 2);
    double odd[] = {0, 5e-324, -1, NAN, INFINITY};
    for (size_t v = 0; v < version_count; v++) {
        versions[v]->logarithms(y, odd, 5);
        assert_true(y[0] == y[1] && fabs(y[1] - log(5e-324)) < 2e-13);
        assert_true(isnan(y[2]) && isnan(y[3]) && isnan(y[4]));
    }
}

static void test_turn(void **state)
{
    (void)state;
    static double z[BANG_SIDE][MOST], out[BANG_SIDE * MOST + 1], right[BANG_SIDE * MOST];
    static float narrow[BANG_SIDE][MOST];
    for (size_t i = 0; i < SIZES; i++) {
        size_t count = size_of(i);
        const double *rows[BANG_SIDE] = {z[0], z[1], z[2], z[2]};
        const float *few[BANG_SIDE] = {narrow[3], narrow[0], narrow[1], narrow[2]};
        for (size_t j = 0; j < BANG_SIDE; j++) {
            fill(z[j], count, 5, 10 * i + j);
            for (size_t k = 0; k < count; k++)
                narrow[j][k] = (float)z[j][k];
        }
        for (size_t v = 0; v < version_count; v++) {
            out[BANG_SIDE * count] = 17;
            assert_true(versions[v]->turn_f64(out, rows, count));
            bang_measure_naive.turn_f64(right, rows, count);
            assert_memory_equal(out, right, BANG_SIDE * count * sizeof *out);
            assert_true(versions[v]->turn_f32(out, few, count));
            bang_measure_naive.turn_f32(right, few, count);
            assert_memory_equal(out, right, BANG_SIDE * count * sizeof *out);
            assert_true(out[BANG_SIDE * count] == 17);
        }
    }
}

static void test_finite(void **state)
{
    (void)state;
    static double z[BANG_SIDE][MOST], out[BANG_SIDE * MOST];
    static float narrow[BANG_SIDE][MOST];
    const double *rows[BANG_SIDE] = {z[0], z[1], z[2], z[3]};
    const float *few[BANG_SIDE] = {narrow[0], narrow[1], narrow[2], narrow[3]};
    for (size_t j = 0; j < BANG_SIDE; j++)
        for (size_t k = 0; k < MOST; k++) {
            z[j][k] = k % 2 ? DBL_MAX : -DBL_MAX;
            narrow[j][k] = j % 2 ? FLT_MAX : -FLT_MAX;
        }
    for (size_t v = 0; v <= version_count; v++)
        for (size_t i = 0; i < SIZES; i++) {
            const bang_measure_kernels *kernels = v ? versions[v - 1] : &bang_measure_naive;
            size_t count = size_of(i);
            assert_true(kernels->turn_f64(out, rows, count));
            assert_true(kernels->turn_f32(out, few, count));
            for (size_t n = 0; n < BANG_SIDE * count; n++) {
                size_t j = n % BANG_SIDE, k = n / BANG_SIDE;
                double kept = z[j][k], odd = (double[]){INFINITY, -INFINITY, NAN, -NAN}[n % 4];
                float narrow_kept = narrow[j][k];
                z[j][k] = odd;
                narrow[j][k] = (float)odd;
                assert_false(kernels->turn_f64(out, rows, count));
                assert_false(kernels->turn_f32(out, few, count));
                z[j][k] = kept;
                narrow[j][k] = narrow_kept;
            }
        }
}

static void test_scan(void **state)
{
    (void)state;
    static double z[BANG_SIDE * MOST];
    for (size_t i = 0; i < SIZES; i++)
        for (int few = 0; few < 2; few++) {
            size_t count = size_of(i);
            bang_scan found, right;
            fill_side(z, count, 5, i);
            for (size_t j = 0; few && j < BANG_SIDE * count; j++)
                z[j] = floor(z[j] / 3); /* few values: many equals */
            bang_measure_naive.scan(&right, z, count);
            for (size_t v = 0; v < version_count; v++) {
                versions[v]->scan(&found, z, count);
                assert_memory_equal(&found, &right, sizeof found);
            }
        }
}

static void near(double x, double y, double within)
{
    if (!(fabs(x - y) <= within))
        fail_msg("%.17g is not %.17g within %g", x, y, within);
}

static void same_score(const bang_score *found, const bang_score *right, size_t count)
{
    double within = ((double)count + 8) * DBL_EPSILON;
    for (size_t j = 0; j < BANG_SIDE; j++) {
        assert_true(found->prediction[j] == right->prediction[j]);
        near(found->confidence[j], right->confidence[j], within);
        near(found->nll[j], right->nll[j], within * (1 + right->nll[j]));
        near(found->brier[j], right->brier[j], 4 * within);
        near(found->margin[j], right->margin[j], within);
        assert_true(found->brier[j] >= 0);
    }
}

static void test_warm(void **state)
{
    (void)state;
    static double z[BANG_SIDE * MOST];
    for (size_t i = 0; i < SIZES; i++)
        for (size_t s = 0; s < 6; s++) {
            size_t count = size_of(i), rows = 1 + (i + s) % BANG_SIDE;
            double beta = (double[]){1, 0.37, 40}[s / 2], label[BANG_SIDE];
            double within = 100 * ((double)count + 30) * DBL_EPSILON;
            bang_warmth sums[2], right = {0};
            memset(sums, 0, sizeof sums);
            for (size_t round = 0; round < 3; round++) {
                fill_side(z, count, s / 2 == 2 ? 30 : 4, 100 * i + 3 * s + round);
                for (size_t j = 0; j < BANG_SIDE; j++)
                    label[j] = (double)((i + j + round) % count);
                if (s / 2 == 2) { /* a difference beyond all doubles */
                    z[0] = -1e308;
                    z[BANG_SIDE * (count - 1)] = 1e308;
                    label[0] = (double)(count - 1);
                }
                bang_measure_naive.warm(&right, z, count, beta, s % 2 ? NULL : label, 0.3, rows);
                for (size_t v = 0; v < version_count; v++) {
                    versions[v]->warm(&sums[v], z, count, beta, s % 2 ? NULL : label, 0.3, rows);
                    for (size_t k = 0; k < BANG_WARMTHS * BANG_SIDE; k++) {
                        size_t w = k / BANG_SIDE, j = k % BANG_SIDE;
                        near(sums[v].total[w][j], right.total[w][j],
                             within * (1 + fabs(right.total[w][j])));
                        assert_true(fabs(sums[v].lost[w][j]) <=
                                    DBL_EPSILON * (1 + 3 * fabs(right.total[w][j])) * 100);
                    }
                }
            }
            if (version_count == 2)
                assert_memory_equal(&sums[1], &sums[0], sizeof sums[0]);
        }
}

/* Where a sum is rounded, the rest is kept: 2^53 and many a small number. */
static void test_warm_lost(void **state)
{
    (void)state;
    double z[2 * BANG_SIDE] = {0}, label[BANG_SIDE] = {0};
    for (size_t v = 0; v <= version_count; v++) {
        const bang_measure_kernels *kernels = v ? versions[v - 1] : &bang_measure_naive;
        bang_warmth sums = {0};
        for (size_t j = 0; j < BANG_SIDE; j++)
            sums.total[BANG_SLOPE][j] = 0x1p60;
        for (size_t j = 0; j < BANG_SIDE; j++)
            z[j] = 2; /* a variance of 1 times what beta leaves */
        for (int round = 0; round < 1000; round++)
            kernels->warm(&sums, z, 2, 1e-9, label, 0, BANG_SIDE);
        for (size_t j = 0; j < BANG_SIDE; j++) {
            assert_true(sums.total[BANG_SLOPE][j] == 0x1p60);
            near(sums.lost[BANG_SLOPE][j], 1000, 1e-9);
        }
    }
}

/* Labels that are the prediction in every second row. */
static void choose_labels(double *label, const bang_scan *scan, size_t count, uint64_t index)
{
    bang_random random = stream(index);
    for (size_t j = 0; j < BANG_SIDE; j++)
        label[j] = j % 2 ? scan->index[j] : (double)bang_random_below(&random, count);
}

static void test_scores(void **state)
{
    (void)state;
    static double z[3][BANG_SIDE * MOST], e[3][BANG_SIDE * MOST], plain[BANG_SIDE * MOST];
    const double *parts[3] = {e[0], e[1], e[2]};
    for (size_t i = 0; i < SIZES; i++)
        for (size_t s = 0; s < 3; s++) {
            size_t count = size_of(i);
            double label[BANG_SIDE], scale = (double[]){1, 0.4, 3}[s], factor[3][BANG_SIDE];
            bang_scan scan;
            bang_score found[2][2], right;
            memset(found, 0, sizeof found);
            for (size_t m = 0; m < 3; m++)
                fill_side(z[m], count, s == 2 ? 300 : 3, 1000 * i + 10 * s + m);
            bang_measure_naive.scan(&scan, z[0], count);
            choose_labels(label, &scan, count, i);
            for (size_t v = 0; v < version_count; v++) {
                for (size_t m = 3; m-- > 0;) {
                    bang_measure_naive.scan(&scan, z[m], count);
                    bang_soft soft, again;
                    versions[v]->soften(&soft, e[m], z[m], count, &scan, scale, label);
                    versions[v]->score(&found[v][0], &soft, 1, label);
                    bang_measure_naive.soften(&again, plain, z[m], count, &scan, scale, label);
                    bang_measure_naive.score(&right, &again, 1, label);
                    same_score(&found[v][0], &right, count);
                    for (size_t k = 0; k < BANG_SIDE * count; k++)
                        if (plain[k] < 1e-300)
                            assert_true(e[m][k] <= 1e-300);
                        else
                            close_to(e[m][k], plain[k], (3 - 2 * log(plain[k])) * DBL_EPSILON);
                    for (size_t j = 0; j < BANG_SIDE; j++)
                        factor[m][j] = found[v][0].confidence[j] * (m == 2 ? 0.5 : 0.25);
                    versions[v]->soften(&again, NULL, z[m], count, &scan, scale, label);
                    assert_memory_equal(&soft, &again, sizeof soft);
                }
                for (size_t n = 2; n <= 3; n++) {
                    versions[v]->blend(&found[v][1], parts, (const double(*)[BANG_SIDE])factor, n,
                                       count, label);
                    bang_measure_naive.blend(&right, parts, (const double(*)[BANG_SIDE])factor, n,
                                             count, label);
                    for (size_t j = 0; j < BANG_SIDE; j++)
                        if (right.nll[j] > 650)
                            right.nll[j] = found[v][1].nll[j];
                    same_score(&found[v][1], &right, count);
                }
            }
            if (version_count == 2)
                assert_memory_equal(found[0], found[1], sizeof found[0]);
        }
}

static void test_fold(void **state)
{
    (void)state;
    enum { MEMBERS = 5, PAIRS = MEMBERS * (MEMBERS - 1) / 2 };
    bang_fold folds[3][MEMBERS];
    bang_accord accords[3][PAIRS];
    bang_random random = stream(9);
    memset(folds, 0, sizeof folds);
    memset(accords, 0, sizeof accords);
    for (size_t round = 0; round < 300; round++) {
        bang_score scores[MEMBERS];
        double label[BANG_SIDE];
        uint64_t bits[3][BANG_SIDE], bin[3][MEMBERS][BANG_SIDE];
        for (size_t m = 0; m < MEMBERS; m++)
            for (size_t j = 0; j < BANG_SIDE; j++) {
                scores[m].prediction[j] = (double)bang_random_below(&random, 3);
                scores[m].confidence[j] = round % 2
                                              ? 1 - bang_random_uniform(&random)
                                              : (double)(1 + bang_random_below(&random, 15)) / 15;
                scores[m].nll[j] = bang_random_uniform(&random);
                scores[m].brier[j] = bang_random_uniform(&random);
                scores[m].margin[j] = bang_random_uniform(&random) - 0.5;
                label[j] = (double)bang_random_below(&random, 3);
            }
        for (size_t v = 0; v <= version_count; v++) {
            const bang_measure_kernels *k = v ? versions[v - 1] : &bang_measure_naive;
            size_t rows = 1 + round % 4;
            assert_int_equal(
                k->fold(folds[v], accords[v], bits[v], bin[v], 15, scores, MEMBERS, label, rows),
                1);
            assert_memory_equal(bits[v], bits[0], sizeof bits[0]);
            for (size_t m = 0; m < MEMBERS; m++)
                assert_memory_equal(bin[v][m], bin[0][m], rows * sizeof bin[0][m][0]);
        }
    }
    for (size_t v = 1; v <= version_count; v++) {
        assert_memory_equal(folds[v], folds[0], sizeof folds[0]);
        assert_memory_equal(accords[v], accords[0], sizeof accords[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_logarithm), cmocka_unit_test(test_turn),
        cmocka_unit_test(test_finite),    cmocka_unit_test(test_scan),
        cmocka_unit_test(test_warm),      cmocka_unit_test(test_warm_lost),
        cmocka_unit_test(test_scores),    cmocka_unit_test(test_fold),
    };
    return cmocka_run_group_tests(tests, find_versions, NULL);
}
