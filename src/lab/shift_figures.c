/* Figures of what the lab measured: averages, and BANG. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/shift_figures.h"

json_t *shift_figure_begin(const char *kind, const char *title, const char *note)
{
    return json_pack("{ss ss ss sb s[]}", "kind", kind, "title", title, "note", note, "percent", 1,
                     "series");
}

void shift_figure_label(json_t *figure, const char *key, const char *text)
{
    json_object_set_new(figure, key, json_string(text));
}

json_t *shift_figure_add(json_t *figure, json_t *series)
{
    json_array_append_new(json_object_get(figure, "series"), series);
    return series;
}

void shift_figure_show(json_t *show, json_t *figure)
{
    if (json_array_size(json_object_get(figure, "series")))
        json_array_append_new(show, figure);
    else
        json_decref(figure);
}

json_t *shift_figure_line(const char *name, int color)
{
    return json_pack("{ss si s[] s[]}", "name", name, "color", color, "x", "y");
}

void shift_figure_point(json_t *series, double x, double y)
{
    json_array_append_new(json_object_get(series, "x"), bang_json_number(x));
    json_array_append_new(json_object_get(series, "y"), bang_json_number(y));
}

json_t *shift_figure_sets(size_t first)
{
    static const char *const names[] = {"ID", "V2", "R", "A", "S", "O"};
    json_t *out = json_array();
    for (size_t s = first; s < SHIFT_SETS; s++)
        json_array_append_new(out, json_string(names[s]));
    return out;
}

/* A quantity of one method on every set from first on, with intervals. */
static void add_columns(json_t *figure, const json_t *units, const char *name,
                        shift_quantity quantity, const char *member, size_t first, int color)
{
    json_t *values = json_array(), *low = json_array(), *high = json_array();
    size_t known = 0;
    for (size_t set = first; set < SHIFT_SETS; set++) {
        shift_difference d = {quantity, member, set, NULL, 0};
        shift_effect e = shift_effect_of(units, &d);
        json_array_append_new(values, bang_json_number(e.mean));
        json_array_append_new(low, bang_json_number(e.low));
        json_array_append_new(high, bang_json_number(e.high));
        known += e.n > 0;
    }
    json_t *series = json_pack("{ss so si}", "name", name, "values", values, "color", color);
    /* Of a handful of seeds alone: images leave no better bound than the largest spread. */
    if (known && json_array_size(units) >= 3) {
        json_object_set(series, "low", low);
        json_object_set(series, "high", high);
    }
    json_decref(low);
    json_decref(high);
    if (known)
        shift_figure_add(figure, series);
    else
        json_decref(series);
}

static const char *interval_note(const json_t *units)
{
    return json_array_size(units) >= 3 ? " Whiskers: 95 % intervals over seeds." : "";
}

static void show_false_false_true(json_t *show, const json_t *units)
{
    char note[400];
    snprintf(note, sizeof note,
             "Blue: images that PM and FM both get wrong and their average gets right, as a share "
             "of the set. Orange: accuracy of the average over the better of the two.%s",
             interval_note(units));
    json_t *f = shift_figure_begin("columns", "FalseFalseTrue ratio and overall improvement", note);
    shift_figure_label(f, "x_label", "shifted set");
    shift_figure_label(f, "value_label", "share of images");
    json_object_set_new(f, "names", shift_figure_sets(1));
    add_columns(f, units, "FalseFalseTrue ratio", SHIFT_FFT, "vanilla", 1, 0);
    add_columns(f, units, "overall improvement", SHIFT_ALL, "vanilla", 1, 4);
    shift_figure_show(show, f);
}

