/* Appendix D.2 measured: what is shown, and the experiment as a whole. */
#include "lab/two_layer_show.h"

#include <math.h>
#include <stdio.h>

#include "bang/base/json.h"

enum { QUICK_SEEDS = 4, FULL_SEEDS = 16, ENOUGH = 20 };

static const char *const pair_titles[TWO_PAIRS] = {"two fine-tuned models", "PM and FM"};
static const double small_share = 0.1;

static void shift_name(char *out, size_t size, size_t p)
{
    snprintf(out, size, "p = %g", two_layer_shifts[p]);
}

/* Root mean squares of the terms of PM and FM's pair at the recipe's length. */
void two_layer_show_terms(json_t *show, const json_t *units)
{
    static const char *const names[] = {"p",        "fixed",  "linear",   "bilinear",
                                        "\u03be",   "linear", "bilinear", "\u03be",
                                        "bilinear", "\u03be", NULL};
    static const char *const titles[] = {"(a) fixed", "(b) linear", "(c) bilinear", "\u03be"};
    json_t *table = lab_table("PM and FM: terms of the outputs after 300 steps", names,
                              "Root mean squares over all logits of the test images. (a) is the "
                              "same for all; (b) is the same for WSE and OSE.");
    json_t *series = json_array(), *values[TWO_TERMS], *labels = json_array();
    json_object_set_new(
        table, "groups",
        json_pack("[[si][si][si][si][si]]", "", 1, "", 1, "FM", 3, "WSE", 3, "OSE", 2));
    json_object_set_new(table, "decimals", json_pack("[iiiiiiiiii]", 1, 3, 3, 3, 3, 3, 3, 3, 3, 3));
    for (int k = 0; k < TWO_TERMS; k++)
        values[k] = json_array();
    for (size_t p = 0; p < TWO_SHIFTS; p++) {
        two_layer_cell c;
        char name[16];
        two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", TWO_RECIPE, p);
        const double row[] = {two_layer_shifts[p],
                              c.term[TWO_WSE][TWO_FIXED],
                              c.term[TWO_SECOND][TWO_LINEAR],
                              c.term[TWO_SECOND][TWO_BILINEAR],
                              c.term[TWO_SECOND][TWO_REST],
                              c.term[TWO_WSE][TWO_LINEAR],
                              c.term[TWO_WSE][TWO_BILINEAR],
                              c.term[TWO_WSE][TWO_REST],
                              c.term[TWO_OSE][TWO_BILINEAR],
                              c.term[TWO_OSE][TWO_REST]};
        lab_table_row(table, lab_numbers(row, sizeof row / sizeof *row));
        shift_name(name, sizeof name, p);
        json_array_append_new(labels, json_string(name));
        for (int k = 0; k < TWO_TERMS; k++)
            json_array_append_new(values[k], bang_json_number(c.term[TWO_WSE][k]));
    }
    for (int k = 0; k < TWO_TERMS; k++)
        json_array_append_new(
            series, json_pack("{ss so si}", "name", titles[k], "values", values[k], "color", k));
    json_array_append_new(show, json_pack("{ss ss ss ss so so}", "kind", "columns", "title",
                                          "PM and FM: terms of the average (WSE), 300 steps",
                                          "value_label", "root mean square over logits", "note",
                                          "(a) is what PM says; the rest is what half of FM's "
                                          "change adds.",
                                          "names", labels, "series", series));
    json_array_append_new(show, table);
}

static json_t *difference_row(const two_layer_cell *c, uint64_t steps, size_t p)
{
    char told[48];
    snprintf(told, sizeof told, "%zu of %zu", c->foretold, c->different);
    return json_pack("[Ifoooooooso]", (json_int_t)steps, two_layer_shifts[p],
                     bang_json_number(c->whole), bang_json_number(c->bilinear),
                     bang_json_number(c->rest), bang_json_number(100 * c->share),
                     bang_json_number(100 * (1 - c->share)), bang_json_number(100 * c->switched),
                     bang_json_number(100 * c->differ), told,
                     bang_json_number(100 * (c->accuracy[TWO_WSE] - c->accuracy[TWO_OSE])));
}

