/* What train, predict and explain share: perceptrons from files, and perceptrons
 * at work on a whole data set. */
#ifndef BANG_CLI_NETWORKS_H
#define BANG_CLI_NETWORKS_H

#include "bang/data/dataset.h"
#include "bang/model/mlp.h"
#include "cli.h"

typedef struct networks {
    size_t count;
    const char **paths;     /* (count) as typed, in order */
    const char *activation; /* in place of what the files say; NULL: as they say */
    bang_mlp *mlps;         /* (count) after networks_load */
} networks;

/* The table entries of both. */
#define NETWORK_OPTIONS(n)                                                                         \
    {"model", 'm', "FILE", "a network, .safetensors; several are an ensemble", networks_read, n},  \
    {                                                                                              \
        "activation", 0, "NAME", "relu, gelu or tanh (what the file says, else relu)",             \
            cli_read_text, &(n)->activation                                                        \
    }
int networks_read(void *target, const char *value, bang_error *err);

/* Says through c what is wrong before any file is read. */
void networks_check(cli *c, const networks *n);
/* What fails is said on stderr, each in its line. Returns an exit status. */
int networks_load(const cli *c, networks *n);
/* Says through c where the networks do not fit the data or each other. */
void networks_fit(cli *c, const networks *n, const bang_dataset *set, const char *source);
void networks_release(networks *n);

/* A data set as networks read it. */
typedef struct inputs {
    const bang_dataset *set; /* borrowed */
    bang_columns columns;
    bang_rows rows;
} inputs;

/* reduce: look for columns that repeat; else the inputs as they are. The
 * caller releases it. */
int inputs_init(inputs *out, const bang_dataset *set, int reduce, bang_error *err);
void inputs_release(inputs *in);

typedef struct forward {
    int threads;
    bang_cancel *cancel;
    bang_ranks *ranks; /* that share the rows; all get all outputs. NULL: this process alone */
} forward;

/* Outputs (count, classes) of rows [first, first + count) of a network that reads groups
 * of in's columns (bang_mlp_reduce). */
int forward_rows(float *logits, const bang_mlp *reduced, const inputs *in, size_t first,
                 size_t count, const forward *how, bang_error *err);
/* How many rows of so many outputs are taken at a time: memory stays bounded. */
size_t forward_piece(size_t total, size_t classes);
/* The share of rows that a network, which reads all numbers of an input, gets right. */
int forward_accuracy(double *accuracy, const bang_mlp *mlp, const inputs *in, const forward *how,
                     bang_error *err);

/* Says through c if a file cannot be written there. */
void check_output(cli *c, const char *option, const char *path);
/* 1 if both are one file, however they are spelled or linked; of two that are not there, if they
 * would be one. */
int same_file(const char *a, const char *b);

#endif
