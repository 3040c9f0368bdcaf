#include "train/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

float *tune_block(tune *run, size_t count)
{
    if (count > (SIZE_MAX - 64) / sizeof(float) - BANG_LANES)
        return NULL;
    size_t size = bang_padded(count ? count : 1) * sizeof(float);
    float *block = aligned_alloc(64, size);
    if (!block)
        return NULL;
    bang_memory_large(block, size);
    run->bytes += size;
    return memset(block, 0, size);
}

static void check_labels(bang_text *problems, const char *what, const bang_images *images,
                         size_t classes)
{
    if (images->count == 0 || images->count > UINT32_MAX)
        bang_text_add(problems, "; %s: %zu pictures: give 1 to 4e9", what, images->count);
    for (size_t i = 0; i < images->count; i++)
        if (images->labels[i] < 0 || (size_t)images->labels[i] >= classes) {
            bang_text_add(problems, "; %s: picture %zu has %s %lld: the network has %zu outputs",
                          what, i, images->labels[i] < 0 ? "no label, but" : "label",
                          (long long)images->labels[i], classes);
            return;
        }
}

/* All that is wrong, in one message. */
static int check(const tune *run, bang_error *err)
{
    const bang_tune_options *o = &run->options;
    bang_text problems = {0};
    bang_error why = {0};
    size_t classes = run->model->vit.config.classes;
    if (bang_train_check(&o->train, &why) < 0)
        bang_text_add(&problems, "; %s", why.message);
    if (classes == 0)
        bang_text_add(&problems, "; network: it has no head: give it one");
    else
        check_labels(&problems, "training", run->images, classes);
    if (classes && run->validation)
        check_labels(&problems, "validation", run->validation, classes);
    if (o->keep_best && !run->validation)
        bang_text_add(&problems, "; keep best: there are no validation data: give some");
    if (o->threads < 0)
        bang_text_add(&problems, "; threads: %d is negative", o->threads);
    return bang_text_fail(&problems, err);
}

/* Pictures that a thread takes at once: enough rows for large products, few enough that
 * what they leave behind stays in the cache where it can. */
static size_t choose_piece(const bang_vit_config *config)
{
    enum { ROWS = 768, BYTES = 3 << 19, LEAST = 4 };
    size_t tokens = bang_vit_tokens(config);
    size_t bytes = tokens * config->depth * (6 * config->width + config->hidden) * sizeof(float);
    size_t by_rows = (ROWS + tokens - 1) / tokens, by_bytes = BYTES / (bytes ? bytes : 1);
    if (by_bytes < LEAST)
        by_bytes = LEAST;
    return by_rows < by_bytes ? by_rows : by_bytes;
}

static void choose_sizes(tune *run)
{
    bang_tune_options *o = &run->options;
    const bang_vit *vit = &run->model->vit;
    if (o->train.batch > run->images->count)
        o->train.batch = run->images->count;
    size_t threads = o->threads > 0 ? (size_t)o->threads : (size_t)bang_threads_available();
    size_t ranks = (size_t)bang_ranks_count(o->train.ranks);
    size_t mine = (o->train.batch + ranks - 1) / ranks; /* at most */
    threads = threads < mine ? threads : mine;
    size_t share = (mine + threads - 1) / threads;
    run->threads = (int)threads;
    run->piece = o->piece ? o->piece : choose_piece(&vit->config);
    run->piece = run->piece < share ? run->piece : share;
    run->offset = o->only_head ? vit->map.head_weight : 0;
    run->count = vit->map.count - run->offset;
    o->feed.transform.size = vit->config.image;
    o->feed.transform.channels = vit->config.channels;
    if (!o->feed.cancel)
        o->feed.cancel = o->train.cancel;
}

