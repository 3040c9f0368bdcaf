/* What text, page, JSON and CSV of a diagnosis have in common: which numbers there are, and how
 * they are judged. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/bridge/finding.h"

double bang_finding_accuracy(const bang_set_diagnosis *set, bang_role role)
{
    return set->of[BANG_Q_ACCURACY + role].value;
}

double bang_finding_confidence(const bang_set_diagnosis *set, bang_role role)
{
    return set->member[role] < 0 ? NAN : set->tally->of[set->member[role]].confidence;
}

double bang_finding_gap(const bang_set_diagnosis *set, bang_role role)
{
    return bang_finding_confidence(set, role) - bang_finding_accuracy(set, role);
}

static double ece_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->width[role].ece;
}

static double mce_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->width[role].mce;
}

static double rms_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->width[role].rms;
}

static double ece_mass_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->mass[role].ece;
}

static double mce_mass_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->mass[role].mce;
}

static double rms_mass_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->mass[role].rms;
}

static double nll_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->tally->of[set->member[role]].nll;
}

static double brier_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->tally->of[set->member[role]].brier;
}

const bang_finding_measure bang_finding_measures[] = {
    {"accuracy", BANG_ROLES, bang_finding_accuracy},
    {"confidence", BANG_ROLES, bang_finding_confidence},
    {"gap", BANG_ROLES, bang_finding_gap},
    {"ece", BANG_ROLES, ece_of},
    {"mce", BANG_ROLES, mce_of},
    {"rms", BANG_ROLES, rms_of},
    {"ece_equal_mass", BANG_OSE + 1, ece_mass_of},
    {"mce_equal_mass", BANG_OSE + 1, mce_mass_of},
    {"rms_equal_mass", BANG_OSE + 1, rms_mass_of},
    {"nll", BANG_ROLES, nll_of},
    {"brier", BANG_ROLES, brier_of},
    {0},
};

int bang_finding_mcnemar(bang_mcnemar *out, const bang_set_diagnosis *set, bang_quantity difference)
{
    bang_role first, second;
    if (bang_quantity_roles(difference, &first, &second) < 0 || !set->tally->labelled ||
        set->member[first] < 0 || set->member[second] < 0)
        return -1;
    *out = bang_diagnosis_mcnemar(set, first, second);
    return 0;
}

double bang_finding_class_accuracy(const bang_set_diagnosis *set, size_t label, bang_role role)
{
    const bang_tally *t = set->tally;
    if (set->member[role] < 0 || t->class_rows[label] == 0)
        return NAN;
    size_t right = t->class_right[label * t->member_count + (size_t)set->member[role]];
    return (double)right / (double)t->class_rows[label];
}

const char *bang_finding_ood_average(const bang_diagnosis *found)
{
    size_t given = 0;
    for (size_t i = 0; i < found->set_count; i++)
        given += i != found->id && found->sets[i].tally->labelled && found->sets[i].has_average;
    return given == 0 ? "ose" : given == found->ood_count ? "given" : "mixed";
}

const char *bang_finding_temperature(char out[32], double temperature)
{
    snprintf(out, 32, temperature >= 0.1 && temperature < 1e4 ? "%.3f" : "%.4g", temperature);
    return out;
}

int bang_finding_has_role(const bang_diagnosis *found, const bang_set_diagnosis *set,
                          bang_role role)
{
    const bang_temperature *t = found->temperature;
    int takes_pre = role == BANG_PRE_SCALED || role >= BANG_OSE_SCALED;
    int takes_fine = role >= BANG_FINE_SCALED;
    return set->member[role] >= 0 && (role != BANG_AVG || set->has_average) &&
           !(takes_pre && t[0].at_limit) && !(takes_fine && t[1].at_limit);
}

const bang_set_diagnosis *bang_finding_with_averages(const bang_diagnosis *found)
{
    for (size_t i = 0; i < found->set_count; i++)
        if (found->sets[i].wse_count)
            return &found->sets[i];
    return NULL;
}

/* Where one of the two models is right, the average against the better one of them: what only the
 * average gets right there, and what only that model does. Of two that are equally good, the test
 * that is less sure. */
static double p_where_one_is_right(const size_t groups[BANG_GROUPS])
{
    const size_t *g = groups;
    size_t pre = g[BANG_TFT] + g[BANG_TFF], fine = g[BANG_FTT] + g[BANG_FTF];
    double over_pre = bang_mcnemar_test(g[BANG_FTT], g[BANG_TFF]).p,
           over_fine = bang_mcnemar_test(g[BANG_TFT], g[BANG_FTF]).p;
    return pre > fine ? over_pre : pre < fine ? over_fine : fmax(over_pre, over_fine);
}

