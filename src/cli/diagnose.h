/* What the parts of bang diagnose share: what was found, and the ways to tell it. */
#ifndef BANG_CLI_DIAGNOSE_H
#define BANG_CLI_DIAGNOSE_H

#include "bang/bridge/finding.h"
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

/* Says through c which highlights are no points. */
void diagnose_check_highlights(cli *c, const diagnose_curve *points,
                               const diagnose_request *request);
/* Fits the curve to the points that are not highlighted. The caller releases out in any case; its
 * names are those of points. */
int diagnose_fit_curve(bang_finding_curve *out, const diagnose_curve *points,
                       const diagnose_request *request, bang_error *err);
void diagnose_fit_release(bang_finding_curve *fit);

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
void diagnose_print(const bang_finding *r);
int diagnose_write_csv(const char *path, const bang_finding *r, bang_error *err);
int diagnose_write_page(const char *path, const bang_finding *r, bang_error *err);

/* Parts of the text. */
void diagnose_print_wrapped(const char *text);    /* broken at blanks, after 100 columns */
void diagnose_print_sets(const bang_finding *r);  /* all sets below each other */
void diagnose_print_alpha(const bang_finding *r); /* temperatures, and which alpha */
void diagnose_print_list(const bang_finding *r, size_t set);
void diagnose_print_classes(const bang_finding *r, size_t set);
void diagnose_print_curve(const bang_finding *r);

#endif
