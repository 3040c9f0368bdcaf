/* One of the ranks that are measured. */
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bang/base/random.h"
#include "bang/train/tune.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of a sum of count numbers: alone, or of each of several under way. */
static double time_sum(bang_ranks *ranks, float *values, size_t count, int carried, bang_error *err)
{
    enum { TURNS = 12, WAY = 10 };
    double best = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        double begin = now();
        int rc = 0, many = carried ? WAY : 1;
        for (int i = 0; rc == 0 && i < many; i++)
            rc = carried ? bang_ranks_begin_sum(ranks, values, count, err)
                         : bang_ranks_sum_f32(ranks, values, count, err);
        if (rc == 0 && carried)
            rc = bang_ranks_end_sums(ranks, err);
        if (rc < 0)
            return -1;
        best = fmin(best, (now() - begin) / many);
    }
    return best;
}

static int sums(bang_ranks *ranks, bang_error *err)
{
    enum { MOST = 16 << 20 };
    float *values = calloc(MOST, sizeof *values);
    if (!values)
        return bang_fail_memory(err);
    int rc = 0;
    for (size_t count = 1; rc == 0 && count <= MOST; count *= 8) {
        double alone = time_sum(ranks, values, count, 0, err);
        double carried = alone < 0 ? -1 : time_sum(ranks, values, count, 1, err);
        if (carried < 0)
            rc = -1;
        else if (bang_ranks_rank(ranks) == 0)
            printf("sum %zu %.9g %.9g\n", count * sizeof *values, alone, carried);
    }
    free(values);
    return rc;
}

/* The best step, between the ends of two. */
typedef struct course {
    double last, best;
} course;

static void on_event(void *context, const bang_tune_event *event)
{
    course *c = context;
    double time = now();
    if (event->step > 1)
        c->best = fmin(c->best, time - c->last);
    c->last = time;
}

static int make_pictures(bang_images *set, const bang_vit_config *config, size_t count,
                         bang_error *err)
{
    size_t shape[] = {count, config->image, config->image, config->channels};
    *set = (bang_images){.count = count, .classes = config->classes};
    set->labels = calloc(count, sizeof *set->labels);
    int rc = bang_array_init(&set->memory.inputs, BANG_U8, 4, shape, err);
    if (rc == 0 && !set->labels)
        rc = bang_fail_memory(err);
    if (rc < 0)
        return rc;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('p', 'i', 'c', 's'), 0);
    set->memory.count = count;
    set->memory.width = config->image * config->image * config->channels;
    set->memory.classes = config->classes;
    for (size_t i = 0; i < count; i++)
        set->labels[i] = (int64_t)bang_random_below(&random, config->classes);
    uint8_t *pixels = set->memory.inputs.data;
    for (size_t i = 0; i < set->memory.inputs.count; i++)
        pixels[i] = (uint8_t)bang_random_below(&random, 256);
    return 0;
}

/* The same messages when nothing else is done. */
static double time_alone(bang_ranks *ranks, uint64_t messages, uint64_t bytes, bang_error *err)
{
    enum { TURNS = 4 };
    size_t count = messages ? (size_t)(bytes / messages / sizeof(float)) : 0;
    double best = INFINITY;
    float *values = calloc(count + 1, sizeof *values);
    int rc = values ? 0 : bang_fail_memory(err);
    for (int turn = 0; rc == 0 && turn < TURNS; turn++) {
        double begin = now();
        for (uint64_t m = 0; rc == 0 && m < messages; m++)
            rc = bang_ranks_begin_sum(ranks, values, count, err);
        if (rc == 0)
            rc = bang_ranks_end_sums(ranks, err);
        best = fmin(best, now() - begin);
    }
    free(values);
    return rc < 0 ? -1 : best;
}

/* The least of what each rank has. */
static int least(double *value, bang_ranks *ranks, bang_error *err)
{
    int count = bang_ranks_count(ranks);
    double *all = calloc((size_t)count, sizeof *all);
    if (!all)
        return bang_fail_memory(err);
    all[bang_ranks_rank(ranks)] = *value;
    int rc = bang_ranks_sum_f64(ranks, all, (size_t)count, err);
    for (int r = 0; r < count; r++)
        *value = fmin(*value, all[r]);
    free(all);
    return rc;
}

static int vit(bang_ranks *ranks, const char *name, size_t batch, uint64_t steps, bang_error *err)
{
    size_t width = strcmp(name, "base") == 0 ? 768 : 192;
    bang_vit_config config = {.image = 224,
                              .patch = 16,
                              .channels = 3,
                              .width = width,
                              .depth = 12,
                              .heads = width / 64,
                              .hidden = 4 * width,
                              .classes = 1000,
                              .epsilon = 1e-6,
                              .patch_bias = 1};
    bang_tune_options o = BANG_TUNE_OPTIONS_INIT;
    bang_tune_result result = {0};
    bang_vit_model model = {0};
    bang_images images = {0};
    course c = {.best = INFINITY};
    o.train.loss = BANG_CROSS_ENTROPY;
    o.train.optimizer = BANG_ADAMW;
    o.train.clip_norm = 1;
    o.train.rate = 1e-5;
    o.train.batch = batch;
    o.train.steps = steps;
    o.train.ranks = ranks;
    o.threads = o.feed.threads = 1;
    o.event = on_event;
    o.context = &c;
    int rc = bang_vit_model_make(&model, &config, 1, err);
    if (rc == 0)
        rc = make_pictures(&images, &config, batch, err);
    if (rc == 0)
        rc = bang_tune_vit(&model, &images, NULL, &o, &result, err);
    const bang_tune_sums *s = &result.sums;
    double waited = s->waited / (double)steps, alone = 0;
    if (rc == 0 && ranks)
        alone = time_alone(ranks, s->count / steps, s->bytes / steps, err);
    if (rc == 0)
        rc = alone < 0 ? -1 : least(&waited, ranks, err);
    if (rc == 0 && bang_ranks_rank(ranks) == 0)
        printf("vit %.9g %llu %llu %.9g %.9g %zu\n", c.best, (unsigned long long)(s->count / steps),
               (unsigned long long)(s->bytes / steps), waited, alone, model.vit.map.count);
    bang_vit_model_release(&model);
    bang_images_release(&images);
    return rc;
}

int worker(int argc, char **argv)
{
    static bang_cancel cancel;
    bang_error err = {0};
    bang_ranks *ranks = NULL;
    if (bang_ranks_open(&ranks, &cancel, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    int rc;
    if (argc == 3 && strcmp(argv[2], "sums") == 0)
        rc = sums(ranks, &err);
    else if (argc == 6 && strcmp(argv[2], "vit") == 0)
        rc = vit(ranks, argv[3], (size_t)strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10),
                 &err);
    else
        rc = bang_fail(&err, BANG_EUSAGE, "what to measure is not said");
    int speaks = bang_ranks_speaks(ranks);
    rc = bang_ranks_close(ranks, rc < 0 ? &err : NULL, &err);
    if (rc < 0 && speaks)
        fprintf(stderr, "%s\n", err.message);
    return rc < 0;
}