static void show_pair_table(json_t *show, const json_t *units, int pair)
{
    static const char *const names[] = {"steps",         "p",           "WSE \u2212 OSE",
                                        "bilinear part", "\u03be part", "share of \u03be, %",
                                        "explained, %",  "switched, %", "differ, %",
                                        "foretold",      "gain",        NULL};
    char title[96];
    snprintf(title, sizeof title, "WSE \u2212 OSE of %s", pair_titles[pair]);
    json_t *table = lab_table(
        title, names,
        "Root mean squares over logits. Share of \u03be: sum of squares of its part over that of "
        "WSE \u2212 OSE (above 100 where the two parts cancel); explained: the rest of it. "
        "Switched: "
        "hidden units that FM's change turns on or off. Differ: images that WSE and OSE put into "
        "different classes; foretold: those of them for which OSE and the bilinear part together "
        "say what WSE says. Gain: accuracy of WSE less that of OSE, in points.");
    json_object_set_new(table, "decimals", json_pack("[iinnniiiini]", 0, 1, 1, 1, 2, 2, 2));
    json_object_set_new(table, "digits", json_pack("[nniiinnnnnn]", 3, 3, 3));
    for (size_t l = 0; l < TWO_LENGTHS; l++)
        for (size_t p = 0; p < TWO_SHIFTS; p++) {
            two_layer_cell c;
            two_layer_cell_of(&c, units, pair, "steps", l, p);
            lab_table_row(table, difference_row(&c, two_layer_steps[l], p));
        }
    json_array_append_new(show, table);
}

/* The two parts of WSE - OSE by length, far from the training data. */
static void show_parts(json_t *show, const json_t *units)
{
    enum { FAR = 2 };
    json_t *names = json_array(), *bilinear = json_array(), *rest = json_array();
    for (size_t l = 0; l < TWO_LENGTHS; l++) {
        two_layer_cell c;
        char name[24];
        two_layer_cell_of(&c, units, TWO_PRE_FINE, "steps", l, FAR);
        snprintf(name, sizeof name, "%llu steps", (unsigned long long)two_layer_steps[l]);
        json_array_append_new(names, json_string(name));
        json_array_append_new(bilinear, bang_json_number(c.bilinear));
        json_array_append_new(rest, bang_json_number(c.rest));
    }
    json_array_append_new(
        show, json_pack("{ss ss ss ss so s[{ss so si} {ss so si}]}", "kind", "columns", "title",
                        "PM and FM: the two parts of WSE \u2212 OSE at p = 0.8", "value_label",
                        "root mean square over logits", "note",
                        "Their sum is WSE \u2212 OSE, logit by logit.", "names", names, "series",
                        "name", "bilinear part", "values", bilinear, "color", 2, "name",
                        "\u03be part", "values", rest, "color", 3));
}

/* most: raised to the largest share. */
static json_t *share_series(double *most, const json_t *units, int pair, const char *field,
                            size_t rows, size_t p, int color)
{
    json_t *x = json_array(), *y = json_array(), *error = json_array();
    char name[64];
    for (size_t r = 0; r < rows; r++) {
        two_layer_cell c;
        two_layer_cell_of(&c, units, pair, field, r, p);
        int steps = rows == TWO_LENGTHS;
        json_array_append_new(
            x, json_real(steps ? (double)two_layer_steps[r] : log2(two_layer_scales[r])));
        json_array_append_new(y, bang_json_number(c.share));
        json_array_append_new(error, bang_json_number(c.share_error));
        *most = fmax(*most, c.share);
    }
    snprintf(name, sizeof name, "%s, p = %g", pair_titles[pair], two_layer_shifts[p]);
    return json_pack("{ss so so so si}", "name", name, "x", x, "y", y, "error", error, "color",
                     color);
}

static void show_shares(json_t *show, const json_t *units, const char *field, size_t rows,
                        const char *title, const char *x_label, const char *note)
{
    json_t *series = json_array();
    double most = 1;
    int color = 0;
    for (int pair = TWO_PAIRS; pair-- > 0;)
        for (size_t p = 0; p < TWO_SHIFTS; p += 2)
            json_array_append_new(series,
                                  share_series(&most, units, pair, field, rows, p, color++));
    json_array_append_new(
        show, json_pack("{ss ss ss ss ss sb sf sf so}", "kind", "lines", "title", title, "x_label",
                        x_label, "y_label", "share of \u03be in WSE \u2212 OSE", "note", note,
                        "percent", 1, "y_min", 0.0, "y_max", most, "series", series));
}

void two_layer_show_difference(json_t *show, const json_t *units)
{
    show_parts(show, units);
    show_shares(
        show, units, "steps", TWO_LENGTHS, "How much of WSE \u2212 OSE is \u03be",
        "steps of fine-tuning",
        "Sum of squares of \u03be's part over that of WSE \u2212 OSE; the two parts can cancel, so "
        "that it may exceed 100 %. Bars: one standard error over seeds.");
    show_pair_table(show, units, TWO_PRE_FINE);
    show_pair_table(show, units, TWO_FINE_FINE);
}

