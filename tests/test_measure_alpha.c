/* Which alpha: scores, rules and what they cost, against plain loops over rows. */
#include "diagnosis_cases.h"

enum { SETS = 4, GRID = CASE_ALPHAS + 2, ROW_DRAWS = 3000, REPLICATES = 20000 };
static const double grid[GRID] = {0, .25, .5, .75, 1};

/* In distribution, two out of it, and one of those without labels. */
static const case_kind kinds[SETS] = {
    {600, 6, 1.0, 2.2, 3, 11},
    {500, 6, 1.4, 1.0, 3, 12},
    {400, 4, 1.2, .6, 2, 13},
    {300, 6, 1.4, 1.0, 4, 14},
};

typedef struct fixture {
    case_set cases[SETS];
    bang_diagnosis_set sets[SETS];
    plain wse[SETS][GRID]; /* PM, the averages, FM */
} fixture;

static int make_fixture(void **state)
{
    static const char *const names[SETS] = {"id", "art", "few", "bare"};
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t s = 0; s < SETS; s++) {
        case_set *c = &f->cases[s];
        case_make(c, names[s], &kinds[s]);
        c->set.at = c->averages;
        if (s == 3)
            c->set.labels = NULL;
        f->sets[s] = c->set;
        const double *z[GRID] = {c->pre, c->at[0], c->at[1], c->at[2], c->fine};
        for (size_t i = 0; i < GRID; i++)
            plain_single(&f->wse[s][i], c, z[i], 1);
    }
    *state = f;
    return 0;
}

static int drop_fixture(void **state)
{
    fixture *f = *state;
    for (size_t s = 0; s < SETS; s++)
        case_free(&f->cases[s]);
    free(f);
    return 0;
}

static bang_diagnosis_options options_of(size_t replicates)
{
    bang_diagnosis_options options = BANG_DIAGNOSIS_OPTIONS_INIT;
    options.replicates = replicates;
    options.threads = 2;
    options.alpha_count = CASE_ALPHAS;
    options.alphas = case_alphas;
    return options;
}

static void compare_score(const bang_alpha_score *score, const plain *m, double alpha, int labelled)
{
    double width[3];
    plain_width(width, m, BANG_BINS);
    assert_true(score->alpha == alpha);
    assert_near(score->confidence, plain_mean(m->confidence, m->n), 1e-11);
    assert_near(score->accuracy.value, labelled ? plain_accuracy(m) : NAN, 1e-15);
    assert_near(score->nll, labelled ? plain_mean(m->nll, m->n) : NAN, 1e-10);
    assert_near(score->ece, labelled ? width[0] : NAN, 1e-10);
}

static void test_scores(void **state)
{
    const fixture *f = *state;
    static plain mix;
    const double ose[] = {0, .3, .5, 1};
    bang_diagnosis_options options = options_of(400);
    options.ose_count = 4;
    options.ose_alphas = ose;
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    for (size_t s = 0; s < SETS; s++) {
        const bang_set_diagnosis *set = &d->sets[s];
        assert_int_equal(set->wse_count, GRID);
        for (size_t i = 0; i < GRID; i++)
            compare_score(&set->wse[i], &f->wse[s][i], grid[i], s != 3);
        for (size_t i = 0; i < 4; i++) {
            plain_member(&mix, &f->cases[s], f->cases[s].pre, f->cases[s].fine,
                         (double[]){1 - ose[i], ose[i]}, (double[]){1, 1}, 0);
            compare_score(&set->ose[i], &mix, ose[i], s != 3);
        }
        /* PM, FM, the average at 1/2 and the OSE at 1/2 are roles: one draw, one interval. */
        const bang_estimate *of = &set->of[BANG_Q_ACCURACY];
        const struct {
            const bang_alpha_score *score;
            bang_role role;
        } same[] = {{&set->wse[0], BANG_PRE}, {&set->wse[2], BANG_AVG}, {&set->wse[4], BANG_FINE},
                    {&set->ose[0], BANG_PRE}, {&set->ose[2], BANG_OSE}, {&set->ose[3], BANG_FINE}};
        for (size_t i = 0; i < sizeof same / sizeof *same; i++)
            assert_memory_equal(&same[i].score->accuracy, &of[same[i].role], sizeof *of);
        /* Only two averages and one ensemble have no role. */
        assert_int_equal(set->tally->member_count, BANG_ROLES + 3);
        for (size_t i = 0; i < GRID && s != 3; i++) {
            double p = plain_accuracy(&f->wse[s][i]), n = (double)f->wse[s][i].n;
            assert_near(set->wse[i].accuracy.interval.sd, sqrt(p * (1 - p) / n),
                        5 * sqrt(p * (1 - p) / n / 800));
            assert_true(set->wse[i].accuracy.interval.low < p &&
                        set->wse[i].accuracy.interval.high > p);
        }
    }
    bang_diagnosis_free(d);
}

