/* The last resort: draws outcomes and counts. Samples are cut into blocks of a
 * fixed size, each with a stream of its own, and summed in the order of the
 * blocks, so the result does not depend on the number of threads. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bang/base/random.h"
#include "theory/exact.h"

enum { BLOCK = 4096 };

typedef struct sampler {
    const exact_case *c;
    double *logits;  /* (threads, K) scratch */
    double *sum;     /* (blocks) */
    double *squares; /* (blocks) */
    size_t blocks;
    atomic_size_t done;
} sampler;

/* Adds group g to the logits. Few features are drawn one by one, many class by
 * class. */
static void draw_group(double *logits, const exact_case *c, const bang_theory_group *group,
                       bang_random *random)
{
    int64_t left = group->count - bang_random_binomial(random, group->count, c->same);
    logits[0] += group->coefficient * (double)(group->count - left);
    uint64_t others = (uint64_t)c->classes - 1;
    if (left < 4 * c->classes) {
        for (; left > 0; left--)
            logits[1 + bang_random_below(random, others)] += group->coefficient;
        return;
    }
    for (int64_t k = 1; k < c->classes && left > 0; k++) {
        int64_t here = bang_random_binomial(random, left, 1.0 / (double)(c->classes - k));
        logits[k] += group->coefficient * (double)here;
        left -= here;
    }
}

static double draw_credit(double *logits, const exact_case *c, bang_random *random)
{
    for (int64_t k = 0; k < c->classes; k++)
        logits[k] = c->noise > 0 ? c->noise * bang_random_normal(random) : 0;
    logits[0] += c->invariant;
    for (size_t g = 0; g < c->group_count; g++)
        draw_group(logits, c, &c->groups[g], random);
    double tolerance = c->noise > 0 ? 0 : c->tolerance;
    int64_t ties = 0;
    for (int64_t k = 1; k < c->classes; k++) {
        double margin = logits[0] - logits[k];
        if (margin < -tolerance)
            return 0;
        ties += margin <= tolerance;
    }
    return 1 / (double)(1 + ties);
}

static int sample_block(void *context, size_t block, int worker, bang_error *err)
{
    (void)err;
    sampler *s = context;
    double *logits = s->logits + (size_t)worker * (size_t)s->c->classes;
    bang_random random;
    bang_random_init(&random, s->c->options->seed, BANG_PURPOSE('e', 'x', 'a', 'c'), block);
    for (int i = 0; i < BLOCK; i++) {
        double credit = draw_credit(logits, s->c, &random);
        s->sum[block] += credit;
        s->squares[block] += credit * credit;
    }
    bang_progress_step(s->c->options->progress, atomic_fetch_add(&s->done, 1) + 1, s->blocks);
    return 0;
}

/* About two seconds of one core, by what a sample costs. */
static int64_t default_samples(const exact_case *c)
{
    double cost = 2e-9 * (double)c->classes;
    for (size_t g = 0; g < c->group_count; g++)
        cost += 5e-9 * fmin((double)c->groups[g].count, 20 * (double)c->classes) + 5e-8;
    if (c->noise > 0)
        cost += 2e-8 * (double)c->classes;
    return (int64_t)fmin(fmax(2 / cost, 20000), 4e7);
}

int monte_carlo_accuracy(double *out, double *standard_error, const exact_case *c, bang_error *err)
{
    const bang_theory_options *options = c->options;
    int64_t wanted = options->samples > 0 ? options->samples : default_samples(c);
    size_t blocks = (size_t)((wanted + BLOCK - 1) / BLOCK);
    int threads = options->threads > 0 ? options->threads : bang_threads_available();
    sampler s = {.c = c, .blocks = blocks};
    s.logits = calloc((size_t)threads * (size_t)c->classes, sizeof *s.logits);
    s.sum = calloc(blocks, sizeof *s.sum);
    s.squares = calloc(blocks, sizeof *s.squares);
    int rc = s.logits && s.sum && s.squares
                 ? bang_parallel_for(blocks, threads, sample_block, &s, options->cancel, err)
                 : bang_fail_memory(err);
    double sum = 0, squares = 0, count = (double)blocks * BLOCK;
    for (size_t i = 0; rc == 0 && i < blocks; i++) {
        sum += s.sum[i];
        squares += s.squares[i];
    }
    *out = sum / count;
    /* a sample without a single miss does not mean that there are none */
    *standard_error = sqrt(fmax(squares / count - *out * *out, 1 / count) / count);
    free(s.logits);
    free(s.sum);
    free(s.squares);
    return rc;
}
