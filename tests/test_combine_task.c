/* DARE, TIES and the search of its thresholds, against plain references. */
#include "testing.h"

#include <float.h>

#include "combine_cases.h"

/* The generator itself, one number at a time, as blocks.c says. */
static void key_of(uint32_t out[2], uint64_t seed, uint64_t key)
{
    uint64_t z = seed + 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    z = (z ^ (z >> 31)) ^ key;
    out[0] = (uint32_t)z;
    out[1] = (uint32_t)(z >> 32);
}

static uint32_t word_of(uint64_t seed, uint64_t key, uint64_t number, size_t model)
{
    uint64_t block = number / 4;
    uint32_t both[2];
    uint32_t out[4], counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)model,
                                   BANG_PURPOSE('d', 'a', 'r', 'e')};
    key_of(both, seed, key);
    bang_philox4x32(out, counter, both);
    return out[number % 4];
}

struct dare {
    double scale, drop;
    uint64_t seed, key, first;
};

static double dare_at(const struct problem *p, const double *weights, const struct dare *d,
                      size_t i)
{
    double base = get(p, 0, i), sum = 0;
    for (size_t m = 1; m < p->block.inputs; m++)
        if (weights[m] != 0 &&
            (double)word_of(d->seed, d->key, d->first + i, m) >= d->drop * 0x1p32) {
            double factor = rounded(p, d->scale * weights[m] / (1 - d->drop));
            sum = plus(p, sum, times(p, factor, plus(p, get(p, m, i), -base)));
        }
    return plus(p, base, sum);
}

static void check_dare(struct problem *p, const double *weights, const struct dare *d)
{
    size_t bad = bang_block_dare(&p->block, weights, d->scale, d->drop, d->seed, d->key, d->first);
    CHECK_OUTPUT(p, bad, dare_at(p, weights, d, i));
    /* The other version: its coins as blocks.c makes them. */
    bang_coins coins = {.limit = (uint32_t)fmin(ceil(d->drop * 0x1p32), UINT32_MAX),
                        .first = d->first};
    key_of(coins.key, d->seed, d->key);
    assert_int_equal(version_for(0, p)->dare(&p->block, weights, d->scale, d->drop, &coins), bad);
    CHECK_OUTPUT(p, bad, dare_at(p, weights, d, i));
}

static void test_dare(void **state)
{
    (void)state;
    static const double weights[] = {9, 0.5, 0.25, 0, -1.5};
    for (int type = 0; type < REAL_TYPES; type++)
        for (int out = 0; out < REAL_TYPES; out++) {
            struct problem p;
            make_problem(&p, 5, 1100 + (size_t)(3 * type),
                         (bang_dtype[]){BANG_F16, real_types[type]}, 2, real_types[out],
                         (size_t)type % 2, 8);
            p.in[3] = NULL;
            check_dare(&p, weights, &(struct dare){0.7, 0.6, 5, 6, (uint64_t)out});
            drop_problem(&p);
        }
    /* Where the number of a block needs more than 32 bits. */
    struct problem p;
    make_problem(&p, 3, 300, real_types + 1, 1, BANG_F32, 0, 9);
    for (uint64_t skip = 0; skip < 9; skip++)
        check_dare(&p, weights,
                   &(struct dare){1, 0.5, UINT64_MAX, 1, ((uint64_t)1 << 34) - 150 + skip});
    /* Without dropping it is task arithmetic, and nearly all may go. */
    check_dare(&p, weights, &(struct dare){1, 0, 1, 2, 3});
    bang_block_dare(&p.block, (double[]){0, 1, 0}, 1, 0, 1, 2, 3);
    CHECK_OUTPUT(&p, 0, plus(&p, get(&p, 0, i), plus(&p, get(&p, 1, i), -get(&p, 0, i))));
    check_dare(&p, weights, &(struct dare){1, 1 - 0x1p-40, 1, 2, 3});
    CHECK_OUTPUT(&p, 0, get(&p, 0, i));
    /* A NaN that is dropped does no harm; one that is kept shows. */
    for (size_t i = 0; i < 300; i++)
        put(&p, 1, i, NAN);
    check_dare(&p, weights, &(struct dare){1, 0.5, 1, 2, 3});
    drop_problem(&p);
}

