/* The paper's quantities from counts, against loops over rows. */
#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "measure/diagnosis.h"

enum { ROWS = 500, MODELS = 7 };

/* Which of some models are right on which row; later models depend on earlier ones. */
static void make_right(int right[ROWS][MODELS], uint64_t run)
{
    bang_random random;
    bang_random_init(&random, 7, BANG_PURPOSE('t', 'e', 's', 't'), run);
    for (int i = 0; i < ROWS; i++) {
        double ease = bang_random_normal(&random);
        for (int m = 0; m < MODELS; m++)
            right[i][m] = ease + bang_random_normal(&random) > .2 * m - .5;
    }
}

static size_t count_groups(size_t groups[BANG_GROUPS], int right[ROWS][MODELS], int pre, int fine,
                           int avg)
{
    memset(groups, 0, BANG_GROUPS * sizeof *groups);
    for (int i = 0; i < ROWS; i++) {
        char name[4] = {right[i][pre] ? 'T' : 'F', right[i][fine] ? 'T' : 'F',
                        right[i][avg] ? 'T' : 'F', 0};
        static const char *const names[] = {"TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT", "FFF"};
        for (int g = 0; g < BANG_GROUPS; g++)
            groups[g] += strcmp(name, names[g]) == 0;
    }
    size_t sum = 0;
    for (int g = 0; g < BANG_GROUPS; g++)
        sum += groups[g];
    return sum;
}

/* The equation of appendix C.1, over rows: which = 0 all, 1 TT+FF, 2 TF+FT. */
static double contribution(int right[ROWS][MODELS], int pre, int fine, int avg, int which)
{
    int by_pre = 0, by_fine = 0, by_avg = 0;
    for (int i = 0; i < ROWS; i++) {
        int same = right[i][pre] == right[i][fine];
        if ((which == 1 && !same) || (which == 2 && same))
            continue;
        by_pre += right[i][pre];
        by_fine += right[i][fine];
        by_avg += right[i][avg];
    }
    return (double)(by_avg - (by_pre > by_fine ? by_pre : by_fine)) / ROWS;
}

static double accuracy(int right[ROWS][MODELS], int m)
{
    int sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += right[i][m];
    return (double)sum / ROWS;
}

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-15))
        fail_msg("%.17g, expected %.17g", a, b);
}

/* "PM, FM and AM correctly predict 120, 118, 130 samples": 1.0 % of 1000. */
static void test_worked_example(void **state)
{
    (void)state;
    assert_true(bang_improve_contribution(120, 118, 130, 1000) == 0.01);
    assert_true(bang_improve_contribution(118, 120, 130, 1000) == 0.01);
    assert_true(bang_improve_contribution(120, 118, 110, 1000) == -0.01);
    assert_true(isnan(bang_improve_contribution(0, 0, 0, 0)));
    /* The same as groups: 1000 samples of which 200 lie in TF+FT: 120 + 80 is right for one of
     * them at least, so take G = TF+FT of 238 with those counts. */
    size_t groups[BANG_GROUPS] = {
        [BANG_TFT] = 70, [BANG_TFF] = 50, [BANG_FTT] = 60, [BANG_FTF] = 58, [BANG_FFF] = 762};
    double q[BANG_QUANTITIES];
    bang_group_quantities(q, groups);
    assert_true(q[BANG_Q_TF_FT] == 0.01);
    assert_true(q[BANG_Q_ALL] == 0.01);
    assert_true(q[BANG_Q_TT_FF] == 0);
    assert_true(q[BANG_Q_CORRECTED] == 0.07);
}

