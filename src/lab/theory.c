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
static const statement statements[] = {
    {"Proposition 1", "single model", NO_OVERLAP, 1, PAIR_FIRST, "1 - 1/9 p^3"},
    {"proof of Proposition 1", "single model", NO_OVERLAP, 1, PAIR_FIRST, "1 - 5/27 p^3"},
    {"Proposition 1", "OSE", NO_OVERLAP, 1, PAIR_OSE, "1 - 2/81 p^5 - 17/729 p^6"},
    {"overlap proposition (D.7)", "OSE", OVERLAP, 1, PAIR_OSE, "1 - 4/81 p^4 - 8/243 p^5"},
    {"overlap proposition (D.7)", "WSE", OVERLAP, 1, PAIR_WSE, "1 - 4/81 p^4 - 1/27 p^5"},
    {"proof of that (F.4)", "single model", OVERLAP, 1, PAIR_FIRST, "1 - 5/54 p^3"},
    {"proof of that (F.4)", "OSE", OVERLAP, 1, PAIR_OSE, "1 - 4/81 p^4 - 1/27 p^5"},
    {"proof of that (F.4)", "WSE", OVERLAP, 1, PAIR_WSE, "1 - 4/81 p^4 - 8/243 p^5"},
    {"Proposition 4 (F.3), scale > √5", "WSE", NO_OVERLAP, 3, PAIR_WSE, "1 - 2/27 p^3 - 5/243 p^6"},
};

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
    int wrong = 0, count = (int)(sizeof statements / sizeof *statements);
    for (int i = 0; i < count; i++) {
        const statement *s = &statements[i];
        char *exact = NULL;
        int rc = pair_polynomial(&exact, s->n, s->scale, 3, s->member, err);
        if (rc < 0) {
            json_decref(table);
            return rc;
        }
        int agrees = strcmp(exact, s->paper) == 0;
        wrong += !agrees;
        lab_table_row(
            table, json_pack("[sssss]", s->where, s->what, s->paper, exact, agrees ? "yes" : "no"));
        free(exact);
    }
    json_array_append_new(show, table);
    char because[160];
    snprintf(because, sizeof because,
             "%d of %d statements differ from the exact value; the proofs of Propositions 1 and 4 "
             "are right, and the overlap proposition has OSE and WSE swapped",
             wrong, count);
    lab_show_verdict(show, "The accuracies of Propositions 1, 4 and the overlap proposition",
                     wrong ? "partly" : "yes", because);
    json_object_set_new(result, "statements", json_integer(count));
    json_object_set_new(result, "wrong", json_integer(wrong));
    return 0;
}

typedef struct figure_task {
    const char *name, *text; /* what there is to see */
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
    return 0;
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
    lab_show_verdict(show, "Imbalanced scaling weakens the WSE (Proposition 4)",
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
    lab_show_verdict(show, "The average of appendix G beats both of its models",
                     half > fmax(at[0], at[1])   ? "yes"
                     : best > fmax(at[0], at[1]) ? "partly"
                                                 : "no",
                     because);
    json_object_set_new(result, "half", bang_json_number(half));
    json_object_set_new(result, "best", bang_json_number(best));
    return 0;
}

/* The paper's condition for WSE > OSE against the sign of the difference on
 * the 36 cells of Example 3. */
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
                              "Example 3 under the Gaussian formula; A = (1-p) ns, B = nv.");
    lab_table_row(table, json_pack("[si]", "the paper: ρv/ρs > 3(1-p)ns/nv", paper_wrong));
    lab_table_row(
        table, json_pack("[si]", "right: ρv > [(A+B)(√((1+7ρs)/(1+ρs)) − 1) − Aρs]/B", ours_wrong));
    json_array_append_new(show, table);
    char because[120];
    snprintf(because, sizeof because, "it is wrong in %d of the 36 cells of Example 3",
             paper_wrong);
    lab_show_verdict(show, "The condition for WSE > OSE (D.7.2)", paper_wrong ? "no" : "yes",
                     because);
    json_object_set_new(result, "paper_wrong", json_integer(paper_wrong));
    json_object_set_new(result, "right_wrong", json_integer(ours_wrong));
    return 0;
}

int lab_run_theory(json_t *result, const bang_lab_options *options, bang_error *err)
{
    static figure_task figures[] = {
        {"f-curve", "The formula is a central-limit approximation: with few spurious features the "
                    "exact accuracies lie off its curve."},
        {"example-2", "Model 1 learned 5 invariant and 20 spurious features. Joining almost any "
                      "second model helps, except one without invariant features, as the paper "
                      "says."},
        {"example-3", "Both models learned 10 invariant and 20 spurious features. Sharing "
                      "invariant features favours the weight-space ensemble, sharing spurious ones "
                      "the output-space ensemble."},
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
