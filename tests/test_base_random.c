/* Known answers for Philox, and the distributions drawn from it against their
 * own formulas at fixed seeds: nothing here depends on luck. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "distribution.h"

static const uint32_t purpose = BANG_PURPOSE('t', 'e', 's', 't');

/* From the distribution of Random123. */
static void test_philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        bang_philox4x32(out, cases[i].counter, cases[i].key);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void test_stream_is_the_philox_sequence(void **state)
{
    (void)state;
    const uint64_t seed = 0x0123456789abcdefu, stream = 0xfedcba9876543210u;
    bang_random random;
    bang_random_init(&random, seed, purpose, stream);
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t counter[4] = {block, purpose, 0x76543210u, 0xfedcba98u};
        uint32_t key[2] = {0x89abcdefu, 0x01234567u}, out[4];
        bang_philox4x32(out, counter, key);
        for (int i = 0; i < 4; i++)
            assert_int_equal(bang_random_u32(&random), out[i]);
    }
}

static void test_streams_differ(void **state)
{
    (void)state;
    bang_random a, b;
    uint64_t first;
    bang_random_init(&a, 1, purpose, 0);
    first = bang_random_u64(&a);
    bang_random_init(&b, 1, purpose, 0);
    assert_true(bang_random_u64(&b) == first);
    bang_random_init(&b, 2, purpose, 0);
    assert_true(bang_random_u64(&b) != first);
    bang_random_init(&b, 1, purpose + 1, 0);
    assert_true(bang_random_u64(&b) != first);
    bang_random_init(&b, 1, purpose, 1);
    assert_true(bang_random_u64(&b) != first);
    bang_random_init(&b, 1, purpose, (uint64_t)1 << 32);
    assert_true(bang_random_u64(&b) != first);
}

static void test_uniform(void **state)
{
    (void)state;
    enum { CELLS = 256, DRAWS = 1000000 };
    bang_random random;
    bang_random_init(&random, 7, purpose, 0);
    double observed[CELLS] = {0}, expected[CELLS], sum = 0, square = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = bang_random_uniform(&random);
        assert_true(u > 0 && u < 1);
        double odd = u * 0x1p53;
        assert_true(odd == floor(odd) && fmod(odd, 2) == 1);
        observed[(int)(u * CELLS)]++;
        sum += u;
        square += u * u;
    }
    for (int i = 0; i < CELLS; i++)
        expected[i] = (double)DRAWS / CELLS;
    assert_true(fabs(chi_square(observed, expected, CELLS)) < 4);
    assert_true(fabs(sum / DRAWS - 0.5) < 4 * sqrt(1.0 / 12 / DRAWS));
    assert_true(fabs(square / DRAWS - 1.0 / 3) < 4 * sqrt(4.0 / 45 / DRAWS));
}

static void test_below(void **state)
{
    (void)state;
    enum { DRAWS = 300000 };
    bang_random random;
    bang_random_init(&random, 8, purpose, 0);
    for (uint64_t bound = 2; bound <= 40; bound += 19) {
        double observed[40] = {0}, expected[40];
        for (int i = 0; i < DRAWS; i++) {
            uint64_t k = bang_random_below(&random, bound);
            assert_true(k < bound);
            observed[k]++;
        }
        for (uint64_t i = 0; i < bound; i++)
            expected[i] = (double)DRAWS / (double)bound;
        assert_true(fabs(chi_square(observed, expected, (int)bound)) < 4);
    }
    assert_int_equal(bang_random_below(&random, 0), 0);
    assert_int_equal(bang_random_below(&random, 1), 0);
    /* Three quarters of the range: a draw without rejection would give some
     * values twice as often, the lower third or every third one. */
    const uint64_t bounds[2] = {3ull << 30, 3ull << 62};
    for (int b = 0; b < 2; b++) {
        double third[3] = {0}, rest[3] = {0}, expected[3] = {DRAWS / 3.0, DRAWS / 3.0, DRAWS / 3.0};
        for (int i = 0; i < DRAWS; i++) {
            uint64_t k = bang_random_below(&random, bounds[b]);
            assert_true(k < bounds[b]);
            third[k / (bounds[b] / 3)]++;
            rest[k % 3]++;
        }
        assert_true(fabs(chi_square(third, expected, 3)) < 4);
        assert_true(fabs(chi_square(rest, expected, 3)) < 4);
    }
}

