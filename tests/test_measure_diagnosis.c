/* The whole diagnosis against plain loops over rows. */
#include "diagnosis_cases.h"

enum { SETS = 3, ROW_DRAWS = 3000, REPLICATES = 20000 };

/* The ID set, one on which PM and FM are equally good, so that either may be the better one of
 * a replicate, and one with other classes. */
static const case_kind kinds[SETS] = {
    {600, 6, 1.0, 2.2, 3, 1},
    {500, 6, 1.3, 1.3, 3, 2},
    {400, 4, 1.2, .6, 2, 3},
};

typedef struct fixture {
    case_set cases[SETS];
    bang_diagnosis_set sets[SETS];
    plain roles[SETS][BANG_ROLES];
    double temperature[2];
} fixture;

static const double halves[2] = {.5, .5};

/* Every role on a set, at these temperatures. */
static void fill_roles(plain roles[BANG_ROLES], const case_set *c, const double share[2],
                       const double temperature[2])
{
    const double one[2] = {1, 1}, scale[2] = {1 / temperature[0], 1 / temperature[1]};
    plain_single(&roles[BANG_PRE], c, c->pre, 1);
    plain_single(&roles[BANG_FINE], c, c->fine, 1);
    plain_single(&roles[BANG_AVG], c, c->avg, 1);
    plain_member(&roles[BANG_OSE], c, c->pre, c->fine, share, one, 0);
    plain_member(&roles[BANG_OSE_MEAN], c, c->pre, c->fine, share, one, 1);
    plain_single(&roles[BANG_PRE_SCALED], c, c->pre, scale[0]);
    plain_single(&roles[BANG_FINE_SCALED], c, c->fine, scale[1]);
    plain_member(&roles[BANG_OSE_SCALED], c, c->pre, c->fine, share, scale, 0);
    plain_member(&roles[BANG_OSE_SCALED_MEAN], c, c->pre, c->fine, share, scale, 1);
}

static int make_fixture(void **state)
{
    static const char *const names[SETS] = {"id", "same", "other"};
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (size_t s = 0; s < SETS; s++) {
        case_make(&f->cases[s], names[s], &kinds[s]);
        f->sets[s] = f->cases[s].set;
    }
    f->temperature[0] = plain_least(plain_nll, &f->cases[0], f->cases[0].pre);
    f->temperature[1] = plain_least(plain_nll, &f->cases[0], f->cases[0].fine);
    for (size_t s = 0; s < SETS; s++)
        fill_roles(f->roles[s], &f->cases[s], halves, f->temperature);
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

/* All quantities of rows `rows` (n), or of all rows. */
static void plain_quantities(double q[BANG_QUANTITIES], const plain roles[BANG_ROLES],
                             const size_t *rows)
{
    size_t n = roles[0].n;
    double right[BANG_ROLES] = {0}, same[3] = {0}, other[3] = {0}, fft = 0, ttf = 0, tft = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = rows ? rows[i] : i;
        int by[BANG_ROLES];
        for (int r = 0; r < BANG_ROLES; r++)
            right[r] += by[r] = roles[r].right[row];
        for (int m = 0; m < 3; m++)
            *(by[0] == by[1] ? &same[m] : &other[m]) += by[m];
        fft += !by[0] && !by[1] && by[2];
        ttf += by[0] && by[1] && !by[2];
        tft += by[0] && !by[1] && by[2];
    }
    double d = (double)n;
    for (int r = 0; r < BANG_ROLES; r++)
        q[BANG_Q_ACCURACY + r] = right[r] / d;
    q[BANG_Q_AVG_PRE] = (right[BANG_AVG] - right[BANG_PRE]) / d;
    q[BANG_Q_AVG_FINE] = (right[BANG_AVG] - right[BANG_FINE]) / d;
    q[BANG_Q_AVG_OSE] = (right[BANG_AVG] - right[BANG_OSE]) / d;
    q[BANG_Q_FINE_PRE] = (right[BANG_FINE] - right[BANG_PRE]) / d;
    q[BANG_Q_OSE_PRE] = (right[BANG_OSE] - right[BANG_PRE]) / d;
    q[BANG_Q_OSE_FINE] = (right[BANG_OSE] - right[BANG_FINE]) / d;
    q[BANG_Q_SCALED_OSE] = (right[BANG_OSE_SCALED] - right[BANG_OSE]) / d;
    q[BANG_Q_AVG_SCALED] = (right[BANG_AVG] - right[BANG_OSE_SCALED]) / d;
    q[BANG_Q_ALL] = (right[BANG_AVG] - fmax(right[BANG_PRE], right[BANG_FINE])) / d;
    q[BANG_Q_TT_FF] = (same[2] - fmax(same[0], same[1])) / d;
    q[BANG_Q_TF_FT] = (other[2] - fmax(other[0], other[1])) / d;
    q[BANG_Q_FFT] = fft / d;
    q[BANG_Q_TTF] = ttf / d;
    q[BANG_Q_CORRECTED] = tft / d;
}

