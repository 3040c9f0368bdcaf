/* What bang diagnose found, as CSV: set,quantity,model,group,value,low,high, a number a line. What
 * does not apply, or is not defined, is empty. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/base/file.h"
#include "diagnose.h"

/* As RFC 4180 says. */
static void add_field(bang_text *csv, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        bang_text_add(csv, "%s,", field);
        return;
    }
    bang_text_add(csv, "\"");
    for (; *field; field++)
        bang_text_add(csv, *field == '"' ? "\"\"" : "%c", *field);
    bang_text_add(csv, "\",");
}

static void add_number(bang_text *csv, double value, const char *after)
{
    if (isfinite(value))
        bang_text_add(csv, "%.17g", value);
    bang_text_add(csv, "%s", after);
}

/* The first columns of a line, which "value,low,high" end. */
typedef struct place {
    bang_text *csv;
    const char *set;
} place;

static void add_line(const place *at, const char *quantity, const char *model, const char *group,
                     double value, double low, double high)
{
    add_field(at->csv, at->set);
    add_field(at->csv, quantity);
    add_field(at->csv, model);
    add_field(at->csv, group);
    add_number(at->csv, value, ",");
    add_number(at->csv, low, ",");
    add_number(at->csv, high, "\n");
}

static void add_value(const place *at, const char *quantity, const char *model, const char *group,
                      double value)
{
    add_line(at, quantity, model, group, value, NAN, NAN);
}

static void add_estimate(const place *at, const char *quantity, const char *model,
                         const char *group, const bang_estimate *e)
{
    add_line(at, quantity, model, group, e->value, e->interval.low, e->interval.high);
}

static void add_count(const place *at, const char *quantity, const char *group, size_t count)
{
    add_value(at, quantity, "", group, (double)count);
}

/* What is estimated with an interval, accuracies aside. */
static void add_quantities(const place *at, const bang_estimate of[BANG_QUANTITIES])
{
    for (int q = BANG_Q_AVG_PRE; q <= BANG_Q_AVG_SCALED; q++) {
        bang_role first, second;
        char both[80];
        if (bang_quantity_roles((bang_quantity)q, &first, &second) < 0)
            continue;
        snprintf(both, sizeof both, "%s-%s", bang_role_names[first], bang_role_names[second]);
        add_estimate(at, "difference", both, "", &of[q]);
    }
    add_estimate(at, "improvement", "", "", &of[BANG_Q_ALL]);
    add_estimate(at, "improve_contribution", "", "tt_ff", &of[BANG_Q_TT_FF]);
    add_estimate(at, "improve_contribution", "", "tf_ft", &of[BANG_Q_TF_FT]);
    add_estimate(at, "improve_contribution", "", "all", &of[BANG_Q_ALL]);
    add_estimate(at, "false_false_true", "", "", &of[BANG_Q_FFT]);
    add_estimate(at, "true_true_false", "", "", &of[BANG_Q_TTF]);
    add_estimate(at, "corrected_ratio", "", "", &of[BANG_Q_CORRECTED]);
}

static void add_roles(const place *at, const bang_set_diagnosis *set)
{
    for (const bang_finding_measure *m = bang_finding_measures; m->key; m++)
        for (int r = 0; r < m->roles; r++) {
            if (set->member[r] < 0)
                continue;
            if (m == bang_finding_measures) /* accuracy */
                add_estimate(at, m->key, bang_role_names[r], "", &set->of[BANG_Q_ACCURACY + r]);
            else
                add_value(at, m->key, bang_role_names[r], "", m->of(set, (bang_role)r));
        }
}

static void add_groups(const place *at, const bang_set_diagnosis *set)
{
    for (int g = 0; set->tally->labelled && g < BANG_GROUPS; g++)
        add_count(at, "groups", bang_group_names[g], set->groups[g]);
    for (int p = 0; p < BANG_PAIRS; p++) {
        for (int r = BANG_PRE; r <= BANG_AVG; r++)
            add_value(at, "margin", bang_role_names[r], bang_pair_names[p],
                      set->tally->of[set->member[r]].margin[p]);
        add_value(at, "margin", "sum", bang_pair_names[p], set->margin_sum[p]);
    }
}