/* However a tensor is cut, its numbers get the same. */
static void test_dare_cut(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct problem p;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('c', 'u', 't', 's'), 0);
    make_problem(&p, 3, COUNT, real_types + 3, 1, BANG_BF16, 0, 10);
    uint16_t whole[COUNT];
    bang_block_dare(&p.block, (double[]){0, 1, 1}, 1, 0.3, 7, 8, 0);
    memcpy(whole, p.block.out, sizeof whole);
    for (int turn = 0; turn < 20; turn++) {
        memset(p.block.out, 0, sizeof whole);
        for (size_t from = 0, n; from < COUNT; from += n) {
            n = 1 + bang_random_below(&random, 700);
            n = n < COUNT - from ? n : COUNT - from;
            const void *in[3];
            for (size_t i = 0; i < 3; i++)
                in[i] = (const uint16_t *)p.in[i] + from;
            bang_block part = {3, n, in, p.types, (uint16_t *)p.block.out + from, BANG_BF16};
            bang_block_dare(&part, (double[]){0, 1, 1}, 1, 0.3, 7, 8, from);
        }
        assert_memory_equal(p.block.out, whole, sizeof whole);
    }
    drop_problem(&p);
}

/* The kept are a fraction of 1 - drop, within 5 standard deviations, and
 * independent between seeds, keys and models. */
static void test_dare_fraction(void **state)
{
    (void)state;
    enum { COUNT = 200000, RUNS = 4 };
    struct problem p;
    static char kept[RUNS][COUNT];
    make_problem(&p, 3, COUNT, real_types + 1, 1, BANG_F32, 0, 11);
    for (size_t i = 0; i < COUNT; i++) {
        put(&p, 0, i, 0);
        put(&p, 1, i, 1);
        put(&p, 2, i, 1);
    }
    for (int d = 0; d < 3; d++) {
        double drop = (double[]){0.1, 0.5, 0.9}[d];
        for (int run = 0; run < RUNS; run++) {
            double total = 0;
            bang_block_dare(&p.block, run == 3 ? (double[]){0, 0, 1} : (double[]){0, 1, 0}, 1, drop,
                            run == 1 ? 2 : 1, run == 2 ? 2 : 1, 0);
            for (size_t i = 0; i < COUNT; i++) {
                kept[run][i] = result(&p, i) != 0;
                total += kept[run][i];
            }
            double sigma = sqrt(COUNT * drop * (1 - drop));
            assert_true(fabs(total - COUNT * (1 - drop)) < 5 * sigma);
        }
        for (int a = 0; a < RUNS; a++)
            for (int b = 0; b < a; b++) {
                double both = (1 - drop) * (1 - drop), total = 0;
                for (size_t i = 0; i < COUNT; i++)
                    total += kept[a][i] && kept[b][i];
                assert_true(fabs(total - COUNT * both) < 5 * sqrt(COUNT * both * (1 - both)));
            }
    }
    drop_problem(&p);
}

/* What the authors of FNV-1a publish. */
static void test_key(void **state)
{
    (void)state;
    assert_true(bang_block_key("") == 0xCBF29CE484222325U);
    assert_true(bang_block_key("a") == 0xAF63DC4C8601EC8CU);
    assert_true(bang_block_key("foobar") == 0x85944171F73967E8U);
}

static double ties_at(const struct problem *p, const double *weights, double scale,
                      const float *thresholds, size_t i)
{
    double base = get(p, 0, i), t[MOST_INPUTS] = {0}, sum = 0, upper = 0, lower = 0;
    for (size_t m = 1; m < p->block.inputs; m++) {
        if (weights[m] == 0)
            continue;
        double d = plus(p, get(p, m, i), -base);
        t[m] = (float)fabs(d) >= thresholds[m] || isnan(d) ? d : 0;
        sum = plus(p, sum, times(p, rounded(p, weights[m]), t[m]));
    }
    if (isnan(sum))
        return NAN;
    for (size_t m = 1; m < p->block.inputs; m++)
        if (weights[m] != 0 && (sum > 0 ? t[m] > 0 : sum < 0 && t[m] < 0)) {
            upper = plus(p, upper, times(p, rounded(p, weights[m]), t[m]));
            lower = plus(p, lower, rounded(p, weights[m]));
        }
    if (lower == 0)
        return base;
    return plus(p, base, times(p, rounded(p, scale), over(p, upper, lower)));
}