/* What an average has more than the ensemble at its alpha, row by row. */
static void test_against_ensembles(void **state)
{
    const fixture *f = *state;
    static plain mix;
    const double ose[] = {0, .25};
    bang_diagnosis_options options = options_of(2000);
    options.ose_count = 2;
    options.ose_alphas = ose;
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    for (size_t s = 0; s < SETS; s++)
        for (size_t i = 0; i < GRID; i++) {
            const bang_alpha_score *score = &d->sets[s].wse[i];
            size_t only_wse = 0, only_ose = 0;
            /* 1/2: the OSE itself; at 0.75 and 1 there is none */
            if (grid[i] > .5 || s == 3) {
                assert_true(isnan(score->minus_ose.value) && isnan(score->against_ose.p));
                assert_true(isnan(score->minus_ose.interval.low));
                continue;
            }
            plain_member(&mix, &f->cases[s], f->cases[s].pre, f->cases[s].fine,
                         (double[]){1 - grid[i], grid[i]}, (double[]){1, 1}, 0);
            for (size_t k = 0; k < mix.n; k++) {
                only_wse += f->wse[s][i].right[k] && !mix.right[k];
                only_ose += !f->wse[s][i].right[k] && mix.right[k];
            }
            double n = (double)mix.n, b = (double)only_wse / n, c = (double)only_ose / n;
            assert_int_equal(score->against_ose.b, only_wse);
            assert_int_equal(score->against_ose.c, only_ose);
            assert_true(score->against_ose.p == bang_mcnemar_test(only_wse, only_ose).p);
            assert_near(score->minus_ose.value, b - c, 1e-14);
            double error = sqrt((b + c - (b - c) * (b - c)) / n);
            const bang_interval *interval = &score->minus_ose.interval;
            assert_near(interval->sd, error, 5 * error / sqrt(4000));
            assert_near(interval->low, b - c - 1.96 * error, .25 * error + 1.5 / n);
            assert_near(interval->high, b - c + 1.96 * error, .25 * error + 1.5 / n);
            assert_near(d->sets[s].ose[0].minus_ose.value, NAN, 0);
        }
    /* Both are roles: one interval. */
    assert_memory_equal(&d->sets[1].wse[2].minus_ose, &d->sets[1].of[BANG_Q_AVG_OSE],
                        sizeof(bang_estimate));
    bang_diagnosis_free(d);
}

/* The mean over OOD sets with labels. */
static double plain_ood(const fixture *f, size_t i)
{
    return (plain_accuracy(&f->wse[1][i]) + plain_accuracy(&f->wse[2][i])) / 2;
}

static size_t plain_nearest(double alpha)
{
    size_t best = 0;
    for (size_t i = 0; i < GRID; i++)
        if (fabs(grid[i] - alpha) < fabs(grid[best] - alpha))
            best = i;
    return best;
}

static void test_choices(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_options options = options_of(0);
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    size_t id = 0, oracle = 0;
    for (size_t i = 0; i < GRID; i++) {
        if (plain_accuracy(&f->wse[0][i]) > plain_accuracy(&f->wse[0][id]))
            id = i;
        if (plain_ood(f, i) > plain_ood(f, oracle))
            oracle = i;
    }
    assert_int_not_equal(id, oracle); /* else the case shows little */
    double balance[SETS], ood = 0;
    for (size_t s = 0; s < SETS; s++) {
        balance[s] = 1 / (1 + plain_balance(&f->cases[s]));
        ood += s > 0 ? balance[s] / 3 : 0;
    }
    const double alpha[BANG_RULES] = {
        [BANG_RULE_ID_ACCURACY] = grid[id],  [BANG_RULE_BALANCE_OOD] = ood,
        [BANG_RULE_BALANCE_ID] = balance[0], [BANG_RULE_HALF] = .5,
        [BANG_RULE_ORACLE] = grid[oracle],
    };
    assert_int_equal(d->choice_sets, 2);
    assert_int_equal(d->ood_count, 2);
    for (int r = 0; r < BANG_RULES; r++) {
        const bang_choice *c = &d->choices[r];
        size_t at = plain_nearest(alpha[r]);
        assert_int_equal(c->known, 1);
        assert_near(c->alpha, alpha[r], 1e-8);
        assert_int_equal(c->nearest, at);
        assert_near(c->ood.value, plain_ood(f, at), 1e-14);
        assert_near(c->cost.value, plain_ood(f, oracle) - plain_ood(f, at), 1e-14);
        assert_near(c->id.value, plain_accuracy(&f->wse[0][at]), 1e-14);
        assert_true(isnan(c->ood.interval.low) && isnan(c->cost.interval.low));
    }
    bang_diagnosis_free(d);
}