/* Which pictures, in which order. */
static int make_order(tune *run, bang_error *err)
{
    bang_arena *arena = &run->arena;
    size_t batch = run->options.train.batch, images = run->images->count;
    int failed = 0;
    for (int i = 0; i < TUNE_SLOTS; i++) {
        tune_request *r = &run->requests[i];
        failed |= !(r->picture = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
        failed |= !(r->partner = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
        failed |= !(r->position = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
    }
    failed |= !(run->order.index = bang_arena_alloc(arena, images, sizeof(uint32_t)));
    failed |= !(run->index = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
    failed |= !(run->partner = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
    failed |= !(run->row = bang_arena_alloc(arena, batch, sizeof(uint32_t)));
    failed |= !(run->labels = bang_arena_alloc(arena, batch, sizeof(int64_t)));
    failed |= !(run->missing = bang_arena_alloc(arena, batch, 1));
    failed |= !(run->told = bang_arena_alloc(arena, images, 1));
    failed |= !(run->bad = bang_arena_alloc(arena, images, 1));
    return failed ? bang_fail_memory(err) : 0;
}

/* Memory that all steps share. */
static int make_blocks(tune *run, bang_error *err)
{
    const bang_tune_options *o = &run->options;
    size_t chunks = run->count / TUNE_CHUNK + 1;
    run->weights = run->model->vit.parameters;
    if (o->only_head && (run->weights = tune_block(run, run->count)))
        memcpy(run->weights, run->model->vit.parameters + run->offset, run->count * sizeof(float));
    run->first = tune_block(run, run->count);
    run->second = o->train.optimizer == BANG_SGD ? NULL : tune_block(run, run->count);
    run->best = o->keep_best ? tune_block(run, run->count) : NULL;
    run->squares = bang_arena_alloc(&run->arena, chunks, sizeof *run->squares);
    run->team = bang_arena_alloc(&run->arena, (size_t)run->threads, sizeof *run->team);
    return run->weights && run->first && (run->second || o->train.optimizer == BANG_SGD) &&
                   (run->best || !o->keep_best) && run->squares && run->team
               ? make_order(run, err)
               : bang_fail_memory(err);
}

static int make_team(tune *run, bang_error *err)
{
    const bang_vit_config *config = &run->model->vit.config;
    size_t image = config->channels * config->image * config->image;
    bang_vit_purpose purpose = run->options.recompute ? BANG_VIT_RECOMPUTE : BANG_VIT_TRAIN;
    int rc = bang_pool_open(&run->pool, run->threads, err);
    for (int t = 0; rc == 0 && t < run->threads; t++) {
        tune_thread *self = &run->team[t];
        self->gradient = tune_block(run, run->count);
        self->pixels = tune_block(run, run->piece * image);
        if (!self->gradient || !self->pixels)
            rc = bang_fail_memory(err);
        if (rc == 0 && !run->options.only_head)
            rc = bang_vit_worker_init_f32(&self->worker, config, run->piece, purpose, err);
    }
    return rc;
}

size_t tune_cache_left(const tune *run)
{
    return run->options.feed.cache_bytes - (run->feed ? bang_feed_cache(run->feed) : 0);
}

/* Where pictures come from: a feed, unless their features are kept; and a predictor for the
 * validation set. */
static int open_sources(tune *run, bang_error *err)
{
    const bang_tune_options *o = &run->options;
    const bang_vit_model *model = run->model;
    int rc = 0;
    if (o->only_head)
        rc = tune_head_prepare(run, err);
    run->asked = run->step;
    train_seek(&run->order, run->step);
    if (rc == 0 && !run->features.rows)
        rc = bang_feed_open(&run->feed, run->images, &o->feed, err);
    if (rc < 0 || !run->validation || o->only_head)
        return rc;
    bang_predict_options how = {.feed = o->feed, .threads = run->threads, .ranks = o->train.ranks};
    how.feed.cache_bytes = tune_cache_left(run);
    bang_transform *transform = &how.feed.transform;
    transform->random_crop = transform->flip = 0;
    transform->degrees = transform->color = 0;
    return bang_predictor_open(&run->predictor, &model, 1, run->validation, &how, err);
}

static int prepare(tune *run, bang_error *err)
{
    int rc = check(run, err);
    if (rc < 0)
        return rc;
    choose_sizes(run);
    run->order.options = &run->options.train;
    run->order.rows = run->images->count;
    run->kept = (tune_kept){.power1 = 1, .power2 = 1};
    rc = make_blocks(run, err);
    if (rc == 0)
        rc = tune_state_prepare(run, err);
    if (rc == 0)
        rc = make_team(run, err);
    if (rc == 0)
        rc = tune_sum_prepare(run, err);
    if (rc == 0)
        rc = open_sources(run, err);
    for (int t = 0; rc == 0 && t < run->threads; t++)
        run->bytes += run->team[t].worker.bytes;
    if (rc == 0 && run->predictor)
        run->bytes += bang_predictor_bytes(run->predictor);
    return rc;
}

/* Pictures that the first so many steps see. */
static uint64_t pictures_of(const tune *run, uint64_t steps)
{
    uint64_t epoch = train_epoch_steps(run->images->count, run->options.train.batch);
    return steps / epoch * run->images->count + steps % epoch * run->options.train.batch;
}

static int is_evaluated(const tune *run, uint64_t step)
{
    uint64_t every = run->options.evaluate_every;
    return run->validation && (step == run->options.train.steps || (every && step % every == 0));
}

/* The evaluation that is due after a step, and word to the caller. */
static int end_step(tune *run, bang_error *err)
{
    tune_kept *kept = &run->kept;
    bang_tune_event event = {.step = run->step,
                             .steps = run->options.train.steps,
                             .loss = kept->loss,
                             .rate = kept->rate,
                             .gradient_norm = kept->norm,
                             .images = (size_t)kept->images,
                             .evaluated = is_evaluated(run, run->step)};
    if (event.evaluated) {
        int rc = tune_evaluate(run, err);
        if (rc < 0)
            return rc;
        event.accuracy = kept->accuracy;
        event.validation_loss = kept->validation_loss;
        event.best = (uint64_t)kept->best_step == run->step;
    }
    kept->pending = 0;
    if (run->options.event)
        run->options.event(run->options.context, &event);
    return 0;
}

/* A step that was cut short has changed nothing, and an evaluation is taken up again: the
 * state is good at any time between them. */
static int save_unsaved(tune *run, bang_error *err)
{
    int saved = run->saver.saved == run->step && !(run->kept.pending > 0);
    return run->options.train.state.path && run->step > 0 && !saved
               ? train_saver_save(&run->saver, run->step, err)
               : 0;
}

/* Time to write the state: of several ranks rank 0 has said so, and all look first whether they
 * still hold the same. */
static int save_due(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    int several = bang_ranks_count(o->ranks) > 1;
    if (!o->state.path || run->step <= run->saver.saved ||
        !(several ? run->due : train_saver_is_due(&run->saver)))
        return 0;
    int rc = train_agree_bytes(run->weights, run->count * sizeof *run->weights, "the weights",
                               o->ranks, err);
    return rc < 0 ? rc : train_saver_try(&run->saver, run->step, err);
}

static int stop(tune *run, bang_error *err)
{
    int rc = save_unsaved(run, err);
    return rc < 0 ? rc : bang_fail(err, BANG_ECANCELLED, "stopped");
}

static int train(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    int rc = 0, untouched = 0;
    atomic_store(&run->done, pictures_of(run, run->step));
    atomic_store(&run->total, pictures_of(run, o->steps));
    tune_progress(run, BANG_TUNE_STEPS, 0);
    while (rc == 0) {
        if (run->kept.pending > 0) {
            rc = end_step(run, err);
            untouched = rc < 0; /* an evaluation changes no weights */
        }
        if (rc < 0 || run->step == o->steps)
            break;
        rc = bang_cancelled(o->cancel) ? BANG_ECANCELLED : save_due(run, err);
        if (rc == 0) {
            uint64_t before = run->step;
            rc = tune_step(run, err);
            untouched = run->step == before;
        }
        atomic_store(&run->done, pictures_of(run, run->step)); /* bad ones too */
    }
    if (rc == 0 && o->steps == 0 && run->validation)
        rc = tune_evaluate(run, err);
    if (rc == BANG_ECANCELLED)
        return stop(run, err);
    if (rc < 0 && untouched) /* a bad picture, say: what was done so far is kept */
        save_unsaved(run, NULL);
    return rc;
}

/* The weights that were asked for into the model. */
static int finish(tune *run, bang_error *err)
{
    tune_kept *kept = &run->kept;
    if (run->best && kept->best_step > 0) {
        memcpy(run->weights, run->best, run->count * sizeof *run->best);
        kept->accuracy = kept->best_accuracy;
        kept->validation_loss = kept->best_loss;
    }
    int rc = train_agree_bytes(run->weights, run->count * sizeof *run->weights, "the weights",
                               run->options.train.ranks, err);
    if (rc < 0)
        return rc;
    if (run->options.only_head)
        memcpy(run->model->vit.parameters + run->offset, run->weights, run->count * sizeof(float));
    for (size_t i = 0; i < run->count; i++)
        if (!isfinite(run->weights[i]))
            return bang_fail(err, BANG_EDATA,
                             "training: weights are not finite after the last step: take a smaller "
                             "learning rate, or look for bad numbers in the data");
    return 0;
}

static void report(bang_tune_result *result, const tune *run, uint64_t resumed)
{
    const tune_kept *kept = &run->kept;
    *result = (bang_tune_result){
        .loss = kept->in_epoch > 0 ? kept->epoch_loss / kept->in_epoch : NAN,
        .accuracy = run->validation ? kept->accuracy : NAN,
        .validation_loss = run->validation ? kept->validation_loss : NAN,
        .best_step = run->best && kept->best_step > 0 ? (uint64_t)kept->best_step : run->step,
        .resumed_from = resumed,
        .saved = run->saver.saved,
        .validation_bad = (size_t)kept->validation_bad,
        .piece = run->piece,
        .threads = run->threads,
        .sums = run->sums,
        .bytes = run->bytes + run->model->vit.map.count * sizeof(float)};
    for (size_t i = 0; run->bad && i < run->images->count; i++)
        result->bad += run->bad[i];
}

static void release(tune *run)
{
    bang_feed_close(run->feed);
    bang_predictor_close(run->predictor);
    bang_pool_close(run->pool);
    for (int t = 0; run->team && t < run->threads; t++) {
        bang_vit_worker_release_f32(&run->team[t].worker);
        free(run->team[t].gradient);
        free(run->team[t].pixels);
    }
    if (run->options.only_head)
        free(run->weights);
    free(run->first);
    free(run->second);
    free(run->best);
    free(run->batch_features);
    free(run->features.rows);
    free(run->features.known);
    free(run->validation_features.rows);
    free(run->validation_features.known);
    train_saver_release(&run->saver);
    bang_arena_release(&run->arena);
}

int bang_tune_digest(char out[BANG_DIGEST_TEXT], bang_vit_model *model, const bang_images *images,
                     const bang_images *validation, const bang_tune_options *options,
                     bang_error *err)
{
    tune run = {.model = model, .images = images, .validation = validation, .options = *options};
    int any = options->threads == BANG_TUNE_ANY_THREADS;
    if (any)
        run.options.threads = 0;
    int rc = check(&run, err);
    if (rc < 0)
        return rc;
    choose_sizes(&run);
    return tune_state_digest(out, &run, any, err);
}

int bang_tune_vit(bang_vit_model *model, const bang_images *images, const bang_images *validation,
                  const bang_tune_options *options, bang_tune_result *result, bang_error *err)
{
    tune run = {.model = model, .images = images, .validation = validation, .options = *options};
    int rc = prepare(&run, err);
    uint64_t resumed = run.step;
    if (rc == 0)
        rc = train(&run, err);
    if (rc == 0)
        rc = finish(&run, err);
    if (result)
        report(result, &run, resumed);
    release(&run);
    return rc;
}
