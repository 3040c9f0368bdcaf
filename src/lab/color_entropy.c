/* The same networks trained with cross-entropy. Its networks differ widely in
 * how large their outputs are, so that a sum of outputs follows the loudest:
 * section 4's over-confidence in the small. Dividing each network's outputs by
 * their scale in distribution is what balances the two. */
#include <math.h>
#include <stdio.h>

#include "lab/color_show.h"

enum { QUICK_SEEDS = 4, QUICK_MODELS = 4, KINDS = 4 };

static const char *const kind_names[KINDS] = {"single network", "ensemble (sum of outputs)",
                                              "ensemble, scales balanced",
                                              "ensemble of probabilities"};

typedef struct task {
    const color_plan *plan;
    json_t *units;
} task;

static void show_table(json_t *show, const task *t, const color_column kinds[KINDS],
                       const color_column gains[KINDS])
{
    static const char *const names[] = {"p",    "single network", "mean", "gain", "mean",
                                        "gain", "mean",           "gain", NULL};
    char note[320];
    snprintf(note, sizeof note,
             "Means over %zu networks and %zu pairs (%zu seeds). gain: over the mean of the pair's "
             "two networks, with its standard error. Balanced: each network's outputs are divided "
             "by their root mean square on images in distribution.",
             kinds[0].n, kinds[1].n, t->plan->seeds);
    json_t *table =
        lab_table("MultiColorMNIST with cross-entropy: ensembles of two, per cent", names, note);
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si][si]]", "", 1, "", 1, "sum of outputs", 2,
                                  "scales balanced", 2, "probabilities", 2));
    json_object_set_new(table, "decimals", json_pack("[iiiiiiii]", 2, 2, 2, 2, 2, 2, 2, 2));
    for (size_t p = 1; p < COLOR_SHIFTS; p++) {
        json_t *row = json_pack("[ff]", color_shifts[p], 100 * kinds[0].mean[p]);
        for (int k = 1; k < KINDS; k++) {
            char gain[48];
            int sure = isfinite(gains[k].error[p]);
            snprintf(gain, sizeof gain, sure ? "%+.2f \u00b1 %.2f" : "%+.2f",
                     100 * gains[k].mean[p], 100 * gains[k].error[p]);
            json_array_append_new(row, bang_json_number(100 * kinds[k].mean[p]));
            json_array_append_new(row, gains[k].n ? json_string(gain) : json_null());
        }
        lab_table_row(table, row);
    }
    json_array_append_new(show, table);
}

/* Smallest, middle and largest scale of all networks. */
static void scale_range(double out[2], const json_t *units)
{
    out[0] = INFINITY;
    out[1] = 0;
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *scales = json_object_get(json_array_get(units, u), "scale");
        for (size_t i = 0; i < json_array_size(scales); i++) {
            double scale = json_number_value(json_array_get(scales, i));
            out[0] = fmin(out[0], scale);
            out[1] = fmax(out[1], scale);
        }
    }
}

static void show_verdicts(json_t *show, const color_column gains[KINDS], const double range[2])
{
    size_t p = color_shift_index(0.8);
    char because[320];
    if (!isfinite(gains[1].error[p]))
        return; /* too few pairs to say */
    double plain = gains[1].mean[p], balanced = gains[2].mean[p];
    snprintf(because, sizeof because,
             "at p = 0.8 the sum of two networks' outputs changes accuracy by %+.2f \u00b1 %.2f "
             "points over their mean (holds above 2 standard errors, does not below -2); the "
             "largest outputs of a network are %.1f times those of another",
             100 * plain, 100 * gains[1].error[p], range[1] / range[0]);
    lab_show_item(show, "Beyond the paper", "Ensembles also help when training with cross-entropy",
                  plain > 2 * gains[1].error[p]    ? "yes"
                  : plain < -2 * gains[1].error[p] ? "no"
                                                   : "open",
                  because);
    snprintf(because, sizeof because,
             "at p = 0.8: %+.2f \u00b1 %.2f points with balanced scales, %+.2f without (holds when "
             "balanced is above 2 standard errors and above the sum)",
             100 * balanced, 100 * gains[2].error[p], 100 * plain);
    lab_show_item(show, "Beyond the paper",
                  "Balancing two networks' scale restores the ensemble's gain",
                  balanced > 2 * gains[2].error[p] && balanced > plain ? "yes"
                  : balanced > plain                                   ? "open"
                                                                       : "no",
                  because);
}

static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    task *t = context;
    color_column kinds[KINDS], gains[KINDS] = {0};
    double range[2];
    (void)err;
    color_collect(&kinds[0], t->units, "models", 0, 0, 1);
    color_collect(&kinds[1], t->units, "ensembles", 2, 0, 1);
    color_collect(&kinds[2], t->units, "balanced", 0, 0, 1);
    color_collect(&kinds[3], t->units, "probabilities", 0, 0, 1);
    color_collect_gain(&gains[1], t->units, "ensembles");
    color_collect_gain(&gains[2], t->units, "balanced");
    color_collect_gain(&gains[3], t->units, "probabilities");
    scale_range(range, t->units);
    color_result(result, t->units, t->plan->models);
    json_object_set_new(result, "balanced", color_column_json(&kinds[2]));
    json_object_set_new(result, "probabilities", color_column_json(&kinds[3]));
    json_object_set_new(result, "scale",
                        json_pack("[oo]", bang_json_number(range[0]), bang_json_number(range[1])));
    lab_show_text(show,
                  "The paper does not say which loss it used here; its numbers come from squared "
                  "error. With cross-entropy the networks are the same but for the loss. Squared "
                  "error pins every network's outputs to 0 and 1; cross-entropy lets them grow, "
                  "and some grow much larger than others. The sum of two then mostly repeats the "
                  "louder network: the paper's own account of over-confidence, for which it "
                  "invented balanced averaging.");
    show_table(show, t, kinds, gains);
    json_t *chart = color_chart("Cross-entropy: accuracy against shift",
                                "Bars: one standard error of the mean.");
    for (int k = 0; k < KINDS; k++)
        json_array_append_new(json_object_get(chart, "series"),
                              color_series(kind_names[k], &kinds[k], k, 0));
    json_array_append_new(show, chart);
    show_verdicts(show, gains, range);
    return 0;
}

color_plan color_entropy_plan(const bang_lab_options *options)
{
    color_plan plan = color_plan_make(options, 0, QUICK_SEEDS, QUICK_MODELS);
    plan.loss = BANG_CROSS_ENTROPY;
    return plan;
}

int color_run_entropy(json_t *result, size_t before, const bang_mnist *mnist,
                      const bang_lab_options *options, bang_error *err)
{
    color_plan plan = color_entropy_plan(options);
    plan.before = before;
    task t = {&plan, NULL};
    static const char key[] = "multicolor/cross-entropy";
    json_t *summary = NULL;
    int rc = color_units(&t.units, &plan, key, mnist, options, err);
    if (rc < 0)
        return rc;
    rc = lab_measure(&summary,
                     (lab_measurement){"multicolor", color_section(&plan), key,
                                       color_plan_options(&plan, mnist->digest), measure, &t},
                     options, err);
    if (rc == 0)
        json_object_set_new(result, "cross_entropy", summary);
    json_decref(t.units);
    return rc;
}