static void test_against_rows(void **state)
{
    static int right[ROWS][MODELS];
    (void)state;
    for (uint64_t run = 0; run < 20; run++) {
        size_t groups[BANG_GROUPS];
        double q[BANG_QUANTITIES];
        make_right(right, run);
        /* Models in another order: the better single one is now PM, now FM. */
        static const int orders[3][3] = {{0, 2, 4}, {1, 3, 4}, {3, 0, 1}};
        int pre = orders[run % 3][0], fine = orders[run % 3][1], avg = orders[run % 3][2];
        assert_int_equal(count_groups(groups, right, pre, fine, avg), ROWS);
        for (int i = 0; i < BANG_QUANTITIES; i++)
            q[i] = -7;
        bang_group_quantities(q, groups);
        assert_close(q[BANG_Q_ALL], contribution(right, pre, fine, avg, 0));
        assert_close(q[BANG_Q_TT_FF], contribution(right, pre, fine, avg, 1));
        assert_close(q[BANG_Q_TF_FT], contribution(right, pre, fine, avg, 2));
        assert_close(q[BANG_Q_AVG_PRE], accuracy(right, avg) - accuracy(right, pre));
        assert_close(q[BANG_Q_AVG_FINE], accuracy(right, avg) - accuracy(right, fine));
        assert_close(q[BANG_Q_FINE_PRE], accuracy(right, fine) - accuracy(right, pre));
        /* What the header promises of them. */
        assert_close(q[BANG_Q_TT_FF], ((double)groups[BANG_FFT] - (double)groups[BANG_TTF]) / ROWS);
        assert_close(q[BANG_Q_TT_FF] + q[BANG_Q_TF_FT], q[BANG_Q_ALL]);
        assert_close(q[BANG_Q_FFT], (double)groups[BANG_FFT] / ROWS);
        assert_close(q[BANG_Q_TTF], (double)groups[BANG_TTF] / ROWS);
        assert_close(q[BANG_Q_CORRECTED], (double)groups[BANG_TFT] / ROWS);
        /* Not touched: accuracies and what needs other roles. */
        for (int r = 0; r < BANG_ROLES; r++)
            assert_true(q[BANG_Q_ACCURACY + r] == -7);
        assert_true(q[BANG_Q_AVG_OSE] == -7 && q[BANG_Q_SCALED_OSE] == -7 &&
                    q[BANG_Q_AVG_SCALED] == -7);
    }
}

/* PM and FM change places. */
static void test_swap(void **state)
{
    static int right[ROWS][MODELS];
    size_t groups[BANG_GROUPS], swapped[BANG_GROUPS];
    double q[BANG_QUANTITIES], s[BANG_QUANTITIES];
    (void)state;
    make_right(right, 99);
    count_groups(groups, right, 0, 3, 1);
    count_groups(swapped, right, 3, 0, 1);
    bang_group_quantities(q, groups);
    bang_group_quantities(s, swapped);
    assert_int_equal(groups[BANG_TFT], swapped[BANG_FTT]);
    static const int equal[] = {BANG_Q_ALL, BANG_Q_TT_FF, BANG_Q_TF_FT, BANG_Q_FFT, BANG_Q_TTF};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        assert_true(q[equal[i]] == s[equal[i]]);
    assert_true(q[BANG_Q_FINE_PRE] == -s[BANG_Q_FINE_PRE]);
    assert_true(q[BANG_Q_AVG_PRE] == s[BANG_Q_AVG_FINE]);
    assert_true(q[BANG_Q_CORRECTED] != s[BANG_Q_CORRECTED]);
}

static void test_nothing(void **state)
{
    size_t groups[BANG_GROUPS] = {0};
    double q[BANG_QUANTITIES];
    (void)state;
    bang_group_quantities(q, groups);
    for (int i = BANG_Q_ALL; i < BANG_QUANTITIES; i++)
        assert_true(isnan(q[i]));
    assert_true(isnan(q[BANG_Q_AVG_PRE]) && isnan(q[BANG_Q_AVG_FINE]) && isnan(q[BANG_Q_FINE_PRE]));
}

