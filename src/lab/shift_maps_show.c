/* The chapter of maps: what the records say of where PM, FM and their average look. */
#include <math.h>
#include <stdio.h>

#include "bang/base/json.h"
#include "bang/measure/statistics.h"
#include "lab/shift_show.h"

/* Smallest effects that count. */
#define SMALL_CORRELATION 0.05
#define SMALL_PATCHES 0.1
enum { SEEDS_FOR_T = 3 };

static const char item[] = "Figure 2 (right)";

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const json_t *kind_of(const json_t *units, size_t u, const char *kind)
{
    return json_object_get(json_object_get(json_array_get(units, u), "maps"), kind);
}

/* [mean, variance] of unit u under "ood". */
static void read_ood(double out[2], const json_t *units, size_t u, const char *kind,
                     const char *name)
{
    const json_t *pair = json_object_get(json_object_get(kind_of(units, u, kind), "ood"), name);
    for (size_t i = 0; i < 2; i++)
        out[i] = number(json_array_get(pair, i));
}

/* Against the one with more patches; of a correlation there is one alone. */
static void read_effect(double out[2], const json_t *units, size_t u, const char *kind, int patches)
{
    double fine[2];
    read_ood(out, units, u, kind, patches ? "over_pre" : "apart");
    if (!patches)
        return;
    read_ood(fine, units, u, kind, "over_fine");
    for (size_t i = 0; !(out[0] <= fine[0]) && i < 2; i++)
        out[i] = fine[i];
}

/* The mean over seeds with its interval, as all claims have it: Student's t from three seeds on;
 * of two the larger of what images and seeds leave open; of one none. */
static shift_effect effect_of(const json_t *units, const char *kind, int patches)
{
    shift_effect e = {.mean = NAN, .sd = NAN, .low = NAN, .high = NAN};
    double sum = 0, squares = 0, images = 0, one[2];
    for (size_t u = 0; u < json_array_size(units); u++) {
        read_effect(one, units, u, kind, patches);
        if (isnan(one[0]))
            continue;
        e.n++;
        e.wins += one[0] > 0;
        sum += one[0];
        squares += one[0] * one[0];
        images += one[1];
    }
    double n = (double)e.n;
    if (!e.n)
        return e;
    e.mean = sum / n;
    e.low = -INFINITY;
    e.high = INFINITY;
    if (e.n == 1)
        return e;
    double variance = fmax(0, squares - n * e.mean * e.mean) / (n - 1);
    int by_seeds = e.n >= SEEDS_FOR_T;
    double quantile = bang_student_quantile(.975, by_seeds ? n - 1 : 1e9);
    double half = quantile * sqrt(by_seeds ? variance / n : fmax(images / n, variance / n));
    e.sd = sqrt(variance);
    e.low = e.mean - half;
    e.high = e.mean + half;
    return e;
}

/* Mean over units of a number of a set; SHIFT_OOD: over those out of distribution. */
static double mean_of(const json_t *units, const char *kind, const char *what, const char *name,
                      size_t set)
{
    double sum = 0, count = 0;
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *row = json_object_get(json_object_get(kind_of(units, u, kind), what), name);
        for (size_t s = set == SHIFT_OOD ? 1 : set; s <= set && s < SHIFT_SETS; s++) {
            double value = number(json_array_get(row, s));
            if (isnan(value))
                continue;
            sum += value;
            count++;
        }
    }
    return count > 0 ? sum / count : NAN;
}

static void show_picture(json_t *show, const json_t *units)
{
    const json_t *maps = json_object_get(json_array_get(units, 0), "maps");
    const char *png = json_string_value(json_object_get(maps, "png"));
    if (!png)
        return;
    json_array_append_new(
        show,
        json_pack("{ss ss ss sf ss ss}", "kind", "picture", "title",
                  "Where PM, FM and the average look.", "png", png, "scale", 0.6, "alt",
                  "images of every set out of distribution, each beside maps of the patches that "
                  "speak for its digit to PM, FM and the average",
                  "note",
                  "Images that PM and FM get wrong and the average right, if a set has them, else "
                  "such that one gets wrong; first seed. A map shows the patches that speak for "
                  "the true digit; below it what this model predicts, with its confidence. Light "
                  "is much, each map on its own scale. Left Grad-CAM of the last block, as the "
                  "paper; right the weighting of HiResCAM, which is of one layer, summed over all "
                  "blocks (ours). Look whether PM's light patches are FM's, and whether the "
                  "average's are more than either's."));
}

