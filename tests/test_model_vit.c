/* Vision transformers: parameters, the forward pass against plain loops, every
 * gradient against differences, workers of all kinds against each other. */
#include "plain_vit.h"

enum { IMAGES = 3 };

typedef struct fixture {
    const vit_case *of;
    bang_vit_config config;
    bang_vit_map map;
    double *weights, *pixels, *wanted; /* (map.count), (IMAGES, ..), (IMAGES, classes) */
} fixture;

static void start(fixture *f, int number)
{
    bang_error err = {0};
    f->of = &vit_cases[number];
    f->config = f->of->config;
    if (bang_vit_map_init(&f->map, &f->of->config, &err) < 0)
        fail_msg("%s", err.message);
    f->weights = vit_weights(&f->map, (uint64_t)number + 1);
    f->pixels = vit_numbers(IMAGES * vit_pixels(&f->config), 77, 1);
    f->wanted = vit_numbers(IMAGES * f->config.classes, 78, 1);
}

static void stop(fixture *f)
{
    bang_vit_map_release(&f->map);
    free(f->weights), free(f->pixels), free(f->wanted);
}

static bang_vit_worker_f64 worker_for(const fixture *f, size_t images, bang_vit_purpose purpose)
{
    bang_error err = {0};
    bang_vit_worker_f64 worker;
    if (bang_vit_worker_init_f64(&worker, &f->config, images, purpose, &err) < 0)
        fail_msg("%s", err.message);
    return worker;
}

/* sum_ij wanted_ij logits_ij + logits_ij^2/2 */
static double loss_of(const double *logits, const double *wanted, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += wanted[i] * logits[i] + logits[i] * logits[i] / 2;
    return sum;
}

static double *gradient_of(const fixture *f, bang_vit_purpose purpose, size_t piece, int flags)
{
    bang_vit_worker_f64 worker = worker_for(f, piece, purpose);
    size_t classes = f->config.classes;
    double *g = vit_numbers(f->map.count, 5, flags & BANG_VIT_OVERWRITE ? 1 : 0);
    for (size_t from = 0; from < IMAGES; from += piece) {
        size_t count = from + piece < IMAGES ? piece : IMAGES - from;
        bang_vit_forward_f64(&worker, f->weights, f->pixels + from * vit_pixels(&f->config), count);
        for (size_t i = 0; i < count * classes; i++)
            worker.logits_gradient[i] = f->wanted[from * classes + i] + worker.logits[i];
        bang_vit_backward_f64(&worker, f->weights, g, count,
                              from ? flags & ~BANG_VIT_OVERWRITE : flags);
    }
    bang_vit_worker_release_f64(&worker);
    return g;
}

static double worst(const double *a, const double *b, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, isfinite(a[i] - b[i]) ? fabs(a[i] - b[i]) : INFINITY);
    return most;
}

static void test_forward(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t features = IMAGES * bang_vit_features(&f.config), logits = IMAGES * f.config.classes;
        double *want_features = vit_numbers(features, 0, 0), *want = vit_numbers(logits, 0, 0);
        plain_vit(want_features, want, &f.config, &f.map, f.weights, f.pixels, IMAGES);
        for (int purpose = 0; purpose < 3; purpose++) {
            bang_vit_worker_f64 worker = worker_for(&f, IMAGES + 1, (bang_vit_purpose)purpose);
            bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES);
            double off = fmax(worst(worker.features, want_features, features),
                              worst(worker.logits, want, logits));
            if (!(off < 1e-12))
                fail_msg("%s, purpose %d: off by %g", f.of->name, purpose, off);
            worker.config.classes = 0; /* features alone */
            memset(worker.features, 0, features * sizeof *want);
            bang_vit_forward_f64(&worker, f.weights, f.pixels, IMAGES);
            assert_true(worst(worker.features, want_features, features) < 1e-12);
            bang_vit_worker_release_f64(&worker);
        }
        free(want_features), free(want);
        stop(&f);
    }
}