/* Patterns of many members, of which some are asked for, collapse to the right counts. */
static void test_joint(void **state)
{
    static int right[ROWS][MODELS];
    static bang_pattern patterns[ROWS];
    bang_tally tally = {.counted = ROWS, .labelled = 1, .patterns = patterns};
    const int bits[MODELS] = {0, 1, 2, 9, 40, 62, 63};
    (void)state;
    make_right(right, 5);
    for (int i = 0; i < ROWS; i++) {
        /* Row by row: patterns need not be different for this. */
        patterns[i].count = 1;
        patterns[i].right = 0;
        for (int m = 0; m < MODELS; m++)
            patterns[i].right |= (uint64_t)right[i][m] << bits[m];
    }
    tally.pattern_count = ROWS;
    bang_set_diagnosis set = {.tally = &tally};
    for (int r = 0; r < BANG_ROLES; r++)
        set.member[r] = -1;
    set.member[BANG_PRE] = bits[0];
    set.member[BANG_FINE] = bits[1];
    set.member[BANG_AVG] = bits[2];
    set.member[BANG_OSE] = bits[5];
    diagnosis_joint joint;
    double q[BANG_QUANTITIES];
    for (int scaled = 0; scaled < 2; scaled++) {
        set.member[BANG_OSE_SCALED] = scaled ? bits[6] : -1;
        bang_joint_of_roles(&joint, &set);
        assert_int_equal(joint.total, ROWS);
        for (int i = 0; i < BANG_QUANTITIES; i++)
            q[i] = -7;
        bang_joint_quantities(q, &joint, joint.count, scaled);
        assert_close(q[BANG_Q_ACCURACY + BANG_PRE], accuracy(right, 0));
        assert_close(q[BANG_Q_ACCURACY + BANG_FINE], accuracy(right, 1));
        assert_close(q[BANG_Q_ACCURACY + BANG_AVG], accuracy(right, 2));
        assert_close(q[BANG_Q_ACCURACY + BANG_OSE], accuracy(right, 5));
        assert_close(q[BANG_Q_AVG_OSE], accuracy(right, 2) - accuracy(right, 5));
        assert_close(q[BANG_Q_TF_FT], contribution(right, 0, 1, 2, 2));
        double calibrated = accuracy(right, 6);
        assert_close(q[BANG_Q_ACCURACY + BANG_OSE_SCALED], scaled ? calibrated : -7);
        assert_close(q[BANG_Q_SCALED_OSE], scaled ? calibrated - accuracy(right, 5) : -7);
        assert_close(q[BANG_Q_AVG_SCALED], scaled ? accuracy(right, 2) - calibrated : -7);
    }
    bang_mcnemar test = bang_diagnosis_mcnemar(&set, BANG_OSE_SCALED, BANG_FINE);
    size_t b = 0, c = 0;
    for (int i = 0; i < ROWS; i++) {
        b += right[i][6] && !right[i][1];
        c += right[i][1] && !right[i][6];
    }
    assert_int_equal(test.b, b);
    assert_int_equal(test.c, c);
    assert_true(test.p > 0 && test.p <= 1);
    test = bang_diagnosis_mcnemar(&set, BANG_OSE_MEAN, BANG_FINE);
    assert_true(test.b == 0 && test.c == 0 && isnan(test.p));
}

static void test_names(void **state)
{
    bang_role first, second;
    (void)state;
    int found = 0;
    for (int q = 0; q < BANG_QUANTITIES; q++)
        if (bang_quantity_roles((bang_quantity)q, &first, &second) == 0) {
            assert_true(q >= BANG_Q_AVG_PRE && q <= BANG_Q_AVG_SCALED);
            assert_true(first != second);
            found++;
        }
    assert_int_equal(found, 8);
    assert_int_equal(bang_quantity_roles(BANG_Q_OSE_FINE, &first, &second), 0);
    assert_true(first == BANG_OSE && second == BANG_FINE);
    assert_int_equal(bang_quantity_roles(BANG_Q_SCALED_OSE, &first, &second), 0);
    assert_true(first == BANG_OSE_SCALED && second == BANG_OSE);
    assert_int_equal(bang_quantity_roles(BANG_Q_FINE_PRE, &first, &second), 0);
    assert_true(first == BANG_FINE && second == BANG_PRE);
    assert_string_equal(bang_role_names[BANG_OSE_SCALED], "calibrated_ose");
    for (int r = 0; r < BANG_ROLES; r++)
        for (int other = 0; other < r; other++)
            assert_string_not_equal(bang_role_names[r], bang_role_names[other]);
    for (int r = 0; r < BANG_RULES; r++)
        assert_non_null(bang_rule_names[r]);
    assert_string_equal(bang_rule_names[BANG_RULE_HALF], "half");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example), cmocka_unit_test(test_against_rows),
        cmocka_unit_test(test_swap),           cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_joint),          cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
