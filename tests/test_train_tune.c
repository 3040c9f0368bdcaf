/* Steps of training of vision transformers: against a plain loop in double and against
 * PyTorch, whatever the pieces and threads, whole networks and heads alone. */
#include "tune_cases.h"

#include "bang/store/safetensors.h"
#include "train/loop.h"

enum { STEPS = 10 };

/* The same in double, one batch at a time, everything written out. */
typedef struct plain {
    double *w, *g, *m, *v;
    size_t count;
    double loss[STEPS], norm[STEPS];
} plain;

static void plain_targets(double *y, const bang_images *images, const uint32_t *index, size_t count,
                          const uint32_t *partner, double lambda, const bang_train_options *o)
{
    double e = o->label_smoothing;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < CLASSES; c++) {
            double a = images->labels[index[i]] == (int64_t)c;
            double b = images->labels[index[partner ? partner[i] : i]] == (int64_t)c;
            double mixed = lambda * a + (1 - lambda) * b;
            y[i * CLASSES + c] = (1 - e) * mixed + e / CLASSES;
        }
}

static double plain_loss(double *gradient, const double *z, const double *y, size_t count,
                         bang_loss kind)
{
    double loss = 0, n = (double)count;
    for (size_t i = 0; i < count; i++, z += CLASSES, y += CLASSES, gradient += CLASSES) {
        double sum = 0;
        for (size_t c = 0; c < CLASSES; c++)
            sum += exp(z[c]);
        for (size_t c = 0; c < CLASSES; c++) {
            double p = exp(z[c]) / sum, d = z[c] - y[c];
            loss += kind == BANG_MSE ? d * d / CLASSES / n : -y[c] * log(p) / n;
            gradient[c] = kind == BANG_MSE ? 2 * d / CLASSES / n : (p - y[c]) / n;
        }
    }
    return loss;
}

static void plain_update(plain *p, size_t from, const bang_train_options *o, uint64_t step)
{
    double square = 0, rate = bang_train_rate(o, step), t = (double)step + 1;
    for (size_t i = from; i < p->count; i++)
        square += p->g[i] * p->g[i];
    p->norm[step] = sqrt(square);
    double scale =
        o->clip_norm > 0 && o->clip_norm < p->norm[step] ? o->clip_norm / p->norm[step] : 1;
    for (size_t i = from; i < p->count; i++) {
        double g = p->g[i] * scale;
        if (o->optimizer != BANG_ADAMW)
            g += o->weight_decay * p->w[i];
        if (o->optimizer == BANG_SGD) {
            p->m[i] = o->momentum * p->m[i] + g;
            p->w[i] -= rate * p->m[i];
            continue;
        }
        if (o->optimizer == BANG_ADAMW)
            p->w[i] -= rate * o->weight_decay * p->w[i];
        p->m[i] = o->beta1 * p->m[i] + (1 - o->beta1) * g;
        p->v[i] = o->beta2 * p->v[i] + (1 - o->beta2) * g * g;
        double mean = p->m[i] / (1 - pow(o->beta1, t)), mean2 = p->v[i] / (1 - pow(o->beta2, t));
        p->w[i] -= rate * mean / (sqrt(mean2) + o->epsilon);
    }
}

static void plain_train(plain *p, const bang_vit_model *model, const bang_images *images,
                        const bang_tune_options *options)
{
    const bang_train_options *o = &options->train;
    bang_error err = {0};
    bang_vit_worker_f64 worker;
    uint32_t partner[PICTURES] = {0}, order_index[PICTURES] = {0};
    double pixels[PICTURES * EDGE * EDGE], y[PICTURES * CLASSES];
    train_order order = {.options = o, .index = order_index, .rows = images->count};
    size_t bytes = model->vit.map.count * sizeof(double);
    *p = (plain){
        .w = malloc(bytes), .g = malloc(bytes), .m = calloc(1, bytes), .v = calloc(1, bytes)};
    p->count = model->vit.map.count;
    for (size_t i = 0; i < p->count; i++)
        p->w[i] = (double)model->vit.parameters[i];
    assert_int_equal(
        bang_vit_worker_init_f64(&worker, &model->vit.config, PICTURES, BANG_VIT_TRAIN, &err), 0);
    for (uint64_t step = 0; step < o->steps; step++) {
        size_t count;
        const uint32_t *index = train_next_batch(&order, &count);
        double lambda = o->mixup > 0 ? train_draw_mixing(partner, count, o, step) : 1;
        for (size_t i = 0; i < count * EDGE * EDGE; i++) {
            const uint8_t *all = images->memory.inputs.data;
            size_t n = i / (EDGE * EDGE), at = i % (EDGE * EDGE);
            double a = all[index[n] * EDGE * EDGE + at];
            double b = all[index[o->mixup > 0 ? partner[n] : n] * EDGE * EDGE + at];
            pixels[i] = (lambda * a + (1 - lambda) * b) / 255 / 0.5 - 1;
        }
        plain_targets(y, images, index, count, o->mixup > 0 ? partner : NULL, lambda, o);
        memset(p->g, 0, bytes);
        bang_vit_forward_f64(&worker, p->w, pixels, count);
        p->loss[step] = plain_loss(worker.logits_gradient, worker.logits, y, count, o->loss);
        bang_vit_backward_f64(&worker, p->w, p->g, count, 0);
        plain_update(p, options->only_head ? model->vit.map.head_weight : 0, o, step);
    }
    bang_vit_worker_release_f64(&worker);
}

