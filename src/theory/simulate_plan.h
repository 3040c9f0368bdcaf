/* The simulation behind bang_simulate: what is worked out once (the plan), what
 * every worker reuses (the scratch), and the steps of one run.
 *
 *     bang_simulation_fit_heads(plan, scratch, run, err);   // heads of all blocks
 *     bang_simulation_project(plan, scratch, err);          // unless options->full
 *     bang_simulation_test(hits, plan, scratch, run, err);
 *
 * A block is a pair of a head and a featurizer whose logits are
 * head(k)' (x Phi): one block per model, (lambda_m w_m, lambda_m Phi_m), and,
 * with two models or more, one for the weight-space ensemble,
 * (sum_m beta_m lambda_m w_m, sum_m beta_m lambda_m Phi_m). The output-space
 * ensemble is sum_m beta_m times the logits of block m.
 *
 * Coordinates: mu_f(k) is taken to be the unit vector e_{f*K+k}. The noise is
 * N(0, sigma^2 I), so rotating all of R^d changes no distribution, and a
 * rotation takes any K*F orthonormal vectors to these.
 */
#ifndef BANG_THEORY_SIMULATE_PLAN_H
#define BANG_THEORY_SIMULATE_PLAN_H

#include "bang/base/arena.h"
#include "bang/base/random.h"
#include "bang/theory/simulate.h"

enum {
    SIMULATION_BATCH = 64,                          /* test samples taken at a time */
    SIMULATION_SCORES = BANG_THEORY_MAX_MODELS + 2, /* models, then OSE, WSE */
};

/* Features learned by the same models; numbered one after the other, the
 * invariant ones first. */
typedef struct simulation_pattern {
    size_t first, invariant, count; /* count >= 1, of both kinds */
} simulation_pattern;

typedef struct simulation_plan {
    const bang_theory_problem *problem;
    const bang_simulation_options *options;
    size_t classes;               /* K */
    size_t models;                /* M */
    size_t blocks;                /* H: M + 1, or 1 for a single model */
    size_t logits;                /* L = H * K */
    size_t features;              /* F, of all patterns */
    size_t spurious;              /* of them */
    size_t dimension;             /* d >= K * F */
    size_t scores;                /* M + 2, or 1 for a single model */
    size_t pattern_count;         /* P */
    simulation_pattern *patterns; /* (P) */
    double *member;               /* (P, M): 1 if the model learned the pattern, else 0 */
    double *featurizer;           /* (P, H): Phi of each block on the pattern's features */
    double *overlap;              /* (H, H): sum over features of the product of two blocks' Phi */
    bang_arena arena;             /* owns the arrays */
} simulation_plan;

/* Arrays that a run does not need stay NULL. */
typedef struct simulation_scratch {
    double *heads;     /* (H, K, d) */
    double *sizes;     /* (M): mean of <w_m(k), mu_f(k)> over classes and the model's features */
    double *noise;     /* (d): the noise of one feature or pattern */
    int64_t *counts;   /* (K): samples per class */
    uint32_t *shown;   /* (K, F): the class that feature f shows under label y */
    double *seen;      /* (H, d): x Phi of one sample */
    double *samples;   /* (M, n, d): the training sample of the logistic fit */
    uint32_t *labels;  /* (n) */
    double *logistic;  /* scratch of the logistic fit */
    double *factor;    /* (L, L): lower triangular, noise of all logits = factor * normals */
    double *table;     /* (F*K, L): what mu_f(q) adds to each logit */
    double *signal;    /* (2, L): of the invariant features, of all */
    double *normals;   /* (L, batch) */
    double *output;    /* (L, batch): logits of all blocks */
    double *ensemble;  /* (K, batch): logits of the OSE */
    double *magnitude; /* (2, batch): for ties, see simulate_measure.c */
    bang_arena arena;  /* owns the arrays */
} simulation_scratch;

/* Both must have passed the check and outlive the plan, which the caller
 * releases, also after a failure. */
int bang_simulation_plan_init(simulation_plan *plan, const bang_theory_problem *problem,
                              const bang_simulation_options *options, bang_error *err);
void bang_simulation_plan_release(simulation_plan *plan);

/* How many workers fit into memory (and are of use); BANG_EUSAGE when not even
 * one does, or when a run would draw more numbers than a stream holds. */
int bang_simulation_size(int *workers, const simulation_plan *plan, bang_error *err);

/* The caller releases scratch->arena, also after a failure. */
int bang_simulation_scratch_init(simulation_scratch *scratch, const simulation_plan *plan,
                                 bang_error *err);

/* counts (K): how many of total samples with uniform labels fall in each class. */
void bang_simulation_label_counts(int64_t *counts, size_t classes, int64_t total,
                                  bang_random *random);

/* Draws x Phi_j for n featurizers into seen (n, d); coefficients (P, n) are
 * theirs and shown (F) is the class each feature shows. With apart every
 * feature is drawn, otherwise the sum over each pattern, which is as well
 * Gaussian. noise (d) is scratch. */
void bang_simulation_sample(double *seen, const simulation_plan *plan, const double *coefficients,
                            size_t n, const uint32_t *shown, int apart, double *noise,
                            bang_random *random);

/* One run: train, prepare factor and table, test; hits (scores) are sums of
 * credits. */
int bang_simulation_fit_heads(const simulation_plan *plan, simulation_scratch *scratch,
                              uint64_t run, bang_error *err);
int bang_simulation_project(const simulation_plan *plan, simulation_scratch *scratch,
                            bang_error *err);
int bang_simulation_test(double *hits, const simulation_plan *plan, simulation_scratch *scratch,
                         uint64_t run, bang_error *err);

/* Lower-triangular F with F F' = the positive semidefinite matrix (n, n) whose
 * lower triangle stands in a; in place. */
int bang_simulation_factorise(double *a, size_t n, bang_cancel *cancel, bang_error *err);

int bang_simulation_cancelled(bang_error *err);

#endif
