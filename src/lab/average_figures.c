/* Weight averaging on MultiColorMNIST: groups of images, the curve over alpha, other ways to
 * fine-tune. */
#include <math.h>
#include <stdio.h>

#include "bang/base/json.h"
#include "lab/average_colors.h"

static average_estimate at_shift(const json_t *units, const char *field, size_t p)
{
    average_estimate e;
    average_estimate_of(&e, units, (average_choice){.field = field, .from = p, .to = p + 1});
    return e;
}

/* FFT and TTF of the WSE as columns over p. */
static void show_group_chart(json_t *show, const json_t *units)
{
    static const char *const titles[] = {"FalseFalseTrue", "TrueTrueFalse"};
    static const char *const fields[] = {"vanilla/wse/fft", "vanilla/wse/ttf"};
    json_t *names = json_array(), *series = json_array();
    for (size_t p = 1; p < COLOR_SHIFTS; p++) {
        char name[16];
        snprintf(name, sizeof name, "%g", color_shifts[p]);
        json_array_append_new(names, json_string(name));
    }
    for (int k = 0; k < 2; k++) {
        json_t *values = json_array(), *low = json_array(), *high = json_array();
        for (size_t p = 1; p < COLOR_SHIFTS; p++) {
            average_estimate e = at_shift(units, fields[k], p);
            json_array_append_new(values, bang_json_number(e.mean));
            json_array_append_new(low, bang_json_number(isfinite(e.low) ? fmax(e.low, 0) : e.mean));
            json_array_append_new(high, bang_json_number(isfinite(e.high) ? e.high : e.mean));
        }
        json_array_append_new(series,
                              json_pack("{ss so so so si}", "name", titles[k], "values", values,
                                        "low", low, "high", high, "color", k ? 1 : 2));
    }
    json_array_append_new(
        show, json_pack("{ss ss ss ss ss sb so so}", "kind", "columns", "title",
                        "Images that only the average, or only both models, get right", "x_label",
                        "p", "value_label", "share of images", "note",
                        "FalseFalseTrue: PM and FM are wrong, their average is right. "
                        "TrueTrueFalse: the opposite. 95 % intervals over seeds, cut at 0.",
                        "percent", 1, "names", names, "series", series));
}

static void show_group_table(json_t *show, const json_t *units)
{
    static const char *const names[] = {"p",   "FFT", "TTF",   "TT+FF", "TF+FT",
                                        "FFT", "TTF", "TT+FF", "TF+FT", NULL};
    static const char *const fields[] = {"fft", "ttf", "tt_ff", "tf_ft"};
    json_t *table = lab_table(
        "Where the average gains, per cent of images", names,
        "FFT: FalseFalseTrue, TTF: TrueTrueFalse. TT+FF and TF+FT: ImproveContri of the two kinds "
        "of images (section 2, appendix C.1); together they are the gain over the better of PM "
        "and FM.");
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si]]", "", 1, "average of weights (WSE)", 4,
                                  "mean of outputs (OSE)", 4));
    json_object_set_new(table, "decimals", json_pack("[iiiiiiiii]", 2, 2, 2, 2, 2, 2, 2, 2, 2));
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        json_t *row = json_array();
        json_array_append_new(row, json_real(color_shifts[p]));
        for (int k = 0; k < 8; k++) {
            char field[48];
            snprintf(field, sizeof field, "vanilla/%s/%s", k < 4 ? "wse" : "ose", fields[k % 4]);
            json_array_append_new(row, bang_json_number(100 * at_shift(units, field, p).mean));
        }
        lab_table_row(table, row);
    }
    json_array_append_new(show, table);
}