double bang_finding_p(const bang_set_diagnosis *set, bang_quantity difference)
{
    bang_mcnemar test;
    if (!set->tally->labelled)
        return NAN;
    if (difference == BANG_Q_TT_FF)
        return bang_mcnemar_test(set->groups[BANG_FFT], set->groups[BANG_TTF]).p;
    if (difference == BANG_Q_TF_FT)
        return p_where_one_is_right(set->groups);
    return bang_finding_mcnemar(&test, set, difference) < 0 ? NAN : test.p;
}

int bang_finding_is_real(const bang_estimate *difference, double p, double level)
{
    return (difference->interval.low > 0 || difference->interval.high < 0) && !(p > 1 - level);
}

const char *bang_finding_verdict(const bang_estimate *difference, double p, double level)
{
    if (isnan(difference->value) || isnan(difference->interval.low))
        return "";
    if (difference->interval.low == 0 && difference->interval.high == 0)
        return "none";
    return bang_finding_is_real(difference, p, level) ? "real" : "may be chance";
}

int bang_finding_beats_both(const bang_set_diagnosis *set, const bang_estimate *of, double level)
{
    static const bang_quantity differences[] = {BANG_Q_AVG_PRE, BANG_Q_AVG_FINE};
    int better = 0;
    for (size_t i = 0; i < 2; i++) {
        const bang_estimate *e = &of[differences[i]];
        if (!bang_finding_is_real(e, set ? bang_finding_p(set, differences[i]) : NAN, level))
            continue;
        if (e->value < 0)
            return -1;
        better++;
    }
    return better == 2;
}

const char *bang_finding_verdict_of(const bang_set_diagnosis *set, const bang_estimate *of,
                                    bang_quantity q, double level)
{
    const bang_estimate *e = &of[q];
    const char *plain = bang_finding_verdict(e, set ? bang_finding_p(set, q) : NAN, level);
    int is_plain = q != BANG_Q_ALL && (q != BANG_Q_TF_FT || set || e->value > 0);
    if (!*plain || is_plain || e->interval.low == e->interval.high)
        return plain;
    int side = bang_finding_beats_both(set, of, level);
    int real = q == BANG_Q_ALL ? side != 0 : side < 0 && strcmp(plain, "real") == 0;
    return real ? "real" : "may be chance";
}

int bang_finding_confidence_side(double confidence, const bang_estimate *accuracy)
{
    return confidence > accuracy->interval.high ? 1 : confidence < accuracy->interval.low ? -1 : 0;
}

int bang_finding_dominates(const bang_set_diagnosis *set, int pair)
{
    size_t samples = set->groups[2 * pair] + set->groups[2 * pair + 1];
    return samples >= BANG_FINDING_FEW && set->margin_sum[pair] < 0;
}

const char *bang_finding_role_title(bang_role role)
{
    static const char *const titles[BANG_ROLES] = {
        [BANG_PRE] = "PM",
        [BANG_FINE] = "FM",
        [BANG_AVG] = "AM",
        [BANG_OSE] = "OSE",
        [BANG_OSE_MEAN] = "OSE of probabilities",
        [BANG_PRE_SCALED] = "PM calibrated",
        [BANG_FINE_SCALED] = "FM calibrated",
        [BANG_OSE_SCALED] = "calibrated OSE",
        [BANG_OSE_SCALED_MEAN] = "cal. OSE of probabilities",
    };
    return titles[role];
}

/* What rounds to 0 keeps its sign: an interval [+0.0, +0.2] excludes 0. */
const char *bang_finding_in_points(char out[32], double value)
{
    snprintf(out, 32, isnan(value) ? "-" : value == 0 ? "0.0" : "%+.1f", 100 * value);
    return out;
}

const char *bang_finding_range(char out[64], const bang_estimate *e)
{
    char low[32], high[32];
    out[0] = '\0';
    if (!isnan(e->value) && !isnan(e->interval.low))
        snprintf(out, 64, " [%.20s, %.20s]", bang_finding_in_points(low, e->interval.low),
                 bang_finding_in_points(high, e->interval.high));
    return out;
}

int bang_finding_advised(const bang_diagnosis *found)
{
    static const bang_rule order[] = {BANG_RULE_BALANCE_OOD, BANG_RULE_ID_ACCURACY,
                                      BANG_RULE_BALANCE_ID, BANG_RULE_HALF};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (found->choices[order[i]].known)
            return (int)order[i];
    return -1;
}
