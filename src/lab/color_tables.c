/* The tables of section 3.4 and appendix C.3: two networks and their ensemble,
 * at every p. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/color_show.h"

/* On SingleColorMNIST networks hardly differ and test draws do: more of those. */
enum { QUICK_MULTI_SEEDS = 10, QUICK_SINGLE_SEEDS = 20, QUICK_MODELS = 2 };

/* Of MultiColorMNIST and SingleColorMNIST. */
static const char *const table_items[] = {"Tables 1 and 3 (appendix C.3)",
                                          "Table 4 (appendix C.3)"};

typedef struct columns {
    color_column model1, model2, ensemble, gain, all;
} columns;

typedef struct task {
    const color_plan *plan;
    const bang_mnist *mnist;
    const color_paper *paper;
    json_t *units;
} task;

static void collect(columns *c, const json_t *units)
{
    color_collect(&c->model1, units, "models", 0, 0, 2);
    color_collect(&c->model2, units, "models", 0, 1, 2);
    color_collect(&c->ensemble, units, "ensembles", 2, 0, 1);
    color_collect_gain(&c->gain, units, "ensembles");
    color_collect(&c->all, units, "models", 0, 0, 1);
}

static json_t *percent(double fraction)
{
    return bang_json_number(100 * fraction);
}

static void add_cells(json_t *row, const color_column *c, const color_printed *printed,
                      const color_paper *paper, color_tally *tally)
{
    size_t p = color_shift_index(printed->p);
    double z = color_distance(c, printed, paper);
    color_tally_add(tally, z, printed->p);
    json_array_append_new(row, percent(c->mean[p]));
    json_array_append_new(row, json_real(printed->mean));
    json_array_append_new(row, bang_json_number(z));
}

static void show_table(json_t *show, const task *t, const columns *c, color_tally *tally)
{
    static const char *const names[] = {"p", "measured", "paper", "z", "measured", "paper",
                                        "z", "measured", "paper", "z", "gain",     NULL};
    char title[96], note[400];
    snprintf(title, sizeof title, "%s: two networks and their ensemble, per cent",
             color_data_name(t->plan));
    snprintf(note, sizeof note,
             "Means over %zu pairs of networks (%zu seeds). z: distance from the paper in standard "
             "errors of both, those of the paper's one draw of test images included. gain: of the "
             "ensemble over the mean of its two networks. A dash: too few networks to say.",
             c->ensemble.n, t->plan->seeds);
    json_t *table = lab_table(title, names, note);
    json_object_set_new(table, "decimals",
                        json_pack("[iiiiiiiiiii]", 2, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2));
    json_object_set_new(table, "groups",
                        json_pack("[[si][si][si][si][si]]", "", 1, "model 1", 3, "model 2", 3,
                                  "ensemble of two", 3, "", 1));
    json_object_set_new(table, "shade", json_pack("[nnnsnnsnnsn]", "z", "z", "z"));
    for (size_t i = 0; i < t->paper->rows; i++) {
        json_t *row = json_array();
        json_array_append_new(row, json_real(t->paper->model1[i].p));
        add_cells(row, &c->model1, &t->paper->model1[i], t->paper, tally);
        add_cells(row, &c->model2, &t->paper->model2[i], t->paper, tally);
        add_cells(row, &c->ensemble, &t->paper->ensemble[i], t->paper, tally);
        json_array_append_new(row, percent(c->gain.mean[color_shift_index(t->paper->model1[i].p)]));
        lab_table_row(table, row);
    }
    json_array_append_new(show, table);
}

