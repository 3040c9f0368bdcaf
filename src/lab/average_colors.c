/* Weight averaging on MultiColorMNIST: the accuracies of PM, FM, WSE and OSE, and the
 * experiment as a whole. */
#include <math.h>
#include <stdio.h>

#include "bang/base/json.h"
#include "lab/average_colors.h"
#include "lab/color_show.h"

enum { QUICK_SEEDS = 8, FULL_SEEDS = 16, FULL_PAIRS = 2 };

const average_member average_members[AVERAGE_MEMBERS] = {
    {"PM", "pre"}, {"FM", "vanilla/fine"}, {"WSE", "vanilla/wse"}, {"OSE", "vanilla/ose"}};

average_choice average_far(const char *field, const char *minus)
{
    return (average_choice){
        .field = field, .minus = minus, .from = AVERAGE_FAR, .to = AVERAGE_FAR_END};
}

void average_column(color_column *out, const json_t *units, const char *field)
{
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        average_estimate e;
        average_estimate_of(&e, units, (average_choice){.field = field, .from = p, .to = p + 1});
        out->n = e.pairs;
        out->mean[p] = e.mean;
        out->sd[p] = e.sd;
        out->error[p] = e.error;
    }
}

json_t *average_estimate_json(const average_estimate *e)
{
    return json_pack("{so so so so sI sI}", "mean", bang_json_number(e->mean), "stderr",
                     bang_json_number(e->error), "low", bang_json_number(e->low), "high",
                     bang_json_number(e->high), "pairs", (json_int_t)e->pairs, "above",
                     (json_int_t)e->above);
}

/* Cells of one range of shifts. */
static json_t *accuracy_row(json_t *name, const json_t *units, size_t from, size_t to)
{
    average_estimate e;
    average_choice c = {.from = from, .to = to};
    char text[64];
    json_t *row = json_array();
    json_array_append_new(row, name);
    for (int m = 0; m < AVERAGE_MEMBERS; m++) {
        c.field = average_members[m].field;
        average_estimate_of(&e, units, c);
        json_array_append_new(row, bang_json_number(100 * e.mean));
        json_array_append_new(row, bang_json_number(100 * e.error));
    }
    c.field = "vanilla/wse";
    c.minus = "pre";
    c.other = "vanilla/fine";
    average_estimate_of(&e, units, c);
    average_interval_text(text, sizeof text, &e);
    json_array_append_new(row, json_string(text));
    c.minus = "vanilla/ose";
    c.other = NULL;
    average_estimate_of(&e, units, c);
    average_interval_text(text, sizeof text, &e);
    json_array_append_new(row, json_string(text));
    return row;
}

static void show_table(json_t *show, const json_t *units)
{
    static const char *const names[] = {
        "p",        "mean", "s.e.", "mean", "s.e.",
        "mean",     "s.e.", "mean", "s.e.", "less the better of PM and FM",
        "less OSE", NULL};
    average_estimate e;
    char note[400];
    average_estimate_of(&e, units, average_far("pre", NULL));
    snprintf(note, sizeof note,
             "Means over %zu pairs (%zu seeds) with their standard errors (s.e.). p = 0 is in "
             "distribution for FM. Last columns: differences of WSE, pair by pair, with 95 %% "
             "intervals of Student's t over seeds. The last row is the mean over p = 0.7, 0.75, "
             "0.8, 0.85 and 0.9.",
             e.pairs, e.seeds);
    json_t *table = lab_table("Averaging PM and FM on MultiColorMNIST, per cent", names, note);
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si][si][si]]", "", 1, "PM", 2, "FM", 2, "WSE", 2,
                                  "OSE", 2, "WSE", 2));
    json_object_set_new(table, "decimals", json_pack("[iiiiiiiiinn]", 2, 2, 2, 2, 2, 2, 2, 2, 2));
    for (size_t p = 0; p < COLOR_SHIFTS; p++)
        lab_table_row(table, accuracy_row(json_real(color_shifts[p]), units, p, p + 1));
    lab_table_row(table,
                  accuracy_row(json_string("0.7 to 0.9"), units, AVERAGE_FAR, AVERAGE_FAR_END));
    json_array_append_new(show, table);
}

