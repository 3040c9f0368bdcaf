/* bang explain occlusion of transformers: pictures at the size that they read, with cells black. */
#include <stdlib.h>
#include <string.h>

#include "bang/data/feed.h"
#include "explain_occlusion.h"

/* Pictures at once; tokens of those that a thread takes at once, about. */
enum { PIECE = 64, TOKENS = 800 };

/* One model at work. */
typedef struct scorer {
    const bang_vit_model *model;
    bang_transform transform;
    size_t piece, pixels; /* pictures; numbers in one */
    int threads;
    bang_vit_worker_f32 *workers; /* (threads) */
    float *input;                 /* (threads, piece, pixels) */
    bang_batch batch;             /* what is scored */
    float *logits;
    struct progress *progress;
} scorer;

struct progress {
    cli_bar bar;
    uint64_t done, total; /* pictures under a mask, once for each model */
};

static int score_piece(void *context, size_t index, int worker, bang_error *err)
{
    const scorer *s = context;
    size_t at = index * s->piece, left = s->batch.count - at,
           many = left < s->piece ? left : s->piece;
    size_t classes = s->model->vit.config.classes;
    float *input = s->input + (size_t)worker * s->piece * s->pixels;
    (void)err;
    for (size_t i = 0; i < many; i++)
        bang_batch_pixels(input + i * s->pixels, &s->batch, &s->transform, at + i, at + i, 1,
                          s->model->mean, s->model->std);
    bang_vit_forward_f32(&s->workers[worker], s->model->vit.parameters, input, many);
    memcpy(s->logits + at * classes, s->workers[worker].logits, many * classes * sizeof(float));
    return 0;
}

static int score(void *context, float *logits, const bang_array *images, bang_error *err)
{
    scorer *s = context;
    s->logits = logits;
    s->batch =
        (bang_batch){.count = images->shape[0], .dtype = images->dtype, .pixels = images->data};
    int rc = bang_parallel_for((s->batch.count + s->piece - 1) / s->piece, s->threads, score_piece,
                               s, cli_cancel(), err);
    s->progress->done += s->batch.count;
    bang_progress_step(&s->progress->bar.progress, s->progress->done, s->progress->total);
    return rc;
}

static int open_scorer(scorer *s, const bang_vit_model *model, int threads, bang_error *err)
{
    const bang_vit_config *c = &model->vit.config;
    s->model = model;
    s->threads = threads > 0 ? threads : bang_threads_available();
    s->piece = TOKENS / bang_vit_tokens(c) ? TOKENS / bang_vit_tokens(c) : 1;
    s->pixels = c->channels * c->image * c->image;
    s->workers = calloc((size_t)s->threads, sizeof *s->workers);
    s->input = calloc((size_t)s->threads * s->piece, s->pixels * sizeof *s->input);
    int rc = s->workers && s->input ? 0 : bang_fail_memory(err);
    for (int t = 0; rc == 0 && t < s->threads; t++)
        rc = bang_vit_worker_init_f32(&s->workers[t], c, s->piece, BANG_VIT_PREDICT, err);
    return rc;
}

static void close_scorer(scorer *s)
{
    for (int t = 0; s->workers && t < s->threads; t++)
        bang_vit_worker_release_f32(&s->workers[t]);
    free(s->workers);
    free(s->input);
}

/* Some of the pictures, as the feed gives them; adds to the result. */
static int occlude_batch(occlusion *o, const bang_batch *batch, const bang_transform *transform,
                         const bang_occlusion_network *scored, bang_error *err)
{
    size_t size = transform->size, channels = transform->channels;
    bang_occlusion_grid grid = {.rows = o->rows, .columns = o->columns};
    bang_occlusion part = {0};
    bang_array images = {.dtype = batch->dtype,
                         .rank = 4,
                         .shape = {batch->count, size, size, channels},
                         .count = batch->count * size * size * channels,
                         .data = (void *)batch->pixels}; /* borrowed, only read */
    int rc = bang_occlusion_run_networks(&part, scored, o->request->from.count, &images,
                                         batch->labels, &grid, cli_cancel(), err);
    if (rc == 0)
        rc = bang_occlusion_add(&o->result, &part, err);
    bang_occlusion_release(&part);
    o->images += batch->count;
    return rc;
}

/* Piece by piece: memory does not grow with the pictures. */
static int occlude_all(occlusion *o, const bang_transform *transform, int threads,
                       const bang_occlusion_network *scored, struct progress *progress,
                       bang_error *err)
{
    const predict_request *p = &o->request->from;
    bang_feed_options options = {.transform = *transform, .threads = threads};
    bang_feed *feed = NULL;
    size_t count = o->choice.count;
    options.skip_bad = p->pictures.skip_bad;
    options.cancel = cli_cancel();
    int rc = bang_feed_open(&feed, &p->set, &options, err);
    for (size_t asked = 0; rc == 0 && asked < count; asked += PIECE) {
        size_t many = count - asked < PIECE ? count - asked : PIECE;
        bang_batch batch = {0};
        rc = bang_feed_ask(feed, o->choice.index + asked, many, 0, err);
        if (rc == 0)
            rc = bang_feed_take(&batch, feed, err);
        progress->total -= (many - batch.count) * p->count * (o->rows * o->columns + 1);
        if (rc == 0 && batch.count)
            rc = occlude_batch(o, &batch, transform, scored, err);
    }
    o->skipped = rc == 0 ? bang_feed_bad_count(feed) : 0;
    for (size_t i = 0; i < o->skipped; i++)
        bang_text_add(&o->bad, "%s\n", bang_feed_bad(feed, i));
    if (rc == 0 && o->images == 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no picture in it can be read: %s",
                       predict_source(p), o->skipped ? bang_feed_bad(feed, 0) : "it is empty");
    bang_feed_close(feed);
    return rc;
}

int occlude_vits(occlusion *o, cli *c, bang_error *err)
{
    const predict_request *p = &o->request->from;
    const bang_vit_config *config = &p->models[0].vit.vit.config;
    bang_transform transform = BANG_TRANSFORM_INIT;
    struct progress progress = {0};
    transform.size = config->image;
    transform.channels = config->channels;
    transform.crop = p->pictures.crop;
    scorer *scorers = calloc(p->count, sizeof *scorers);
    bang_occlusion_network *scored = calloc(p->count, sizeof *scored);
    int rc = scorers && scored ? 0 : bang_fail_memory(err);
    for (size_t m = 0; rc == 0 && m < p->count; m++) {
        scorers[m].transform = transform;
        scorers[m].progress = &progress;
        scored[m] = (bang_occlusion_network){config->classes, score, &scorers[m]};
        rc = open_scorer(&scorers[m], &p->models[m].vit, (int)c->threads, err);
    }
    if (rc == 0) {
        progress.total = (uint64_t)o->choice.count * p->count * (o->rows * o->columns + 1);
        cli_bar_start(&progress.bar, c, "pictures");
        rc = occlude_all(o, &transform, (int)c->threads, scored, &progress, err);
        cli_bar_finish(&progress.bar);
    }
    for (size_t m = 0; scorers && m < p->count; m++)
        close_scorer(&scorers[m]);
    free(scorers);
    free(scored);
    return rc;
}
