/* Runs in parallel, results in order. */
#include "bang/theory/simulate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/agree.h"
#include "bang/base/digest.h"
#include "theory/simulate_plan.h"

typedef struct simulation {
    const simulation_plan *plan;
    simulation_scratch *scratch; /* (workers) */
    size_t columns;              /* scores, and one for each model's head */
    double *accuracy;            /* (runs, columns) */
    size_t first, count;         /* the runs of this rank */
    atomic_uint_fast64_t done;
} simulation;

static int run_one(void *context, size_t index, int worker, bang_error *err)
{
    simulation *all = context;
    size_t run = all->first + index;
    const simulation_plan *plan = all->plan;
    simulation_scratch *scratch = &all->scratch[worker];
    double *accuracy = all->accuracy + run * all->columns;
    int rc = bang_simulation_fit_heads(plan, scratch, run, err);
    if (rc == 0)
        memcpy(accuracy + plan->scores, scratch->sizes, plan->models * sizeof *accuracy);
    if (rc == 0 && !plan->options->full)
        rc = bang_simulation_project(plan, scratch, err);
    if (rc == 0)
        rc = bang_simulation_test(accuracy, plan, scratch, run, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < plan->scores; i++)
        accuracy[i] /= (double)plan->options->test;
    uint64_t done = atomic_fetch_add(&all->done, 1) + 1;
    bang_progress_step(plan->options->progress, done, all->count);
    return 0;
}

/* Mean and standard error of column i of accuracy, in the order of the runs, so that they do not
 * depend on the threads. */
static void summarise(double *mean, double *error, const simulation *all, size_t i)
{
    size_t runs = (size_t)all->plan->options->runs, columns = all->columns;
    const double *column = all->accuracy + i;
    double sum = 0, squares = 0;
    for (size_t r = 0; r < runs; r++)
        sum += column[r * columns];
    *mean = sum / (double)runs;
    for (size_t r = 0; r < runs; r++)
        squares += (column[r * columns] - *mean) * (column[r * columns] - *mean);
    *error = runs > 1 ? sqrt(squares / (double)(runs - 1) / (double)runs) : NAN;
}

/* Of models with equally many features the mean of their heads: a difference that is chance would
 * decide what theory takes for a tie. */
static void share_heads(double *heads, const bang_theory_problem *problem)
{
    double own[BANG_THEORY_MAX_MODELS];
    memcpy(own, heads, sizeof own);
    for (int m = 0; m < problem->models; m++) {
        double sum = 0;
        int count = 0;
        for (int other = 0; other < problem->models; other++)
            if (bang_theory_shared(problem, other, other) == bang_theory_shared(problem, m, m)) {
                sum += own[other];
                count++;
            }
        heads[m] = sum / count;
    }
}

static void fill_result(bang_simulation_result *out, const simulation *all)
{
    size_t models = all->plan->models;
    double unused;
    *out = (bang_simulation_result){.runs = all->plan->options->runs,
                                    .models = (int)models,
                                    .ose_mean = NAN,
                                    .ose_error = NAN,
                                    .wse_mean = NAN,
                                    .wse_error = NAN};
    for (size_t m = 0; m < models; m++) {
        summarise(&out->mean[m], &out->error[m], all, m);
        summarise(&out->heads[m], &unused, all, all->plan->scores + m);
    }
    share_heads(out->heads, all->plan->problem);
    if (models == 1)
        return;
    summarise(&out->ose_mean, &out->ose_error, all, models);
    summarise(&out->wse_mean, &out->wse_error, all, models + 1);
}

bang_theory_problem bang_simulation_fitted(const bang_theory_problem *problem,
                                           const bang_simulation_options *options,
                                           const bang_simulation_result *result)
{
    bang_theory_problem out = *problem;
    double largest = 0;
    for (int m = 0; m < problem->models; m++)
        largest = fmax(largest, result->heads[m]);
    for (int m = 0; m < problem->models && options->fit == BANG_FIT_LOGISTIC; m++) {
        double head = result->heads[m] / largest;
        /* heads that noise has drowned, or of no features, tell nothing */
        out.heads[m] = head >= 1e-9 && head <= 1e9 ? head : 1;
    }
    return out;
}

