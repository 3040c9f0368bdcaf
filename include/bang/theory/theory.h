/* Predicts the accuracy of single models and of their ensembles under the
 * data model of the paper (Definition 1): K classes; a spurious feature shows
 * its own class with probability q = 1-p+p/K and each other class with p/K
 * once the distribution has shifted; an invariant feature always shows it.
 *
 *     bang_theory_problem problem;
 *     bang_theory_problem_init(&problem, 3, 0.9);
 *     bang_theory_add_model(&problem, "2,3", &err);
 *     bang_theory_add_model(&problem, "2,3", &err);
 *     bang_theory_set_overlap(&problem, 1, 1, &err);
 *     bang_theory_score score;
 *     bang_theory_score_wse(&score, &problem, &err);
 *     bang_theory_exact(&value, &score, 3, 0.9, NULL, &err);   // value.accuracy = .94820
 *     bang_theory_score_release(&score);
 *     bang_theory_problem_release(&problem);
 *
 * Every combination of models reduces to one form, the score: the logit of the
 * true class is V + sum_g c_g r_g1, that of class k is sum_g c_g r_gk, where
 * group g holds n_g spurious features of coefficient c_g and r_gk of them show
 * class k; each logit carries Gaussian noise of standard deviation tau. The
 * largest logit wins; a tie with N wrong classes counts 1/(N+1). Margins below
 * 1e-14 of the sum of all coefficients are ties, so that weights of .7 and .3
 * tie where 7 and 3 do, and 1.4142135623730951 means the root of 2.
 */
#ifndef BANG_THEORY_THEORY_H
#define BANG_THEORY_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"
#include "bang/base/progress.h"
#include "bang/base/thread.h"

enum {
    BANG_THEORY_MAX_MODELS = 64,
    BANG_THEORY_MAX_FEATURES = 10000000, /* of one kind in one model */
    BANG_THEORY_MAX_CLASSES = 10000000,
};

/* How many features are learned by exactly this set of models. */
typedef struct bang_theory_pattern {
    uint64_t models;   /* bit m: model m learned them */
    int64_t invariant; /* nv(A) */
    int64_t spurious;  /* ns(A) */
} bang_theory_pattern;

/* One combination of models, ready for prediction. */
typedef struct bang_theory_group {
    double coefficient; /* c_g, never 0 */
    int64_t count;      /* n_g, at least 1 */
} bang_theory_group;

typedef struct bang_theory_score {
    double invariant;          /* V */
    double noise;              /* tau; 0 is the small-noise limit */
    size_t group_count;        /* groups with equal coefficients are merged */
    bang_theory_group *groups; /* (group_count), ascending coefficient */
} bang_theory_score;

/* Some models, what they learned, and how they are combined. */
typedef struct bang_theory_problem {
    int64_t classes; /* K */
    double shift;    /* p */
    double sigma;    /* noise of one feature */
    int models;
    double weights[BANG_THEORY_MAX_MODELS]; /* of outputs (OSE), of heads and featurizers (WSE) */
    double scales[BANG_THEORY_MAX_MODELS];  /* lambda_m: model m is (lambda w, lambda Phi) */
    double heads[BANG_THEORY_MAX_MODELS];   /* s_m: of these w is s_m times the sum of the means;
                                             * the paper's is 1 */
    size_t pattern_count;
    bang_theory_pattern *patterns; /* (pattern_count) */
    struct bang_theory_sets *sets; /* what was said as index sets, until patterns follow */
    int64_t counts[2][2];          /* NV,NS of two models said as counts */
    int form;                      /* 0 nothing yet, 1 counts, 2 index sets */
} bang_theory_problem;

void bang_theory_problem_init(bang_theory_problem *problem, int64_t classes, double shift);
void bang_theory_problem_release(bang_theory_problem *problem);

/* Adds a model as counts, "NV,NS", or as index sets, "v0-1,s0-2" (numbers
 * continue the last letter, in any order). All models of a problem are said in
 * one of the two ways; counts do not overlap unless set_overlap says so. */
int bang_theory_add_model(bang_theory_problem *problem, const char *text, bang_error *err);

/* The shared features of two models given as counts. */
int bang_theory_set_overlap(bang_theory_problem *problem, int64_t invariant, int64_t spurious,
                            bang_error *err);

/* Checks every number of a problem and lists all that is wrong. Weights may be
 * any finite numbers; they are not normalised. */
int bang_theory_check(const bang_theory_problem *problem, bang_error *err);

/* Features that models a and b share, of both kinds; a may equal b. */
int64_t bang_theory_shared(const bang_theory_problem *problem, int a, int b);

/* The scores of model m alone, of the output-space ensemble
 *     sum_m beta_m w_m' x Phi_m,
 * and of the weight-space ensemble
 *     (sum_m beta_m w_m)' x (sum_m beta_m Phi_m);
 * the caller releases them. Cross-entropy is least at w_m proportional to 1/n_m of n_m features,
 * which makes other ensembles of models with different n_m: heads. */
