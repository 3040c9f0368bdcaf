/* Checks, sizes and memory of a simulation, before any long work. */
#include "theory/simulate_plan.h"

#include <math.h>
#include <string.h>

#include "bang/base/text.h"
#include "theory/logistic.h"

/* Of all workers together; beyond it something was probably mistyped. */
#define MEMORY_LIMIT (4.0 * 1024 * 1024 * 1024)
/* A random stream counts 2^32 blocks of two numbers each; half of that leaves
 * room for rejected ones. */
#define DRAW_LIMIT 4294967296.0

int bang_simulation_cancelled(bang_error *err)
{
    return bang_fail(err, BANG_ECANCELLED, "simulation: cancelled");
}

/* Adds what is wrong with the patterns; *features is their sum. */
static void check_patterns(bang_text *wrong, double *features, const bang_theory_problem *problem)
{
    *features = 0;
    for (size_t i = 0; i < problem->pattern_count; i++) {
        const bang_theory_pattern *p = &problem->patterns[i];
        if (p->invariant < 0 || p->spurious < 0 || p->invariant > BANG_THEORY_MAX_FEATURES ||
            p->spurious > BANG_THEORY_MAX_FEATURES)
            bang_text_add(wrong, "; features %lld,%lld of pattern %zu: must be 0 to %d each",
                          (long long)p->invariant, (long long)p->spurious, i + 1,
                          BANG_THEORY_MAX_FEATURES);
        if (problem->models < BANG_THEORY_MAX_MODELS && p->models >> problem->models)
            bang_text_add(wrong, "; pattern %zu: names a model that does not exist", i + 1);
        *features += p->models ? (double)p->invariant + (double)p->spurious : 0;
    }
}

static void check_options(bang_text *wrong, const bang_simulation_options *options)
{
    if (options->fit != BANG_FIT_MEAN && options->fit != BANG_FIT_LOGISTIC &&
        options->fit != BANG_FIT_POPULATION)
        bang_text_add(wrong, "; fit %d: there is no such fit", (int)options->fit);
    if (options->draw != BANG_DRAW_ENVIRONMENT && options->draw != BANG_DRAW_SAMPLE)
        bang_text_add(wrong, "; draw %d: there is no such draw", (int)options->draw);
    if (options->runs < 1)
        bang_text_add(wrong, "; runs %lld: must be at least 1", (long long)options->runs);
    if (options->train < 1 && options->fit != BANG_FIT_POPULATION)
        bang_text_add(wrong, "; train %lld: must be at least 1", (long long)options->train);
    if (options->test < 1)
        bang_text_add(wrong, "; test %lld: must be at least 1", (long long)options->test);
    if (!(options->ridge > 0 && isfinite(options->ridge)))
        bang_text_add(wrong, "; ridge %g: must be a finite number above 0", options->ridge);
    if (options->threads < 0)
        bang_text_add(wrong, "; threads %d: must be 0 (all) or more", options->threads);
    if (options->dimension < 0)
        bang_text_add(wrong, "; dimension %lld: must be 0 (the smallest) or more",
                      (long long)options->dimension);
}

int bang_simulation_check(const bang_theory_problem *problem,
                          const bang_simulation_options *options, bang_error *err)
{
    bang_text wrong = {0};
    bang_error inner = {0};
    int rc = bang_theory_check(problem, &inner);
    if (rc < 0 && rc != BANG_EUSAGE)
        return bang_fail(err, rc, "%s", inner.message);
    if (rc < 0)
        bang_text_add(&wrong, "; %s", inner.message);
    else {
        double features;
        check_patterns(&wrong, &features, problem);
        double least = features * (double)problem->classes;
        if (options->dimension > 0 && (double)options->dimension < least)
            bang_text_add(&wrong,
                          "; dimension %lld: %g classes times %g features need at least %.15g",
                          (long long)options->dimension, (double)problem->classes, features, least);
    }
    check_options(&wrong, options);
    return bang_text_fail(&wrong, err);
}

/* Phi of every block on every pattern, and the overlaps that follow. */
static void fill_featurizers(simulation_plan *plan)
{
    const bang_theory_problem *problem = plan->problem;
    size_t blocks = plan->blocks, models = plan->models, row = 0;
    for (size_t i = 0; i < problem->pattern_count; i++) {
        const bang_theory_pattern *source = &problem->patterns[i];
        size_t count = (size_t)(source->invariant + source->spurious);
        if (count == 0 || source->models == 0) /* nobody sees it */
            continue;
        plan->patterns[row] =
            (simulation_pattern){plan->features, (size_t)source->invariant, count};
        plan->features += count;
        plan->spurious += (size_t)source->spurious;
        double *phi = plan->featurizer + row * blocks;
        for (size_t m = 0; m < models; m++) {
            double member = (double)(source->models >> m & 1);
            plan->member[row * models + m] = member;
            phi[m] = member * problem->scales[m];
            if (blocks > models)
                phi[models] += problem->weights[m] * phi[m];
        }
        for (size_t a = 0; a < blocks; a++)
            for (size_t b = 0; b < blocks; b++)
                plan->overlap[a * blocks + b] += (double)count * phi[a] * phi[b];
        row++;
    }
    plan->pattern_count = row;
}

