/* What bang diagnose found, as JSON. What is not defined is null. */
#include <math.h>
#include <string.h>

#include "bang/bridge/finding.h"

static json_t *number(double value)
{
    return bang_json_number(value);
}

static json_t *count_of(size_t count)
{
    return json_integer((json_int_t)count);
}

/* Names come from files: one that is no UTF-8 keeps what is ASCII. */
static json_t *text_of(const char *text)
{
    json_t *out = json_string(text);
    if (out)
        return out;
    char *copy = strdup(text);
    for (char *s = copy; s && *s; s++)
        *s = (unsigned char)*s < 0x80 ? *s : '?';
    out = copy ? json_string(copy) : NULL;
    free(copy);
    return out;
}

static void put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void put_number(json_t *object, const char *key, double value)
{
    put(object, key, number(value));
}

static json_t *interval_of(const bang_estimate *e)
{
    return json_pack("[oo]", number(e->interval.low), number(e->interval.high));
}

/* Ensembles of probabilities are null where a weight is negative; what needs temperatures is not
 * there without them. */
static int is_listed(const bang_set_diagnosis *set, int role)
{
    return set->member[role] >= 0 || role == BANG_OSE_MEAN ||
           (role == BANG_OSE_SCALED_MEAN && set->member[BANG_OSE_SCALED] >= 0);
}

/* {"pre": .., "fine": .., ...} of the roles that were scored. */
static json_t *by_role(const bang_set_diagnosis *set, const bang_finding_measure *measure)
{
    json_t *object = json_object();
    for (int r = 0; r < measure->roles; r++)
        if (is_listed(set, r))
            put_number(object, bang_role_names[r],
                       set->member[r] < 0 ? NAN : measure->of(set, (bang_role)r));
    return object;
}

/* Pairs: TT, TF, FT, FF. */
static json_t *by_pair(const double values[BANG_PAIRS])
{
    json_t *object = json_object();
    for (int p = 0; p < BANG_PAIRS; p++)
        put_number(object, bang_pair_names[p], values[p]);
    return object;
}

static json_t *groups_of(const bang_set_diagnosis *set)
{
    json_t *object = json_object();
    for (int g = 0; g < BANG_GROUPS; g++)
        put(object, bang_group_names[g],
            set->tally->labelled ? count_of(set->groups[g]) : json_null());
    return object;
}

static json_t *margins_of(const bang_set_diagnosis *set)
{
    json_t *object = json_object();
    for (int r = BANG_PRE; r <= BANG_AVG; r++)
        put(object, bang_role_names[r], by_pair(set->tally->of[set->member[r]].margin));
    put(object, "sum", by_pair(set->margin_sum));
    return object;
}

static json_t *contributions_of(const bang_estimate of[BANG_QUANTITIES])
{
    return json_pack("{so so so}", "tt_ff", number(of[BANG_Q_TT_FF].value), "tf_ft",
                     number(of[BANG_Q_TF_FT].value), "all", number(of[BANG_Q_ALL].value));
}

static json_t *intervals_of(const bang_finding *r, const bang_set_diagnosis *set,
                            const bang_estimate of[BANG_QUANTITIES])
{
    if (r->replicates == 0)
        return json_null();
    json_t *accuracy = json_object();
    for (int role = 0; role < BANG_ROLES; role++)
        if (is_listed(set, role))
            put(accuracy, bang_role_names[role], interval_of(&of[BANG_Q_ACCURACY + role]));
    json_t *parts = json_pack("{so so so}", "tt_ff", interval_of(&of[BANG_Q_TT_FF]), "tf_ft",
                              interval_of(&of[BANG_Q_TF_FT]), "all", interval_of(&of[BANG_Q_ALL]));
    return json_pack("{so so so so so so so}", "level", number(r->level), "replicates",
                     count_of(r->replicates), "accuracy", accuracy, "false_false_true",
                     interval_of(&of[BANG_Q_FFT]), "true_true_false", interval_of(&of[BANG_Q_TTF]),
                     "improve_contribution", parts, "corrected_ratio",
                     interval_of(&of[BANG_Q_CORRECTED]));
}

