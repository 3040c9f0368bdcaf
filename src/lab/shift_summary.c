/* The lab's records as chapters of the report, and as numbers for programs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"

/* Mean, standard deviation and count of a member's accuracies: per set, then OOD. */
static json_t *member_result(const json_t *units, const char *member)
{
    double mean[SHIFT_COLUMNS], sd[SHIFT_COLUMNS];
    size_t n = 0;
    for (size_t set = 0; set < SHIFT_COLUMNS; set++) {
        shift_difference d = {SHIFT_ACCURACY, member, set, NULL, 0};
        shift_effect e = shift_effect_of(units, &d);
        mean[set] = e.mean;
        sd[set] = e.sd;
        n = e.n > n ? e.n : n;
    }
    if (!n)
        return NULL;
    return json_pack("{so so sI}", "mean", lab_numbers(mean, SHIFT_COLUMNS), "sd",
                     lab_numbers(sd, SHIFT_COLUMNS), "n", (json_int_t)n);
}

static void add_member(json_t *out, const json_t *units, const char *method, const char *kind)
{
    char member[128];
    snprintf(member, sizeof member, "%s/%s", method, kind);
    json_t *numbers = member_result(units, member);
    if (numbers)
        json_object_set_new(out, kind, numbers);
}

/* All methods that some unit has, in the order in which units have them. */
static json_t *methods_result(const json_t *units)
{
    static const char *const kinds[] = {"fine",           "avg",     "ose",  "ose_probabilities",
                                        "calibrated_ose", "exp1",    "exp2", "exp1-others",
                                        "exp2-others",    "id-alpha"};
    json_t *out = json_object();
    for (size_t u = 0; u < json_array_size(units); u++) {
        json_t *methods = json_object_get(json_array_get(units, u), "methods"), *method, *entry;
        const char *name, *kind;
        json_object_foreach(methods, name, method)
        {
            if (json_object_get(out, name))
                continue;
            json_t *numbers = json_object();
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
                add_member(numbers, units, name, kinds[k]);
            json_object_foreach(json_object_get(method, "balance"), kind, entry)
                add_member(numbers, units, name, kind);
            json_object_set_new(out, name, numbers);
        }
    }
    return out;
}

static const char *quantity_name(shift_quantity quantity)
{
    static const char *const names[] = {
        [SHIFT_ACCURACY] = "accuracy",
        [SHIFT_CONFIDENCE] = "confidence",
        [SHIFT_ECE] = "ece",
        [SHIFT_OVER] = "over-confidence",
        [SHIFT_GAP] = "calibration gap",
        [SHIFT_FFT] = "FFT",
        [SHIFT_TTF] = "TTF",
        [SHIFT_BEYOND] = "FFT - max(0, ImproveContri(ALL))",
        [SHIFT_BOTH] = "ImproveContri(TT+FF)",
        [SHIFT_TWICE] = "FFT - 2 TTF",
        [SHIFT_ONE] = "ImproveContri(TF+FT)",
        [SHIFT_ALL] = "ImproveContri(ALL)",
        [SHIFT_CORRECTED] = "N1/N2",
        [SHIFT_MARGIN_PRE] = "margin of PM on TF",
        [SHIFT_MARGIN_FINE] = "margin of FM on TF",
        [SHIFT_MARGIN_SUM] = "margin of PM + FM on TF",
        [SHIFT_ABOVE_CURVE] = "above the curve",
        [SHIFT_BEND] = "bend of the curve",
        [SHIFT_FIT] = "R^2 of the curve, leaving one out",
        [SHIFT_FASHION] = "accuracy on Fashion-MNIST",
    };
    return names[quantity];
}

/* "accuracy OOD: mixup/avg - vanilla/avg" */
static void difference_name(char *out, size_t size, const shift_difference *d)
{
    static const char *const sets[] = {"ID", "V2", "R", "A", "S", "O", "OOD"};
    const char *quantity = quantity_name(d->quantity);
    if (d->quantity >= SHIFT_ABOVE_CURVE)
        snprintf(out, size, "%s%s%s%s%s", quantity, *d->a ? ": " : "", d->a, d->b ? " - " : "",
                 d->b ? d->b : "");
    else if (!d->b)
        snprintf(out, size, "%s %s: %s", quantity, sets[d->a_set], d->a);
    else if (d->a_set == d->b_set)
        snprintf(out, size, "%s %s: %s - %s", quantity, sets[d->a_set], d->a, d->b);
    else
        snprintf(out, size, "%s: %s on %s - %s on %s", quantity, d->a, sets[d->a_set], d->b,
                 sets[d->b_set]);
}

