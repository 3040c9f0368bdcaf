#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/bridge/prediction.h"

enum { MAX_POINTS = 100000 };

static const char *const names[] = {"p",   "K",   "sigma", "alpha", "scale", "nv1",
                                    "ns1", "nv2", "ns2",   "nvo",   "nso",   NULL};

int cli_read_sweep(void *target, const char *value, bang_error *err)
{
    sweep *s = target;
    size_t size = strcspn(value, "=");
    double *const parts[3] = {&s->from, &s->to, &s->step};
    int known = 0, read = 0;
    s->text = value;
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == size && memcmp(names[i], value, size) == 0) {
            snprintf(s->name, sizeof s->name, "%s", names[i]);
            known = 1;
        }
    const char *at = value[size] == '=' ? value + size + 1 : "";
    for (; read < 3; read++) {
        char item[64];
        size_t length = strcspn(at, ":");
        if (length >= sizeof item)
            break;
        memcpy(item, at, length);
        item[length] = '\0';
        if (bang_text_to_double(parts[read], item) < 0)
            break;
        at += length + (at[length] == ':');
    }
    if (!known || read < 3 || *at)
        return bang_fail(err, BANG_EUSAGE,
                         "cannot be read: write NAME=FROM:TO:STEP, NAME one of p, K, sigma, alpha, "
                         "scale, nv1, ns1, nv2, ns2, nvo, nso");
    if (!(s->step > 0) || s->to < s->from || (s->to - s->from) / s->step >= MAX_POINTS)
        return bang_fail(err, BANG_EUSAGE,
                         "does not go from FROM up to TO in 1 to %d steps: mind the signs",
                         MAX_POINTS);
    return 0;
}

int sweep_sets_shift(const sweep *s)
{
    return s->text && strcmp(s->name, "p") == 0;
}

/* The models at one point of the sweep; texts are kept in buffer. */
typedef struct sweep_point {
    cli_models models;
    char text[2][48];
} sweep_point;

static int64_t to_whole(double value)
{
    return (int64_t)llround(value);
}

/* 0, or -1 when the models are not two pairs of counts. */
static int set_count(sweep_point *point, char kind, int model, int64_t count)
{
    int64_t n[2];
    const char *text = point->models.models[model], *comma = strchr(text, ',');
    char first[24] = {0};
    if (!comma || (size_t)(comma - text) >= sizeof first)
        return -1;
    memcpy(first, text, (size_t)(comma - text));
    if (bang_text_to_int64(&n[0], first) < 0 || bang_text_to_int64(&n[1], comma + 1) < 0)
        return -1;
    n[kind == 's'] = count;
    snprintf(point->text[model], sizeof point->text[model], "%lld,%lld", (long long)n[0],
             (long long)n[1]);
    point->models.models[model] = point->text[model];
    return 0;
}

static int set_point(sweep_point *point, const sweep *s, const cli_models *models, double value)
{
    point->models = *models;
    cli_models *m = &point->models;
    if (strcmp(s->name, "p") == 0) {
        m->shift = value;
    } else if (strcmp(s->name, "K") == 0) {
        m->classes = to_whole(value);
    } else if (strcmp(s->name, "sigma") == 0) {
        m->sigma = value;
    } else if (strcmp(s->name, "alpha") == 0) {
        m->alpha = value;
        m->has_alpha = 1;
    } else if (strcmp(s->name, "scale") == 0) {
        m->scale = value;
        m->has_scale = 1;
    } else if (s->name[2] == 'o') {
        m->overlap[s->name[1] == 's'] = to_whole(value);
        m->has_overlap = 1;
    } else {
        size_t model = (size_t)(s->name[2] - '1');
        if (model >= m->model_count)
            return -1;
        return set_count(point, s->name[1], (int)model, to_whole(value));
    }
    return 0;
}

static int is_whole(const sweep *s)
{
    return s->name[0] == 'K' || s->name[0] == 'n';
}

static void add_heading(bang_text *csv, const sweep *s, const bang_predictions *p)
{
    bang_text_add(csv, "%s", s->name);
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < p->count; i++) {
            const char *prefix = kind ? "gaussian" : "exact";
            if (i < (size_t)p->models)
                bang_text_add(csv, ",%s_model%zu", prefix, i + 1);
            else
                bang_text_add(csv, ",%s_%s", prefix, i == (size_t)p->models ? "ose" : "wse");
        }
    bang_text_add(csv, ",standard_error\n");
}