/* (L(w+h) - L(w-h))/2h, twice, so that its error goes as h^4. */
static double slope(fixture *f, bang_vit_worker_f64 *worker, double *at)
{
    const double h = 1e-3, was = *at;
    double side[4];
    for (int i = 0; i < 4; i++) {
        *at = was + h * (double[]){-2, -1, 1, 2}[i];
        bang_vit_forward_f64(worker, f->weights, f->pixels, IMAGES);
        side[i] = loss_of(worker->logits, f->wanted, IMAGES * f->config.classes);
    }
    *at = was;
    return (side[0] - side[3] + 8 * (side[2] - side[1])) / (12 * h);
}

static void test_gradient(void **state)
{
    (void)state;
    enum { MOST = 12 }; /* numbers looked at per tensor */
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        double *g = gradient_of(&f, BANG_VIT_TRAIN, IMAGES, 0);
        bang_vit_worker_f64 worker = worker_for(&f, IMAGES, BANG_VIT_PREDICT);
        for (size_t t = 0; t < f.map.tensor_count; t++) {
            const bang_vit_tensor *tensor = &f.map.tensors[t];
            size_t step = tensor->count / MOST + 1, seen = 0;
            double size = 0;
            for (size_t i = t % step; i < tensor->count; i += step, seen++) {
                size_t at = tensor->offset + i;
                double want = slope(&f, &worker, &f.weights[at]);
                size = fmax(size, fabs(want));
                if (!(fabs(want - g[at]) <= 1e-8 * fmax(1, fabs(want))))
                    fail_msg("%s: %s[%zu]: %.12g, not %.12g", f.of->name, tensor->name, i, g[at],
                             want);
            }
            if (seen == 0 || size < 1e-9)
                fail_msg("%s: %s: nothing was tested", f.of->name, tensor->name);
        }
        bang_vit_worker_release_f64(&worker);
        free(g);
        stop(&f);
    }
}

/* In pieces, with less kept, overwriting: the same but for rounding. */
static void test_ways(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        double *want = gradient_of(&f, BANG_VIT_TRAIN, IMAGES, 0);
        for (int way = 0; way < 12; way++) {
            bang_vit_purpose purpose = way % 2 ? BANG_VIT_TRAIN : BANG_VIT_RECOMPUTE;
            double *g =
                gradient_of(&f, purpose, 1 + (size_t)way / 2 % 3, way / 6 ? BANG_VIT_OVERWRITE : 0);
            double off = worst(g, want, f.map.count);
            if (!(off < 1e-12 * f.map.count))
                fail_msg("%s, way %d: off by %g", f.of->name, way, off);
            free(g);
        }
        free(want);
        stop(&f);
    }
}

static void test_only_head(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t tower = f.map.head_weight, head = f.map.count - tower;
        double *want = gradient_of(&f, BANG_VIT_TRAIN, IMAGES, 0);
        double *noise = vit_numbers(f.map.count, 5, 1), *zero = vit_numbers(f.map.count, 5, 0);
        for (int way = 0; way < 4; way++) {
            int flags = BANG_VIT_ONLY_HEAD | (way % 2 ? BANG_VIT_OVERWRITE : 0);
            double *g = gradient_of(&f, way / 2 ? BANG_VIT_PREDICT : BANG_VIT_TRAIN, 2, flags);
            assert_true(worst(g + tower, want + tower, head) < 1e-12);
            assert_memory_equal(g, way % 2 ? noise : zero, tower * sizeof *g);
            free(g);
        }
        free(want), free(noise), free(zero);
        stop(&f);
    }
}

/* Nothing to go back from: nothing is added, and overwriting gives zero. */
static void test_no_images(void **state)
{
    (void)state;
    fixture f;
    start(&f, 0);
    bang_vit_worker_f64 worker = worker_for(&f, 0, BANG_VIT_TRAIN);
    double *g = vit_numbers(f.map.count, 5, 1), *same = vit_numbers(f.map.count, 5, 1);
    bang_vit_forward_f64(&worker, f.weights, f.pixels, 0);
    bang_vit_backward_f64(&worker, f.weights, g, 0, 0);
    assert_memory_equal(g, same, f.map.count * sizeof *g);
    bang_vit_backward_f64(&worker, f.weights, g, 0, BANG_VIT_OVERWRITE);
    for (size_t i = 0; i < f.map.count; i++)
        assert_true(g[i] == 0);
    bang_vit_worker_release_f64(&worker);
    free(g), free(same);
    stop(&f);
}

