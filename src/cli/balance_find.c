/* Balance by confidence: options, loading, the search, and what came of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance_work.h"
#include "bang/measure/tally.h"
#include "bang/measure/temperature.h"
#include "checkpoints.h"

int balance_read_source(void *target, const char *value, bang_error *err)
{
    balance_request *r = target;
    const char **sources = realloc(r->sources, (r->source_count + 1) * sizeof *sources);
    if (!sources)
        return bang_fail_memory(err);
    r->sources = sources;
    r->sources[r->source_count++] = value;
    return 0;
}

void balance_request_release(balance_request *r)
{
    free(r->sources);
}

/* Options that no other average has. */
static void refuse(cli *c, const balance_request *r)
{
    const picture_options *p = &r->pictures;
    const struct {
        const char *name;
        int given;
    } own[] = {{"id", r->id != NULL},
               {"unlabelled", r->source_count > 0},
               {"count", r->count != -1},
               {"head", r->head != NULL},
               {"image-size", p->size != 0},
               {"heads", p->heads != 0},
               {"mean", p->mean_text != NULL},
               {"std", p->std_text != NULL},
               {"crop", p->crop_text != NULL},
               {"gelu", p->gelu_text != NULL},
               {"on-bad-image", p->bad_text != NULL}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].given)
            cli_problem(c, "--%s: only with --balance confidence and layer-confidence",
                        own[i].name);
}

void balance_check(cli *c, balance_request *r, const char *kind, size_t count)
{
    if (r->kind == BALANCE_NOT) {
        refuse(c, r);
        return;
    }
    if (count > 2)
        cli_problem(
            c,
            "--balance %s: %zu inputs: it weighs a fine-tuned model against the pre-trained "
            "one: name these two",
            kind, count);
    if (!r->id)
        cli_problem(c,
                    "--id: missing: --balance %s needs data of the kind that was trained on: a "
                    "folder, a CSV or a named set",
                    kind);
    if (r->count < -1)
        cli_problem(c, "--count %lld: must be 1 or more, or 0 for all", (long long)r->count);
    picture_options_check(c, &r->pictures);
}

/* An average has the settings of the first, so they must be the second's as well. */
static void check_pair(cli *c, const predict_request *pair)
{
    const predict_model *a = &pair->models[0], *b = &pair->models[1];
    if (a->is_vit != b->is_vit)
        cli_problem(c, "%.200s and %.200s: are models of different kinds", a->path, b->path);
    if (pair->width == 1)
        cli_problem(c,
                    "%.200s: has one output, of which every model is certain: give a model with "
                    "two classes or more",
                    a->path);
    if (a->is_vit != b->is_vit || c->problems.size)
        return;
    size_t one, two;
    balance_numbers(a, &one);
    balance_numbers(b, &two);
    if (one != two)
        cli_problem(c, "%.200s: has %zu numbers, %.200s has %zu: they must agree", a->path, one,
                    b->path, two);
    if (a->is_vit && (memcmp(a->vit.mean, b->vit.mean, sizeof a->vit.mean) != 0 ||
                      memcmp(a->vit.std, b->vit.std, sizeof a->vit.std) != 0 ||
                      a->vit.vit.config.heads != b->vit.vit.config.heads ||
                      a->vit.vit.config.gelu != b->vit.vit.config.gelu ||
                      a->vit.vit.config.image != b->vit.vit.config.image))
        cli_problem(
            c,
            "%.200s and %.200s: read pictures or compute in different ways: say with --mean, "
            "--std, --image-size, --heads or --gelu what holds for both",
            a->path, b->path);
    if (!a->is_vit && a->mlp.activation != b->mlp.activation)
        cli_problem(c, "%.200s and %.200s: have different activations", a->path, b->path);
}

