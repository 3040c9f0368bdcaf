/* Verdicts: one rule for all claims. */
#include <math.h>
#include <stdio.h>

#include "lab/shift_show.h"

#define MINUS "\u2212"

const char *const shift_holds_names[] = {"yes", "partly", "no", "open"};

/* What an interval says of an effect above least that must reach small to count. */
static shift_holds decide(double low, double high, double least, double small)
{
    double counts = fmax(least, small);
    if (low > least)
        return high < counts ? SHIFT_PARTLY : SHIFT_YES;
    return high < counts ? SHIFT_NO : SHIFT_UNDECIDED;
}

shift_holds shift_judge(const shift_effect *effect, const shift_clause *part)
{
    static const shift_holds turned[] = {SHIFT_NO, SHIFT_PARTLY, SHIFT_YES, SHIFT_UNDECIDED};
    double low = effect->low, high = effect->high, small = part->small;
    if (!effect->n || (effect->n == 1 && effect->basis == SHIFT_BY_IMAGES))
        return SHIFT_UNDECIDED;
    switch (part->aim) {
    case SHIFT_IS_BELOW:
        return decide(-high, -low, 0, small);
    case SHIFT_IS_NOT_ABOVE:
        return turned[decide(low, high, 0, small)];
    case SHIFT_IS_WITHIN:
        if (low >= small || high <= -small)
            return SHIFT_NO;
        return low > -small && high < small ? SHIFT_YES : SHIFT_UNDECIDED;
    default:
        return decide(low, high, part->least, small);
    }
}

/* Undecided parts, run or not, stand in the way of "yes" and of "no"; second looks that are
 * undecided stand in the way of "yes" alone. */
