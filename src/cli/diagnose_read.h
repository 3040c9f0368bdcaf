/* What reading data sets and reading the rows of a curve share. Problems are said through a cli,
 * one line each. */
#ifndef BANG_CLI_DIAGNOSE_READ_H
#define BANG_CLI_DIAGNOSE_READ_H

#include "bang/measure/subset.h"
#include "diagnose_input.h"

/* Names of a model's outputs. */
typedef struct diagnose_names {
    const char *path; /* NULL: there are none */
    bang_output_names of;
    char **keys, **names; /* (of.count) into text */
    char *text;
} diagnose_names;

/* path NULL: no names. -1 if something is wrong. The caller releases out in any case. */
int diagnose_names_read(diagnose_names *out, const char *path, cli *c);
void diagnose_names_release(diagnose_names *names);

/* Which outputs are classes. */
typedef struct diagnose_subset {
    int given;
    bang_class_outputs outputs;
    char **folders; /* (classes) of a class map, or NULL */
    size_t classes; /* of folders */
} diagnose_subset;

/* what: a list, or the path of a file, beside the file `beside` where that is not NULL; NULL or
 * "": all outputs. where begins what is said: "--classes". The model, whose file is `model`, has so
 * many outputs. -1 if something is wrong. The caller releases out in any case. */
int diagnose_subset_read(diagnose_subset *out, const char *what, const char *where,
                         const char *beside, const diagnose_names *names, size_t outputs,
                         const char *model, cli *c);
void diagnose_subset_release(diagnose_subset *subset);
/* The columns of bang_logits: NULL for all outputs. */
const bang_class_outputs *diagnose_subset_columns(const diagnose_subset *subset);

/* Some files of logits that belong together: of one shape. */
typedef struct diagnose_tables {
    size_t count;
    bang_npy_table **items; /* (count) owned; NULL: could not be opened */
    size_t rows, outputs;   /* of all; 0: none could be opened */
    const char *model;      /* path of the one that has this shape; borrowed */
} diagnose_tables;

/* Opens them; -1 if something is wrong. The caller releases out in any case, and keeps paths. */
int diagnose_tables_open(diagnose_tables *out, const char *const *paths, size_t count, cli *c);
void diagnose_tables_release(diagnose_tables *tables);
/* Looks into those that were opened: numbers that are not finite, probabilities. labels, (rows), or
 * NULL: which rows are left out. */
int diagnose_tables_check(const diagnose_tables *tables, const bang_class_outputs *columns,
                          const bang_label *labels, const diagnose_input_options *options, cli *c);

/* Labels of the rows of tables, as classes: *out, (rows), which the caller frees. subset NULL: it
 * could not be read, and labels are not numbered, as if the tables are none. -1 if something is
 * wrong. */
int diagnose_labels_read(bang_label **out, bang_numbered *how, const char *path,
                         const diagnose_tables *tables, const diagnose_subset *subset,
                         bang_numbers numbers, cli *c);

/* Says what was collected in from through to, except what it says already, and releases it. */
void diagnose_problems_move(cli *to, cli *from);

#endif
