/* Tables on single questions: outputs or weights, calibration, re-scaling, balance, the curve. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/shift_show.h"

static const char *const usual[] = {"vanilla",      "ls-10",      "mixup",      "mixup-ls-10",
                                    "long-vanilla", "long-ls-10", "long-mixup", "long-mixup-ls-10"};
enum { USUAL = sizeof usual / sizeof *usual };

static shift_effect ood(const json_t *units, const char *method, const char *kind,
                        const char *against)
{
    char a[96], b[96];
    snprintf(a, sizeof a, "%s/%s", method, kind);
    snprintf(b, sizeof b, "%s/%s", method, against ? against : "");
    shift_difference d = {SHIFT_ACCURACY, a, SHIFT_OOD, against ? b : NULL, SHIFT_OOD};
    return shift_effect_of(units, &d);
}

static double mean_of(const json_t *units, shift_quantity quantity, const char *method,
                      const char *kind, size_t set)
{
    char member[96];
    snprintf(member, sizeof member, "%s/%s", method, kind);
    return shift_mean(units, quantity, member, set);
}

/* Shows a table that has rows. */
static void finish(json_t *show, json_t *table, json_t *decimals)
{
    json_object_set_new(table, "decimals", decimals);
    if (json_array_size(json_object_get(table, "rows")))
        json_array_append_new(show, table);
    else
        json_decref(table);
}

const char *shift_fashion_missing(const json_t *units)
{
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *fashion = json_object_get(json_array_get(units, u), "fashion");
        const json_t *missing = json_object_get(fashion, "missing");
        if (json_is_string(missing))
            return json_string_value(missing);
    }
    return NULL;
}

static void show_fashion(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"", "PM", "FM", "WSE", "OSE", "WSE \u2212 OSE", NULL};
    shift_difference difference = {SHIFT_FASHION, "wse", 0, "ose", 0};
    shift_effect e = shift_effect_of(units, &difference);
    const char *missing = shift_fashion_missing(units);
    if (!e.n && missing)
        lab_show_text(show, missing);
    if (!e.n)
        return;
    double ends[2] = {0, 0};
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *f = json_object_get(json_array_get(units, u), "fashion");
        if (!json_is_array(json_object_get(f, "wse")))
            continue;
        ends[0] += json_number_value(json_object_get(f, "pre")) / (double)e.n;
        ends[1] += json_number_value(json_object_get(f, "fine")) / (double)e.n;
    }
    json_t *table =
        lab_table("Another task: accuracy on Fashion-MNIST, per cent", columns,
                  "A linear probe on PM's features serves all four towers; alpha is 1/2.");
    lab_table_row(table, json_pack("[sooooo]", "Fashion-MNIST", shift_percent(ends[0]),
                                   shift_percent(ends[1]),
                                   shift_percent(shift_mean(units, SHIFT_FASHION, "wse", 0)),
                                   shift_percent(shift_mean(units, SHIFT_FASHION, "ose", 0)),
                                   shift_interval_cell(&e)));
    finish(show, table, json_pack("[niiiin]", 1, 1, 1, 1));
}

void shift_tables_averages(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"fine-tuning",
                                          "PM",
                                          "FM",
                                          "WSE",
                                          "OSE of logits",
                                          "OSE of probabilities",
                                          "calibrated OSE",
                                          "WSE \u2212 OSE",
                                          "seeds above 0",
                                          NULL};
    json_t *table = lab_table(
        "Averaging weights or outputs: OOD accuracy, per cent", columns,
        "WSE: average of the weights; OSE: of the outputs; calibrated: of the outputs, each "
        "divided by a temperature that was fitted on ID validation images. All at alpha 1/2.");
    for (size_t i = 0; i < USUAL; i++) {
        char title[SHIFT_TITLE];
        shift_effect e = ood(units, usual[i], "avg", "ose");
        if (!e.n)
            continue;
        json_t *row = json_array();
        json_array_append_new(row, json_string(shift_title(title, usual[i])));
        json_array_append_new(row,
                              shift_percent(shift_mean(units, SHIFT_ACCURACY, "pre", SHIFT_OOD)));
        static const char *const kinds[] = {"fine", "avg", "ose", "ose_probabilities",
                                            "calibrated_ose"};
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            json_array_append_new(
                row, shift_percent(mean_of(units, SHIFT_ACCURACY, usual[i], kinds[k], SHIFT_OOD)));
        json_array_append_new(row, shift_interval_cell(&e));
        json_array_append_new(row, shift_seeds_cell(&e));
        lab_table_row(table, row);
    }
    finish(show, table, json_pack("[niiiiiinn]", 1, 1, 1, 1, 1, 1));
    show_fashion(show, units);
}

