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
    tune_share(&from, &to, run, run->mine, t);
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
        self->worker.settled = run->slice_count && p + 1 == pieces ? tune_settled : NULL;
        bang_vit_backward_f32(&self->worker, run->weights, self->gradient, count,
                              p == 0 ? BANG_VIT_OVERWRITE : 0);
        tune_progress(run, BANG_TUNE_STEPS, count);
    }
}

/* Gradients of all threads into that of the first, in their order, and its squares. With several
 * ranks the sum is there already. */
static void sum_chunk(tune *run, size_t from, size_t count)
{
    const bang_layers_f32 *layers = bang_layers_best_f32();
    float *sum = run->team[0].gradient + from;
    for (int t = 1; !run->slice_count && t < run->active; t++)
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

static int compute_gradients(tune *run, bang_error *err)
{
    size_t threads = (size_t)run->threads;
    atomic_store(&run->cut, 0);
    run->active = (int)(run->mine < threads ? run->mine : threads); /* who has a picture */
    if (run->slice_count)
        tune_sum_begin(run);
    if (run->mine == 0) {
        memset(run->team[0].gradient, 0, run->count * sizeof(float));
    } else if (!run->options.only_head) {
        bang_pool_run(run->pool, whole_part, run);
    } else {
        if (run->feed)
            bang_pool_run(run->pool, tune_head_features, run);
        if (!atomic_load(&run->cut))
            bang_pool_run(run->pool, tune_head_part, run);
    }
    int cut = atomic_load(&run->cut), rc = 0;
    if (run->slice_count) {
        if (!cut && (run->options.only_head || run->mine == 0))
            tune_sum_all(run);
        rc = tune_sum_end(run, cut ? NULL : err);
    }
    return cut ? bang_fail(err, BANG_ECANCELLED, "stopped") : rc;
}

/* The sum of the losses of the batch, over threads and ranks; with it rank 0 says whether it wants
 * to save. */
static int sum_losses(double *out, tune *run, bang_error *err)
{
    double both[2] = {0};
    for (int t = 0; t < run->active; t++)
        both[0] += run->team[t].loss;
    int rc = 0;
    if (bang_ranks_count(run->options.train.ranks) > 1) {
        if (bang_ranks_rank(run->options.train.ranks) == 0 && run->options.train.state.path)
            both[1] = train_saver_is_due(&run->saver);
        rc = bang_ranks_sum_f64(run->options.train.ranks, both, 2, err);
        run->due = both[1] > 0;
    }
    *out = both[0];
    return rc;
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

/* What all of a step's pictures being bad means at the end of an epoch. */
static int check_any(const tune *run, uint64_t epoch, bang_error *err)
{
    uint64_t next = run->step + 1;
    if (run->kept.in_epoch > 0 || (next != run->options.train.steps && next % epoch != 0))
        return 0;
    return bang_fail(err, BANG_EDATA,
                     "training: none of the pictures of an epoch can be read: look at what was "
                     "said of them");
}

int tune_step(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    tune_kept *kept = &run->kept;
    double sum = 0, count;
    int rc = tune_next_batch(run, err);
    run->active = 0;
    if (rc == 0 && run->whole)
        rc = compute_gradients(run, err);
    if (rc == 0)
        rc = sum_losses(&sum, run, err);
    if (rc < 0)
        return rc;
    count = (double)run->whole;
    uint64_t epoch = train_epoch_steps(run->images->count, o->batch);
    if (run->step % epoch == 0)
        kept->epoch_loss = 0, kept->in_epoch = 0;
    kept->epoch_loss += sum;
    kept->in_epoch += count;
    rc = check_any(run, epoch, err);
    if (rc < 0)
        return rc;
    kept->loss = run->whole ? sum / count : 0;
    kept->norm = 0;
    kept->images = count;
    kept->rate = bang_train_rate(o, run->step);
    kept->pending = 1;
    if (run->whole && isfinite(kept->loss))
        take_step(run, kept->rate);
    rc = check_finite(run, kept->loss, err);
    run->step++;
    return rc;
}