int bang_theory_score_single(bang_theory_score *out, const bang_theory_problem *problem, int m,
                             bang_error *err);
int bang_theory_score_ose(bang_theory_score *out, const bang_theory_problem *problem,
                          bang_error *err);
int bang_theory_score_wse(bang_theory_score *out, const bang_theory_problem *problem,
                          bang_error *err);
void bang_theory_score_release(bang_theory_score *score);

typedef enum bang_theory_method {
    BANG_THEORY_AUTO,        /* the cheapest exact one, else Monte Carlo */
    BANG_THEORY_CLOSED,      /* nothing is left to chance: no spurious feature, or p = 0 */
    BANG_THEORY_GENERATING,  /* generating function on circles: few groups of any size */
    BANG_THEORY_LATTICE,     /* dynamic programming on two logits: K = 2 and 3, any weights */
    BANG_THEORY_SERIES,      /* powers of truncated series: many small groups, any K */
    BANG_THEORY_MONTE_CARLO, /* sampled; has a standard error */
} bang_theory_method;

/* "generating-function" and so on; NULL for no such method. */
const char *bang_theory_method_name(bang_theory_method method);
int bang_theory_method_parse(bang_theory_method *out, const char *name);

typedef struct bang_theory_options {
    bang_theory_method method;
    uint64_t seed;                 /* Monte Carlo */
    int64_t samples;               /* Monte Carlo; 0: as many as a few seconds allow */
    int threads;                   /* 0: all */
    bang_cancel *cancel;           /* may be NULL */
    const bang_progress *progress; /* may be NULL */
} bang_theory_options;
#define BANG_THEORY_OPTIONS_INIT                                                                   \
    {                                                                                              \
        BANG_THEORY_AUTO, 1, 0, 0, NULL, NULL                                                      \
    }

typedef struct bang_theory_value {
    double accuracy;
    double standard_error; /* 0 where the method is exact */
    bang_theory_method method;
} bang_theory_value;

/* G: the probability that the true class wins out of distribution. Exact
 * methods err by less than 1e-12. options may be NULL. */
int bang_theory_exact(bang_theory_value *out, const bang_theory_score *score, int64_t classes,
                      double shift, const bang_theory_options *options, bang_error *err);

/* In distribution every feature shows its class: E_Z[Phi((V+sum c)/tau + Z)^(K-1)]. */
double bang_theory_id_accuracy(const bang_theory_score *score, int64_t classes);

/* P(logit of one given wrong class > logit of the true class), appendix D.6. */
int bang_theory_failure(double *out, const bang_theory_score *score, int64_t classes, double shift,
                        bang_error *err);

/* F_p(x) of appendix F.2: P(all K-1 margins > 0) when they are Gaussian with
 * mean x, variance p(K+2-pK)/K and covariance p(K+1-pK)/K. */
double bang_theory_fp(double x, int64_t classes, double shift);

/* The central-limit approximation of G: F_p(x) with
 * x = (V + (1-p) sum c_g n_g) / sqrt(sum c_g^2 n_g), and with the noise added. */
double bang_theory_gaussian(const bang_theory_score *score, int64_t classes, double shift);

/* That x; infinite when there is no spurious feature, NaN when there is no feature. */
double bang_theory_gaussian_argument(const bang_theory_score *score, double shift);

/* G as a polynomial in p with exact rational coefficients, in the small-noise
 * limit, such as "1 - 4/81 p^4 - 8/243 p^5"; the caller frees it. Coefficients
 * may be any numbers, since only the order of logits matters. BANG_EUSAGE when
 * the case is too large. */
int bang_theory_polynomial(char **out, const bang_theory_score *score, int64_t classes,
                           bang_error *err);

/* G at the rational point numerator/denominator, from the same polynomial: the
 * reference that the fast methods are tested against. */
int bang_theory_exact_rational(double *out, const bang_theory_score *score, int64_t classes,
                               int64_t numerator, int64_t denominator, bang_error *err);

/* The best weights. Fields that do not apply are NaN. */
typedef struct bang_theory_best {
    double alpha_gaussian; /* weight of the second of two models in the WSE */
    double wse_gaussian;   /* F_p there */
    double alpha_exact[2]; /* the widest interval of alpha on which G is largest */
    double wse_exact;      /* G there */
    int has_ose;
    /* Largest mean over deviation of a margin, which without noise is the
     * largest F_p; they sum to 1. */
    double ose_weights[BANG_THEORY_MAX_MODELS];
    double ose_gaussian;
} bang_theory_best;

/* BANG_EUSAGE where heads are not 1. */
int bang_theory_find_best(bang_theory_best *out, const bang_theory_problem *problem,
                          const bang_theory_options *options, bang_error *err);

#endif