static void test_float(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        bang_error err = {0};
        start(&f, k);
        size_t logits = IMAGES * f.config.classes;
        double *g = vit_numbers(f.map.count, 0, 0), largest = 1;
        bang_vit_worker_f64 exact = worker_for(&f, IMAGES, BANG_VIT_TRAIN);
        bang_vit_worker_f32 worker;
        float *weights = vit_floats(f.weights, f.map.count), *small = vit_floats(g, f.map.count);
        float *pixels = vit_floats(f.pixels, IMAGES * vit_pixels(&f.config));
        assert_int_equal(bang_vit_worker_init_f32(&worker, &f.config, IMAGES, BANG_VIT_TRAIN, &err),
                         0);
        for (size_t i = 0; i < f.map.count; i++)
            f.weights[i] = (double)weights[i];
        for (size_t i = 0; i < IMAGES * vit_pixels(&f.config); i++)
            f.pixels[i] = (double)pixels[i];
        bang_vit_forward_f64(&exact, f.weights, f.pixels, IMAGES);
        bang_vit_forward_f32(&worker, weights, pixels, IMAGES);
        for (size_t i = 0; i < logits; i++) {
            assert_true(fabs(exact.logits[i] - (double)worker.logits[i]) < 2e-5);
            exact.logits_gradient[i] = exact.logits[i] + f.wanted[i];
            worker.logits_gradient[i] = (float)exact.logits_gradient[i];
        }
        bang_vit_backward_f64(&exact, f.weights, g, IMAGES, 0);
        bang_vit_backward_f32(&worker, weights, small, IMAGES, 0);
        for (size_t i = 0; i < f.map.count; i++)
            largest = fmax(largest, fabs(g[i]));
        for (size_t i = 0; i < f.map.count; i++)
            if (!(fabs(g[i] - (double)small[i]) < 1e-5 * largest))
                fail_msg("%s: %zu: %g, not %g", f.of->name, i, (double)small[i], g[i]);
        bang_vit_worker_release_f32(&worker);
        bang_vit_worker_release_f64(&exact);
        free(g), free(weights), free(small), free(pixels);
        stop(&f);
    }
}

/* What an image gives does not depend on its neighbours, bit for bit. */
static void test_alone(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        bang_error err = {0};
        start(&f, k);
        size_t classes = f.config.classes, size = vit_pixels(&f.config);
        float *weights = vit_floats(f.weights, f.map.count);
        float *pixels = vit_floats(f.pixels, IMAGES * size);
        bang_vit_worker_f32 all, one;
        assert_int_equal(bang_vit_worker_init_f32(&all, &f.config, IMAGES, BANG_VIT_TRAIN, &err),
                         0);
        assert_int_equal(bang_vit_worker_init_f32(&one, &f.config, 1, BANG_VIT_PREDICT, &err), 0);
        bang_vit_forward_f32(&all, weights, pixels, IMAGES);
        for (size_t i = 0; i < IMAGES; i++) {
            bang_vit_forward_f32(&one, weights, pixels + i * size, 1);
            assert_memory_equal(one.logits, all.logits + i * classes, classes * sizeof(float));
        }
        bang_vit_worker_release_f32(&all);
        bang_vit_worker_release_f32(&one);
        free(weights), free(pixels);
        stop(&f);
    }
}

