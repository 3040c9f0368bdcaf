/* What a diagnosis found, made ready to be told: which numbers there are, how they are judged,
 * the closing sentences, and all of it as JSON. The command and other languages share it.
 *
 *     bang_finding finding = {.found = diagnosis, .facts = facts, .level = 0.95, ...};
 *     json_t *told = bang_finding_json(&finding);
 *     bang_text said = {0};
 *     bang_finding_sentences(&said, &finding);
 */
#ifndef BANG_BRIDGE_FINDING_H
#define BANG_BRIDGE_FINDING_H

#include "bang/base/json.h"
#include "bang/base/text.h"
#include "bang/measure/curve.h"
#include "bang/measure/diagnosis.h"

/* A fine-tuned model and its average: one point of the curve; accuracies as fractions. */
typedef struct bang_finding_point {
    const char *name;
    double fine, avg;
} bang_finding_point;

/* A point that took no part in the fit. */
typedef struct bang_finding_highlight {
    bang_finding_point point;
    bang_curve_point at; /* the curve at point.fine, with the half widths at the level */
    bang_curve_residual residual;
} bang_finding_highlight;

/* The curve at some x, for its band. */
typedef struct bang_finding_band {
    double fine;
    bang_curve_point at;
} bang_finding_band;

typedef struct bang_finding_curve {
    bang_curve fit;
    size_t count;
    bang_finding_point *points; /* (count) that were fitted, as the file has them */
    size_t highlight_count;
    bang_finding_highlight *highlights; /* (highlight_count) in the order of the options */
    size_t band_count;
    bang_finding_band
        *band; /* (band_count) x ascending, from the least to the largest of all points */
} bang_finding_curve;

/* What a diagnosis does not know about a set. */
typedef struct bang_finding_facts {
    size_t outputs;          /* columns of its files */
    size_t left_out;         /* rows whose label is outside the subset */
    const char *average;     /* what AM is: "given", "ose", "at 0.5" */
    char *const *class_name; /* (classes) or NULL */
    char *const *file;       /* (rows) what the rows are called, or NULL */
} bang_finding_facts;

typedef struct bang_finding {
    const bang_diagnosis *found;     /* NULL: the curve alone */
    const bang_finding_facts *facts; /* (found->set_count) */
    const bang_finding_curve *curve; /* or NULL */
    double level;                    /* of the intervals */
    size_t replicates;               /* of the bootstrap; 0: intervals are NaN */
    int bins;                        /* of calibration, both kinds */
    uint64_t seed;                   /* of the resamples */
    double weights[2];               /* of PM and FM in the OSE */
    size_t ose_count;                /* further OSEs */
    const double *ose_alphas;        /* (ose_count) */
    unsigned listed;                 /* bit g: samples of group g were asked for */
    int by_class;
    int details; /* of several sets, tell everything of each */
    size_t argument_count;
    char *const *arguments; /* (argument_count) the command line after bang */
    bang_text notes;        /* a line each: what a reader should know about the input */
} bang_finding;

/* All of it; what is not defined is null. A new reference. */
json_t *bang_finding_json(const bang_finding *r);

/* What is measured of every role, by its key in JSON and CSV; the last has no key. */
typedef struct bang_finding_measure {
    const char *key;
    int roles; /* of the first so many */
    double (*of)(const bang_set_diagnosis *set, bang_role role);
} bang_finding_measure;
extern const bang_finding_measure bang_finding_measures[];

/* Of a role on a set; gap: confidence - accuracy. NaN where it was not scored, or without labels.
 */
double bang_finding_accuracy(const bang_set_diagnosis *set, bang_role role);
double bang_finding_confidence(const bang_set_diagnosis *set, bang_role role);
double bang_finding_gap(const bang_set_diagnosis *set, bang_role role);
/* McNemar's test for a difference of accuracies; -1 where one of the two was not scored, or
 * without labels. */
int bang_finding_mcnemar(bang_mcnemar *out, const bang_set_diagnosis *set,
                         bang_quantity difference);
