/* Which patches networks use (figure 11), and what the theory says
 * of networks that use so many of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bang/explain/occlusion.h"
#include "lab/color_show.h"
#include "lab/pair.h"

enum {
    QUICK_SEEDS = 4,
    MODELS = 2,
    GRID = 6,
    CELLS = GRID * GRID,
    MASKS = 2, /* the digit; all patches */
    MEMBERS = 3,
};

static const char figure_item[] = "Figure 11 (appendix C.3)";
static const char *const member_names[MEMBERS] = {"model 1", "model 2", "ensemble"};
/* A patch is black in one class of ten, and then nothing changes. */
static const double visible_patches = BANG_COLOR_PATCHES * 0.9;

static void fill_masks(uint8_t masks[MASKS][CELLS])
{
    memset(masks[0], 1, CELLS); /* what is no patch is the digit */
    memset(masks[1], 0, CELLS);
    for (int i = 0; i < BANG_COLOR_PATCHES; i++) {
        int row, column;
        bang_color_cell(i, &row, &column);
        masks[0][row * GRID + column] = 0;
        masks[1][row * GRID + column] = 1;
    }
}

/* The changes of the patches alone, so that the digit's cells do not count. */
static void keep_patches(bang_occlusion *o, const uint8_t *is_patch)
{
    for (size_t m = 0; m < o->members; m++)
        for (size_t cell = 0; cell < CELLS; cell++)
            for (size_t c = 0; c < o->classes && !is_patch[cell]; c++)
                o->change[(m * o->masks + cell) * o->classes + c] = 0;
}

static json_t *member_json(const bang_occlusion *o, size_t m)
{
    json_t *map = json_array();
    for (size_t row = 0; row < GRID; row++) {
        json_t *line = json_array();
        for (size_t column = 0; column < GRID; column++)
            json_array_append_new(
                line, bang_json_number(bang_occlusion_change(o, m, row * GRID + column)));
        json_array_append_new(map, line);
    }
    const double *accuracy = o->accuracy + m * (o->masks + 1);
    return json_pack("{ss so so so so so}", "name", member_names[m], "change", map, "effective",
                     bang_json_number(bang_occlusion_effective_cells(o, m, CELLS)), "accuracy",
                     bang_json_number(accuracy[o->masks]), "without_digit",
                     bang_json_number(accuracy[CELLS]), "without_patches",
                     bang_json_number(accuracy[CELLS + 1]));
}

/* color_plan.inspect: adds {"occlusion": {"members": [..], "shared"}}. */
static int inspect(json_t *result, const bang_mlp *const *models, size_t count,
                   const bang_array *images, const int64_t *labels, bang_error *err)
{
    uint8_t masks[MASKS][CELLS];
    bang_occlusion o;
    fill_masks(masks);
    bang_occlusion_grid grid = {GRID, GRID, MASKS, masks[0]};
    int rc = bang_occlusion_run(&o, models, count, images, labels, &grid, NULL, err);
    if (rc < 0)
        return rc;
    keep_patches(&o, masks[1]);
    json_t *members = json_array();
    for (size_t m = 0; m < o.members && m < MEMBERS; m++)
        json_array_append_new(members, member_json(&o, m));
    json_object_set_new(result, "occlusion",
                        json_pack("{so so}", "members", members, "shared",
                                  bang_json_number(bang_occlusion_shared_cells(&o, 0, 1, CELLS))));
    bang_occlusion_release(&o);
    return 0;
}

typedef struct task {
    const color_plan *plan;
    json_t *units;
} task;

static const json_t *occlusion_of(const task *t, size_t unit)
{
    return json_object_get(json_array_get(t->units, unit), "occlusion");
}

static double number_of(const task *t, size_t unit, size_t member, const char *name)
{
    const json_t *members = json_object_get(occlusion_of(t, unit), "members");
    return json_number_value(json_object_get(json_array_get(members, member), name));
}