/* The tensors lie one after the other, with the shapes that were asked for. */
static void test_map(void **state)
{
    (void)state;
    for (int k = 0; k < VIT_CASES; k++) {
        fixture f;
        start(&f, k);
        size_t at = 0;
        for (size_t t = 0; t < f.map.tensor_count; t++) {
            const bang_vit_tensor *tensor = &f.map.tensors[t];
            size_t count = 1;
            for (int i = 0; i < tensor->rank; i++)
                count *= tensor->shape[i];
            assert_int_equal(tensor->offset, at);
            assert_int_equal(tensor->count, count);
            at += count;
            for (size_t other = 0; other < t; other++)
                assert_string_not_equal(tensor->name, f.map.tensors[other].name);
        }
        assert_int_equal(at, f.map.count);
        assert_int_equal(f.map.head_bias + f.config.classes, f.map.count);
        stop(&f);
    }
    /* ViT-B/16 of CLIP: 86,192,640 parameters, as everybody counts them */
    bang_vit_config clip = {.image = 224,
                            .patch = 16,
                            .channels = 3,
                            .width = 768,
                            .depth = 12,
                            .heads = 12,
                            .hidden = 3072,
                            .projection = 512,
                            .epsilon = 1e-5,
                            .norm_first = 1};
    bang_vit_map map;
    bang_error err = {0};
    assert_int_equal(bang_vit_map_init(&map, &clip, &err), 0);
    assert_int_equal(map.count, 86192640);
    assert_int_equal(bang_vit_tokens(&clip), 197);
    assert_int_equal(map.head_weight, SIZE_MAX);
    assert_int_equal(map.patch_bias, SIZE_MAX);
    bang_vit_map_release(&map);
}

static void test_check(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit_map map;
    bang_vit_config config = vit_cases[0].config;
    config.patch = 3;
    config.heads = 5;
    config.channels = 2;
    config.depth = 0;
    config.epsilon = NAN;
    assert_int_equal(bang_vit_check(&config, &err), BANG_EUSAGE);
    for (int i = 0; i < 5; i++)
        assert_non_null(strstr(
            err.message, (const char *[]){"patch", "heads", "channels", "depth", "epsilon"}[i]));
    assert_int_equal(bang_vit_map_init(&map, &config, &err), BANG_EUSAGE);
    config = vit_cases[0].config;
    config.patch = config.image = 0;
    assert_int_equal(bang_vit_check(&config, &err), BANG_EUSAGE);
    config = vit_cases[0].config;
    config.width = SIZE_MAX / 2;
    assert_int_equal(bang_vit_check(&config, &err), BANG_EUSAGE);
    /* every size is possible, all of them together are not */
    config = vit_cases[0].config;
    config.width = config.hidden = 1 << 20;
    config.depth = 10000;
    config.heads = 1;
    assert_int_equal(bang_vit_check(&config, &err), 0);
    bang_vit vit;
    assert_true(bang_vit_init(&vit, &config, &err) < 0);
    config = vit_cases[0].config;
    bang_vit_worker_f32 worker;
    assert_int_equal(bang_vit_worker_init_f32(&worker, &config, SIZE_MAX / 8, BANG_VIT_TRAIN, &err),
                     BANG_EMEMORY);
}

static double variance_of(const bang_vit *vit, const char *name, double *mean)
{
    for (size_t t = 0; t < vit->map.tensor_count; t++) {
        const bang_vit_tensor *tensor = &vit->map.tensors[t];
        if (strcmp(tensor->name, name) != 0)
            continue;
        double sum = 0, square = 0;
        for (size_t i = 0; i < tensor->count; i++) {
            double x = (double)vit->parameters[tensor->offset + i];
            sum += x / (double)tensor->count;
            square += x * x / (double)tensor->count;
        }
        *mean = sum;
        return square - sum * sum;
    }
    fail_msg("no %s", name);
    return 0;
}