static bang_diagnosis_options plain_options(void)
{
    bang_diagnosis_options options = BANG_DIAGNOSIS_OPTIONS_INIT;
    options.replicates = 0;
    options.threads = 2;
    return options;
}

static void compare_member(const bang_set_diagnosis *set, bang_role r, const plain *m)
{
    double width[3], mass[3];
    const bang_member_tally *of = &set->tally->of[set->member[r]];
    assert_near(set->of[BANG_Q_ACCURACY + r].value, plain_accuracy(m), 1e-15);
    assert_near(of->confidence, plain_mean(m->confidence, m->n), 1e-11);
    assert_near(of->nll, plain_mean(m->nll, m->n), 1e-9);
    assert_near(of->brier, plain_mean(m->brier, m->n), 1e-10);
    plain_width(width, m, BANG_BINS);
    assert_near(set->width[r].ece, width[0], 1e-9);
    assert_near(set->width[r].mce, width[1], 1e-9);
    assert_near(set->width[r].rms, width[2], 1e-9);
    plain_mass(mass, m, BANG_BINS);
    assert_near(set->mass[r].ece, r <= BANG_OSE ? mass[0] : NAN, 1e-9);
    assert_near(set->mass[r].mce, r <= BANG_OSE ? mass[1] : NAN, 1e-9);
    assert_near(set->mass[r].rms, r <= BANG_OSE ? mass[2] : NAN, 1e-9);
}

static void compare_groups(const bang_set_diagnosis *set, const plain roles[BANG_ROLES])
{
    double sums[BANG_PAIRS] = {0}, counts[BANG_PAIRS] = {0};
    size_t groups[BANG_GROUPS] = {0}, total = 0;
    for (size_t i = 0; i < roles[0].n; i++) {
        int pair = 2 * !roles[BANG_PRE].right[i] + !roles[BANG_FINE].right[i];
        groups[2 * pair + !roles[BANG_AVG].right[i]]++;
        sums[pair] += roles[BANG_PRE].margin[i] + roles[BANG_FINE].margin[i];
        counts[pair]++;
    }
    for (int g = 0; g < BANG_GROUPS; g++) {
        assert_int_equal(set->groups[g], groups[g]);
        total += groups[g];
    }
    assert_int_equal(total, set->tally->counted);
    for (int p = 0; p < BANG_PAIRS; p++)
        assert_near(set->margin_sum[p], sums[p] / counts[p], 1e-10);
}

static void compare_diversity(const bang_set_diagnosis *set, const plain roles[BANG_ROLES])
{
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            double n = (double)roles[0].n, agree = 0, wrong = 0, mistake = 0, sum[2] = {0},
                   cross = 0;
            size_t first = 0, second = 0;
            for (size_t i = 0; i < roles[0].n; i++) {
                int same = roles[a].prediction[i] == roles[b].prediction[i];
                int x = roles[a].right[i], y = roles[b].right[i];
                agree += same;
                wrong += !x && !y;
                mistake += !x && !y && same;
                first += x && !y;
                second += !x && y;
                sum[0] += x;
                sum[1] += y;
                cross += x * y;
            }
            const bang_diversity *d = &set->diversity[a][b];
            /* Pearson's correlation of two numbers 0 or 1. */
            double p = sum[0] / n, q = sum[1] / n;
            assert_near(d->agreement, agree / n, 1e-15);
            assert_near(d->disagreement, 1 - agree / n, 1e-15);
            assert_near(d->both_wrong, wrong / n, 1e-15);
            assert_near(d->same_mistake, mistake / n, 1e-15);
            assert_near(d->error_correlation, (cross / n - p * q) / sqrt(p * (1 - p) * q * (1 - q)),
                        1e-12);
            assert_int_equal(d->mcnemar.b, first);
            assert_int_equal(d->mcnemar.c, second);
        }
}