static void plain_free(plain *p)
{
    free(p->w);
    free(p->g);
    free(p->m);
    free(p->v);
}

static void assert_like_plain(bang_tune_options options)
{
    bang_vit_model model;
    bang_images images;
    bang_tune_result result;
    seen s;
    plain p;
    make_model(&model);
    make_images(&images, PICTURES, 1, 0);
    plain_train(&p, &model, &images, &options);
    train(&model, &images, NULL, options, &s, &result);
    for (size_t i = 0; i < STEPS; i++) {
        assert_true(fabs(s.loss[i] - p.loss[i]) < 5e-6);
        assert_true(fabs(s.norm[i] - p.norm[i]) < 2e-5 * (1 + p.norm[i]));
        assert_true(s.rate[i] == bang_train_rate(&options.train, i));
        assert_int_equal(s.images[i], i % 4 == 3 ? PICTURES % 8 : 8);
    }
    double far = 0;
    for (size_t i = 0; i < p.count; i++)
        far = fmax(far, fabs((double)model.vit.parameters[i] - p.w[i]));
    assert_true(far < 2e-6);
    assert_true(fabs(result.loss - (p.loss[8] + p.loss[9]) / 2) < 5e-6);
    assert_true(isnan(result.accuracy));
    assert_int_equal(result.best_step, STEPS);
    plain_free(&p);
    bang_vit_model_release(&model);
    bang_images_release(&images);
}

static void test_adamw(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    assert_like_plain(o);
    o.train.clip_norm = 0.5;
    o.train.label_smoothing = 0.1;
    o.train.mixup = 0.4;
    o.train.schedule = BANG_COSINE;
    o.train.warmup = 3;
    assert_like_plain(o);
    o.recompute = 1;
    assert_like_plain(o);
}

static void test_others(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    o.train.optimizer = BANG_SGD;
    o.train.momentum = 0.8;
    o.train.rate = 0.02;
    assert_like_plain(o);
    o.train.loss = BANG_MSE;
    o.train.clip_norm = 0.3;
    assert_like_plain(o);
    o.train.optimizer = BANG_ADAM;
    o.train.rate = 1e-3;
    assert_like_plain(o);
}

static void test_only_head(void **state)
{
    (void)state;
    bang_tune_options o = small_options();
    o.only_head = 1;
    o.train.clip_norm = 0.5;
    assert_like_plain(o);
    o.train.mixup = 0.3; /* features cannot be kept */
    assert_like_plain(o);
    o.train.optimizer = BANG_SGD;
    o.train.rate = 0.1;
    assert_like_plain(o);
}

/* Ten steps of PyTorch's (tools/make-vit-vectors). */
typedef struct torch_case {
    bang_vit_model model;
    bang_images images;
    bang_tensors vectors;
} torch_case;

static double number(const torch_case *t, const char *key)
{
    const char *value = bang_tensors_metadata(&t->vectors, key);
    assert_non_null(value);
    return strtod(value, NULL);
}

static const char *data_path(const char *name, const char *end)
{
    static char path[1024];
    const char *source = getenv("BANG_SOURCE");
    snprintf(path, sizeof path, "%s/tests/data/vit/%s%s.safetensors", source ? source : ".", name,
             end);
    return path;
}

static void open_torch(torch_case *t, const char *name)
{
    bang_error err = {0};
    bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    *t = (torch_case){0};
    assert_int_equal(bang_safetensors_read(&t->vectors, data_path(name, "_vectors"), &err), 0);
    hints.heads = (size_t)number(t, "heads");
    hints.epsilon = number(t, "epsilon");
    assert_int_equal(bang_vit_model_load(&t->model, data_path(name, ""), &hints, &err), 0);
    for (int c = 0; c < 3; c++)
        t->model.mean[c] = 0, t->model.std[c] = 1;
    const bang_array *pixels = bang_tensors_find(&t->vectors, "pixels");
    const bang_array *labels = bang_tensors_find(&t->vectors, "labels");
    size_t count = pixels->shape[0], edge = pixels->shape[2], area = edge * edge;
    bang_images *images = &t->images;
    *images = (bang_images){.count = count, .classes = t->model.vit.config.classes};
    images->memory.count = count;
    images->memory.width = 3 * area;
    images->labels = calloc(count, sizeof *images->labels);
    assert_non_null(images->labels);
    assert_int_equal(bang_array_init(&images->memory.inputs, BANG_F32, 4,
                                     (size_t[]){count, edge, edge, 3}, &err),
                     0);
    for (size_t i = 0; i < count; i++)
        images->labels[i] = (int64_t)bang_array_number(labels, i);
    for (size_t i = 0; i < pixels->count; i++) { /* channels come last in memory */
        size_t image = i / (3 * area), channel = i / area % 3, at = i % area;
        ((float *)images->memory.inputs.data)[(image * area + at) * 3 + channel] =
            ((const float *)pixels->data)[i];
    }
}

