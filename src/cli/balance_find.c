/* Balance by confidence: the search, and what came of it. */
#include <math.h>
#include <string.h>

#include "balance_work.h"
#include "bang/measure/tally.h"
#include "bang/measure/temperature.h"

size_t balance_passes(const balance_work *w)
{
    size_t layers = w->r->kind == BALANCE_LAYERS ? w->changed_count : 0;
    if (w->changed_count == 0)
        return 1;
    return layers < 2 ? 2 : layers == 2 ? 4 : 2 + 2 * layers;
}

static balance_pool *measured(balance_work *w)
{
    return w->on_id ? &w->id : &w->pool;
}

/* Mean confidence of the last pass or, with labels, accuracy. */
static int score(double *confidence, double *accuracy, const balance_work *w,
                 const bang_logits *logits, const bang_label *labels, bang_error *err)
{
    bang_member member = {.part_count = 1, .parts = {{.scale = 1, .share = 1}}};
    bang_tally_input input = {1, logits, labels, 1, &member};
    bang_tally_options options = BANG_TALLY_OPTIONS_INIT;
    bang_tally *tally;
    options.threads = (int)w->c->threads;
    options.cancel = cli_cancel();
    int rc = bang_tally_run(&tally, &input, &options, err);
    if (rc < 0)
        return rc;
    if (confidence)
        *confidence = tally->of[0].confidence;
    if (accuracy)
        *accuracy = (double)tally->of[0].right / (double)tally->counted;
    bang_tally_free(tally);
    return 0;
}

static void name_logits(bang_logits *out, bang_table *table, const balance_work *w,
                        const balance_pool *pool, const char *name)
{
    bang_table_of(table, name, BANG_F32, pool->logits, pool->rows, balance_classes(w));
    *out = (bang_logits){.table = table};
}

/* The ID accuracy of the moving model, whose logits on it are there. */
static int score_id(balance_score *to, balance_work *w, const char *name, bang_error *err)
{
    const balance_pool *id = &w->id;
    bang_table table;
    bang_logits logits;
    w->labelled = 0;
    for (size_t i = 0; w->pair.match != PREDICT_NO_MATCH && i < id->rows; i++)
        w->labelled += id->labels[i] >= 0;
    if (w->labelled == 0)
        return 0;
    name_logits(&logits, &table, w, id, name);
    return score(NULL, &to->accuracy, w, &logits, id->labels, err);
}

/* A pass over the data: confidence, and of a model (to is not NULL) ID accuracy. */
static int measure(double *confidence, balance_score *to, balance_work *w, const char *name,
                   bang_error *err)
{
    bang_table table;
    bang_logits logits;
    balance_pool *pool = measured(w);
    int rc = balance_pass(w, pool, err);
    if (rc < 0)
        return rc;
    name_logits(&logits, &table, w, pool, name);
    rc = score(confidence, NULL, w, &logits, NULL, err);
    if (rc == 0 && to && !w->on_id && w->pair.match != PREDICT_NO_MATCH)
        rc = balance_pass(w, &w->id, err);
    if (rc == 0 && to)
        rc = score_id(to, w, name, err);
    if (rc == 0 && to)
        to->confidence = *confidence;
    return rc;
}

/* What is called what in messages: a model by its file, a hybrid by its only layer. */
static void warn_limit(balance_work *w, const char *name, const bang_temperature *found)
{
    bang_text_add(&w->warnings,
                  "%.300s: is at no temperature as confident as %.300s: its tau is the limit, %g\n",
                  name, w->pair.models[0].path, found->temperature);
}

/* The temperature of the last pass. */
static int find_temperature(double *tau, balance_work *w, const char *name, double target,
                            bang_error *err)
{
    bang_table table;
    bang_logits logits;
    bang_temperature found;
    name_logits(&logits, &table, w, measured(w), name);
    int rc = bang_temperature_balance(&found, &logits, NULL, target, (int)w->c->threads,
                                      cli_cancel(), err);
    if (rc < 0)
        return rc;
    if (found.at_limit)
        warn_limit(w, name, &found);
    *tau = found.temperature;
    return 0;
}

/* "A with blocks.3 of B"; the caller releases it. */
static const char *hybrid_name(bang_text *out, const balance_work *w, const unsigned char *hybrid,
                               size_t many)
{
    int rest = many > 1; /* all but one are the second's */
    size_t layer = 0;
    while (layer < w->layer_count && (!w->changed[layer] || hybrid[layer] == rest))
        layer++;
    bang_text_add(out, "%s with %s of %s", w->pair.models[rest].path,
                  layer < w->layer_count ? w->layers[layer] : "layers", w->pair.models[!rest].path);
    return out->data ? out->data : "a hybrid";
}

