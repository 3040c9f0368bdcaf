/* From the paths of the command line to what bang_diagnose reads: files of logits are opened,
 * labels are read and numbered, subsets of the classes are found. Nothing is measured here.
 *
 *     diagnose_inputs in;
 *     if (diagnose_inputs_open(&in, requests, count, &options, c) < 0) ...     // problems in c
 *     diagnose_curve curve;
 *     if (diagnose_curve_open(&curve, "runs.csv", &options, c) < 0) ...        // more problems
 *     if (cli_usage_failed(c)) return CLI_FAILED;                              // all at once
 *     bang_diagnose(&found, in.sets, in.count, &diagnosis_options, &err);
 *     diagnose_curve_run(&curve, &run, &err);
 *     diagnose_curve_release(&curve);
 *     diagnose_inputs_release(&in);
 */
#ifndef BANG_CLI_DIAGNOSE_INPUT_H
#define BANG_CLI_DIAGNOSE_INPUT_H

#include "bang/measure/diagnosis.h"
#include "bang/measure/subset.h"
#include "bang/store/npy.h"
#include "cli.h"

/* Logits of the average at an alpha. */
typedef struct diagnose_at {
    double alpha;
    const char *path;
} diagnose_at;

/* What the options of one set said; NULL: not given. All is borrowed until release. */
typedef struct diagnose_set_request {
    const char *name;         /* of the set */
    const char *pre, *fine;   /* paths, always there */
    const char *avg, *labels; /* paths */
    const char *classes;      /* as typed: a list, or a path */
    size_t at_count;
    const diagnose_at *at; /* (at_count) by rising alpha; all sets that have any, have these */
} diagnose_set_request;

typedef struct diagnose_input_options {
    int probabilities;          /* the files hold them */
    int logits;                 /* the files hold logits, also where they look like probabilities */
    bang_numbers label_numbers; /* of sets with a subset of the classes */
    const char *class_names;    /* path: a name a line, by output; or NULL */
} diagnose_input_options;

/* Where the average of a set comes from. */
typedef enum diagnose_average {
    DIAGNOSE_AVERAGE_GIVEN,
    DIAGNOSE_AVERAGE_AT_HALF, /* the one at alpha 0.5 */
    DIAGNOSE_AVERAGE_OSE,     /* nowhere: the OSE takes its place */
} diagnose_average;

/* One set. */
typedef struct diagnose_input {
    size_t rows, outputs, classes;
    size_t left_out; /* rows whose label is none of the classes */
    diagnose_average average;
    char **class_names;           /* (classes), of the class names or the class map; or NULL */
    struct diagnose_parts *parts; /* what is open; private */
} diagnose_input;

typedef struct diagnose_inputs {
    size_t count;
    bang_diagnosis_set *sets; /* (count) for bang_diagnose */
    diagnose_input *of;       /* (count) what they were made of */
    bang_text notes;          /* a line each: what was assumed or left out */
} diagnose_inputs;

/* Opens all files and looks at each. What is wrong with any of them is said with cli_problem,
 * one line each, and -1 returned. The caller releases out in any case. */
int diagnose_inputs_open(diagnose_inputs *out, const diagnose_set_request *requests, size_t count,
                         const diagnose_input_options *options, cli *c);
void diagnose_inputs_release(diagnose_inputs *in);

/* Pairs of a fine-tuned model and its average, from a CSV: accuracies, or files of logits. */
typedef struct diagnose_curve {
    size_t count;
    char **names;       /* (count) all different */
    double *fine, *avg; /* (count) accuracies as fractions; of files: after the run */
    uint64_t rows;      /* that the run reads; 0: the CSV has accuracies */
    bang_text notes;    /* a line each */
    struct diagnose_curve_files *files; /* private */
} diagnose_curve;

typedef struct diagnose_curve_options {
    int threads;                   /* 0: all */
    const bang_progress *progress; /* in rows; or NULL */
    bang_cancel *cancel;           /* or NULL */
} diagnose_curve_options;

/* Reads the CSV and looks at all files that it names, as diagnose_inputs_open. options as there;
 * path is borrowed. The caller releases out in any case. */
int diagnose_curve_open(diagnose_curve *out, const char *path,
                        const diagnose_input_options *options, cli *c);
/* Computes the accuracies where files are given. */
int diagnose_curve_run(diagnose_curve *curve, const diagnose_curve_options *options,
                       bang_error *err);
/* Whether the file is one of those that the CSV names. */
int diagnose_curve_reads(const diagnose_curve *curve, const char *path);
void diagnose_curve_release(diagnose_curve *curve);

#endif
