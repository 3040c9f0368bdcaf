/* Balance by confidence: data sets, the inputs that are drawn from them, and passes over them. */
#include <stdlib.h>
#include <string.h>

#include "balance_work.h"
#include "bang/base/random.h"

/* Prepared pictures are kept for the next pass, as far as they fit. */
enum { CACHE_BYTES = 512 << 20 };
/* Every layer costs two passes. */
enum { LAYER_INPUTS = 1000 };

size_t balance_classes(const balance_work *w)
{
    return w->pair.width;
}

/* Leaves kept, (count) ascending inputs, in the set. */
static void keep_inputs(bang_images *set, const size_t *kept, size_t count)
{
    bang_array *array = &set->memory.inputs;
    char *rows = array->data;
    size_t size = rows ? set->memory.width * bang_dtype_size(array->dtype) : 0;
    int64_t *labels = set->memory.labels.data;
    for (size_t i = 0, k = 0; set->paths && i < set->count; i++) {
        if (k < count && kept[k] == i)
            set->paths[k++] = set->paths[i];
        else
            free(set->paths[i]);
    }
    for (size_t k = 0; k < count; k++) {
        set->labels[k] = set->labels[kept[k]];
        if (labels)
            labels[k] = labels[kept[k]];
        if (rows)
            memmove(rows + k * size, rows + kept[k] * size, size);
    }
    set->count = count;
    if (rows) {
        set->memory.count = set->memory.labels.count = set->memory.labels.shape[0] = count;
        array->shape[0] = count;
        array->count = count * set->memory.width;
    }
}

/* An input at random of part k of `wanted` parts of equal size. */
static size_t draw_one(bang_random *random, size_t k, size_t wanted, size_t found)
{
    size_t step = found / wanted, rest = found % wanted; /* k found/wanted may be too large */
    size_t from = k * step + k * rest / wanted;
    size_t to = (k + 1) * step + (k + 1) * rest / wanted;
    return from + (size_t)bang_random_below(random, to - from);
}

/* All regions of all sets have their share, and where labels take turns no class is preferred. */
static int draw_inputs(balance_pool *pool, size_t wanted, uint64_t seed, bang_error *err)
{
    pool->kept = pool->found;
    if (wanted == 0 || wanted >= pool->found)
        return 0;
    size_t *kept = calloc(wanted, sizeof *kept), k = 0, before = 0;
    bang_random random;
    if (!kept)
        return bang_fail_memory(err);
    bang_random_init(&random, seed, BANG_PURPOSE('b', 'a', 'l', 'a'), 0);
    size_t drawn = draw_one(&random, 0, wanted, pool->found);
    for (size_t s = 0; s < pool->count; s++) {
        bang_images *set = pool->sets[s].images;
        size_t count = 0, after = before + set->count;
        while (k < wanted && drawn < after) {
            kept[count++] = drawn - before;
            k++;
            drawn = k < wanted ? draw_one(&random, k, wanted, pool->found) : 0;
        }
        keep_inputs(set, kept, count);
        before = after;
    }
    free(kept);
    pool->kept = wanted;
    return 0;
}

static int make_pool(balance_pool *pool, size_t count, bang_error *err)
{
    pool->sets = calloc(count + 1, sizeof *pool->sets);
    pool->count = pool->sets ? count : 0;
    return pool->sets ? 0 : bang_fail_memory(err);
}

void balance_pool_release(balance_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        bang_predictor_close(pool->sets[i].predictor);
        inputs_release(&pool->sets[i].in);
    }
    free(pool->sets);
    free(pool->logits);
    free(pool->labels);
    *pool = (balance_pool){0};
}

int balance_open_sources(balance_work *w)
{
    bang_error err = {0};
    int status = CLI_DONE;
    w->on_id = w->r->source_count == 0;
    w->own = calloc(w->r->source_count + 1, sizeof *w->own);
    if (!w->own || make_pool(&w->pool, w->r->source_count, &err) < 0) {
        bang_fail_memory(&err);
        return cli_fail(w->c, &err);
    }
    for (size_t i = 0; i < w->r->source_count; i++) {
        w->pool.sets[i].images = &w->own[i];
        if (i == 0 && !w->r->id)
            continue; /* opened with the models */
        if (bang_images_open(&w->own[i], w->r->sources[i], &err) < 0)
            status = cli_fail(w->c, &err);
        w->pool.found += w->own[i].count;
    }
    return status;
}

void balance_take_first(balance_work *w)
{
    w->own[0] = w->pair.set;
    w->pair.set = (bang_images){0};
    w->pool.found += w->own[0].count;
}

void balance_fit_sources(cli *c, const balance_work *w)
{
    const predict_model *first = &w->pair.models[0];
    for (size_t i = 0; i < w->pool.count && !first->is_vit; i++) {
        const bang_images *set = &w->own[i];
        if (!set->labels)
            continue; /* it could not be opened, which was said, or was looked at before */
        if (set->paths)
            cli_problem(c, "--unlabelled %.200s: holds pictures: a perceptron reads arrays",
                        w->r->sources[i]);
        else if (set->memory.width != first->mlp.width[0])
            cli_problem(c, "--unlabelled %.200s: an input has %zu numbers: %.200s reads %zu",
                        w->r->sources[i], set->memory.width, first->path, first->mlp.width[0]);
    }
}

