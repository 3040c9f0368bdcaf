/* What the numbers say about the paper's claims, by rules that are stated in each reason.
 *
 * Where a claim is about data out of distribution (OOD), it is judged on the labelled sets
 * other than the ID set, together by their mean and one by one; with a single labelled set
 * on that. A verdict is
 *
 *     yes      the evidence is for it, and on no set against it
 *     partly   it is for it in the mean, but really against it on some set
 *     no       the evidence is against it
 *     open     it could be chance either way, or nothing to judge by is there
 *
 * Evidence is an interval that excludes 0 and, where there is one, an exact test at most 1 -
 * level. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose_page.h"

/* One verdict is under way: what every set says, and all of them together. */
typedef struct judge {
    diagnose_page *p;
    size_t sets, against, in_favour;
} judge;

/* 1 for, -1 against, 0 neither; p of an exact test, or NaN. */
static int side_of(const diagnose_page *page, const bang_estimate *e, double p)
{
    return !bang_finding_is_real(e, p, page->r->level) ? 0 : e->value > 0 ? 1 : -1;
}

static void count_side(judge *j, int side)
{
    j->sets++;
    j->in_favour += side > 0;
    j->against += side < 0;
}

static const char *holds_by(const judge *j, int side)
{
    return side > 0 ? j->against ? "partly" : "yes" : side < 0 ? "no" : "open";
}

/* Sets that claims about OOD data are judged on. */
static int is_judged(const diagnose_page *p, size_t i)
{
    const bang_diagnosis *found = p->r->found;
    return page_is_labelled(p, i) && (found->ood_count == 0 || i != found->id);
}

/* The only one of them, or NULL. */
static const bang_set_diagnosis *only_judged(const diagnose_page *p)
{
    const bang_set_diagnosis *only = NULL;
    for (size_t i = 0; i < p->r->found->set_count; i++) {
        if (!is_judged(p, i))
            continue;
        if (only)
            return NULL;
        only = &p->r->found->sets[i];
    }
    return only;
}

/* How many of them there are, and how many have an average. */
static size_t judged_count(const diagnose_page *p, size_t *given)
{
    size_t count = 0;
    *given = 0;
    for (size_t i = 0; i < p->r->found->set_count; i++) {
        count += is_judged(p, i) != 0;
        *given += is_judged(p, i) && p->r->found->sets[i].has_average;
    }
    return count;
}

/* What is third to PM and FM on these sets: begins a claim, or abbreviated. */
static const char *third_of(const diagnose_page *p, int is_short)
{
    size_t given, count = judged_count(p, &given);
    if (given == count)
        return is_short ? "AM" : "The average";
    if (given == 0)
        return is_short ? "OSE" : "The ensemble of outputs";
    return is_short ? "AM (OSE where there is none)" : "The average, or the ensemble in its place,";
}

/* Adds how many sets say so, where there are several. */
static void add_sets(bang_text *because, const judge *j, const char *what)
{
    if (j->sets < 2)
        return;
    bang_text_add(because, " %s on %zu of %zu sets", what, j->in_favour, j->sets);
    if (j->against)
        bang_text_add(because, ", really the opposite on %zu", j->against);
    bang_text_add(because, ".");
}

/* Releases because. */
static void add_verdict(diagnose_page *p, json_t *claim, const char *holds, bang_text *because)
{
    json_t *entry = page_entry(p, "verdict", NULL);
    page_set(p, entry, "claim", claim);
    page_set(p, entry, "holds", json_string(holds));
    page_set(p, entry, "because", because->data ? page_string(because->data) : NULL);
    bang_text_release(because);
}

/* "Who does out of distribution", or on the only set. */
static json_t *claim_of(const diagnose_page *p, const char *who, const char *does)
{
    const bang_diagnosis *found = p->r->found;
    return found->ood_count ? page_format("%s %s out of distribution", who, does)
                            : page_format("%s %s on %s", who, does, found->sets[found->id].name);
}

static void add_rule(bang_text *because, const diagnose_page *p, const char *what)
{
    if (p->r->replicates)
        bang_text_add(because, " Decided by whether the %g %% interval of %s excludes\u00a00%s.",
                      100 * p->r->level, what,
                      only_judged(p) ? " and McNemar's test agrees"
                                     : "; on a set McNemar's test has to agree");
    else
        bang_text_add(because, " Not decided: no intervals were computed.");
}