static void show_chart(json_t *show, const json_t *units)
{
    json_t *chart = color_chart("PM, FM, their average and their ensemble",
                                "Means over pairs; bars: one standard error.");
    for (int m = 0; m < AVERAGE_MEMBERS; m++) {
        color_column column;
        average_column(&column, units, average_members[m].field);
        json_array_append_new(json_object_get(chart, "series"),
                              color_series(average_members[m].name, &column, m, 0));
    }
    json_array_append_new(show, chart);
}

const char *average_sign(const average_estimate *e)
{
    return e->low > 0 ? "yes" : e->high < 0 ? "no" : "open";
}

static void show_verdicts(json_t *show, const json_t *units)
{
    average_estimate e;
    char because[400], text[64];
    average_choice c = average_far("vanilla/wse", "pre");
    c.other = "vanilla/fine";
    average_estimate_of(&e, units, c);
    if (!isfinite(e.low))
        return; /* too few to say */
    average_interval_text(text, sizeof text, &e);
    snprintf(because, sizeof because,
             "mean over p = 0.7 to 0.9: the average is %s points above the better of PM and FM, "
             "and above both in %zu of %zu pairs (holds when that is nine of ten and the interval "
             "is above 0, partly when one of the two is so)",
             text, e.above, e.pairs);
    int often = 10 * e.above >= 9 * e.pairs, surely = e.low > 0;
    lab_show_item(show, "Appendix C.3, future work",
                  "Averaging the weights of PM and FM beats both out of distribution, on "
                  "MultiColorMNIST too",
                  often && surely   ? "yes"
                  : often || surely ? "partly"
                                    : "no",
                  because);
    average_estimate_of(&e, units, average_far("vanilla/wse", "vanilla/ose"));
    average_interval_text(text, sizeof text, &e);
    snprintf(because, sizeof because,
             "mean over p = 0.7 to 0.9: %s points, WSE is better in %zu of %zu pairs (holds when "
             "the interval is above 0, does not when it is below, open else)",
             text, e.above, e.pairs);
    lab_show_item(show, "Beyond the paper",
                  "Averaging weights beats averaging outputs, on MultiColorMNIST", average_sign(&e),
                  because);
}

void average_show_accuracy(json_t *result, json_t *show, const json_t *units)
{
    json_object_set_new(result, "p", lab_numbers(color_shifts, COLOR_SHIFTS));
    json_t *all = json_object();
    for (int m = 0; m < AVERAGE_MEMBERS; m++) {
        color_column column;
        average_estimate far;
        average_column(&column, units, average_members[m].field);
        average_estimate_of(&far, units, average_far(average_members[m].field, NULL));
        json_object_set_new(all, average_members[m].name,
                            json_pack("{so so so}", "mean", lab_numbers(column.mean, COLOR_SHIFTS),
                                      "stderr", lab_numbers(column.error, COLOR_SHIFTS), "far",
                                      average_estimate_json(&far)));
    }
    json_object_set_new(result, "accuracy", all);
    show_table(show, units);
    show_chart(show, units);
    show_verdicts(show, units);
}

static int summary(json_t *result, json_t *show, const color_plan *plan, const json_t *units,
                   const bang_mnist *mnist, bang_error *err)
{
    (void)plan, (void)mnist;
    lab_show_text(show,
                  "The paper leaves averaging weights on MultiColorMNIST to future work, for want "
                  "of a pre-trained model. Here is one: PM learns for a short time from images "
                  "whose patches have random colours (p = 1), so that only the digit helps. FM "
                  "goes on from PM with perfect colours (p = 0), where every patch tells the "
                  "class. WSE is the mean of their weights, OSE the mean of their outputs.");
    average_show_accuracy(result, show, units);
    average_show_groups(result, show, units);
    average_show_alphas(result, show, units);
    average_show_variants(result, show, units);
    average_show_maps(result, show, units);
    return average_show_theory(result, show, units, err);
}

int lab_run_multicolor_average(json_t *result, const bang_lab_options *options, bang_error *err)
{
    static const average_runner runner = {
        .experiment = "multicolor-average",
        .section = "Averaging weights on MultiColorMNIST (future work in appendix C.3)",
        .hidden = 2,
        .unit = average_unit,
        .summary = summary,
    };
    color_plan plan = color_plan_make(options, 0, QUICK_SEEDS, 1);
    if (options->full && !options->seeds)
        plan.seeds = FULL_SEEDS;
    if (options->full && !options->models)
        plan.models = FULL_PAIRS;
    return average_run(result, &runner, plan, options, err);
}
