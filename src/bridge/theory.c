/* bang_bridge_theory: from a request to a problem of the theory, and back. */
#include <string.h>

#include "bang/bridge/bridge.h"
#include "bang/bridge/prediction.h"
#include "request.h"

typedef struct asked {
    const json_t *models, *overlap, *weights;
    double shift, sigma, alpha, scale;
    json_int_t classes, samples, seed;
    int has_alpha, best, polynomial, failure;
    const char *method;
    int threads;
} asked;

static int read_request(asked *a, json_t *request, bang_error *err)
{
    *a = (asked){.scale = 1, .classes = 3, .seed = 1, .method = "auto"};
    a->has_alpha = json_object_get(request, "alpha") != NULL;
    if (!json_object_get(request, "shift"))
        return bang_fail(err, BANG_EUSAGE,
                         "shift: missing: say how far the distribution shifts, 0 to 1");
    int rc = bang_request_unpack(
        request, err, "{s?o s?o s?o s:F s?F s?F s?F s?I s?I s?I s?b s?b s?b s?s s?i}", "models",
        &a->models, "overlap", &a->overlap, "weights", &a->weights, "shift", &a->shift, "sigma",
        &a->sigma, "alpha", &a->alpha, "scale", &a->scale, "classes", &a->classes, "samples",
        &a->samples, "seed", &a->seed, "best", &a->best, "polynomial", &a->polynomial, "failure",
        &a->failure, "method", &a->method, "threads", &a->threads);
    return rc < 0 ? rc : bang_request_threads(a->threads, err);
}

static int add_models(bang_theory_problem *problem, const asked *a, bang_error *err)
{
    if (!json_is_array(a->models) || json_array_size(a->models) == 0)
        return bang_fail(err, BANG_EUSAGE, "models: missing: give texts such as \"2,3\"");
    for (size_t i = 0; i < json_array_size(a->models); i++) {
        const char *text = json_string_value(json_array_get(a->models, i));
        if (!text)
            return bang_fail(err, BANG_EUSAGE, "models: entry %zu is no text", i + 1);
        int rc = bang_theory_add_model(problem, text, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Equal weights are 1, not 1/n, as in the command: scores then hold whole numbers. */
static int set_weights(bang_theory_problem *problem, const asked *a, bang_error *err)
{
    double overlap[2], weights[BANG_THEORY_MAX_MODELS];
    int pair = bang_request_numbers(overlap, 2, "overlap", a->overlap, err);
    int count = bang_request_numbers(weights, BANG_THEORY_MAX_MODELS, "weights", a->weights, err);
    if (pair < 0 || count < 0)
        return BANG_EUSAGE;
    if (count && (count != problem->models || a->has_alpha))
        return bang_fail(err, BANG_EUSAGE, "weights: needs one for each of %d models, and no alpha",
                         problem->models);
    if ((a->has_alpha || a->scale != 1) && problem->models != 2)
        return bang_fail(err, BANG_EUSAGE, "alpha, scale: need exactly two models, there are %d",
                         problem->models);
    for (int i = 0; i < count; i++)
        problem->weights[i] = weights[i];
    if (a->has_alpha) {
        problem->weights[0] = 1 - a->alpha;
        problem->weights[1] = a->alpha;
    }
    if (problem->models > 1)
        problem->scales[1] = a->scale;
    if (!a->overlap)
        return 0;
    for (int i = 0; i < 2; i++)
        if (pair != 2 || !json_is_integer(json_array_get(a->overlap, (size_t)i)))
            return bang_fail(err, BANG_EUSAGE, "overlap: must be two whole numbers");
    return bang_theory_set_overlap(problem, (int64_t)overlap[0], (int64_t)overlap[1], err);
}

static int predict(json_t **told, const bang_theory_problem *problem, const asked *a,
                   bang_error *err)
{
    bang_theory_options options = BANG_THEORY_OPTIONS_INIT;
    bang_predictions p = {0};
    bang_theory_best best;
    int extras =
        (a->failure ? BANG_PREDICT_FAILURE : 0) | (a->polynomial ? BANG_PREDICT_POLYNOMIAL : 0);
    if (bang_theory_method_parse(&options.method, a->method) < 0)
        return bang_fail(err, BANG_EUSAGE,
                         "method %.40s: unknown: choose auto, generating-function, lattice, series "
                         "or monte-carlo",
                         a->method);
    if (a->samples < 0 || a->samples > INT64_C(1000000000000))
        return bang_fail(err, BANG_EUSAGE, "samples: must be 1 to 1e12");
    options.samples = a->samples;
    options.seed = (uint64_t)a->seed;
    options.threads = a->threads;
    int rc = bang_predictions_make(&p, problem, &options, extras, err);
    if (rc == 0 && a->best)
        rc = bang_theory_find_best(&best, problem, &options, err);
    if (rc == 0)
        *told = bang_predictions_tell(&p, problem, a->best ? &best : NULL, extras);
    bang_predictions_release(&p);
    return rc;
}

int bang_bridge_theory(char **out, const char *request, bang_error *err)
{
    json_t *parsed, *told = NULL;
    asked a;
    *out = NULL;
    int rc = bang_request_parse(&parsed, request, err);
    if (rc < 0)
        return rc;
    rc = read_request(&a, parsed, err);
    if (rc == 0) {
        bang_theory_problem problem;
        bang_theory_problem_init(&problem, a.classes, a.shift);
        problem.sigma = a.sigma;
        rc = add_models(&problem, &a, err);
        if (rc == 0)
            rc = set_weights(&problem, &a, err);
        if (rc == 0)
            rc = bang_theory_check(&problem, err);
        if (rc == 0)
            rc = predict(&told, &problem, &a, err);
        bang_theory_problem_release(&problem);
    }
    json_decref(parsed);
    return rc < 0 ? rc : bang_request_answer(out, told, err);
}