static void check_ties(struct problem *p, const double *weights, double scale,
                       const float *thresholds)
{
    for (int v = 0; v < 2; v++) {
        size_t bad = version_for(v, p)->ties(&p->block, weights, scale, thresholds);
        CHECK_OUTPUT(p, bad, ties_at(p, weights, scale, thresholds, i));
        assert_int_equal(bang_block_ties(&p->block, weights, scale, thresholds), bad);
    }
}

static void test_ties(void **state)
{
    (void)state;
    static const double weights[] = {0, 0.5, 0.25, 0, 1.5};
    static const float thresholds[] = {NAN, 0.5F, 1, NAN, 0};
    for (int type = 0; type < REAL_TYPES; type++)
        for (int out = 0; out < REAL_TYPES; out++) {
            struct problem p;
            make_problem(&p, 5, 1200 + (size_t)type, (bang_dtype[]){real_types[type], BANG_F32}, 2,
                         real_types[out], (size_t)type % 2, 12);
            p.in[3] = NULL;
            check_ties(&p, weights, 0.6, thresholds);
            drop_problem(&p);
        }
}

static void test_ties_cases(void **state)
{
    (void)state;
    static const double ones[] = {0, 1, 1, 1};
    static const struct {
        double base, x[3];
        float threshold;
        double expected;
    } cases[] = {
        {10, {11, 12, 9}, 0, 11.5},         /* two of three agree */
        {10, {11, 12, 9}, 1, 11.5},         /* at the threshold is kept */
        {10, {11, 12, 9}, 1.5F, 12},        /* one is left */
        {10, {11, 12, 9}, 3, 10},           /* none */
        {10, {11, 9, 10}, 0, 10},           /* a sum of zero: no one agrees */
        {10, {10, 10, 10}, 0, 10},          /* no change */
        {10, {7, 11, 11}, 0, 7},            /* the larger sum, not the larger number */
        {0, {-2, -4, 1}, 0, -3},            /* below zero */
        {0, {INFINITY, 1, 0}, 0, INFINITY}, /* shows */
        {0, {INFINITY, -INFINITY, 0}, 0, NAN},
        {0, {NAN, 1, 1}, 5, NAN},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct problem p;
        float t = cases[c].threshold;
        make_problem(&p, 4, 20, real_types + 1, 1, BANG_F32, 0, 13);
        for (size_t i = 0; i < 20; i++) {
            put(&p, 0, i, cases[c].base);
            for (size_t m = 1; m < 4; m++)
                put(&p, m, i, cases[c].x[(m + i) % 3]); /* their order does not matter */
        }
        check_ties(&p, ones, 1, (float[]){0, t, t, t});
        size_t bad = bang_block_ties(&p.block, ones, 1, (float[]){0, t, t, t});
        CHECK_OUTPUT(&p, bad, cases[c].expected);
        drop_problem(&p);
    }
}

static int by_bits(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? 1 : a > b ? -1 : 0; /* the largest first */
}

/* The threshold of every input for keep numbers, in blocks of some length. */
static void select_all(float *thresholds, const struct problem *p, uint64_t keep, size_t length)
{
    static uint64_t histogram[MOST_INPUTS * BANG_RADIX];
    uint32_t prefix[MOST_INPUTS];
    uint64_t left[MOST_INPUTS];
    memset(prefix, 0x5a, sizeof prefix); /* what is there before does not matter */
    for (size_t m = 0; m < MOST_INPUTS; m++)
        left[m] = keep;
    for (int pass = 0; pass < BANG_RADIX_PASSES; pass++) {
        memset(histogram, 0, sizeof histogram);
        for (size_t from = 0; from < p->block.count; from += length) {
            const void *in[MOST_INPUTS];
            bang_block part = p->block;
            part.count = part.count - from < length ? part.count - from : length;
            part.in = in;
            for (size_t m = 0; m < part.inputs; m++)
                in[m] =
                    p->in[m] ? (const char *)p->in[m] + from * bang_dtype_size(p->types[m]) : NULL;
            bang_block_histogram(&part, pass, prefix, histogram);
        }
        for (size_t i = 0; i < BANG_RADIX; i++)
            assert_int_equal(histogram[i], 0);
        for (size_t m = 1; m < p->block.inputs; m++)
            if (p->in[m])
                bang_radix_select(&prefix[m], &left[m], pass, histogram + m * BANG_RADIX);
    }
    memcpy(thresholds, prefix, p->block.inputs * sizeof *thresholds);
}

