/* How balance by confidence works, in parts: options and loading (balance_load.c), which
 * numbers are which layer (balance_layers.c), data and passes over them (balance_data.c), the
 * search (balance_find.c), and what is said (balance_print.c). */
#ifndef BANG_CLI_BALANCE_WORK_H
#define BANG_CLI_BALANCE_WORK_H

#include "balance.h"
#include "bang/combine/average.h"
#include "bang/combine/balance.h"
#include "bang/measure/logits.h"
#include "bang/train/predict.h"
#include "predict.h"

/* One data set at work. */
typedef struct balance_set {
    bang_images *images;       /* borrowed */
    bang_predictor *predictor; /* of a ViT */
    inputs in;                 /* of a perceptron */
} balance_set;

/* Several data sets as one. */
typedef struct balance_pool {
    size_t count;
    balance_set *sets;  /* (count) */
    size_t found, kept; /* inputs: of all, and to be measured on */
    size_t rows;        /* of the last pass: what could be read */
    float *logits;      /* (kept, classes) of the last pass */
    bang_label *labels; /* (kept) of the last pass */
} balance_pool;

/* Numbers [first, the next one's first) of a model belong to a layer of the checkpoint. */
typedef struct balance_run {
    size_t first, layer; /* SIZE_MAX: none */
} balance_run;

/* One model on the data. */
typedef struct balance_score {
    double confidence, accuracy; /* NaN: not known */
} balance_score;

/* Tensors that are written, and those of them whose weights a --rule gives. */
typedef struct balance_share {
    size_t tensors, by_rule;
} balance_share;

/* A hybrid that was measured: the only layer that is the second model's. */
typedef struct balance_known {
    size_t layer;
    double confidence, tau;
} balance_known;

struct balance_work {
    cli *c;
    const balance_request *r;
    predict_request pair;  /* the two models, and the ID set, if there is one */
    predict_model moving;  /* that passes are made with; its numbers change */
    bang_images *own;      /* (source_count) sets of --unlabelled */
    balance_pool id, pool; /* pool: on which confidence is measured */
    int on_id;             /* pool is the ID set */
    size_t layer_count;
    char **layers;          /* (layer_count) names */
    unsigned char *changed; /* (layer_count) the two models differ there */
    unsigned char *used;    /* (layer_count) the model reads numbers of it: else not measured */
    size_t changed_count;
    size_t run_count;
    balance_run *runs; /* (run_count), and one that ends the last */
    cli_bar bar;
    bang_progress progress; /* of one pass, as a part of the bar's */
    uint64_t inputs_done, inputs_all;
    bang_balance found;
    size_t known_count; /* where two layers differ, a hybrid with one is that without the other */
    balance_known known[2];
    balance_score pre, fine, result;
    size_t labelled;          /* ID inputs with labels, after the first pass over them */
    bang_text warnings;       /* a line each */
    balance_share *shares;    /* (layer_count + 1) the last: of all */
    double *weights;          /* (layer_count, 2) of layers; for the rules below */
    bang_average_rule *rules; /* (rule_count) of layers, then the user's */
    size_t rule_count;
    json_t *recipe;
};

/* What belongs to which layer of the checkpoint that the first model is read from. */
int balance_layers(balance_work *w, const bang_checkpoint *checkpoint, bang_error *err);
/* The numbers of a model. */
float *balance_numbers(const predict_model *m, size_t *count);
/* Makes the moving model a hybrid: hybrid (layer_count) says which layers are the second's. */
void balance_mix(balance_work *w, const unsigned char *hybrid);

/* Opens what --unlabelled names; what fails is said on stderr. Returns an exit status. Without an
 * ID set the first of them is opened in its place, together with the models, and taken below. */
int balance_open_sources(balance_work *w);
void balance_take_first(balance_work *w);
/* Says through c which of them do not fit the models. */
void balance_fit_sources(cli *c, const balance_work *w);
/* Draws the inputs of all sets and makes them ready. Returns an exit status. */
int balance_open(balance_work *w);
/* The moving model's logits on all inputs of the pool. */
int balance_pass(balance_work *w, balance_pool *pool, bang_error *err);
void balance_pool_release(balance_pool *pool);
size_t balance_classes(const balance_work *w);

/* How many passes over the pool balance_find makes. */
size_t balance_passes(const balance_work *w);

#endif
