/* What the parts of bang diagnose share: what was found, and the ways to tell it. */
#ifndef BANG_CLI_DIAGNOSE_H
#define BANG_CLI_DIAGNOSE_H

#include "bang/measure/curve.h"
#include "bang/measure/diagnosis.h"
#include "diagnose_input.h"

/* The options of one set. */
typedef struct diagnose_block {
    diagnose_set_request set; /* what diagnose_input.h asks for; its name and at: once checked */
    const char *name;         /* as typed */
    size_t at_typed_count;
    const char **at_typed; /* (at_typed_count) ALPHA=FILE, or a name with {alpha} */
    diagnose_at *at;       /* (set.at_count) owned, with their paths */
} diagnose_block;

/* What was asked for. */
typedef struct diagnose_request {
    size_t argument_count;
    char *const *arguments; /* (argument_count) the command line after bang; borrowed */
    /* as typed */
    size_t block_count;
    diagnose_block *blocks; /* (block_count) the first one stands before any --set */
    const char *id, *fit, *temperature, *weights, *alphas, *list, *files;
    const char *label_numbers, *class_names, *curve, *html, *csv;
    size_t highlight_count;
    const char **highlights; /* (highlight_count) */
    int64_t bins, replicates;
    double level;
    int probabilities, logits, by_class, details;
    /* after diagnose_check */
    diagnose_set_request *sets; /* (set_count) of the blocks that are sets */
    size_t set_count;
    diagnose_input_options input;
    bang_diagnosis_options options;
    double *at_alphas;  /* (options.alpha_count) */
    double *ose_alphas; /* (options.ose_count) */
} diagnose_request;

/* Where the readers of the option table write to. */
int diagnose_read_set(void *request, const char *value, bang_error *err);
int diagnose_read_at(void *request, const char *value, bang_error *err);
int diagnose_read_highlight(void *request, const char *value, bang_error *err);
/* An option of the last set: the place of its path in diagnose_block. */
typedef struct diagnose_field {
    diagnose_request *request;
    size_t offset;
} diagnose_field;
int diagnose_read_field(void *field, const char *value, bang_error *err);

/* From what was typed to what it means; says through c what is wrong. Opens no file. */
void diagnose_check(cli *c, diagnose_request *r);
/* Its part about --at and --alphas. */
void diagnose_check_alphas(cli *c, diagnose_request *r);
void diagnose_request_release(diagnose_request *r);

/* A fine-tuned model and its average: one point of the curve; accuracies as fractions. */
typedef struct diagnose_point {
    const char *name;
    double fine, avg;
} diagnose_point;

/* A point that took no part in the fit. */
typedef struct diagnose_highlight {
    diagnose_point point;
    bang_curve_point at; /* the curve at point.fine, with the half widths at the level */
    bang_curve_residual residual;
} diagnose_highlight;

/* The curve at some x, for its band. */
typedef struct diagnose_band {
    double fine;
    bang_curve_point at;
} diagnose_band;

typedef struct diagnose_fit {
    bang_curve fit;
    size_t count;
    diagnose_point *points; /* (count) that were fitted, as the file has them */
    size_t highlight_count;
    diagnose_highlight *highlights; /* (highlight_count) in the order of the options */
    size_t band_count;
    diagnose_band *band; /* (band_count) x ascending, from the least to the largest of all points */
} diagnose_fit;

/* What a diagnosis does not know about a set. */
typedef struct diagnose_facts {
    size_t outputs;          /* columns of its files */
    size_t left_out;         /* rows whose label is outside the subset */
    const char *average;     /* what AM is: "given", "ose", "at 0.5" */
    char *const *class_name; /* (classes) or NULL */
    char *const *file;       /* (rows) what the rows are called, or NULL */
} diagnose_facts;

typedef struct diagnose_result {
    const bang_diagnosis *found; /* NULL: the curve alone */
    const diagnose_facts *facts; /* (found->set_count) */
    const diagnose_fit *curve;   /* or NULL */
    double level;                /* of the intervals */
    size_t replicates;           /* of the bootstrap; 0: intervals are NaN */
    int bins;                    /* of calibration, both kinds */
    uint64_t seed;               /* of the resamples */
    double weights[2];           /* of PM and FM in the OSE */
    size_t ose_count;            /* further OSEs */
    const double *ose_alphas;    /* (ose_count) */
    unsigned listed;             /* bit g: samples of group g were asked for */
    int by_class;
    int details; /* of several sets, tell everything of each */
    size_t argument_count;
    char *const *arguments; /* (argument_count) the command line after bang */
    bang_text notes;        /* a line each: what a reader should know about the input */
} diagnose_result;

/* Says through c which highlights are no points. */
void diagnose_check_highlights(cli *c, const diagnose_curve *points,
                               const diagnose_request *request);
/* Fits the curve to the points that are not highlighted. The caller releases out in any case; its
 * names are those of points. */
int diagnose_fit_curve(diagnose_fit *out, const diagnose_curve *points,
                       const diagnose_request *request, bang_error *err);
void diagnose_fit_release(diagnose_fit *fit);

/* What --files calls the rows of a set; says through c what is wrong. Released with
 * diagnose_files_release. */