static void test_normal_distribution(void **state)
{
    (void)state;
    enum { CELLS = 102, DRAWS = 2000000 };
    bang_random random;
    bang_random_init(&random, 9, purpose, 0);
    double observed[CELLS] = {0}, expected[CELLS], moments[5] = {0};
    double previous = 0, lag = 0;
    for (int i = 0; i < DRAWS; i++) {
        double z = bang_random_normal(&random);
        for (int m = 1; m <= 4; m++)
            moments[m] += pow(z, m) / DRAWS;
        lag += z * previous / DRAWS;
        previous = z;
        double cell = floor((z + 2.5) * 20) + 1;
        observed[cell < 0 ? 0 : cell > CELLS - 1 ? CELLS - 1 : (int)cell]++;
    }
    for (int i = 0; i < CELLS; i++) {
        double low = i == 0 ? -INFINITY : -2.5 + (i - 1) / 20.0;
        double high = i == CELLS - 1 ? INFINITY : -2.5 + i / 20.0;
        expected[i] = DRAWS * 0.5 * (erfc(low / sqrt(2)) - erfc(high / sqrt(2)));
    }
    assert_true(fabs(chi_square(observed, expected, CELLS)) < 4);
    /* Standard errors of the moments: 1, sqrt 2, sqrt 15, sqrt 96. */
    assert_true(fabs(moments[1]) < 4 * sqrt(1.0 / DRAWS));
    assert_true(fabs(moments[2] - 1) < 4 * sqrt(2.0 / DRAWS));
    assert_true(fabs(moments[3]) < 4 * sqrt(15.0 / DRAWS));
    assert_true(fabs(moments[4] - 3) < 4 * sqrt(96.0 / DRAWS));
    assert_true(fabs(lag) < 4 * sqrt(1.0 / DRAWS));
}

/* The fast path against its naive reference: Box-Muller with the C library on
 * the bare generator. Eight are drawn together and given out backwards. */
static void test_normal_is_box_muller(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 10, purpose, 5);
    const double pi = acos(-1);
    for (uint32_t batch = 0; batch < 20000; batch++) {
        double reference[8];
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t counter[4] = {4 * batch + i, purpose, 5, 0}, key[2] = {10, 0}, x[4];
            bang_philox4x32(x, counter, key);
            uint64_t a = x[0] | (uint64_t)x[1] << 32, b = x[2] | (uint64_t)x[3] << 32;
            double u = ((double)(a >> 12) + 0.5) * 0x1p-52;
            double angle = ((double)(b >> 62) - 0.5) * pi / 2 +
                           ((double)(b << 2 >> 12) + 0.5) * 0x1p-52 * pi / 2;
            reference[2 * i] = sqrt(-2 * log(u)) * sin(angle);
            reference[2 * i + 1] = sqrt(-2 * log(u)) * cos(angle);
        }
        for (int i = 7; i >= 0; i--)
            assert_true(fabs(bang_random_normal(&random) - reference[i]) < 4e-15);
    }
}

/* The very bits, so that a change of compiler or machine shows. */
static void test_normal_known_answers(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 1, purpose, 2);
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += bang_random_normal(&random);
    char text[64];
    snprintf(text, sizeof text, "%a %a", sum, bang_random_normal(&random));
    assert_string_equal(text, "0x1.0d6d107249f58p+4 -0x1.c1b970300f214p-2");
}

static void test_binomial_distribution(void **state)
{
    (void)state;
    check_binomial(1, 0.3, 100000);
    check_binomial(5, 0.9, 100000);
    check_binomial(20, 0.25, 300000); /* inversion */
    check_binomial(3000, 0.003, 300000);
    check_binomial(20, 0.5, 300000); /* rejection, at its smallest mean */
    check_binomial(100, 0.101, 300000);
    check_binomial(300, 0.77, 300000);
    check_binomial(3999, 0.4, 300000);
}

static void test_binomial_edges(void **state)
{
    (void)state;
    bang_random random;
    bang_random_init(&random, 12, purpose, 0);
    assert_int_equal(bang_random_binomial(&random, 0, 0.5), 0);
    assert_int_equal(bang_random_binomial(&random, -3, 0.5), 0);
    assert_int_equal(bang_random_binomial(&random, 1000, 0), 0);
    assert_int_equal(bang_random_binomial(&random, 1000, -0.5), 0);
    assert_int_equal(bang_random_binomial(&random, 1000, NAN), 0);
    assert_int_equal(bang_random_binomial(&random, 1000, 1), 1000);
    assert_int_equal(bang_random_binomial(&random, 1000, 1.5), 1000);
    assert_int_equal(bang_random_binomial(&random, 1000, 1e-300), 0);
    /* The largest count there is: standard deviation 1.5e9, and no overflow. */
    enum { DRAWS = 10000 };
    double sum = 0, square = 0;
    for (int i = 0; i < DRAWS; i++) {
        double z = (double)(bang_random_binomial(&random, INT64_MAX, 0.5) - INT64_MAX / 2) /
                   sqrt((double)INT64_MAX / 4);
        sum += z;
        square += z * z;
    }
    assert_true(fabs(sum / DRAWS) < 4 * sqrt(1.0 / DRAWS));
    assert_true(fabs(square / DRAWS - 1) < 4 * sqrt(2.0 / DRAWS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_stream_is_the_philox_sequence),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_normal_distribution),
        cmocka_unit_test(test_normal_is_box_muller),
        cmocka_unit_test(test_normal_known_answers),
        cmocka_unit_test(test_binomial_distribution),
        cmocka_unit_test(test_binomial_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
