/* What training costs beside PyTorch, in one run: both work in turns, and the
 * best of several turns counts. PyTorch (Debian's python3-torch with OpenBLAS)
 * runs in processes of its own, one thread each; tests/bench/train_torch.py is
 * its side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bang/base/random.h"
#include "bang/data/color.h"
#include "bang/train/train.h"
#include "peer.h"

enum { TURNS = 5, SHIFTS = 11, MODELS = 4 };

static double clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double wall(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static double core(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static int report(int rc, const bang_error *err)
{
    if (rc < 0)
        fprintf(stderr, "%s\n", err->message);
    return rc;
}

/* ---- PyTorch in another process ---- */

static int start_worker(peer *w)
{
    const char *source = getenv("BANG_SOURCE");
    char script[1024];
    snprintf(script, sizeof script, "%s/tests/bench/train_torch.py", source ? source : ".");
    char python[] = "/usr/bin/python3", *const line[] = {python, script, NULL};
    return start_peer(w, line);
}

static void ask_worker(peer *w, int steps)
{
    fprintf(w->in, "%d\n", steps);
    fflush(w->in);
}

/* CPU seconds, or infinity. */
static double hear_worker(peer *w, double *seconds)
{
    double cpu;
    return fscanf(w->out, "%lf %lf", &cpu, seconds) == 2 ? cpu : INFINITY;
}

static void stop_worker(peer *w)
{
    fclose(w->in);
    fclose(w->out);
    waitpid(w->process, NULL, 0);
}

/* ---- Data ---- */

typedef struct set {
    bang_array images; /* released once rows no longer borrow it */
    int64_t *labels;
    bang_rows rows;
} set;

/* Digits that nobody wrote: strokes that fill 19 % of the pixels. */
static int synthetic_digits(bang_mnist *out, bang_error *err)
{
    enum { COUNT = 60000, SIDE = 28, PIXELS = SIDE * SIDE, FILLED = PIXELS * 19 / 100 };
    *out = (bang_mnist){0};
    int rc = bang_array_init(&out->train_images, BANG_U8, 3, (size_t[]){COUNT, SIDE, SIDE}, err);
    if (rc == 0)
        rc = bang_array_init(&out->train_labels, BANG_U8, 1, (size_t[]){COUNT}, err);
    if (rc < 0)
        return rc;
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('s', 'y', 'n', 't'), 0);
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t *image = (uint8_t *)out->train_images.data + i * PIXELS;
        ((uint8_t *)out->train_labels.data)[i] = (uint8_t)(i % 10);
        int y = 14, x = 14; /* a walk that stays four pixels from the edge */
        for (int left = FILLED; left > 0;) {
            uint64_t way = bang_random_below(&random, 4);
            y += way == 0 ? 1 : way == 1 ? -1 : 0;
            x += way == 2 ? 1 : way == 3 ? -1 : 0;
            y = y < 4 ? 4 : y > 23 ? 23 : y;
            x = x < 4 ? 4 : x > 23 ? 23 : x;
            left -= image[y * SIDE + x] == 0;
            image[y * SIDE + x] = (uint8_t)(1 + bang_random_below(&random, 255));
        }
    }
    return 0;
}

static int make_set(set *out, const bang_mnist *mnist, double shift, int test, size_t count,
                    bang_error *err)
{
    bang_color_options options = BANG_COLOR_OPTIONS_INIT;
    bang_color_set colors;
    options.shift = shift;
    options.test = test;
    options.count = count;
    *out = (set){0};
    int rc = bang_color_make(&colors, mnist, &options, err);
    if (rc < 0)
        return rc;
    size_t shape[4] = {colors.count, BANG_COLOR_SIDE, BANG_COLOR_SIDE, 3};
    rc = bang_array_init(&out->images, BANG_U8, 4, shape, err);
    out->labels = calloc(colors.count, sizeof *out->labels);
    if (rc == 0 && !out->labels)
        rc = bang_fail_memory(err);
    if (rc == 0) {
        bang_color_render(out->images.data, &colors, 0, colors.count);
        for (size_t i = 0; i < colors.count; i++)
            out->labels[i] = colors.labels[i];
    }
    bang_color_release(&colors);
    return rc;
}

static void drop_set(set *s)
{
    bang_rows_release(&s->rows);
    bang_array_release(&s->images);
    free(s->labels);
}

/* ---- Measurements ---- */

