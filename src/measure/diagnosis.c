/* The run: temperatures, one tally per set, and what follows from them. */
#include "measure/diagnosis.h"

#include <math.h>
#include <stdlib.h>

static const bang_interval no_interval = {NAN, NAN, NAN};

/* Rows of a set as rows of all sets. */
typedef struct share_of_progress {
    const bang_progress *whole;
    uint64_t before, total;
} share_of_progress;

static void step_share(void *context, uint64_t done, uint64_t total)
{
    const share_of_progress *share = context;
    (void)total;
    bang_progress_step(share->whole, share->before + done, share->total);
}

/* Both fitted, both given, or none. */
static int find_temperatures(diagnosis_run *run, bang_error *err)
{
    const bang_diagnosis_options *o = run->options;
    bang_diagnosis *d = run->out;
    d->fitted_on = o->fitted_on;
    d->fitted = o->fit && run->sets[o->fitted_on].labels;
    d->has_temperature = d->fitted || o->temperature[0] > 0;
    for (int m = 0; m < 2; m++)
        d->temperature[m] = (bang_temperature){
            .temperature = d->has_temperature ? o->temperature[m] : NAN,
            .nll = NAN,
        };
    if (!d->fitted)
        return 0;
    const bang_diagnosis_set *set = &run->sets[o->fitted_on];
    int rc = bang_temperature_fit(&d->temperature[0], &set->pre, set->labels, o->threads, o->cancel,
                                  err);
    if (rc == 0)
        rc = bang_temperature_fit(&d->temperature[1], &set->fine, set->labels, o->threads,
                                  o->cancel, err);
    return rc;
}

static int run_tally(diagnosis_run *run, size_t s, bang_error *err)
{
    const bang_diagnosis_options *o = run->options;
    const bang_diagnosis_set *set = &run->sets[s];
    const diagnosis_members *members = &run->members[s];
    share_of_progress share = {.whole = o->progress};
    for (size_t i = 0; i < run->out->set_count; i++) {
        share.before += i < s ? run->sets[i].pre.table->rows : 0;
        share.total += run->sets[i].pre.table->rows;
    }
    const bang_progress progress = {step_share, &share};
    const bang_tally_input input = {
        .source_count = members->source_count,
        .sources = members->sources,
        .labels = set->labels,
        .member_count = members->count,
        .members = members->of,
    };
    const bang_tally_options options = {
        .bins = o->bins,
        .listed = set->labels ? o->listed : 0,
        .by_class = set->labels && o->by_class,
        .threads = o->threads,
        .progress = o->progress ? &progress : NULL,
        .cancel = o->cancel,
    };
    return bang_tally_run(&run->out->sets[s].tally, &input, &options, err);
}

static bang_calibration calibration_of(const bang_tally *tally, const bang_bin *bins)
{
    bang_calibration out = {NAN, NAN, NAN};
    if (tally->labelled && bins)
        bang_calibration_of(&out, bins, (size_t)tally->bins);
    return out;
}

/* Values of the sample; intervals come from the bootstrap. */
static void fill_estimates(bang_set_diagnosis *set)
{
    double value[BANG_QUANTITIES];
    for (int q = 0; q < BANG_QUANTITIES; q++)
        value[q] = NAN;
    const bang_tally *tally = set->tally;
    if (tally->labelled) {
        diagnosis_joint joint;
        bang_joint_of_roles(&joint, set);
        bang_joint_quantities(value, &joint, joint.count, set->member[BANG_OSE_SCALED] >= 0);
        for (int r = 0; r < BANG_ROLES; r++)
            if (set->member[r] >= 0)
                value[BANG_Q_ACCURACY + r] =
                    (double)tally->of[set->member[r]].right / (double)tally->counted;
    }
    for (int q = 0; q < BANG_QUANTITIES; q++)
        set->of[q] = (bang_estimate){value[q], no_interval};
}

static void fill_groups(bang_set_diagnosis *set)
{
    for (size_t p = 0; p < set->tally->pattern_count; p++) {
        uint64_t wrong = ~set->tally->patterns[p].right;
        set->groups[(wrong & 1) << 2 | (wrong & 2) | (wrong >> 2 & 1)] +=
            set->tally->patterns[p].count;
    }
    const bang_member_tally *of = set->tally->of;
    for (int g = 0; g < BANG_PAIRS; g++)
        set->margin_sum[g] =
            set->tally->labelled ? of[BANG_PRE].margin[g] + of[BANG_FINE].margin[g] : NAN;
}

/* From the tally to what the header says about a set. */
static void fill_set(bang_set_diagnosis *set)
{
    const bang_tally *tally = set->tally;
    fill_groups(set);
    fill_estimates(set);
    for (int r = 0; r < BANG_ROLES; r++) {
        int m = set->member[r];
        set->width[r] = calibration_of(tally, m >= 0 ? tally->of[m].width : NULL);
        set->mass[r] = calibration_of(tally, m >= 0 && r <= BANG_OSE ? tally->of[m].mass : NULL);
    }
    bang_diagnosis_diversity(set);
}