shift_holds shift_combine(const size_t found[3][4], int some)
{
    size_t sum[4], needed[4], all = 0;
    for (int h = 0; h < 4; h++) {
        needed[h] = found[SHIFT_NEEDED][h] + found[SHIFT_TURNS][h];
        sum[h] = needed[h] + found[SHIFT_SECOND][h];
        all += sum[h];
    }
    size_t second = found[SHIFT_SECOND][SHIFT_YES] + found[SHIFT_SECOND][SHIFT_PARTLY];
    if (sum[SHIFT_YES] && (some || sum[SHIFT_YES] == all))
        return SHIFT_YES;
    if (found[SHIFT_TURNS][SHIFT_NO] && !second)
        return SHIFT_NO;
    if (sum[SHIFT_YES] || sum[SHIFT_PARTLY])
        return SHIFT_PARTLY;
    return needed[SHIFT_NO] && !needed[SHIFT_UNDECIDED] ? SHIFT_NO : SHIFT_UNDECIDED;
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

/* Intervals of a claim that needs one part of many share the 5 %. */
static double level_of(const shift_claim *claim)
{
    size_t parts = 0;
    for (size_t i = 0; i < claim->count; i++)
        parts += claim->parts[i].aim != SHIFT_IS_SHOWN;
    return 1 - .05 / (double)(claim->some && parts ? parts : 1);
}

/* What the parts of a claim rest on, gathered for its reason. */
typedef struct gathered {
    size_t found[3][4]; /* parts by role and outcome; needed ones that were not run: undecided */
    size_t run, left;
    int seeds[3]; /* by basis: the fewest seeds of a part */
    bang_text missing;
} gathered;

/* Adds part i. Of several parts each says what came of it. */
static void gather(gathered *g, bang_text *because, const json_t *units, const shift_claim *claim,
                   size_t i)
{
    static const char *const outcomes[] = {"yes", "too small to count", "no", "not decided"};
    const shift_clause *part = &claim->parts[i];
    shift_effect e = shift_effect_at(units, &part->difference, level_of(claim), part->least);
    if (!e.n) {
        bang_text_add(&g->missing, "%s%s", g->left++ ? ", " : "", part->name);
        if (part->role != SHIFT_SECOND && part->aim != SHIFT_IS_SHOWN)
            g->found[part->role][SHIFT_UNDECIDED]++;
        return;
    }
    bang_text_add(because, "%s%s: ", g->run++ ? "; " : "", part->name);
    say_effect(because, units, part, &e);
    if (part->aim == SHIFT_IS_SHOWN)
        return;
    shift_holds holds = shift_judge(&e, part);
    g->found[part->role][holds]++;
    if (claim->count > 1 || holds == SHIFT_PARTLY || holds == SHIFT_UNDECIDED)
        bang_text_add(because, ", %s", outcomes[holds]);
    if (part->difference.quantity != SHIFT_FIT &&
        (!g->seeds[e.basis] || g->seeds[e.basis] > (int)e.n))
        g->seeds[e.basis] = (int)e.n;
}

static void say_basis(bang_text *because, const gathered *g, const shift_claim *claim)
{
    if (g->seeds[SHIFT_BY_IMAGES] == 1)
        bang_text_add(because, ". One seed: the interval is of its images, and decides nothing");
    else if (g->seeds[SHIFT_BY_IMAGES])
        bang_text_add(because, ". Two seeds: a rough interval");
    if (g->seeds[SHIFT_BY_GRID])
        bang_text_add(because, ". The interval is of the grid's scatter on one seed");
    if (claim->some && g->run)
        bang_text_add(because, ". Intervals of %.0f %%, for one set of many",
                      100 * level_of(claim));
}

shift_holds shift_judge_claim(bang_text *because, const json_t *units, const shift_claim *claim)
{
    gathered g = {0};
    for (size_t i = 0; i < claim->count; i++)
        gather(&g, because, units, claim, i);
    const char *fashion =
        claim->parts[0].difference.quantity == SHIFT_FASHION ? shift_fashion_missing(units) : NULL;
    if (!g.run)
        bang_text_add(because, "%s", fashion ? fashion : "not run at this scale");
    else if (g.left)
        bang_text_add(because, "; not run at this scale: %s", g.missing.data ? g.missing.data : "");
    say_basis(because, &g, claim);
    bang_text_release(&g.missing);
    return shift_combine((const size_t(*)[4])g.found, claim->some);
}

void shift_show_rule(json_t *show, const json_t *units)
{
    size_t seeds = json_array_size(units);
    char over[700];
    if (seeds >= 3)
        snprintf(
            over, sizeof over,
            "Student's t over %zu seeds, each compared with itself. Seeds train anew and render "
            "anew, but all are tested on the same digits: it speaks of other trainings, not of "
            "other digits",
            seeds);
    else if (seeds == 2)
        snprintf(
            over, sizeof over,
            "rough, as there are two seeds: the wider of what the test images leave open (as if "
            "one seed had been tested, for both see the same digits) and of how far the seeds "
            "are apart. It always holds both seeds, so nothing is decided that one of them "
            "contradicts. bang reproduce lab --full runs more");
    else
        snprintf(
            over, sizeof over,
            "of the test images of one seed. It says nothing of other trainings, so nothing is "
            "decided but what rests on the grid; bang reproduce lab --full runs more");
    json_array_append_new(
        show,
        json_pack(
            "{ss ss s[[ss][ss][ss][ss][ss][ss][ss][ss][ss]]}", "kind", "facts", "title",
            "How verdicts are made, all by one rule", "rows", "a claim is",
            "one or more differences with a direction, each written as mean [95 % interval] (seeds "
            "above 0, or above the bar that the claim names, of all), in points (hundredths) of "
            "accuracy averaged over the five shifted sets unless it says otherwise",
            "the interval is", over, "what counts",
            "0.5 points of accuracy, 2 points of confidence or margin, or the bar that the claim "
            "names: less is no effect worth a claim, however sure",
            "a difference",
            "holds (yes) where the interval lies on the claimed side of 0 and reaches what counts; "
            "does not (no) where it does not exclude 0 and ends short of what counts; is too small "
            "where it excludes 0 and ends short of what counts; else it is not decided. That there "
            "is no gain is judged the other way round. That two are the same within some points "
            "holds where the interval lies within them, and does not where it lies outside",
            "holds", "every part of the claim holds; of claims on some sets, one set does",
            "does not hold here",
            "no part does: all are refuted, or the one that the claim turns on is. LONG is a "
            "second "
            "look: if it holds where MAIN does not, the claim does in part",
            "partly",
            "some parts hold and others do not, are not decided or were not run; or an "
            "effect is sure but too small to count",
            "open",
            "no part holds and not all are refuted: not decided by these seeds, or not run; "
            "the reason says which",
            "chance",
            "a claim on some sets shares the 5 % among them (Bonferroni). Claims are not corrected "
            "for each other: of forty that are false, one or two may seem to hold"));
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
        lab_show_item(show, claim->item, claim->claim, holds, why);
        json_array_append_new(verdicts, json_pack("{ss ss ss ss}", "item", claim->item, "claim",
                                                  claim->claim, "holds", holds, "because", why));
        bang_text_release(&because);
    }
}
