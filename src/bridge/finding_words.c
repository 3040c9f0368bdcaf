/* What the numbers of a diagnosis say, in plain sentences, by rules. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/bridge/finding.h"

/* An over-confident FM outweighs PM where both disagree when its gap is larger by so much. */
static const double gap_more = 0.02;
/* An alpha is named when it is so far from one half. */
static const double alpha_least = 0.02;

/* What the sentences are about: the mean over the labelled OOD sets or, where there are none,
 * the ID set. */
typedef struct target {
    const bang_estimate *of;
    double confidence[2]; /* of PM and FM */
    double margin;        /* PM's and FM's in TF: mean over the sets where there are such samples */
    double alpha;         /* mean of what balances both models */
    int given;            /* sets with an average */
    int half;             /* of which all are at alpha 1/2, among others */
    int count;            /* sets */
    const bang_set_diagnosis *only; /* where it is one set, or NULL */
    double level;
} target;

static int takes_part(const bang_diagnosis *d, size_t index)
{
    return d->sets[index].tally->labelled && (d->ood_count ? index != d->id : index == d->id);
}

static void find_target(target *out, const bang_finding *r)
{
    const bang_diagnosis *d = r->found;
    int margins = 0, halves = 0;
    *out = (target){.of = d->ood_count ? d->ood : d->sets[d->id].of, .level = r->level};
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        if (!takes_part(d, i))
            continue;
        out->count++;
        out->given += set->has_average;
        halves += strcmp(r->facts[i].average, "at 0.5") == 0;
        out->alpha += set->balanced_alpha;
        for (int m = 0; m < 2; m++)
            out->confidence[m] += set->tally->of[set->member[m]].confidence;
        if (set->groups[BANG_TFT] + set->groups[BANG_TFF] >= BANG_FINDING_FEW) {
            out->margin += set->margin_sum[BANG_TF];
            margins++;
        }
        out->only = set;
    }
    out->half = halves == out->count;
    out->alpha /= out->count;
    out->confidence[0] /= out->count;
    out->confidence[1] /= out->count;
    out->margin = margins ? out->margin / margins : NAN;
    out->only = out->count == 1 ? out->only : NULL;
}

static void add_place(bang_text *out, const target *t)
{
    if (t->only)
        bang_text_add(out, "On %s", t->only->name);
    else
        bang_text_add(out, "Over the %d OOD sets (mean)", t->count);
}

/* "better than PM (+1.9 points [+1.2, +2.6])", if that is real. */
static void add_relation(bang_text *out, const target *t, bang_quantity difference,
                         const char *other)
{
    const bang_estimate *e = &t->of[difference];
    double p = t->only ? bang_finding_p(t->only, difference) : NAN;
    char points[32], range[64];
    bang_finding_in_points(points, e->value);
    bang_finding_range(range, e);
    if (!*range)
        bang_text_add(out, "%.1f points %s %s", 100 * fabs(e->value),
                      e->value < 0 ? "below" : "above", other);
    else if (e->interval.low == 0 && e->interval.high == 0)
        bang_text_add(out, "as good as %s", other);
    else if (bang_finding_is_real(e, p, t->level))
        bang_text_add(out, "%s than %s (%s points%s)", e->value > 0 ? "better" : "worse", other,
                      points, range);
    else
        bang_text_add(out, "not clearly different from %s (%s points%s: may be chance)", other,
                      points, range);
}

/* Whether the average is better: both differences, each judged by its interval and test. */
static void say_whether(bang_text *out, const target *t)
{
    add_place(out, t);
    bang_text_add(out, ", %s is ",
                  t->given == t->count ? t->half ? "the average at alpha 0.5" : "the average"
                  : t->given == 0      ? "the ensemble of outputs (OSE)"
                                       : "the average, or the OSE where none is given,");
    add_relation(out, t, BANG_Q_AVG_PRE, "PM");
    bang_text_add(out, " and ");
    add_relation(out, t, BANG_Q_AVG_FINE, "FM");
    bang_text_add(out, isnan(t->of[BANG_Q_ALL].interval.low)
                           ? "; without intervals (--bootstrap 0) chance is not judged.\n"
                           : ".\n");
}

/* ", may be chance" for a part that is not real. */
static const char *doubt(const target *t, bang_quantity part)
{
    const char *verdict = bang_finding_verdict_of(t->only, t->of, part, t->level);
    return strcmp(verdict, "may be chance") == 0 ? ", may be chance" : "";
}

/* Why: the two parts of the improvement over the better model, which sum to it. */
static void say_why(bang_text *out, const target *t)
{
    const bang_estimate *both = &t->of[BANG_Q_TT_FF], *one = &t->of[BANG_Q_TF_FT];
    char points[32], range[64];
    bang_text_add(out,
                  "On %.1f %% of the samples it is right where both models are wrong (FFT), on "
                  "%.1f %% wrong where both are right (TTF): %s points%s%s. ",
                  100 * t->of[BANG_Q_FFT].value, 100 * t->of[BANG_Q_TTF].value,
                  bang_finding_in_points(points, both->value), bang_finding_range(range, both),
                  doubt(t, BANG_Q_TT_FF));
    bang_text_add(out, "Where only one of them is right (TF+FT): %s points%s%s.\n",
                  bang_finding_in_points(points, one->value), bang_finding_range(range, one),
                  doubt(t, BANG_Q_TF_FT));
}