/* Opens predictors, and makes room for the outputs. */
static int prepare(balance_work *w, balance_pool *pool, bang_error *err)
{
    const balance_request *r = w->r;
    bang_predict_options options = BANG_PREDICT_OPTIONS_INIT;
    options.feed.transform.crop = r->pictures.crop;
    options.feed.threads = options.threads = (int)w->c->threads;
    options.feed.skip_bad = r->pictures.skip_bad;
    options.feed.cancel = cli_cancel();
    options.feed.cache_bytes = CACHE_BYTES / pool->count;
    options.progress = &w->progress;
    size_t classes = balance_classes(w);
    if (pool->kept < SIZE_MAX / sizeof *pool->logits / classes) {
        pool->logits = calloc(pool->kept * classes + 1, sizeof *pool->logits);
        pool->labels = calloc(pool->kept + 1, sizeof *pool->labels);
    }
    int rc = pool->logits && pool->labels ? 0 : bang_fail_memory(err);
    for (size_t i = 0; i < pool->count && rc == 0; i++) {
        balance_set *s = &pool->sets[i];
        if (s->images->count == 0)
            continue;
        if (w->moving.is_vit)
            rc = bang_predictor_open(&s->predictor, (const bang_vit_model *[]){&w->moving.vit}, 1,
                                     s->images, &options, err);
        else
            rc = inputs_init(&s->in, &s->images->memory, 1, err);
    }
    return rc;
}

int balance_open(balance_work *w)
{
    const balance_request *r = w->r;
    bang_error err = {0};
    size_t wanted = r->count > 0 ? (size_t)r->count : 0;
    size_t id_wanted = wanted; /* of accuracies: three passes, whatever the layers */
    if (!r->count_given && r->kind == BALANCE_LAYERS)
        wanted = LAYER_INPUTS;
    int rc = make_pool(&w->id, r->id ? 1 : 0, &err);
    if (rc == 0 && r->id) {
        w->id.sets[0].images = &w->pair.set;
        w->id.found = w->pair.set.count;
        rc = draw_inputs(&w->id, w->on_id ? wanted : id_wanted, (uint64_t)w->c->seed, &err);
    }
    if (rc == 0 && !w->on_id)
        rc = draw_inputs(&w->pool, wanted, (uint64_t)w->c->seed, &err);
    if (rc == 0 && r->id)
        rc = prepare(w, &w->id, &err);
    if (rc == 0 && !w->on_id)
        rc = prepare(w, &w->pool, &err);
    return rc < 0 ? cli_fail(w->c, &err) : CLI_DONE;
}

static void add_labels(balance_pool *pool, const int64_t *labels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pool->labels[pool->rows + i] =
            labels[i] >= 0 && labels[i] <= INT32_MAX ? (bang_label)labels[i] : BANG_LEFT_OUT;
}

static int pass_pictures(balance_work *w, balance_pool *pool, balance_set *s, bang_error *err)
{
    size_t classes = balance_classes(w);
    bang_predicted some;
    int more;
    while ((more = bang_predictor_next(&some, s->predictor, err)) > 0) {
        memcpy(pool->logits + pool->rows * classes, some.outputs[0],
               some.count * classes * sizeof *pool->logits);
        add_labels(pool, some.labels, some.count);
        pool->rows += some.count;
    }
    return more;
}

static int pass_arrays(balance_work *w, balance_pool *pool, const balance_set *s, bang_error *err)
{
    forward how = {.threads = (int)w->c->threads, .cancel = cli_cancel()};
    bang_mlp reduced = {0};
    size_t count = s->images->count;
    int rc = bang_mlp_reduce(&reduced, &w->moving.mlp, &s->in.columns, err);
    if (rc == 0)
        rc = forward_rows(pool->logits + pool->rows * balance_classes(w), &reduced, &s->in, 0,
                          count, &how, err);
    bang_mlp_release(&reduced);
    if (rc < 0)
        return rc;
    add_labels(pool, s->images->labels, count);
    pool->rows += count;
    return 0;
}

int balance_pass(balance_work *w, balance_pool *pool, bang_error *err)
{
    int rc = 0;
    pool->rows = 0;
    for (size_t i = 0; i < pool->count && rc == 0; i++) {
        balance_set *s = &pool->sets[i];
        if (s->images->count == 0)
            continue;
        rc = s->predictor ? pass_pictures(w, pool, s, err) : pass_arrays(w, pool, s, err);
        w->inputs_done += s->images->count;
        bang_progress_step(&w->bar.progress, w->inputs_done, w->inputs_all);
    }
    if (rc == 0 && pool->rows == 0) {
        const bang_predictor *p = pool->sets[0].predictor;
        rc = bang_fail(err, BANG_EDATA, "%.300s: no input in it can be read: %s",
                       w->on_id || pool == &w->id ? w->r->id : w->r->sources[0],
                       p && bang_predictor_bad_count(p) ? bang_predictor_bad(p, 0) : "it is empty");
    }
    return rc;
}
