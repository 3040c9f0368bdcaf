/* Maps of vision transformers: gradients against differences in double, Grad-CAM and rollout
 * against plain loops and against PyTorch (tools/make-vit-vectors), and how maps are compared. */
#include "plain_vit.h"

#include "bang/explain/saliency.h"
#include "bang/model/vit_file.h"
#include "bang/store/safetensors.h"

enum { IMAGES = 2 };

typedef struct fixture {
    const char *name;
    bang_vit_config config;
    bang_vit_map map;
    double *weights, *pixels; /* (map.count), (IMAGES, ..) */
    bang_vit vit;             /* the same numbers in float */
    float *floats;            /* pixels */
} fixture;

static void start(fixture *f, int number)
{
    bang_error err = {0};
    f->name = vit_cases[number].name;
    f->config = vit_cases[number].config;
    if (bang_vit_map_init(&f->map, &f->config, &err) < 0)
        fail_msg("%s", err.message);
    f->weights = vit_weights(&f->map, (uint64_t)number + 21);
    f->pixels = vit_numbers(IMAGES * vit_pixels(&f->config), 79, 1);
    f->floats = vit_floats(f->pixels, IMAGES * vit_pixels(&f->config));
    assert_int_equal(bang_vit_init(&f->vit, &f->config, &err), 0);
    for (size_t i = 0; i < f->map.count; i++)
        f->vit.parameters[i] = (float)f->weights[i];
}

static void stop(fixture *f)
{
    bang_vit_map_release(&f->map);
    bang_vit_release(&f->vit);
    free(f->weights), free(f->pixels), free(f->floats);
}

static bang_vit_worker_f64 worker_for(const fixture *f, bang_vit_purpose purpose)
{
    bang_error err = {0};
    bang_vit_worker_f64 worker;
    if (bang_vit_worker_init_f64(&worker, &f->config, IMAGES + 1, purpose, &err) < 0)
        fail_msg("%s", err.message);
    return worker;
}

/* Image i asks for logit (which + i) mod classes. */
static size_t asked(const fixture *f, size_t which, size_t i)
{
    return (which + i) % f->config.classes;
}

static void ask(bang_vit_worker_f64 *worker, const fixture *f, size_t which)
{
    size_t classes = f->config.classes;
    memset(worker->logits_gradient, 0, IMAGES * classes * sizeof *worker->logits_gradient);
    for (size_t i = 0; i < IMAGES; i++)
        worker->logits_gradient[i * classes + asked(f, which, i)] = 1;
}

/* Of four values around a place, h apart: the error goes as h^4. */
static double slope_of(const double side[4], double h)
{
    return (side[0] - side[3] + 8 * (side[2] - side[1])) / (12 * h);
}

static const double steps[4] = {-2, -1, 1, 2};

static void check_pixel(fixture *f, bang_vit_worker_f64 *worker, size_t at, size_t which,
                        double got)
{
    const double h = 1e-3, was = f->pixels[at];
    size_t image = at / vit_pixels(&f->config), classes = f->config.classes;
    double side[4];
    for (int i = 0; i < 4; i++) {
        f->pixels[at] = was + h * steps[i];
        bang_vit_forward_f64(worker, f->weights, f->pixels, IMAGES);
        side[i] = worker->logits[image * classes + asked(f, which, image)];
    }
    f->pixels[at] = was;
    double want = slope_of(side, h);
    if (!(fabs(got - want) <= 1e-8 * fmax(1, fabs(want))))
        fail_msg("%s: pixel %zu: %.12g, not %.12g", f->name, at, got, want);
}