/* What was measured before, if the hybrid or model was. */
static int is_known(double *confidence, double *tau, const balance_work *w,
                    const unsigned char *hybrid, size_t many)
{
    if (many == 0 || many == w->changed_count) { /* one of the models */
        *confidence = many == 0 ? w->pre.confidence : w->fine.confidence;
        *tau = many == 0 ? 1 : w->found.whole.tau;
        return !isnan(*confidence);
    }
    for (size_t i = 0; i < w->known_count; i++)
        if (hybrid[w->known[i].layer]) {
            *confidence = w->known[i].confidence;
            *tau = w->known[i].tau;
            return 1;
        }
    return 0;
}

static void remember(balance_work *w, const unsigned char *hybrid, double confidence, double tau)
{
    size_t layer = 0;
    while (!w->changed[layer] || !hybrid[layer])
        layer++;
    w->known[w->known_count++] = (balance_known){layer, confidence, tau};
}

static int probe(void *context, double *confidence, double *tau, double target,
                 const unsigned char *hybrid, size_t layers, bang_error *err)
{
    balance_work *w = context;
    size_t many = 0; /* layers that matter */
    for (size_t i = 0; i < layers; i++)
        many += w->changed[i] && hybrid[i];
    if (is_known(confidence, tau, w, hybrid, many))
        return 0;
    int is_fine = many > 0 && many == w->changed_count;
    balance_score *to = many == 0 ? &w->pre : is_fine ? &w->fine : NULL;
    bang_text name = {0};
    const char *called = to ? w->pair.models[is_fine].path : hybrid_name(&name, w, hybrid, many);
    balance_mix(w, hybrid);
    *tau = 1;
    int rc = measure(confidence, to, w, called, err);
    if (rc == 0 && !isnan(target))
        rc = find_temperature(tau, w, called, target, err);
    if (rc == 0 && is_fine)
        w->found.whole.tau = *tau;
    if (rc == 0 && !to && w->changed_count == 2)
        remember(w, hybrid, *confidence, *tau);
    bang_text_release(&name);
    return rc;
}

static void add_bad(balance_work *w)
{
    balance_pool *pools[] = {&w->id, &w->pool};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < pools[k]->count; i++) {
            const bang_predictor *p = pools[k]->sets[i].predictor;
            for (size_t n = 0; p && n < bang_predictor_bad_count(p); n++)
                bang_text_add(&w->warnings, "left out: %s\n", bang_predictor_bad(p, n));
        }
}

int balance_find(balance_work *w)
{
    bang_error err = {0};
    int id = !w->on_id && w->pair.match != PREDICT_NO_MATCH;
    bang_balance found;
    w->inputs_done = 0;
    w->inputs_all = balance_passes(w) * measured(w)->kept + (id ? 2 * w->id.kept : 0);
    cli_bar_start(&w->bar, w->c, "confidence");
    int rc =
        bang_balance_find(&found, w->layer_count, w->r->kind == BALANCE_LAYERS, probe, w, &err);
    cli_bar_finish(&w->bar);
    if (rc < 0)
        return cli_fail(w->c, &err);
    w->found = found;
    if (w->changed_count == 0)
        w->fine = w->pre;
    add_bad(w);
    return CLI_DONE;
}

int balance_measure(balance_work *w, const char *path)
{
    bang_error err = {0};
    predict_model written = {.path = path, .head = w->r->head};
    int rc = predict_load_model(&written, &w->pair, &err);
    if (rc == 0 && written.is_vit)
        picture_options_apply(w->c, &w->r->pictures, &written.vit, path);
    if (rc == 0) {
        size_t count, same;
        const float *from = balance_numbers(&written, &count);
        float *to = balance_numbers(&w->moving, &same);
        rc = count == same ? 0 : bang_fail(&err, BANG_EDATA, "%.300s: has changed its size", path);
        if (rc == 0)
            memcpy(to, from, count * sizeof *to);
    }
    predict_model_release(&written);
    w->inputs_done = 0;
    w->inputs_all = measured(w)->kept + (w->on_id ? 0 : w->id.kept);
    cli_bar_start(&w->bar, w->c, "result");
    double confidence;
    if (rc == 0)
        rc = measure(&confidence, &w->result, w, path, &err);
    cli_bar_finish(&w->bar);
    return rc < 0 ? cli_fail(w->c, &err) : CLI_DONE;
}
