/* How far confidence is from accuracy, and what temperatures do about it. */
#include <math.h>
#include <stdio.h>

#include "diagnose_page.h"

static const bang_member_tally *member_of(const bang_set_diagnosis *set, bang_role role)
{
    return set->member[role] < 0 ? NULL : &set->tally->of[set->member[role]];
}

/* Both axes from and to full tens around all points. */
static void add_limits(diagnose_page *p, json_t *chart, const json_t *list)
{
    static const char *const axes[] = {"x", "y"};
    double least = 1, most = 0;
    for (size_t s = 0; s < json_array_size(list); s++)
        for (int axis = 0; axis < 2; axis++) {
            const json_t *values = json_object_get(json_array_get(list, s), axes[axis]);
            for (size_t i = 0; i < json_array_size(values); i++) {
                const json_t *value = json_array_get(values, i);
                if (json_is_null(value))
                    continue;
                least = fmin(least, json_number_value(value));
                most = fmax(most, json_number_value(value));
            }
        }
    least = floor(10 * least - 0.2) / 10;
    most = ceil(10 * most + 0.2) / 10;
    page_set(p, chart, "min", bang_json_number(fmax(0, least)));
    page_set(p, chart, "max", bang_json_number(fmin(1, most)));
}

/* Confidence against accuracy: a point for every set and model. */
static void add_scatter(diagnose_page *p)
{
    static const bang_role roles[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE, BANG_FINE_SCALED};
    const bang_diagnosis *found = p->r->found;
    json_t *chart = page_entry(p, "scatter", "Confidence against accuracy.");
    json_t *names = json_array(), *list = json_array();
    int fine = -1, scaled = -1;
    for (size_t i = 0; i < found->set_count; i++)
        if (page_is_labelled(p, i))
            page_put(p, names, page_set_name(p, i));
    for (size_t m = 0; m < sizeof roles / sizeof *roles; m++) {
        json_t *x = json_array(), *y = json_array();
        int any = 0;
        for (size_t i = 0; i < found->set_count; i++) {
            const bang_set_diagnosis *set = &found->sets[i];
            int exists = page_has_role(p, i, roles[m]);
            if (!page_is_labelled(p, i))
                continue;
            page_put(p, x,
                     exists ? bang_json_number(bang_finding_accuracy(set, roles[m])) : json_null());
            page_put(p, y,
                     exists ? bang_json_number(bang_finding_confidence(set, roles[m]))
                            : json_null());
            any |= exists;
        }
        int *place = roles[m] == BANG_FINE ? &fine : roles[m] == BANG_FINE_SCALED ? &scaled : NULL;
        if (any && place)
            *place = (int)json_array_size(list);
        if (any)
            page_put(p, list,
                     json_pack("{ss so so si}", "name", page_role_name(roles[m]), "x", x, "y", y,
                               "color", page_role_color(roles[m])));
        else {
            json_decref(x);
            json_decref(y);
        }
    }
    page_set(p, chart, "x_label", json_string("accuracy"));
    page_set(p, chart, "y_label", json_string("mean confidence"));
    page_set(p, chart, "percent", json_true());
    page_set(p, chart, "diagonal", json_true());
    page_set(p, chart, "above", json_string("over-confident"));
    page_set(p, chart, "below", json_string("under-confident"));
    add_limits(p, chart, list);
    if (json_array_size(names) > 1)
        page_set(p, chart, "names", json_incref(names));
    json_decref(names);
    page_set(p, chart, "series", list);
    if (fine >= 0 && scaled >= 0)
        page_set(p, chart, "connect", json_pack("[ii]", fine, scaled));
    page_note(p, chart,
              "%sOn the diagonal a model is right as often as it says; above it, it is surer than "
              "it should be.%s",
              page_labelled(p) > 1 ? "Colours are models, shapes are sets. " : "",
              scaled >= 0 ? " The faint lines show where calibration moves the fine-tuned model."
                          : "");
}

