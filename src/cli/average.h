/* The command average: what was asked for. */
#ifndef BANG_CLI_AVERAGE_H
#define BANG_CLI_AVERAGE_H

#include "balance.h"
#include "bang/base/lock.h"
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

/* A search writes what it scores to a hidden folder beside OUT, one average at a time. The folder
 * is held until the best is written: who searches for the same OUT meanwhile is refused. */
typedef struct average_place {
    char *folder;
    char *path; /* in it, named and ending as OUT does, so that it is read like that */
    char *parents;
    size_t kept; /* bytes of parents that were there before */
    bang_lock *lock;
} average_place;

/* The caller closes it, also after a failure. */
int average_place_open(average_place *p, const average_request *r, bang_error *err);
/* What was scored goes. */
int average_place_clear(const average_place *p, bang_error *err);
/* NULLs are fine. */
void average_place_close(average_place *p);
/* Removes what a search for the same OUT that was killed has left. */
void average_place_sweep(const average_request *r);

/* Checks all options and fills options, paths and weights; says through c what is
 * wrong. Needs no file. */
void average_check(cli *c, average_request *r);
void average_release(average_request *r);

/* Opens, plans, runs, prints. Returns an exit status. */
int average_go(cli *c, average_request *r);
/* Chooses the members of a greedy soup: their weights replace those of options.
 * Returns an exit status; the caller closes the place in any case. */
int average_greedy(cli *c, average_request *r, average_place *place, json_t **told);
/* Scores an average for each alpha, of which one file is there at a time; the request
 * is then that for the best. As above. */
int average_best_alpha(cli *c, average_request *r, average_place *place, json_t **told);
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