static json_t *difference_of(const bang_estimate of[BANG_QUANTITIES], bang_quantity quantity)
{
    bang_role first, second;
    if (bang_quantity_roles(quantity, &first, &second) < 0)
        return NULL;
    const bang_estimate *e = &of[quantity];
    return json_pack("{ss ss so so so so}", "first", bang_role_names[first], "second",
                     bang_role_names[second], "value", number(e->value), "low",
                     number(e->interval.low), "high", number(e->interval.high), "standard_error",
                     number(e->interval.sd));
}

static json_t *mcnemar_of(const bang_set_diagnosis *set, bang_quantity quantity)
{
    bang_mcnemar test;
    if (bang_finding_mcnemar(&test, set, quantity) < 0)
        return json_null();
    return json_pack("{so so so so so}", "b", count_of(test.b), "c", count_of(test.c), "p",
                     number(test.p), "mid_p", number(test.mid_p), "chi_squared",
                     number(test.chi_squared));
}

/* set: NULL for means over sets, of which there is no test. */
static json_t *differences_of(const bang_finding *r, const bang_set_diagnosis *set,
                              const bang_estimate of[BANG_QUANTITIES])
{
    json_t *list = json_array();
    for (int q = 0; q < BANG_QUANTITIES; q++) {
        json_t *one = difference_of(of, (bang_quantity)q);
        if (one && set)
            put(one, "mcnemar", mcnemar_of(set, (bang_quantity)q));
        if (!one)
            continue;
        double p = set ? bang_finding_p(set, (bang_quantity)q) : NAN;
        put(one, "real",
            isnan(of[q].interval.low) ? json_null()
                                      : json_boolean(bang_finding_is_real(&of[q], p, r->level)));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *diversity_of(const bang_set_diagnosis *set)
{
    json_t *list = json_array();
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++) {
            const bang_diversity *d = &set->diversity[a][b];
            json_array_append_new(
                list, json_pack("{ss ss so so so so so}", "first", bang_role_names[a], "second",
                                bang_role_names[b], "agreement", number(d->agreement),
                                "disagreement", number(d->disagreement), "both_wrong",
                                number(d->both_wrong), "same_mistake", number(d->same_mistake),
                                "error_correlation", number(d->error_correlation)));
        }
    return list;
}

static json_t *bins_of(const bang_bin *bins, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{so so so so so}", "low", number(bins[i].low), "high",
                            number(bins[i].high), "count", count_of(bins[i].count), "confidence",
                            number(bins[i].confidence), "accuracy", number(bins[i].accuracy)));
    return list;
}

static json_t *reliability_of(const bang_set_diagnosis *set)
{
    static const bang_role roles[] = {BANG_PRE, BANG_FINE,       BANG_AVG,
                                      BANG_OSE, BANG_PRE_SCALED, BANG_FINE_SCALED};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (set->member[roles[i]] < 0)
            continue;
        const bang_member_tally *m = &set->tally->of[set->member[roles[i]]];
        json_t *one =
            json_pack("{so so}", "equal_width", bins_of(m->width, set->tally->bins), "equal_mass",
                      m->mass ? bins_of(m->mass, set->tally->bins) : json_null());
        put(object, bang_role_names[roles[i]], one);
    }
    return object;
}

/* What an average has more than the OSE at its alpha. */
static json_t *minus_ose(const bang_alpha_score *s)
{
    const bang_estimate *e = &s->minus_ose;
    if (isnan(e->value))
        return json_null();
    return json_pack("{so so so so}", "value", number(e->value), "low", number(e->interval.low),
                     "high", number(e->interval.high), "p", number(s->against_ose.p));
}

