#include "bang/bridge/prediction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int predict_one(bang_prediction *out, const bang_theory_score *score,
                       const bang_theory_problem *problem, const bang_theory_options *options,
                       int extras, bang_error *err)
{
    int64_t classes = problem->classes;
    double shift = problem->shift;
    int rc = bang_theory_exact(&out->exact, score, classes, shift, options, err);
    out->gaussian = bang_theory_gaussian(score, classes, shift);
    out->argument = bang_theory_gaussian_argument(score, shift);
    out->id = bang_theory_id_accuracy(score, classes);
    out->failure = NAN;
    if (rc == 0 && extras & BANG_PREDICT_FAILURE)
        rc = bang_theory_failure(&out->failure, score, classes, shift, err);
    if (rc == 0 && extras & BANG_PREDICT_POLYNOMIAL)
        rc = bang_theory_polynomial(&out->polynomial, score, classes, err);
    return rc;
}

int bang_predictions_make(bang_predictions *out, const bang_theory_problem *problem,
                          const bang_theory_options *options, int extras, bang_error *err)
{
    *out = (bang_predictions){.models = problem->models};
    out->count = (size_t)problem->models + (problem->models > 1 ? 2 : 0);
    int rc = 0;
    for (size_t i = 0; i < out->count && rc == 0; i++) {
        bang_theory_score score;
        int m = (int)i;
        rc = m < problem->models    ? bang_theory_score_single(&score, problem, m, err)
             : m == problem->models ? bang_theory_score_ose(&score, problem, err)
                                    : bang_theory_score_wse(&score, problem, err);
        if (rc < 0)
            break;
        rc = predict_one(&out->of[i], &score, problem, options, extras, err);
        bang_theory_score_release(&score);
    }
    return rc;
}

void bang_predictions_release(bang_predictions *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->of[i].polynomial);
    *p = (bang_predictions){0};
}

json_t *bang_predictions_json(const bang_predictions *p, json_t *(*value)(const bang_prediction *))
{
    json_t *models = json_array(), *out = json_object();
    for (int m = 0; m < p->models; m++)
        json_array_append_new(models, value(&p->of[m]));
    json_object_set_new(out, "models", models);
    if (p->models > 1) {
        json_object_set_new(out, "ose", value(&p->of[p->models]));
        json_object_set_new(out, "wse", value(&p->of[p->models + 1]));
    }
    return out;
}

json_t *bang_prediction_exact(const bang_prediction *p)
{
    return bang_json_number(p->exact.accuracy);
}

json_t *bang_prediction_gaussian(const bang_prediction *p)
{
    return bang_json_number(p->gaussian);
}

json_t *bang_prediction_argument(const bang_prediction *p)
{
    return bang_json_number(p->argument);
}

json_t *bang_prediction_id(const bang_prediction *p)
{
    return bang_json_number(p->id);
}

json_t *bang_prediction_failure(const bang_prediction *p)
{
    return bang_json_number(p->failure);
}

json_t *bang_prediction_error(const bang_prediction *p)
{
    return bang_json_number(p->exact.standard_error);
}

json_t *bang_prediction_method(const bang_prediction *p)
{
    return json_string(bang_theory_method_name(p->exact.method));
}

json_t *bang_prediction_polynomial(const bang_prediction *p)
{
    return json_string(p->polynomial);
}

void bang_prediction_name(char *out, size_t size, const bang_predictions *p, size_t i)
{
    if (i < (size_t)p->models)
        snprintf(out, size, "model %zu", i + 1);
    else
        snprintf(out, size, "%s", i == (size_t)p->models ? "OSE" : "WSE");
}

static json_t *best_json(const bang_theory_best *best, int models)
{
    json_t *weights = best->has_ose ? json_array() : json_null();
    for (int m = 0; best->has_ose && m < models; m++)
        json_array_append_new(weights, bang_json_number(best->ose_weights[m]));
    json_t *interval = isnan(best->alpha_exact[0])
                           ? json_null()
                           : json_pack("[oo]", bang_json_number(best->alpha_exact[0]),
                                       bang_json_number(best->alpha_exact[1]));
    return json_pack("{so so so so so so}", "alpha_gaussian",
                     bang_json_number(best->alpha_gaussian), "alpha_exact", interval, "wse_exact",
                     bang_json_number(best->wse_exact), "wse_gaussian",
                     bang_json_number(best->wse_gaussian), "ose_weights", weights, "ose_gaussian",
                     bang_json_number(best->ose_gaussian));
}

json_t *bang_predictions_tell(const bang_predictions *p, const bang_theory_problem *problem,
                              const bang_theory_best *best, int extras)
{
    json_t *out =
        json_pack("{sI so so so so so so so so}", "classes", (json_int_t)problem->classes, "shift",
                  bang_json_number(problem->shift), "sigma", bang_json_number(problem->sigma),
                  "exact", bang_predictions_json(p, bang_prediction_exact), "gaussian",
                  bang_predictions_json(p, bang_prediction_gaussian), "id",
                  bang_predictions_json(p, bang_prediction_id), "method",
                  bang_predictions_json(p, bang_prediction_method), "stderr",
                  bang_predictions_json(p, bang_prediction_error), "gaussian_argument",
                  bang_predictions_json(p, bang_prediction_argument));
    if (best)
        json_object_set_new(out, "best", best_json(best, p->models));
    if (extras & BANG_PREDICT_FAILURE)
        json_object_set_new(out, "failure", bang_predictions_json(p, bang_prediction_failure));
    if (extras & BANG_PREDICT_POLYNOMIAL)
        json_object_set_new(out, "polynomial",
                            bang_predictions_json(p, bang_prediction_polynomial));
    return out;
}