static void show_spread(json_t *show, const task *t, const columns *c)
{
    static const char *const names[] = {"p",
                                        "mean",
                                        "standard deviation",
                                        "standard error",
                                        "mean",
                                        "standard deviation",
                                        "standard error",
                                        "paper's \u00b1",
                                        NULL};
    char note[400];
    snprintf(note, sizeof note,
             "Standard deviation between networks (%zu) and between ensembles (%zu); standard "
             "error of their mean, which allows for what networks of one seed share. p = 0 is in "
             "distribution. The paper's \u00b1 (model 1) is a %s.",
             c->all.n, c->ensemble.n,
             t->paper->spread_is_error ? "standard error" : "standard deviation");
    json_t *table = lab_table("The same with what is uncertain, per cent", names, note);
    json_object_set_new(table, "decimals", json_pack("[iiiiiiii]", 2, 2, 2, 2, 2, 2, 2, 2));
    json_object_set_new(
        table, "groups",
        json_pack("[[si][si][si][si]]", "", 1, "single network", 3, "ensemble of two", 3, "", 1));
    for (size_t i = 0; i <= t->paper->rows; i++) {
        const color_printed *printed = i ? &t->paper->model1[i - 1] : NULL; /* p = 0: none */
        size_t p = printed ? color_shift_index(printed->p) : 0;
        lab_table_row(table, json_pack("[fooooooo]", color_shifts[p], percent(c->all.mean[p]),
                                       percent(c->all.sd[p]), percent(c->all.error[p]),
                                       percent(c->ensemble.mean[p]), percent(c->ensemble.sd[p]),
                                       percent(c->ensemble.error[p]),
                                       printed ? json_real(printed->spread) : json_null()));
    }
    json_array_append_new(show, table);
}

static void show_chart(json_t *show, const task *t, const columns *c)
{
    char title[64];
    snprintf(title, sizeof title, "%s: accuracy against shift", color_data_name(t->plan));
    json_t *chart = color_chart(title, "Bands: one standard deviation between networks. Points: "
                                       "the paper's model 1 and ensemble.");
    json_t *series = json_object_get(chart, "series");
    json_array_append_new(series, color_series("single network", &c->all, 0, 1));
    json_array_append_new(series, color_series("ensemble of two", &c->ensemble, 1, 1));
    json_array_append_new(
        series, color_paper_series("single network (paper)", t->paper->model1, t->paper->rows, 0));
    json_array_append_new(series, color_paper_series("ensemble of two (paper)", t->paper->ensemble,
                                                     t->paper->rows, 1));
    json_array_append_new(show, chart);
}

/* The paper's claim: a gain with 32 spurious features, none with one. */
static void show_gain(json_t *show, const task *t, const columns *c)
{
    double least = INFINITY, most = 0;
    size_t sure = 0, count = 0;
    for (size_t p = color_shift_index(0.4); p < COLOR_SHIFTS; p++) {
        least = fmin(least, c->gain.mean[p]);
        most = fmax(most, fabs(c->gain.mean[p]));
        sure += c->gain.mean[p] > 2 * c->gain.error[p];
        count++;
    }
    char because[240];
    if (c->gain.n == 0 || !isfinite(c->gain.error[COLOR_SHIFTS - 1]))
        return; /* no ensemble, or one only */
    if (t->plan->single) {
        snprintf(because, sizeof because,
                 "the ensemble of two differs from the mean of its networks by at most %.2f points "
                 "for p of 0.4 and more (holds below 0.5)",
                 100 * most);
        lab_show_item(show, table_items[1], "With one spurious feature an ensemble does not help",
                      most < 0.005 ? "yes" : "no", because);
        return;
    }
    snprintf(because, sizeof because,
             "at %zu of %zu values of p from 0.4 on, the ensemble of two is above the mean of its "
             "networks by more than 2 standard errors of that difference (%.2f to %.2f points)",
             sure, count, 100 * least, 100 * most);
    lab_show_item(show, table_items[0],
                  "With many spurious features an ensemble improves OOD accuracy",
                  sure == count ? "yes"
                  : sure        ? "partly"
                                : "no",
                  because);
}

static json_t *ensembles_json(const json_t *units, size_t models)
{
    json_t *out = json_object();
    for (int s = 1; s < COLOR_SIZES; s++) {
        color_column column;
        char key[8];
        if ((size_t)color_sizes[s] > models)
            break;
        color_collect(&column, units, "ensembles", color_sizes[s], 0, 1);
        snprintf(key, sizeof key, "%d", color_sizes[s]);
        json_object_set_new(out, key, color_column_json(&column));
    }
    return out;
}

void color_result(json_t *result, const json_t *units, size_t models)
{
    color_column all;
    json_t *p = json_array();
    color_collect(&all, units, "models", 0, 0, 1);
    for (size_t i = 1; i < COLOR_SHIFTS; i++)
        json_array_append_new(p, json_real(color_shifts[i]));
    json_object_set_new(result, "p", p);
    json_object_set_new(result, "single", color_column_json(&all));
    json_object_set_new(result, "ensemble", ensembles_json(units, models));
    json_object_set_new(result, "id", bang_json_number(all.mean[0]));
}