/* The mean improvement over the better of PM and FM. */
static void judge_improvement(diagnose_page *p, const bang_estimate *of)
{
    judge j = {.p = p};
    bang_text because = {0};
    char avg[PAGE_TEXT], pre[PAGE_TEXT], fine[PAGE_TEXT], over_pre[PAGE_TEXT], over_fine[PAGE_TEXT],
        over_both[PAGE_TEXT];
    for (size_t i = 0; i < p->r->found->set_count; i++)
        if (is_judged(p, i))
            count_side(&j, bang_finding_beats_both(&p->r->found->sets[i], p->r->found->sets[i].of,
                                                   p->r->level));
    page_say_percent(avg, of[BANG_Q_ACCURACY + BANG_AVG].value, 0);
    page_say_percent(pre, of[BANG_Q_ACCURACY + BANG_PRE].value, 0);
    page_say_percent(fine, of[BANG_Q_ACCURACY + BANG_FINE].value, 0);
    page_say(over_pre, &of[BANG_Q_AVG_PRE], PAGE_SIGN);
    page_say(over_fine, &of[BANG_Q_AVG_FINE], PAGE_SIGN);
    page_say(over_both, &of[BANG_Q_ALL], PAGE_SIGN);
    bang_text_add(&because,
                  "%s %s %%: %s points to PM (%s %%), %s to FM (%s %%), %s to the better of the "
                  "two%s.",
                  third_of(p, 1), avg, over_pre, pre, over_fine, fine, over_both,
                  j.sets > 1 ? ", set by set" : "");
    add_sets(&because, &j, "Real");
    add_rule(&because, p, "the difference to each model");
    add_verdict(p, claim_of(p, third_of(p, 0), "beats both models"),
                holds_by(&j, bang_finding_beats_both(only_judged(p), of, p->r->level)), &because);
}

static int side_of_counts(const diagnose_page *p, size_t corrected, size_t broken)
{
    int decided = bang_mcnemar_test(corrected, broken).p < 1 - p->r->level;
    return !decided ? 0 : corrected > broken ? 1 : -1;
}

/* FFT against TTF: an exact sign test on the samples of all sets together. */
static void judge_corrections(diagnose_page *p)
{
    judge j = {.p = p};
    size_t corrected = 0, broken = 0;
    bang_text because = {0};
    char chance[PAGE_TEXT];
    for (size_t i = 0; i < p->r->found->set_count; i++) {
        const size_t *groups = p->r->found->sets[i].groups;
        if (!is_judged(p, i))
            continue;
        corrected += groups[BANG_FFT];
        broken += groups[BANG_TTF];
        count_side(&j, side_of_counts(p, groups[BANG_FFT], groups[BANG_TTF]));
    }
    page_say_p(chance, bang_mcnemar_test(corrected, broken).p);
    bang_text_add(&because,
                  "Right where PM and FM are both wrong (FFT): %zu sample%s; wrong where both are "
                  "right (TTF): %zu.",
                  corrected, corrected == 1 ? "" : "s", broken);
    add_sets(&because, &j, "More FFT than TTF beyond chance");
    bang_text_add(&because,
                  " Decided by the exact sign test (McNemar): p\u00a0%s%s, to be below\u00a0%.3g.",
                  chance[0] == '<' ? "" : "=\u00a0", chance, 1 - p->r->level);
    add_verdict(p,
                claim_of(p, third_of(p, 0),
                         "corrects samples that both models get wrong more often than it breaks "
                         "samples that both get right,"),
                holds_by(&j, side_of_counts(p, corrected, broken)), &because);
}

/* 1 if it is over-confident by something worth mending. */
static int judge_confidence(diagnose_page *p, const bang_estimate *of)
{
    const bang_diagnosis *found = p->r->found;
    const bang_estimate *accuracy = &of[BANG_Q_ACCURACY + BANG_FINE];
    const bang_set_diagnosis *id = &found->sets[found->id];
    double confidence = found->ood_count ? found->ood_confidence[BANG_FINE]
                                         : bang_finding_confidence(id, BANG_FINE);
    judge j = {.p = p};
    bang_text because = {0};
    char mean[PAGE_TEXT], right[PAGE_TEXT], gap[PAGE_TEXT];
    for (size_t i = 0; i < found->set_count; i++)
        if (is_judged(p, i))
            count_side(&j, bang_finding_confidence_side(
                               bang_finding_confidence(&found->sets[i], BANG_FINE),
                               &found->sets[i].of[BANG_Q_ACCURACY + BANG_FINE]));
    page_say_percent(mean, confidence, 0);
    page_say(right, accuracy, 0);
    page_say_percent(gap, confidence - accuracy->value, PAGE_SIGN);
    bang_text_add(&because, "Mean confidence %s %%, accuracy %s %%: a gap of %s points", mean,
                  right, gap);
    if (found->ood_count && page_is_labelled(p, found->id)) {
        page_say_percent(gap, bang_finding_gap(id, BANG_FINE), PAGE_SIGN);
        bang_text_add(&because, " (%s in distribution)", gap);
    }
    bang_text_add(&because, ".");
    add_sets(&because, &j, "Over-confident");
    bang_text_add(&because, p->r->replicates
                                ? " Decided by whether the mean confidence lies above the "
                                  "interval of the accuracy; partly when by less than 5 points."
                                : " Not decided: no intervals were computed.");
    const char *holds = holds_by(&j, bang_finding_confidence_side(confidence, accuracy));
    int is_small = confidence - accuracy->value < BANG_FINDING_GAP_LEAST;
    add_verdict(p, claim_of(p, "The fine-tuned model", "is over-confident"),
                is_small && strcmp(holds, "yes") == 0 ? "partly" : holds, &because);
    return bang_finding_confidence_side(confidence, accuracy) > 0 && !is_small;
}

