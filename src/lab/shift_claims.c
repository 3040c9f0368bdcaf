/* Verdicts: one rule for all claims. */
#include <math.h>
#include <stdio.h>

#include "lab/shift_show.h"

#define MINUS "\u2212"

const char *const shift_holds_names[] = {"yes", "partly", "no", "open"};

/* Whether the interval lies on the claimed side, on the other, or leaves it to the mean. */
static shift_holds decide(int claimed, int other, int mean)
{
    return claimed ? SHIFT_YES : other ? SHIFT_NO : mean ? SHIFT_PARTLY : SHIFT_UNDECIDED;
}

shift_holds shift_judge(const shift_effect *effect, const shift_clause *part)
{
    double low = effect->low, high = effect->high, mean = effect->mean;
    double least = part->least, small = part->small, counts = fmax(least, small);
    if (!effect->n)
        return SHIFT_UNDECIDED;
    switch (part->aim) {
    case SHIFT_IS_BELOW:
        return decide(high<0, low> - small, mean < 0);
    case SHIFT_IS_NOT_ABOVE:
        if (low > 0 && high < small) /* a gain, but a small one */
            return SHIFT_PARTLY;
        return decide(high<small, low> 0, mean <= 0);
    case SHIFT_IS_WITHIN:
        return decide(low > -small && high < small, low >= small || high <= -small,
                      fabs(mean) < small);
    default:
        return decide(low > least, high<counts, mean> least);
    }
}

/* Parts that were not run have no say. */
static shift_holds combine(const size_t found[4], int some)
{
    size_t yes = found[SHIFT_YES], partly = found[SHIFT_PARTLY], no = found[SHIFT_NO];
    size_t open = found[SHIFT_UNDECIDED];
    if (yes && (some || !(partly + no + open)))
        return SHIFT_YES;
    if (yes || partly)
        return SHIFT_PARTLY;
    return no && !(some && open) ? SHIFT_NO : SHIFT_UNDECIDED;
}

const char *shift_points(char out[SHIFT_POINTS], double value, int decimals)
{
    double points = 100 * value;
    int negative = points < 0 && fabs(points) >= 0.5 * pow(10, -decimals);
    snprintf(out, SHIFT_POINTS, "%s%.*f", negative ? MINUS : "+", decimals, fabs(points));
    return out;
}

static void say_effect(bang_text *out, const json_t *units, const shift_clause *part,
                       const shift_effect *e)
{
    char mean[SHIFT_POINTS], low[SHIFT_POINTS], high[SHIFT_POINTS];
    if (part->difference.quantity == SHIFT_FIT) {
        bang_text_add(out, "%.2f", e->mean);
        return;
    }
    bang_text_add(out, "%s [%s, %s]", shift_points(mean, e->mean, 2), shift_points(low, e->low, 2),
                  shift_points(high, e->high, 2));
    if (e->n > 1)
        bang_text_add(out, " (%zu of %zu)", e->wins, e->n);
    bang_curve_residual residual;
    double x;
    for (size_t u = 0; part->difference.quantity == SHIFT_ABOVE_CURVE && u < json_array_size(units);
         u++)
        if (shift_curve_compare(&residual, &x, units, u, part->difference.a) == 0 &&
            residual.outside) {
            bang_text_add(out, " (beyond the grid)");
            return;
        }
}

shift_holds shift_judge_claim(bang_text *because, const json_t *units, const shift_claim *claim)
{
    size_t found[4] = {0}, judged = 0, left = 0, few = 0;
    bang_text missing = {0};
    for (size_t i = 0; i < claim->count; i++) {
        const shift_clause *part = &claim->parts[i];
        shift_effect e = shift_effect_of(units, &part->difference);
        if (!e.n) {
            bang_text_add(&missing, "%s%s", left++ ? ", " : "", part->name);
            continue;
        }
        bang_text_add(because, "%s%s: ", judged ? "; " : "", part->name);
        say_effect(because, units, part, &e);
        judged++;
        if (part->aim == SHIFT_IS_SHOWN)
            continue;
        found[shift_judge(&e, part)]++;
        few |= e.images && part->difference.quantity != SHIFT_FIT &&
               part->difference.quantity != SHIFT_BEND &&
               part->difference.quantity != SHIFT_ABOVE_CURVE;
    }
    if (left == claim->count)
        bang_text_add(because, "not run at this scale");
    else if (left)
        bang_text_add(because, "; not run at this scale: %s", missing.data ? missing.data : "");
    if (few)
        bang_text_add(because, ". Intervals of images alone");
    bang_text_release(&missing);
    return combine(found, claim->some);
}

void shift_show_rule(json_t *show, const json_t *units)
{
    size_t seeds = json_array_size(units);
    char over[240];
    if (seeds >= 3)
        snprintf(over, sizeof over, "Student's t over %zu seeds, each compared with itself", seeds);
    else
        snprintf(over, sizeof over,
                 "of the test images of %zu seed%s alone: it says nothing about other seeds; for "
                 "those run bang reproduce lab --full",
                 seeds, seeds == 1 ? "" : "s");
    json_array_append_new(
        show,
        json_pack(
            "{ss ss s[[ss][ss][ss][ss][ss][ss][ss]]}", "kind", "facts", "title",
            "How verdicts are made, all by one rule", "rows", "a claim is",
            "one or more differences with a direction, each written as mean [95 % interval] (seeds "
            "above 0 of all), in points (hundredths) of accuracy averaged over the five shifted "
            "sets unless it says otherwise",
            "the interval is", over, "holds",
            "the interval lies wholly on the claimed side of 0 (or of what the claim names)",
            "does not hold here",
            "the interval lies on the other side, or ends short of the smallest effect that "
            "counts: 0.5 points of accuracy, 2 points of confidence or margin",
            "partly",
            "neither, with the mean on the claimed side; or some parts of a claim hold and others "
            "do not",
            "open", "neither, with the mean on the other side; or not run at this scale",
            "no difference",
            "a claim that something does not help, or stays within some points, holds where the "
            "interval excludes an effect that counts"));
}

void shift_show_claims(json_t *show, json_t *verdicts, const json_t *units, int chapter)
{
    size_t count;
    const shift_claim *claims = shift_claims(&count);
    for (size_t i = 0; i < count; i++) {
        const shift_claim *claim = &claims[i];
        bang_text because = {0};
        if (claim->chapter != chapter)
            continue;
        const char *holds = shift_holds_names[shift_judge_claim(&because, units, claim)];
        const char *why = because.data ? because.data : "";
        if (claim->item)
            lab_show_item(show, claim->item, claim->claim, holds, why);
        else
            lab_show_verdict(show, claim->claim, holds, why);
        json_array_append_new(verdicts, json_pack("{ss? ss ss ss}", "item", claim->item, "claim",
                                                  claim->claim, "holds", holds, "because", why));
        bang_text_release(&because);
    }
}
