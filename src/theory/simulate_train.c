/* Training: the heads of all blocks from the in-distribution sample. */
#include <math.h>
#include <string.h>

#include "theory/logistic.h"
#include "theory/simulate_plan.h"
#include "theory/simulate_vector.h"

#define PURPOSE_TRAIN BANG_PURPOSE('s', 't', 'r', 'n')

void bang_simulation_label_counts(int64_t *counts, size_t classes, int64_t total,
                                  bang_random *random)
{
    for (size_t k = 0; k < classes; k++) {
        int last = k + 1 == classes;
        counts[k] = last ? total : bang_random_binomial(random, total, 1 / (double)(classes - k));
        total -= counts[k];
    }
}

static void fill_normals(double *out, size_t n, double deviation, bang_random *random)
{
    if (deviation > 0)
        for (size_t i = 0; i < n; i++)
            out[i] = deviation * bang_random_normal(random);
    else
        memset(out, 0, n * sizeof *out);
}

void bang_simulation_sample(double *seen, const simulation_plan *plan, const double *coefficients,
                            size_t n, const uint32_t *shown, int apart, double *noise,
                            bang_random *random)
{
    size_t d = plan->dimension;
    memset(seen, 0, n * d * sizeof *seen);
    for (size_t a = 0; a < plan->pattern_count; a++) {
        const simulation_pattern *pattern = &plan->patterns[a];
        size_t together = apart ? 1 : pattern->count;
        double deviation = plan->problem->sigma * sqrt((double)together);
        for (size_t done = 0; done < pattern->count; done += together) {
            size_t first = pattern->first + done;
            fill_normals(noise, d, deviation, random);
            for (size_t f = first; f < first + together; f++)
                noise[f * plan->classes + shown[f]] += 1;
            for (size_t j = 0; j < n; j++)
                if (coefficients[a * n + j] != 0)
                    vector_add(seen + j * d, coefficients[a * n + j], noise, d);
        }
    }
}

/* heads += c mu_f(k) for the features of each model: w_m(k) of infinitely many
 * samples. */
static void add_means(const simulation_plan *plan, double *heads, size_t k)
{
    size_t d = plan->dimension, K = plan->classes;
    for (size_t a = 0; a < plan->pattern_count; a++) {
        const simulation_pattern *pattern = &plan->patterns[a];
        for (size_t m = 0; m < plan->models; m++)
            if (plan->member[a * plan->models + m] != 0)
                for (size_t f = pattern->first; f < pattern->first + pattern->count; f++)
                    heads[(m * K + k) * d + f * K + k] += 1;
    }
}

/* The mean of n_k samples of class k is mu plus the mean of their noise, and
 * the noise of a pattern's features sums up: N(0, sigma^2 |A| / n_k I) for each
 * pattern A, seen by all models that learned it. A class without samples has no
 * mean; its w(k) stays 0. */
static void fit_mean(const simulation_plan *plan, simulation_scratch *scratch, bang_random *random)
{
    size_t d = plan->dimension, K = plan->classes, models = plan->models;
    bang_simulation_label_counts(scratch->counts, K, plan->options->train, random);
    for (size_t k = 0; k < K; k++) {
        if (scratch->counts[k] == 0)
            continue;
        add_means(plan, scratch->heads, k);
        for (size_t a = 0; a < plan->pattern_count && plan->problem->sigma > 0; a++) {
            double share = (double)plan->patterns[a].count / (double)scratch->counts[k];
            fill_normals(scratch->noise, d, plan->problem->sigma * sqrt(share), random);
            for (size_t m = 0; m < models; m++)
                if (plan->member[a * models + m] != 0)
                    vector_add(scratch->heads + (m * K + k) * d, 1, scratch->noise, d);
        }
    }
}

/* x Phi_m of one training sample of class y, for all models, into seen (M, d). */
static void draw_training(const simulation_plan *plan, simulation_scratch *scratch, size_t y,
                          bang_random *random)
{
    for (size_t f = 0; f < plan->features; f++)
        scratch->shown[f] = (uint32_t)y;
    bang_simulation_sample(scratch->seen, plan, plan->member, plan->models, scratch->shown,
                           plan->options->full, scratch->noise, random);
}