static void add_bins(diagnose_page *p, json_t *panel, const bang_bin *bins, int count)
{
    json_t *list = json_array();
    for (int b = 0; b < count; b++)
        page_put(p, list,
                 json_pack("{so so sI so so}", "low", bang_json_number(bins[b].low), "high",
                           bang_json_number(bins[b].high), "count", (json_int_t)bins[b].count,
                           "confidence", bang_json_number(bins[b].confidence), "accuracy",
                           bang_json_number(bins[b].accuracy)));
    page_set(p, panel, "bins", list);
}

/* The first one is explained. */
static void add_reliability(diagnose_page *p, size_t i, int is_first)
{
    static const bang_role roles[] = {BANG_PRE, BANG_FINE, BANG_AVG, BANG_OSE};
    const bang_set_diagnosis *set = &p->r->found->sets[i];
    json_t *chart = page_entry(p, "reliability", NULL), *panels = json_array();
    for (size_t m = 0; m < sizeof roles / sizeof *roles; m++) {
        if (!page_has_role(p, i, roles[m]))
            continue;
        json_t *panel = json_pack(
            "{ss so si}", "title",
            roles[m] == BANG_OSE ? "ensemble (OSE)" : page_role_name(roles[m]), "ece",
            bang_json_number(set->width[roles[m]].ece), "color", page_role_color(roles[m]));
        page_put(p, panels, panel);
        if (!p->failed)
            add_bins(p, panel, member_of(set, roles[m])->width, set->tally->bins);
    }
    page_set(p, chart, "title",
             page_format("Reliability on %s%s.", set->name,
                         p->r->found->set_count > 1 && i == p->r->found->id ? " (ID)" : ""));
    page_set(p, chart, "panels", panels);
    if (is_first)
        page_note(p, chart,
                  "Samples are put into %d bins of equal width by their confidence; a bin's column "
                  "is the accuracy in it, and pale what lies between that and the confidence. "
                  "Below the diagonal a model is over-confident, above it under-confident. ECE: "
                  "the mean of these distances over the samples. Underneath: the share of the "
                  "samples in each bin.",
                  set->tally->bins);
}

static void add_error_row(diagnose_page *p, json_t *table, size_t i, bang_role role)
{
    const bang_set_diagnosis *set = &p->r->found->sets[i];
    const bang_member_tally *member = member_of(set, role);
    const bang_calibration *kinds[] = {&set->width[role],
                                       role <= BANG_OSE ? &set->mass[role] : NULL};
    json_t *row = page_row(p, table);
    page_put(p, row, page_set_name(p, i));
    page_put(p, row, json_string(bang_finding_role_title(role)));
    page_put(p, row, page_percent(member->confidence, 0));
    page_put(p, row,
             page_percent(member->confidence - bang_finding_accuracy(set, role), PAGE_SIGN));
    for (int k = 0; k < 2; k++) {
        page_put(p, row, kinds[k] ? page_percent(kinds[k]->ece, 0) : json_null());
        page_put(p, row, kinds[k] ? page_percent(kinds[k]->mce, 0) : json_null());
        page_put(p, row, kinds[k] ? page_percent(kinds[k]->rms, 0) : json_null());
    }
    page_put(p, row, bang_json_number(member->nll));
    page_put(p, row, bang_json_number(member->brier));
}

/* Means over the OOD sets, of what has one. */
static void add_error_means(diagnose_page *p, json_t *table, bang_role role)
{
    const bang_diagnosis *found = p->r->found;
    const bang_estimate *accuracy =
        page_value(p, PAGE_MEAN, (bang_quantity)(BANG_Q_ACCURACY + (int)role));
    json_t *row = page_row(p, table);
    page_put(p, row, page_set_name(p, PAGE_MEAN));
    page_put(p, row, json_string(bang_finding_role_title(role)));
    page_put(p, row, page_percent(found->ood_confidence[role], 0));
    page_put(p, row, page_percent(found->ood_confidence[role] - accuracy->value, PAGE_SIGN));
    page_put(p, row, page_percent(found->ood_ece[role], 0));
    for (int k = 0; k < 7; k++)
        page_put(p, row, json_null());
}

