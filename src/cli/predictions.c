#include "predictions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int predict_one(prediction *out, const bang_theory_score *score,
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
    if (rc == 0 && extras & PREDICT_FAILURE)
        rc = bang_theory_failure(&out->failure, score, classes, shift, err);
    if (rc == 0 && extras & PREDICT_POLYNOMIAL)
        rc = bang_theory_polynomial(&out->polynomial, score, classes, err);
    return rc;
}

int predict(predictions *out, const bang_theory_problem *problem,
            const bang_theory_options *options, int extras, bang_error *err)
{
    *out = (predictions){.models = problem->models};
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

void predictions_release(predictions *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->of[i].polynomial);
    *p = (predictions){0};
}

json_t *predictions_json(const predictions *p, json_t *(*value)(const prediction *))
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

json_t *prediction_exact(const prediction *p)
{
    return bang_json_number(p->exact.accuracy);
}

json_t *prediction_gaussian(const prediction *p)
{
    return bang_json_number(p->gaussian);
}

json_t *prediction_argument(const prediction *p)
{
    return bang_json_number(p->argument);
}

json_t *prediction_id(const prediction *p)
{
    return bang_json_number(p->id);
}

json_t *prediction_failure(const prediction *p)
{
    return bang_json_number(p->failure);
}

json_t *prediction_error(const prediction *p)
{
    return bang_json_number(p->exact.standard_error);
}

json_t *prediction_method(const prediction *p)
{
    return json_string(bang_theory_method_name(p->exact.method));
}

json_t *prediction_polynomial(const prediction *p)
{
    return json_string(p->polynomial);
}

void prediction_name(char *out, size_t size, const predictions *p, size_t i)
{
    if (i < (size_t)p->models)
        snprintf(out, size, "model %zu", i + 1);
    else
        snprintf(out, size, "%s", i == (size_t)p->models ? "OSE" : "WSE");
}