static json_t *paper_json(const color_paper *paper)
{
    return json_pack("{so so s{so} ss}", "model1", color_printed_json(paper->model1, paper->rows),
                     "model2", color_printed_json(paper->model2, paper->rows), "ensemble", "2",
                     color_printed_json(paper->ensemble, paper->rows), "spread_is",
                     paper->spread_is_error ? "standard error" : "standard deviation");
}

static void show_design(json_t *show, const task *t)
{
    char text[900];
    bang_train_options o = color_training(t->plan, 0, 0);
    snprintf(text, sizeof text,
             "%s A fully connected network (%s, ReLU) is trained on images in which %s shows the "
             "class without fail: squared error, Adam 0.001, batches of %zu, %llu steps. Out of "
             "distribution, %s takes a random colour with probability p. Protocol: %s. All that is "
             "equal in every image is found in the data and trained as one input, which is exact.",
             t->plan->single
                 ? "SingleColorMNIST: a digit among 32 patches that all have one colour."
                 : "MultiColorMNIST: a digit among 32 patches, each a spurious feature of its own.",
             t->plan->protocol == BANG_COLOR_PAPER ? "5292-64-10" : "5292-64-64-10",
             t->plan->single ? "that colour" : "each patch", o.batch, (unsigned long long)o.steps,
             t->plan->single ? "the one colour" : "each patch by itself",
             bang_color_protocol_name(t->plan->protocol));
    lab_show_text(show, text);
}

static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    task *t = context;
    columns c;
    color_tally tally = {0};
    char claim[96];
    collect(&c, t->units);
    color_result(result, t->units, t->plan->models);
    json_object_set_new(result, "model1", color_column_json(&c.model1));
    json_object_set_new(result, "model2", color_column_json(&c.model2));
    json_object_set_new(result, "gain", color_column_json(&c.gain));
    json_object_set_new(result, "paper", paper_json(t->paper));
    show_design(show, t);
    color_show_foreign_digits(show, t->mnist);
    int rc = color_show_samples(show, t->plan, t->mnist, err);
    if (rc < 0)
        return rc;
    show_table(show, t, &c, &tally);
    show_chart(show, t, &c);
    show_spread(show, t, &c);
    snprintf(claim, sizeof claim, "%s: the paper's accuracies are what one gets",
             color_data_name(t->plan));
    color_show_agreement(show, table_items[t->plan->single], claim, &tally);
    show_gain(show, t, &c);
    return 0;
}

static int run_tables(json_t *result, const bang_lab_options *options, color_plan plan,
                      const bang_mnist *mnist, bang_error *err)
{
    int single = plan.single;
    task t = {&plan, mnist, single ? &color_paper_single : &color_paper_multi, NULL};
    json_t *summary = NULL;
    const char *name = single ? "singlecolor" : "multicolor";
    int rc = color_units(&t.units, &plan, name, mnist, options, err);
    if (rc < 0)
        return rc;
    rc = lab_measure(&summary,
                     (lab_measurement){name, color_section(&plan), name,
                                       color_plan_options(&plan, mnist->digest), measure, &t},
                     options, err);
    if (rc == 0)
        json_object_update(result, summary);
    json_decref(summary);
    json_decref(t.units);
    return rc;
}

int lab_run_multicolor(json_t *result, const bang_lab_options *options, bang_error *err)
{
    bang_mnist mnist;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    color_plan plan = color_plan_make(options, 0, QUICK_MULTI_SEEDS, QUICK_MODELS);
    color_plan entropy = color_entropy_plan(options);
    plan.after = entropy.seeds * entropy.models;
    rc = run_tables(result, options, plan, &mnist, err);
    if (rc == 0)
        rc = color_run_entropy(result, plan.seeds * plan.models, &mnist, options, err);
    bang_mnist_release(&mnist);
    return rc;
}

int lab_run_singlecolor(json_t *result, const bang_lab_options *options, bang_error *err)
{
    bang_mnist mnist;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    rc = run_tables(result, options, color_plan_make(options, 1, QUICK_SINGLE_SEEDS, QUICK_MODELS),
                    &mnist, err);
    bang_mnist_release(&mnist);
    return rc;
}