static void check_select(const struct problem *p)
{
    size_t count = p->block.count;
    uint32_t *sorted = malloc(count * sizeof *sorted);
    assert_non_null(sorted);
    for (size_t m = 1; m < p->block.inputs; m++) {
        if (!p->in[m])
            continue;
        for (size_t i = 0; i < count; i++) {
            float d = (float)fabs(plus(p, get(p, m, i), -get(p, 0, i)));
            memcpy(&sorted[i], &d, sizeof d);
        }
        qsort(sorted, count, sizeof *sorted, by_bits);
        const size_t keeps[] = {1, 2, 1 + count / 10, 1 + count / 3, count};
        for (size_t k = 0; k < sizeof keeps / sizeof *keeps; k++) {
            float thresholds[MOST_INPUTS], expected;
            select_all(thresholds, p, keeps[k], k % 2 ? count : 777);
            memcpy(&expected, &sorted[keeps[k] - 1], sizeof expected);
            if (isnan(expected) ? !isnan(thresholds[m]) : thresholds[m] != expected)
                fail_msg("the %zu. of %zu is %a, not %a", keeps[k], count, (double)thresholds[m],
                         (double)expected);
        }
    }
    free(sorted);
}

static void test_select(void **state)
{
    (void)state;
    for (int type = 0; type < REAL_TYPES; type++)
        for (int second = 0; second < REAL_TYPES; second++) {
            struct problem p;
            make_problem(&p, 3, 2500, (bang_dtype[]){real_types[type], real_types[second]}, 2,
                         BANG_F32, (size_t)type % 2, 14);
            check_select(&p);
            p.in[1] = NULL;
            check_select(&p);
            drop_problem(&p);
        }
    struct problem p;
    make_problem(&p, 5, 600, real_types + 1, 1, BANG_F32, 0, 15);
    for (size_t i = 0; i < 600; i++) {
        put(&p, 0, i, 0);
        put(&p, 1, i, 0);                                                    /* nothing but zeros */
        put(&p, 2, i, (double)FLT_TRUE_MIN * (double)(i % 97));              /* subnormal */
        put(&p, 3, i, i % 3 ? 1 : -1);                                       /* all equal */
        put(&p, 4, i, i % 50 ? (double)i * 1e35 : i % 100 ? NAN : INFINITY); /* largest of all */
    }
    check_select(&p);
    drop_problem(&p);
    make_problem(&p, 2, 1, real_types + 1, 1, BANG_F32, 0, 15);
    put(&p, 1, 0, get(&p, 0, 0) + 1);
    float thresholds[2];
    select_all(thresholds, &p, 1, 1);
    assert_true(thresholds[1] == (float)get(&p, 1, 0) - (float)get(&p, 0, 0));
    drop_problem(&p);
}

/* With thresholds that were found so, so many are kept. */
static void test_select_for_ties(void **state)
{
    (void)state;
    struct problem p;
    float thresholds[2];
    size_t changed = 0;
    make_problem(&p, 2, 5000, real_types + 1, 1, BANG_F32, 0, 16);
    select_all(thresholds, &p, 1000, 5000);
    assert_int_equal(bang_block_ties(&p.block, (double[]){0, 1}, 1, thresholds), 0);
    for (size_t i = 0; i < 5000; i++)
        changed += result(&p, i) != get(&p, 0, i);
    assert_int_equal(changed, 1000);
    drop_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dare),   cmocka_unit_test(test_dare_cut),
        cmocka_unit_test(test_key),    cmocka_unit_test(test_dare_fraction),
        cmocka_unit_test(test_ties),   cmocka_unit_test(test_ties_cases),
        cmocka_unit_test(test_select), cmocka_unit_test(test_select_for_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
