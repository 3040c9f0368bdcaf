/* Section 3 and appendices D, F, G: what the paper states, computed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lab.h"
#include "lab/pair.h"

static const char section[] = "Theory (section 3, appendices D, F, G)";

/* A statement of the paper about the accuracy of a pair of models, as a
 * polynomial in p. */
typedef struct statement {
    const char *item; /* that has a verdict on its accuracies, or NULL */
    const char *where, *what;
    int64_t n[6]; /* nv1, ns1, nv2, ns2, nvo, nso */
    double scale; /* lambda of the second model */
    pair_member member;
    const char *paper;
} statement;

#define NO_OVERLAP                                                                                 \
    {                                                                                              \
        2, 3, 2, 3, 0, 0                                                                           \
    }
#define OVERLAP                                                                                    \
    {                                                                                              \
        2, 3, 2, 3, 1, 1                                                                           \
    }
static const char proposition_1[] = "Proposition 1",
                  proposition_5[] = "Proposition 5 (appendix D.7.1)";
static const statement statements[] = {
    {proposition_1, "Proposition 1", "single model", NO_OVERLAP, 1, PAIR_FIRST, "1 - 1/9 p^3"},
    {proposition_1, "its proof (F.1)", "single model", NO_OVERLAP, 1, PAIR_FIRST, "1 - 5/27 p^3"},
    {proposition_1, "Proposition 1", "OSE", NO_OVERLAP, 1, PAIR_OSE, "1 - 2/81 p^5 - 17/729 p^6"},
    {proposition_5, "Proposition 5", "OSE", OVERLAP, 1, PAIR_OSE, "1 - 4/81 p^4 - 8/243 p^5"},
    {proposition_5, "Proposition 5", "WSE", OVERLAP, 1, PAIR_WSE, "1 - 4/81 p^4 - 1/27 p^5"},
    {proposition_5, "its proof (F.4)", "single model", OVERLAP, 1, PAIR_FIRST, "1 - 5/54 p^3"},
    {proposition_5, "its proof (F.4)", "OSE", OVERLAP, 1, PAIR_OSE, "1 - 4/81 p^4 - 1/27 p^5"},
    {proposition_5, "its proof (F.4)", "WSE", OVERLAP, 1, PAIR_WSE, "1 - 4/81 p^4 - 8/243 p^5"},
    {NULL, "proof of Proposition 4 (F.3), scale > √5", "WSE", NO_OVERLAP, 3, PAIR_WSE,
     "1 - 2/27 p^3 - 5/243 p^6"},
};
enum { STATEMENTS = sizeof statements / sizeof *statements };

/* One verdict on all that is stated of an item. */
static void show_statements(json_t *show, const char *item, const char *claim, const int *agrees)
{
    int count = 0, right = 0;
    bang_text because = {0};
    for (int i = 0; i < STATEMENTS; i++)
        if (statements[i].item == item) {
            count++;
            right += agrees[i];
        }
    bang_text_add(&because,
                  "%d of %d accuracies that it and its proof state are exact (holds when all "
                  "are, partly when some are)",
                  right, count);
    for (int i = 0, first = 1; i < STATEMENTS; i++)
        if (statements[i].item == item && !agrees[i]) {
            bang_text_add(&because, "%s %s in %s", first ? "; wrong:" : ",", statements[i].what,
                          statements[i].where);
            first = 0;
        }
    lab_show_item(show, item, claim,
                  right == count ? "yes"
                  : right        ? "partly"
                                 : "no",
                  because.data ? because.data : "");
    bang_text_release(&because);
}

