/* The rounds of the lab's work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/json.h"
#include "lab/ledger.h"
#include "lab/shift_unit.h"

enum {
    WAVE = 8,        /* seeds together, or as many as threads, but no more than */
    WAVE_MOST = 16,  /* these, each with some 60 MB of images and models */
    FASHION = 60000, /* what clothes cost, in pictures looked at */
    K = BANG_SHIFT_CLASSES,
};

static void report(shift_run *run, uint64_t thirds)
{
    uint64_t done = atomic_fetch_add(&run->done, thirds) + thirds;
    bang_progress_step(run->options->progress, done / 3, run->total / 3);
}

void shift_looked(shift_run *run, uint64_t pictures)
{
    report(run, pictures);
}

void shift_trained(shift_run *run, uint64_t pictures)
{
    report(run, 3 * pictures);
}

/* Round 1: images, the pre-trained model, what it says. */
static int prepare_seed(void *context, size_t index, int worker, bang_error *err)
{
    shift_run *run = context;
    shift_seed *seed = &run->seeds[index];
    (void)worker;
    int rc = shift_data_make(seed, run, err);
    if (rc == 0)
        rc = shift_train_pre(run, seed, err);
    bang_images_release(&seed->data.broad);
    if (rc == 0 && !(seed->pre_logits = calloc(seed->first[SHIFT_PARTS] * K, sizeof(float))))
        rc = bang_fail_memory(err);
    return rc < 0 ? rc
                  : shift_look(seed->pre_logits, NULL, run, seed, seed->pre.vit.parameters, 0,
                               SHIFT_PARTS, err);
}

/* Round 2: the last methods are the longest, so they go first; then the grid. */
static int train_task(void *context, size_t index, int worker, bang_error *err)
{
    shift_run *run = context;
    const shift_plan *plan = run->plan;
    (void)worker;
    if (index >= run->count * plan->method_count)
        return shift_measure_point(run, &run->seeds[0], index - run->count * plan->method_count,
                                   err);
    shift_seed *seed = &run->seeds[index % run->count];
    size_t m = plan->method_count - 1 - index / run->count;
    bang_tune_options options;
    int rc = shift_recipe(&options, plan, plan->methods[m], seed->unit, err);
    if (rc == 0)
        rc = shift_train_fine(run, seed, &seed->fine[m], plan->methods[m]->name, &options, err);
    return rc < 0 ? rc : ledger_look(run->ledger, err);
}

void shift_unit_key(char *out, size_t size, size_t unit)
{
    snprintf(out, size, "%s%zu", shift_unit_prefix, unit + 1);
}

static json_t *set_names(void)
{
    json_t *out = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++)
        json_array_append_new(out, json_string(shift_set_names[s]));
    return out;
}

/* All that was found of a seed. */
static int assemble(const shift_run *run, shift_seed *seed, bang_error *err)
{
    const shift_plan *plan = run->plan;
    json_t *methods = json_object(), *counts = json_array(), *curve = json_array();
    for (size_t s = 0; s < SHIFT_SETS; s++)
        json_array_append_new(counts, json_integer((json_int_t)shift_part(seed, s)->count));
    for (size_t m = 0; m < plan->method_count; m++)
        json_object_set(methods, plan->methods[m]->name, seed->found[m].record);
    for (size_t p = 0; p < plan->grid_count; p++)
        if (seed->grid[p])
            json_array_append(curve, seed->grid[p]);
    seed->record =
        json_pack("{so so sO so so}", "sets", set_names(), "n", counts, "pre", seed->found[0].pre,
                  "methods", methods, "contrasts", shift_contrasts(run, seed));
    if (seed->record && json_array_size(curve))
        json_object_set(seed->record, "curve", curve);
    if (seed->record && seed->fashion)
        json_object_set(seed->record, "fashion", seed->fashion);
    if (seed->record && seed->maps)
        json_object_set(seed->record, "maps", seed->maps);
    json_decref(curve);
    return seed->record ? 0 : bang_fail_memory(err);
}

