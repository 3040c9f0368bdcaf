/* Ensembles of 1 to 16 networks (appendix C.3.1), on both data sets. */
#include <math.h>
#include <stdio.h>

#include "lab/color_show.h"

enum { QUICK_SEEDS = 2, QUICK_MODELS = 16, SHIFTS = 5 };

static const double table_shifts[SHIFTS] = {.7, .75, .8, .85, .9};
static const char section[] = "Ensemble size (appendix C.3.1)";
/* On MultiColorMNIST and SingleColorMNIST. */
static const char *const table_items[] = {"Table 5 (appendix C.3.1)", "Table 6 (appendix C.3.1)"};

typedef struct task {
    const color_plan *plan;
    const bang_mnist *mnist;
    const color_paper *paper;
    json_t *units;
} task;

static size_t sizes_of(const color_plan *plan)
{
    size_t count = 0;
    while (count < COLOR_SIZES && (size_t)color_sizes[count] <= plan->models)
        count++;
    return count;
}

static void collect(color_column out[COLOR_SIZES], const task *t)
{
    color_collect(&out[0], t->units, "models", 0, 0, 1);
    for (size_t s = 1; s < sizes_of(t->plan); s++)
        color_collect(&out[s], t->units, "ensembles", color_sizes[s], 0, 1);
}

static void show_table(json_t *show, const task *t, const color_column *c, color_tally *tally)
{
    static const char *const names[] = {"p",
                                        "networks",
                                        "mean",
                                        "standard deviation",
                                        "standard error",
                                        "ensembles",
                                        "paper",
                                        "paper's \u00b1",
                                        "z",
                                        NULL};
    char title[96];
    snprintf(title, sizeof title, "%s: ensembles of 1 to 16 networks, per cent",
             color_data_name(t->plan));
    json_t *table = lab_table(
        title, names,
        "Ensembles: disjoint groups of the networks of a seed; standard deviation between them, "
        "standard error of their mean. z: distance from the paper in standard errors of both; its "
        "\u00b1 fits a standard error over about five ensembles (MultiColor), so z is rough here.");
    json_object_set_new(table, "decimals", json_pack("[iiiiiiiii]", 2, 0, 2, 2, 2, 0, 2, 2, 1));
    json_object_set_new(table, "shade", json_pack("[nnnnnnnns]", "z"));
    for (size_t i = 0; i < SHIFTS; i++)
        for (size_t s = 0; s < sizes_of(t->plan); s++) {
            const color_printed *printed = &t->paper->sizes[s][i];
            size_t p = color_shift_index(printed->p);
            double z = color_distance(&c[s], printed, t->paper);
            color_tally_add(tally, z, printed->p);
            lab_table_row(table,
                          json_pack("[fioooIffo]", printed->p, color_sizes[s],
                                    bang_json_number(100 * c[s].mean[p]),
                                    bang_json_number(100 * c[s].sd[p]),
                                    bang_json_number(100 * c[s].error[p]), (json_int_t)c[s].n,
                                    printed->mean, printed->spread, bang_json_number(z)));
        }
    json_array_append_new(show, table);
}

static void show_chart(json_t *show, const task *t, const color_column *c)
{
    char title[80];
    snprintf(title, sizeof title, "%s: accuracy against the size of the ensemble",
             color_data_name(t->plan));
    json_t *chart = json_pack("{ss ss ss ss ss sb s[]}", "kind", "lines", "title", title, "x_label",
                              "networks in the ensemble (doubled from step to step)", "y_label",
                              "accuracy out of distribution", "note",
                              "x = 0, 1, 2, 3, 4 stands for 1, 2, 4, 8, 16 networks. Bars: one "
                              "standard error. Points: the paper.",
                              "percent", 1, "series");
    for (size_t i = 0; i < SHIFTS; i++) {
        json_t *x = json_array(), *y = json_array(), *error = json_array(), *print = json_array();
        json_t *print_x = json_array();
        char name[32], printed[48];
        size_t p = color_shift_index(table_shifts[i]);
        for (size_t s = 0; s < sizes_of(t->plan); s++) {
            json_array_append_new(x, json_integer((json_int_t)s));
            json_array_append_new(print_x, json_integer((json_int_t)s));
            json_array_append_new(y, bang_json_number(c[s].mean[p]));
            json_array_append_new(error, bang_json_number(c[s].error[p]));
            json_array_append_new(print, bang_json_number(t->paper->sizes[s][i].mean / 100));
        }
        snprintf(name, sizeof name, "p = %g", table_shifts[i]);
        snprintf(printed, sizeof printed, "p = %g (paper)", table_shifts[i]);
        json_t *series = json_object_get(chart, "series");
        json_array_append_new(series, json_pack("{ss so so so si}", "name", name, "x", x, "y", y,
                                                "error", error, "color", (int)i));
        json_array_append_new(series, json_pack("{ss so so sb si}", "name", printed, "x", print_x,
                                                "y", print, "points", 1, "color", (int)i));
    }
    json_array_append_new(show, chart);
}