/* Every difference that a claim rests on, once. */
static json_t *differences_result(const json_t *units)
{
    size_t count;
    const shift_claim *claims = shift_claims(&count);
    static const char *const bases[] = {"seeds", "images", "grid"};
    json_t *out = json_array(), *seen = json_object();
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < claims[i].count; k++) {
            const shift_difference *d = &claims[i].parts[k].difference;
            char name[256];
            difference_name(name, sizeof name, d);
            shift_effect e = shift_effect_of(units, d);
            if (!e.n || json_object_get(seen, name))
                continue;
            json_object_set_new(seen, name, json_true());
            json_array_append_new(out,
                                  json_pack("{ss so so so so sI sI ss}", "name", name, "mean",
                                            bang_json_number(e.mean), "sd", bang_json_number(e.sd),
                                            "low", bang_json_number(e.low), "high",
                                            bang_json_number(e.high), "n", (json_int_t)e.n, "wins",
                                            (json_int_t)e.wins, "interval", bases[e.basis]));
        }
    json_decref(seen);
    return out;
}

static void show_setting(json_t *show, const json_t *units)
{
    const json_t *unit = json_array_get(units, 0);
    double images = json_number_value(json_array_get(json_object_get(unit, "n"), 1));
    char text[1800];
    snprintf(
        text, sizeof text,
        "A small vision transformer is pre-trained on digits in a broad mixture of styles (PM), "
        "fine-tuned in one narrow domain (FM) in many ways, and the two are averaged (AM). They "
        "are tested in that domain (ID) and on five shifted sets that stand for the paper's: V2 "
        "(other writers), R (thick or blurred strokes on all textures), A (occluded and noisy), S "
        "(thin dark strokes on white), O (rotated, scaled, sheared). OOD is the mean of the five. "
        "%zu seed%s, each with its own pre-training, renderings and fine-tunings; %.0f images of "
        "each shifted set. All seeds share the digits of MNIST that they render. How strong the "
        "shifts are was set beforehand, on seeds 101 and 102. MAIN: 500 steps at 5e-4; LONG: 1,200 "
        "steps at 1e-3.",
        json_array_size(units), json_array_size(units) == 1 ? "" : "s", images);
    lab_show_text(show, text);
}

typedef struct chapter {
    const char *key, *section, *opening;
    void (*tables)(json_t *, const json_t *);
    void (*figures)(json_t *, const json_t *);
} chapter;

static json_t *make_chapter(const chapter *c, int index, json_t *verdicts, const json_t *units)
{
    json_t *show = json_array();
    if (index == 0)
        show_setting(show, units);
    if (c->opening)
        lab_show_text(show, c->opening);
    if (index == 0)
        shift_show_rule(show, units);
    shift_show_claims(show, verdicts, units, index);
    c->tables(show, units);
    c->figures(show, units);
    return json_pack("{ss ss so}", "key", c->key, "section", c->section, "show", show);
}

int shift_summary(json_t *result, json_t *chapters, const json_t *units,
                  const bang_lab_options *options, bang_error *err)
{
    static const chapter list[SHIFT_CHAPTERS] = {
        [SHIFT_AVERAGES] = {"lab/averages", "The lab: why averages work (section 2, C.1, D.7)",
                            NULL, shift_tables_averages, shift_figures_averages},
        [SHIFT_BANG] = {"lab/bang", "The lab: BANG (section 4, E.5)",
                        "BANG fine-tunes with label smoothing or Mixup, so that FM is no more sure "
                        "than PM, and averages as before. Verdicts follow the rule that the first "
                        "chapter of the lab states.",
                        shift_tables_bang, shift_figures_bang},
        [SHIFT_CALIBRATION] = {"lab/calibration",
                               "The lab: calibration and balance (section 4, E.5, E.6)",
                               "An average of two models whose scales differ is not balanced: the "
                               "more confident one decides. Here is how confident they are, what "
                               "cures it, and what that is worth.",
                               shift_tables_calibration, shift_figures_calibration},
        [SHIFT_CURVE] = {"lab/curve", "The lab: accuracy on the curve (appendix H)",
                         "Is BANG better only because its fine-tuned model is? Many vanilla "
                         "fine-tunings give a curve of what average to expect of a fine-tuned "
                         "model; BANG is held against it.",
                         shift_tables_curve, shift_figures_curve},
    };
    (void)options;
    if (!json_array_size(units))
        return bang_fail(err, BANG_EDATA, "the lab: no seed was run: nothing to sum up");
    json_t *verdicts = json_array();
    const json_t *sets = json_object_get(json_array_get(units, 0), "sets");
    for (int i = 0; i < SHIFT_CHAPTERS; i++)
        json_array_append_new(chapters, make_chapter(&list[i], i, verdicts, units));
    json_object_set_new(result, "sets", json_deep_copy(sets));
    json_object_set_new(result, "seeds", json_integer((json_int_t)json_array_size(units)));
    json_object_set_new(result, "pre", member_result(units, "pre"));
    json_object_set_new(result, "methods", methods_result(units));
    json_object_set_new(result, "differences", differences_result(units));
    int failed = json_object_set_new(result, "verdicts", verdicts) < 0 ||
                 json_array_size(chapters) != SHIFT_CHAPTERS;
    return failed ? bang_fail_memory(err) : 0;
}