static int measure_statements(json_t *result, json_t *show, void *context, bang_error *err)
{
    static const char *const columns[] = {"where", "of", "the paper", "exact", "agrees", NULL};
    (void)context;
    lab_show_text(show,
                  "A model has learned some invariant features, which always show the true class, "
                  "and some spurious ones, which out of distribution show a random class with "
                  "probability p. An output-space ensemble (OSE) adds the logits of two models, a "
                  "weight-space ensemble (WSE) averages their weights. G is the exact probability "
                  "that the true class has the largest logit, F_p(x) the paper's Gaussian formula "
                  "for it.");
    json_t *table = lab_table("Accuracies that the paper states as polynomials in p", columns,
                              "K = 3, small-noise limit; exact rational arithmetic.");
    int wrong = 0, agrees[STATEMENTS];
    for (int i = 0; i < STATEMENTS; i++) {
        const statement *s = &statements[i];
        char *exact = NULL;
        int rc = pair_polynomial(&exact, s->n, s->scale, 3, s->member, err);
        if (rc < 0) {
            json_decref(table);
            return rc;
        }
        agrees[i] = strcmp(exact, s->paper) == 0;
        wrong += !agrees[i];
        lab_table_row(table, json_pack("[sssss]", s->where, s->what, s->paper, exact,
                                       agrees[i] ? "yes" : "no"));
        free(exact);
    }
    json_array_append_new(show, table);
    show_statements(show, proposition_1, "Accuracies of two models without shared features",
                    agrees);
    show_statements(show, proposition_5, "Accuracies of two models that share features", agrees);
    json_object_set_new(result, "statements", json_integer(STATEMENTS));
    json_object_set_new(result, "wrong", json_integer(wrong));
    return 0;
}

static double cell(const json_t *figure, size_t panel, size_t row, size_t column)
{
    const json_t *rows =
        json_object_get(json_array_get(json_object_get(figure, "panels"), panel), "values");
    return json_number_value(json_array_get(json_array_get(rows, row), column));
}

/* Keeps in worst the largest distance of F_p(x) from the exact accuracy. */
static int compare_formula(double *worst, const int64_t n[6], double shift, pair_member member,
                           bang_error *err)
{
    pair_accuracy a = {0};
    int rc = pair_predict(&a, n, 1, 0.5, 3, shift, 0, member, err);
    *worst = fmax(*worst, fabs(a.gaussian - a.exact));
    return rc;
}

static void show_formula(json_t *show, const char *item, const char *claim, const char *of,
                         double worst)
{
    char because[240];
    snprintf(because, sizeof because,
             "F_p(x) is up to %.1f points off the exact accuracy of %s (holds within 1, partly "
             "within 5)",
             100 * worst, of);
    lab_show_item(show, item, claim,
                  worst <= 0.01   ? "yes"
                  : worst <= 0.05 ? "partly"
                                  : "no",
                  because);
}

static int judge_f_curve(json_t *show, const json_t *figure, bang_error *err)
{
    static const double shifts[] = {0.1, 0.3, 0.5, 0.9};
    double worst = 0;
    int rc = 0;
    (void)figure;
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
        for (int64_t nv = 0; nv <= 8 && rc == 0; nv++)
            rc = compare_formula(&worst, (int64_t[6]){nv, 5, nv, 5, 0, 0}, shifts[i], PAIR_FIRST,
                                 err);
    show_formula(show, "Proposition 2, Figure 4 (a)", "F_p(x) is the accuracy of a model",
                 "models with 5 spurious and 0 to 8 invariant features at these p", worst);
    return rc;
}

/* Over what model 2 learned: rows nv = 0..5, columns ns = 0..20; panel 1 is exact. */
static int judge_example_2(json_t *show, const json_t *figure, bang_error *err)
{
    int gains = 0, losses = 0, expected = 0;
    (void)err;
    for (size_t nv = 0; nv <= 5; nv++)
        for (size_t ns = 0; ns <= 20; ns++) {
            double gain = cell(figure, 1, nv, ns);
            gains += gain > 1e-12;
            losses += gain < -1e-12;
            expected += gain < -1e-12 && nv == 0;
        }
    char because[240];
    snprintf(because, sizeof because,
             "exactly, it gains in %d of 126 cases and loses in %d, of which %d have a second "
             "model without invariant features (holds when most cases gain and all losses are "
             "there)",
             gains, losses, expected);
    lab_show_item(show, "Figure 4 (b)",
                  "An ensemble beats model 1 in most cases, except with a much weaker partner",
                  2 * gains <= 126     ? "no"
                  : losses == expected ? "yes"
                                       : "partly",
                  because);
    return 0;
}