static json_t *scores_of(const bang_alpha_score *scores, size_t count, int averages)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const bang_alpha_score *s = &scores[i];
        json_t *one =
            json_pack("{so so so so so so so}", "alpha", number(s->alpha), "accuracy",
                      number(s->accuracy.value), "low", number(s->accuracy.interval.low), "high",
                      number(s->accuracy.interval.high), "confidence", number(s->confidence), "nll",
                      number(s->nll), "ece", number(s->ece));
        if (averages)
            put(one, "minus_ose", minus_ose(s));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *temperature_of(const bang_diagnosis *d)
{
    return d->has_temperature ? json_pack("{so so}", "pre", number(d->temperature[0].temperature),
                                          "fine", number(d->temperature[1].temperature))
                              : json_pack("{sn sn}", "pre", "fine");
}

static void put_samples(json_t *object, const bang_finding *r, size_t index)
{
    const bang_tally *tally = r->found->sets[index].tally;
    json_t *groups = json_object(), *details = json_array();
    for (int g = 0; g < BANG_GROUPS; g++)
        if (r->listed & 1U << g)
            put(groups, bang_group_names[g], json_array());
    for (size_t i = 0; i < tally->listed_count; i++) {
        const bang_sample *s = &tally->listed[i];
        json_t *predictions = json_object(), *confidence = json_object(), *margin = json_object();
        json_array_append_new(json_object_get(groups, bang_group_names[s->group]),
                              count_of(s->index));
        json_t *one = json_pack("{so ss si}", "index", count_of(s->index), "group",
                                bang_group_names[s->group], "label", (int)s->label);
        for (int m = 0; m < 3; m++) {
            put(predictions, bang_role_names[m], count_of(s->prediction[m]));
            put_number(confidence, bang_role_names[m], s->confidence[m]);
            put_number(margin, bang_role_names[m], s->margin[m]);
        }
        put(one, "predictions", predictions);
        put(one, "confidence", confidence);
        put(one, "margin", margin);
        if (r->facts[index].class_name) {
            json_t *names = json_object();
            put(names, "label", text_of(r->facts[index].class_name[s->label]));
            for (int m = 0; m < 3; m++)
                put(names, bang_role_names[m],
                    text_of(r->facts[index].class_name[s->prediction[m]]));
            put(one, "names", names);
        }
        if (r->facts[index].file)
            put(one, "file", text_of(r->facts[index].file[s->index]));
        json_array_append_new(details, one);
    }
    put(object, "samples", groups);
    put(object, "samples_detail", details);
}

static json_t *classes_of(const bang_finding *r, size_t index)
{
    const bang_set_diagnosis *set = &r->found->sets[index];
    const bang_tally *t = set->tally;
    json_t *list = json_array();
    for (size_t k = 0; t->class_rows && k < t->classes; k++) {
        json_t *accuracy = json_object();
        for (int role = BANG_PRE; role <= BANG_OSE; role++)
            put_number(accuracy, bang_role_names[role],
                       bang_finding_class_accuracy(set, k, (bang_role)role));
        json_t *one = json_pack("{so}", "class", count_of(k));
        put(one, "name",
            r->facts[index].class_name ? text_of(r->facts[index].class_name[k]) : json_null());
        put(one, "n", count_of(t->class_rows[k]));
        put(one, "accuracy", accuracy);
        json_array_append_new(list, one);
    }
    return list;
}

static void put_groups(json_t *object, const bang_finding *r, const bang_set_diagnosis *set)
{
    put(object, "groups", groups_of(set));
    put_number(object, "false_false_true", set->of[BANG_Q_FFT].value);
    put_number(object, "true_true_false", set->of[BANG_Q_TTF].value);
    put_number(object, "improvement", set->of[BANG_Q_ALL].value);
    put(object, "improve_contribution", contributions_of(set->of));
    put(object, "margin", margins_of(set));
    put_number(object, "corrected_ratio", set->of[BANG_Q_CORRECTED].value);
    put(object, "temperature", temperature_of(r->found));
    put_number(object, "calibrated_ose", bang_finding_accuracy(set, BANG_OSE_SCALED));
    put(object, "intervals", intervals_of(r, set, set->of));
    put(object, "differences", differences_of(r, set, set->of));
    put(object, "diversity", diversity_of(set));
}