/* Over-confidence of FM, and what to do about it: label smoothing and Mixup make fine-tuned
 * models less confident (BANG), a lower alpha gives them less weight. */
static void say_confidence(bang_text *out, const target *t)
{
    double right[2], gap[2];
    for (int m = 0; m < 2; m++) {
        right[m] = t->of[BANG_Q_ACCURACY + m].value;
        gap[m] = t->confidence[m] - right[m];
    }
    const bang_estimate *accuracy = &t->of[BANG_Q_ACCURACY + BANG_FINE];
    int side = bang_finding_confidence_side(t->confidence[1], accuracy);
    int over = side > 0 && gap[1] >= BANG_FINDING_GAP_LEAST;
    int more = gap[1] - gap[0] >= gap_more;
    bang_text_add(out, "%s: confidence %.1f %% at an accuracy of %.1f %%, PM %.1f %% at %.1f %%",
                  isnan(accuracy->interval.low) ? "FM there"
                  : side < 0                    ? "FM is under-confident there"
                  : side == 0                   ? "Whether FM is over-confident there is not clear"
                  : !over                       ? "FM is slightly over-confident there"
                  : more                        ? "FM is over-confident there"
                                                : "FM is over-confident there, but no more than PM",
                  100 * t->confidence[1], 100 * right[1], 100 * t->confidence[0], 100 * right[0]);
    /* appendix E.6: a negative sum where only PM is right */
    if (over && more && t->margin < 0)
        bang_text_add(
            out, "; where only PM is right, FM is surer of its mistake (mean margins sum to %+.2f)",
            t->margin);
    bang_text_add(out, ".");
    if (over && more) {
        bang_text_add(out, " Fine-tuning with label smoothing and Mixup (BANG) may help");
        if (t->alpha < 0.5 - alpha_least)
            bang_text_add(out, ", or less weight on FM: equal confidence is at alpha %.2f",
                          t->alpha);
        bang_text_add(out, ".");
    }
    bang_text_add(out, "\n");
}

/* Weights against outputs, where averages of weights were given for all. */
static void say_space(bang_text *out, const target *t, const bang_diagnosis *d)
{
    int fits = !d->temperature[0].at_limit && !d->temperature[1].at_limit;
    if (t->given < t->count)
        return;
    bang_text_add(out, "Averaging weights is ");
    add_relation(out, t, BANG_Q_AVG_OSE, "averaging outputs");
    if (fits && !isnan(t->of[BANG_Q_AVG_SCALED].value)) {
        bang_text_add(out, " and ");
        add_relation(out, t, BANG_Q_AVG_SCALED, "averaging calibrated outputs");
    }
    bang_text_add(out, ".\n");
}

/* NLL falls without end as outputs are made surer that are always right, or less sure that tell
 * nothing. */
void bang_finding_limits(bang_text *out, const bang_diagnosis *d)
{
    for (int m = 0; m < 2; m++) {
        const bang_temperature *t = &d->temperature[m];
        if (!t->at_limit)
            continue;
        const char *model = m ? "FM" : "PM", *name = d->sets[d->fitted_on].name;
        if (t->temperature < 1)
            bang_text_add(out, "%s makes no mistake on %s, so no temperature fits it", model, name);
        else
            bang_text_add(out, "On %s, %s is better the less sure it is, so no temperature fits it",
                          name, model);
        bang_text_add(out, ", and what is calibrated by it is left out: use a larger ID set%s.\n",
                      d->set_count > 1 ? ", or another one (--fit-temperature)" : "");
    }
}

/* Sets without labels: who is more confident, and where that is balanced. */
static void say_unlabelled(bang_text *out, const bang_diagnosis *d)
{
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        if (set->tally->labelled)
            continue;
        double pre = bang_finding_confidence(set, BANG_PRE),
               fine = bang_finding_confidence(set, BANG_FINE);
        bang_text_add(out,
                      "On %s, FM is %s confident %s PM (%.1f against %.1f %%); both weigh the "
                      "same at alpha %.2f%s. Without labels accuracy is not known.\n",
                      set->name,
                      fine > pre   ? "more"
                      : fine < pre ? "less"
                                   : "as",
                      fine == pre ? "as" : "than", 100 * fine, 100 * pre, set->balanced_alpha,
                      set->balance.at_limit ? " (the limit)" : "");
    }
}

/* Where neither model is clearly better than guessing, labels may belong to other rows. */
static void say_chance(bang_text *out, const bang_diagnosis *d)
{
    for (size_t i = 0; i < d->set_count; i++) {
        const bang_set_diagnosis *set = &d->sets[i];
        double guess = 1 / (double)set->tally->classes;
        if (set->of[BANG_Q_ACCURACY + BANG_PRE].interval.low <= guess &&
            set->of[BANG_Q_ACCURACY + BANG_FINE].interval.low <= guess)
            bang_text_add(out,
                          "On %s neither PM nor FM is clearly better than chance (%.1f %%): are "
                          "labels and logits in the same order?\n",
                          set->name, 100 * guess);
    }
}

void bang_finding_sentences(bang_text *out, const bang_finding *r)
{
    if (!r->found)
        return;
    target t;
    find_target(&t, r);
    if (t.count > 0) {
        say_chance(out, r->found);
        say_whether(out, &t);
        say_why(out, &t);
        say_confidence(out, &t);
        say_space(out, &t, r->found);
    }
    bang_finding_limits(out, r->found);
    say_unlabelled(out, r->found);
}