/* Accuracy within a class; NaN where it has no samples. Needs by_class. */
double bang_finding_class_accuracy(const bang_set_diagnosis *set, size_t label, bang_role role);
/* What AM is in the mean over OOD sets: "given", "ose" in its place, or "mixed". */
const char *bang_finding_ood_average(const bang_diagnosis *found);
/* "1.524", or "0.0001643" where that needs more digits. */
const char *bang_finding_temperature(char out[32], double temperature);
/* Whether the numbers of a role mean something on a set: it was scored, AM is not the OSE once
 * more, and no temperature that it needs is at a limit, where confidence is that of the limit. */
int bang_finding_has_role(const bang_diagnosis *found, const bang_set_diagnosis *set,
                          bang_role role);
/* The first set that has averages at alphas, or NULL. */
const bang_set_diagnosis *bang_finding_with_averages(const bang_diagnosis *found);
/* Of McNemar's exact test: of two accuracies, or of the average and the better model within TT+FF
 * or TF+FT; NaN where there is none. */
double bang_finding_p(const bang_set_diagnosis *set, bang_quantity difference);
/* The interval excludes 0, and p, unless it is NaN, is at most 1 - level: of few samples the
 * interval alone is too sure. */
int bang_finding_is_real(const bang_estimate *difference, double p, double level);
/* "real", "may be chance", "none" where no resample differs, or "" without an interval. */
const char *bang_finding_verdict(const bang_estimate *difference, double p, double level);
/* Whether the average beats both models: 1 if it is really better than each, -1 if it is really
 * worse than one, else 0. Not by the interval of the improvement over the better one, which
 * is biased downwards: of two equal models the better is the one with more luck. set is NULL for
 * the mean over the OOD sets, of are the estimates. */
int bang_finding_beats_both(const bang_set_diagnosis *set, const bang_estimate *of, double level);
/* What is said of a difference, or of a part of the improvement: interval and test. The improvement
 * over the better one is judged by the rule above, and so is, in the mean over sets, what of it is
 * lost where one model is right: that is biased as well, and has no test. */
const char *bang_finding_verdict_of(const bang_set_diagnosis *set, const bang_estimate *of,
                                    bang_quantity q, double level);
/* 1: confidence lies above the interval of accuracy, -1: below, 0: within, or no interval. */
int bang_finding_confidence_side(double confidence, const bang_estimate *accuracy);
/* Over-confidence of less than this is called small. */
#define BANG_FINDING_GAP_LEAST 0.05
/* Nothing is said about an alpha that is farther than this from all that were measured. */
#define BANG_FINDING_NEAREST_MOST (0.1 + 1e-9)
/* A mean over fewer samples than this decides nothing. */
enum { BANG_FINDING_FEW = 30 };
/* Whether the sum of both models' margins in TF or FT is negative, on enough samples: the one
 * that is wrong there dominates. */
int bang_finding_dominates(const bang_set_diagnosis *set, int pair);
/* "PM", "FM", "AM", "OSE", ...: roles for people. */
const char *bang_finding_role_title(bang_role role);
/* "+1.9", a fraction in points with its sign; "-" for a NaN. */
const char *bang_finding_in_points(char out[32], double value);
/* " [+1.2, +2.6]", or "" without an interval. */
const char *bang_finding_range(char out[64], const bang_estimate *e);
/* Which rule to follow: equal confidence on the OOD sets, else the best ID accuracy, else the
 * next that is known; never by its cost, which takes OOD labels to know. -1: none is known. */
int bang_finding_advised(const bang_diagnosis *found);
/* Adds the closing sentences, one a line, computed from the numbers: what helps, whether it is
 * real, what may be tried. For text and page alike. */
void bang_finding_sentences(bang_text *out, const bang_finding *r);
/* Of these the ones that say why nothing is told of calibrated outputs: a line for each
 * temperature at a limit. */
void bang_finding_limits(bang_text *out, const bang_diagnosis *found);

#endif