static int add_digest(json_t *about, const char *key, const void *data, size_t size,
                      bang_error *err)
{
    char digest[BANG_DIGEST_TEXT];
    int rc = bang_digest_bytes(digest, data, size, err);
    return rc == 0 && json_object_set_new(about, key, json_string(digest)) < 0
               ? bang_fail_memory(err)
               : rc;
}

/* Ranks that draw other data, or fit them in another way, would be mixed into one mean. */
static int agree(const bang_theory_problem *p, const bang_simulation_options *o, bang_error *err)
{
    if (bang_ranks_count(o->ranks) == 1)
        return 0;
    static const char *const fits[] = {"mean", "logistic", "population"};
    static const char *const draws[] = {"environment", "sample"};
    const size_t models = (size_t)p->models;
    json_t *about = json_pack(
        "{sI sf sf si sI sI sI ss ss sI sb sf sI}", "classes", (json_int_t)p->classes, "shift",
        p->shift, "sigma", p->sigma, "models", p->models, "runs", (json_int_t)o->runs, "train",
        (json_int_t)o->train, "test", (json_int_t)o->test, "fit", fits[o->fit], "draw",
        draws[o->draw], "dimension", (json_int_t)o->dimension, "full", o->full, "ridge", o->ridge,
        "seed", (json_int_t)o->seed);
    int rc = about ? 0 : bang_fail_memory(err);
    if (rc == 0)
        rc = add_digest(about, "weights", p->weights, models * sizeof *p->weights, err);
    if (rc == 0)
        rc = add_digest(about, "scales", p->scales, models * sizeof *p->scales, err);
    if (rc == 0)
        rc =
            add_digest(about, "features", p->patterns, p->pattern_count * sizeof *p->patterns, err);
    if (rc == 0)
        rc = bang_ranks_agree(o->ranks, about, err);
    json_decref(about);
    return rc;
}

int bang_simulate(bang_simulation_result *out, const bang_theory_problem *problem,
                  const bang_simulation_options *options, bang_error *err)
{
    simulation_plan plan = {0};
    simulation all = {.plan = &plan};
    int workers = 0;
    int rc = bang_simulation_check(problem, options, err);
    if (rc == 0)
        rc = agree(problem, options, err);
    if (rc == 0)
        rc = bang_simulation_plan_init(&plan, problem, options, err);
    if (rc == 0)
        rc = bang_simulation_size(&workers, &plan, err);
    if (rc < 0 || options->runs < 1 || workers < 1)
        goto done;
    all.columns = plan.scores + plan.models;
    all.accuracy = calloc((size_t)options->runs * all.columns, sizeof *all.accuracy);
    all.scratch = calloc((size_t)workers, sizeof *all.scratch);
    if (!all.accuracy || !all.scratch) {
        rc = bang_fail_memory(err);
        goto done;
    }
    size_t end;
    bang_ranks_share(&all.first, &end, options->ranks, (size_t)options->runs);
    all.count = end - all.first;
    for (int w = 0; w < workers && rc == 0; w++)
        rc = bang_simulation_scratch_init(&all.scratch[w], &plan, err);
    if (rc == 0)
        rc = bang_parallel_for(all.count, workers, run_one, &all, options->cancel, err);
    if (rc == 0)
        rc = bang_ranks_gather(options->ranks, all.accuracy, all.columns * sizeof *all.accuracy,
                               (size_t)options->runs, err);
    if (rc == 0)
        fill_result(out, &all);
done:
    for (int w = 0; w < workers && all.scratch; w++)
        bang_arena_release(&all.scratch[w].arena);
    free(all.scratch);
    free(all.accuracy);
    bang_simulation_plan_release(&plan);
    return rc;
}