void average_show_groups(json_t *result, json_t *show, const json_t *units)
{
    average_estimate fft, ttf, less;
    char because[320], text[64];
    average_estimate_of(&fft, units, average_far("vanilla/wse/fft", NULL));
    average_estimate_of(&ttf, units, average_far("vanilla/wse/ttf", NULL));
    average_estimate_of(&less, units, average_far("vanilla/wse/fft", "vanilla/wse/ttf"));
    json_object_set_new(result, "groups",
                        json_pack("{so so so}", "FFT", average_estimate_json(&fft), "TTF",
                                  average_estimate_json(&ttf), "FFT-TTF",
                                  average_estimate_json(&less)));
    show_group_chart(show, units);
    show_group_table(show, units);
    if (!isfinite(less.low))
        return;
    average_interval_text(text, sizeof text, &less);
    snprintf(because, sizeof because,
             "mean over p = 0.7 to 0.9: %.2f %% of images are FalseFalseTrue, %.2f %% "
             "TrueTrueFalse, a difference of %s (holds when the interval is above 0)",
             100 * fft.mean, 100 * ttf.mean, text);
    lab_show_item(show, "Beyond the paper",
                  "FalseFalseTrue: the average is right where both models are wrong, on "
                  "MultiColorMNIST too",
                  average_sign(&less), because);
}

/* A quantity over alpha: one of the two kinds of combination, over some shifts. */
static json_t *alpha_series(json_t *means, const json_t *units, const char *name, const char *field,
                            size_t from, size_t to, int color)
{
    json_t *x = json_array(), *y = json_array(), *error = json_array();
    for (size_t a = 0; a < AVERAGE_ALPHAS; a++) {
        average_estimate e;
        average_choice c = {.field = field, .from = from, .to = to, .first = a};
        c.stride = AVERAGE_ALPHAS;
        average_estimate_of(&e, units, c);
        json_array_append_new(x, json_real((double)a / (AVERAGE_ALPHAS - 1)));
        json_array_append_new(y, bang_json_number(e.mean));
        json_array_append_new(error, bang_json_number(e.error));
    }
    json_object_set(means, name, y);
    return json_pack("{ss so so so si}", "name", name, "x", x, "y", y, "error", error, "color",
                     color);
}

static size_t best_alpha(const json_t *means)
{
    size_t best = 0;
    for (size_t a = 1; a < json_array_size(means); a++)
        if (json_number_value(json_array_get(means, a)) >
            json_number_value(json_array_get(means, best)))
            best = a;
    return best;
}

void average_show_alphas(json_t *result, json_t *show, const json_t *units)
{
    size_t half = color_shift_index(0.5);
    json_t *means = json_object(), *series = json_array();
    json_array_append_new(series, alpha_series(means, units, "WSE, p = 0.7 to 0.9", "alphas/wse",
                                               AVERAGE_FAR, AVERAGE_FAR_END, 2));
    json_array_append_new(series, alpha_series(means, units, "OSE, p = 0.7 to 0.9", "alphas/ose",
                                               AVERAGE_FAR, AVERAGE_FAR_END, 3));
    json_array_append_new(
        series, alpha_series(means, units, "WSE, p = 0.5", "alphas/wse", half, half + 1, 0));
    json_array_append_new(
        series, alpha_series(means, units, "OSE, p = 0.5", "alphas/ose", half, half + 1, 1));
    double wse = (double)best_alpha(json_object_get(means, "WSE, p = 0.7 to 0.9"));
    double ose = (double)best_alpha(json_object_get(means, "OSE, p = 0.7 to 0.9"));
    char note[240];
    snprintf(note, sizeof note,
             "0 is PM, 1 is FM. The best mean over p = 0.7 to 0.9 is at alpha = %.1f for weights "
             "and %.1f for outputs. Bars: one standard error.",
             wse / (AVERAGE_ALPHAS - 1), ose / (AVERAGE_ALPHAS - 1));
    json_array_append_new(show, json_pack("{ss ss ss ss ss sb sO}", "kind", "lines", "title",
                                          "From PM to FM", "x_label", "alpha: the weight of FM",
                                          "y_label", "accuracy", "note", note, "percent", 1,
                                          "series", series));
    json_object_set_new(result, "alphas", means);
    json_decref(series);
}

static void variant_field(char *out, size_t size, size_t variant, const char *what)
{
    snprintf(out, size, "%s/%s", average_variants[variant].name, what);
}

/* An estimate into out under its name, and into the row if there is one: a mean as a number, a
 * difference with its interval. */
static void add_cell(json_t *row, json_t *out, const char *name, const json_t *units,
                     average_choice choice)
{
    average_estimate e;
    char text[64];
    average_estimate_of(&e, units, choice);
    json_object_set_new(out, name, average_estimate_json(&e));
    average_interval_text(text, sizeof text, &e);
    if (row)
        json_array_append_new(row,
                              choice.minus ? json_string(text) : bang_json_number(100 * e.mean));
}