/* Every pixel of every kind of model, for workers that keep much or little. */
static void test_pixels(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t count = IMAGES * vit_pixels(&f.config);
        double *got = vit_numbers(count, 5, 1), *again = vit_numbers(count, 6, 1), size = 0;
        bang_vit_worker_f64 worker = worker_for(&f, BANG_VIT_TRAIN);
        bang_vit_worker_f64 less = worker_for(&f, BANG_VIT_RECOMPUTE);
        for (size_t which = 0; which < f.config.classes; which++) {
            bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES);
            ask(&worker, &f, which);
            bang_vit_sensitivity_f64(&worker, f.weights, IMAGES, 0, NULL, NULL, got);
            bang_vit_forward_f64(&less, f.weights, f.pixels, IMAGES);
            ask(&less, &f, which);
            bang_vit_sensitivity_f64(&less, f.weights, IMAGES, 0, NULL, NULL, again);
            assert_memory_equal(got, again, count * sizeof *got);
            for (size_t i = 0; i < count; i++) {
                check_pixel(&f, &worker, i, which, got[i]);
                size = fmax(size, fabs(got[i]));
            }
        }
        if (size < 1e-3)
            fail_msg("%s: nothing was tested", f.name);
        bang_vit_worker_release_f64(&worker);
        bang_vit_worker_release_f64(&less);
        free(got), free(again);
        stop(&f);
    }
}

/* x (tokens, width) of one image before a block. */
static void run_to(double *x, const fixture *f, const double *pixels, size_t block)
{
    const bang_vit_config *c = &f->config;
    size_t tokens = bang_vit_tokens(c);
    plain_embed(x, c, &f->map, f->weights, pixels);
    if (c->norm_first) {
        double *y = vit_numbers(tokens * c->width, 0, 0);
        memcpy(y, x, tokens * c->width * sizeof *y);
        plain_norm(x, y, f->weights + f->map.first_gain, f->weights + f->map.first_bias, tokens,
                   c->width, c->epsilon);
        free(y);
    }
    for (size_t l = 0; l < block; l++)
        plain_block(x, f->weights, &f->map.blocks[l], tokens, c->width, c->heads, c->hidden,
                    c->gelu, c->epsilon, 0);
}

/* What a block's first norm puts out, and by differences the gradient of logit which. */
static void plain_tokens(double *normed, double *gradient, const fixture *f, const double *pixels,
                         size_t which, size_t block)
{
    const bang_vit_config *c = &f->config;
    const bang_vit_block *at = &f->map.blocks[block];
    const double h = 1e-3, *w = f->weights;
    size_t tokens = bang_vit_tokens(c), count = tokens * c->width;
    double *x = vit_numbers(count, 0, 0), *y = vit_numbers(count, 0, 0),
           *moved = vit_numbers(count, 0, 0), *logits = vit_numbers(c->classes, 0, 0),
           *features = vit_numbers(bang_vit_features(c), 0, 0);
    run_to(x, f, pixels, block);
    plain_norm(normed, x, w + at->norm1_gain, w + at->norm1_bias, tokens, c->width, c->epsilon);
    for (size_t i = 0; i < count; i++) {
        double side[4];
        for (int k = 0; k < 4; k++) {
            memcpy(y, x, count * sizeof *y);
            memcpy(moved, normed, count * sizeof *y);
            moved[i] += h * steps[k];
            plain_block_from(y, moved, w, at, tokens, c->width, c->heads, c->hidden, c->gelu,
                             c->epsilon, 0);
            for (size_t l = block + 1; l < c->depth; l++)
                plain_block(y, w, &f->map.blocks[l], tokens, c->width, c->heads, c->hidden, c->gelu,
                            c->epsilon, 0);
            plain_finish(features, logits, y, c, &f->map, w);
            side[k] = logits[which];
        }
        gradient[i] = slope_of(side, h);
    }
    free(x), free(y), free(moved), free(logits), free(features);
}

static void plain_gradcam(double *out, const double *normed, const double *gradient, size_t tokens,
                          size_t width)
{
    for (size_t t = 1; t < tokens; t++) {
        double sum = 0;
        for (size_t c = 0; c < width; c++)
            for (size_t s = 1; s < tokens; s++)
                sum += normed[t * width + c] * gradient[s * width + c] / (double)(tokens - 1);
        out[t - 1] = sum > 0 ? sum : 0;
    }
}