static void test_every_value(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_options options = plain_options();
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    assert_true(d->has_temperature && d->fitted && d->fitted_on == 0);
    for (int m = 0; m < 2; m++)
        assert_near(d->temperature[m].temperature, f->temperature[m], 1e-6);
    for (size_t s = 0; s < SETS; s++) {
        const bang_set_diagnosis *set = &d->sets[s];
        double q[BANG_QUANTITIES];
        assert_string_equal(set->name, f->sets[s].name);
        assert_true(set->has_average && set->wse_count == 0);
        assert_int_equal(set->tally->counted, f->roles[s][0].n);
        plain_quantities(q, f->roles[s], NULL);
        for (int i = 0; i < BANG_QUANTITIES; i++) {
            assert_near(set->of[i].value, q[i], 1e-14);
            assert_true(isnan(set->of[i].interval.low) && isnan(set->of[i].interval.sd));
        }
        for (int r = 0; r < BANG_ROLES; r++)
            if (r < BANG_PRE_SCALED)
                compare_member(set, (bang_role)r, &f->roles[s][r]);
        compare_groups(set, f->roles[s]);
        compare_diversity(set, f->roles[s]);
        double tau = plain_balance(&f->cases[s]);
        assert_near(set->balance.temperature, tau, 1e-8 * tau);
        assert_near(set->balanced_alpha, 1 / (1 + tau), 1e-8);
        assert_true(set->balanced_alpha < .5); /* FM is louder everywhere */
        /* A temperature changes no prediction. */
        assert_int_equal(set->tally->of[set->member[BANG_PRE]].right,
                         set->tally->of[set->member[BANG_PRE_SCALED]].right);
        assert_int_equal(set->tally->of[set->member[BANG_FINE]].right,
                         set->tally->of[set->member[BANG_FINE_SCALED]].right);
    }
    bang_diagnosis_free(d);
}

/* Given temperatures are exact, so everything at them can be compared closely. */
static void test_given_temperatures(void **state)
{
    const fixture *f = *state;
    static plain roles[BANG_ROLES];
    bang_diagnosis_options options = plain_options();
    options.fit = 0;
    options.temperature[0] = .8;
    options.temperature[1] = 2.5;
    options.weights[0] = 3; /* divided by their sum */
    options.weights[1] = 1;
    options.id = 1;
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    assert_true(d->has_temperature && !d->fitted && d->id == 1);
    assert_true(d->temperature[1].temperature == 2.5 && !d->temperature[1].at_limit);
    assert_true(isnan(d->temperature[0].nll));
    for (size_t s = 0; s < SETS; s++) {
        double q[BANG_QUANTITIES];
        fill_roles(roles, &f->cases[s], (double[]){.75, .25}, options.temperature);
        plain_quantities(q, roles, NULL);
        for (int i = 0; i < BANG_QUANTITIES; i++)
            assert_near(d->sets[s].of[i].value, q[i], 1e-14);
        for (int r = 0; r < BANG_ROLES; r++)
            compare_member(&d->sets[s], (bang_role)r, &roles[r]);
    }
    bang_diagnosis_free(d);
}

static void test_average_ood(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_options options = plain_options();
    bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
    double q[2][BANG_QUANTITIES], width[2][3];
    assert_int_equal(d->ood_count, 2);
    plain_quantities(q[0], f->roles[1], NULL);
    plain_quantities(q[1], f->roles[2], NULL);
    for (int i = 0; i < BANG_QUANTITIES; i++)
        assert_near(d->ood[i].value, (q[0][i] + q[1][i]) / 2, 1e-14);
    for (int r = 0; r < BANG_ROLES; r++) {
        const plain *a = &f->roles[1][r], *b = &f->roles[2][r];
        plain_width(width[0], a, BANG_BINS);
        plain_width(width[1], b, BANG_BINS);
        double within = r < BANG_PRE_SCALED ? 1e-10 : 1e-6;
        assert_near(d->ood_confidence[r],
                    (plain_mean(a->confidence, a->n) + plain_mean(b->confidence, b->n)) / 2,
                    within);
        if (r < BANG_PRE_SCALED)
            assert_near(d->ood_ece[r], (width[0][0] + width[1][0]) / 2, within);
    }
    bang_diagnosis_free(d);
}

/* Rows drawn with replacement, set by set; values (BANG_QUANTITIES, ROW_DRAWS) of the sets
 * and, last, of the mean over OOD sets. */
static void draw_rows(double *values[SETS + 1], const fixture *f)
{
    static size_t rows[CASE_ROWS_MAX];
    bang_random random;
    bang_random_init(&random, 5, BANG_PURPOSE('r', 'o', 'w', 's'), 0);
    for (size_t t = 0; t < ROW_DRAWS; t++) {
        double q[SETS][BANG_QUANTITIES];
        for (size_t s = 0; s < SETS; s++) {
            size_t n = f->roles[s][0].n;
            for (size_t i = 0; i < n; i++)
                rows[i] = bang_random_below(&random, n);
            plain_quantities(q[s], f->roles[s], rows);
        }
        for (size_t i = 0; i < BANG_QUANTITIES; i++) {
            for (size_t s = 0; s < SETS; s++)
                values[s][i * ROW_DRAWS + t] = q[s][i];
            values[SETS][i * ROW_DRAWS + t] = (q[1][i] + q[2][i]) / 2;
        }
    }
}

