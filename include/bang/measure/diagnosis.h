/* Why an average helps: the whole diagnosis of a pre-trained model (PM), a fine-tuned one (FM)
 * and their average (AM) on one or several data sets, from their logits.
 *
 *     bang_diagnosis *found;
 *     bang_diagnose(&found, sets, count, &options, &err);
 *     double ratio = found->sets[0].of[BANG_Q_FFT].value;
 *     bang_diagnosis_free(found);
 *
 * The paper's quantities (section 2, appendices C.1 and E.6), n samples, groups written as
 * PM FM AM with T for right and F for wrong:
 *
 *     FalseFalseTrue ratio  FFT/n
 *     ImproveContri(G)      (right(G; AM) - max(right(G; PM), right(G; FM)))/n
 *       on TT+FF            (FFT - TTF)/n
 *       on TF+FT            (TFT + FTT - max(TFT + TFF, FTT + FTF))/n
 *       on all              accuracy(AM) - max(accuracy(PM), accuracy(FM))
 *     corrected ratio       N1/N2 = TFT/n
 *
 * Note that the contributions of TT+FF and TF+FT sum to that of all: TT+FF adds the same
 * number to PM and FM, so the same of them is the better one.
 *
 * The output-space ensemble (OSE) is the mean of the two models' logits, weighted by weights.
 * The calibrated one (Kumar et al. 2022) divides each model's logits by its temperature
 * before, both fitted on the ID set. Weights are divided by their sum: no prediction depends on
 * it, and a confidence is then that of a mean of models, not of a sum.
 *
 * Intervals are of the paired bootstrap (statistics.h): in every replicate each set is drawn
 * again by itself, and everything computed from it, the better of PM and FM included. Of a set's
 * accuracy of exactly 0 or 1 all resamples are the same: there the interval is the exact one
 * (Clopper and Pearson 1934), with q = (1 - level)/2 from q^(1/n) to 1, or from 0 to
 * 1 - q^(1/n).
 *
 * Alpha without OOD labels: the paper explains a poor average by a fine-tuned model that is
 * more confident than the pre-trained one. The rule: with tau the temperature at which
 * the fine-tuned model is as confident as the pre-trained one (bang_temperature_balance), alpha =
 * 1/(1 + tau): (1 - alpha) z_PM + alpha z_FM is then proportional to z_PM + z_FM/tau, the sum of
 * two equally confident models.
 */
#ifndef BANG_MEASURE_DIAGNOSIS_H
#define BANG_MEASURE_DIAGNOSIS_H

#include "bang/measure/statistics.h"
#include "bang/measure/tally.h"
#include "bang/measure/temperature.h"

/* What is scored on every set. */
typedef enum bang_role {
    BANG_PRE,
    BANG_FINE,
    BANG_AVG, /* the average; the OSE where no average is given */
    BANG_OSE,
    BANG_OSE_MEAN,        /* ensemble of probabilities; none where a weight is negative */
    BANG_PRE_SCALED,      /* at its temperature */
    BANG_FINE_SCALED,     /* at its temperature */
    BANG_OSE_SCALED,      /* calibrated ensemble, of logits */
    BANG_OSE_SCALED_MEAN, /* calibrated ensemble, of probabilities; as BANG_OSE_MEAN */
    BANG_ROLES,
} bang_role;
/* "pre", "fine", "avg", "ose", "ose_probabilities", "pre_calibrated", "fine_calibrated",
 * "calibrated_ose", "calibrated_ose_probabilities" */
extern const char *const bang_role_names[BANG_ROLES];

/* What is estimated with an interval. */
typedef enum bang_quantity {
    BANG_Q_ACCURACY,                               /* + role, for every role */
    BANG_Q_AVG_PRE = BANG_Q_ACCURACY + BANG_ROLES, /* accuracy of AM minus PM's */
    BANG_Q_AVG_FINE,
    BANG_Q_AVG_OSE,
    BANG_Q_FINE_PRE,
    BANG_Q_OSE_PRE,
    BANG_Q_OSE_FINE,
    BANG_Q_SCALED_OSE, /* calibrated OSE minus OSE */
    BANG_Q_AVG_SCALED, /* AM minus calibrated OSE */
    BANG_Q_ALL,        /* ImproveContri, also the overall improvement */
    BANG_Q_TT_FF,
    BANG_Q_TF_FT,
    BANG_Q_FFT,
    BANG_Q_TTF,
    BANG_Q_CORRECTED,
    BANG_QUANTITIES,
} bang_quantity;

