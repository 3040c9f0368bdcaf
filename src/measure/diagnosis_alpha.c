/* Which alpha: scores of averages and ensembles, and the rules that choose one. */
#include <math.h>

#include "measure/diagnosis.h"

const char *const bang_rule_names[BANG_RULES] = {
    [BANG_RULE_ID_ACCURACY] = "id-accuracy",
    [BANG_RULE_BALANCE_OOD] = "balanced-confidence-ood",
    [BANG_RULE_BALANCE_ID] = "balanced-confidence-id",
    [BANG_RULE_HALF] = "half",
    [BANG_RULE_ORACLE] = "oracle",
};

/* Accuracies and alphas that differ by rounding alone are equal. */
static const double rounding = 1e-12;
static const bang_estimate nothing = {NAN, {NAN, NAN, NAN}};

int bang_diagnosis_is_choice_set(const bang_diagnosis *d, size_t set)
{
    return set != d->id && d->sets[set].tally->labelled && d->sets[set].wse_count > 0;
}

/* beside: the OSE at the same alpha, or -1. */
static bang_alpha_score score_of(const bang_tally *tally, int m, double alpha, int beside)
{
    const bang_member_tally *of = &tally->of[m];
    bang_alpha_score score = {
        .alpha = alpha,
        .accuracy = nothing,
        .confidence = of->confidence,
        .nll = of->nll,
        .ece = NAN,
        .minus_ose = nothing,
        .against_ose = bang_members_mcnemar(tally, m, beside),
    };
    if (tally->labelled && beside >= 0)
        score.minus_ose.value =
            ((double)of->right - (double)tally->of[beside].right) / (double)tally->counted;
    if (tally->labelled) {
        bang_calibration calibration;
        bang_calibration_of(&calibration, of->width, (size_t)tally->bins);
        score.accuracy.value = (double)of->right / (double)tally->counted;
        score.ece = calibration.ece;
    }
    return score;
}

void bang_diagnosis_alpha_scores(bang_set_diagnosis *set, const diagnosis_members *members,
                                 const bang_diagnosis_options *options)
{
    set->wse_count = members->wse_count;
    for (size_t i = 0; i < members->wse_count; i++)
        set->wse[i] = score_of(set->tally, members->wse[i], members->alpha[i], members->beside[i]);
    for (size_t i = 0; i < options->ose_count; i++)
        set->ose[i] = score_of(set->tally, members->ose[i], options->ose_alphas[i], -1);
}

/* Of average i over the choice sets; NaN without any. */
static double mean_accuracy(const bang_diagnosis *d, size_t i)
{
    double sum = 0;
    for (size_t s = 0; s < d->set_count; s++)
        if (bang_diagnosis_is_choice_set(d, s))
            sum += d->sets[s].wse[i].accuracy.value;
    return d->choice_sets > 0 ? sum / (double)d->choice_sets : NAN;
}

/* The largest; of equals the nearest to 1/2, then the first, which is the lower. */
static size_t best_of(const double *accuracy, const bang_alpha_score *grid, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        double more = accuracy[i] - accuracy[best];
        double nearer = fabs(grid[best].alpha - .5) - fabs(grid[i].alpha - .5);
        if (more > rounding || (more >= -rounding && nearer > rounding))
            best = i;
    }
    return best;
}

static size_t nearest_to(double alpha, const bang_alpha_score *grid, size_t count)
{
    size_t nearest = 0;
    for (size_t i = 1; i < count; i++)
        if (fabs(grid[i].alpha - alpha) < fabs(grid[nearest].alpha - alpha) - rounding)
            nearest = i;
    return nearest;
}

/* A set with averages: all that have some have them at the same alphas. */
static const bang_set_diagnosis *any_grid(const bang_diagnosis *d)
{
    for (size_t s = 0; s < d->set_count; s++)
        if (d->sets[s].wse_count > 0)
            return &d->sets[s];
    return NULL;
}

static double mean_balanced_alpha(const bang_diagnosis *d)
{
    double sum = 0;
    for (size_t s = 0; s < d->set_count; s++)
        sum += s != d->id ? d->sets[s].balanced_alpha : 0;
    return d->set_count > 1 ? sum / (double)(d->set_count - 1) : NAN;
}