/* By which power of the change the root mean squares grow, from the smallest scale to 1. */
static double exponent(double small, double large)
{
    return log(large / small) / log(two_layer_scales[0] / two_layer_scales[TWO_SCALES - 1]);
}

void two_layer_show_scales(json_t *result, json_t *show, const json_t *units)
{
    static const char *const names[] = {"scale",       "WSE \u2212 OSE",     "bilinear part",
                                        "\u03be part", "share of \u03be, %", NULL};
    two_layer_cell first, last;
    char note[400];
    two_layer_cell_of(&first, units, TWO_PRE_FINE, "scales", 0, TWO_SHIFTS);
    two_layer_cell_of(&last, units, TWO_PRE_FINE, "scales", TWO_SCALES - 1, TWO_SHIFTS);
    double bilinear = exponent(last.bilinear, first.bilinear);
    double rest = exponent(last.rest, first.rest);
    snprintf(
        note, sizeof note,
        "FM's change after 300 steps is multiplied by the scale. Root mean squares over all "
        "logits of all p. The bilinear part goes with the power %.2f of the scale, \u03be with "
        "%.2f: a share of the hidden units that goes like the change is switched, each by an "
        "amount that goes like it, so the mean square of \u03be goes with the third power (RMS: "
        "1.5), that of the bilinear part with the fourth (2).",
        bilinear, rest);
    json_t *table = lab_table("PM and FM: the same change, smaller", names, note);
    json_object_set_new(table, "digits", json_pack("[niiin]", 3, 3, 3));
    json_object_set_new(table, "decimals", json_pack("[innni]", 5, 1));
    for (size_t s = 0; s < TWO_SCALES; s++) {
        two_layer_cell c;
        two_layer_cell_of(&c, units, TWO_PRE_FINE, "scales", s, TWO_SHIFTS);
        lab_table_row(table, json_pack("[foooo]", two_layer_scales[s], bang_json_number(c.whole),
                                       bang_json_number(c.bilinear), bang_json_number(c.rest),
                                       bang_json_number(100 * c.share)));
    }
    show_shares(show, units, "scales", TWO_SCALES,
                "How much of WSE \u2212 OSE is \u03be, for smaller changes",
                "log2 of the scale of the change",
                "0 is the change after 300 steps, -5 a thirty-second of it.");
    json_array_append_new(show, table);
    json_object_set_new(
        result, "exponents",
        json_pack("{so so}", "bilinear", bang_json_number(bilinear), "xi", bang_json_number(rest)));
}

/* The largest share of xi over p at the recipe's length. */
static double worst_share(const json_t *units, int pair)
{
    double worst = 0;
    for (size_t p = 0; p < TWO_SHIFTS; p++) {
        two_layer_cell c;
        two_layer_cell_of(&c, units, pair, "steps", TWO_RECIPE, p);
        worst = isnan(c.share) || c.share > worst ? c.share : worst;
    }
    return worst;
}

static void show_scale_verdict(json_t *show, const json_t *units)
{
    two_layer_cell first, last;
    char because[320];
    two_layer_cell_of(&first, units, TWO_PRE_FINE, "scales", 0, TWO_SHIFTS);
    two_layer_cell_of(&last, units, TWO_PRE_FINE, "scales", TWO_SCALES - 1, TWO_SHIFTS);
    snprintf(because, sizeof because,
             "a thirty-second of FM's change: \u03be is %.0f %% of the squares of WSE \u2212 OSE, "
             "against "
             "%.0f %% for the whole change (holds when it is less)",
             100 * last.share, 100 * first.share);
    lab_show_item(show, "Appendix D.2",
                  "\u03be is small beside the bilinear term because the change is small",
                  last.share < first.share ? "yes" : "no", because);
}