static int measure_set(diagnosis_run *run, size_t s, bang_error *err)
{
    const bang_diagnosis_options *o = run->options;
    const bang_diagnosis_set *given = &run->sets[s];
    bang_set_diagnosis *set = &run->out->sets[s];
    const bang_temperature *t = run->out->temperature;
    const double temperature[2] = {t[0].temperature, t[1].temperature};
    bang_diagnosis_members(&run->members[s], given, o,
                           run->out->has_temperature ? temperature : NULL);
    set->name = given->name;
    set->has_average = given->avg.table != NULL;
    for (int r = 0; r < BANG_ROLES; r++)
        set->member[r] = run->members[s].role[r];
    int rc = run_tally(run, s, err);
    if (rc < 0)
        return rc;
    fill_set(set);
    bang_diagnosis_alpha_scores(set, &run->members[s], o);
    rc = bang_temperature_balance(&set->balance, &given->fine, given->labels,
                                  set->tally->of[BANG_PRE].confidence, o->threads, o->cancel, err);
    if (rc == 0)
        set->balanced_alpha = 1 / (1 + set->balance.temperature);
    return rc;
}

/* Means over the labelled sets that are not in distribution. */
static void fill_ood(bang_diagnosis *d)
{
    double sum[BANG_QUANTITIES] = {0}, confidence[BANG_ROLES] = {0}, ece[BANG_ROLES] = {0};
    for (size_t s = 0; s < d->set_count; s++) {
        const bang_set_diagnosis *set = &d->sets[s];
        if (s == d->id || !set->tally->labelled)
            continue;
        d->ood_count++;
        for (int q = 0; q < BANG_QUANTITIES; q++)
            sum[q] += set->of[q].value;
        for (int r = 0; r < BANG_ROLES; r++) {
            int m = set->member[r];
            confidence[r] += m >= 0 ? set->tally->of[m].confidence : NAN;
            ece[r] += set->width[r].ece;
        }
    }
    double n = (double)d->ood_count;
    for (int q = 0; q < BANG_QUANTITIES; q++)
        d->ood[q] = (bang_estimate){d->ood_count ? sum[q] / n : NAN, no_interval};
    for (int r = 0; r < BANG_ROLES; r++) {
        d->ood_confidence[r] = d->ood_count ? confidence[r] / n : NAN;
        d->ood_ece[r] = d->ood_count ? ece[r] / n : NAN;
    }
}

static int allocate(diagnosis_run *run, size_t count, bang_error *err)
{
    const bang_diagnosis_options *o = run->options;
    bang_diagnosis *d = calloc(1, sizeof *d);
    run->out = d;
    if (!d)
        return bang_fail_memory(err);
    d->id = o->id;
    d->sets = calloc(count, sizeof *d->sets);
    run->members = calloc(count, sizeof *run->members);
    if (!d->sets || !run->members)
        return bang_fail_memory(err);
    d->set_count = count;
    for (size_t s = 0; s < count; s++) {
        bang_set_diagnosis *set = &d->sets[s];
        int averages = run->sets[s].at && o->alpha_count > 0;
        set->wse = calloc(averages ? o->alpha_count + 2 : 1, sizeof *set->wse);
        set->ose = calloc(o->ose_count + 1, sizeof *set->ose);
        if (!set->wse || !set->ose)
            return bang_fail_memory(err);
    }
    return 0;
}

int bang_diagnose(bang_diagnosis **out, const bang_diagnosis_set *sets, size_t count,
                  const bang_diagnosis_options *options, bang_error *err)
{
    diagnosis_run run = {.sets = sets, .options = options};
    *out = NULL;
    int rc = bang_diagnosis_check(sets, count, options, err);
    if (rc < 0)
        return rc;
    rc = allocate(&run, count, err);
    if (rc == 0)
        rc = find_temperatures(&run, err);
    for (size_t s = 0; s < count && rc == 0; s++)
        rc = measure_set(&run, s, err);
    if (rc < 0)
        goto done;
    fill_ood(run.out);
    rc = bang_diagnosis_bootstrap(&run, err);
    if (rc == 0)
        rc = bang_diagnosis_choose(&run, err);
    if (rc == 0) {
        *out = run.out;
        run.out = NULL;
    }
done:
    bang_diagnosis_free(run.out);
    free(run.members);
    return rc;
}

void bang_diagnosis_free(bang_diagnosis *diagnosis)
{
    if (!diagnosis)
        return;
    for (size_t s = 0; s < diagnosis->set_count; s++) {
        bang_tally_free(diagnosis->sets[s].tally);
        free(diagnosis->sets[s].wse);
        free(diagnosis->sets[s].ose);
    }
    free(diagnosis->sets);
    free(diagnosis);
}