/* A new network and some steps; CPU seconds of the steps. */
static double train(const set *s, uint64_t steps, uint64_t seed)
{
    bang_error err = {0};
    bang_mlp mlp;
    bang_train_options options = BANG_TRAIN_OPTIONS_INIT;
    options.steps = steps;
    options.seed = seed;
    size_t width[] = {s->rows.columns->group_count, 64, 64, 10};
    if (report(bang_mlp_init(&mlp, 3, width, BANG_RELU, &err), &err) < 0)
        return INFINITY;
    bang_mlp_randomise(&mlp, seed, 0);
    double begin = core();
    int rc = report(bang_train_mlp(&mlp, &s->rows, s->labels, &options, NULL, &err), &err);
    double seconds = core() - begin;
    bang_mlp_release(&mlp);
    return rc < 0 ? INFINITY : seconds;
}

typedef struct models {
    const set *data;
    uint64_t steps;
} models;

static int train_model(void *context, size_t index, int thread, bang_error *err)
{
    (void)thread;
    const models *m = context;
    if (isinf(train(m->data, m->steps, index + 1)))
        return bang_fail(err, BANG_EUSAGE, "training failed");
    return 0;
}

static void verdict(const char *what, double ours, double theirs, double goal, double wish)
{
    printf("%-44s ours %8.0f/s   PyTorch %6.0f/s   %5.1f times   goal %g", what, ours, theirs,
           ours / theirs, goal);
    if (wish > goal)
        printf(" (better %g)", wish);
    printf(": %s\n", ours / theirs >= goal ? "met" : "MISSED");
}

/* Steps per core-second: dense and reduced beside PyTorch, in turns. */
static void compare_one(const set *dense, const set *reduced, peer *torch)
{
    enum { DENSE = 150, REDUCED = 3000, TORCH = 60 };
    double best[3] = {INFINITY, INFINITY, INFINITY}, seconds;
    for (int turn = 0; turn < TURNS; turn++) {
        best[0] = fmin(best[0], train(dense, DENSE, 1) / DENSE);
        best[1] = fmin(best[1], train(reduced, REDUCED, 1) / REDUCED);
        if (!torch)
            continue;
        ask_worker(torch, TORCH);
        best[2] = fmin(best[2], hear_worker(torch, &seconds) / TORCH);
    }
    if (torch) {
        verdict("one model, dense, steps per core-second", 1 / best[0], 1 / best[2], 1.9, 0);
        verdict("one model, reduced, steps per core-second", 1 / best[1], 1 / best[2], 20, 30);
    } else {
        printf("one model, steps per core-second: dense %.0f, reduced %.0f\n", 1 / best[0],
               1 / best[1]);
    }
}

/* Steps per second of wall time: two models at a time beside one process of
 * PyTorch with one thread, and beside two. */
static void compare_many(const set *reduced, peer *torch, double prepare)
{
    enum { STEPS = 3000, TORCH = 60, JOB_MODELS = 720, JOB_STEPS = 5000, JOB_SEEDS = 20 };
    bang_error err = {0};
    models m = {reduced, STEPS};
    double ours = INFINITY, theirs = INFINITY, alone = INFINITY, seconds[2];
    for (int turn = 0; turn < TURNS; turn++) {
        double begin = wall();
        if (report(bang_parallel_for(MODELS, 2, train_model, &m, NULL, &err), &err) < 0)
            return;
        ours = fmin(ours, (wall() - begin) / (MODELS * STEPS));
        if (!torch)
            continue;
        begin = wall();
        for (int i = 0; i < 2; i++)
            ask_worker(&torch[i], TORCH);
        for (int i = 0; i < 2; i++)
            hear_worker(&torch[i], &seconds[i]);
        theirs = fmin(theirs, (wall() - begin) / (2 * TORCH));
        begin = wall();
        ask_worker(&torch[0], TORCH);
        hear_worker(&torch[0], &seconds[0]);
        alone = fmin(alone, (wall() - begin) / TORCH);
    }
    if (torch) {
        verdict("many models on two cores, beside one PyTorch", 1 / ours, 1 / alone, 40, 60);
        verdict("many models on two cores, beside two of them", 1 / ours, 1 / theirs, 20, 30);
    }
    double job = ours * JOB_MODELS * JOB_STEPS + JOB_SEEDS * prepare;
    printf("%d models of %d steps on two cores, data for %d seeds included: %.1f minutes",
           JOB_MODELS, JOB_STEPS, JOB_SEEDS, job / 60);
    if (torch)
        printf(", PyTorch %.0f minutes without data", theirs * JOB_MODELS * JOB_STEPS / 60);
    printf("\n");
}