static double mean_of(const task *t, size_t member, const char *name)
{
    double sum = 0;
    for (size_t u = 0; u < t->plan->seeds; u++)
        sum += number_of(t, u, member, name);
    return sum / (double)t->plan->seeds;
}

static double mean_shared(const task *t)
{
    double sum = 0;
    for (size_t u = 0; u < t->plan->seeds; u++)
        sum += json_number_value(json_object_get(occlusion_of(t, u), "shared"));
    return sum / (double)t->plan->seeds;
}

static void show_maps(json_t *show, const task *t)
{
    json_t *members = json_object_get(occlusion_of(t, 0), "members"), *panels = json_array();
    json_t *ticks = json_pack("[iiiiii]", 1, 2, 3, 4, 5, 6);
    for (size_t m = 0; m < json_array_size(members); m++) {
        json_t *map = json_deep_copy(json_object_get(json_array_get(members, m), "change"));
        for (size_t row = 2; row < 4; row++) /* the digit is no patch */
            for (size_t column = 2; column < 4; column++)
                json_array_set_new(json_array_get(map, row), column, json_null());
        json_array_append_new(panels,
                              json_pack("{ss so}", "title", member_names[m], "values", map));
    }
    json_array_append_new(
        show,
        json_pack(
            "{ss ss ss ss ss ss sb sb sO sO so}", "kind", "heat", "title",
            "How much each patch matters (first seed)", "x_label", "column", "y_label", "row",
            "value_label", "change of the output", "note",
            "Mean absolute change of the true class's output when the patch is made black. The "
            "digit in the middle is left out.",
            "sequential", 1, "top_down", 1, "x", ticks, "y", ticks, "panels", panels));
    json_decref(ticks);
}

static void show_counts(json_t *show, const task *t)
{
    static const char *const names[] = {"",
                                        "effective number of patches",
                                        "accuracy in distribution",
                                        "with the digit black",
                                        "with all patches black",
                                        NULL};
    char note[400];
    snprintf(note, sizeof note,
             "Means over %zu pairs; accuracies in per cent. Effective number: (sum a)^2 / sum a^2 "
             "of the patches' changes a, per class; with all equal it would be %.1f, as a patch is "
             "black in one class of ten. Two networks share about %.1f.",
             t->plan->seeds, visible_patches, mean_shared(t));
    json_t *table = lab_table("How many patches count", names, note);
    json_object_set_new(table, "decimals", json_pack("[iiiii]", 0, 1, 1, 1, 1));
    for (size_t m = 0; m < MEMBERS; m++)
        lab_table_row(table, json_pack("[soooo]", member_names[m],
                                       bang_json_number(mean_of(t, m, "effective")),
                                       bang_json_number(100 * mean_of(t, m, "accuracy")),
                                       bang_json_number(100 * mean_of(t, m, "without_digit")),
                                       bang_json_number(100 * mean_of(t, m, "without_patches"))));
    json_array_append_new(show, table);
}

static void show_claims(json_t *show, const task *t)
{
    size_t more = 0;
    for (size_t u = 0; u < t->plan->seeds; u++) {
        double ensemble = number_of(t, u, 2, "effective");
        more += ensemble > number_of(t, u, 0, "effective") &&
                ensemble > number_of(t, u, 1, "effective");
    }
    double one = (mean_of(t, 0, "effective") + mean_of(t, 1, "effective")) / 2;
    char because[240];
    if (t->plan->seeds < 3)
        return; /* too few to say */
    snprintf(because, sizeof because,
             "in %zu of %zu pairs the ensemble's effective number of patches is above both "
             "networks' (%.1f on average against %.1f; holds in nine of ten)",
             more, t->plan->seeds, mean_of(t, 2, "effective"), one);
    lab_show_item(show, figure_item, "An ensemble uses more diverse features than its members",
                  10 * more >= 9 * t->plan->seeds ? "yes"
                  : 2 * more >= t->plan->seeds    ? "partly"
                                                  : "no",
                  because);
    snprintf(because, sizeof because,
             "a network uses about %.1f of %.1f patches that can be seen, and two networks share "
             "about %.1f (holds when it uses less than half)",
             one, visible_patches, mean_shared(t));
    lab_show_item(show, figure_item, "A network uses a small subset of the spurious features",
                  one < visible_patches / 2 ? "yes" : "no", because);
}