static void add_calibration_row(json_t *table, const json_t *units, const char *title,
                                const char *member)
{
    static const shift_quantity what[] = {SHIFT_ACCURACY, SHIFT_CONFIDENCE, SHIFT_OVER, SHIFT_ECE};
    if (isnan(shift_mean(units, SHIFT_CONFIDENCE, member, SHIFT_OOD)))
        return;
    json_t *row = json_array();
    json_array_append_new(row, json_string(title));
    for (int side = 0; side < 2; side++)
        for (size_t q = 0; q < sizeof what / sizeof *what; q++) {
            double value = shift_mean(units, what[q], member, side ? SHIFT_OOD : 0);
            char points[SHIFT_POINTS];
            json_array_append_new(row, what[q] == SHIFT_OVER
                                           ? json_string(shift_points(points, value, 1))
                                           : shift_percent(value));
        }
    lab_table_row(table, row);
}

static void show_calibration(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"model",    "accuracy",   "confidence", "over", "ECE",
                                          "accuracy", "confidence", "over",       "ECE",  NULL};
    static const char *const methods[] = {
        "vanilla",     "ls-05",       "ls-10",           "ls-15", "ls-20",  "mixup", "mixup-ls-05",
        "mixup-ls-10", "mixup-ls-15", "mixup-ls-20",     "flip",  "rotate", "color", "long-vanilla",
        "long-ls-10",  "long-mixup",  "long-mixup-ls-10"};
    json_t *table =
        lab_table("Confidence and accuracy, per cent", columns,
                  "Over: confidence less accuracy, points. ECE: expected calibration error, 15 "
                  "bins. Temperature: fitted on ID validation images. OOD: mean over five sets.");
    json_object_set_new(table, "groups", json_pack("[[si][si][si]]", "", 1, "ID", 4, "OOD", 4));
    add_calibration_row(table, units, "PM", "pre");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char title[SHIFT_TITLE], text[SHIFT_TITLE + 32], member[96];
        shift_title(title, methods[i]);
        snprintf(text, sizeof text, "FM %s", title);
        snprintf(member, sizeof member, "%s/fine", methods[i]);
        add_calibration_row(table, units, text, member);
        int plain = strstr(methods[i], "vanilla") != NULL;
        snprintf(text, sizeof text, "FM %s, temperature", title);
        snprintf(member, sizeof member, "%s/fine_calibrated", methods[i]);
        if (plain)
            add_calibration_row(table, units, text, member);
    }
    finish(show, table, json_pack("[niiiiiiii]", 1, 1, 1, 1, 1, 1, 1, 1));
}