static json_t *set_of(const bang_finding *r, size_t index)
{
    const bang_set_diagnosis *set = &r->found->sets[index];
    const bang_finding_facts *facts = &r->facts[index];
    json_t *object = json_pack("{so so so so so ss}", "name", text_of(set->name), "n",
                               count_of(set->tally->counted), "left_out", count_of(facts->left_out),
                               "outputs", count_of(facts->outputs), "classes",
                               count_of(set->tally->classes), "average", facts->average);
    for (const bang_finding_measure *m = bang_finding_measures; m->key; m++)
        put(object, m->key, by_role(set, m));
    put_groups(object, r, set);
    put(object, "reliability", reliability_of(set));
    put(object, "balance",
        json_pack("{so so sb}", "temperature", number(set->balance.temperature), "alpha",
                  number(set->balanced_alpha), "at_limit", set->balance.at_limit));
    if (set->wse_count)
        put(object, "averages", scores_of(set->wse, set->wse_count, 1));
    if (r->ose_count)
        put(object, "ensembles", scores_of(set->ose, r->ose_count, 0));
    if (r->listed)
        put_samples(object, r, index);
    if (r->by_class)
        put(object, "classes_detail", classes_of(r, index));
    return object;
}

static json_t *average_of(const bang_finding *r)
{
    const bang_diagnosis *d = r->found;
    const bang_set_diagnosis *any = &d->sets[0]; /* what is scored is the same on all */
    json_t *accuracy = json_object(), *confidence = json_object(), *ece = json_object();
    for (int role = 0; role < BANG_ROLES; role++) {
        if (!is_listed(any, role))
            continue;
        put_number(accuracy, bang_role_names[role], d->ood[BANG_Q_ACCURACY + role].value);
        put_number(confidence, bang_role_names[role], d->ood_confidence[role]);
        put_number(ece, bang_role_names[role], d->ood_ece[role]);
    }
    json_t *object = json_pack(
        "{so ss so so so so so so so so}", "sets", count_of(d->ood_count), "average",
        bang_finding_ood_average(d), "accuracy", accuracy, "confidence", confidence, "ece", ece,
        "improvement", number(d->ood[BANG_Q_ALL].value), "false_false_true",
        number(d->ood[BANG_Q_FFT].value), "true_true_false", number(d->ood[BANG_Q_TTF].value),
        "improve_contribution", contributions_of(d->ood), "corrected_ratio",
        number(d->ood[BANG_Q_CORRECTED].value));
    put(object, "differences", differences_of(r, NULL, d->ood));
    put(object, "intervals", intervals_of(r, any, d->ood));
    return object;
}

static json_t *rules_of(const bang_diagnosis *d, const bang_set_diagnosis *with)
{
    json_t *list = json_array();
    for (int i = 0; i < BANG_RULES; i++) {
        const bang_choice *c = &d->choices[i];
        if (!c->known)
            continue;
        json_array_append_new(
            list,
            json_pack("{ss so so so so so so so so so}", "rule", bang_rule_names[i], "alpha",
                      number(c->alpha), "nearest", number(with->wse[c->nearest].alpha),
                      "accuracy_id", number(c->id.value), "accuracy_ood", number(c->ood.value),
                      "low", number(c->ood.interval.low), "high", number(c->ood.interval.high),
                      "cost", number(c->cost.value), "cost_low", number(c->cost.interval.low),
                      "cost_high", number(c->cost.interval.high)));
    }
    return list;
}

static json_t *alpha_of(const bang_diagnosis *d, const bang_set_diagnosis *with)
{
    int advised = bang_finding_advised(d);
    json_t *alphas = json_array();
    for (size_t i = 0; i < with->wse_count; i++)
        json_array_append_new(alphas, number(with->wse[i].alpha));
    return json_pack("{so so so}", "alphas", alphas, "rules", rules_of(d, with), "advised",
                     advised < 0 ? json_null() : json_string(bang_rule_names[advised]));
}

