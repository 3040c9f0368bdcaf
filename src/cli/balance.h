/* Balance by confidence, for `bang average`: weights from what two models say about data. */
#ifndef BANG_CLI_BALANCE_H
#define BANG_CLI_BALANCE_H

#include "bang/store/checkpoint.h"
#include "pictures.h"

typedef enum balance_kind { BALANCE_NOT, BALANCE_WHOLE, BALANCE_LAYERS } balance_kind;

/* As typed. */
typedef struct balance_request {
    balance_kind kind;
    const char *id;
    size_t source_count;
    const char **sources; /* (source_count) of --unlabelled */
    const char *head;
    int64_t count; /* inputs to measure on; 0: all, -1: not given */
    picture_options pictures;
} balance_request;

/* For the option table: --unlabelled. */
int balance_read_source(void *target, const char *value, bang_error *err);
/* Says through c what is wrong with them. */
void balance_check(cli *c, balance_request *r, const char *kind, size_t count);
void balance_request_release(balance_request *r);

/* The search; NULL when memory is out. The caller frees it. */
typedef struct balance_work balance_work;
balance_work *balance_new(cli *c, const balance_request *r);
/* Loads and checks all: the two checkpoints, and the data. Returns an exit status. */
int balance_load(balance_work *w, const bang_checkpoint *const *pair, const char *const *paths);
/* Measures both models, and hybrids of them. Returns an exit status. */
int balance_find(balance_work *w);
/* Measures what was written. Returns an exit status. */
int balance_measure(balance_work *w, const char *path);
/* A line each; "" without any. */
const char *balance_warnings(const balance_work *w);
/* NULL is allowed. */
void balance_free(balance_work *w);

/* After balance_measure; before balance_find what is planned. */
json_t *balance_json(const balance_work *w);
json_t *balance_plan_json(const balance_work *w);
void balance_print(const balance_work *w, const char *output);
void balance_print_plan(const balance_work *w);

#endif