/* The same mean as fit_mean, by drawing and averaging every sample. */
static int fit_mean_full(const simulation_plan *plan, simulation_scratch *scratch,
                         bang_random *random, bang_error *err)
{
    size_t d = plan->dimension, K = plan->classes;
    memset(scratch->counts, 0, K * sizeof *scratch->counts);
    for (int64_t s = 0; s < plan->options->train; s++) {
        if (bang_cancelled(plan->options->cancel))
            return bang_simulation_cancelled(err);
        size_t y = (size_t)bang_random_below(random, K);
        draw_training(plan, scratch, y, random);
        scratch->counts[y]++;
        for (size_t m = 0; m < plan->models; m++)
            vector_add(scratch->heads + (m * K + y) * d, 1, scratch->seen + m * d, d);
    }
    for (size_t m = 0; m < plan->models; m++)
        for (size_t k = 0; k < K; k++)
            for (size_t i = 0; i < d && scratch->counts[k]; i++)
                scratch->heads[(m * K + k) * d + i] /= (double)scratch->counts[k];
    return 0;
}

static int fit_logistic(const simulation_plan *plan, simulation_scratch *scratch,
                        bang_random *random, bang_error *err)
{
    const bang_simulation_options *options = plan->options;
    size_t d = plan->dimension, K = plan->classes, n = (size_t)options->train;
    for (size_t s = 0; s < n; s++) {
        if (bang_cancelled(options->cancel))
            return bang_simulation_cancelled(err);
        scratch->labels[s] = (uint32_t)bang_random_below(random, K);
        draw_training(plan, scratch, scratch->labels[s], random);
        for (size_t m = 0; m < plan->models; m++)
            memcpy(scratch->samples + (m * n + s) * d, scratch->seen + m * d,
                   d * sizeof *scratch->seen);
    }
    for (size_t m = 0; m < plan->models; m++) {
        bang_logistic_data data = {.x = scratch->samples + m * n * d,
                                   .y = scratch->labels,
                                   .n = n,
                                   .d = d,
                                   .classes = K,
                                   .ridge = options->ridge,
                                   .cancel = options->cancel};
        int rc = bang_logistic_fit(scratch->heads + m * K * d, &data, scratch->logistic, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void measure_heads(double *sizes, const simulation_plan *plan, const double *heads)
{
    size_t d = plan->dimension, K = plan->classes;
    for (size_t m = 0; m < plan->models; m++) {
        double sum = 0;
        size_t count = 0;
        for (size_t a = 0; a < plan->pattern_count; a++) {
            const simulation_pattern *pattern = &plan->patterns[a];
            if (plan->member[a * plan->models + m] == 0)
                continue;
            for (size_t f = pattern->first; f < pattern->first + pattern->count; f++, count++)
                for (size_t k = 0; k < K; k++)
                    sum += heads[(m * K + k) * d + f * K + k];
        }
        sizes[m] = count ? sum / (double)count / (double)K : 0;
    }
}

/* From the w_m to the heads of all blocks: lambda_m w_m, and their weighted sum
 * for the weight-space ensemble. */
static void finish_heads(const simulation_plan *plan, double *heads)
{
    size_t size = plan->classes * plan->dimension;
    for (size_t m = 0; m < plan->models; m++) {
        for (size_t i = 0; i < size; i++)
            heads[m * size + i] *= plan->problem->scales[m];
        if (plan->blocks > plan->models)
            vector_add(heads + plan->models * size, plan->problem->weights[m], heads + m * size,
                       size);
    }
}

int bang_simulation_fit_heads(const simulation_plan *plan, simulation_scratch *scratch,
                              uint64_t run, bang_error *err)
{
    const bang_simulation_options *options = plan->options;
    bang_random random;
    bang_random_init(&random, options->seed, PURPOSE_TRAIN, run);
    memset(scratch->heads, 0, plan->logits * plan->dimension * sizeof *scratch->heads);
    int rc = 0;
    if (options->fit == BANG_FIT_LOGISTIC)
        rc = fit_logistic(plan, scratch, &random, err);
    else if (options->fit == BANG_FIT_MEAN && options->full)
        rc = fit_mean_full(plan, scratch, &random, err);
    else if (options->fit == BANG_FIT_MEAN)
        fit_mean(plan, scratch, &random);
    else
        for (size_t k = 0; k < plan->classes; k++)
            add_means(plan, scratch->heads, k);
    if (rc == 0) {
        measure_heads(scratch->sizes, plan, scratch->heads);
        finish_heads(plan, scratch->heads);
    }
    return rc;
}