/* Through all that a training does: the feed, pieces on threads, clipping, AdamW with warm-up
 * and cosine. */
static void assert_like_torch(const char *name, int threads, size_t piece)
{
    bang_tune_options o = small_options();
    bang_tune_result result;
    torch_case t;
    seen s;
    open_torch(&t, name);
    o.train.rate = number(&t, "rate");
    o.train.weight_decay = number(&t, "weight_decay");
    o.train.clip_norm = number(&t, "clip_norm");
    o.train.label_smoothing = number(&t, "label_smoothing");
    o.train.warmup = (uint64_t)number(&t, "warmup");
    o.train.steps = (uint64_t)number(&t, "steps");
    o.train.schedule = BANG_COSINE;
    o.train.epsilon = 1e-8;
    o.train.batch = t.images.count;
    o.threads = threads;
    o.piece = piece;
    train(&t.model, &t.images, NULL, o, &s, &result);
    const bang_array *losses = bang_tensors_find(&t.vectors, "losses");
    assert_int_equal(losses->count, o.train.steps);
    for (size_t i = 0; i < losses->count; i++)
        assert_true(fabs(s.loss[i] - bang_array_number(losses, i)) < (i ? 1e-4 : 5e-6));
    bang_images_release(&t.images);
    bang_vit_model_release(&t.model);
    bang_tensors_release(&t.vectors);
}

static void test_torch(void **state)
{
    (void)state;
    assert_like_torch("vit", 1, 6);
    assert_like_torch("vit", 2, 2);
    assert_like_torch("clip", 1, 4);
    assert_like_torch("clip", 3, 1);
}

static void train_quietly(bang_vit_model *model, const bang_images *images,
                          bang_tune_options options)
{
    seen s;
    bang_tune_result result;
    make_model(model);
    train(model, images, NULL, options, &s, &result);
}

static void test_pieces_and_threads(void **state)
{
    (void)state;
    bang_images images;
    bang_vit_model first, other;
    bang_tune_options o = small_options();
    make_images(&images, PICTURES, 1, 0);
    o.train.mixup = 0.3;
    train_quietly(&first, &images, o);
    for (int threads = 1; threads <= 9; threads += threads < 3 ? 1 : 3) {
        static const size_t pieces[] = {1, 3, 4, 100};
        for (size_t i = 0; i < 4; i++) {
            o.threads = threads;
            o.piece = pieces[i];
            train_quietly(&other, &images, o);
            assert_true(distance(&first, &other) < 1e-6);
            bang_vit_model_release(&other);
        }
    }
    /* the same number of threads: the same bits */
    o = small_options();
    o.train.mixup = 0.3;
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) == 0);
    bang_vit_model_release(&other);
    o.feed.threads = 5; /* of the feed do not matter */
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) == 0);
    bang_vit_model_release(&other);
    o.train.seed = 2;
    train_quietly(&other, &images, o);
    assert_true(distance(&first, &other) > 0);
    bang_vit_model_release(&other);
    bang_vit_model_release(&first);
    bang_images_release(&images);
}

/* Without a step, batches of one epoch are those of the next, unless pictures change. */
static void test_changes_by_epoch(void **state)
{
    (void)state;
    bang_images images;
    bang_vit_model model;
    bang_tune_options o = small_options();
    bang_tune_result result;
    seen s[2];
    make_images(&images, PICTURES, 1, 0);
    o.train.in_order = 1;
    o.train.rate = 0;
    for (int head = 0; head < 2; head++) {
        o.only_head = head;
        for (int flip = 0; flip < 2; flip++) {
            o.feed.transform.flip = flip;
            make_model(&model);
            train(&model, &images, NULL, o, &s[flip], &result);
            bang_vit_model_release(&model);
            for (size_t i = 0; i < 3; i++) /* of whole batches */
                assert_int_equal(s[flip].loss[i] == s[flip].loss[i + 4], !flip);
        }
        assert_true(s[0].loss[0] != s[1].loss[0]);
        o.feed.seed++;
    }
    bang_images_release(&images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adamw),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_only_head),
        cmocka_unit_test(test_torch),
        cmocka_unit_test(test_pieces_and_threads),
        cmocka_unit_test(test_changes_by_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
