/* One step of training on pictures. */
#include <math.h>
#include <string.h>

#include "train/tune.h"

void tune_share(size_t *from, size_t *to, const tune *run, size_t count, int t)
{
    size_t threads = (size_t)run->threads, part = (size_t)t;
    size_t each = count / threads, rest = count % threads; /* the first ones take one more */
    *from = part * each + (part < rest ? part : rest);
    *to = *from + each + (part < rest);
}

void tune_progress(tune *run, bang_tune_phase phase, uint64_t more)
{
    uint64_t done = atomic_fetch_add(&run->done, more) + more;
    if (run->options.progress)
        run->options.progress(run->options.context, phase, done, atomic_load(&run->total));
}

/* Its share of the batch in pieces of nearly one size: forward, loss, backward. */
static void whole_part(void *context, int t)
{
    tune *run = context;
    tune_thread *self = &run->team[t];
    const bang_vit_config *config = &run->model->vit.config;
    size_t from, to, image = config->channels * config->image * config->image;
    tune_share(&from, &to, run, run->batch.count, t);
    size_t pieces = (to - from + run->piece - 1) / run->piece, all = to - from;
    self->loss = 0;
    for (size_t p = 0; p < pieces; p++) {
        size_t first = from + all * p / pieces, count = from + all * (p + 1) / pieces - first;
        if (bang_cancelled(run->options.train.cancel)) {
            atomic_store(&run->cut, 1);
            return;
        }
        for (size_t i = 0; i < count; i++)
            bang_batch_pixels(self->pixels + i * image, &run->batch, &run->options.feed.transform,
                              first + i, run->targets.partner ? run->partner[first + i] : first + i,
                              (float)run->targets.lambda, run->model->mean, run->model->std);
        bang_vit_forward_f32(&self->worker, run->weights, self->pixels, count);
        self->loss += tune_loss(self->worker.logits_gradient, self->worker.logits, &run->targets,
                                first, count);
        bang_vit_backward_f32(&self->worker, run->weights, self->gradient, count,
                              p == 0 ? BANG_VIT_OVERWRITE : 0);
        tune_progress(run, BANG_TUNE_STEPS, count);
    }
}

/* Gradients of all threads into that of the first, in their order, and its squares. */
static void sum_chunk(tune *run, size_t from, size_t count)
{
    const bang_layers_f32 *layers = bang_layers_best_f32();
    float *sum = run->team[0].gradient + from;
    for (int t = 1; t < run->threads && (size_t)t < run->batch.count; t++) /* who had a picture */
        layers->add(sum, run->team[t].gradient + from, count);
    run->squares[from / TUNE_CHUNK] = layers->square_sum(sum, count);
}

static void update_numbers(const tune *run, float *w, const float *g, float *m, float *v,
                           size_t count)
{
    const bang_kernels_f32 *kernels = bang_kernels_best_f32();
    if (run->options.train.optimizer == BANG_SGD)
        kernels->sgd(w, g, m, count, &run->update);
    else
        kernels->adam(w, g, m, v, count, &run->update);
}

static void update_chunk(const tune *run, size_t from, size_t count)
{
    const float *g = run->team[0].gradient + from;
    float *w = run->weights + from, *m = run->first + from;
    float *v = run->second ? run->second + from : NULL;
    size_t whole = count / BANG_LANES * BANG_LANES, rest = count - whole;
    update_numbers(run, w, g, m, v, whole);
    if (rest) { /* the model's memory ends here, the kernel's vectors do not */
        _Alignas(64) float last[4][BANG_LANES] = {{0}};
        size_t size = rest * sizeof *w;
        memcpy(last[0], w + whole, size);
        memcpy(last[1], g + whole, size);
        memcpy(last[2], m + whole, size);
        if (v)
            memcpy(last[3], v + whole, size);
        update_numbers(run, last[0], last[1], last[2], last[3], BANG_LANES);
        memcpy(w + whole, last[0], size);
        memcpy(m + whole, last[2], size);
        if (v)
            memcpy(v + whole, last[3], size);
    }
}