/* The two roles of a difference of accuracies; -1 for other quantities. */
int bang_quantity_roles(bang_quantity quantity, bang_role *first, bang_role *second);

typedef struct bang_estimate {
    double value; /* NaN where it is not defined: no labels, no temperature */
    bang_interval interval;
} bang_estimate;

typedef struct bang_diagnosis_set {
    const char *name; /* different for every set */
    bang_logits pre, fine;
    bang_logits avg;          /* without a table: the OSE takes its place */
    const bang_label *labels; /* (rows), or NULL */
    const bang_logits *at;    /* (alpha_count) averages at the options' alphas; or NULL */
} bang_diagnosis_set;

/* Of fewer, the ends of an interval are hardly more than chance; more would need more memory than
 * they tell: a replicate is a number for every quantity. */
enum { BANG_REPLICATES_LEAST = 100, BANG_REPLICATES_MAX = 1000000 };
/* Averages at alphas and further OSEs together. */
enum { BANG_ALPHAS_MAX = BANG_MEMBERS_MAX - BANG_ROLES };

typedef struct bang_diagnosis_options {
    int bins;
    double level;      /* of the intervals */
    size_t replicates; /* of the bootstrap; 0: no intervals; else within the limits above */
    uint64_t seed;
    double weights[2]; /* of PM's and FM's logits in the OSE; one may be negative, the sum not */
    size_t id;         /* which set is in distribution; all others are OOD */
    int fit;           /* fit both temperatures on set fitted_on, if it has labels */
    size_t fitted_on;
    double temperature[2]; /* of PM and FM, where they are not fitted; 0: none */
    size_t alpha_count;    /* of the sets' averages; 0 is PM and 1 is FM, and need not be there */
    const double *alphas;  /* ascending, within 0..1 */
    size_t ose_count;      /* further OSEs: (1 - a) PM + a FM */
    const double *ose_alphas;
    unsigned listed; /* as bang_tally_options */
    int by_class;
    int threads;
    const bang_progress *progress; /* in rows over all sets */
    bang_cancel *cancel;
} bang_diagnosis_options;
#define BANG_DIAGNOSIS_OPTIONS_INIT                                                                \
    ((bang_diagnosis_options){.bins = BANG_BINS,                                                   \
                              .level = 0.95,                                                       \
                              .replicates = 10000,                                                 \
                              .seed = 1,                                                           \
                              .weights = {.5, .5},                                                 \
                              .fit = 1})

/* How two members differ, whatever their accuracy; shares of the counted rows. */
typedef struct bang_diversity {
    double agreement;         /* the same prediction */
    double disagreement;      /* 1 - agreement */
    double both_wrong;        /* NaN without labels, as the rest */
    double same_mistake;      /* both wrong, with the same prediction */
    double error_correlation; /* phi */
    bang_mcnemar mcnemar;     /* b: only the first is right */
} bang_diversity;

/* One alpha on one set: the average in weight space, or an OSE. */
typedef struct bang_alpha_score {
    double alpha;
    bang_estimate accuracy;
    double confidence, nll; /* means */
    double ece;
    /* Of an average: less the accuracy of the OSE at the same alpha, paired, and McNemar's test of
     * the two, b: only the average is right. NaN where there is no such OSE: neither a further
     * one, nor the OSE of the weights 1 - alpha and alpha. */
    bang_estimate minus_ose;
    bang_mcnemar against_ose;
} bang_alpha_score;

