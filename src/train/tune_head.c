/* Training the head alone: the tower's features are its inputs. */
#include <stdlib.h>
#include <string.h>

#include "train/tune.h"

/* Where the head's two tensors lie in what is trained. */
static size_t bias_offset(const tune *run)
{
    return run->model->vit.map.head_bias - run->model->vit.map.head_weight;
}

static size_t feature_count(const tune *run)
{
    return bang_vit_features(&run->model->vit.config);
}

/* logits (count, classes) = rows (count, features) W^T + b */
static void head_forward(const tune *run, tune_thread *self, const float *rows, size_t count)
{
    size_t features = feature_count(run), classes = run->model->vit.config.classes;
    bang_product_f32 product = {.m = count,
                                .n = classes,
                                .k = features,
                                .a = rows,
                                .a_row = features,
                                .a_column = 1,
                                .b = run->weights,
                                .b_row = 1,
                                .b_column = features,
                                .c = self->logits,
                                .c_row = classes,
                                .bias = run->weights + bias_offset(run)};
    bang_product_run_f32(&product, self->scratch);
}

/* W's gradient (classes, features) = G^T rows, b's = the sum of G's rows, or added */
static void head_backward(const tune *run, tune_thread *self, const float *rows, size_t count,
                          int add)
{
    size_t features = feature_count(run), classes = run->model->vit.config.classes;
    bang_product_f32 product = {.m = classes,
                                .n = features,
                                .k = count,
                                .a = self->logits_gradient,
                                .a_row = 1,
                                .a_column = classes,
                                .b = rows,
                                .b_row = features,
                                .b_column = 1,
                                .c = self->gradient,
                                .c_row = features,
                                .add = add};
    bang_product_run_f32(&product, self->scratch);
    if (!add)
        memset(self->gradient + bias_offset(run), 0, classes * sizeof(float));
    bang_layers_best_f32()->add_rows(self->gradient + bias_offset(run), self->logits_gradient,
                                     count, classes);
}

void tune_head_features(void *context, int t)
{
    tune *run = context;
    tune_thread *self = &run->team[t];
    const bang_vit_config *config = &run->model->vit.config;
    size_t features = feature_count(run), image = config->channels * config->image * config->image;
    size_t from, to;
    tune_share(&from, &to, run, run->mine, t);
    for (size_t first = from; first < to; first += run->piece) {
        size_t count = to - first < run->piece ? to - first : run->piece;
        if (bang_cancelled(run->options.train.cancel)) {
            atomic_store(&run->cut, 1);
            return;
        }
        for (size_t i = 0; i < count; i++)
            bang_batch_pixels(self->pixels + i * image, &run->batch, &run->options.feed.transform,
                              first + i, run->targets.partner ? run->partner[first + i] : first + i,
                              (float)run->targets.lambda, run->model->mean, run->model->std);
        bang_vit_forward_f32(&self->worker, run->model->vit.parameters, self->pixels, count);
        memcpy(run->batch_features + first * features, self->worker.features,
               count * features * sizeof(float));
        tune_progress(run, BANG_TUNE_STEPS, count);
    }
}

/* Some rows of kept features, one after the other. */
static const float *gather(const tune *run, tune_thread *self, const tune_features *from,
                           const uint32_t *index, size_t count)
{
    size_t features = feature_count(run);
    for (size_t i = 0; i < count; i++)
        memcpy(self->rows + i * features, from->rows + index[i] * features,
               features * sizeof(float));
    return self->rows;
}

void tune_head_part(void *context, int t)
{
    tune *run = context;
    tune_thread *self = &run->team[t];
    size_t features = feature_count(run), from, to;
    tune_share(&from, &to, run, run->mine, t);
    self->loss = 0;
    for (size_t first = from; first < to; first += TUNE_ROWS) {
        size_t count = to - first < TUNE_ROWS ? to - first : TUNE_ROWS;
        const float *rows = run->features.rows
                                ? gather(run, self, &run->features, run->batch.index + first, count)
                                : run->batch_features + first * features;
        head_forward(run, self, rows, count);
        self->loss += tune_loss(self->logits_gradient, self->logits, &run->targets, first, count);
        head_backward(run, self, rows, count, first > from);
        if (run->features.rows)
            tune_progress(run, BANG_TUNE_STEPS, count);
    }
}

/* Counts and losses of a share of the validation set. */
static void evaluate_part(void *context, int t)
{
    tune *run = context;
    tune_thread *self = &run->team[t];
    size_t classes = run->model->vit.config.classes, features = feature_count(run), from, to;
    tune_share(&from, &to, run, run->validation->count, t);
    self->loss = self->correct = 0;
    for (size_t first = from; first < to; first += TUNE_ROWS) {
        size_t count = to - first < TUNE_ROWS ? to - first : TUNE_ROWS;
        head_forward(run, self, run->validation_features.rows + first * features, count);
        for (size_t i = 0; i < count; i++) {
            const float *z = self->logits + i * classes;
            int64_t label = run->validation->labels[first + i];
            if (!run->validation_features.known[first + i])
                continue;
            self->correct += tune_arg_max(z, classes) == (size_t)label;
            self->loss += tune_loss(NULL, z, &run->targets, first + i, 1);
        }
    }
}