static const char fashion_method[] = "vanilla";

/* The place of the method whose models look at clothes; SIZE_MAX: none does. */
static size_t fashion_place(const shift_plan *plan)
{
    for (size_t m = 0; plan->fashion && m < plan->method_count; m++)
        if (strcmp(plan->methods[m]->name, fashion_method) == 0)
            return m;
    return SIZE_MAX;
}

static int measure_fashion(shift_run *run, shift_seed *seed, bang_error *err)
{
    size_t m = fashion_place(run->plan);
    if (m == SIZE_MAX)
        return 0;
    if (!(seed->fashion = json_object()))
        return bang_fail_memory(err);
    int rc = shift_fashion(seed->fashion, &seed->pre, &seed->fine[m], run->plan->seed + seed->unit,
                           run->options->cancel, err);
    shift_looked(run, FASHION);
    return rc;
}

enum { TASKS = 2 }; /* of a seed, besides its methods: clothes and maps */

/* Round 3, seed by seed, so that the first records are written early. Whoever measures the last
 * of a seed writes its record. */
static int measure_task(void *context, size_t index, int worker, bang_error *err)
{
    shift_run *run = context;
    size_t tasks = run->plan->method_count + TASKS, task = index % tasks;
    shift_seed *seed = &run->seeds[index / tasks];
    (void)worker;
    int rc = task >= TASKS ? shift_measure(run, seed, task - TASKS, err)
             : task        ? shift_measure_maps(run, seed, err)
                           : measure_fashion(run, seed, err);
    if (rc < 0 || atomic_fetch_sub(&seed->left, 1) != 1)
        return rc;
    rc = assemble(run, seed, err);
    return rc < 0 ? rc : ledger_put(run->ledger, seed->unit, json_incref(seed->record), err);
}

void shift_seed_release(shift_seed *seed)
{
    shift_data_release(seed);
    bang_vit_model_release(&seed->pre);
    free(seed->pre_logits);
    for (size_t m = 0; m < SHIFT_METHODS_MOST; m++) {
        bang_vit_model_release(&seed->fine[m]);
        shift_found_release(&seed->found[m]);
    }
    for (size_t p = 0; p < SHIFT_GRID_MOST; p++)
        json_decref(seed->grid[p]);
    json_decref(seed->fashion);
    json_decref(seed->maps);
    json_decref(seed->record);
}

/* What the wave is at, for a person. */
static void say(const shift_run *run, const char *what, const size_t *units)
{
    char text[80];
    size_t first = units[0] + 1, last = units[run->count - 1] + 1;
    if (!run->options->phase)
        return;
    if (first == last)
        snprintf(text, sizeof text, "%s, seed %zu of %zu", what, first, run->plan->seeds);
    else if (last - first + 1 == run->count)
        snprintf(text, sizeof text, "%s, seeds %zu-%zu of %zu", what, first, last,
                 run->plan->seeds);
    else /* some are another's, or were there */
        snprintf(text, sizeof text, "%s, %zu of %zu seeds", what, run->count, run->plan->seeds);
    run->options->phase(run->options->progress, text);
}

/* Seeds units[0 .. count-1] from beginning to end. */
static int run_wave(shift_run *run, const size_t *units, size_t count, bang_error *err)
{
    const shift_plan *plan = run->plan;
    int threads = run->options->threads;
    bang_cancel *cancel = run->options->cancel;
    size_t grid = count && units[0] == 0 ? plan->grid_count : 0;
    run->count = count;
    run->seeds = calloc(count, sizeof *run->seeds);
    if (!run->seeds)
        return bang_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        run->seeds[i].unit = units[i];
        atomic_store(&run->seeds[i].left, plan->method_count + TASKS);
    }
    say(run, "pre-training", units);
    int rc = bang_parallel_for(count, threads, prepare_seed, run, cancel, err);
    say(run, "fine-tuning", units);
    if (rc == 0)
        rc = bang_parallel_for(count * plan->method_count + grid, threads, train_task, run, cancel,
                               err);
    say(run, "measuring", units);
    if (rc == 0)
        rc = bang_parallel_for(count * (plan->method_count + TASKS), threads, measure_task, run,
                               cancel, err);
    for (size_t i = 0; i < count; i++)
        shift_seed_release(&run->seeds[i]);
    free(run->seeds);
    run->seeds = NULL;
    return rc;
}