/* Rows of both OOD sets drawn together for all alphas: mean accuracy of every one. */
static void draw_rows(double *values[GRID], const fixture *f)
{
    bang_random random;
    bang_random_init(&random, 6, BANG_PURPOSE('r', 'o', 'w', 's'), 1);
    for (size_t t = 0; t < ROW_DRAWS; t++) {
        for (size_t i = 0; i < GRID; i++)
            values[i][t] = 0;
        for (size_t s = 1; s < 3; s++) {
            size_t n = f->wse[s][0].n;
            for (size_t k = 0; k < n; k++) {
                size_t row = bang_random_below(&random, n);
                for (size_t i = 0; i < GRID; i++)
                    values[i][t] += f->wse[s][i].right[row] / (double)n / 2;
            }
        }
    }
}

static void test_cost_is_paired(void **state)
{
    const fixture *f = *state;
    double *values[GRID], *lack = calloc(ROW_DRAWS, sizeof *lack);
    const double levels[] = {.95, 1e-9};
    assert_non_null(lack);
    for (size_t i = 0; i < GRID; i++)
        assert_non_null(values[i] = calloc(ROW_DRAWS, sizeof(double)));
    for (size_t l = 0; l < 2; l++) {
        bang_diagnosis_options options = options_of(REPLICATES);
        options.level = levels[l];
        draw_rows(values, f);
        bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
        size_t oracle = d->choices[BANG_RULE_ORACLE].nearest;
        for (int r = 0; r < BANG_RULES; r++) {
            const bang_choice *c = &d->choices[r];
            for (size_t t = 0; t < ROW_DRAWS; t++)
                lack[t] = values[oracle][t] - values[c->nearest][t];
            if (c->nearest != oracle)
                assert_interval(bang_rule_names[r], &c->cost.interval, lack, ROW_DRAWS, REPLICATES,
                                levels[l], .5 / 400);
            else
                assert_true(c->cost.interval.low == 0 && c->cost.interval.high == 0);
            /* The values are sorted there: a copy. */
            memcpy(lack, values[c->nearest], ROW_DRAWS * sizeof *lack);
            assert_interval(bang_rule_names[r], &c->ood.interval, lack, ROW_DRAWS, REPLICATES,
                            levels[l], .5 / 400);
            assert_memory_equal(&c->id, &d->sets[0].wse[c->nearest].accuracy, sizeof c->id);
        }
        /* The average at 1/2 has its interval in one place only. */
        assert_memory_equal(&d->choices[BANG_RULE_HALF].ood, &d->ood[BANG_Q_ACCURACY + BANG_AVG],
                            sizeof(bang_estimate));
        bang_diagnosis_free(d);
    }
    for (size_t i = 0; i < GRID; i++)
        free(values[i]);
    free(lack);
}

static void test_threads(void **state)
{
    const fixture *f = *state;
    bang_diagnosis *d[3];
    for (int i = 0; i < 3; i++) {
        bang_diagnosis_options options = options_of(1300);
        options.threads = i + 1;
        d[i] = case_diagnose(f->sets, SETS, &options);
    }
    for (int i = 1; i < 3; i++) {
        for (int r = 0; r < BANG_RULES; r++) {
            const bang_choice *a = &d[0]->choices[r], *b = &d[i]->choices[r];
            assert_memory_equal(&a->ood, &b->ood, sizeof a->ood);
            assert_memory_equal(&a->cost, &b->cost, sizeof a->cost);
            assert_memory_equal(&a->id, &b->id, sizeof a->id);
            assert_true(a->alpha == b->alpha);
        }
        for (size_t s = 0; s < SETS; s++)
            assert_memory_equal(d[0]->sets[s].wse, d[i]->sets[s].wse,
                                GRID * sizeof(bang_alpha_score));
    }
    for (int i = 0; i < 3; i++)
        bang_diagnosis_free(d[i]);
}