/* Counts drawn from patterns have the distribution of counts of drawn rows: standard errors, ends
 * of intervals, and medians, which tell whether the better model is chosen in each replicate. */
static void test_bootstrap_is_that_of_rows(void **state)
{
    const fixture *f = *state;
    double *values[SETS + 1];
    for (size_t s = 0; s <= SETS; s++)
        assert_non_null(values[s] = calloc(BANG_QUANTITIES * ROW_DRAWS, sizeof(double)));
    draw_rows(values, f);
    const double levels[] = {.95, 1e-9};
    for (size_t l = 0; l < 2; l++) {
        bang_diagnosis_options options = plain_options();
        options.replicates = REPLICATES;
        options.level = levels[l];
        bang_diagnosis *d = case_diagnose(f->sets, SETS, &options);
        for (size_t s = 0; s <= SETS; s++)
            for (size_t i = 0; i < BANG_QUANTITIES; i++) {
                char what[64];
                const bang_estimate *e = s < SETS ? &d->sets[s].of[i] : &d->ood[i];
                double grid = 1 / (double)f->roles[s < SETS ? s : 2][0].n;
                snprintf(what, sizeof what, "set %zu, quantity %zu, level %g", s, i, levels[l]);
                assert_interval(what, &e->interval, values[s] + i * ROW_DRAWS, ROW_DRAWS,
                                REPLICATES, levels[l], grid);
            }
        /* The same predictions, so the same draws. */
        for (size_t s = 0; s < SETS; s++) {
            const bang_estimate *of = &d->sets[s].of[BANG_Q_ACCURACY];
            assert_memory_equal(&of[BANG_PRE_SCALED], &of[BANG_PRE], sizeof *of);
            assert_memory_equal(&of[BANG_FINE_SCALED], &of[BANG_FINE], sizeof *of);
        }
        bang_diagnosis_free(d);
    }
    for (size_t s = 0; s <= SETS; s++)
        free(values[s]);
}

/* Nothing but the seed decides. */
static void test_threads_and_seed(void **state)
{
    const fixture *f = *state;
    bang_diagnosis *d[4];
    for (int i = 0; i < 4; i++) {
        bang_diagnosis_options options = plain_options();
        options.replicates = 1500; /* no multiple of what a task does */
        options.threads = i < 3 ? i + 1 : 2;
        options.seed = i < 3 ? 1 : 2;
        options.ose_count = 2;
        options.ose_alphas = (const double[]){.3, .6};
        d[i] = case_diagnose(f->sets, SETS, &options);
    }
    for (int i = 1; i < 3; i++) {
        assert_memory_equal(d[i]->ood, d[0]->ood, sizeof d[0]->ood);
        for (size_t s = 0; s < SETS; s++) {
            const bang_set_diagnosis *a = &d[i]->sets[s], *b = &d[0]->sets[s];
            assert_memory_equal(a->of, b->of, sizeof a->of);
            assert_memory_equal(a->width, b->width, sizeof a->width);
            assert_memory_equal(a->mass, b->mass, sizeof a->mass);
            assert_memory_equal(a->diversity, b->diversity, sizeof a->diversity);
            assert_memory_equal(a->margin_sum, b->margin_sum, sizeof a->margin_sum);
            assert_memory_equal(a->ose, b->ose, 2 * sizeof *a->ose);
            assert_true(a->balanced_alpha == b->balanced_alpha);
        }
    }
    for (int q = 0; q < BANG_QUANTITIES; q++)
        assert_true(d[3]->ood[q].value == d[0]->ood[q].value);
    assert_true(d[3]->ood[BANG_Q_ALL].interval.sd != d[0]->ood[BANG_Q_ALL].interval.sd);
    for (int i = 0; i < 4; i++)
        bang_diagnosis_free(d[i]);
}

/* One set, two models: the OSE stands in for the average. */
static void test_without_average(void **state)
{
    const fixture *f = *state;
    static plain roles[BANG_ROLES];
    bang_diagnosis_set set = f->sets[1];
    bang_diagnosis_options options = plain_options();
    options.replicates = 500;
    set.avg.table = NULL;
    bang_diagnosis *d = case_diagnose(&set, 1, &options);
    const bang_set_diagnosis *found = &d->sets[0];
    double q[BANG_QUANTITIES],
        temperature[2] = {d->temperature[0].temperature, d->temperature[1].temperature};
    assert_int_equal(found->has_average, 0);
    assert_int_equal(found->member[BANG_AVG], 2);
    assert_int_equal(found->member[BANG_OSE], 2);
    fill_roles(roles, &f->cases[1], halves, temperature);
    roles[BANG_AVG] = roles[BANG_OSE];
    plain_quantities(q, roles, NULL);
    for (int i = 0; i < BANG_QUANTITIES; i++)
        assert_near(found->of[i].value, q[i], 1e-14);
    compare_groups(found, roles);
    compare_diversity(found, roles);
    assert_true(found->of[BANG_Q_AVG_OSE].value == 0 && found->of[BANG_Q_AVG_OSE].interval.sd == 0);
    assert_memory_equal(&found->of[BANG_Q_ACCURACY + BANG_AVG],
                        &found->of[BANG_Q_ACCURACY + BANG_OSE], sizeof found->of[0]);
    /* No set is out of distribution. */
    assert_int_equal(d->ood_count, 0);
    for (int i = 0; i < BANG_QUANTITIES; i++)
        assert_true(isnan(d->ood[i].value) && isnan(d->ood[i].interval.low));
    for (int r = 0; r < BANG_RULES; r++)
        assert_int_equal(d->choices[r].known, 0);
    bang_diagnosis_free(d);
}