/* One model's outputs for a test set under eleven shifts. */
static int evaluate(const bang_mnist *mnist)
{
    bang_error err = {0};
    static set sets[SHIFTS];
    const bang_rows *rows[SHIFTS];
    float *logits[SHIFTS] = {0};
    bang_columns columns;
    bang_mlp mlp = {0};
    int rc = bang_columns_init(&columns, BANG_COLOR_PIXELS, &err), shared = 1;
    for (size_t s = 0; rc == 0 && s < SHIFTS; s++) {
        rc = make_set(&sets[s], mnist, 0.1 * (double)s, 1, 0, &err);
        if (rc == 0)
            rc = bang_columns_refine(&columns, &sets[s].images, &err);
    }
    for (size_t s = 0; rc == 0 && s < SHIFTS; s++) {
        rc = bang_rows_init(&sets[s].rows, &columns, &sets[s].images, &err);
        rows[s] = &sets[s].rows;
        logits[s] = calloc(rows[s]->count * 10, sizeof **logits);
        shared = shared && bang_rows_same_numbers(rows[0], rows[s]);
    }
    if (rc == 0)
        rc = bang_mlp_init(&mlp, 3, (size_t[]){columns.group_count, 64, 64, 10}, BANG_RELU, &err);
    double best = INFINITY;
    for (int turn = 0; rc == 0 && turn < TURNS; turn++) {
        bang_mlp_randomise(&mlp, 1, 0);
        double begin = core();
        rc = bang_mlp_predict_sets(logits, &mlp, rows, SHIFTS, &err);
        best = fmin(best, core() - begin);
    }
    if (report(rc, &err) == 0)
        printf("%-44s %.3f core seconds, numbers %s   goal 0.1: %s\n",
               "10,000 images under 11 shifts, one model", best, shared ? "shared" : "not shared",
               best <= 0.1 ? "met" : "MISSED");
    for (size_t s = 0; s < SHIFTS; s++) {
        drop_set(&sets[s]);
        free(logits[s]);
    }
    bang_mlp_release(&mlp);
    bang_columns_release(&columns);
    return rc;
}

/* Everything that compares with PyTorch. */
static int compare(const bang_mnist *mnist, peer *torch)
{
    bang_error err = {0};
    bang_columns all, groups;
    set dense = {0}, reduced = {0};
    int rc = bang_columns_init_all(&all, BANG_COLOR_PIXELS, &err);
    if (rc == 0)
        rc = bang_columns_init(&groups, BANG_COLOR_PIXELS, &err);
    if (rc == 0)
        rc = make_set(&dense, mnist, 0, 0, 5000, &err);
    if (rc == 0)
        rc = bang_rows_init_dense(&dense.rows, &all, &dense.images, &err);
    double begin = wall();
    if (rc == 0)
        rc = make_set(&reduced, mnist, 0, 0, 0, &err);
    /* as for testing under a shift: patches are told apart */
    set shifted = {0};
    if (rc == 0)
        rc = make_set(&shifted, mnist, 0.5, 1, 1000, &err);
    if (rc == 0)
        rc = bang_columns_refine(&groups, &shifted.images, &err);
    if (rc == 0)
        rc = bang_columns_refine(&groups, &reduced.images, &err);
    if (rc == 0)
        rc = bang_rows_init(&reduced.rows, &groups, &reduced.images, &err);
    drop_set(&shifted);
    double prepare = wall() - begin;
    if (report(rc, &err) == 0) {
        printf("5292 columns become %zu: %zu blocks of codes and %.1f numbers a row; data ready "
               "after %.1f s\n",
               groups.group_count, reduced.rows.block_count,
               (double)reduced.rows.start[reduced.rows.count] / (double)reduced.rows.count,
               prepare);
        compare_one(&dense, &reduced, torch);
        compare_many(&reduced, torch, prepare);
    }
    drop_set(&dense);
    drop_set(&reduced);
    bang_columns_release(&all);
    bang_columns_release(&groups);
    return rc;
}

int main(void)
{
    bang_error err = {0};
    bang_mnist mnist;
    peer torch[2] = {{0}};
    int present = bang_mnist_present();
    if (report(present ? bang_mnist_open(&mnist, &err) : synthetic_digits(&mnist, &err), &err) < 0)
        return 1;
    printf("digits: %s\n", present ? "MNIST" : "synthetic (`bang data get mnist` brings MNIST)");
    int there = start_worker(&torch[0]) == 0 && start_worker(&torch[1]) == 0;
    if (there)
        printf("PyTorch %s, one thread\n", torch[0].about);
    else
        printf("PyTorch is not here: install python3-torch, python3-numpy, libopenblas0-pthread\n");
    if (there && strstr(torch[0].about, "reference"))
        printf("PyTorch without OpenBLAS is ten times slower: the comparison is not fair\n");
    int rc = compare(&mnist, there ? torch : NULL);
    if (rc == 0)
        rc = evaluate(&mnist);
    for (int i = 0; there && i < 2; i++)
        stop_worker(&torch[i]);
    bang_mnist_release(&mnist);
    return rc < 0;
}