static void check_near(const char *what, const double *got, const double *want, size_t count,
                       double tolerance)
{
    double size = 1e-6;
    for (size_t i = 0; i < count; i++)
        size = fmax(size, fabs(want[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * size))
            fail_msg("%s: %zu: %.12g, not %.12g (largest %g)", what, i, got[i], want[i], size);
}

static void add_hirescam(double *out, const double *normed, const double *gradient, size_t tokens,
                         size_t width)
{
    for (size_t t = 1; t < tokens; t++) {
        double sum = 0;
        for (size_t c = 0; c < width; c++)
            sum += normed[t * width + c] * gradient[t * width + c];
        out[t - 1] += sum > 0 ? sum : 0;
    }
}

/* Of one image: normed, gradient (depth, IMAGES, tokens, width) as the worker has them. Returns
 * how many of the maps' patches are lit. */
static size_t check_tokens(const fixture *f, size_t image, const double *normed,
                           const double *gradient, bang_saliency *maps)
{
    const bang_vit_config *c = &f->config;
    size_t tokens = bang_vit_tokens(c), count = tokens * c->width, which = asked(f, 1, image);
    size_t lit = 0;
    double *want_normed = vit_numbers(count, 7, 1), *want = vit_numbers(count, 8, 1),
           *map = vit_numbers(tokens, 9, 1), *gradcam = vit_numbers(tokens, 0, 0),
           *hirescam = vit_numbers(tokens, 0, 0);
    const double *pixels = f->pixels + image * vit_pixels(c);
    const float *floats = f->floats + image * vit_pixels(c);
    for (size_t l = 0; l < c->depth; l++) {
        size_t at = ((c->depth - 1 - l) * IMAGES + image) * count;
        plain_tokens(want_normed, want, f, pixels, which, l);
        check_near(f->name, normed + at, want_normed, count, 1e-12);
        check_near(f->name, gradient + at, want, count, 1e-8);
        add_hirescam(hirescam, want_normed, want, tokens, c->width);
    }
    plain_gradcam(gradcam, want_normed, want, tokens, c->width);
    assert_int_equal(bang_saliency_map(map, maps, BANG_GRADCAM, floats, which), which);
    check_near(f->name, map, gradcam, tokens - 1, 2e-4);
    bang_saliency_map(map, maps, BANG_HIRESCAM, floats, which);
    check_near(f->name, map, hirescam, tokens - 1, 2e-4);
    for (size_t t = 0; t + 1 < tokens; t++)
        lit += (gradcam[t] > 0) + (hirescam[t] > 0);
    free(want_normed), free(want), free(map), free(gradcam), free(hirescam);
    return lit;
}

static void test_tokens(void **state)
{
    (void)state;
    size_t lit = 0;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t count = f.config.depth * IMAGES * bang_vit_tokens(&f.config) * f.config.width;
        size_t one = count / f.config.depth;
        double *normed = vit_numbers(count, 5, 1), *gradient = vit_numbers(count, 6, 1),
               *last = vit_numbers(one, 7, 1), *last_gradient = vit_numbers(one, 8, 1);
        bang_vit_worker_f64 worker = worker_for(&f, BANG_VIT_TRAIN);
        bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES);
        ask(&worker, &f, 1);
        bang_vit_sensitivity_f64(&worker, f.weights, IMAGES, f.config.depth, normed, gradient,
                                 NULL);
        bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES); /* the last block alone */
        ask(&worker, &f, 1);
        bang_vit_sensitivity_f64(&worker, f.weights, IMAGES, 1, last, last_gradient, NULL);
        assert_memory_equal(last, normed, one * sizeof *last);
        assert_memory_equal(last_gradient, gradient, one * sizeof *last);
        bang_saliency *maps;
        bang_error err = {0};
        assert_int_equal(bang_saliency_open(&maps, &f.vit, &err), 0);
        for (size_t i = 0; i < IMAGES; i++)
            lit += check_tokens(&f, i, normed, gradient, maps);
        bang_saliency_close(maps);
        bang_vit_worker_release_f64(&worker);
        free(normed), free(gradient), free(last), free(last_gradient);
        stop(&f);
    }
    assert_true(lit > 20);
}

