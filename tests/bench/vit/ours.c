#include "vit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/random.h"
#include "bang/train/tune.h"

enum { DEFAULT_PIECE = 4 };

/* Between a question and its answer. */
typedef struct server {
    bang_cancel cancel;
    int left; /* steps to do before the next answer */
    double wall, core;
} server;

static double peak_memory(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    if (f)
        fclose(f);
    return 1024 * kilobytes;
}

/* Waits for the next number of steps; when there is none the cancel is raised. */
static void listen(server *s)
{
    char line[64];
    s->left = fgets(line, sizeof line, stdin) ? (int)strtol(line, NULL, 10) : 0;
    if (s->left <= 0)
        atomic_store(&s->cancel.raised, 1);
    s->wall = wall_seconds();
    s->core = core_seconds();
}

/* After a step. The first one is for warming up. */
static void step_done(server *s, int first)
{
    if (first)
        printf("ready bang\n");
    else if (--s->left > 0)
        return;
    else
        printf("%.9g %.9g %.0f\n", wall_seconds() - s->wall, core_seconds() - s->core,
               peak_memory());
    fflush(stdout);
    listen(s);
}

static void on_event(void *context, const bang_tune_event *event)
{
    step_done(context, event->step == 1);
}

/* ---- Training ---- */

/* Pictures that nobody took, as many as a batch. */
static int make_images(bang_images *out, const job *j, bang_error *err)
{
    const bang_vit_config *c = &j->config;
    bang_dataset *set = &out->memory;
    *out = (bang_images){.count = j->batch, .classes = c->classes};
    out->labels = calloc(j->batch, sizeof *out->labels);
    if (!out->labels)
        return bang_fail_memory(err);
    size_t shape[4] = {j->batch, c->image, c->image, c->channels};
    int rc = bang_array_init(&set->inputs, BANG_U8, 4, shape, err);
    if (rc == 0)
        rc = bang_array_init(&set->labels, BANG_I64, 1, shape, err);
    if (rc < 0)
        return rc;
    set->count = j->batch;
    set->classes = c->classes;
    set->width = c->image * c->image * c->channels;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('b', 'v', 'i', 't'), 0);
    for (size_t i = 0; i < set->count * set->width; i++)
        ((uint8_t *)set->inputs.data)[i] = (uint8_t)bang_random_below(&random, 256);
    for (size_t i = 0; i < set->count; i++)
        ((int64_t *)set->labels.data)[i] = out->labels[i] =
            (int64_t)bang_random_below(&random, c->classes);
    return 0;
}

static int train(const job *j, bang_error *err)
{
    server s = {0};
    bang_vit_model model = {0};
    bang_images images = {0};
    bang_tune_result result;
    bang_tune_options options = BANG_TUNE_OPTIONS_INIT;
    options.train.loss = BANG_CROSS_ENTROPY;
    options.train.optimizer = BANG_ADAMW;
    options.train.rate = 1e-4;
    options.train.weight_decay = 0.1;
    options.train.clip_norm = 1;
    options.train.batch = j->batch;
    options.train.steps = 1000000000;
    options.train.cancel = &s.cancel;
    options.feed.transform.size = j->config.image;
    options.feed.transform.channels = j->config.channels;
    options.recompute = j->purpose == BANG_VIT_RECOMPUTE;
    options.feed.threads = options.threads = j->threads;
    options.piece = j->piece;
    options.event = on_event;
    options.context = &s;
    int rc = bang_vit_model_make(&model, &j->config, 1, err);
    if (rc == 0)
        rc = make_images(&images, j, err);
    if (rc == 0)
        rc = bang_tune_vit(&model, &images, NULL, &options, &result, err);
    bang_images_release(&images);
    bang_vit_model_release(&model);
    return rc == BANG_ECANCELLED ? 0 : rc;
}

/* ---- Prediction ---- */

typedef struct forward {
    const job *job;
    bang_vit vit;
    bang_vit_worker_f32 *workers; /* (threads) */
    float *pixels;                /* (batch, channels, image, image) */
    size_t piece;
} forward;

static int predict_piece(void *context, size_t index, int thread, bang_error *err)
{
    (void)err;
    const forward *f = context;
    const bang_vit_config *c = &f->job->config;
    size_t first = index * f->piece, rest = f->job->batch - first;
    bang_vit_forward_f32(&f->workers[thread], f->vit.parameters,
                         f->pixels + first * c->channels * c->image * c->image,
                         rest < f->piece ? rest : f->piece);
    return 0;
}

static int predict_steps(forward *f, bang_error *err)
{
    server s = {.left = 1};
    size_t pieces = (f->job->batch + f->piece - 1) / f->piece;
    int rc = 0;
    for (int first = 1; rc == 0 && !bang_cancelled(&s.cancel); first = 0) {
        rc = bang_parallel_for(pieces, f->job->threads, predict_piece, f, NULL, err);
        if (rc == 0)
            step_done(&s, first);
    }
    return rc;
}

static int predict(const job *j, bang_error *err)
{
    const bang_vit_config *c = &j->config;
    forward f = {.job = j, .piece = j->piece ? j->piece : DEFAULT_PIECE};
    size_t count = j->batch * c->channels * c->image * c->image;
    int started = 0, rc = bang_vit_init(&f.vit, c, err);
    f.workers = calloc((size_t)j->threads, sizeof *f.workers);
    f.pixels = calloc(count, sizeof *f.pixels);
    if (rc == 0 && (!f.workers || !f.pixels))
        rc = bang_fail_memory(err);
    for (; rc == 0 && started < j->threads; started++)
        rc = bang_vit_worker_init_f32(&f.workers[started], c, f.piece, j->purpose, err);
    if (rc == 0) {
        bang_random random;
        bang_random_init(&random, 1, BANG_PURPOSE('b', 'v', 'i', 't'), 0);
        for (size_t i = 0; i < count; i++)
            f.pixels[i] = (float)bang_random_normal(&random);
        bang_vit_randomise(&f.vit, 1);
        rc = predict_steps(&f, err);
    }
    for (int t = 0; t < started; t++)
        bang_vit_worker_release_f32(&f.workers[t]);
    bang_vit_release(&f.vit);
    free(f.workers);
    free(f.pixels);
    return rc;
}

int serve(const job *j)
{
    bang_error err = {0};
    int rc = j->purpose == BANG_VIT_PREDICT ? predict(j, &err) : train(j, &err);
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    return rc;
}

double activation_bytes(const job *j)
{
    bang_error err = {0};
    bang_vit_worker_f32 worker;
    size_t images = j->piece ? j->piece : DEFAULT_PIECE;
    if (bang_vit_worker_init_f32(&worker, &j->config, images, j->purpose, &err) < 0)
        return 0;
    double bytes = (double)worker.bytes / (double)images;
    bang_vit_worker_release_f32(&worker);
    return bytes;
}
