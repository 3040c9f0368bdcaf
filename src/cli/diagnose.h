/* What the parts of bang diagnose share: what was found, and the ways to tell it. */
#ifndef BANG_CLI_DIAGNOSE_H
#define BANG_CLI_DIAGNOSE_H

#include "bang/measure/curve.h"
#include "bang/measure/diagnosis.h"
#include "cli.h"

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
    const bang_diagnosis *found;   /* NULL: the curve alone */
    const diagnose_facts *facts;   /* (found->set_count) */
    const diagnose_fit *curve;     /* or NULL */
    double level;                  /* of the intervals */
    size_t replicates;             /* of the bootstrap; 0: intervals are NaN */
    int bins;                      /* of calibration, both kinds */
    double weights[2];             /* of PM and FM in the OSE */
    size_t alpha_count;            /* averages at alphas, as given; 0: none */
    const double *alphas;          /* (alpha_count) */
    const char *const *alpha_text; /* (alpha_count) as typed */
    size_t ose_count;              /* further OSEs */
    const double *ose_alphas;      /* (ose_count) */
    unsigned listed;               /* bit g: samples of group g were asked for */
    int by_class;
    bang_text notes; /* a line each: what a reader should know about the input */
} diagnose_result;

/* The ways to tell it. */
json_t *diagnose_json(const diagnose_result *r);
void diagnose_print(const diagnose_result *r);
int diagnose_write_csv(const char *path, const diagnose_result *r, bang_error *err);
int diagnose_write_page(const char *path, const diagnose_result *r, bang_error *err);

/* What they share. */

/* McNemar's test for a difference of accuracies; -1 where one of the two was not scored, or
 * without labels. */
int diagnose_mcnemar(bang_mcnemar *out, const bang_set_diagnosis *set, bang_quantity difference);
/* Accuracy within a class; NaN where it has no samples. Needs by_class. */
double diagnose_class_accuracy(const bang_set_diagnosis *set, size_t class, bang_role role);
/* The first set that has averages at alphas, or NULL. */
const bang_set_diagnosis *diagnose_with_averages(const bang_diagnosis *found);
/* An interval around a difference that excludes 0. NaN: no. */
int diagnose_is_real(const bang_estimate *difference);
/* "PM", "FM", "AM", "OSE", ...: roles for people. A set without an average has none called AM. */
const char *diagnose_role_title(bang_role role);
/* Adds the closing sentences, one a line, computed from the numbers: what helps, whether it is
 * real, what may be tried. For text and page alike. */
void diagnose_sentences(bang_text *out, const diagnose_result *r);

#endif
