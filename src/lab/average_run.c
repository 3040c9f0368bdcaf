/* Units of the experiments on averaging: what is missing runs in waves, a seed a thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bang/base/json.h"
#include "lab/average.h"

typedef struct wave {
    const average_runner *runner;
    const color_plan *plan;
    const bang_mnist *mnist;
    const bang_lab_options *options;
    average_scratch *scratch; /* (threads) */
    size_t *unit;             /* (count) */
    size_t count;
    json_t **result; /* (seeds) */
    atomic_size_t done;
} wave;

static void unit_key(char *out, size_t size, const average_runner *runner, const color_plan *plan,
                     size_t i)
{
    snprintf(out, size, "%s/seed-%zux%zu", runner->experiment, i + 1, plan->models);
}

/* What every record of the experiment depends on. */
static json_t *runner_options(const average_runner *runner, const color_plan *plan,
                              const char *digest)
{
    json_t *out = average_options(plan, runner->hidden, digest);
    if (runner->measure)
        json_object_set_new(out, "measure", json_string(runner->measure));
    return out;
}

static json_t *unit_options(const average_runner *runner, const color_plan *plan, size_t i,
                            const char *digest)
{
    json_t *out = runner_options(runner, plan, digest);
    json_object_set_new(out, "unit", json_integer((json_int_t)i));
    json_object_set_new(out, "seed", json_integer((json_int_t)color_data_seed(plan, i)));
    return out;
}

static json_t *summary_options(const average_runner *runner, const color_plan *plan,
                               const char *digest)
{
    json_t *out = runner_options(runner, plan, digest);
    json_object_set_new(out, "seeds", json_integer((json_int_t)plan->seeds));
    json_object_set_new(out, "seed", json_integer((json_int_t)plan->seed));
    return out;
}

static int run_unit(void *context, size_t index, int worker, bang_error *err)
{
    wave *w = context;
    size_t i = w->unit[index];
    json_t *result = json_object();
    int rc = result ? w->runner->unit(result, w->plan, i, w->mnist, &w->scratch[worker],
                                      w->options->cancel, err)
                    : bang_fail_memory(err);
    if (rc == 0)
        w->result[i] = result;
    else
        json_decref(result);
    bang_progress_step(w->options->progress, atomic_fetch_add(&w->done, 1) + 1, w->plan->seeds);
    return rc;
}

/* Records stand in the order of the seeds. Of a wave that was cut short, those before the first
 * that is missing are kept. */
static int store_wave(const wave *w, bang_error *err)
{
    for (size_t k = 0; k < w->count; k++) {
        size_t i = w->unit[k];
        char key[96];
        unit_key(key, sizeof key, w->runner, w->plan, i);
        if (!w->result[i])
            break;
        int rc = lab_store(
            (lab_measurement){.experiment = w->runner->experiment,
                              .section = w->runner->section,
                              .key = key,
                              .options = unit_options(w->runner, w->plan, i, w->mnist->digest)},
            w->result[i], NULL, w->options, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int run_missing(wave *w, bang_error *err)
{
    int threads = w->options->threads > 0 ? w->options->threads : bang_threads_available(), rc = 0;
    size_t most = 2 * (size_t)threads;
    for (size_t i = 0; i < w->plan->seeds; i++)
        w->done += w->result[i] != NULL;
    bang_progress_step(w->options->progress, w->done, w->plan->seeds);
    w->scratch = calloc((size_t)threads, sizeof *w->scratch);
    w->unit = calloc(w->plan->seeds, sizeof *w->unit);
    if (!w->scratch || !w->unit)
        rc = bang_fail_memory(err);
    for (size_t next = 0; rc == 0 && next < w->plan->seeds;) {
        for (w->count = 0; next < w->plan->seeds && w->count < most; next++)
            if (!w->result[next])
                w->unit[w->count++] = next;
        rc = bang_parallel_for(w->count, threads, run_unit, w, w->options->cancel, err);
        bang_error second = {0};
        int stored = store_wave(w, rc < 0 ? &second : err);
        rc = rc < 0 ? rc : stored;
    }
    for (int t = 0; w->scratch && t < threads; t++) {
        bang_array_release(&w->scratch[t].train);
        bang_array_release(&w->scratch[t].test);
    }
    free(w->scratch);
    free(w->unit);
    return rc;
}

/* The results of all units, an array; a record made with other options is an error before any
 * work. */
static int all_units(json_t **out, const average_runner *runner, const color_plan *plan,
                     const bang_mnist *mnist, const bang_lab_options *options, bang_error *err)
{
    wave w = {.runner = runner, .plan = plan, .mnist = mnist, .options = options};
    json_t *settings = summary_options(runner, plan, mnist->digest), *earlier = NULL;
    w.result = calloc(plan->seeds, sizeof(json_t *));
    int rc = w.result && settings ? lab_recall(&earlier, runner->experiment, settings, options, err)
                                  : bang_fail_memory(err);
    json_decref(earlier);
    json_decref(settings);
    *out = NULL;
    for (size_t i = 0; i < plan->seeds && rc == 0; i++) {
        char key[96];
        unit_key(key, sizeof key, runner, plan, i);
        settings = unit_options(runner, plan, i, mnist->digest);
        rc = lab_recall(&w.result[i], key, settings, options, err);
        json_decref(settings);
    }
    if (rc == 0)
        rc = run_missing(&w, err);
    if (rc == 0)
        *out = json_array();
    for (size_t i = 0; w.result && i < plan->seeds; i++) {
        if (rc == 0)
            json_array_append(*out, w.result[i]);
        json_decref(w.result[i]);
    }
    free(w.result);
    return rc;
}

typedef struct task {
    const average_runner *runner;
    const color_plan *plan;
    const bang_mnist *mnist;
    const json_t *units;
} task;

static int measure(json_t *result, json_t *show, void *context, bang_error *err)
{
    const task *t = context;
    color_show_foreign_digits(show, t->mnist);
    return t->runner->summary(result, show, t->plan, t->units, t->mnist, err);
}

int average_run(json_t *result, const average_runner *runner, color_plan plan,
                const bang_lab_options *options, bang_error *err)
{
    bang_mnist mnist;
    json_t *units = NULL, *summary = NULL;
    int rc = color_open_mnist(&mnist, options, err);
    if (rc < 0)
        return rc;
    rc = all_units(&units, runner, &plan, &mnist, options, err);
    task t = {runner, &plan, &mnist, units};
    if (rc == 0)
        rc = lab_measure(&summary,
                         (lab_measurement){runner->experiment, runner->section, runner->experiment,
                                           summary_options(runner, &plan, mnist.digest), measure,
                                           &t},
                         options, err);
    if (rc == 0)
        json_object_update(result, summary);
    json_decref(summary);
    json_decref(units);
    bang_mnist_release(&mnist);
    return rc;
}
