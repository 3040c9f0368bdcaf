/* Definition 1 in earnest: draws environments and samples, fits classifiers,
 * combines them in output and weight space, and counts.
 *
 *     bang_simulation_options options = BANG_SIMULATION_OPTIONS_INIT;
 *     bang_simulation_result result;
 *     bang_simulate(&result, &problem, &options, &err);   // problem: classes, shift,
 *                                                         // sigma, models, weights, scales
 *
 * Latent vectors mu_f(k), k = 1..K, of all features are orthonormal in R^d. In
 * distribution x_f ~ N(mu_f(y), sigma^2 I); out of distribution a spurious
 * feature shows mu_f(Q_f(y)) with Q_f(y) = y with probability 1-p, else
 * uniform. Model m sees x Phi_m = sum of its features.
 *
 * Run i draws from streams that are named by seed and i alone, so the result
 * does not depend on the number of threads.
 */
#ifndef BANG_THEORY_SIMULATE_H
#define BANG_THEORY_SIMULATE_H

#include "bang/base/progress.h"
#include "bang/base/rank.h"
#include "bang/theory/theory.h"

typedef enum bang_simulation_fit {
    BANG_FIT_MEAN,       /* w_m(k) = mean of x Phi_m over the training samples of class k */
    BANG_FIT_LOGISTIC,   /* multinomial logistic regression with a small ridge, to convergence */
    BANG_FIT_POPULATION, /* w_m(k) = sum of mu_f(k): infinitely many samples */
} bang_simulation_fit;

typedef enum bang_simulation_draw {
    BANG_DRAW_ENVIRONMENT, /* one Q per run: all test samples of a class share it */
    BANG_DRAW_SAMPLE,      /* a new Q for every test sample */
} bang_simulation_draw;

typedef struct bang_simulation_options {
    int64_t runs;
    int64_t train, test; /* samples per run */
    bang_simulation_fit fit;
    bang_simulation_draw draw;
    int64_t dimension; /* d; 0: K times the number of features, the smallest possible */
    int full;          /* draw every coordinate of every sample instead of projections */
    double ridge;      /* of the logistic fit */
    uint64_t seed;
    int threads;                   /* 0: all */
    const bang_progress *progress; /* may be NULL */
    bang_cancel *cancel;           /* may be NULL */
    bang_ranks *ranks;             /* that share the runs; the result is the same on all */
} bang_simulation_options;
#define BANG_SIMULATION_OPTIONS_INIT                                                               \
    {                                                                                              \
        1000, 20000, 10000, BANG_FIT_MEAN, BANG_DRAW_ENVIRONMENT, 0, 0, 1e-3, 1, 0, NULL, NULL,    \
            NULL                                                                                   \
    }

/* Mean accuracy over runs and its standard error (sd / sqrt(runs); NaN for one
 * run). ose and wse are NaN with a single model. */
typedef struct bang_simulation_result {
    int64_t runs;
    int models;
    double mean[BANG_THEORY_MAX_MODELS], error[BANG_THEORY_MAX_MODELS];
    double ose_mean, ose_error;
    double wse_mean, wse_error;
    /* The mean over runs, classes and features of <w_m(k), mu_f(k)>; models with equally many
     * features have one, since they differ by the noise of training alone. Of means it is 1. */
    double heads[BANG_THEORY_MAX_MODELS];
} bang_simulation_result;

/* Checks problem and options and lists all that is wrong in one message. */
int bang_simulation_check(const bang_theory_problem *problem,
                          const bang_simulation_options *options, bang_error *err);

/* The problem of which theory predicts what was simulated: its heads are those of the logistic
 * fit, up to a factor that all of them share. Borrows the problem's patterns. */
bang_theory_problem bang_simulation_fitted(const bang_theory_problem *problem,
                                           const bang_simulation_options *options,
                                           const bang_simulation_result *result);

/* Checks first. */
int bang_simulate(bang_simulation_result *out, const bang_theory_problem *problem,
                  const bang_simulation_options *options, bang_error *err);

#endif
