/* `bang predict` in parts: what is asked for (cmd_predict.c), models and data and
 * whether they fit (predict_load.c, predict_match.c), what ranks compare (predict_agree.c), the
 * work (predict_run.c), and what is said about it (predict_print.c). */
#ifndef BANG_CLI_PREDICT_H
#define BANG_CLI_PREDICT_H

#include "bang/data/class_map.h"
#include "bang/data/images.h"
#include "networks.h"
#include "outputs.h"
#include "pictures.h"
#include "prompts.h"

typedef struct predict_model {
    const char *path;
    const char *head; /* another head for it, or NULL */
    int is_vit;
    bang_mlp mlp;       /* one of the two */
    bang_vit_model vit; /* once loaded */
} predict_model;

/* How labels were found for the outputs. */
typedef enum predict_match {
    PREDICT_NO_MATCH, /* no labels, or they have nothing to do with the outputs */
    PREDICT_BY_NUMBER,
    PREDICT_BY_ORDER, /* class folders and outputs are equally many */
    PREDICT_BY_NAME,
    PREDICT_BY_MAP,
} predict_match;

typedef struct predict_request {
    /* as typed */
    size_t count;
    predict_model *models; /* (count) */
    const char *head;      /* for models that have none of their own in the line */
    const char *activation;
    size_t source_count;
    const char **sources; /* (source_count) */
    const char *output, *labels, *ensemble, *weights_text, *map_path, *classes;
    int64_t batch;
    int features;
    picture_options pictures;
    const char *option; /* before a model's path in messages: "--model ", or "" */
    int inside;         /* another command's: that no accuracy is known is no problem */
    int headless;       /* nor is it that no model has a head */
    /* after predict_check */
    int probabilities;
    double *weights; /* (count) or NULL: the mean */
    int single;      /* pictures one by one, for a person */
    /* after predict_load */
    bang_images set;
    int has_map;
    bang_class_map map;
    prompts names;  /* of the outputs, from a file */
    size_t width;   /* numbers in a model's output */
    size_t columns; /* the same after the map */
    predict_match match;
} predict_request;

/* For the option table: --model and --head. */
int predict_read_model(void *target, const char *value, bang_error *err);
int predict_read_head(void *target, const char *value, bang_error *err);
int predict_read_source(void *target, const char *value, bang_error *err);

/* A model from its file, without what predict_fit does to it; predict_model_release also after a
 * failure. */
int predict_load_model(predict_model *m, const predict_request *r, bang_error *err);
void predict_model_release(predict_model *m);
/* Adds the operands from the first on, which are pictures, to the sources, and says through c
 * what is wrong with either. */
void predict_check_sources(cli *c, predict_request *r, size_t first);
/* Opens models, data and map; what fails is said on stderr, each in its line. Returns
 * an exit status. */
int predict_load(cli *c, predict_request *r);
/* Says through c what does not fit together, and numbers the labels as the outputs. Notes for
 * a person are added to notes, one a line. */
void predict_fit(cli *c, predict_request *r, bang_text *notes);
void predict_release(predict_request *r);

/* What a source is called in messages. */
const char *predict_source(const predict_request *r);
/* What an output stands for, in words if there are any, or NULL. */
const char *predict_class_name(const predict_request *r, size_t column);

/* The likeliest classes of one picture. */
enum { PREDICT_TOP = 5 };
typedef struct predict_top {
    uint32_t index; /* which picture */
    size_t count;
    size_t column[PREDICT_TOP];
    double probability[PREDICT_TOP];
} predict_top;

typedef struct predict_result {
    size_t count;     /* rows written */
    size_t skipped;   /* pictures that could not be read */
    double *accuracy; /* (models + 1); NaN: not known */
    predict_top *top; /* (count) of single pictures, else NULL */
    bang_text bad;    /* a line per picture that was left out */
} predict_result;

/* Collective; fails on a rank that has other models, data or options than rank 0. */
int predict_agree(const cli *c, const predict_request *r, bang_error *err);
/* The work; the caller releases result in any case. */
int predict_run(predict_result *result, cli *c, predict_request *r, bang_error *err);
void predict_result_release(predict_result *result);
/* Returns an exit status. */
int predict_print(const cli *c, const predict_request *r, const predict_result *result);

#endif
