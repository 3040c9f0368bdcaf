/* A tiny CLIP and a tiny ViT against PyTorch in double precision
 * (tools/make-vit-vectors): features, logits, the loss, every gradient, the losses of
 * ten steps of training, and the text tower, from files in several layouts. */
#include <math.h>

#include "testing.h"

#include "bang/model/text.h"
#include "bang/model/vit_file.h"
#include "bang/store/safetensors.h"
#include "bang/tensor/kernels.h"

/* What PyTorch wrote as double and we compute in double differs by the order of some
 * hundred additions; ten steps of training multiply that by what Adam makes of small
 * gradients. What is in float on either side differs by its rounding, 6e-8 of a
 * number, some hundred times. */
static const double tight = 1e-13, tight_trained = 1e-12, loose = 5e-6, loose_trained = 1e-4;

typedef struct torch_case {
    bang_vit_model model;
    bang_tensors vectors;
    size_t images, classes, pixels; /* pixels: of one image */
} torch_case;

static const char *data_path(const char *name)
{
    static char path[1024];
    const char *source = getenv("BANG_SOURCE");
    snprintf(path, sizeof path, "%s/tests/data/vit/%s.safetensors", source ? source : ".", name);
    return path;
}

static const bang_array *find(const torch_case *t, const char *name)
{
    const bang_array *array = bang_tensors_find(&t->vectors, name);
    if (!array)
        fail_msg("no %s", name);
    return array;
}

static double number(const torch_case *t, const char *key)
{
    const char *value = bang_tensors_metadata(&t->vectors, key);
    if (!value)
        fail_msg("no %s", key);
    return value ? strtod(value, NULL) : 0;
}

static void load(bang_vit_model *out, const torch_case *t, const char *name)
{
    bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    bang_error err = {0};
    hints.heads = (size_t)number(t, "heads");
    hints.epsilon = number(t, "epsilon");
    if (bang_vit_model_load(out, data_path(name), &hints, &err) < 0)
        fail_msg("%s: %s", name, err.message);
}

static void start(torch_case *t, const char *name, const char *weights)
{
    bang_error err = {0};
    char vectors[64];
    snprintf(vectors, sizeof vectors, "%s_vectors", name);
    if (bang_safetensors_read(&t->vectors, data_path(vectors), &err) < 0)
        fail_msg("%s", err.message);
    load(&t->model, t, weights);
    const bang_vit_config *c = &t->model.vit.config;
    t->images = find(t, "pixels")->shape[0];
    t->classes = c->classes;
    t->pixels = c->channels * c->image * c->image;
    assert_int_equal(c->image, number(t, "image"));
    assert_int_equal(c->patch, number(t, "patch"));
    assert_int_equal(c->width, number(t, "width"));
    assert_int_equal(c->depth, number(t, "depth"));
    assert_int_equal(c->hidden, number(t, "hidden"));
    assert_int_equal(c->classes, number(t, "classes"));
}

static void stop(torch_case *t)
{
    bang_vit_model_release(&t->model);
    bang_tensors_release(&t->vectors);
}

static void close_to(const char *what, double value, double want, double tolerance)
{
    if (!(fabs(value - want) <= tolerance * fmax(1, fabs(want))))
        fail_msg("%s: %.15g, not %.15g", what, value, want);
}

/* The mean over the batch, times share (of a piece in the batch), with its gradient. */
#define DEFINE_LOSS(real, suffix)                                                                  \
    static double loss_##suffix(real *gradient, const real *logits, const int64_t *labels,         \
                                size_t count, size_t classes, double smoothing, double all)        \
    {                                                                                              \
        double loss = 0;                                                                           \
        for (size_t i = 0; i < count; i++, logits += classes, gradient += classes) {               \
            double sum = 0;                                                                        \
            for (size_t j = 0; j < classes; j++)                                                   \
                sum += exp((double)logits[j]);                                                     \
            for (size_t j = 0; j < classes; j++) {                                                 \
                double target = smoothing / (double)classes;                                       \
                target += j == (size_t)labels[i] ? 1 - smoothing : 0;                              \
                double log_share = (double)logits[j] - log(sum);                                   \
                loss -= target * log_share / all;                                                  \
                gradient[j] = (real)((exp(log_share) - target) / all);                             \
            }                                                                                      \
        }                                                                                          \
        return loss;                                                                               \
    }
DEFINE_LOSS(float, f32)
DEFINE_LOSS(double, f64)

static double rate_of(const torch_case *t, double step)
{
    double warmup = number(t, "warmup"), steps = number(t, "steps"), rate = number(t, "rate");
    if (step < warmup)
        return rate * (step + 1) / warmup;
    return rate * (1 + cos(M_PI * (step - warmup) / (steps - warmup))) / 2;
}