/* What the rule says; NaN where it does not know. */
static double alpha_of(const bang_diagnosis *d, bang_rule rule, const bang_set_diagnosis *grid)
{
    double accuracy[BANG_ALPHAS_MAX + 2];
    const bang_set_diagnosis *id = &d->sets[d->id];
    switch (rule) {
    case BANG_RULE_ID_ACCURACY:
        if (id->wse_count == 0 || !id->tally->labelled)
            return NAN;
        for (size_t i = 0; i < id->wse_count; i++)
            accuracy[i] = id->wse[i].accuracy.value;
        break;
    case BANG_RULE_ORACLE:
        if (d->choice_sets == 0)
            return NAN;
        for (size_t i = 0; i < grid->wse_count; i++)
            accuracy[i] = mean_accuracy(d, i);
        break;
    case BANG_RULE_BALANCE_OOD:
        return mean_balanced_alpha(d);
    case BANG_RULE_BALANCE_ID:
        return id->balanced_alpha;
    default:
        return .5;
    }
    return grid->wse[best_of(accuracy, grid->wse, grid->wse_count)].alpha;
}

static bang_choice choose(const bang_diagnosis *d, bang_rule rule, const bang_set_diagnosis *grid)
{
    bang_choice choice = {.alpha = NAN, .ood = nothing, .cost = nothing, .id = nothing};
    if (!grid)
        return choice;
    double alpha = alpha_of(d, rule, grid);
    if (isnan(alpha))
        return choice;
    choice.known = 1;
    choice.alpha = alpha;
    choice.nearest = nearest_to(alpha, grid->wse, grid->wse_count);
    choice.ood.value = mean_accuracy(d, choice.nearest);
    if (d->sets[d->id].wse_count > 0)
        choice.id = d->sets[d->id].wse[choice.nearest].accuracy;
    return choice;
}

/* The role that the average of this place has on all sets that average OOD is over, or -1: then
 * it has its interval there already. */
static int role_of(const diagnosis_run *run, size_t place)
{
    const bang_diagnosis *d = run->out;
    int role = -1;
    for (int r = BANG_OSE; r >= BANG_PRE && d->choice_sets == d->ood_count; r--) {
        size_t same = 0;
        for (size_t s = 0; s < d->set_count; s++)
            same += bang_diagnosis_is_choice_set(d, s) &&
                    run->members[s].wse[place] == d->sets[s].member[r];
        if (same == d->choice_sets)
            role = r;
    }
    return role;
}

static int find_intervals(const diagnosis_run *run, bang_error *err)
{
    bang_diagnosis *d = run->out;
    size_t chosen[BANG_RULES] = {d->choices[BANG_RULE_ORACLE].nearest}, count = 1;
    size_t place[BANG_RULES] = {0};
    bang_interval accuracy[BANG_RULES], cost[BANG_RULES];
    _Static_assert((int)BANG_RULES <= (int)DIAGNOSIS_JOINT, "all choices are drawn together");
    for (int rule = 0; rule < BANG_RULES; rule++) {
        size_t i = 0;
        if (!d->choices[rule].known)
            continue;
        while (i < count && chosen[i] != d->choices[rule].nearest)
            i++;
        if (i == count)
            chosen[count++] = d->choices[rule].nearest;
        place[rule] = i;
    }
    int rc = bang_diagnosis_bootstrap_choices(accuracy, cost, run, chosen, count, err);
    for (int rule = 0; rule < BANG_RULES && rc == 0; rule++) {
        if (!d->choices[rule].known)
            continue;
        int role = role_of(run, chosen[place[rule]]);
        d->choices[rule].ood.interval =
            role >= 0 ? d->ood[BANG_Q_ACCURACY + role].interval : accuracy[place[rule]];
        d->choices[rule].cost.interval = cost[place[rule]];
    }
    return rc;
}

int bang_diagnosis_choose(const diagnosis_run *run, bang_error *err)
{
    bang_diagnosis *d = run->out;
    const bang_set_diagnosis *grid = any_grid(d);
    for (size_t s = 0; s < d->set_count; s++)
        d->choice_sets += bang_diagnosis_is_choice_set(d, s) ? 1 : 0;
    for (int rule = 0; rule < BANG_RULES; rule++)
        d->choices[rule] = choose(d, (bang_rule)rule, grid);
    if (d->choice_sets == 0)
        return 0;
    double most = d->choices[BANG_RULE_ORACLE].ood.value;
    for (int rule = 0; rule < BANG_RULES; rule++)
        if (d->choices[rule].known) {
            double lack = most - d->choices[rule].ood.value;
            d->choices[rule].cost.value = lack > rounding ? lack : 0;
        }
    return run->options->replicates > 0 ? find_intervals(run, err) : 0;
}