int bang_simulation_plan_init(simulation_plan *plan, const bang_theory_problem *problem,
                              const bang_simulation_options *options, bang_error *err)
{
    *plan = (simulation_plan){.problem = problem, .options = options};
    plan->classes = (size_t)problem->classes;
    plan->models = (size_t)problem->models;
    plan->blocks = plan->models > 1 ? plan->models + 1 : 1;
    plan->logits = plan->blocks * plan->classes;
    plan->scores = plan->models > 1 ? plan->models + 2 : 1;
    size_t rows = problem->pattern_count;
    plan->patterns = bang_arena_alloc(&plan->arena, rows, sizeof *plan->patterns);
    plan->member = bang_arena_alloc(&plan->arena, rows, plan->models * sizeof *plan->member);
    plan->featurizer = bang_arena_alloc(&plan->arena, rows, plan->blocks * sizeof(double));
    plan->overlap = bang_arena_alloc(&plan->arena, plan->blocks, plan->blocks * sizeof(double));
    if (!plan->patterns || !plan->member || !plan->featurizer || !plan->overlap)
        return bang_fail_memory(err);
    fill_featurizers(plan);
    /* At most 2^63: a pattern has 2e7 features, a class count is 1e7, and that
     * many patterns would not fit into memory. */
    plan->dimension =
        options->dimension ? (size_t)options->dimension : plan->classes * plan->features;
    return 0;
}

void bang_simulation_plan_release(simulation_plan *plan)
{
    bang_arena_release(&plan->arena);
}

/* Walks over the arrays of a scratch, and either adds up their bytes or
 * allocates them, so that the estimate cannot differ from the truth. Counts are
 * doubles: their products do not wrap, and below the limit they are exact. */
typedef struct taker {
    bang_arena *arena; /* NULL: only count */
    double bytes;
    int failed;
} taker;

static void *take(taker *t, double count, size_t size)
{
    t->bytes += count * (double)size;
    if (!t->arena)
        return NULL;
    void *array = bang_arena_alloc(t->arena, (size_t)count, size);
    t->failed |= !array;
    return array;
}

static void take_all(simulation_scratch *s, taker *t, const simulation_plan *plan)
{
    const bang_simulation_options *options = plan->options;
    double K = (double)plan->classes, M = (double)plan->models, H = (double)plan->blocks;
    double L = (double)plan->logits, F = (double)plan->features, d = (double)plan->dimension;
    double n = (double)options->train;
    s->heads = take(t, H * K * d, sizeof *s->heads);
    s->sizes = take(t, M, sizeof *s->sizes);
    s->noise = take(t, d, sizeof *s->noise);
    s->counts = take(t, K, sizeof *s->counts);
    s->shown = take(t, K * F, sizeof *s->shown);
    s->seen = take(t, H * d, sizeof *s->seen);
    if (options->fit == BANG_FIT_LOGISTIC) {
        s->samples = take(t, M * n * d, sizeof *s->samples);
        s->labels = take(t, n, sizeof *s->labels);
        s->logistic = take(t, bang_logistic_scratch(K, d), sizeof *s->logistic);
    }
    if (!options->full) {
        s->factor = take(t, L * L, sizeof *s->factor);
        s->table = take(t, F * K * L, sizeof *s->table);
        s->signal = take(t, 2 * L, sizeof *s->signal);
        s->normals = take(t, L * SIMULATION_BATCH, sizeof *s->normals);
    }
    s->output = take(t, L * SIMULATION_BATCH, sizeof *s->output);
    s->ensemble = take(t, K * SIMULATION_BATCH, sizeof *s->ensemble);
    s->magnitude = take(t, 2 * SIMULATION_BATCH, sizeof *s->magnitude);
}

/* The most numbers that one run draws from one of its streams. */
static double most_draws(const simulation_plan *plan)
{
    const bang_simulation_options *options = plan->options;
    double K = (double)plan->classes, L = (double)plan->logits, P = (double)plan->pattern_count;
    double F = (double)plan->features, d = (double)plan->dimension;
    double train = (double)options->train, test = (double)options->test;
    double training = 0;
    if (options->fit == BANG_FIT_LOGISTIC || (options->fit == BANG_FIT_MEAN && options->full))
        training = train * (1 + (options->full ? F : P) * d);
    else if (options->fit == BANG_FIT_MEAN)
        training = P * K * d;
    double testing = test * (options->full ? 1 + F * d : L);
    double labels = options->draw == BANG_DRAW_SAMPLE ? test : K;
    return fmax(fmax(training, testing), 2 * labels * (double)plan->spurious);
}

int bang_simulation_size(int *workers, const simulation_plan *plan, bang_error *err)
{
    const bang_simulation_options *options = plan->options;
    simulation_scratch none;
    taker count = {0};
    take_all(&none, &count, plan);
    double results = (double)options->runs * (double)(plan->scores + plan->models) * sizeof(double);
    double draws = most_draws(plan), room = (MEMORY_LIMIT - results) / count.bytes;
    if (count.bytes + results > MEMORY_LIMIT || draws > DRAW_LIMIT)
        return bang_fail(err, BANG_EUSAGE,
                         "simulation: too large: it needs %.3g GB (at most %.3g) and draws %.3g "
                         "numbers a run (at most %.3g): lower classes, features, dimension or "
                         "samples",
                         (count.bytes + results) / 1e9, MEMORY_LIMIT / 1e9, draws, DRAW_LIMIT);
    double wanted = options->threads ? options->threads : bang_threads_available();
    *workers = (int)fmin(fmin(wanted, room), (double)options->runs);
    return 0;
}

int bang_simulation_scratch_init(simulation_scratch *scratch, const simulation_plan *plan,
                                 bang_error *err)
{
    memset(scratch, 0, sizeof *scratch);
    taker give = {.arena = &scratch->arena};
    take_all(scratch, &give, plan);
    return give.failed ? bang_fail_memory(err) : 0;
}