static void add_errors(diagnose_page *p)
{
    static const char *const columns[] = {"set", "model", "confidence", "gap", "ECE", "MCE",
                                          "RMS", "ECE",   "MCE",        "RMS", "NLL", "Brier"};
    static const bang_role roles[] = {BANG_PRE,        BANG_FINE,        BANG_AVG,       BANG_OSE,
                                      BANG_PRE_SCALED, BANG_FINE_SCALED, BANG_OSE_SCALED};
    const bang_diagnosis *found = p->r->found;
    /* Of many sets the four models; what calibration does has a table of its own. */
    size_t count = found->set_count > 1 ? 4 : sizeof roles / sizeof *roles;
    json_t *table = page_table(p, "Confidence and calibration errors in per cent, and scores.",
                               columns, sizeof columns / sizeof *columns);
    page_set(p, table, "groups",
             json_pack("[[si][si][si][si][si]]", "", 2, "mean", 2, "bins of equal width", 3,
                       "bins of equal mass", 3, "scores", 2));
    page_set(p, table, "decimals", json_pack("[nniniiiiiiii]", 1, 1, 1, 1, 1, 1, 1, 3, 3));
    for (size_t i = 0; i < found->set_count; i++)
        for (size_t m = 0; m < count; m++)
            if (page_has_role(p, i, roles[m]))
                add_error_row(p, table, i, roles[m]);
    for (size_t m = 0; m < count && page_has_mean(p); m++)
        if (isfinite(
                page_value(p, PAGE_MEAN, (bang_quantity)(BANG_Q_ACCURACY + (int)roles[m]))->value))
            add_error_means(p, table, roles[m]);
    page_note(
        p, table,
        "Confidence is the largest probability, the gap its mean minus accuracy. With n_b of "
        "n samples in bin b, their accuracy a_b and mean confidence c_b: ECE = sum of "
        "(n_b/n) |a_b \u2212 c_b|, MCE = the largest |a_b \u2212 c_b|, RMS = root of the sum "
        "of (n_b/n) (a_b \u2212 c_b)\u00b2. %d bins: of equal width (lo, hi], or with equally "
        "many samples. NLL is the mean of \u2212log p of the true class, Brier that of the "
        "squared distance between probabilities and truth. Lower is better; MCE is the error "
        "of a single bin, often of few samples.",
        p->r->bins);
}

static void add_temperatures(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    json_t *rows = json_array();
    char text[32];
    for (int m = 0; m < 2; m++)
        page_put(p, rows,
                 json_pack(
                     "[so]", m ? "FM" : "PM",
                     page_format(
                         "%s%s", bang_finding_temperature(text, found->temperature[m].temperature),
                         found->temperature[m].at_limit ? " (no minimum within the limits)" : "")));
    page_put(p, rows,
             json_pack("[so]", "from",
                       found->fitted
                           ? page_format("least NLL on %s", found->sets[found->fitted_on].name)
                           : json_string("given, not fitted")));
    json_t *facts = page_entry(p, "facts", "Temperatures");
    page_set(p, facts, "rows", rows);
    page_paragraph(p,
                   "A calibrated model divides its logits by its temperature before the softmax; "
                   "no prediction changes. Above 1 a model becomes less sure, below 1 surer. %s",
                   page_labelled(p) > 1
                       ? "The table shows whether temperatures from one set mend the others; on "
                         "the set they were fitted on they look better than on new samples of it."
                   : found->fitted ? "Fitted and judged on the same samples they look better than "
                                     "they would on others."
                                   : "");
}