/* All that a unit costs, in thirds of pictures. */
static uint64_t cost(const shift_plan *plan, size_t unit)
{
    size_t tests = SHIFT_SETS * plan->test, labelled = tests + plan->validation;
    size_t unlabelled = (SHIFT_SETS - 1) * plan->unlabelled;
    bang_tune_options o;
    shift_recipe_pre(&o, plan, unit);
    uint64_t thirds = 3 * shift_pictures(&o, plan->broad) + labelled + unlabelled;
    thirds += (fashion_place(plan) < SIZE_MAX ? FASHION : 0) + shift_maps_cost(plan);
    for (size_t m = 0; m < plan->method_count; m++) {
        bang_error ignored = {0};
        shift_recipe(&o, plan, plan->methods[m], unit, &ignored);
        thirds += 3 * shift_pictures(&o, plan->tune);
        thirds += (1 + SHIFT_BETWEEN) * labelled + unlabelled;
        thirds += shift_is_balanced(plan, plan->methods[m]) ? shift_balance_cost(plan) : 0;
    }
    for (size_t p = 0; unit == 0 && p < plan->grid_count; p++) {
        shift_recipe_grid(&o, plan, &plan->grid[p], unit);
        thirds += 3 * shift_pictures(&o, plan->tune) + 2 * tests;
    }
    return thirds;
}

static int run_missing(shift_run *run, bang_error *err)
{
    const shift_plan *plan = run->plan;
    int threads = run->options->threads > 0 ? run->options->threads : bang_threads_available();
    size_t most = threads < WAVE ? WAVE : threads < WAVE_MOST ? (size_t)threads : WAVE_MOST;
    size_t *units = calloc(plan->seeds, sizeof *units);
    if (!units)
        return bang_fail_memory(err);
    for (size_t i = 0; i < plan->seeds; i++) {
        run->total += cost(plan, i);
        if (ledger_has(run->ledger, i))
            atomic_fetch_add(&run->done, cost(plan, i));
    }
    shift_looked(run, 0);
    size_t missing = ledger_missing(units, run->ledger);
    int rc = 0;
    for (size_t next = 0; rc == 0 && next < missing; next += most)
        rc = run_wave(run, units + next, missing - next < most ? missing - next : most, err);
    free(units);
    return rc;
}

static void ledger_key(char *out, size_t size, const void *context, size_t unit)
{
    (void)context;
    shift_unit_key(out, size, unit);
}

static json_t *ledger_settings(const void *context, size_t unit)
{
    const shift_run *run = context;
    return shift_unit_options(run->plan, unit, run->mnist->digest);
}

static void ledger_arrived(void *context, size_t unit)
{
    shift_run *run = context;
    report(run, cost(run->plan, unit));
}

int shift_run_units(json_t **out, const shift_plan *plan, const bang_mnist *mnist,
                    const bang_lab_options *options, bang_error *err)
{
    shift_run run = {.plan = plan, .mnist = mnist, .options = options};
    const ledger_units units = {.count = plan->seeds,
                                .experiment = "lab",
                                .section = shift_section,
                                .key = ledger_key,
                                .settings = ledger_settings,
                                .arrived = ledger_arrived,
                                .context = &run};
    *out = NULL;
    int rc = ledger_open(&run.ledger, &units, options, err);
    if (rc == 0)
        rc = run_missing(&run, err);
    if (rc == 0)
        rc = ledger_finish(out, run.ledger, err);
    ledger_close(run.ledger);
    return rc;
}