typedef struct bang_set_diagnosis {
    const char *name;       /* borrowed */
    bang_tally *tally;      /* its members: see member */
    int member[BANG_ROLES]; /* which member of the tally, or -1 */
    int has_average;        /* else the OSE stands in its place */
    size_t groups[BANG_GROUPS];
    bang_estimate of[BANG_QUANTITIES];
    bang_calibration width[BANG_ROLES], mass[BANG_ROLES]; /* mass: of PM, FM, AM, OSE */
    double margin_sum[BANG_PAIRS];  /* mean margin of PM + that of FM in TT, TF, FT, FF */
    bang_diversity diversity[4][4]; /* PRE, FINE, AVG, OSE against each other */
    bang_temperature balance;       /* of FM, to be as confident as PM */
    double balanced_alpha;          /* 1/(1 + tau) */
    size_t wse_count;               /* alphas with 0 and 1; 0 where no averages were given */
    bang_alpha_score *wse;          /* (wse_count) */
    bang_alpha_score *ose;          /* (ose_count) as the options say */
} bang_set_diagnosis;

/* A way to choose alpha. */
typedef enum bang_rule {
    BANG_RULE_ID_ACCURACY, /* the best on the ID set; of equals the nearest to 1/2, then the lower
                            */
    BANG_RULE_BALANCE_OOD, /* mean over OOD sets of balanced_alpha, their labels unused */
    BANG_RULE_BALANCE_ID,  /* balanced_alpha of the ID set */
    BANG_RULE_HALF,        /* 1/2, the paper's choice */
    BANG_RULE_ORACLE, /* the best mean accuracy on labelled OOD sets: not to be had in practice */
    BANG_RULES,
} bang_rule;
/* "id-accuracy", "balanced-confidence-ood", "balanced-confidence-id", "half", "oracle" */
extern const char *const bang_rule_names[BANG_RULES];

typedef struct bang_choice {
    int known;      /* what the rule needs is there */
    double alpha;   /* what it says */
    size_t nearest; /* of the alphas of bang_set_diagnosis.wse; of two equally near the lower */
    /* Accuracy at the nearest: mean over labelled OOD sets with averages, what it lacks to the
     * oracle there, and the ID set's; NaN where there are no labels or averages. Intervals are
     * those of the alphas that were chosen, the oracle's as well: where that of the cost
     * holds 0, the oracle may be better by chance alone. */
    bang_estimate ood, cost, id;
} bang_choice;

typedef struct bang_diagnosis {
    size_t set_count;
    bang_set_diagnosis *sets;
    size_t id;
    int has_temperature, fitted; /* fitted here on a set, or given */
    size_t fitted_on;
    bang_temperature temperature[2];    /* of PM and FM */
    size_t ood_count;                   /* labelled sets other than id */
    bang_estimate ood[BANG_QUANTITIES]; /* means over them of the sets' values */
    double ood_confidence[BANG_ROLES], ood_ece[BANG_ROLES];
    size_t choice_sets;              /* of ood_count those with averages at the alphas */
    bang_choice choices[BANG_RULES]; /* none known where no set has averages at the alphas */
} bang_diagnosis;

/* The caller frees it. The sets' names, tables and labels must stay until then. All that is wrong
 * with sets and options is told at once; whether logits are logits is for bang_logits_check to
 * say. */
int bang_diagnose(bang_diagnosis **out, const bang_diagnosis_set *sets, size_t count,
                  const bang_diagnosis_options *options, bang_error *err);
/* NULL is allowed. */
void bang_diagnosis_free(bang_diagnosis *diagnosis);

/* McNemar's test of two roles on a set; b: only the first is right. All of it NaN, with b = c =
 * 0, where the set has no labels or one of the roles is not there. */
bang_mcnemar bang_diagnosis_mcnemar(const bang_set_diagnosis *set, bang_role first,
                                    bang_role second);

/* The parts that depend on counts alone; groups (BANG_GROUPS) as above, into the quantities
 * from BANG_Q_ALL on and differences of PM, FM and AM; the rest of out is not touched. NaN
 * without samples. */
void bang_group_quantities(double out[BANG_QUANTITIES], const size_t groups[BANG_GROUPS]);
/* The equation of appendix C.1, from counts: right ones of each model in the group, and the size
 * of the whole data set. */
double bang_improve_contribution(size_t pre, size_t fine, size_t avg, size_t total);

#endif