/* Over what two models share: rows nvo = 0..5, columns nso = 0..5; panel 3 is exact WSE - OSE. */
static int judge_example_3(json_t *show, const json_t *figure, bang_error *err)
{
    const double tie = 1e-4;
    int rising = 0, falling = 0, rc = 0;
    double worst = 0;
    char because[240];
    for (size_t i = 0; i <= 5; i++)
        for (size_t k = 0; k < 5; k++) {
            rising += cell(figure, 3, k + 1, i) >= cell(figure, 3, k, i) - tie;
            falling += cell(figure, 3, i, k + 1) <= cell(figure, 3, i, k) + tie;
        }
    snprintf(because, sizeof because,
             "exactly, WSE − OSE does not fall in %d of 30 steps to more shared invariant features "
             "and does not rise in %d of 30 to more shared spurious ones, less than 0.01 points "
             "being a tie (holds in all, partly in nine of ten)",
             rising, falling);
    lab_show_item(show, "Figure 15 (appendix D.7.2)",
                  "Sharing invariant features favours the WSE, sharing spurious ones the OSE",
                  rising + falling == 60   ? "yes"
                  : rising + falling >= 54 ? "partly"
                                           : "no",
                  because);
    rc = compare_formula(&worst, (int64_t[6])OVERLAP, 0.9, PAIR_WSE, err);
    for (int64_t nvo = 0; nvo <= 5; nvo++)
        for (int64_t nso = 0; nso <= 5 && rc == 0; nso++)
            rc =
                compare_formula(&worst, (int64_t[6]){10, 20, 10, 20, nvo, nso}, 0.9, PAIR_WSE, err);
    show_formula(show, "Proposition 3", "F_p(x) is the accuracy of a weight-space ensemble",
                 "these 36 pairs and of one with 2 and 3 features that shares one of each", worst);
    return rc;
}

typedef struct figure_task {
    const char *name, *text; /* what there is to see */
    int (*judge)(json_t *show, const json_t *figure, bang_error *err);
} figure_task;

static int measure_figure(json_t *result, json_t *show, void *context, bang_error *err)
{
    const figure_task *task = context;
    json_t *figure = NULL;
    int rc = bang_lab_figure(&figure, task->name, 3, 0.9, 0, err);
    if (rc < 0)
        return rc;
    json_object_set_new(result, "figure", json_string(task->name));
    lab_show_text(show, task->text);
    json_array_append_new(show, figure);
    return task->judge(show, figure, err);
}

/* Exact and Gaussian accuracy over one variable; all references are stolen. */
static void show_curves(json_t *show, const char *title, const char *x_label, json_t *x,
                        json_t *exact, json_t *gaussian)
{
    /* The exact accuracy is constant between the values where two scores tie. */
    json_array_append_new(
        show, json_pack("{ss ss ss ss sb s[{ss sO so sb si}{ss so so si}]}", "kind", "lines",
                        "title", title, "x_label", x_label, "y_label", "accuracy", "percent", 1,
                        "series", "name", "exact", "x", x, "y", exact, "step", 1, "color", 0,
                        "name", "Gaussian formula", "x", x, "y", gaussian, "color", 1));
}