/* Averages that are one and the same: of equals the nearest to 1/2, then the lower. */
static void test_ties(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_set sets[2] = {f->sets[0], f->sets[1]};
    bang_logits same[2][4];
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < 4; i++)
            same[s][i] = f->sets[s].avg;
    sets[0].at = same[0];
    sets[1].at = same[1];
    /* The same model everywhere, so that 0 and 1 are not better either. */
    for (size_t s = 0; s < 2; s++)
        sets[s].pre = sets[s].fine = sets[s].avg;
    static const struct {
        size_t count;
        double alphas[4];
        double id;   /* what the best of equals is */
        double half; /* what is nearest to 1/2 */
    } ties[] = {
        {4, {.1, .4, .6, .9}, .4, .4},   {4, {.1, .3, .6, .9}, .6, .6},
        {2, {.2, .9}, .2, .2},           {2, {0, 1}, 0, 0},
        {4, {0, .45, .55, 1}, .45, .45},
    };
    for (size_t t = 0; t < sizeof ties / sizeof *ties; t++) {
        bang_diagnosis_options options = options_of(100);
        options.alpha_count = ties[t].count;
        options.alphas = ties[t].alphas;
        bang_diagnosis *d = case_diagnose(sets, 2, &options);
        const double *a = ties[t].alphas;
        assert_int_equal(d->sets[0].wse_count,
                         ties[t].count + (a[0] > 0) + (a[ties[t].count - 1] < 1));
        assert_true(d->choices[BANG_RULE_ID_ACCURACY].alpha == ties[t].id);
        assert_true(d->choices[BANG_RULE_ORACLE].alpha == ties[t].id);
        const bang_choice *half = &d->choices[BANG_RULE_HALF];
        assert_true(half->alpha == .5);
        assert_true(d->sets[0].wse[half->nearest].alpha == ties[t].half);
        assert_true(half->cost.value == 0 && half->cost.interval.high == 0);
        /* Equally confident models: the balance is one half. */
        assert_near(d->sets[1].balanced_alpha, .5, 1e-9);
        bang_diagnosis_free(d);
    }
}

/* Only some sets have averages, labels, or are there at all. */
static void test_what_is_known(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_set sets[SETS];
    bang_diagnosis_options options = options_of(200);
    memcpy(sets, f->sets, sizeof sets);

    /* Averages on the ID set alone: alphas are chosen, and nothing says how good they are. */
    sets[1].at = sets[2].at = sets[3].at = NULL;
    bang_diagnosis *d = case_diagnose(sets, SETS, &options);
    assert_int_equal(d->choice_sets, 0);
    assert_int_equal(d->sets[1].wse_count, 0);
    for (int r = 0; r < BANG_RULES; r++) {
        const bang_choice *c = &d->choices[r];
        assert_int_equal(c->known, r != BANG_RULE_ORACLE);
        assert_true(isnan(c->ood.value) && isnan(c->cost.value) && isnan(c->ood.interval.sd));
        assert_true(isnan(c->id.value) == (r == BANG_RULE_ORACLE));
    }
    assert_true(d->sets[1].balanced_alpha > 0 && d->sets[1].balanced_alpha < .5);
    bang_diagnosis_free(d);

    /* One OOD set with averages: the mean is over it alone, however many are labelled. */
    sets[2].at = f->sets[2].at;
    d = case_diagnose(sets, SETS, &options);
    assert_int_equal(d->choice_sets, 1);
    assert_int_equal(d->ood_count, 2);
    assert_true(d->choices[BANG_RULE_HALF].ood.value == d->sets[2].wse[2].accuracy.value);
    assert_near(d->choices[BANG_RULE_HALF].ood.interval.sd, d->sets[2].wse[2].accuracy.interval.sd,
                .005);
    bang_diagnosis_free(d);

    /* Without labels in distribution. */
    memcpy(sets, f->sets, sizeof sets);
    sets[0].labels = NULL;
    d = case_diagnose(sets, SETS, &options);
    assert_int_equal(d->choices[BANG_RULE_ID_ACCURACY].known, 0);
    assert_int_equal(d->choices[BANG_RULE_BALANCE_ID].known, 1);
    assert_int_equal(d->choices[BANG_RULE_ORACLE].known, 1);
    assert_true(isnan(d->choices[BANG_RULE_HALF].id.value));
    assert_true(d->choices[BANG_RULE_HALF].cost.value >= 0);
    assert_true(isnan(d->choices[BANG_RULE_ID_ACCURACY].alpha));
    bang_diagnosis_free(d);

    /* The ID set alone. */
    d = case_diagnose(f->sets, 1, &options);
    assert_int_equal(d->choices[BANG_RULE_ID_ACCURACY].known, 1);
    assert_int_equal(d->choices[BANG_RULE_BALANCE_OOD].known, 0);
    assert_int_equal(d->choices[BANG_RULE_ORACLE].known, 0);
    bang_diagnosis_free(d);

    /* Alphas, but no averages at them. */
    sets[1].at = NULL;
    d = case_diagnose(&sets[1], 1, &options);
    for (int r = 0; r < BANG_RULES; r++)
        assert_int_equal(d->choices[r].known, 0);
    bang_diagnosis_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),        cmocka_unit_test(test_against_ensembles),
        cmocka_unit_test(test_choices),       cmocka_unit_test(test_cost_is_paired),
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_ties),
        cmocka_unit_test(test_what_is_known),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