/* The two models and the ID set, through what predict does with them. */
static int load_pair(balance_work *w, const char *const *paths)
{
    cli *c = w->c;
    predict_request *pair = &w->pair;
    bang_error err = {0};
    bang_text notes = {0};
    *pair = (predict_request){
        .ensemble = "logits", .pictures = w->r->pictures, .option = "", .inside = 1};
    if (predict_read_model(pair, paths[0], &err) < 0 ||
        predict_read_model(pair, paths[1], &err) < 0 ||
        predict_read_source(pair, w->r->id, &err) < 0)
        return cli_fail(c, &err);
    pair->models[0].head = pair->models[1].head = w->r->head;
    int status = predict_load(c, pair);
    if (status == CLI_DONE) {
        predict_fit(c, pair, &notes);
        check_pair(c, pair);
        status = cli_usage_failed(c) ? CLI_USAGE : CLI_DONE;
    }
    bang_text_release(&notes);
    if (status == CLI_DONE && pair->match == PREDICT_NO_MATCH)
        bang_text_add(&w->warnings,
                      "%.300s: has no labels that fit the models: no accuracy is shown\n",
                      w->r->id);
    return status;
}

static void step(void *context, uint64_t done, uint64_t total)
{
    const balance_work *w = context;
    (void)total;
    bang_progress_step(&w->bar.progress, w->inputs_done + done, w->inputs_all);
}

balance_work *balance_new(cli *c, const balance_request *r)
{
    balance_work *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->c = c;
    w->r = r;
    w->progress = (bang_progress){step, w};
    w->pre = w->fine = w->result = (balance_score){NAN, NAN};
    return w;
}

int balance_load(balance_work *w, const bang_checkpoint *const *pair, const char *const *paths)
{
    bang_error err = {0};
    cli *c = w->c;
    const balance_request *r = w->r;
    int status = load_pair(w, paths);
    if (status != CLI_DONE)
        return status;
    w->moving.path = paths[0];
    w->moving.head = r->head;
    int rc = predict_load_model(&w->moving, &w->pair, &err);
    if (rc == 0 && w->moving.is_vit)
        picture_options_apply(c, &r->pictures, &w->moving.vit, paths[0]);
    if (rc == 0)
        rc = balance_layers(w, pair[0], &err);
    if (rc < 0)
        return cli_fail(c, &err);
    if (w->changed_count == 0)
        bang_text_add(&w->warnings,
                      "%.300s and %.300s: are the same model: there is nothing to balance\n",
                      paths[0], paths[1]);
    return balance_open(w);
}

size_t balance_passes(const balance_work *w)
{
    if (w->changed_count == 0)
        return 1;
    return w->r->kind == BALANCE_LAYERS && w->changed_count > 1 ? 2 + 2 * w->changed_count : 2;
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

static int probe(void *context, double *confidence, double *tau, double target,
                 const unsigned char *hybrid, size_t layers, bang_error *err)
{
    balance_work *w = context;
    size_t many = 0; /* layers that matter */
    for (size_t i = 0; i < layers; i++)
        many += w->changed[i] && hybrid[i];
    int is_fine = many == w->changed_count && !isnan(target);
    balance_score *to = many == 0 ? &w->pre : is_fine ? &w->fine : NULL;
    bang_text name = {0};
    int rc = 0;
    if (to && !isnan(to->confidence)) { /* was measured */
        *confidence = to->confidence;
        *tau = many == 0 ? 1 : w->found.whole.tau;
        return 0;
    }
    const char *called = to ? w->pair.models[is_fine].path : hybrid_name(&name, w, hybrid, many);
    balance_mix(w, hybrid);
    *tau = 1;
    rc = measure(confidence, to, w, called, err);
    if (rc == 0 && !isnan(target))
        rc = find_temperature(tau, w, called, target, err);
    if (rc == 0 && is_fine)
        w->found.whole.tau = *tau;
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

const char *balance_warnings(const balance_work *w)
{
    return w->warnings.data ? w->warnings.data : "";
}

void balance_free(balance_work *w)
{
    if (!w)
        return;
    balance_pool_release(&w->id);
    balance_pool_release(&w->pool);
    for (size_t i = 0; w->own && i < w->r->source_count; i++)
        bang_images_release(&w->own[i]);
    for (size_t i = 0; w->layers && i < w->layer_count; i++)
        free(w->layers[i]);
    predict_model_release(&w->moving);
    predict_release(&w->pair);
    bang_balance_release(&w->found);
    bang_text_release(&w->warnings);
    json_decref(w->recipe);
    free(w->own);
    free(w->layers);
    free(w->changed);
    free(w->runs);
    free(w->weights);
    free(w->rules);
    free(w);
}