/* WSE of Example 1 over the scale of the second model. */
static int measure_imbalance(json_t *result, json_t *show, void *context, bang_error *err)
{
    enum { POINTS = 241 };
    (void)context;
    json_t *x = json_array(), *exact = json_array(), *gaussian = json_array();
    double at_one = 0, drop = 0;
    int rc = 0;
    for (int i = 0; i < POINTS && rc == 0; i++) {
        double lambda = 1 + i / 120.0;
        pair_accuracy a;
        rc = pair_predict(&a, (int64_t[6])NO_OVERLAP, lambda, 0.5, 3, 0.9, 0, PAIR_WSE, err);
        if (i == 0)
            at_one = a.exact;
        drop = a.exact - at_one;
        json_array_append_new(x, bang_json_number(lambda));
        json_array_append_new(exact, bang_json_number(a.exact));
        json_array_append_new(gaussian, bang_json_number(a.gaussian));
    }
    show_curves(show, "Example 1, p = 0.9: an over-confident second model weakens the WSE",
                "scale λ of the second model", x, exact, gaussian);
    if (rc < 0)
        return rc;
    char because[160];
    snprintf(because, sizeof because,
             "%.1f points lost beyond λ = √5 (the bound is %.1f), but nothing at all up to λ = √2, "
             "where the paper expects one for other λ > 1, too",
             -100 * drop, 100 * 34.0 / 729 * 0.729);
    lab_show_item(show, "Proposition 4", "Imbalanced scaling weakens the WSE",
                  drop < -34.0 / 729 * 0.729 ? "yes" : "no", because);
    json_object_set_new(result, "drop", bang_json_number(drop));
    return 0;
}

/* Appendix G: a pre-trained (2,4) and a fine-tuned (1,6) model. */
static int measure_wise_ft(json_t *result, json_t *show, void *context, bang_error *err)
{
    static const int64_t n[6] = {2, 4, 1, 6, 0, 0};
    enum { POINTS = 1001 };
    (void)context;
    json_t *x = json_array(), *exact = json_array(), *gaussian = json_array();
    double best = 0, half = 0, at[2] = {0, 0};
    int rc = 0;
    for (int i = 0; i < POINTS && rc == 0; i++) {
        double alpha = i / 1000.0;
        pair_accuracy a;
        rc = pair_predict(&a, n, 1, alpha, 3, 0.9, 0, PAIR_WSE, err);
        best = fmax(best, a.exact);
        if (i == 500)
            half = a.exact;
        if (i == 0 || i == POINTS - 1)
            at[i > 0] = a.exact;
        json_array_append_new(x, bang_json_number(alpha));
        json_array_append_new(exact, bang_json_number(a.exact));
        json_array_append_new(gaussian, bang_json_number(a.gaussian));
    }
    show_curves(show,
                "Weight averaging of a pre-trained (2,4) and a fine-tuned (1,6) model, p = 0.9",
                "weight α of the fine-tuned model", x, exact, gaussian);
    if (rc < 0)
        return rc;
    char because[200];
    snprintf(because, sizeof because,
             "exact accuracies: pre-trained %.1f, fine-tuned %.1f, average at α = ½ %.1f, at the "
             "best α %.1f per cent",
             100 * at[0], 100 * at[1], 100 * half, 100 * best);
    lab_show_item(show, "Appendix G", "The average of weights beats both of its models",
                  half > fmax(at[0], at[1])   ? "yes"
                  : best > fmax(at[0], at[1]) ? "partly"
                                              : "no",
                  because);
    json_object_set_new(result, "half", bang_json_number(half));
    json_object_set_new(result, "best", bang_json_number(best));
    return 0;
}

/* The paper's condition for WSE > OSE against the sign of the difference on
 * the 36 cells of figure 15. */