static json_t *variant_row(json_t *result, const json_t *units, size_t v)
{
    char fine[64], confidence[64], wse[64], ose[64];
    json_t *row = json_array(), *out = json_object();
    variant_field(fine, sizeof fine, v, "fine");
    variant_field(confidence, sizeof confidence, v, "fine/confidence");
    variant_field(wse, sizeof wse, v, "wse");
    variant_field(ose, sizeof ose, v, "ose");
    average_choice better = average_far(wse, "pre");
    better.other = fine;
    json_array_append_new(row, json_string(average_variants[v].title));
    add_cell(row, out, "fine", units, average_far(fine, NULL));
    add_cell(row, out, "confidence", units, average_far(confidence, NULL));
    add_cell(row, out, "wse", units, average_far(wse, NULL));
    add_cell(row, out, "wse-better", units, better);
    if (v) {
        add_cell(row, out, "wse-gain", units, average_far(wse, "vanilla/wse"));
        add_cell(NULL, out, "ose-gain", units, average_far(ose, "vanilla/ose"));
    } else {
        json_array_append_new(row, json_null());
    }
    add_cell(row, out, "ose", units, average_far(ose, NULL));
    json_object_set_new(result, average_variants[v].name, out);
    return row;
}

static void show_confidence_verdict(json_t *show, const json_t *units)
{
    average_estimate fine, pre, over;
    char because[320], text[64];
    average_estimate_of(&fine, units, average_far("vanilla/fine/confidence", NULL));
    average_estimate_of(&pre, units, average_far("pre/confidence", NULL));
    average_estimate_of(&over, units, average_far("vanilla/fine/confidence", "vanilla/fine"));
    average_interval_text(text, sizeof text, &over);
    snprintf(because, sizeof because,
             "mean over p = 0.7 to 0.9: its confidence less its accuracy is %s points (holds "
             "above 0, does not below); it is %.1f %% confident, PM %.1f %%",
             text, 100 * fine.mean, 100 * pre.mean);
    lab_show_item(show, "Beyond the paper",
                  "The fine-tuned model is over-confident, on MultiColorMNIST too",
                  average_sign(&over), because);
}

void average_show_variants(json_t *result, json_t *show, const json_t *units)
{
    static const char *const names[] = {
        "fine-tuning",    "accuracy", "confidence", "accuracy", "less the better of PM and FM",
        "less vanilla's", "accuracy", NULL};
    json_t *out = json_object();
    json_t *table = lab_table(
        "BANG's ways to fine-tune, means over p = 0.7 to 0.9, per cent", names,
        "LS: label smoothing; Mixup: Beta(0.2, 0.2). All four start from the same PM and see the "
        "images in the same order. Differences: pair by pair, with 95 % intervals over seeds.");
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si]]", "", 1, "FM", 2, "WSE", 3, "OSE", 1));
    json_object_set_new(table, "decimals", json_pack("[niiinni]", 2, 2, 2, 2));
    for (size_t v = 0; v < AVERAGE_VARIANTS; v++)
        lab_table_row(table, variant_row(out, units, v));
    json_array_append_new(show, table);
    json_object_set_new(result, "variants", out);
    average_estimate e;
    average_estimate_of(&e, units, average_far("mixup-ls/wse", "vanilla/wse"));
    if (!isfinite(e.low))
        return;
    show_confidence_verdict(show, units);
    for (size_t v = 1; v < AVERAGE_VARIANTS; v++) {
        char claim[120], because[320], text[64], field[64];
        variant_field(field, sizeof field, v, "wse");
        average_estimate_of(&e, units, average_far(field, "vanilla/wse"));
        average_interval_text(text, sizeof text, &e);
        snprintf(claim, sizeof claim, "BANG with %s improves the average, on MultiColorMNIST too",
                 average_variants[v].title);
        snprintf(because, sizeof because,
                 "mean over p = 0.7 to 0.9: %s points over the average with vanilla FM, better in "
                 "%zu of %zu pairs (holds when the interval is above 0, does not when it is below, "
                 "open else)",
                 text, e.above, e.pairs);
        lab_show_item(show, "Beyond the paper", claim, average_sign(&e), because);
    }
}