/* Table 10: Exp 1, Exp 2 and BANG. */
static void show_rescaled(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"recipe",
                                          "WiSE-FT",
                                          "Exp 1",
                                          "Exp 2",
                                          "BANG",
                                          "Exp 1, alpha from other seeds",
                                          "Exp 2, alpha from other seeds",
                                          NULL};
    static const char *const bases[] = {"vanilla", "long-vanilla"};
    static const char *const bangs[] = {"mixup-ls-10", "long-mixup-ls-10"};
    static const char *const kinds[] = {"avg", "exp1", "exp2"};
    static const char *const others[] = {"exp1-others", "exp2-others"};
    json_t *table = lab_table(
        "Re-scaling the fine-tuned model: OOD accuracy, per cent (the paper's table 10)", columns,
        "Exp 1 re-scales the change of the classifier alone, Exp 2 that of all weights. As in the "
        "paper, each takes the best alpha of 0.2, 0.3, 0.4, 0.5 for each set by its test labels: "
        "0.5 is WiSE-FT, so neither can lose. The last two columns choose by the other seeds. "
        "BANG: Mixup + LS.");
    for (size_t i = 0; i < 2; i++) {
        if (!ood(units, bases[i], "avg", NULL).n)
            continue;
        json_t *row = json_array();
        json_array_append_new(row, json_string(i ? "LONG" : "MAIN"));
        for (size_t k = 0; k < 3; k++)
            json_array_append_new(
                row, shift_percent(mean_of(units, SHIFT_ACCURACY, bases[i], kinds[k], SHIFT_OOD)));
        json_array_append_new(
            row, shift_percent(mean_of(units, SHIFT_ACCURACY, bangs[i], "avg", SHIFT_OOD)));
        for (size_t k = 0; k < 2; k++)
            json_array_append_new(
                row, shift_percent(mean_of(units, SHIFT_ACCURACY, bases[i], others[k], SHIFT_OOD)));
        lab_table_row(table, row);
    }
    lab_table_row(table, json_pack("[sffffnn]", "the paper", shift_paper_rescaled[0],
                                   shift_paper_rescaled[1], shift_paper_rescaled[2],
                                   shift_paper_rescaled[3]));
    finish(show, table, json_pack("[niiiiii]", 1, 1, 1, 1, 1, 1));
}

/* Table 11: what the average corrects of images that PM alone has right. */
static void show_corrected(json_t *show, const json_t *units)
{
    static const char *const columns[] = {"", "this lab", "this lab, LONG", "the paper", NULL};
    static const char *const methods[2][2] = {{"vanilla", "long-vanilla"},
                                              {"mixup-ls-10", "long-mixup-ls-10"}};
    if (isnan(shift_mean(units, SHIFT_CORRECTED, "vanilla", SHIFT_OOD)))
        return;
    json_t *table =
        lab_table("N1/N2: share of images that PM alone has right and the average, too, per cent "
                  "(the paper's table 11)",
                  columns, "Mean over the five shifted sets.");
    for (size_t i = 0; i < 2; i++)
        lab_table_row(
            table,
            json_pack("[sooo]", i ? "BANG (Mixup + LS)" : "WiSE-FT",
                      shift_percent(shift_mean(units, SHIFT_CORRECTED, methods[i][0], SHIFT_OOD)),
                      shift_percent(shift_mean(units, SHIFT_CORRECTED, methods[i][1], SHIFT_OOD)),
                      json_real(shift_paper_corrected[i])));
    finish(show, table, json_pack("[niii]", 2, 2, 1));
}

/* The alpha that a search found, mean over units; NaN for layers, each of which has one, and for
 * Exp 2, where each set has. */
static double found_alpha(const json_t *units, const char *method, const char *kind)
{
    double sum = 0, count = 0;
    if (strcmp(kind, "avg") == 0)
        return .5;
    if (strcmp(kind, "id-alpha") == 0)
        return shift_mean_validated(units, method);
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *m =
            json_object_get(json_object_get(json_array_get(units, u), "methods"), method);
        const json_t *found = json_object_get(json_object_get(m, "balance"), kind);
        const json_t *alpha = json_object_get(found, "alpha");
        sum += json_number_value(alpha);
        count += json_is_number(alpha);
    }
    return sum / count;
}

