/* Balance by confidence: what is asked for, and all that is needed for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "balance_work.h"

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

int balance_read_count(void *target, const char *value, bang_error *err)
{
    balance_request *r = target;
    r->count_given = 1;
    return cli_read_whole(&r->count, value, err);
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
               {"count", r->count_given},
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

/* The recipe names them, and is UTF-8. */
static void check_name(cli *c, const char *option, const char *name)
{
    json_t *text = name ? json_string(name) : NULL;
    if (name && !text)
        cli_problem(c, "--%s: its name is no UTF-8: rename it", option);
    json_decref(text);
}

void balance_check(cli *c, balance_request *r, const char *kind, size_t count)
{
    if (r->kind == BALANCE_NOT) {
        refuse(c, r);
        return;
    }
    check_name(c, "id", r->id);
    check_name(c, "head", r->head);
    for (size_t i = 0; i < r->source_count; i++)
        check_name(c, "unlabelled", r->sources[i]);
    if (count > 2)
        cli_problem(
            c,
            "--balance %s: %zu inputs: it weighs a fine-tuned model against the pre-trained "
            "one: name these two",
            kind, count);
    if (!r->id && r->source_count == 0)
        cli_problem(c,
                    "--unlabelled: missing: --balance %s needs data to measure confidence on, or "
                    "with --id of the kind that was trained on: a folder, a CSV or a named set",
                    kind);
    if (r->count < 0)
        cli_problem(c, "--count %lld: must be 1 or more, or 0 for all", (long long)r->count);
    picture_options_check(c, &r->pictures);
}

/* 1 if two ViTs of one shape take pictures and compute in the same way. */
static int reads_alike(const bang_vit_model *a, const bang_vit_model *b)
{
    const bang_vit_config *one = &a->vit.config, *two = &b->vit.config;
    for (size_t i = 0; i < one->channels && i < 3; i++)
        if (islessgreater(a->mean[i], b->mean[i]) || islessgreater(a->std[i], b->std[i]))
            return 0;
    return one->heads == two->heads && one->gelu == two->gelu && one->image == two->image;
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
    if (a->is_vit && !reads_alike(&a->vit, &b->vit))
        cli_problem(
            c,
            "%.200s and %.200s: read pictures or compute in different ways: say with --mean, "
            "--std, --image-size, --heads or --gelu what holds for both",
            a->path, b->path);
    if (!a->is_vit && a->mlp.activation != b->mlp.activation)
        cli_problem(c, "%.200s and %.200s: have different activations", a->path, b->path);
}

/* What predict would say about the labels of the ID set. */
static void add_notes(balance_work *w, const char *notes)
{
    if (!*notes && w->pair.match == PREDICT_NO_MATCH)
        notes = "has no labels: no accuracy is shown\n";
    for (size_t size; *notes; notes += size + (notes[size] == '\n')) {
        size = strcspn(notes, "\n");
        bang_text_add(&w->warnings, "%.300s: %.*s\n", w->r->id, (int)size, notes);
    }
}

/* Do models and data fit? The labels of --unlabelled are nobody's business. */
static void fit_pair(balance_work *w, bang_text *notes)
{
    bang_images *set = &w->pair.set;
    size_t classes = set->classes;
    if (!w->r->id) {
        set->classes = 0;
        for (size_t i = 0; i < set->count; i++)
            set->labels[i] = -1;
    }
    predict_fit(w->c, &w->pair, notes);
    set->classes = classes;
    check_pair(w->c, &w->pair);
    balance_fit_sources(w->c, w);
}

int balance_load(balance_work *w, const char *const *paths)
{
    cli *c = w->c;
    predict_request *pair = &w->pair;
    bang_error err = {0};
    bang_text notes = {0};
    *pair = (predict_request){
        .ensemble = "logits", .pictures = w->r->pictures, .option = "", .inside = 1};
    if (predict_read_model(pair, paths[0], &err) < 0 ||
        predict_read_model(pair, paths[1], &err) < 0 ||
        predict_read_source(pair, w->r->id ? w->r->id : w->r->sources[0], &err) < 0)
        return cli_fail(c, &err);
    pair->models[0].head = pair->models[1].head = w->r->head;
    int status = predict_load(c, pair), others = balance_open_sources(w);
    if (status == CLI_DONE)
        fit_pair(w, &notes);
    if (cli_usage_failed(c) && status == CLI_DONE)
        status = CLI_FAILED;
    status = status == CLI_DONE ? others : status;
    if (status == CLI_DONE && w->r->id)
        add_notes(w, notes.data ? notes.data : "");
    if (status == CLI_DONE && !w->r->id)
        balance_take_first(w);
    bang_text_release(&notes);
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

int balance_prepare(balance_work *w, const bang_checkpoint *first)
{
    bang_error err = {0};
    cli *c = w->c;
    const balance_request *r = w->r;
    const char *paths[] = {w->pair.models[0].path, w->pair.models[1].path};
    int rc = balance_layers(w, first, &err); /* before the third model: it needs one for a while */
    w->moving.path = paths[0];
    w->moving.head = r->head;
    if (rc == 0)
        rc = predict_load_model(&w->moving, &w->pair, &err);
    if (rc == 0 && w->moving.is_vit)
        picture_options_apply(c, &r->pictures, &w->moving.vit, paths[0]);
    if (rc < 0)
        return cli_fail(c, &err);
    if (w->changed_count == 0)
        bang_text_add(&w->warnings,
                      "%.300s and %.300s: are the same model: there is nothing to balance\n",
                      paths[0], paths[1]);
    return balance_open(w);
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
    free(w->used);
    free(w->shares);
    free(w->runs);
    free(w->weights);
    free(w->rules);
    free(w);
}
