/* The command average: what was asked for. */
#ifndef BANG_CLI_AVERAGE_H
#define BANG_CLI_AVERAGE_H

#include "balance.h"
#include "bang/combine/average.h"
#include "checkpoints.h"

/* A number as it was typed, and what it means. */
typedef struct typed {
    char *text;
    double value;
} typed;

typedef struct average_request {
    checkpoints inputs, base, fishers;
    const char *output, *method, *balance, *scope, *on_integer, *on_missing, *score;
    const char *alpha, *weights;
    const char **rules; /* (rule_count) as typed */
    size_t rule_count;
    double target, scale, density, drop;
    balance_request confidence;
    int dtype, allow_nan, hash, dry_run;
    uint64_t max_memory, shard_size;
    /* Made from these: */
    bang_average_options options;
    char **paths;                  /* (output_count) */
    char **texts;                  /* (output_count) alphas as typed; NULL: none */
    double *all_weights;           /* (output_count, inputs) */
    bang_average_rule *made_rules; /* (rule_count) */
    size_t path_count;             /* paths and texts; options may be reduced to fewer outputs */
    int greedy;
} average_request;

/* Checks all options and fills options, paths and weights; says through c what is
 * wrong. Needs no file. */
void average_check(cli *c, average_request *r);
void average_release(average_request *r);

/* Opens, plans, runs, prints. Returns an exit status. */
int average_go(cli *c, average_request *r);
/* Chooses the members of a greedy soup: their weights replace those of options.
 * Returns an exit status. */
int average_greedy(cli *c, average_request *r, json_t **told);
/* Scores an average for each alpha, of which one file is there at a time; the request
 * is then that for the best. Returns an exit status. */
int average_best_alpha(cli *c, average_request *r, json_t **told);
/* Finds the weights by confidence; with a dry run only says what would be measured. Returns an exit
 * status; the caller frees *out in any case. */
int average_balance(cli *c, average_request *r, balance_work **out);
/* Plans the average, to know before long work what is wrong with it. Returns an exit status. */
int average_plan_all(cli *c, const average_request *r);
/* Plans one average and, if it is to write, runs it; prints all problems and returns
 * the status. */
int average_once(cli *c, const bang_average_options *options, int writes, bang_stream *stream,
                 bang_average **kept);

#endif
