/* The paper's experiments as functions: what is run, with which settings, the
 * records it writes, and the paper's own numbers.
 *
 *     bang_lab_options options = BANG_LAB_OPTIONS_INIT;
 *     options.folder = "run";
 *     bang_lab_run("simulation", &options, &summary, &err);   // run/results.jsonl
 */
#ifndef BANG_LAB_LAB_H
#define BANG_LAB_LAB_H

#include "bang/base/json.h"
#include "bang/base/progress.h"
#include "bang/base/rank.h"
#include "bang/base/thread.h"
#include "bang/data/color.h"
#include "bang/theory/theory.h"

/* The four examples of the simulation table (appendix C.4), all with K = 3,
 * p = .9 and a noise of standard deviation .01. Rows hold model 1, model 2,
 * weight-space ensemble, output-space ensemble. */
typedef struct bang_lab_example {
    const char *name; /* "1-1" */
    const char *models[2];
    int64_t overlap[2];        /* invariant, spurious */
    double paper_simulated[4]; /* what the paper measured */
    double paper_predicted[4]; /* what it prints as theory */
} bang_lab_example;

/* All of them, and one by name (NULL if there is none). */
const bang_lab_example *bang_lab_examples(size_t *count);
const bang_lab_example *bang_lab_find_example(const char *name);

/* Sets up K, p, sigma, models and overlap of an example. */
int bang_lab_example_problem(bang_theory_problem *problem, const bang_lab_example *example,
                             bang_error *err);

/* A figure of the paper as a chart that report.h describes, by F_p and by G:
 *     "f-curve"    F_p(x) for several p (figure 4a), exact accuracies on it
 *     "example-2"  OSE - model 1 over what model 2 learned (figure 4b)
 *     "example-3"  WSE - single and WSE - OSE over the overlap (figure 15)
 * *out is a new reference. */
int bang_lab_figure(json_t **out, const char *name, int64_t classes, double shift, double sigma,
                    bang_error *err);
/* The names, ending with NULL. */
extern const char *const bang_lab_figures[];

typedef struct bang_lab_options {
    const char *folder; /* where records go */
    int full;           /* the paper's scale instead of minutes */
    int resume;         /* keep the records that are there and go on */
    uint64_t seed;
    int threads;                   /* 0: all */
    const bang_progress *progress; /* may be NULL */
    bang_cancel *cancel;           /* may be NULL */
    bang_ranks *ranks;             /* that share the work; rank 0 alone has results */
    /* of the experiments on coloured digits */
    bang_color_protocol protocol;
    size_t seeds, models; /* 0: what the scale has */
    /* Told what long work is at, "pre-training, seeds 1-2 of 2"; may be NULL. */
    void (*phase)(const bang_progress *progress, const char *what);
} bang_lab_options;
#define BANG_LAB_OPTIONS_INIT                                                                      \
    {                                                                                              \
        NULL, 0, 0, 1, 0, NULL, NULL, NULL, BANG_COLOR_DEFAULT, 0, 0, NULL                         \
    }

typedef struct bang_lab_experiment {
    const char *name;
    const char *summary;
    int (*run)(json_t *result, const bang_lab_options *options, bang_error *err);
} bang_lab_experiment;

/* All experiments in the order of the paper, and one by name. */
const bang_lab_experiment *bang_lab_experiments(size_t *count);
const bang_lab_experiment *bang_lab_find_experiment(const char *name);

/* Records what the experiments ran on: processor, cores, vector instructions. */
int bang_lab_describe_machine(const bang_lab_options *options, bang_error *err);

#endif