/* Chunks go to threads in whole ranges. */
static void for_chunks(tune *run, int t, int sum, int update)
{
    size_t from, to, chunks = (run->count + TUNE_CHUNK - 1) / TUNE_CHUNK;
    tune_share(&from, &to, run, chunks, t);
    for (size_t chunk = from; chunk < to; chunk++) {
        size_t first = chunk * TUNE_CHUNK, left = run->count - first;
        size_t count = left < TUNE_CHUNK ? left : TUNE_CHUNK;
        if (sum)
            sum_chunk(run, first, count);
        if (update)
            update_chunk(run, first, count);
    }
}

static void sum_part(void *context, int t)
{
    for_chunks(context, t, 1, 0);
}

static void update_part(void *context, int t)
{
    for_chunks(context, t, 0, 1);
}

static void both_part(void *context, int t)
{
    for_chunks(context, t, 1, 1);
}

static void plan_update(tune *run, double rate)
{
    const bang_train_options *o = &run->options.train;
    bang_step_f32 *step = &run->update;
    *step = (bang_step_f32){.gradient_scale = 1, .keep = 1, .rate = (float)rate};
    if (o->optimizer == BANG_SGD) {
        step->beta1 = (float)o->momentum;
        step->decay = (float)o->weight_decay;
        return;
    }
    run->kept.power1 *= o->beta1;
    run->kept.power2 *= o->beta2;
    step->rate = (float)(rate / (1 - run->kept.power1));
    step->root_correction = (float)(1 / sqrt(1 - run->kept.power2));
    step->beta1 = (float)o->beta1;
    step->beta2 = (float)o->beta2;
    step->epsilon = (float)o->epsilon;
    if (o->optimizer == BANG_ADAMW)
        step->keep = (float)(1 - rate * o->weight_decay);
    else
        step->decay = (float)o->weight_decay;
}

static double norm_of(const tune *run)
{
    double sum = 0;
    for (size_t chunk = 0; chunk * TUNE_CHUNK < run->count; chunk++)
        sum += run->squares[chunk];
    return sqrt(sum);
}

/* With a limit on its norm the gradient must be summed before the first weight moves. */
static void take_step(tune *run, double rate)
{
    double limit = run->options.train.clip_norm;
    plan_update(run, rate);
    if (limit > 0) {
        bang_pool_run(run->pool, sum_part, run);
        run->kept.norm = norm_of(run);
        double factor = limit / (run->kept.norm + 1e-6); /* PyTorch's form */
        run->update.gradient_scale = (float)(factor < 1 ? factor : 1);
        bang_pool_run(run->pool, update_part, run);
    } else {
        bang_pool_run(run->pool, both_part, run);
        run->kept.norm = norm_of(run);
    }
}

/* Asks for the batches that this step and those after it need. */
static int ask(tune *run, bang_error *err)
{
    uint64_t last = run->options.train.steps;
    while (run->feed && run->asked < last && run->asked < run->step + TUNE_SLOTS) {
        size_t slot = run->asked % TUNE_SLOTS, count;
        const uint32_t *index = train_next_batch(&run->order, &count);
        memcpy(run->asked_index + slot * run->options.train.batch, index, count * sizeof *index);
        run->asked_count[slot] = count;
        /* a picture comes once in an epoch: its changes are named by the epoch */
        int rc = bang_feed_ask(run->feed, index, count, run->order.epoch - 1, err);
        if (rc < 0)
            return rc;
        run->asked++;
    }
    return 0;
}