static void show_contributions(json_t *show, const json_t *units)
{
    char note[400];
    snprintf(note, sizeof note,
             "What the average gains over the better of PM and FM, by the images on which the two "
             "agree (TT+FF) and those that one alone gets right (TF+FT).%s",
             interval_note(units));
    json_t *f = shift_figure_begin("columns", "ImproveContri by group", note);
    shift_figure_label(f, "x_label", "set");
    shift_figure_label(f, "value_label", "contribution to accuracy");
    json_object_set_new(f, "names", shift_figure_sets(0));
    add_columns(f, units, "TT + FF", SHIFT_BOTH, "vanilla", 0, 0);
    add_columns(f, units, "TF + FT", SHIFT_ONE, "vanilla", 0, 4);
    add_columns(f, units, "all", SHIFT_ALL, "vanilla", 0, 6);
    shift_figure_show(show, f);
    f = shift_figure_begin(
        "columns", "FalseFalseTrue and TrueTrueFalse",
        "Averaging corrects what both models get wrong (FFT) and breaks what both get right "
        "(TTF). The paper finds the first far more often, most of all out of distribution.");
    shift_figure_label(f, "x_label", "set");
    shift_figure_label(f, "value_label", "share of images");
    json_object_set_new(f, "names", shift_figure_sets(0));
    add_columns(f, units, "FFT: both wrong, average right", SHIFT_FFT, "vanilla", 0, 0);
    add_columns(f, units, "TTF: both right, average wrong", SHIFT_TTF, "vanilla", 0, 1);
    shift_figure_show(show, f);
}

/* Accuracy over alpha, of weights or outputs. */
static void add_alphas(json_t *figure, const json_t *units, const char *name, const char *method,
                       const char *field, size_t set, int color)
{
    json_t *series = shift_figure_line(name, color);
    int known = 0;
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        double y = shift_mean_alpha(units, method, field, a, set);
        shift_figure_point(series, (double)a / (SHIFT_ALPHAS - 1), y);
        known |= !isnan(y);
    }
    if (known)
        shift_figure_add(figure, series);
    else
        json_decref(series);
}

static void add_fashion_alphas(json_t *figure, const json_t *units, const char *field,
                               const char *name, int color)
{
    double sum[SHIFT_ALPHAS] = {0};
    size_t count = 0;
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *f = json_object_get(json_array_get(units, u), "fashion");
        const json_t *row = json_object_get(f, field);
        if (json_array_size(row) != SHIFT_ALPHAS)
            continue;
        count++;
        for (size_t a = 0; a < SHIFT_ALPHAS; a++)
            sum[a] += json_number_value(json_array_get(row, a));
    }
    if (!count)
        return;
    json_t *series = shift_figure_add(figure, shift_figure_line(name, color));
    for (size_t a = 0; a < SHIFT_ALPHAS; a++)
        shift_figure_point(series, (double)a / (SHIFT_ALPHAS - 1), sum[a] / (double)count);
}

static void show_weights_or_outputs(json_t *show, const json_t *units, const char *prefix)
{
    static const struct {
        const char *method, *field, *name;
        int color;
    } lines[] = {{"vanilla", "wse", "weights (WSE), vanilla", 0},
                 {"vanilla", "ose_alphas", "outputs (OSE), vanilla", 5},
                 {"mixup-ls-10", "wse", "weights, Mixup + LS", 1},
                 {"mixup-ls-10", "ose_alphas", "outputs, Mixup + LS", 4}};
    char title[96];
    snprintf(title, sizeof title, "Weights or outputs, the same labels%s",
             *prefix ? " (LONG)" : "");
    json_t *f = shift_figure_begin(
        "lines", title,
        "OOD accuracy from PM (alpha 0) to FM (alpha 1). The paper expects averages of weights "
        "above averages of outputs.");
    shift_figure_label(f, "x_label", "alpha: weight of the fine-tuned model");
    shift_figure_label(f, "y_label", "OOD accuracy");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char method[64];
        snprintf(method, sizeof method, "%s%s", prefix, lines[i].method);
        add_alphas(f, units, lines[i].name, method, lines[i].field, SHIFT_OOD, lines[i].color);
    }
    shift_figure_show(show, f);
}

static void show_other_labels(json_t *show, const json_t *units)
{
    json_t *f = shift_figure_begin(
        "lines", "Weights or outputs, other labels",
        "Accuracy on Fashion-MNIST with a linear probe of PM. Fine-tuning on digits teaches FM "
        "little that helps here, so the paper expects no gain of WSE over OSE.");
    shift_figure_label(f, "x_label", "alpha: weight of the fine-tuned model");
    shift_figure_label(f, "y_label", "accuracy on Fashion-MNIST");
    add_fashion_alphas(f, units, "wse", "weights (WSE)", 0);
    add_fashion_alphas(f, units, "ose", "outputs (OSE)", 5);
    shift_figure_show(show, f);
}

void shift_figures_averages(json_t *show, const json_t *units)
{
    show_false_false_true(show, units);
    show_contributions(show, units);
    show_weights_or_outputs(show, units, "");
    show_weights_or_outputs(show, units, "long-");
    show_other_labels(show, units);
}