/* The theory's answer for two models with these many spurious features and no
 * invariant one: predicted[0] a single model, [1] the ensemble. */
static int predict(double out[2][COLOR_SHIFTS], const int64_t n[6], bang_error *err)
{
    for (int k = 0; k < 2; k++)
        for (size_t p = 0; p < COLOR_SHIFTS; p++) {
            pair_accuracy accuracy;
            int rc = pair_predict(&accuracy, n, 1, 0.5, BANG_COLOR_CLASSES, color_shifts[p], 0,
                                  k ? PAIR_OSE : PAIR_FIRST, err);
            if (rc < 0)
                return rc;
            out[k][p] = accuracy.exact;
        }
    return 0;
}

static json_t *theory_series(const char *name, const double *values, int color)
{
    json_t *x = json_array(), *y = json_array();
    for (size_t p = 1; p < COLOR_SHIFTS; p++) {
        json_array_append_new(x, json_real(color_shifts[p]));
        json_array_append_new(y, bang_json_number(values[p]));
    }
    return json_pack("{ss so so si}", "name", name, "x", x, "y", y, "color", color);
}

static void show_theory_table(json_t *show, const color_column measured[2],
                              double predicted[2][COLOR_SHIFTS], const int64_t n[6])
{
    static const char *const names[] = {"p",      "measured", "theory", "measured",
                                        "theory", "measured", "theory", NULL};
    char note[320];
    snprintf(note, sizeof note,
             "Theory: exact accuracy of Definition 1 with K = 10, no invariant feature, %lld and "
             "%lld spurious ones of which %lld are shared (`bang theory -K 10 -p P --model 0,%lld "
             "--model 0,%lld --overlap 0,%lld`).",
             (long long)n[1], (long long)n[3], (long long)n[5], (long long)n[1], (long long)n[3],
             (long long)n[5]);
    json_t *table = lab_table("Theory beside experiment, per cent", names, note);
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si]]", "", 1, "single network", 2,
                                  "ensemble of two", 2, "gain", 2));
    json_object_set_new(table, "decimals", json_pack("[iiiiiii]", 2, 2, 2, 2, 2, 2, 2));
    for (size_t p = 1; p < COLOR_SHIFTS; p++)
        lab_table_row(table, json_pack("[fffffff]", color_shifts[p], 100 * measured[0].mean[p],
                                       100 * predicted[0][p], 100 * measured[1].mean[p],
                                       100 * predicted[1][p],
                                       100 * (measured[1].mean[p] - measured[0].mean[p]),
                                       100 * (predicted[1][p] - predicted[0][p])));
    json_array_append_new(show, table);
}