static void test_randomise(void **state)
{
    (void)state;
    bang_vit_config config = {.image = 32,
                              .patch = 8,
                              .channels = 3,
                              .width = 64,
                              .depth = 2,
                              .heads = 4,
                              .hidden = 256,
                              .classes = 10,
                              .epsilon = 1e-6,
                              .patch_bias = 1,
                              .norm_first = 1};
    bang_error err = {0};
    bang_vit vit, same;
    double mean = 0;
    assert_int_equal(bang_vit_init(&vit, &config, &err), 0);
    assert_int_equal(bang_vit_init(&same, &config, &err), 0);
    for (size_t i = 0; i < vit.map.count; i++)
        assert_true(vit.parameters[i] == 0);
    bang_vit_randomise(&vit, 3);
    bang_vit_randomise(&same, 3);
    assert_memory_equal(vit.parameters, same.parameters, vit.map.count * sizeof(float));
    bang_vit_randomise(&same, 4);
    assert_true(memcmp(vit.parameters, same.parameters, vit.map.count * sizeof(float)) != 0);
    /* six standard errors of the variance of a uniform distribution, at least */
    const struct {
        const char *name;
        double variance;
    } wide[] = {{"patch.weight", 2. / (192 + 64)},
                {"blocks.0.qkv.weight", 2. / (64 + 192)},
                {"blocks.1.proj.weight", 2. / (64 + 64)},
                {"blocks.0.fc1.weight", 2. / (64 + 256)},
                {"blocks.1.fc2.weight", 2. / (64 + 256)}};
    for (int i = 0; i < 5; i++) {
        double variance = variance_of(&vit, wide[i].name, &mean);
        assert_true(fabs(variance / wide[i].variance - 1) < .09);
        assert_true(fabs(mean) < 6 * sqrt(wide[i].variance / 4096));
    }
    assert_true(fabs(variance_of(&vit, "positions", &mean) / 4e-4 - 1) < .3);
    assert_true(variance_of(&vit, "class", &mean) > 1e-4);
    assert_true(variance_of(&vit, "norm_first.gain", &mean) == 0 && mean == 1);
    assert_true(variance_of(&vit, "blocks.1.norm2.gain", &mean) == 0 && mean == 1);
    assert_true(variance_of(&vit, "blocks.1.qkv.bias", &mean) == 0 && mean == 0);
    assert_true(variance_of(&vit, "head.weight", &mean) == 0 && mean == 0);
    bang_vit_release(&vit);
    bang_vit_release(&same);
}

static void test_new_head(void **state)
{
    (void)state;
    bang_error err = {0};
    bang_vit vit;
    assert_int_equal(bang_vit_init(&vit, &vit_cases[1].config, &err), 0);
    size_t tower = vit.map.head_weight;
    for (size_t i = 0; i < vit.map.count; i++)
        vit.parameters[i] = (float)(i + 1);
    for (int round = 0; round < 3; round++) {
        size_t classes = (size_t[]){7, 0, 2}[round];
        assert_int_equal(bang_vit_new_head(&vit, classes, &err), 0);
        assert_int_equal(vit.config.classes, classes);
        assert_int_equal(vit.map.count, tower + classes * 6);
        for (size_t i = 0; i < vit.map.count; i++)
            assert_true(vit.parameters[i] == (i < tower ? (float)(i + 1) : 0));
    }
    assert_true(bang_vit_new_head(&vit, SIZE_MAX, &err) < 0);
    assert_int_equal(vit.config.classes, 2);
    bang_vit_release(&vit);
}

/* What the header promises of ViT-B/16: 80 MB per image, and less if less is kept. */
static void test_memory(void **state)
{
    (void)state;
    const bang_vit_config config = {.image = 224,
                                    .patch = 16,
                                    .channels = 3,
                                    .width = 768,
                                    .depth = 12,
                                    .heads = 12,
                                    .hidden = 3072,
                                    .classes = 1000,
                                    .epsilon = 1e-6,
                                    .patch_bias = 1};
    const double most[] = {6e6, 80e6, 25e6};
    for (int purpose = 0; purpose < 3; purpose++) {
        size_t bytes[2];
        for (size_t images = 1; images <= 2; images++) {
            bang_error err = {0};
            bang_vit_worker_f32 worker;
            assert_int_equal(
                bang_vit_worker_init_f32(&worker, &config, images, (bang_vit_purpose)purpose, &err),
                0);
            bytes[images - 1] = worker.bytes;
            bang_vit_worker_release_f32(&worker);
        }
        double more = (double)(bytes[1] - bytes[0]);
        if (more > most[purpose] || (double)bytes[0] < more)
            fail_msg("purpose %d: %zu, then %g bytes per image", purpose, bytes[0], more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),   cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_ways),      cmocka_unit_test(test_only_head),
        cmocka_unit_test(test_no_images), cmocka_unit_test(test_float),
        cmocka_unit_test(test_alone),     cmocka_unit_test(test_map),
        cmocka_unit_test(test_check),     cmocka_unit_test(test_randomise),
        cmocka_unit_test(test_new_head),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