static json_t *band_of(const bang_finding_curve *c)
{
    json_t *fine = json_array(), *avg = json_array(), *low = json_array(), *high = json_array();
    for (size_t i = 0; i < c->band_count; i++) {
        const bang_curve_point *at = &c->band[i].at;
        json_array_append_new(fine, number(c->band[i].fine));
        json_array_append_new(avg, number(at->y));
        json_array_append_new(low, number(at->y - at->curve_half));
        json_array_append_new(high, number(at->y + at->curve_half));
    }
    return json_pack("{so so so so}", "fine", fine, "avg", avg, "low", low, "high", high);
}

static json_t *curve_of(const bang_finding *r)
{
    const bang_finding_curve *c = r->curve;
    json_t *points = json_array(), *highlights = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(points, json_pack("{so so so}", "name", text_of(c->points[i].name),
                                                "fine", number(c->points[i].fine), "avg",
                                                number(c->points[i].avg)));
    for (size_t i = 0; i < c->highlight_count; i++) {
        const bang_finding_highlight *h = &c->highlights[i];
        json_array_append_new(
            highlights,
            json_pack("{so so so so so so so so so sb}", "name", text_of(h->point.name), "fine",
                      number(h->point.fine), "avg", number(h->point.avg), "predicted",
                      number(h->at.y), "low", number(h->at.y - h->at.point_half), "high",
                      number(h->at.y + h->at.point_half), "residual", number(h->residual.residual),
                      "standard_error", number(h->residual.standard_error), "p",
                      number(h->residual.p), "extrapolated", h->residual.outside));
    }
    return json_pack("{so s[ooo] so so so so so so}", "n", count_of(c->fit.count), "coefficients",
                     number(c->fit.coefficients[0]), number(c->fit.coefficients[1]),
                     number(c->fit.coefficients[2]), "r_squared", number(c->fit.r_squared),
                     "residual_sd", number(c->fit.residual_sd), "level", number(r->level), "points",
                     points, "highlight", highlights, "band", band_of(c));
}

static void put_diagnosis(json_t *object, const bang_finding *r)
{
    const bang_diagnosis *d = r->found;
    json_t *sets = json_array();
    for (size_t i = 0; i < d->set_count; i++)
        json_array_append_new(sets, set_of(r, i));
    if (d->set_count == 1)
        json_object_update(object, json_array_get(sets, 0));
    put(object, "sets", sets);
    put(object, "id", text_of(d->sets[d->id].name));
    put(object, "temperature_fitted_on",
        d->has_temperature && d->fitted ? text_of(d->sets[d->fitted_on].name) : json_null());
    put(object, "temperature_at_limit",
        json_pack("{sb sb}", "pre", d->has_temperature && d->temperature[0].at_limit, "fine",
                  d->has_temperature && d->temperature[1].at_limit));
    if (d->ood_count)
        put(object, "average_ood", average_of(r));
    const bang_set_diagnosis *with = bang_finding_with_averages(d);
    if (with)
        put(object, "alpha", alpha_of(d, with));
}

static json_t *lines_of(const char *lines)
{
    json_t *list = json_array();
    while (lines && *lines) {
        size_t size = strcspn(lines, "\n");
        json_array_append_new(list, json_stringn(lines, size));
        lines += size + (lines[size] == '\n');
    }
    return list;
}

/* The sentences that the text ends with. */
static json_t *conclusions_of(const bang_finding *r)
{
    bang_text said = {0};
    bang_finding_sentences(&said, r);
    json_t *list = lines_of(said.data);
    bang_text_release(&said);
    return list;
}

json_t *bang_finding_json(const bang_finding *r)
{
    json_t *object = json_object();
    if (r->found)
        put_diagnosis(object, r);
    if (r->curve)
        put(object, "curve", curve_of(r));
    put(object, "notes", lines_of(r->notes.data));
    put(object, "conclusions", conclusions_of(r));
    put(object, "options",
        json_pack("{ss so so so s[oo] so}", "version", BANG_VERSION, "bins",
                  count_of((size_t)r->bins), "replicates", count_of(r->replicates), "level",
                  number(r->level), "weights", number(r->weights[0]), number(r->weights[1]), "seed",
                  count_of((size_t)r->seed)));
    return object;
}