static void show_balance(json_t *show, const json_t *units, const char *base, const char *bang)
{
    static const char *const columns[] = {"alpha by",        "alpha",         "ID", "OOD",
                                          "OOD against 1/2", "seeds above 0", NULL};
    static const struct {
        const char *kind, *title;
    } kinds[] = {
        {"avg", "1/2 (WiSE-FT)"},
        {"id-alpha", "accuracy on ID validation"},
        {"confidence-id", "equal confidence on ID images"},
        {"confidence-ood", "equal confidence on unlabelled OOD images"},
        {"confidence-root-id", "equal confidence on ID images, square root"},
        {"confidence-root-ood", "equal confidence on unlabelled OOD images, square root"},
        {"layer-confidence-id", "the same per layer, ID images"},
        {"layer-confidence-ood", "the same per layer, unlabelled OOD images"},
        {"exp2-others", "Exp 2, OOD labels of the other seeds"},
        {"exp2", "Exp 2, OOD test labels (oracle)"},
    };
    char title[120], bang_avg[96], base_avg[96];
    int is_long = strncmp(base, "long-", 5) == 0;
    snprintf(title, sizeof title, "How much of the fine-tuned change: accuracy, per cent%s",
             is_long ? " (LONG)" : "");
    json_t *table = lab_table(
        title, columns,
        "Equal confidence: with tau the temperature that makes FM as confident as PM, alpha "
        "is 1/(1 + tau), 1/(1 + sqrt tau) for the square root, or so for every layer. It "
        "needs no labels of OOD images.");
    if (isnan(found_alpha(units, base, "confidence-id"))) {
        json_decref(table);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        shift_effect e = ood(units, base, kinds[i].kind, "avg");
        if (!e.n)
            continue;
        double alpha = found_alpha(units, base, kinds[i].kind);
        lab_table_row(
            table,
            json_pack("[sooooo]", kinds[i].title, bang_json_number(alpha),
                      shift_percent(mean_of(units, SHIFT_ACCURACY, base, kinds[i].kind, 0)),
                      shift_percent(mean_of(units, SHIFT_ACCURACY, base, kinds[i].kind, SHIFT_OOD)),
                      i ? shift_interval_cell(&e) : json_null(),
                      i ? shift_seeds_cell(&e) : json_null()));
    }
    snprintf(bang_avg, sizeof bang_avg, "%s/avg", bang);
    snprintf(base_avg, sizeof base_avg, "%s/avg", base);
    shift_difference d = {SHIFT_ACCURACY, bang_avg, SHIFT_OOD, base_avg, SHIFT_OOD};
    shift_effect e = shift_effect_of(units, &d);
    if (e.n)
        lab_table_row(
            table, json_pack("[sfoooo]", "1/2, fine-tuned with Mixup + LS (BANG)", .5,
                             shift_percent(shift_mean(units, SHIFT_ACCURACY, bang_avg, 0)),
                             shift_percent(shift_mean(units, SHIFT_ACCURACY, bang_avg, SHIFT_OOD)),
                             shift_interval_cell(&e), shift_seeds_cell(&e)));
    finish(show, table, json_pack("[niiinn]", 2, 1, 1));
}

void shift_tables_calibration(json_t *show, const json_t *units)
{
    show_calibration(show, units);
    show_rescaled(show, units);
    show_corrected(show, units);
    show_balance(show, units, "vanilla", "mixup-ls-10");
    show_balance(show, units, "long-vanilla", "long-mixup-ls-10");
}

void shift_tables_curve(json_t *show, const json_t *units)
{
    static const char *const columns[] = {
        "average of PM and", "FM", "average", "curve", "above it", "error", "p", "remark", NULL};
    json_t *table =
        lab_table("BANG against the curve: OOD accuracy, per cent", columns,
                  "Above it: average less curve, points; error: standard error of a "
                  "new point, from how the grid scatters about the curve on the one seed "
                  "that has it: other seeds may differ by more; p of a two-sided t "
                  "test.");
    for (size_t u = 0; u < json_array_size(units); u++)
        for (size_t i = 0; i < USUAL; i++) {
            char title[SHIFT_TITLE], avg[96], points[SHIFT_POINTS];
            bang_curve_residual r;
            double x;
            if (strstr(usual[i], "vanilla") || shift_curve_compare(&r, &x, units, u, usual[i]) < 0)
                continue;
            snprintf(avg, sizeof avg, "%s/avg", usual[i]);
            double y = shift_read(units, u, SHIFT_ACCURACY, avg, SHIFT_OOD);
            lab_table_row(table,
                          json_pack("[sooosoos]", shift_title(title, usual[i]), shift_percent(x),
                                    shift_percent(y), shift_percent(y - r.residual),
                                    shift_points(points, r.residual, 2),
                                    shift_percent(r.standard_error), bang_json_number(r.p),
                                    r.outside ? "beyond the grid" : "within the grid"));
        }
    json_object_set_new(table, "digits", json_pack("[nnnnnnin]", 2));
    finish(show, table, json_pack("[niiininn]", 1, 1, 1, 2));
}