static int show_theory(json_t *result, json_t *show, const task *t, bang_error *err)
{
    color_column measured[2];
    double predicted[2][COLOR_SHIFTS], worst = 0, worst_p = 0;
    int64_t first = llround(mean_of(t, 0, "effective")),
            second = llround(mean_of(t, 1, "effective"));
    int64_t shared = llround(mean_shared(t));
    shared = shared > first ? first : shared;
    shared = shared > second ? second : shared;
    const int64_t n[6] = {0, first, 0, second, 0, shared};
    int rc = predict(predicted, n, err);
    if (rc < 0)
        return rc;
    color_collect(&measured[0], t->units, "models", 0, 0, 1);
    color_collect(&measured[1], t->units, "ensembles", 2, 0, 1);
    size_t same_sign = 0;
    for (size_t p = 1; p < COLOR_SHIFTS; p++) {
        double gap = predicted[0][p] - measured[0].mean[p];
        if (fabs(gap) > fabs(worst)) {
            worst = gap;
            worst_p = color_shifts[p];
        }
        same_sign +=
            (predicted[1][p] >= predicted[0][p]) == (measured[1].mean[p] >= measured[0].mean[p]);
    }
    lab_show_text(show,
                  "If a network were the paper's model of one, counting patches would predict its "
                  "accuracy: it would let every patch it uses vote for the class whose colour it "
                  "shows, all votes equal, none for the digit. The numbers of patches are those "
                  "that occlusion found, the shared ones follow from how alike two networks' maps "
                  "are.");
    show_theory_table(show, measured, predicted, n);
    json_t *chart = color_chart("Theory beside experiment", "Bars: one standard error.");
    json_t *series = json_object_get(chart, "series");
    json_array_append_new(series, color_series("single network, measured", &measured[0], 0, 0));
    json_array_append_new(series, color_series("ensemble, measured", &measured[1], 1, 0));
    json_array_append_new(series, theory_series("single network, theory", predicted[0], 2));
    json_array_append_new(series, theory_series("ensemble, theory", predicted[1], 3));
    json_array_append_new(show, chart);
    char because[400];
    snprintf(
        because, sizeof because,
        "theory has the sign of the ensemble's gain right at %zu of %d values of p, but is off "
        "by up to %+.1f points for a single network (p = %g): a trained network's votes are "
        "unequal, and its hidden layers do more than add them (holds within 5 points "
        "everywhere, partly within 10 with all signs right)",
        same_sign, COLOR_SHIFTS - 1, 100 * worst, worst_p);
    lab_show_item(show, "Beyond the paper",
                  "Counting the features that networks use predicts their accuracy",
                  fabs(worst) <= 0.05                                   ? "yes"
                  : fabs(worst) <= 0.1 && same_sign == COLOR_SHIFTS - 1 ? "partly"
                                                                        : "no",
                  because);
    json_object_set_new(result, "theory",
                        json_pack("{s[III] so so}", "features", (json_int_t)first,
                                  (json_int_t)second, (json_int_t)shared, "single",
                                  lab_numbers(predicted[0] + 1, COLOR_SHIFTS - 1), "ensemble",
                                  lab_numbers(predicted[1] + 1, COLOR_SHIFTS - 1)));
    return 0;
}

static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    task *t = context;
    color_result(result, t->units, MODELS);
    json_t *effective = json_array();
    for (size_t m = 0; m < MEMBERS; m++)
        json_array_append_new(effective, bang_json_number(mean_of(t, m, "effective")));
    json_object_set_new(result, "effective", effective);
    json_object_set_new(result, "shared", bang_json_number(mean_shared(t)));
    json_object_set_new(result, "without_digit", bang_json_number(mean_of(t, 0, "without_digit")));
    json_object_set_new(result, "without_patches",
                        bang_json_number(mean_of(t, 0, "without_patches")));
    lab_show_text(show,
                  "Each patch of images in distribution is made black in turn. What the output of "
                  "the true class changes by says how much a network relies on the patch.");
    show_maps(show, t);
    show_counts(show, t);
    show_claims(show, t);
    return show_theory(result, show, t, err);
}

int lab_run_occlusion(json_t *result, const bang_lab_options *options, bang_error *err)
{
    color_plan plan = color_plan_make(options, 0, QUICK_SEEDS, MODELS);
    task t = {&plan, NULL};
    json_t *summary = NULL;
    bang_mnist mnist;
    plan.models = MODELS;
    plan.inspect = inspect;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    rc = color_units(&t.units, &plan, "occlusion", &mnist, options, err);
    if (rc == 0)
        rc = lab_measure(&summary,
                         (lab_measurement){"occlusion", color_section(&plan), "occlusion",
                                           color_plan_options(&plan, mnist.digest), measure, &t},
                         options, err);
    if (rc == 0)
        json_object_update(result, summary);
    json_decref(summary);
    json_decref(t.units);
    bang_mnist_release(&mnist);
    return rc;
}