static void add_tests(const place *at, const bang_set_diagnosis *set)
{
    for (int q = BANG_Q_AVG_PRE; q <= BANG_Q_AVG_SCALED; q++) {
        bang_role first, second;
        bang_mcnemar test;
        char both[80];
        if (bang_quantity_roles((bang_quantity)q, &first, &second) < 0 ||
            bang_finding_mcnemar(&test, set, (bang_quantity)q) < 0)
            continue;
        snprintf(both, sizeof both, "%s-%s", bang_role_names[first], bang_role_names[second]);
        add_value(at, "mcnemar_p", both, "", test.p);
        add_value(at, "mcnemar_mid_p", both, "", test.mid_p);
    }
}

static void add_diversity(const place *at, const bang_set_diagnosis *set)
{
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) {
            const bang_diversity *d = &set->diversity[a][b];
            char both[80];
            snprintf(both, sizeof both, "%s-%s", bang_role_names[a], bang_role_names[b]);
            add_value(at, "agreement", both, "", d->agreement);
            add_value(at, "both_wrong", both, "", d->both_wrong);
            add_value(at, "same_mistake", both, "", d->same_mistake);
            add_value(at, "error_correlation", both, "", d->error_correlation);
        }
}

/* group: the number of the bin. */
static void add_bins(const place *at, const char *kind, const char *model, const bang_bin *bins,
                     int count)
{
    for (int i = 0; bins && i < count; i++) {
        char group[32], quantity[64];
        snprintf(group, sizeof group, "%d", i);
        snprintf(quantity, sizeof quantity, "%s_count", kind);
        add_value(at, quantity, model, group, (double)bins[i].count);
        snprintf(quantity, sizeof quantity, "%s_confidence", kind);
        add_value(at, quantity, model, group, bins[i].confidence);
        snprintf(quantity, sizeof quantity, "%s_accuracy", kind);
        add_value(at, quantity, model, group, bins[i].accuracy);
    }
}

static void add_reliability(const place *at, const bang_set_diagnosis *set)
{
    for (int r = 0; r < BANG_ROLES; r++) {
        if (set->member[r] < 0 || (r > BANG_OSE && r != BANG_PRE_SCALED && r != BANG_FINE_SCALED))
            continue;
        const bang_member_tally *m = &set->tally->of[set->member[r]];
        add_bins(at, "bin_equal_width", bang_role_names[r], m->width, set->tally->bins);
        add_bins(at, "bin_equal_mass", bang_role_names[r], m->mass, set->tally->bins);
    }
}

/* group: the alpha. */
static void add_scores(const place *at, const char *model, const bang_alpha_score *scores,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char alpha[32];
        snprintf(alpha, sizeof alpha, "%.15g", scores[i].alpha);
        add_estimate(at, "alpha_accuracy", model, alpha, &scores[i].accuracy);
        add_value(at, "alpha_confidence", model, alpha, scores[i].confidence);
        add_value(at, "alpha_nll", model, alpha, scores[i].nll);
        add_value(at, "alpha_ece", model, alpha, scores[i].ece);
        if (isnan(scores[i].minus_ose.value))
            continue;
        add_estimate(at, "alpha_minus_ose", model, alpha, &scores[i].minus_ose);
        add_value(at, "alpha_mcnemar_p", model, alpha, scores[i].against_ose.p);
    }
}

static void add_set(bang_text *csv, const bang_finding *r, size_t index)
{
    const bang_set_diagnosis *set = &r->found->sets[index];
    const place at = {csv, set->name};
    add_count(&at, "n", "", set->tally->counted);
    add_count(&at, "left_out", "", r->facts[index].left_out);
    add_count(&at, "outputs", "", r->facts[index].outputs);
    add_count(&at, "classes", "", set->tally->classes);
    add_roles(&at, set);
    add_quantities(&at, set->of);
    add_tests(&at, set);
    add_groups(&at, set);
    add_diversity(&at, set);
    add_value(&at, "balance_temperature", "fine", "", set->balance.temperature);
    add_value(&at, "balance_alpha", "", "", set->balanced_alpha);
    add_scores(&at, "average", set->wse, set->wse_count);
    add_scores(&at, "ensemble", set->ose, r->ose_count);
    add_reliability(&at, set);
    for (size_t k = 0; set->tally->class_rows && k < set->tally->classes; k++) {
        char class[32];
        snprintf(class, sizeof class, "%zu", k);
        add_count(&at, "class_n", class, set->tally->class_rows[k]);
        for (int role = BANG_PRE; role <= BANG_OSE; role++)
            add_value(&at, "class_accuracy", bang_role_names[role], class,
                      bang_finding_class_accuracy(set, k, (bang_role)role));
    }
}