static void show_table(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"set", "PM, FM",  "two FMs", "PM",
                                          "FM",  "average", "PM, FM",  "two FMs",
                                          "PM",  "FM",      "average", NULL};
    static const char *const kinds[] = {"gradcam", "hirescam"};
    static const char *const members[] = {"pre", "fine", "avg"};
    json_t *table = lab_table(
        "How alike their maps are, and how many patches they depend on", columns,
        "PM, FM: correlation of the two models' maps of the true digit, mean over images and "
        "seeds. Two FMs: the same of FM and of the one fine-tuned with Mixup + LS(0.10), which "
        "says how alike maps of two models that do the same can be. PM, FM, average: effective "
        "number of patches (sum a)\u00b2 / sum a\u00b2, which is n when n patches speak equally "
        "for the digit and the others not at all; maps without any are left out. Grad-CAM sees "
        "the last block only, and can be near chance in a small network that decides before.");
    for (size_t s = 0; s <= SHIFT_OOD; s++) {
        json_t *row = json_pack("[s]", s == SHIFT_OOD ? "OOD" : shift_set_names[s]);
        for (size_t k = 0; k < 2; k++) {
            json_array_append_new(
                row, bang_json_number(mean_of(units, kinds[k], "correlation", "pre-fine", s)));
            json_array_append_new(
                row, bang_json_number(mean_of(units, kinds[k], "correlation", "fine-other", s)));
            for (size_t m = 0; m < 3; m++)
                json_array_append_new(
                    row, bang_json_number(mean_of(units, kinds[k], "effective", members[m], s)));
        }
        lab_table_row(table, row);
    }
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si]]", "", 1, "Grad-CAM", 5, "HiResCAM", 5));
    json_object_set_new(table, "decimals",
                        json_pack("[niiiiiiiiii]", 2, 2, 1, 1, 1, 2, 2, 1, 1, 1));
    json_array_append_new(show, table);
}

/* "+0.31 [+0.05, +0.57] (6 of 6)" */
static void say(bang_text *out, const shift_effect *e)
{
    if (!e->n)
        bang_text_add(out, "not run");
    else if (e->n == 1)
        bang_text_add(out, "%+.2f (one seed, which decides nothing)", e->mean);
    else
        bang_text_add(out, "%+.2f [%+.2f, %+.2f] (%zu of %zu seeds)", e->mean, e->low, e->high,
                      e->wins, e->n);
}

static void show_verdict(json_t *show, const json_t *units, int patches)
{
    const shift_clause part = {.aim = SHIFT_IS_ABOVE,
                               .small = patches ? SMALL_PATCHES : SMALL_CORRELATION};
    shift_effect by[2] = {effect_of(units, "gradcam", patches),
                          effect_of(units, "hirescam", patches)};
    bang_text because = {0};
    if (patches)
        bang_text_add(
            &because,
            "out of distribution the average's maps have %.2f effective patches, PM's "
            "%.2f, FM's %.2f by Grad-CAM; image by image more than the more diverse of the "
            "two by ",
            mean_of(units, "gradcam", "effective", "avg", SHIFT_OOD),
            mean_of(units, "gradcam", "effective", "pre", SHIFT_OOD),
            mean_of(units, "gradcam", "effective", "fine", SHIFT_OOD));
    else
        bang_text_add(&because,
                      "out of distribution PM's and FM's maps of the true digit correlate with "
                      "%.2f by Grad-CAM, those of two fine-tunings with %.2f; image by image less "
                      "alike by ",
                      mean_of(units, "gradcam", "correlation", "pre-fine", SHIFT_OOD),
                      mean_of(units, "gradcam", "correlation", "fine-other", SHIFT_OOD));
    say(&because, &by[0]);
    bang_text_add(&because, "; HiResCAM, beside it: ");
    say(&because, &by[1]);
    bang_text_add(&because, "; the smallest difference that counts is %g", part.small);
    shift_holds holds = by[0].n < 2 ? SHIFT_UNDECIDED : shift_judge(&by[0], &part);
    lab_show_item(show, item,
                  patches ? "The average uses more diverse features than both PM and FM"
                          : "PM and FM rely on different features: their maps are less alike "
                            "than those of two fine-tunings",
                  shift_holds_names[holds], because.failed ? "" : because.data);
    bang_text_release(&because);
}

void shift_maps_show(json_t *show, const json_t *units)
{
    int there = 0;
    for (size_t u = 0; u < json_array_size(units); u++)
        there |= json_object_get(json_array_get(units, u), "maps") != NULL;
    if (!there)
        return;
    show_picture(show, units);
    show_table(show, units);
    show_verdict(show, units, 0);
    show_verdict(show, units, 1);
}