int tune_head_evaluate(double *accuracy, double *loss, tune *run, bang_error *err)
{
    double seen = 0, correct = 0, sum = 0;
    bang_pool_run(run->pool, evaluate_part, run);
    for (int t = 0; t < run->threads; t++) {
        correct += run->team[t].correct;
        sum += run->team[t].loss;
    }
    for (size_t i = 0; i < run->validation->count; i++)
        seen += run->validation_features.known[i];
    if (!(seen > 0))
        return bang_fail(err, BANG_EDATA, "validation: no picture could be read");
    *accuracy = correct / seen;
    *loss = sum / seen;
    return 0;
}

/* Features of a whole set, in a pass of its own. */
static int compute_features(tune *run, tune_features *out, const bang_images *images,
                            bang_error *err)
{
    const bang_vit_model *model = run->model;
    size_t features = feature_count(run);
    bang_predict_options how = {.feed = run->options.feed,
                                .threads = run->threads,
                                .piece = run->options.piece,
                                .features = 1,
                                .ranks = run->options.train.ranks};
    bang_transform *transform = &how.feed.transform;
    transform->random_crop = transform->flip = 0;
    transform->degrees = transform->color = 0;
    how.feed.cache_bytes = 0; /* every picture is seen once */
    bang_predictor *predictor = NULL;
    bang_predicted some;
    out->rows = tune_block(run, images->count * features);
    out->known = calloc(images->count, 1);
    int rc = out->rows && out->known ? 0 : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_predictor_open(&predictor, &model, 1, images, &how, err);
    atomic_store(&run->done, 0);
    atomic_store(&run->total, images->count);
    while (rc == 0 && (rc = bang_predictor_next(&some, predictor, err)) > 0) {
        rc = 0;
        for (size_t i = 0; i < some.count; i++) {
            memcpy(out->rows + some.index[i] * features, some.outputs[0] + i * features,
                   features * sizeof(float));
            out->known[some.index[i]] = 1;
        }
        tune_progress(run, BANG_TUNE_FEATURES, some.count);
    }
    for (size_t i = 0; rc == 0 && i < bang_predictor_bad_count(predictor); i++)
        if (run->options.bad)
            run->options.bad(run->options.context, bang_predictor_bad(predictor, i));
    bang_predictor_close(predictor);
    return rc;
}

static int make_team(tune *run, int keep, bang_error *err)
{
    bang_vit_config tower = run->model->vit.config;
    size_t classes = tower.classes, features = feature_count(run);
    tower.classes = 0;
    for (int t = 0; t < run->threads; t++) {
        tune_thread *self = &run->team[t];
        self->rows = bang_arena_alloc(&run->arena, TUNE_ROWS * features, sizeof(float));
        self->logits = bang_arena_alloc(&run->arena, TUNE_ROWS * classes, sizeof(float));
        self->logits_gradient = bang_arena_alloc(&run->arena, TUNE_ROWS * classes, sizeof(float));
        self->scratch = bang_arena_alloc(&run->arena, bang_product_scratch_f32(), sizeof(float));
        if (!self->rows || !self->logits || !self->logits_gradient || !self->scratch)
            return bang_fail_memory(err);
        int rc = keep ? 0
                      : bang_vit_worker_init_f32(&self->worker, &tower, run->piece,
                                                 BANG_VIT_PREDICT, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int tune_head_prepare(tune *run, bang_error *err)
{
    const bang_tune_options *o = &run->options;
    int keep = !(o->train.mixup > 0) && !bang_transform_is_random(&o->feed.transform);
    int rc = make_team(run, keep, err);
    if (rc == 0 && keep)
        rc = compute_features(run, &run->features, run->images, err);
    for (size_t i = 0; rc == 0 && keep && i < run->images->count; i++)
        run->bad[i] = !run->features.known[i];
    if (rc == 0 && !keep) {
        run->batch_features = tune_block(run, o->train.batch * feature_count(run));
        if (!run->batch_features)
            rc = bang_fail_memory(err);
    }
    if (rc == 0 && run->validation)
        rc = compute_features(run, &run->validation_features, run->validation, err);
    run->kept.validation_bad = 0;
    for (size_t i = 0; rc == 0 && run->validation && i < run->validation->count; i++)
        run->kept.validation_bad += !run->validation_features.known[i];
    return rc;
}