/* Confidence, agreement and balance are there without labels; the rest is NaN. */
static void test_without_labels(void **state)
{
    fixture *f = *state;
    bang_diagnosis_set sets[SETS];
    memcpy(sets, f->sets, sizeof sets);
    sets[1].labels = NULL;
    bang_diagnosis_options options = plain_options();
    options.replicates = 200;
    options.listed = 1u << BANG_FFT;
    options.by_class = 1;
    bang_diagnosis *d = case_diagnose(sets, SETS, &options);
    const bang_set_diagnosis *set = &d->sets[1];
    for (int i = 0; i < BANG_QUANTITIES; i++) {
        assert_true(isnan(set->of[i].value) && isnan(set->of[i].interval.low));
        assert_true(d->ood[i].value == d->sets[2].of[i].value);
    }
    assert_int_equal(d->ood_count, 1);
    assert_int_equal(set->tally->counted, f->cases[1].rows);
    static plain m;
    case_set bare = f->cases[1];
    bare.set.labels = NULL;
    plain_single(&m, &bare, bare.fine, 1);
    assert_near(set->tally->of[set->member[BANG_FINE]].confidence, plain_mean(m.confidence, m.n),
                1e-11);
    double tau = plain_balance(&bare);
    assert_near(set->balance.temperature, tau, 1e-8 * tau);
    assert_true(set->diversity[0][1].agreement > 0 && set->diversity[0][1].agreement < 1);
    assert_true(isnan(set->diversity[0][1].both_wrong) && isnan(set->diversity[0][1].mcnemar.p));
    for (int r = 0; r < BANG_ROLES; r++)
        assert_true(isnan(set->width[r].ece) && isnan(set->mass[r].ece));
    for (int p = 0; p < BANG_PAIRS; p++)
        assert_true(isnan(set->margin_sum[p]));
    for (int g = 0; g < BANG_GROUPS; g++)
        assert_int_equal(set->groups[g], 0);
    assert_true(set->tally->listed_count == 0);
    assert_int_equal(d->sets[0].tally->listed_count, d->sets[0].groups[BANG_FFT]);
    bang_diagnosis_free(d);

    /* Nothing to fit temperatures on. */
    sets[0].labels = NULL;
    d = case_diagnose(sets, SETS, &options);
    assert_int_equal(d->has_temperature, 0);
    assert_true(isnan(d->temperature[0].temperature));
    assert_int_equal(d->sets[2].member[BANG_OSE_SCALED], -1);
    assert_true(isnan(d->sets[2].of[BANG_Q_SCALED_OSE].value));
    assert_true(isnan(d->sets[2].of[BANG_Q_ACCURACY + BANG_PRE_SCALED].interval.sd));
    assert_true(d->sets[2].of[BANG_Q_AVG_OSE].interval.sd > 0);
    assert_true(isnan(d->ood[BANG_Q_AVG_SCALED].value) &&
                isnan(d->ood_confidence[BANG_OSE_SCALED]));
    bang_diagnosis_free(d);

    /* Then those that are given are taken. */
    options.temperature[0] = options.temperature[1] = 2;
    d = case_diagnose(sets, SETS, &options);
    assert_true(d->has_temperature && !d->fitted);
    assert_true(d->sets[2].of[BANG_Q_ACCURACY + BANG_OSE_SCALED].interval.sd > 0);
    bang_diagnosis_free(d);
}