/* ID against OOD along alpha: the picture of WiSE-FT. */
static void add_path(json_t *figure, const json_t *units, const char *name, const char *method,
                     const char *field, int color, int labels)
{
    json_t *line = shift_figure_line(name, color), *points = shift_figure_line(name, color);
    json_t *names = json_array();
    int known = 0;
    for (size_t a = 0; a < SHIFT_ALPHAS; a++) {
        double x = shift_mean_alpha(units, method, field, a, 0);
        double y = shift_mean_alpha(units, method, field, a, SHIFT_OOD);
        char label[24];
        if (isnan(x) || isnan(y))
            continue;
        known = 1;
        snprintf(label, sizeof label, "%s%.1f", a ? "" : "PM, ", (double)a / (SHIFT_ALPHAS - 1));
        shift_figure_point(line, x, y);
        shift_figure_point(points, x, y);
        int beside = labels && a % 5 == 0;
        json_array_append_new(names, beside || !labels ? json_string(label) : json_null());
    }
    json_object_set_new(points, "points", json_true());
    json_object_set_new(points, "labels", names);
    json_object_set_new(points, "beside", json_boolean(labels));
    if (known) {
        shift_figure_add(figure, line);
        shift_figure_add(figure, points);
        return;
    }
    json_decref(line);
    json_decref(points);
}

static void show_path(json_t *show, const json_t *units, const char *prefix)
{
    char vanilla[64], bang[64], title[96];
    int is_long = *prefix != 0;
    snprintf(vanilla, sizeof vanilla, "%svanilla", prefix);
    snprintf(bang, sizeof bang, "%smixup-ls-10", prefix);
    snprintf(title, sizeof title, "From PM to FM: ID against OOD%s", is_long ? " (LONG)" : "");
    json_t *f =
        shift_figure_begin("lines", title,
                           "Every point is an alpha from 0 (PM) to 1 (FM), a tenth apart. The "
                           "higher and the further to the right a path, the better.");
    shift_figure_label(f, "x_label", "accuracy in distribution (ID)");
    shift_figure_label(f, "y_label", "OOD accuracy");
    json_object_set_new(f, "x_percent", json_true());
    add_path(f, units, "weights, vanilla (WiSE-FT)", vanilla, "wse", 0, 1);
    add_path(f, units, "outputs, vanilla", vanilla, "ose_alphas", 5, 0);
    add_path(f, units, "weights, Mixup + LS (BANG)", bang, "wse", 1, 0);
    add_path(f, units, "outputs, Mixup + LS", bang, "ose_alphas", 4, 0);
    shift_figure_show(show, f);
}

static void show_alphas(json_t *show, const json_t *units, const char *prefix)
{
    static const char *const methods[] = {"vanilla", "ls-10", "mixup", "mixup-ls-10", "color"};
    static const int colors[] = {0, 5, 4, 1, 6};
    char title[96];
    snprintf(title, sizeof title, "OOD accuracy along alpha%s", *prefix ? " (LONG)" : "");
    json_t *f = shift_figure_begin("lines", title,
                                   "Averages of weights. The best alpha is nearer to PM the more "
                                   "over-confident FM is; WiSE-FT and BANG take 1/2.");
    shift_figure_label(f, "x_label", "alpha: weight of the fine-tuned model");
    shift_figure_label(f, "y_label", "OOD accuracy");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char name[96], text[SHIFT_TITLE];
        snprintf(name, sizeof name, "%s%s", prefix, methods[i]);
        add_alphas(f, units, shift_title(text, name), name, "wse", SHIFT_OOD, colors[i]);
    }
    shift_figure_show(show, f);
}

/* Where a constant stands as a reference. */
static void add_level(json_t *figure, const char *name, double y, int color)
{
    if (isnan(y))
        return;
    json_t *series = shift_figure_add(figure, shift_figure_line(name, color));
    shift_figure_point(series, 0, y);
    shift_figure_point(series, .2, y);
}