/* Of a set, or in the mean over OOD sets. */
static double gap_of(const diagnose_page *p, size_t i, bang_role role)
{
    const bang_diagnosis *found = p->r->found;
    double confidence = i == PAGE_MEAN ? found->ood_confidence[role]
                                       : bang_finding_confidence(&found->sets[i], role);
    return confidence - page_value(p, i, (bang_quantity)(BANG_Q_ACCURACY + (int)role))->value;
}

static double ece_of(const diagnose_page *p, size_t i, bang_role role)
{
    const bang_diagnosis *found = p->r->found;
    if (isnan(page_value(p, i, (bang_quantity)(BANG_Q_ACCURACY + (int)role))->value))
        return NAN;
    return i == PAGE_MEAN ? found->ood_ece[role] : found->sets[i].width[role].ece;
}

/* What calibration does to the gap and the ECE of PM and FM. */
static void add_before_after(diagnose_page *p)
{
    static const char *const columns[] = {
        "set", "gap", "calibrated", "ECE", "calibrated", "gap", "calibrated", "ECE", "calibrated"};
    const bang_diagnosis *found = p->r->found;
    json_t *table = page_table(p, "Over-confidence before and after calibration, in per cent.",
                               columns, sizeof columns / sizeof *columns);
    page_set(p, table, "groups",
             json_pack("[[si][si][si]]", "", 1, "pre-trained (PM)", 4, "fine-tuned (FM)", 4));
    page_set(p, table, "decimals", json_pack("[nnniinnii]", 1, 1, 1, 1));
    for (size_t i = page_next(p, PAGE_BEGIN); i != PAGE_END; i = page_next(p, i)) {
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (int m = 0; m < 2; m++) {
            const bang_role roles[] = {m ? BANG_FINE : BANG_PRE,
                                       m ? BANG_FINE_SCALED : BANG_PRE_SCALED};
            for (int k = 0; k < 2; k++)
                page_put(p, row, page_percent(gap_of(p, i, roles[k]), PAGE_SIGN));
            for (int k = 0; k < 2; k++)
                page_put(p, row, page_percent(ece_of(p, i, roles[k]), 0));
        }
    }
    page_note(p, table, "The gap is mean confidence minus accuracy: positive is over-confident.%s",
              found->fitted && page_labelled(p) > 1
                  ? " On the set of the fit it should nearly vanish; what remains elsewhere "
                    "is what calibration in distribution cannot mend."
                  : "");
}

/* All that is known without labels. */
static void add_confidences(diagnose_page *p)
{
    const char *columns[] = {"set", "PM", "FM", p->third, "OSE"};
    const bang_diagnosis *found = p->r->found;
    json_t *table = page_table(p, "Mean confidence in per cent.", columns, p->has_average ? 5 : 4);
    page_decimals(p, table, 1, 1);
    for (size_t i = 0; i < found->set_count; i++) {
        json_t *row = page_row(p, table);
        page_put(p, row, page_set_name(p, i));
        for (int role = BANG_PRE; role <= BANG_OSE; role++) {
            if (role == BANG_AVG && !p->has_average)
                continue;
            page_put(
                p, row,
                page_has_role(p, i, (bang_role)role)
                    ? page_percent(bang_finding_confidence(&found->sets[i], (bang_role)role), 0)
                    : json_null());
        }
    }
    page_note(p, table,
              "Confidence is the largest probability. Whether it is too large cannot be "
              "said without labels.");
}

void page_calibration(diagnose_page *p)
{
    size_t shown = 0;
    if (!page_labelled(p)) {
        add_confidences(p);
        return;
    }
    add_scatter(p);
    for (size_t i = 0; i < p->r->found->set_count; i++)
        if (page_is_labelled(p, i))
            add_reliability(p, i, shown++ == 0);
    add_errors(p);
    if (p->r->found->has_temperature) {
        add_temperatures(p);
        add_before_after(p);
    }
}