/* PM and FM change places. */
static void test_swap(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_set swapped = f->sets[1];
    swapped.pre = f->sets[1].fine;
    swapped.fine = f->sets[1].pre;
    bang_diagnosis_options options = plain_options();
    bang_diagnosis *d = case_diagnose(&f->sets[1], 1, &options);
    bang_diagnosis *e = case_diagnose(&swapped, 1, &options);
    const bang_set_diagnosis *a = &d->sets[0], *b = &e->sets[0];
    const int groups[BANG_GROUPS] = {BANG_TTT, BANG_TTF, BANG_FTT, BANG_FTF,
                                     BANG_TFT, BANG_TFF, BANG_FFT, BANG_FFF};
    for (int g = 0; g < BANG_GROUPS; g++)
        assert_int_equal(a->groups[g], b->groups[groups[g]]);
    const int roles[BANG_ROLES] = {BANG_FINE,       BANG_PRE,        BANG_AVG,
                                   BANG_OSE,        BANG_OSE_MEAN,   BANG_FINE_SCALED,
                                   BANG_PRE_SCALED, BANG_OSE_SCALED, BANG_OSE_SCALED_MEAN};
    for (int r = 0; r < BANG_ROLES; r++) {
        assert_near(a->of[BANG_Q_ACCURACY + r].value, b->of[BANG_Q_ACCURACY + roles[r]].value, 0);
        assert_near(a->width[r].ece, b->width[roles[r]].ece, 1e-12);
    }
    static const int equal[] = {BANG_Q_AVG_OSE, BANG_Q_SCALED_OSE, BANG_Q_AVG_SCALED, BANG_Q_ALL,
                                BANG_Q_TT_FF,   BANG_Q_TF_FT,      BANG_Q_FFT,        BANG_Q_TTF};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        assert_near(a->of[equal[i]].value, b->of[equal[i]].value, 0);
    assert_near(a->of[BANG_Q_FINE_PRE].value, -b->of[BANG_Q_FINE_PRE].value, 0);
    assert_near(a->of[BANG_Q_AVG_PRE].value, b->of[BANG_Q_AVG_FINE].value, 0);
    assert_near(a->margin_sum[BANG_TF], b->margin_sum[BANG_FT], 1e-12);
    assert_true(a->balanced_alpha < .5 && b->balanced_alpha > .5);
    bang_diagnosis_free(d);
    bang_diagnosis_free(e);
}

/* Models that are the same in part: nothing is scored twice, nothing is lost. */
static void test_equal_members(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_set set = f->sets[1];
    bang_diagnosis_options options = plain_options();
    options.replicates = 300;
    set.avg = set.pre; /* the average is PM itself */
    options.weights[0] = 0;
    options.weights[1] = 2; /* and the OSE is FM */
    bang_diagnosis *d = case_diagnose(&set, 1, &options);
    const bang_set_diagnosis *found = &d->sets[0];
    assert_int_equal(found->member[BANG_AVG], 2);
    assert_int_equal(found->member[BANG_OSE], 1);
    assert_true(found->of[BANG_Q_AVG_PRE].value == 0 && found->of[BANG_Q_AVG_PRE].interval.sd == 0);
    assert_true(found->groups[BANG_TTF] + found->groups[BANG_TFF] + found->groups[BANG_FTT] +
                    found->groups[BANG_FFT] ==
                0);
    assert_near(found->of[BANG_Q_AVG_OSE].value, -found->of[BANG_Q_FINE_PRE].value, 0);
    for (int r = BANG_OSE; r < BANG_ROLES; r++)
        if (r != BANG_PRE_SCALED)
            assert_memory_equal(&found->of[BANG_Q_ACCURACY + r],
                                &found->of[BANG_Q_ACCURACY + BANG_FINE], sizeof found->of[0]);
    /* Bins of equal mass are those of four roles, whoever shares their members. */
    assert_true(found->mass[BANG_OSE].ece == found->mass[BANG_FINE].ece);
    assert_true(isnan(found->mass[BANG_OSE_MEAN].ece));
    bang_diagnosis_free(d);
}

/* More of one model than there is: its probabilities would be none, its logits are. */
static void test_negative_weights(void **state)
{
    const fixture *f = *state;
    static plain mix;
    const double share[2] = {1.5, -.5}, one[2] = {1, 1};
    bang_diagnosis_options options = plain_options();
    options.replicates = 200;
    options.weights[0] = 3e307; /* large ones, too */
    options.weights[1] = -1e307;
    bang_diagnosis *d = case_diagnose(f->sets, 1, &options);
    const bang_set_diagnosis *found = &d->sets[0];
    plain_member(&mix, &f->cases[0], f->cases[0].pre, f->cases[0].fine, share, one, 0);
    assert_near(found->of[BANG_Q_ACCURACY + BANG_OSE].value, plain_accuracy(&mix), 1e-15);
    assert_near(found->tally->of[found->member[BANG_OSE]].confidence,
                plain_mean(mix.confidence, mix.n), 1e-11);
    assert_true(found->member[BANG_OSE_MEAN] < 0 && found->member[BANG_OSE_SCALED_MEAN] < 0);
    assert_true(isnan(found->of[BANG_Q_ACCURACY + BANG_OSE_MEAN].value));
    assert_true(isnan(found->of[BANG_Q_ACCURACY + BANG_OSE_MEAN].interval.low));
    assert_true(found->member[BANG_OSE_SCALED] >= 0);
    assert_true(found->of[BANG_Q_OSE_PRE].interval.sd > 0);
    bang_diagnosis_free(d);
    options.weights[0] = options.weights[1] = 1e308; /* whose sum is too large */
    d = case_diagnose(f->sets, 1, &options);
    assert_near(d->sets[0].of[BANG_Q_ACCURACY + BANG_OSE].value,
                plain_accuracy(&f->roles[0][BANG_OSE]), 1e-15);
    bang_diagnosis_free(d);
}