/* A training of ten steps in pieces of four images, from the model's weights. */
#define DEFINE_TRAINING(real, suffix)                                                              \
    typedef struct training_##suffix {                                                             \
        size_t padded;                                                                             \
        real *weights, *gradient, *mean, *square, *pixels;                                         \
        bang_vit_worker_##suffix worker;                                                           \
    } training_##suffix;                                                                           \
                                                                                                   \
    static real *numbers_##suffix(size_t count, const float *from)                                 \
    {                                                                                              \
        size_t padded = bang_padded(count);                                                        \
        real *out = aligned_alloc(64, padded * sizeof *out);                                       \
        if (!out)                                                                                  \
            abort();                                                                               \
        memset(out, 0, padded * sizeof *out);                                                      \
        for (size_t i = 0; from && i < count; i++)                                                 \
            out[i] = (real)from[i];                                                                \
        return out;                                                                                \
    }                                                                                              \
                                                                                                   \
    static void begin_##suffix(training_##suffix *r, const torch_case *t,                          \
                               bang_vit_purpose purpose)                                           \
    {                                                                                              \
        bang_error err = {0};                                                                      \
        size_t count = t->model.vit.map.count;                                                     \
        r->padded = bang_padded(count);                                                            \
        r->weights = numbers_##suffix(count, t->model.vit.parameters);                             \
        r->gradient = numbers_##suffix(count, NULL);                                               \
        r->mean = numbers_##suffix(count, NULL);                                                   \
        r->square = numbers_##suffix(count, NULL);                                                 \
        r->pixels = numbers_##suffix(t->images * t->pixels, find(t, "pixels")->data);              \
        if (bang_vit_worker_init_##suffix(&r->worker, &t->model.vit.config, 4, purpose, &err) < 0) \
            fail_msg("%s", err.message);                                                           \
    }                                                                                              \
                                                                                                   \
    static void end_##suffix(training_##suffix *r)                                                 \
    {                                                                                              \
        free(r->weights), free(r->gradient), free(r->mean), free(r->square), free(r->pixels);      \
        bang_vit_worker_release_##suffix(&r->worker);                                              \
    }                                                                                              \
                                                                                                   \
    /* The loss of the batch; its gradient into r->gradient. */                                    \
    static double go_##suffix(training_##suffix *r, const torch_case *t)                           \
    {                                                                                              \
        const int64_t *labels = find(t, "labels")->data;                                           \
        double loss = 0, smoothing = number(t, "label_smoothing");                                 \
        for (size_t from = 0; from < t->images; from += 4) {                                       \
            size_t count = t->images - from < 4 ? t->images - from : 4;                            \
            bang_vit_forward_##suffix(&r->worker, r->weights, r->pixels + from * t->pixels,        \
                                      count);                                                      \
            loss += loss_##suffix(r->worker.logits_gradient, r->worker.logits, labels + from,      \
                                  count, t->classes, smoothing, (double)t->images);                \
            bang_vit_backward_##suffix(&r->worker, r->weights, r->gradient, count,                 \
                                       from ? 0 : BANG_VIT_OVERWRITE);                             \
        }                                                                                          \
        return loss;                                                                               \
    }                                                                                              \
                                                                                                   \
    static void step_##suffix(training_##suffix *r, const torch_case *t, double step)              \
    {                                                                                              \
        double norm = sqrt(bang_layers_best_##suffix()->square_sum(r->gradient, r->padded));       \
        double limit = number(t, "clip_norm"), rate = rate_of(t, step);                            \
        bang_step_##suffix s = {.rate = (real)(rate / (1 - pow(.9, step + 1))),                    \
                                .beta1 = (real).9,                                                 \
                                .beta2 = (real).999,                                               \
                                .root_correction = (real)(1 / sqrt(1 - pow(.999, step + 1))),      \
                                .epsilon = (real)1e-8,                                             \
                                .keep = (real)(1 - rate * number(t, "weight_decay")),              \
                                .gradient_scale =                                                  \
                                    (real)(norm + 1e-6 > limit ? limit / (norm + 1e-6) : 1)};      \
        bang_kernels_best_##suffix()->adam(r->weights, r->gradient, r->mean, r->square, r->padded, \
                                           &s);                                                    \
    }                                                                                              \
                                                                                                   \
    static void check_losses_##suffix(const torch_case *t, bang_vit_purpose purpose, double first, \
                                      double last)                                                 \
    {                                                                                              \
        training_##suffix r;                                                                       \
        const bang_array *want = find(t, "losses");                                                \
        begin_##suffix(&r, t, purpose);                                                            \
        assert_int_equal(want->count, number(t, "steps"));                                         \
        for (size_t i = 0; i < want->count; i++) {                                                 \
            close_to("loss", go_##suffix(&r, t), bang_array_number(want, i), i ? last : first);    \
            step_##suffix(&r, t, (double)i);                                                       \
        }                                                                                          \
        /* it has learned something: not the same loss ten times */                                \
        assert_true(bang_array_number(want, 9) < bang_array_number(want, 0) - .2);                 \
        end_##suffix(&r);                                                                          \
    }
DEFINE_TRAINING(float, f32)
DEFINE_TRAINING(double, f64)

static void check_forward(const torch_case *t)
{
    bang_error err = {0};
    bang_vit_worker_f64 worker;
    const bang_array *features = find(t, "features"), *logits = find(t, "logits");
    double *weights = numbers_f64(t->model.vit.map.count, t->model.vit.parameters);
    double *pixels = numbers_f64(t->images * t->pixels, find(t, "pixels")->data);
    for (int purpose = 0; purpose < 3; purpose++) {
        assert_int_equal(bang_vit_worker_init_f64(&worker, &t->model.vit.config, t->images,
                                                  (bang_vit_purpose)purpose, &err),
                         0);
        bang_vit_forward_f64(&worker, weights, pixels, t->images);
        for (size_t i = 0; i < features->count; i++)
            close_to("feature", worker.features[i], bang_array_number(features, i), tight);
        for (size_t i = 0; i < logits->count; i++)
            close_to("logit", worker.logits[i], bang_array_number(logits, i), tight);
        bang_vit_worker_release_f64(&worker);
    }
    free(weights), free(pixels);
}

/* The gradient of each tensor beside PyTorch's, which a file keeps as if they were weights. */
static void check_gradient(const torch_case *t, const char *name)
{
    bang_vit_model want;
    training_f64 exact;
    training_f32 small;
    load(&want, t, name);
    const bang_vit_map *map = &t->model.vit.map;
    assert_int_equal(want.vit.map.count, map->count);
    begin_f64(&exact, t, BANG_VIT_TRAIN);
    begin_f32(&small, t, BANG_VIT_TRAIN);
    go_f64(&exact, t);
    go_f32(&small, t);
    for (size_t k = 0; k < map->tensor_count; k++) {
        const bang_vit_tensor *tensor = &map->tensors[k];
        double most = 0, off = 0, off_small = 0;
        for (size_t i = tensor->offset; i < tensor->offset + tensor->count; i++) {
            double number = (double)want.vit.parameters[i];
            most = fmax(most, fabs(number));
            off = fmax(off, fabs(exact.gradient[i] - number));
            off_small = fmax(off_small, fabs((double)small.gradient[i] - number));
        }
        /* PyTorch's were rounded to float */
        if (!(most > 1e-4) || !(off <= 0x1p-23 * most) || !(off_small <= loose * fmax(1, most)))
            fail_msg("%s: %s: of %g, off by %g, in float by %g", name, tensor->name, most, off,
                     off_small);
    }
    end_f64(&exact);
    end_f32(&small);
    bang_vit_model_release(&want);
}

static void check_model(const char *name, const char *weights)
{
    torch_case t;
    char gradient[64];
    start(&t, name, weights);
    snprintf(gradient, sizeof gradient, "%s_gradient", name);
    check_forward(&t);
    check_gradient(&t, gradient);
    for (int purpose = BANG_VIT_TRAIN; purpose <= BANG_VIT_RECOMPUTE; purpose++) {
        check_losses_f64(&t, (bang_vit_purpose)purpose, tight, tight_trained);
        check_losses_f32(&t, (bang_vit_purpose)purpose, loose, loose_trained);
    }
    stop(&t);
}

static void test_clip(void **state)
{
    (void)state;
    check_model("clip", "clip");
    check_model("clip", "clip_hf");
}

static void test_vit(void **state)
{
    (void)state;
    check_model("vit", "vit");
    check_model("vit", "vit_hf");
}

static void check_texts(const torch_case *t, const char *file)
{
    bang_error err = {0};
    bang_checkpoint *checkpoint = NULL;
    bang_text_tower tower = {0};
    bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    hints.text_heads = (size_t)number(t, "text_heads");
    if (bang_checkpoint_open(&checkpoint, data_path(file), &err) < 0 ||
        bang_text_tower_load(&tower, checkpoint, &hints, &err) < 0)
        fail_msg("%s", err.message);
    const bang_array *ids = find(t, "text_ids"), *want = find(t, "text_features");
    const bang_array *head = find(t, "zeroshot");
    float *features = numbers_f32(want->count, NULL), *weight = numbers_f32(head->count, NULL);
    assert_int_equal(ids->dtype, BANG_I32);
    assert_int_equal(tower.config.context, number(t, "context"));
    assert_int_equal(tower.config.vocabulary, number(t, "vocabulary"));
    assert_int_equal(
        bang_text_tower_encode(features, &tower, ids->data, ids->shape[0], 2, NULL, NULL, &err), 0);
    for (size_t i = 0; i < want->count; i++)
        close_to("text feature", (double)features[i], bang_array_number(want, i), loose);
    bang_zeroshot_class(weight, features, want->shape[0], want->shape[1], tower.logit_scale);
    for (size_t i = 0; i < head->count; i++) /* of 100 */
        close_to("head", (double)weight[i] / 100, bang_array_number(head, i) / 100, loose);
    free(features), free(weight);
    bang_text_tower_release(&tower);
    bang_checkpoint_close(checkpoint);
}

static void test_text(void **state)
{
    (void)state;
    torch_case t;
    start(&t, "clip", "clip");
    check_texts(&t, "clip");
    check_texts(&t, "clip_hf");
    stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_vit),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