/* Which of the pictures that were asked for did not come. */
static void note_bad(tune *run)
{
    size_t slot = run->step % TUNE_SLOTS, found = 0;
    const uint32_t *index = run->asked_index + slot * run->options.train.batch;
    for (size_t i = 0; i < run->asked_count[slot]; i++) {
        if (found < run->batch.count && run->batch.index[found] == index[i])
            found++;
        else
            run->bad[index[i]] = 1;
    }
    for (size_t count = bang_feed_bad_count(run->feed); run->told < count; run->told++)
        if (run->options.bad)
            run->options.bad(run->options.context, bang_feed_bad(run->feed, run->told));
}

/* The next batch: from the feed, or rows of kept features. */
static int next_batch(tune *run, bang_error *err)
{
    if (run->feed) {
        int rc = ask(run, err);
        if (rc == 0)
            rc = bang_feed_take(&run->batch, run->feed, err);
        if (rc == 0)
            note_bad(run);
        return rc;
    }
    size_t count, kept = 0;
    const uint32_t *index = train_next_batch(&run->order, &count);
    for (size_t i = 0; i < count; i++)
        if (run->features.known[index[i]]) {
            run->index[kept] = index[i];
            run->labels[kept++] = run->images->labels[index[i]];
        }
    run->batch = (bang_batch){.count = kept, .labels = run->labels, .index = run->index};
    return 0;
}

static void set_targets(tune *run)
{
    const bang_train_options *o = &run->options.train;
    tune_targets *targets = &run->targets;
    *targets = (tune_targets){.kind = o->loss,
                              .classes = run->model->vit.config.classes,
                              .batch = run->batch.count,
                              .labels = run->batch.labels,
                              .lambda = 1};
    train_smooth(&targets->hit, &targets->miss, targets->classes, o);
    if (o->mixup > 0) {
        targets->lambda = train_draw_mixing(run->partner, run->batch.count, o, run->step);
        targets->partner = run->partner;
    }
}

static int compute_gradients(tune *run, bang_error *err)
{
    atomic_store(&run->cut, 0);
    if (!run->options.only_head) {
        bang_pool_run(run->pool, whole_part, run);
    } else {
        if (run->feed)
            bang_pool_run(run->pool, tune_head_features, run);
        if (!atomic_load(&run->cut))
            bang_pool_run(run->pool, tune_head_part, run);
    }
    return atomic_load(&run->cut) ? bang_fail(err, BANG_ECANCELLED, "stopped") : 0;
}

static int check_finite(const tune *run, double loss, bang_error *err)
{
    if (isfinite(loss) && isfinite(run->kept.norm))
        return 0;
    return bang_fail(err, BANG_EDATA,
                     "training: the %s is not finite at step %llu: take a smaller learning rate, "
                     "or look for bad numbers in the data",
                     isfinite(loss) ? "gradient" : "loss", (unsigned long long)run->step + 1);
}

int tune_step(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    tune_kept *kept = &run->kept;
    int rc = next_batch(run, err);
    if (rc < 0)
        return rc;
    set_targets(run);
    rc = run->batch.count ? compute_gradients(run, err) : 0;
    if (rc < 0)
        return rc;
    double sum = 0, count = (double)run->batch.count;
    for (int t = 0; t < run->threads && run->batch.count; t++)
        sum += run->team[t].loss;
    uint64_t epoch = train_epoch_steps(run->images->count, o->batch);
    if (run->step % epoch == 0)
        kept->epoch_loss = 0, kept->in_epoch = 0;
    kept->epoch_loss += sum;
    kept->in_epoch += count;
    if (kept->in_epoch == 0 && (run->step + 1 == o->steps || (run->step + 1) % epoch == 0))
        return bang_fail(err, BANG_EDATA,
                         "training: none of the pictures of an epoch can be read: look at what was "
                         "said of them");
    kept->loss = run->batch.count ? sum / count : 0;
    kept->norm = 0;
    kept->images = count;
    kept->rate = bang_train_rate(o, run->step);
    kept->pending = 1;
    if (run->batch.count && isfinite(kept->loss))
        take_step(run, kept->rate);
    rc = check_finite(run, kept->loss, err);
    run->step++;
    return rc;
}