/* Always right, or always wrong: resamples do not differ, and yet n rows prove only so much. */
static void test_exact_intervals(void **state)
{
    (void)state;
    enum { N = 20 };
    const double sure[N][2] = {{0}};
    double half[N][2] = {{0}}, wrong[N][2];
    bang_label labels[N] = {0};
    bang_table tables[3];
    for (size_t i = 0; i < N; i++) {
        half[i][1] = i % 2 ? 1 : -1;
        wrong[i][0] = 0;
        wrong[i][1] = 1 + (double)i;
    }
    bang_table_of(&tables[0], "sure", BANG_F64, sure, N, 2); /* ties: the first */
    bang_table_of(&tables[1], "wrong", BANG_F64, wrong, N, 2);
    bang_table_of(&tables[2], "half", BANG_F64, half, N, 2);
    const bang_logits at[] = {{.table = &tables[1]}};
    bang_diagnosis_set set = {.name = "exact",
                              .pre = {.table = &tables[0]},
                              .fine = {.table = &tables[1]},
                              .avg = {.table = &tables[2]},
                              .labels = labels,
                              .at = at};
    bang_diagnosis_options options = plain_options();
    options.replicates = 300;
    options.level = .9;
    options.alpha_count = 1;
    options.alphas = (const double[]){.75};
    bang_diagnosis *d = case_diagnose(&set, 1, &options);
    const bang_estimate *of = &d->sets[0].of[BANG_Q_ACCURACY];
    double bound = pow(.05, 1. / N);
    assert_true(of[BANG_PRE].value == 1 && of[BANG_PRE].interval.high == 1);
    assert_near(of[BANG_PRE].interval.low, bound, 1e-14);
    assert_true(of[BANG_FINE].value == 0 && of[BANG_FINE].interval.low == 0);
    assert_near(of[BANG_FINE].interval.high, 1 - bound, 1e-14);
    assert_near(of[BANG_FINE_SCALED].interval.high, 1 - bound, 1e-14);
    assert_near(d->sets[0].wse[1].accuracy.interval.high, 1 - bound, 1e-14);
    assert_true(of[BANG_AVG].value == .5 && of[BANG_AVG].interval.low > .2 &&
                of[BANG_AVG].interval.high < .8);
    bang_diagnosis_free(d);
}

static void expect(const bang_diagnosis_set *sets, size_t count,
                   const bang_diagnosis_options *options, const char *const *words)
{
    bang_diagnosis *found = (bang_diagnosis *)1;
    bang_error err = {0};
    assert_int_equal(bang_diagnose(&found, sets, count, options, &err), BANG_EUSAGE);
    assert_null(found);
    for (; *words; words++)
        if (!strstr(err.message, *words))
            fail_msg("\"%s\" is not in \"%s\"", *words, err.message);
}
#define EXPECT(sets, count, options, ...)                                                          \
    expect(sets, count, options, (const char *const[]){__VA_ARGS__, NULL})

static void test_refuses_sets(void **state)
{
    fixture *f = *state;
    bang_diagnosis_options options = plain_options();
    bang_diagnosis_set sets[SETS];
    memcpy(sets, f->sets, sizeof sets);
    EXPECT(sets, 0, &options, "no data set");
    /* Everything at once. */
    sets[0].fine = f->sets[1].fine;
    sets[1].name = "id";
    sets[1].avg = f->sets[2].avg;
    sets[2].pre.table = NULL;
    EXPECT(sets, SETS, &options, "id: fine has 500 rows, pre has 600",
           "id: two sets have this name", "id: avg has 400 rows, pre has 500",
           "id: avg has 4 classes, pre has 6", "other: no logits of pre");
    memcpy(sets, f->sets, sizeof sets);
    sets[2].name = NULL;
    EXPECT(sets, SETS, &options, "set 3: has no name");
    memcpy(sets, f->sets, sizeof sets);
    bang_label wrong[600], none[500];
    for (size_t i = 0; i < 600; i++)
        wrong[i] = i == 17 ? 6 : i == 20 ? -2 : 0;
    for (size_t i = 0; i < 500; i++)
        none[i] = BANG_LEFT_OUT;
    sets[0].labels = wrong;
    sets[1].labels = none;
    EXPECT(sets, SETS, &options, "id: label 6 of row 17 is not among the 6 classes (and 1 more)",
           "same: every row is left out");
    /* Averages at alphas are held against PM, too. */
    memcpy(sets, f->sets, sizeof sets);
    bang_logits at[2] = {f->sets[0].avg, f->sets[1].avg};
    options.alpha_count = 2;
    options.alphas = (const double[]){.2, .7};
    sets[0].at = at;
    EXPECT(sets, SETS, &options, "id: the average at 0.7 has 500 rows, pre has 600");
}

