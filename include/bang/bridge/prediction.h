/* All that theory says about some models: each alone, then their ensembles.
 *
 *     bang_predictions p;
 *     if (bang_predictions_make(&p, &problem, &options, 0, &err) == 0)
 *         told = bang_predictions_tell(&p, &problem, NULL, 0);      // as bang theory --json
 *     bang_predictions_release(&p);
 */
#ifndef BANG_BRIDGE_PREDICTION_H
#define BANG_BRIDGE_PREDICTION_H

#include "bang/base/json.h"
#include "bang/theory/theory.h"

typedef struct bang_prediction {
    bang_theory_value exact;
    double gaussian, argument; /* F_p(x), x */
    double id;
    double failure;   /* NaN unless asked for */
    char *polynomial; /* NULL unless asked for */
} bang_prediction;

/* (models) singles, then, with two or more, OSE and WSE. */
typedef struct bang_predictions {
    int models;
    size_t count;
    bang_prediction of[BANG_THEORY_MAX_MODELS + 2];
} bang_predictions;

enum { BANG_PREDICT_FAILURE = 1, BANG_PREDICT_POLYNOMIAL = 2 };

/* The caller releases out in any case. */
int bang_predictions_make(bang_predictions *out, const bang_theory_problem *problem,
                          const bang_theory_options *options, int extras, bang_error *err);
void bang_predictions_release(bang_predictions *p);

/* All of it as one object, with the extras that were asked for; best: or NULL. A new reference. */
json_t *bang_predictions_tell(const bang_predictions *p, const bang_theory_problem *problem,
                              const bang_theory_best *best, int extras);

/* {"models": [..], "ose": .., "wse": ..} of what value makes of each; a new
 * reference. */
json_t *bang_predictions_json(const bang_predictions *p, json_t *(*value)(const bang_prediction *));
json_t *bang_prediction_exact(const bang_prediction *p);
json_t *bang_prediction_gaussian(const bang_prediction *p);
json_t *bang_prediction_argument(const bang_prediction *p);
json_t *bang_prediction_id(const bang_prediction *p);
json_t *bang_prediction_failure(const bang_prediction *p);
json_t *bang_prediction_error(const bang_prediction *p);
json_t *bang_prediction_method(const bang_prediction *p);
json_t *bang_prediction_polynomial(const bang_prediction *p);

/* "model 1", "OSE", "WSE" */
void bang_prediction_name(char *out, size_t size, const bang_predictions *p, size_t i);

#endif