/* The sign of the sum of margins in TF. There is no interval of it: the sets have to agree.
 * 1 if it is negative on any. */
static int judge_dominance(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    size_t counted = 0, negative = 0, few = 0;
    double least = INFINITY, most = -INFINITY;
    bang_text because = {0};
    char low[PAGE_TEXT], high[PAGE_TEXT];
    for (size_t i = 0; i < found->set_count; i++) {
        const bang_set_diagnosis *set = &found->sets[i];
        double sum = set->margin_sum[BANG_TF];
        if (!is_judged(p, i))
            continue;
        if (set->groups[BANG_TFT] + set->groups[BANG_TFF] < BANG_FINDING_FEW || !isfinite(sum)) {
            few++;
            continue;
        }
        counted++;
        negative += sum < 0;
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    page_say_number(low, least, 3, PAGE_SIGN);
    page_say_number(high, most, 3, PAGE_SIGN);
    if (counted == 1)
        bang_text_add(&because,
                      "Where PM is right and FM is wrong (TF), the mean margins of both sum to %s.",
                      low);
    else if (counted)
        bang_text_add(&because,
                      "Where PM is right and FM is wrong (TF), the mean margins of both sum to %s "
                      "to %s; the sum is negative on %zu of %zu sets.",
                      low, high, negative, counted);
    if (few)
        bang_text_add(&because, "%s%zu set%s with fewer than %d such samples %s not judged.",
                      counted ? " " : "", few, few == 1 ? "" : "s", BANG_FINDING_FEW,
                      few == 1 ? "is" : "are");
    bang_text_add(&because, " Decided by the sign%s; no interval is computed.",
                  counted > 1 ? ", which has to be the same on all sets" : "");
    add_verdict(p, claim_of(p, "The fine-tuned model", "dominates where it alone is wrong,"),
                !counted              ? "open"
                : negative == counted ? "yes"
                : negative            ? "partly"
                                      : "no",
                &because);
    return negative > 0;
}

static void judge_spaces(diagnose_page *p)
{
    const bang_diagnosis *found = p->r->found;
    const bang_estimate *gain =
        page_value(p, found->ood_count ? PAGE_MEAN : found->id, BANG_Q_AVG_OSE);
    const bang_set_diagnosis *only = only_judged(p);
    judge j = {.p = p};
    bang_text because = {0};
    char text[PAGE_TEXT];
    for (size_t i = 0; i < found->set_count; i++)
        if (is_judged(p, i) && page_has_role(p, i, BANG_AVG))
            count_side(&j, side_of(p, &found->sets[i].of[BANG_Q_AVG_OSE],
                                   bang_finding_p(&found->sets[i], BANG_Q_AVG_OSE)));
    if (!isfinite(gain->value)) {
        bang_text_add(&because, "Not decided: not every set has an average.");
    } else {
        page_say(text, gain, PAGE_SIGN);
        bang_text_add(&because,
                      "Accuracy of the average of the weights (AM) minus that of the ensemble of "
                      "the outputs (OSE): %s points.",
                      text);
        add_sets(&because, &j, "Really better");
        add_rule(&because, p, "the difference");
    }
    add_verdict(p, claim_of(p, "Averaging weights", "beats averaging outputs"),
                holds_by(&j, side_of(p, gain, only ? bang_finding_p(only, BANG_Q_AVG_OSE) : NAN)),
                &because);
}

void page_verdicts(diagnose_page *p)
{
    const bang_estimate *of = page_headline(p);
    size_t given;
    if (!of || !judged_count(p, &given))
        return;
    judge_improvement(p, of);
    judge_corrections(p);
    int over = judge_confidence(p, of);
    int dominates = judge_dominance(p);
    if (given)
        judge_spaces(p);
    if (over)
        page_paragraph(
            p,
            "What may help against over-confidence: fine-tuning with label smoothing and "
            "Mixup (BANG), or less weight on the fine-tuned model%s (section "
            "\u201cWhich alpha\u201d).",
            dominates ? ", which outvotes the other one where it is wrong" : "");
}