/* product (tokens, tokens) = (P + I)/2 times what it was, of the block that reads x. */
static void roll(double *product, const double *x, const fixture *f, const bang_vit_block *at)
{
    const bang_vit_config *c = &f->config;
    size_t tokens = bang_vit_tokens(c), width = c->width, part = width / c->heads;
    double *normed = vit_numbers(tokens * width, 0, 0),
           *qkv = vit_numbers(tokens * 3 * width, 0, 0), *p = vit_numbers(tokens * tokens, 0, 0),
           *next = vit_numbers(tokens * tokens, 0, 0);
    plain_norm(normed, x, f->weights + at->norm1_gain, f->weights + at->norm1_bias, tokens, width,
               c->epsilon);
    plain_linear(qkv, normed, f->weights + at->qkv_weight, f->weights + at->qkv_bias, tokens,
                 3 * width, width);
    for (size_t h = 0; h < c->heads; h++)
        for (size_t i = 0; i < tokens; i++) {
            double e[64], sum = 0;
            assert_true(tokens <= 64);
            for (size_t t = 0; t < tokens; t++) {
                double score = 0;
                for (size_t j = 0; j < part; j++)
                    score += qkv[i * 3 * width + h * part + j] *
                             qkv[t * 3 * width + width + h * part + j];
                sum += e[t] = exp(score / sqrt((double)part));
            }
            for (size_t t = 0; t < tokens; t++)
                p[i * tokens + t] += e[t] / sum / (double)c->heads;
        }
    for (size_t i = 0; i < tokens; i++)
        for (size_t j = 0; j < tokens; j++) {
            next[i * tokens + j] = product[i * tokens + j] / 2;
            for (size_t t = 0; t < tokens; t++)
                next[i * tokens + j] += p[i * tokens + t] * product[t * tokens + j] / 2;
        }
    memcpy(product, next, tokens * tokens * sizeof *next);
    free(normed), free(qkv), free(p), free(next);
}

static void plain_rollout(double *out, const fixture *f, const double *pixels)
{
    size_t tokens = bang_vit_tokens(&f->config);
    double *x = vit_numbers(tokens * f->config.width, 0, 0),
           *product = vit_numbers(tokens * tokens, 0, 0);
    for (size_t t = 0; t < tokens; t++)
        product[t * tokens + t] = 1;
    for (size_t l = 0; l < f->config.depth; l++) {
        run_to(x, f, pixels, l);
        roll(product, x, f, &f->map.blocks[l]);
    }
    memcpy(out, product + 1, (tokens - 1) * sizeof *out);
    free(x), free(product);
}

static void test_rollout(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t patches = bang_vit_tokens(&f.config) - 1;
        double *want = vit_numbers(patches, 1, 1), *map = vit_numbers(patches, 1, 1), sum = 0;
        bang_saliency *maps;
        bang_error err = {0};
        assert_int_equal(bang_saliency_open(&maps, &f.vit, &err), 0);
        for (size_t i = 0; i < IMAGES; i++) {
            plain_rollout(want, &f, f.pixels + i * vit_pixels(&f.config));
            bang_saliency_map(map, maps, BANG_ROLLOUT, f.floats + i * vit_pixels(&f.config),
                              SIZE_MAX);
            check_near(f.name, map, want, patches, 1e-5);
        }
        for (size_t t = 0; t < patches; t++)
            sum += map[t];
        assert_true(sum > 0 && sum < 1); /* the rest is the class token's */
        bang_saliency_close(maps);
        free(want), free(map);
        stop(&f);
    }
}