static int measure_condition(json_t *result, json_t *show, void *context, bang_error *err)
{
    static const char *const columns[] = {"condition for WSE > OSE", "cells it gets wrong, of 36",
                                          NULL};
    (void)context;
    const double p = 0.9, nv = 10, ns = 20;
    int paper_wrong = 0, ours_wrong = 0, rc = 0;
    for (int64_t nvo = 0; nvo <= 5 && rc == 0; nvo++)
        for (int64_t nso = 0; nso <= 5 && rc == 0; nso++) {
            const int64_t n[6] = {10, 20, 10, 20, nvo, nso};
            pair_accuracy wse = {0}, ose = {0};
            rc = pair_predict(&wse, n, 1, 0.5, 3, p, 0, PAIR_WSE, err);
            if (rc == 0)
                rc = pair_predict(&ose, n, 1, 0.5, 3, p, 0, PAIR_OSE, err);
            int better = wse.argument > ose.argument + 1e-12;
            double rho_v = (double)nvo / nv, rho_s = (double)nso / ns;
            double a = (1 - p) * ns, b = nv;
            int paper = rho_v > rho_s * 3 * (1 - p) * ns / nv;
            int ours =
                rho_v >
                ((a + b) * (sqrt((1 + 7 * rho_s) / (1 + rho_s)) - 1) - a * rho_s) / b + 1e-12;
            paper_wrong += paper != better;
            ours_wrong += ours != better;
        }
    if (rc < 0)
        return rc;
    json_t *table = lab_table("When is the weight-space ensemble better?", columns,
                              "Cells of the paper's Figure 15, by F_p; A = (1-p) ns, B = nv.");
    lab_table_row(table, json_pack("[si]", "the paper: ρv/ρs > 3(1-p)ns/nv", paper_wrong));
    lab_table_row(
        table, json_pack("[si]", "right: ρv > [(A+B)(√((1+7ρs)/(1+ρs)) − 1) − Aρs]/B", ours_wrong));
    json_array_append_new(show, table);
    char because[120];
    snprintf(because, sizeof because, "it is wrong in %d of the 36 cells of Figure 15",
             paper_wrong);
    lab_show_item(show, "Proposition 6 (appendix D.7.2)", "The condition for WSE > OSE",
                  paper_wrong ? "no" : "yes", because);
    json_object_set_new(result, "paper_wrong", json_integer(paper_wrong));
    json_object_set_new(result, "right_wrong", json_integer(ours_wrong));
    return 0;
}

int lab_run_theory(json_t *result, const bang_lab_options *options, bang_error *err)
{
    static figure_task figures[] = {
        {"f-curve",
         "The formula is a central-limit approximation: with few spurious features the "
         "exact accuracies lie off its curve.",
         judge_f_curve},
        {"example-2",
         "Model 1 learned 5 invariant and 20 spurious features. Joining almost any "
         "second model helps, except one without invariant features, as the paper "
         "says.",
         judge_example_2},
        {"example-3",
         "Both models learned 10 invariant and 20 spurious features. Sharing "
         "invariant features favours the weight-space ensemble, sharing spurious ones "
         "the output-space ensemble.",
         judge_example_3},
    };
    const struct {
        const char *key;
        int (*measure)(json_t *, json_t *, void *, bang_error *);
        void *context;
    } parts[] = {
        {"theory/statements", measure_statements, NULL},
        {"theory/f-curve", measure_figure, &figures[0]},
        {"theory/example-2", measure_figure, &figures[1]},
        {"theory/example-3", measure_figure, &figures[2]},
        {"theory/condition", measure_condition, NULL},
        {"theory/imbalance", measure_imbalance, NULL},
        {"theory/wise-ft", measure_wise_ft, NULL},
    };
    size_t count = sizeof parts / sizeof *parts;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        json_t *one = NULL;
        json_t *settings = json_pack("{si sf sf}", "classes", 3, "shift", 0.9, "sigma", 0.0);
        rc = lab_measure(&one,
                         (lab_measurement){"theory", section, parts[i].key, settings,
                                           parts[i].measure, parts[i].context},
                         options, err);
        if (rc == 0)
            json_object_set_new(result, parts[i].key + strlen("theory/"), one);
        bang_progress_step(options->progress, i + 1, count);
        if (rc == 0 && bang_cancelled(options->cancel))
            rc = bang_fail(err, BANG_ECANCELLED, "interrupted");
    }
    return rc;
}