void two_layer_show_verdicts(json_t *show, const json_t *units)
{
    double pre = worst_share(units, TWO_PRE_FINE), fine = worst_share(units, TWO_FINE_FINE);
    two_layer_cell all;
    char because[400];
    two_layer_cell_of(&all, units, TWO_PRE_FINE, "steps", TWO_RECIPE, TWO_SHIFTS);
    if (all.networks < 2 || !isfinite(pre) || !isfinite(fine))
        return; /* too few to say, or nothing differs */
    snprintf(because, sizeof because,
             "after 300 steps \u03be is at most %.1f %% of the squares of WSE \u2212 OSE for PM "
             "and FM, and "
             "%.1f %% for two fine-tuned models, over p = 0 to 0.9 (holds below %.0f %% for both, "
             "partly for one)",
             100 * pre, 100 * fine, 100 * small_share);
    lab_show_item(
        show, "Appendix D.2",
        "WSE and OSE differ by the bilinear term: \u03be is small in the fine-tuning regime",
        pre < small_share && fine < small_share   ? "yes"
        : pre < small_share || fine < small_share ? "partly"
                                                  : "no",
        because);
    show_scale_verdict(show, units);
    if (all.different < ENOUGH)
        return; /* too few to say */
    double told = (double)all.foretold / (double)all.different;
    snprintf(because, sizeof because,
             "PM and FM after 300 steps: of %zu images in %zu that WSE and OSE put into different "
             "classes it foretells WSE's class in %.1f %%, and is wrong about %zu others (holds "
             "from 95 %%, partly from 80 %%)",
             all.different, all.images, 100 * told, all.alarms);
    lab_show_item(show, "Appendix D.2",
                  "The bilinear term says where WSE and OSE predict different classes",
                  told >= 0.95   ? "yes"
                  : told >= 0.80 ? "partly"
                                 : "no",
                  because);
}

static json_t *shares_json(const json_t *units, const char *field, size_t rows)
{
    json_t *out = json_object();
    for (int pair = 0; pair < TWO_PAIRS; pair++) {
        json_t *lines = json_array();
        for (size_t r = 0; r < rows; r++) {
            json_t *line = json_array();
            for (size_t p = 0; p < TWO_SHIFTS; p++) {
                two_layer_cell c;
                two_layer_cell_of(&c, units, pair, field, r, p);
                json_array_append_new(
                    line,
                    json_pack("{so so so so so}", "whole", bang_json_number(c.whole), "bilinear",
                              bang_json_number(c.bilinear), "xi", bang_json_number(c.rest), "share",
                              bang_json_number(c.share), "differ", bang_json_number(c.differ)));
            }
            json_array_append_new(lines, line);
        }
        json_object_set_new(out, two_layer_pairs[pair], lines);
    }
    return out;
}

static int summary(json_t *result, json_t *show, const color_plan *plan, const json_t *units,
                   const bang_mnist *mnist, bang_error *err)
{
    const double steps[TWO_LENGTHS] = {(double)two_layer_steps[0], (double)two_layer_steps[1],
                                       (double)two_layer_steps[2], (double)two_layer_steps[3]};
    (void)plan, (void)mnist, (void)err;
    json_object_set_new(result, "p", lab_numbers(two_layer_shifts, TWO_SHIFTS));
    json_object_set_new(result, "steps", lab_numbers(steps, TWO_LENGTHS));
    json_object_set_new(result, "scales", lab_numbers(two_layer_scales, TWO_SCALES));
    json_object_set_new(result, "by_steps", shares_json(units, "steps", TWO_LENGTHS));
    json_object_set_new(result, "by_scale", shares_json(units, "scales", TWO_SCALES));
    lab_show_text(
        show, "A network with one hidden layer near a base is split into (a) a fixed term, (b) "
              "a linear and (c) a bilinear term in the change of its weights, and a remainder "
              "\u03be from hidden units that the change turns on or off. Averaging weights (WSE) "
              "and outputs (OSE) agree in (a) and (b). The paper's difference of the two in "
              "(c) simplifies to \u2212\u00bc (\u0394W_b1 \u2212 \u0394W_b2)\u1d40 D "
              "(\u0394W_a1 \u2212 \u0394W_a2)\u1d40 X with D = diag(W_a0\u1d40 X > 0): what both "
              "models changed alike drops out. Here all terms are "
              "measured in double, on every logit of test images, each less the mean over the "
              "classes: what is common to all classes changes no prediction. The base is PM of the "
              "averaging on MultiColorMNIST, with one hidden layer of 64. Biases are weights "
              "of an input, or of a hidden unit, that is always 1.");
    two_layer_show_terms(show, units);
    two_layer_show_difference(show, units);
    two_layer_show_scales(result, show, units);
    two_layer_show_verdicts(show, units);
    return 0;
}

int lab_run_two_layer(json_t *result, const bang_lab_options *options, bang_error *err)
{
    static const average_runner runner = {
        .experiment = "two-layer",
        .section = "Two layers: where averaging weights and outputs differ (appendix D.2)",
        .hidden = 1,
        .measure = "logits less their mean over the classes",
        .unit = two_layer_unit,
        .summary = summary,
    };
    color_plan plan = color_plan_make(options, 0, QUICK_SEEDS, 1);
    if (options->full && !options->seeds)
        plan.seeds = FULL_SEEDS;
    if (options->full && !options->models)
        plan.models = 1;
    return average_run(result, &runner, plan, options, err);
}