static void add_line(bang_text *csv, double at, const bang_predictions *p)
{
    double error = 0;
    bang_text_add(csv, "%.12g", at);
    for (size_t i = 0; i < p->count; i++) {
        bang_text_add(csv, ",%.17g", p->of[i].exact.accuracy);
        error = fmax(error, p->of[i].exact.standard_error);
    }
    for (size_t i = 0; i < p->count; i++)
        bang_text_add(csv, ",%.17g", p->of[i].gaussian);
    bang_text_add(csv, ",%.17g\n", error);
}

static double sweep_at(const sweep *s, size_t i)
{
    double value = s->from + (double)i * s->step;
    /* 0.1 steps should meet 0.3, not 0.30000000000000004 */
    double digits = 1e12;
    return round(value * digits) / digits;
}

static int compute(bang_text *csv, json_t *rows, cli *c, const sweep *s, const cli_models *models,
                   const bang_theory_options *options, size_t count)
{
    bang_error err = {0};
    for (size_t i = 0; i < count; i++) {
        sweep_point point;
        bang_theory_problem problem;
        bang_predictions p = {0};
        double at = sweep_at(s, i);
        set_point(&point, s, models, at);
        cli_models_problem(&problem, &point.models, c);
        int rc = c->starved ? bang_fail_memory(&err)
                            : bang_predictions_make(&p, &problem, options, 0, &err);
        if (rc == 0) {
            if (i == 0)
                add_heading(csv, s, &p);
            add_line(csv, at, &p);
            json_t *value = is_whole(s) ? json_integer(to_whole(at)) : bang_json_number(at);
            json_array_append_new(
                rows, json_pack("{so so so so}", s->name, value, "exact",
                                bang_predictions_json(&p, bang_prediction_exact), "gaussian",
                                bang_predictions_json(&p, bang_prediction_gaussian), "stderr",
                                bang_predictions_json(&p, bang_prediction_error)));
        }
        bang_predictions_release(&p);
        bang_theory_problem_release(&problem);
        if (rc < 0)
            return cli_fail(c, &err);
    }
    return CLI_DONE;
}

int run_sweep(cli *c, const sweep *s, const cli_models *models, const bang_theory_options *options,
              const char *path)
{
    size_t count = (size_t)floor((s->to - s->from) / s->step + 1e-9) + 1;
    if (is_whole(s) && (s->from != round(s->from) || s->step != round(s->step)))
        cli_problem(c, "--sweep %s: %s counts things: use whole numbers", s->text, s->name);
    int is_of_two = strcmp(s->name, "alpha") == 0 || strcmp(s->name, "scale") == 0;
    if (is_of_two && models->model_count != 2)
        cli_problem(c, "--sweep %s: needs exactly two models, there are %zu", s->text,
                    models->model_count);
    for (size_t i = 0; i < count && c->problems.size == 0; i++) {
        sweep_point point;
        bang_theory_problem problem;
        if (set_point(&point, s, models, sweep_at(s, i)) < 0) {
            cli_problem(c, "--sweep %s: needs that model given as counts NV,NS", s->text);
            break;
        }
        cli_models_problem(&problem, &point.models, c);
        bang_theory_problem_release(&problem);
    }
    if (cli_usage_failed(c))
        return CLI_USAGE;
    bang_text csv = {0};
    json_t *rows = json_array();
    int status = compute(&csv, rows, c, s, models, options, count);
    bang_error err = {0};
    if (status == CLI_DONE && csv.failed)
        status = cli_fail(c, (bang_fail_memory(&err), &err));
    if (status == CLI_DONE && path && bang_file_put(path, csv.data, csv.size, &err) < 0)
        status = cli_fail(c, &err);
    if (status == CLI_DONE && c->json)
        status = cli_print_json(c, json_pack("{ss sO}", "sweep", s->name, "rows", rows));
    else if (status == CLI_DONE && !path)
        fputs(csv.data, stdout);
    json_decref(rows);
    bang_text_release(&csv);
    return status;
}