/* Shares of a map over pixels, the class that is explained, and logits as prediction has them. */
static void test_input_gradient(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t plane = f.config.image * f.config.image, classes = f.config.classes, best = 0;
        double *got = vit_numbers(IMAGES * vit_pixels(&f.config), 5, 1),
               *want = vit_numbers(plane, 0, 0), *map = vit_numbers(plane, 0, 0);
        bang_vit_worker_f64 worker = worker_for(&f, BANG_VIT_TRAIN);
        bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES);
        for (size_t c = 1; c < classes; c++)
            best = worker.logits[c] > worker.logits[best] ? c : best;
        ask(&worker, &f, best);
        bang_saliency *maps;
        bang_error err = {0};
        assert_int_equal(bang_saliency_open(&maps, &f.vit, &err), 0);
        assert_int_equal(bang_saliency_side(maps, BANG_INPUT_GRADIENT), f.config.image);
        assert_int_equal(bang_saliency_side(maps, BANG_GRADCAM), f.config.image / f.config.patch);
        assert_int_equal(bang_saliency_map(map, maps, BANG_INPUT_GRADIENT, f.floats, SIZE_MAX),
                         best);
        for (size_t c = 0; c < classes; c++)
            assert_true(fabs((double)bang_saliency_logits(maps)[c] - worker.logits[c]) < 1e-4);
        bang_vit_sensitivity_f64(&worker, f.weights, IMAGES, 0, NULL, NULL, got);
        for (size_t i = 0; i < plane; i++)
            for (size_t c = 0; c < f.config.channels; c++)
                want[i] = fmax(want[i], fabs(got[c * plane + i]));
        check_near(f.name, map, want, plane, 1e-4);
        bang_saliency_close(maps);
        bang_vit_worker_release_f64(&worker);
        free(got), free(want), free(map);
        stop(&f);
    }
}

static const char *data_path(const char *name, const char *what)
{
    static char path[1024];
    const char *source = getenv("BANG_SOURCE");
    snprintf(path, sizeof path, "%s/tests/data/vit/%s%s.safetensors", source ? source : ".", name,
             what);
    return path;
}

static const double *find(const bang_tensors *vectors, const char *name)
{
    const bang_array *array = bang_tensors_find(vectors, name);
    if (!array || array->dtype != BANG_F64)
        fail_msg("no %s of f64", name);
    return array ? array->data : NULL;
}

static void check_torch(const char *name)
{
    bang_error err = {0};
    bang_tensors vectors;
    bang_vit_model model;
    bang_vit_hints hints = BANG_VIT_HINTS_INIT;
    if (bang_safetensors_read(&vectors, data_path(name, "_vectors"), &err) < 0)
        fail_msg("%s", err.message);
    hints.heads = (size_t)strtod(bang_tensors_metadata(&vectors, "heads"), NULL);
    if (bang_vit_model_load(&model, data_path(name, ""), &hints, &err) < 0)
        fail_msg("%s", err.message);
    const bang_vit_config *c = &model.vit.config;
    const bang_array *pixels = bang_tensors_find(&vectors, "pixels");
    const int64_t *labels = bang_tensors_find(&vectors, "labels")->data;
    size_t plane = c->image * c->image, patches = bang_vit_tokens(c) - 1;
    double *map = vit_numbers(plane, 0, 0), *want = vit_numbers(plane, 0, 0);
    bang_saliency *maps;
    assert_int_equal(bang_saliency_open(&maps, &model.vit, &err), 0);
    for (size_t i = 0; i < pixels->shape[0]; i++) {
        const float *x = (const float *)pixels->data + i * 3 * plane;
        const double *gradient = find(&vectors, "pixels_gradient") + i * 3 * plane;
        bang_saliency_map(map, maps, BANG_GRADCAM, x, (size_t)labels[i]);
        check_near(name, map, find(&vectors, "gradcam") + i * patches, patches, 1e-4);
        bang_saliency_map(map, maps, BANG_HIRESCAM, x, (size_t)labels[i]);
        check_near(name, map, find(&vectors, "hirescam") + i * patches, patches, 1e-4);
        bang_saliency_map(map, maps, BANG_ROLLOUT, x, (size_t)labels[i]);
        check_near(name, map, find(&vectors, "rollout") + i * patches, patches, 1e-5);
        bang_saliency_map(map, maps, BANG_INPUT_GRADIENT, x, (size_t)labels[i]);
        for (size_t p = 0; p < plane; p++)
            want[p] = fmax(fabs(gradient[p]),
                           fmax(fabs(gradient[plane + p]), fabs(gradient[2 * plane + p])));
        check_near(name, map, want, plane, 1e-4);
    }
    bang_saliency_close(maps);
    bang_vit_model_release(&model);
    bang_tensors_release(&vectors);
    free(map), free(want);
}