typedef struct diagnose_files {
    size_t count;
    char **names; /* (count) */
    char *text;   /* they point into it, or NULL: each is owned */
} diagnose_files;
void diagnose_files_read(diagnose_files *out, const char *path, size_t rows, cli *c);
void diagnose_files_release(diagnose_files *files);

/* The ways to tell it. */
json_t *diagnose_json(const diagnose_result *r);
void diagnose_print(const diagnose_result *r);
int diagnose_write_csv(const char *path, const diagnose_result *r, bang_error *err);
int diagnose_write_page(const char *path, const diagnose_result *r, bang_error *err);

/* Parts of the text. */
void diagnose_print_wrapped(const char *text);       /* broken at blanks, after 100 columns */
void diagnose_print_sets(const diagnose_result *r);  /* all sets below each other */
void diagnose_print_alpha(const diagnose_result *r); /* temperatures, and which alpha */
void diagnose_print_list(const diagnose_result *r, size_t set);
void diagnose_print_classes(const diagnose_result *r, size_t set);
void diagnose_print_curve(const diagnose_result *r);

/* What they share. */

/* What is measured of every role, by its key in JSON and CSV; the last has no key. */
typedef struct diagnose_measure {
    const char *key;
    int roles; /* of the first so many */
    double (*of)(const bang_set_diagnosis *set, bang_role role);
} diagnose_measure;
extern const diagnose_measure diagnose_measures[];

/* Of a role on a set; gap: confidence - accuracy. NaN where it was not scored, or without labels.
 */
double diagnose_accuracy(const bang_set_diagnosis *set, bang_role role);
double diagnose_confidence(const bang_set_diagnosis *set, bang_role role);
double diagnose_gap(const bang_set_diagnosis *set, bang_role role);
/* McNemar's test for a difference of accuracies; -1 where one of the two was not scored, or
 * without labels. */
int diagnose_mcnemar(bang_mcnemar *out, const bang_set_diagnosis *set, bang_quantity difference);
/* Accuracy within a class; NaN where it has no samples. Needs by_class. */
double diagnose_class_accuracy(const bang_set_diagnosis *set, size_t class, bang_role role);
/* What AM is in the mean over OOD sets: "given", "ose" in its place, or "mixed". */
const char *diagnose_ood_average(const bang_diagnosis *found);
/* "1.524", or "0.0001643" where that needs more digits. */
const char *diagnose_temperature(char out[32], double temperature);
/* The first set that has averages at alphas, or NULL. */
const bang_set_diagnosis *diagnose_with_averages(const bang_diagnosis *found);
/* Of McNemar's exact test; NaN where there is none. */
double diagnose_p(const bang_set_diagnosis *set, bang_quantity difference);
/* The interval excludes 0, and p, unless it is NaN, is at most 1 - level: of few samples the
 * interval alone is too sure. */
int diagnose_is_real(const bang_estimate *difference, double p, double level);
/* "real", "may be chance", "none" where no resample differs, or "" without an interval. */
const char *diagnose_verdict(const bang_estimate *difference, double p, double level);
/* Whether the average beats both models: 1 if it is really better than each, -1 if it is really
 * worse than one, else 0. Not by the interval of the improvement over the better one, which
 * is biased downwards: of two equal models the better is the one with more luck. set is NULL for
 * the mean over the OOD sets, of are the estimates. */
int diagnose_beats_both(const bang_set_diagnosis *set, const bang_estimate *of, double level);
/* What is said of the improvement over the better one, by the same rule. */
const char *diagnose_verdict_all(const bang_set_diagnosis *set, const bang_estimate *of,
                                 double level);
/* 1: confidence lies above the interval of accuracy, -1: below, 0: within, or no interval. */
int diagnose_confidence_side(double confidence, const bang_estimate *accuracy);
/* Over-confidence of less than this is called small. */
#define DIAGNOSE_GAP_LEAST 0.05
/* Nothing is said about an alpha that is farther than this from all that were measured. */
#define DIAGNOSE_NEAREST_MOST (0.1 + 1e-9)
/* A mean over fewer samples than this decides nothing. */
enum { DIAGNOSE_FEW = 30 };
/* Whether the sum of both models' margins in TF or FT is negative, on enough samples: the one
 * that is wrong there dominates. */
int diagnose_dominates(const bang_set_diagnosis *set, int pair);
/* "PM", "FM", "AM", "OSE", ...: roles for people. */
const char *diagnose_role_title(bang_role role);
/* "+1.9", a fraction in points with its sign; "-" for a NaN. */
const char *diagnose_points(char out[32], double value);
/* " [+1.2, +2.6]", or "" without an interval. */
const char *diagnose_range(char out[64], const bang_estimate *e);
/* Which rule to follow: equal confidence on the OOD sets, else the best ID accuracy, else the
 * next that is known; never by its cost, which takes OOD labels to know. -1: none is known. */
int diagnose_advised(const bang_diagnosis *found);
/* Adds the closing sentences, one a line, computed from the numbers: what helps, whether it is
 * real, what may be tried. For text and page alike. */
void diagnose_sentences(bang_text *out, const diagnose_result *r);

#endif
