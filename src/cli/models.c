#include "models.h"

#include <math.h>
#include <string.h>

int cli_read_classes(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    m->has_classes = 1;
    return cli_read_whole(&m->classes, value, err);
}

int cli_read_shift(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    m->has_shift = 1;
    return cli_read_real(&m->shift, value, err);
}

int cli_read_sigma(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    m->has_sigma = 1;
    return cli_read_real(&m->sigma, value, err);
}

int cli_read_alpha(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    m->has_alpha = 1;
    return cli_read_real(&m->alpha, value, err);
}

/* A number, or sqrt(X): the thresholds of the scale are roots. */
int cli_read_scale(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    size_t size = strlen(value);
    char inner[32] = {0};
    m->has_scale = 1;
    if (size < 7 || size - 6 >= sizeof inner || memcmp(value, "sqrt(", 5) != 0 ||
        value[size - 1] != ')')
        return cli_read_real(&m->scale, value, err);
    memcpy(inner, value + 5, size - 6);
    int rc = cli_read_real(&m->scale, inner, err);
    if (rc == 0 && m->scale < 0)
        rc = bang_fail(err, BANG_EUSAGE, "is no real number: write the root of a positive one");
    m->scale = rc == 0 ? sqrt(m->scale) : 1;
    return rc;
}

int cli_read_model(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    if (m->model_count == BANG_THEORY_MAX_MODELS)
        return bang_fail(err, BANG_EUSAGE, "is one too many: at most %d models",
                         BANG_THEORY_MAX_MODELS);
    m->models[m->model_count++] = value;
    return 0;
}

int cli_read_weights(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    int count = cli_numbers(m->weights, BANG_THEORY_MAX_MODELS, value);
    if (count < 0)
        return bang_fail(err, BANG_EUSAGE, "cannot be read: write one number per model: 0.7,0.3");
    m->weight_count = (size_t)count;
    return 0;
}

int cli_read_overlap(void *target, const char *value, bang_error *err)
{
    cli_models *m = target;
    const char *comma = strchr(value, ',');
    char first[24] = {0};
    m->has_overlap = 1;
    if (comma && (size_t)(comma - value) < sizeof first) {
        memcpy(first, value, (size_t)(comma - value));
        if (bang_text_to_int64(&m->overlap[0], first) == 0 &&
            bang_text_to_int64(&m->overlap[1], comma + 1) == 0)
            return 0;
    }
    m->has_overlap = 0;
    return bang_fail(err, BANG_EUSAGE, "cannot be read: write NV,NS such as 1,1");
}

static void set_weights(bang_theory_problem *problem, const cli_models *m, cli *c)
{
    if (m->has_alpha && m->weight_count)
        cli_problem(c, "--alpha, --weights: both set the weights: leave one out");
    if (m->weight_count && m->weight_count != m->model_count)
        cli_problem(c, "--weights: names %zu weights for %zu models: write one per model",
                    m->weight_count, m->model_count);
    if (m->has_alpha && m->model_count != 2)
        cli_problem(c, "--alpha: needs exactly two models, there are %zu: %s", m->model_count,
                    m->model_count > 2 ? "use --weights" : "leave it out");
    if (m->has_scale && m->model_count != 2)
        cli_problem(c, "--scale: needs exactly two models, there are %zu: leave it out",
                    m->model_count);
    /* equal weights are 1, not 1/n: scores then hold whole numbers, and scaling
     * all weights changes no prediction */
    for (size_t i = 0; i < m->weight_count && i < BANG_THEORY_MAX_MODELS; i++)
        problem->weights[i] = m->weights[i];
    if (m->has_alpha) {
        problem->weights[0] = 1 - m->alpha;
        problem->weights[1] = m->alpha;
    }
    problem->scales[1] = m->scale;
}

void cli_models_problem(bang_theory_problem *problem, const cli_models *m, cli *c)
{
    bang_error err = {0};
    bang_theory_problem_init(problem, m->classes, m->shift);
    problem->sigma = m->sigma;
    size_t bad = 0;
    for (size_t i = 0; i < m->model_count; i++)
        if (bang_theory_add_model(problem, m->models[i], &err) < 0) {
            cli_problem(c, "%s", err.message);
            bad++;
        }
    set_weights(problem, m, c);
    if (m->has_overlap && bad == 0 &&
        bang_theory_set_overlap(problem, m->overlap[0], m->overlap[1], &err) < 0)
        cli_problem(c, "%s", err.message);
    if (bad == m->model_count && bad > 0)
        problem->models = 1; /* said already; check the rest */
    if (bang_theory_check(problem, &err) < 0)
        cli_problem(c, "%s", err.message);
    if (bad == m->model_count)
        problem->models = 0;
}
