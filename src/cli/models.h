/* The options that describe models, shared by theory and simulate. */
#ifndef BANG_CLI_MODELS_H
#define BANG_CLI_MODELS_H

#include "bang/theory/theory.h"
#include "cli.h"

typedef struct cli_models {
    int64_t classes;
    double shift, sigma;
    int has_shift, has_sigma, has_classes;
    size_t model_count;
    const char *models[BANG_THEORY_MAX_MODELS + 1];
    int has_overlap;
    int64_t overlap[2];
    int has_alpha, has_scale;
    double alpha, scale;
    size_t weight_count;
    double weights[BANG_THEORY_MAX_MODELS + 1];
} cli_models;

#define CLI_MODELS_INIT                                                                            \
    {                                                                                              \
        .classes = 3, .scale = 1                                                                   \
    }

/* The table entries; put them first in a command's table. */
#define CLI_MODEL_OPTIONS(m)                                                                       \
    {"classes", 'K', "K", "number of classes, 2 or more (3)", cli_read_classes, m},                \
        {"shift", 'p', "P", "chance that a spurious feature breaks, 0 to 1", cli_read_shift, m},   \
        {"model",        'm', "NV,NS", "a model by what it learned: counts, or sets v0-1,s0-2",    \
         cli_read_model, m},                                                                       \
        {"overlap", 0, "NV,NS", "features that two models share", cli_read_overlap, m},            \
        {"sigma", 0, "S", "noise of one feature (theory 0, simulate 0.01)", cli_read_sigma, m},    \
        {"alpha", 0, "A", "weight of the second of two models (0.5)", cli_read_alpha, m},          \
        {"weights", 0, "W1,W2,..", "weights of all models (equal)", cli_read_weights, m},          \
    {                                                                                              \
        "scale", 0, "L", "the second of two is (L w, L Phi); 2 or sqrt(5) (1)", cli_read_scale, m  \
    }

int cli_read_classes(void *target, const char *value, bang_error *err);
int cli_read_shift(void *target, const char *value, bang_error *err);
int cli_read_model(void *target, const char *value, bang_error *err);
int cli_read_overlap(void *target, const char *value, bang_error *err);
int cli_read_sigma(void *target, const char *value, bang_error *err);
int cli_read_alpha(void *target, const char *value, bang_error *err);
int cli_read_weights(void *target, const char *value, bang_error *err);
int cli_read_scale(void *target, const char *value, bang_error *err);

/* Builds the problem and says everything that is wrong with it through c. The
 * caller releases problem in any case. */
void cli_models_problem(bang_theory_problem *problem, const cli_models *models, cli *c);

#endif
