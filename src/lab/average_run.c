/* Units of the experiments on averaging: a seed a thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bang/base/json.h"
#include "lab/average.h"
#include "lab/ledger.h"

typedef struct wave {
    const average_runner *runner;
    const color_plan *plan;
    const bang_mnist *mnist;
    const bang_lab_options *options;
    average_scratch *scratch; /* (threads) */
    size_t *unit;             /* (missing) */
    atomic_size_t done;       /* those of other ranks too */
    ledger *ledger;
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

static void report(wave *w, size_t units)
{
    size_t done = atomic_fetch_add(&w->done, units) + units;
    bang_progress_step(w->options->progress, done, w->plan->seeds);
}

static int run_unit(void *context, size_t index, int worker, bang_error *err)
{
    wave *w = context;
    size_t i = w->unit[index];
    json_t *result = json_object();
    int rc = result ? w->runner->unit(result, w->plan, i, w->mnist, &w->scratch[worker],
                                      w->options->cancel, err)
                    : bang_fail_memory(err);
    report(w, 1);
    if (rc == 0)
        return ledger_put(w->ledger, i, result, err);
    json_decref(result);
    return rc;
}

static int run_missing(wave *w, bang_error *err)
{
    int threads = w->options->threads > 0 ? w->options->threads : bang_threads_available();
    for (size_t i = 0; i < w->plan->seeds; i++)
        w->done += (size_t)ledger_has(w->ledger, i);
    report(w, 0);
    w->scratch = calloc((size_t)threads, sizeof *w->scratch);
    w->unit = calloc(w->plan->seeds, sizeof *w->unit);
    int rc = w->scratch && w->unit ? bang_parallel_for(ledger_missing(w->unit, w->ledger), threads,
                                                       run_unit, w, w->options->cancel, err)
                                   : bang_fail_memory(err);
    for (int t = 0; w->scratch && t < threads; t++) {
        bang_array_release(&w->scratch[t].train);
        bang_array_release(&w->scratch[t].test);
    }
    free(w->scratch);
    free(w->unit);
    return rc;
}

static void ledger_key(char *out, size_t size, const void *context, size_t unit)
{
    const wave *w = context;
    unit_key(out, size, w->runner, w->plan, unit);
}

static json_t *ledger_settings(const void *context, size_t unit)
{
    const wave *w = context;
    return unit_options(w->runner, w->plan, unit, w->mnist->digest);
}

static void ledger_arrived(void *context, size_t unit)
{
    (void)unit;
    report(context, 1);
}

/* The results of all units, an array; a record made with other options is an error before any
 * work. */
static int all_units(json_t **out, const average_runner *runner, const color_plan *plan,
                     const bang_mnist *mnist, const bang_lab_options *options, bang_error *err)
{
    wave w = {.runner = runner, .plan = plan, .mnist = mnist, .options = options};
    const ledger_units units = {.count = plan->seeds,
                                .experiment = runner->experiment,
                                .section = runner->section,
                                .key = ledger_key,
                                .settings = ledger_settings,
                                .arrived = ledger_arrived,
                                .context = &w};
    json_t *settings = summary_options(runner, plan, mnist->digest), *earlier = NULL;
    int rc = settings ? lab_recall(&earlier, runner->experiment, settings, options, err)
                      : bang_fail_memory(err);
    json_decref(earlier);
    json_decref(settings);
    *out = NULL;
    if (rc == 0)
        rc = ledger_open(&w.ledger, &units, options, err);
    if (rc == 0)
        rc = run_missing(&w, err);
    if (rc == 0)
        rc = ledger_finish(out, w.ledger, err);
    ledger_close(w.ledger);
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