static void show_growth(json_t *show, const task *t, const color_column *c)
{
    size_t last = sizes_of(t->plan) - 1, rising = 0, steps = 0, p8 = color_shift_index(0.8);
    double most = 0;
    char because[240];
    if (last == 0)
        return; /* no ensembles */
    for (size_t i = 0; i < SHIFTS; i++) {
        size_t p = color_shift_index(table_shifts[i]);
        for (size_t s = 1; s <= last; s++, steps++)
            rising += c[s].mean[p] > c[s - 1].mean[p];
        most = fmax(most, fabs(c[last].mean[p] - c[0].mean[p]));
    }
    if (t->plan->single) {
        snprintf(because, sizeof because,
                 "%d networks differ from one by at most %.2f points (holds below 0.5)",
                 color_sizes[last], 100 * most);
        lab_show_item(show, table_items[1], "With one spurious feature more networks do not help",
                      most < 0.005 ? "yes" : "no", because);
        return;
    }
    snprintf(because, sizeof because,
             "%zu of %zu doublings raise accuracy; at p = 0.8 from %.2f (one) to %.2f per cent "
             "(%d networks); the paper: 49.33 to 64.85",
             rising, steps, 100 * c[0].mean[p8], 100 * c[last].mean[p8], color_sizes[last]);
    lab_show_item(show, table_items[0], "With many spurious features more networks help more",
                  rising == steps            ? "yes"
                  : 10 * rising >= 8 * steps ? "partly"
                                             : "no",
                  because);
}

static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    task *t = context;
    color_column c[COLOR_SIZES] = {0};
    color_tally tally = {0};
    char claim[96];
    (void)err;
    collect(c, t);
    if (!t->plan->single)
        lab_show_text(show, "Ensembles of 1, 2, 4, 8 and 16 networks that differ in their first "
                            "weights alone, on images with many spurious features and with one.");
    color_show_foreign_digits(show, t->mnist);
    color_result(result, t->units, t->plan->models);
    json_t *paper = json_object();
    for (size_t s = 0; s < COLOR_SIZES; s++) {
        char key[8];
        snprintf(key, sizeof key, "%d", color_sizes[s]);
        json_object_set_new(paper, key,
                            color_printed_json(t->paper->sizes[s], t->paper->size_rows));
    }
    json_object_set_new(result, "paper", paper);
    show_table(show, t, c, &tally);
    show_chart(show, t, c);
    snprintf(claim, sizeof claim, "%s: the paper's accuracies of larger ensembles",
             color_data_name(t->plan));
    color_show_agreement(show, table_items[t->plan->single], claim, &tally);
    show_growth(show, t, c);
    return 0;
}

/* Appendix C.3: a single network is better with many spurious features. */
static int compare(json_t *result, json_t *show, void *context, bang_error *err)
{
    json_t **units = context;
    color_column multi, single;
    size_t better = 0;
    char because[200];
    (void)err;
    color_collect(&multi, units[0], "models", 0, 0, 1);
    color_collect(&single, units[1], "models", 0, 0, 1);
    for (size_t p = 1; p < COLOR_SHIFTS; p++)
        better += multi.mean[p] > single.mean[p];
    json_object_set_new(result, "better", json_integer((json_int_t)better));
    snprintf(because, sizeof because,
             "higher at %zu of %d values of p; at p = 0.8 %.2f against %.2f per cent", better,
             COLOR_SHIFTS - 1, 100 * multi.mean[color_shift_index(0.8)],
             100 * single.mean[color_shift_index(0.8)]);
    lab_show_item(show, "Tables 3 and 4 (appendix C.3)",
                  "A single network is better with many spurious features than with one",
                  better == COLOR_SHIFTS - 1 ? "yes"
                  : better                   ? "partly"
                                             : "no",
                  because);
    return 0;
}

int lab_run_ensemble_size(json_t *result, const bang_lab_options *options, bang_error *err)
{
    static const char *const keys[] = {"ensemble-size/multicolor", "ensemble-size/singlecolor"};
    static const char *const names[] = {"multicolor", "singlecolor"};
    json_t *units[2] = {NULL, NULL}, *one = NULL, *settings = NULL;
    bang_mnist mnist;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < 2 && rc == 0; i++) {
        color_plan plan = color_plan_make(options, i, QUICK_SEEDS, QUICK_MODELS);
        *(i ? &plan.before : &plan.after) = plan.seeds * plan.models;
        task t = {&plan, &mnist, i ? &color_paper_single : &color_paper_multi, NULL};
        rc = color_units(&units[i], &plan, keys[i], &mnist, options, err);
        t.units = units[i];
        if (rc < 0)
            break;
        settings = color_plan_options(&plan, mnist.digest);
        rc = lab_measure(&one,
                         (lab_measurement){"ensemble-size", section, keys[i], json_incref(settings),
                                           measure, &t},
                         options, err);
        if (rc == 0)
            json_object_set_new(result, names[i], one);
        json_decref(settings);
    }
    color_plan both = color_plan_make(options, 0, QUICK_SEEDS, QUICK_MODELS);
    if (rc == 0)
        rc =
            lab_measure(&one,
                        (lab_measurement){"ensemble-size", section, "ensemble-size/single-networks",
                                          color_plan_options(&both, mnist.digest), compare, units},
                        options, err);
    if (rc == 0)
        json_decref(one);
    json_decref(units[0]);
    json_decref(units[1]);
    bang_mnist_release(&mnist);
    return rc;
}