static void test_torch(void **state)
{
    (void)state;
    check_torch("vit");
    check_torch("clip");
}

static void test_compare(void **state)
{
    (void)state;
    const double a[4] = {1, 2, 3, 4}, b[4] = {8, 6, 4, 2}, none[4] = {0}, left[4] = {1, 0, 1, 0},
                 right[4] = {0, 2, 0, 2};
    const uint8_t region[4] = {0, 1, 0, 1};
    assert_true(fabs(bang_saliency_correlation(a, b, 4) + 1) < 1e-12);
    assert_true(fabs(bang_saliency_correlation(a, a, 4) - 1) < 1e-12);
    assert_true(isnan(bang_saliency_correlation(a, none, 4)));
    /* {.1 .2 .3 .4} and {.4 .3 .2 .1} */
    assert_true(fabs(bang_saliency_overlap(a, b, 4) - .6) < 1e-12);
    assert_true(fabs(bang_saliency_overlap(a, a, 4) - 1) < 1e-12);
    assert_true(fabs(bang_saliency_overlap(left, right, 4)) < 1e-12);
    assert_true(isnan(bang_saliency_overlap(none, b, 4)));
    assert_true(fabs(bang_saliency_inside(a, region, 4) - .6) < 1e-12);
    assert_true(isnan(bang_saliency_inside(none, region, 4)));
    const double pixels[16] = {1, 1, 5, 5, 1, 1, 5, 5, 0, 8, 2, 2, 0, 0, 2, 6};
    double cells[4];
    bang_saliency_cells(cells, 2, pixels, 4);
    check_near("cells", cells, (const double[4]){1, 5, 2, 3}, 4, 1e-15);
}

static void grey(void *context, size_t picture, float *out)
{
    const bang_vit_config *c = context;
    for (size_t i = 0; i < c->channels * c->image * c->image; i++)
        out[i] = .1F * (float)(i % 7 + picture);
}

static void test_refuses(void **state)
{
    (void)state;
    bang_vit_config config = vit_cases[0].config;
    bang_vit vit;
    bang_error err = {0};
    config.classes = 0;
    assert_int_equal(bang_vit_init(&vit, &config, &err), 0);
    bang_vit_randomise(&vit, 3);
    for (int kind = 0; kind < BANG_SALIENCY_KINDS; kind++) {
        double *out = calloc(config.image * config.image, sizeof *out);
        assert_non_null(out);
        bang_saliency_run run = {.vit = &vit,
                                 .kind = (bang_saliency_kind)kind,
                                 .count = 1,
                                 .pixels = grey,
                                 .context = &config,
                                 .threads = 1};
        int rc = bang_saliency_maps(out, NULL, NULL, 0, &run, &err);
        if (kind == BANG_ROLLOUT) { /* it knows no class */
            assert_int_equal(rc, 0);
            assert_true(out[0] > 0);
        } else {
            assert_int_equal(rc, BANG_EUSAGE);
            assert_non_null(strstr(err.message, "no head"));
        }
        free(out);
    }
    bang_saliency_close(NULL);
    bang_vit_release(&vit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),  cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_rollout), cmocka_unit_test(test_input_gradient),
        cmocka_unit_test(test_torch),   cmocka_unit_test(test_compare),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