static void test_refuses_options(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_options options = plain_options();
    options.bins = 0;
    options.level = 1;
    options.replicates = BANG_REPLICATES_MAX + 1;
    options.weights[0] = -1; /* more than the other is */
    options.id = SETS;
    options.fitted_on = SETS;
    options.temperature[0] = 2;
    options.listed = 1u << BANG_GROUPS;
    options.alpha_count = 3;
    options.alphas = (const double[]){.2, .2, 1.5};
    options.ose_count = 1;
    options.ose_alphas = (const double[]){NAN};
    EXPECT(f->sets, SETS, &options, "bins: 0", "level: 1", "replicates: 1000001", "weights: -1",
           "in distribution: there is no set 3", "no set 3 to fit them on",
           "temperature 0:", "listed groups", "0.2 does not follow 0.2", "alpha 1.5",
           "alpha nan of an ensemble");
    options = plain_options();
    options.weights[0] = options.weights[1] = 0;
    EXPECT(f->sets, SETS, &options, "weights: 0 and 0");
    options = plain_options();
    options.replicates = BANG_REPLICATES_LEAST - 1;
    EXPECT(f->sets, SETS, &options, "replicates: 99: take none, or 100 to 1000000");
    options = plain_options();
    double many[BANG_ALPHAS_MAX + 1];
    for (size_t i = 0; i <= BANG_ALPHAS_MAX; i++)
        many[i] = (double)i / BANG_MEMBERS_MAX;
    options.ose_alphas = many;
    options.ose_count = BANG_ALPHAS_MAX + 1;
    EXPECT(f->sets, SETS, &options, "56 ensembles: at most 55 together");
    /* Averages count, too. */
    bang_diagnosis_set set = f->sets[2];
    set.at = &set.avg;
    options.alpha_count = 1;
    options.alphas = &many[1];
    options.ose_count--;
    EXPECT(&set, 1, &options, "1 averages and 55 ensembles: at most 55 together");
    /* One less is measured. */
    bang_diagnosis *d = case_diagnose(&f->sets[2], 1, &options);
    assert_true(d->sets[0].ose[BANG_ALPHAS_MAX - 1].alpha == many[BANG_ALPHAS_MAX - 1]);
    bang_diagnosis_free(d);
}

typedef struct watch {
    atomic_uint_fast64_t most, total;
} watch;

static void look(void *context, uint64_t done, uint64_t total)
{
    watch *w = context;
    uint_fast64_t most = atomic_load(&w->most);
    while (done > most && !atomic_compare_exchange_weak(&w->most, &most, done)) {
    }
    atomic_store(&w->total, total);
}

static void test_progress_and_cancel(void **state)
{
    const fixture *f = *state;
    bang_diagnosis_options options = plain_options();
    watch w = {0};
    bang_progress progress = {look, &w};
    bang_cancel cancel = {0};
    options.progress = &progress;
    options.cancel = &cancel;
    bang_diagnosis_free(case_diagnose(f->sets, SETS, &options));
    assert_int_equal(atomic_load(&w.most), 1500);
    assert_int_equal(atomic_load(&w.total), 1500);
    atomic_store(&cancel.raised, 1);
    bang_diagnosis *found;
    bang_error err = {0};
    assert_int_equal(bang_diagnose(&found, f->sets, SETS, &options, &err), BANG_ECANCELLED);
    assert_null(found);
    bang_diagnosis_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_value),      cmocka_unit_test(test_given_temperatures),
        cmocka_unit_test(test_average_ood),      cmocka_unit_test(test_bootstrap_is_that_of_rows),
        cmocka_unit_test(test_threads_and_seed), cmocka_unit_test(test_without_average),
        cmocka_unit_test(test_without_labels),   cmocka_unit_test(test_swap),
        cmocka_unit_test(test_equal_members),    cmocka_unit_test(test_negative_weights),
        cmocka_unit_test(test_exact_intervals),  cmocka_unit_test(test_refuses_sets),
        cmocka_unit_test(test_refuses_options),  cmocka_unit_test(test_progress_and_cancel),
    };
    return cmocka_run_group_tests(tests, make_fixture, drop_fixture);
}
