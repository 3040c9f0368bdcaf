/* All that theory says about some models: each alone, then their ensembles. */
#ifndef BANG_CLI_PREDICTIONS_H
#define BANG_CLI_PREDICTIONS_H

#include "bang/base/json.h"
#include "bang/theory/theory.h"

typedef struct prediction {
    bang_theory_value exact;
    double gaussian, argument; /* F_p(x), x */
    double id;
    double failure;   /* NaN unless asked for */
    char *polynomial; /* NULL unless asked for */
} prediction;

/* (models) singles, then, with two or more, OSE and WSE. */
typedef struct predictions {
    int models;
    size_t count;
    prediction of[BANG_THEORY_MAX_MODELS + 2];
} predictions;

enum { PREDICT_FAILURE = 1, PREDICT_POLYNOMIAL = 2 };

/* The caller releases out in any case. */
int predict(predictions *out, const bang_theory_problem *problem,
            const bang_theory_options *options, int extras, bang_error *err);
void predictions_release(predictions *p);

/* {"models": [..], "ose": .., "wse": ..} of what value makes of each; a new
 * reference. */
json_t *predictions_json(const predictions *p, json_t *(*value)(const prediction *));
json_t *prediction_exact(const prediction *p);
json_t *prediction_gaussian(const prediction *p);
json_t *prediction_argument(const prediction *p);
json_t *prediction_id(const prediction *p);
json_t *prediction_failure(const prediction *p);
json_t *prediction_error(const prediction *p);
json_t *prediction_method(const prediction *p);
json_t *prediction_polynomial(const prediction *p);

/* "model 1", "OSE", "WSE" */
void prediction_name(char *out, size_t size, const predictions *p, size_t i);

#endif
