/* bang explain occlusion of transformers: pictures at the size that they read, with cells black. */
#include <stdlib.h>
#include <string.h>

#include "bang/data/feed.h"
#include "explain_occlusion.h"

enum { TOKENS = 800 }; /* of the pictures that a thread takes at once, about */

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

/* The first pictures that can be read, (n, size, size, channels), and their labels. */
static int read_pictures(bang_array *images, int64_t *labels, occlusion *o,
                         const bang_transform *transform, int threads, bang_error *err)
{
    const predict_request *p = &o->request->from;
    bang_feed_options options = {.transform = *transform, .threads = threads};
    bang_feed *feed = NULL;
    bang_batch batch = {0};
    uint32_t *index = calloc(o->images + 1, sizeof *index);
    options.skip_bad = p->pictures.skip_bad;
    options.cancel = cli_cancel();
    int rc = index ? bang_feed_open(&feed, &p->set, &options, err) : bang_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < o->images; i++)
        index[i] = (uint32_t)i;
    if (rc == 0)
        rc = bang_feed_ask(feed, index, o->images, 0, err);
    if (rc == 0)
        rc = bang_feed_take(&batch, feed, err);
    if (rc == 0 && batch.count == 0)
        rc = bang_fail(err, BANG_EDATA, "%.300s: no picture in it can be read", predict_source(p));
    if (rc == 0)
        rc = bang_array_init(
            images, batch.dtype, 4,
            (size_t[]){batch.count, transform->size, transform->size, transform->channels}, err);
    if (rc == 0) {
        memcpy(images->data, batch.pixels, images->count * bang_dtype_size(batch.dtype));
        memcpy(labels, batch.labels, batch.count * sizeof *labels);
        o->images = batch.count;
    }
    bang_feed_close(feed);
    free(index);
    return rc;
}

int occlude_vits(occlusion *o, cli *c, bang_error *err)
{
    const predict_request *p = &o->request->from;
    const bang_vit_config *config = &p->models[0].vit.vit.config;
    bang_transform transform = BANG_TRANSFORM_INIT;
    bang_array images = {0};
    struct progress progress = {0};
    transform.size = config->image;
    transform.channels = config->channels;
    transform.crop = p->pictures.crop;
    scorer *scorers = calloc(p->count, sizeof *scorers);
    bang_occlusion_network *scored = calloc(p->count, sizeof *scored);
    int64_t *labels = calloc(o->images + 1, sizeof *labels);
    int rc = scorers && scored && labels ? 0 : bang_fail_memory(err);
    if (rc == 0)
        rc = read_pictures(&images, labels, o, &transform, (int)c->threads, err);
    for (size_t m = 0; rc == 0 && m < p->count; m++) {
        scorers[m].transform = transform;
        scorers[m].progress = &progress;
        scored[m] = (bang_occlusion_network){config->classes, score, &scorers[m]};
        rc = open_scorer(&scorers[m], &p->models[m].vit, (int)c->threads, err);
    }
    if (rc == 0) {
        bang_occlusion_grid grid = {.rows = o->rows, .columns = o->columns};
        progress.total = (uint64_t)o->images * p->count * (o->rows * o->columns + 1);
        cli_bar_start(&progress.bar, c, "pictures");
        rc = bang_occlusion_run_networks(&o->result, scored, p->count, &images, labels, &grid,
                                         cli_cancel(), err);
        cli_bar_finish(&progress.bar);
    }
    for (size_t m = 0; scorers && m < p->count; m++)
        close_scorer(&scorers[m]);
    free(scorers);
    free(scored);
    free(labels);
    bang_array_release(&images);
    return rc;
}