static void add_all(bang_text *csv, const bang_finding *r)
{
    const bang_diagnosis *d = r->found;
    const place all = {csv, ""}, ood = {csv, "average OOD"};
    for (int i = 0; d->has_temperature && i < 2; i++)
        add_value(&all, "temperature", bang_role_names[i], "", d->temperature[i].temperature);
    for (int role = 0; d->ood_count && role < BANG_ROLES; role++) {
        if (d->sets[0].member[role] < 0)
            continue;
        add_estimate(&ood, "accuracy", bang_role_names[role], "", &d->ood[BANG_Q_ACCURACY + role]);
        add_value(&ood, "confidence", bang_role_names[role], "", d->ood_confidence[role]);
        add_value(&ood, "ece", bang_role_names[role], "", d->ood_ece[role]);
    }
    if (d->ood_count)
        add_quantities(&ood, d->ood);
    for (int i = 0; i < BANG_RULES; i++) {
        const bang_choice *c = &d->choices[i];
        if (!c->known)
            continue;
        add_value(&all, "rule_alpha", "", bang_rule_names[i], c->alpha);
        add_estimate(&all, "rule_accuracy_id", "", bang_rule_names[i], &c->id);
        add_estimate(&all, "rule_accuracy_ood", "", bang_rule_names[i], &c->ood);
        add_estimate(&all, "rule_cost", "", bang_rule_names[i], &c->cost);
    }
}

static void add_curve(bang_text *csv, const bang_finding_curve *c)
{
    static const char *const names[] = {"c0", "c1", "c2"};
    const place at = {csv, "curve"};
    for (int i = 0; i < 3; i++)
        add_value(&at, "coefficient", "", names[i], c->fit.coefficients[i]);
    add_value(&at, "r_squared", "", "", c->fit.r_squared);
    add_value(&at, "residual_sd", "", "", c->fit.residual_sd);
    for (size_t i = 0; i < c->count + c->highlight_count; i++) {
        int fitted = i < c->count;
        const bang_finding_point *p = fitted ? &c->points[i] : &c->highlights[i - c->count].point;
        add_value(&at, "accuracy", "fine", p->name, p->fine);
        add_value(&at, "accuracy", "avg", p->name, p->avg);
        if (fitted)
            continue;
        const bang_finding_highlight *h = &c->highlights[i - c->count];
        add_line(&at, "predicted", "avg", p->name, h->at.y, h->at.y - h->at.point_half,
                 h->at.y + h->at.point_half);
        add_value(&at, "residual", "avg", p->name, h->residual.residual);
        add_value(&at, "residual_p", "avg", p->name, h->residual.p);
    }
    for (size_t i = 0; i < c->band_count; i++) {
        const bang_curve_point *b = &c->band[i].at;
        char x[32];
        snprintf(x, sizeof x, "%.17g", c->band[i].fine);
        add_line(&at, "band", "avg", x, b->y, b->y - b->curve_half, b->y + b->curve_half);
    }
}

int diagnose_write_csv(const char *path, const bang_finding *r, bang_error *err)
{
    bang_text csv = {0};
    bang_text_add(&csv, "set,quantity,model,group,value,low,high\n");
    for (size_t i = 0; r->found && i < r->found->set_count; i++)
        add_set(&csv, r, i);
    if (r->found)
        add_all(&csv, r);
    if (r->curve)
        add_curve(&csv, r->curve);
    int rc = csv.failed ? bang_fail_memory(err) : bang_file_put(path, csv.data, csv.size, err);
    bang_text_release(&csv);
    return rc;
}
