/* A small vision transformer and some pictures in memory to train it on. */
#ifndef BANG_TESTS_TUNE_CASES_H
#define BANG_TESTS_TUNE_CASES_H

#include "testing.h"

#include <math.h>

#include "bang/base/random.h"
#include "bang/store/png.h"
#include "bang/train/tune.h"

enum { EDGE = 8, CLASSES = 3, PICTURES = 26 };

static const bang_vit_config small_vit = {.image = EDGE,
                                          .patch = 4,
                                          .channels = 1,
                                          .width = 16,
                                          .depth = 2,
                                          .heads = 2,
                                          .hidden = 24,
                                          .classes = CLASSES,
                                          .epsilon = 1e-6,
                                          .patch_bias = 1};

static inline void make_model(bang_vit_model *model)
{
    bang_error err = {0};
    assert_int_equal(bang_vit_model_make(model, &small_vit, 5, &err), 0);
    bang_random random; /* a head that is not zero: its gradient reaches the tower at once */
    bang_random_init(&random, 1, BANG_PURPOSE('h', 'e', 'a', 'd'), 0);
    for (size_t i = model->vit.map.head_weight; i < model->vit.map.count; i++)
        model->vit.parameters[i] = (float)(0.2 * bang_random_normal(&random));
}

/* Bright spots at a place of their class, in noise. Symmetric: the same seen in a mirror. */
static inline void make_images(bang_images *set, size_t count, uint64_t seed, int symmetric)
{
    bang_error err = {0};
    *set = (bang_images){.count = count, .classes = CLASSES};
    assert_int_equal(
        bang_array_init(&set->memory.inputs, BANG_U8, 3, (size_t[]){count, EDGE, EDGE}, &err), 0);
    set->memory.count = count;
    set->memory.width = EDGE * EDGE;
    set->memory.classes = CLASSES;
    set->labels = calloc(count, sizeof *set->labels);
    assert_non_null(set->labels);
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('s', 'p', 'o', 't'), 0);
    for (size_t i = 0; i < count; i++) {
        uint8_t *pixels = (uint8_t *)set->memory.inputs.data + i * EDGE * EDGE;
        set->labels[i] = (int64_t)bang_random_below(&random, CLASSES);
        for (size_t p = 0; p < EDGE * EDGE; p++) {
            int spot = p / EDGE == 1 + 2 * (size_t)set->labels[i];
            pixels[p] = (uint8_t)(bang_random_below(&random, 170) + (spot ? 60 : 0));
        }
        for (size_t p = 0; symmetric && p < EDGE * EDGE; p++)
            if (p % EDGE >= EDGE / 2)
                pixels[p] = pixels[p / EDGE * EDGE + EDGE - 1 - p % EDGE];
    }
}

/* The same pictures as files. */
static inline void write_images(bang_images *set, const bang_images *from, const char *folder)
{
    bang_error err = {0};
    *set = (bang_images){.count = from->count, .classes = CLASSES};
    set->labels = calloc(from->count, sizeof *set->labels);
    set->paths = calloc(from->count, sizeof *set->paths);
    assert_true(set->labels && set->paths);
    for (size_t i = 0; i < from->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu.png", i);
        set->labels[i] = from->labels[i];
        set->paths[i] = strdup(in_folder(folder, name));
        const uint8_t *pixels = (const uint8_t *)from->memory.inputs.data + i * EDGE * EDGE;
        assert_int_equal(bang_png_write(set->paths[i], pixels, EDGE, EDGE, 1, &err), 0);
    }
}

static inline bang_tune_options small_options(void)
{
    bang_tune_options o = BANG_TUNE_OPTIONS_INIT;
    o.train.loss = BANG_CROSS_ENTROPY;
    o.train.optimizer = BANG_ADAMW;
    o.train.weight_decay = 0.05;
    o.train.rate = 3e-3;
    /* gradients of the keys' biases are 0 but for rounding, which Adam would blow up */
    o.train.epsilon = 1e-3;
    o.train.batch = 8;
    o.train.steps = 10;
    o.threads = 2;
    return o;
}

/* What the caller of a training hears. */
typedef struct seen {
    double loss[64], norm[64], rate[64];
    double accuracy[64], validation_loss[64];
    int evaluated[64], best[64];
    size_t images[64], count;
    size_t bad;
    char message[200];
} seen;

static inline void note_event(void *context, const bang_tune_event *event)
{
    seen *s = context;
    assert_int_equal(event->step, s->count + 1);
    s->loss[s->count] = event->loss;
    s->norm[s->count] = event->gradient_norm;
    s->rate[s->count] = event->rate;
    s->accuracy[s->count] = event->accuracy;
    s->validation_loss[s->count] = event->validation_loss;
    s->evaluated[s->count] = event->evaluated;
    s->best[s->count] = event->best;
    s->images[s->count++] = event->images;
}

static inline void note_bad(void *context, const char *message)
{
    seen *s = context;
    s->bad++;
    snprintf(s->message, sizeof s->message, "%s", message);
}

static inline void train(bang_vit_model *model, const bang_images *images,
                         const bang_images *validation, bang_tune_options options, seen *s,
                         bang_tune_result *result)
{
    bang_error err = {0};
    *s = (seen){0};
    options.event = note_event;
    options.bad = note_bad;
    options.context = s;
    if (bang_tune_vit(model, images, validation, &options, result, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(s->count, options.train.steps);
}

/* Largest distance of two models' weights. */
static inline double distance(const bang_vit_model *a, const bang_vit_model *b)
{
    double far = 0;
    for (size_t i = 0; i < a->vit.map.count; i++)
        far = fmax(far, fabs((double)a->vit.parameters[i] - (double)b->vit.parameters[i]));
    return far;
}

#endif