static void add_strengths(json_t *figure, const json_t *units, const char *name, const char *none,
                          const char *stem, int color)
{
    static const char *const tails[] = {"05", "10", "15", "20"};
    json_t *series = shift_figure_line(name, color), *errors = json_array();
    size_t known = 0;
    for (size_t i = 0; i <= sizeof tails / sizeof *tails; i++) {
        char member[96];
        if (i == 0)
            snprintf(member, sizeof member, "%s/avg", none);
        else
            snprintf(member, sizeof member, "%s-%s/avg", stem, tails[i - 1]);
        shift_difference d = {SHIFT_ACCURACY, member, SHIFT_OOD, NULL, 0};
        shift_effect e = shift_effect_of(units, &d);
        if (!e.n)
            continue;
        shift_figure_point(series, .05 * (double)i, e.mean);
        json_array_append_new(errors, bang_json_number(e.n > 1 ? e.sd / sqrt((double)e.n) : 0.0));
        known++;
    }
    json_object_set_new(series, "error", errors);
    if (known > 1)
        shift_figure_add(figure, series);
    else
        json_decref(series);
}

static void show_strengths(json_t *show, const json_t *units)
{
    json_t *f = shift_figure_begin(
        "lines", "Strength of label smoothing",
        "OOD accuracy of averages at alpha 1/2; 0: no smoothing. Bars: standard errors over seeds. "
        "The flatter a line, the less the choice matters.");
    shift_figure_label(f, "x_label", "label smoothing");
    shift_figure_label(f, "y_label", "OOD accuracy");
    add_strengths(f, units, "LS", "vanilla", "ls", 0);
    add_strengths(f, units, "Mixup + LS", "mixup", "mixup-ls", 1);
    if (json_array_size(json_object_get(f, "series"))) {
        add_level(f, "PM", shift_mean(units, SHIFT_ACCURACY, "pre", SHIFT_OOD), 6);
        add_level(f, "WiSE-FT", shift_mean(units, SHIFT_ACCURACY, "vanilla/avg", SHIFT_OOD), 2);
    }
    shift_figure_show(show, f);
}

/* What each method adds to WiSE-FT, with its interval. */
static void show_gains(json_t *show, const json_t *units)
{
    static const char *const methods[] = {"ls-10", "mixup",  "mixup-ls-10",
                                          "flip",  "rotate", "color"};
    json_t *names = json_array();
    json_t *values[2], *low[2], *high[2];
    static const char *const prefixes[] = {"", "long-"};
    size_t known[2] = {0, 0};
    for (int r = 0; r < 2; r++)
        values[r] = json_array(), low[r] = json_array(), high[r] = json_array();
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        shift_effect e[2];
        char title[SHIFT_TITLE];
        for (int r = 0; r < 2; r++) {
            char a[96], b[96];
            snprintf(a, sizeof a, "%s%s/avg", prefixes[r], methods[i]);
            snprintf(b, sizeof b, "%svanilla/avg", prefixes[r]);
            shift_difference d = {SHIFT_ACCURACY, a, SHIFT_OOD, b, SHIFT_OOD};
            e[r] = shift_effect_of(units, &d);
        }
        if (!e[0].n && !e[1].n)
            continue;
        json_array_append_new(names, json_string(shift_title(title, methods[i])));
        for (int r = 0; r < 2; r++) {
            json_array_append_new(values[r], bang_json_number(e[r].mean));
            json_array_append_new(low[r], bang_json_number(e[r].low));
            json_array_append_new(high[r], bang_json_number(e[r].high));
            known[r] += e[r].n > 0;
        }
    }
    json_t *f =
        shift_figure_begin("columns", "What each way of fine-tuning adds to WiSE-FT",
                           "OOD accuracy of the average less that of the vanilla one, with 95 % "
                           "intervals of the paired difference.");
    shift_figure_label(f, "x_label", "fine-tuning");
    shift_figure_label(f, "value_label", "difference in OOD accuracy");
    json_object_set_new(f, "names", names);
    for (int r = 0; r < 2; r++) {
        json_t *series = json_pack("{ss so so so si}", "name", r ? "LONG" : "MAIN", "values",
                                   values[r], "low", low[r], "high", high[r], "color", r ? 4 : 0);
        if (known[r])
            shift_figure_add(f, series);
        else
            json_decref(series);
    }
    shift_figure_show(show, f);
}

void shift_figures_bang(json_t *show, const json_t *units)
{
    show_gains(show, units);
    show_path(show, units, "");
    show_path(show, units, "long-");
    show_alphas(show, units, "");
    show_alphas(show, units, "long-");
    show_strengths(show, units);
}
