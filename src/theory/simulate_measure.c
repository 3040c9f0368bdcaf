/* Testing: logits of out-of-distribution samples and who wins.
 *
 * A logit is linear in the sample, head_h(k)' x Phi_h, and x Phi_h is a sum of
 * mu_f(Q_f(y)) plus noise. So no sample has to be drawn in R^d: its signal
 * comes from a table of head_h(k)' mu_f(q), and the noise of all L = H K logits
 * together is Gaussian with
 *
 *     Cov(logit_hk, logit_gj) = sigma^2 (sum_f Phi_h(f) Phi_g(f)) head_h(k)'head_g(j),
 *
 * exactly, since the features carry independent N(0, sigma^2 I). The full path
 * draws every coordinate instead; it is what the other one is tested against.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "theory/simulate_plan.h"
#include "theory/simulate_vector.h"

#define PURPOSE_ENVIRONMENT BANG_PURPOSE('s', 'e', 'n', 'v')
#define PURPOSE_TEST BANG_PURPOSE('s', 't', 's', 't')
/* Logits that agree to this part of the numbers they were summed from are tied. */
#define TIE 1e-12

enum { BATCH = SIMULATION_BATCH };

/* Row by row, without pivoting. In a semidefinite matrix a pivot of 0 means
 * that the whole column below it is 0 too (the variable depends on earlier
 * ones, as for identical models), so the column is left empty; what rounding
 * leaves in place of such a 0 is at most about n epsilon of the diagonal. */
int bang_simulation_factorise(double *a, size_t n, bang_cancel *cancel, bang_error *err)
{
    double zero = 4 * (double)n * DBL_EPSILON;
    for (size_t i = 0; i < n; i++) {
        if (bang_cancelled(cancel))
            return bang_simulation_cancelled(err);
        double *row = a + i * n;
        for (size_t j = 0; j < i; j++) {
            const double *other = a + j * n;
            double rest = row[j] - vector_dot(row, other, j);
            row[j] = other[j] > 0 ? rest / other[j] : 0;
        }
        double rest = row[i] - vector_dot(row, row, i);
        row[i] = rest > zero * row[i] ? sqrt(rest) : 0;
    }
    return 0;
}

/* factor (L, L) = the inner products of heads (L, d), lower triangle. Strips of
 * rows meet one short piece of each other row while it is in the cache; for
 * many classes reading the rows would otherwise take all the time. */
static int inner_products(const simulation_plan *plan, simulation_scratch *scratch, bang_error *err)
{
    enum { ROWS = 16, PIECE = 512 };
    size_t K = plan->classes, L = plan->logits, d = plan->dimension;
    int orthogonal = plan->options->fit == BANG_FIT_POPULATION; /* between classes */
    memset(scratch->factor, 0, L * L * sizeof *scratch->factor);
    for (size_t strip = 0; strip < L; strip += ROWS) {
        if (bang_cancelled(plan->options->cancel))
            return bang_simulation_cancelled(err);
        size_t end = strip + ROWS < L ? strip + ROWS : L;
        for (size_t begin = 0; begin < d; begin += PIECE) {
            size_t length = d - begin < PIECE ? d - begin : PIECE;
            for (size_t j = 0; j < end; j++)
                for (size_t i = strip > j ? strip : j; i < end; i++)
                    if (!orthogonal || i % K == j % K)
                        scratch->factor[i * L + j] += vector_dot(
                            scratch->heads + i * d + begin, scratch->heads + j * d + begin, length);
        }
    }
    return 0;
}

/* The covariance above and its factor. */
static int prepare_noise(const simulation_plan *plan, simulation_scratch *scratch, bang_error *err)
{
    size_t K = plan->classes, L = plan->logits, H = plan->blocks;
    int rc = inner_products(plan, scratch, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < L; i++)
        for (size_t j = 0; j <= i; j++)
            scratch->factor[i * L + j] *= plan->overlap[i / K * H + j / K];
    rc = bang_simulation_factorise(scratch->factor, L, plan->options->cancel, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < L; i++)
        for (size_t j = 0; j <= i; j++)
            scratch->factor[i * L + j] *= plan->problem->sigma;
    return 0;
}

int bang_simulation_project(const simulation_plan *plan, simulation_scratch *scratch,
                            bang_error *err)
{
    size_t K = plan->classes, L = plan->logits, d = plan->dimension, H = plan->blocks;
    for (size_t a = 0; a < plan->pattern_count; a++) {
        const simulation_pattern *pattern = &plan->patterns[a];
        size_t begin = pattern->first * K, end = begin + pattern->count * K;
        for (size_t i = 0; i < L; i++)
            for (size_t c = begin; c < end; c++) /* c = f * K + q */
                scratch->table[c * L + i] =
                    plan->featurizer[a * H + i / K] * scratch->heads[i * d + c];
    }
    return plan->problem->sigma > 0 ? prepare_noise(plan, scratch, err) : 0;
}

/* Draws Q_f(y) for all features into shown (F): an invariant one always shows
 * y, a spurious one shows it with probability 1-p and else any class. */
static void draw_environment(uint32_t *shown, const simulation_plan *plan, size_t y,
                             bang_random *random)
{
    double shift = plan->problem->shift;
    for (size_t a = 0; a < plan->pattern_count; a++) {
        const simulation_pattern *pattern = &plan->patterns[a];
        for (size_t i = 0; i < pattern->count; i++) {
            uint64_t q = y;
            if (i >= pattern->invariant && bang_random_uniform(random) < shift)
                q = bang_random_below(random, plan->classes);
            shown[pattern->first + i] = (uint32_t)q;
        }
    }
}

/* How many of n samples of class y in logits (K, batch) are right. A tie with N
 * wrong classes counts 1/(N+1): that is what picking one at random earns on
 * average. Ties happen without noise, and where models cancel or learned
 * nothing; magnitude (batch) is the size of the terms that rounded. */
static double credit(const double *logits, const double *magnitude, size_t classes, size_t y,
                     size_t n)
{
    const double *truth = logits + y * BATCH;
    double best[BATCH], sum = 0;
    for (size_t b = 0; b < n; b++)
        best[b] = -INFINITY;
    for (size_t k = 0; k < classes; k++)
        for (size_t b = 0; b < n && k != y; b++) {
            double rival = logits[k * BATCH + b];
            best[b] = rival > best[b] ? rival : best[b];
        }
    for (size_t b = 0; b < n; b++) {
        double near = TIE * magnitude[b];
        if (truth[b] - best[b] > near) {
            sum += 1;
        } else if (truth[b] - best[b] >= -near) {
            double tied = 1;
            for (size_t k = 0; k < classes; k++)
                tied += k != y && truth[b] - logits[k * BATCH + b] <= near;
            sum += 1 / tied;
        }
    }
    return sum;
}

/* magnitude (batch) = max over k of |logits (K, batch)|. */
static void find_magnitude(double *magnitude, const double *logits, size_t classes, size_t n)
{
    memset(magnitude, 0, BATCH * sizeof *magnitude);
    for (size_t k = 0; k < classes; k++)
        for (size_t b = 0; b < n; b++) {
            double size = fabs(logits[k * BATCH + b]);
            magnitude[b] = size > magnitude[b] ? size : magnitude[b];
        }
}

/* Adds to hits (scores) what n samples of class y in output (L, batch) earn. */
static void score(double *hits, const simulation_plan *plan, simulation_scratch *scratch, size_t y,
                  size_t n)
{
    size_t K = plan->classes, models = plan->models;
    double *magnitude = scratch->magnitude, *total = magnitude + BATCH;
    memset(total, 0, BATCH * sizeof *total);
    memset(scratch->ensemble, 0, K * BATCH * sizeof *scratch->ensemble);
    for (size_t h = 0; h < plan->blocks; h++) {
        const double *logits = scratch->output + h * K * BATCH;
        find_magnitude(magnitude, logits, K, n);
        hits[h < models ? h : models + 1] += credit(logits, magnitude, K, y, n);
        if (h >= models || models == 1)
            continue;
        double weight = plan->problem->weights[h];
        for (size_t k = 0; k < K; k++)
            vector_add(scratch->ensemble + k * BATCH, weight, logits + k * BATCH, n);
        vector_add(total, fabs(weight), magnitude, n);
    }
    if (models > 1)
        hits[models] += credit(scratch->ensemble, total, K, y, n);
}

/* The signal of every logit under the classes shown by the spurious features;
 * from (L) holds what the invariant ones give. */
static void add_signal(double *signal, const double *from, const simulation_plan *plan,
                       const simulation_scratch *scratch)
{
    size_t K = plan->classes, L = plan->logits;
    memcpy(signal, from, L * sizeof *signal);
    for (size_t a = 0; a < plan->pattern_count; a++) {
        const simulation_pattern *pattern = &plan->patterns[a];
        for (size_t i = pattern->invariant; i < pattern->count; i++) {
            size_t f = pattern->first + i;
            vector_add(signal, 1, scratch->table + (f * K + scratch->shown[f]) * L, L);
        }
    }
}

/* What the invariant features give under label y, into signal (L). */
static void base_signal(double *signal, const simulation_plan *plan,
                        const simulation_scratch *scratch, size_t y)
{
    size_t K = plan->classes, L = plan->logits;
    memset(signal, 0, L * sizeof *signal);
    for (size_t a = 0; a < plan->pattern_count; a++)
        for (size_t i = 0; i < plan->patterns[a].invariant; i++) {
            size_t f = plan->patterns[a].first + i;
            vector_add(signal, 1, scratch->table + (f * K + y) * L, L);
        }
}

/* output (L, batch) += factor * normals, for the first n samples. */
static void add_noise(const simulation_plan *plan, simulation_scratch *scratch, size_t n,
                      bang_random *random)
{
    size_t L = plan->logits;
    for (size_t i = 0; i < L; i++) {
        double *normals = scratch->normals + i * BATCH, *output = scratch->output + i * BATCH;
        for (size_t b = 0; b < n; b++)
            normals[b] = bang_random_normal(random);
        for (size_t j = 0; j <= i; j++)
            if (scratch->factor[i * L + j] != 0)
                vector_add(output, scratch->factor[i * L + j], scratch->normals + j * BATCH, n);
    }
}

/* Labels are exchangeable, so samples come class by class in counts that are
 * multinomial; a batch then shares its label. */
static int test_projected(double *hits, const simulation_plan *plan, simulation_scratch *scratch,
                          bang_random *environment, bang_random *random, bang_error *err)
{
    size_t L = plan->logits;
    int per_sample = plan->options->draw == BANG_DRAW_SAMPLE;
    double *base = scratch->signal, *signal = base + L;
    bang_simulation_label_counts(scratch->counts, plan->classes, plan->options->test, random);
    for (size_t y = 0; y < plan->classes; y++) {
        base_signal(base, plan, scratch, y);
        if (!per_sample) {
            draw_environment(scratch->shown, plan, y, environment);
            add_signal(signal, base, plan, scratch);
        }
        for (int64_t left = scratch->counts[y]; left > 0; left -= BATCH) {
            size_t n = left < BATCH ? (size_t)left : BATCH;
            if (bang_cancelled(plan->options->cancel))
                return bang_simulation_cancelled(err);
            for (size_t b = 0; b < n; b++) {
                if (per_sample) {
                    draw_environment(scratch->shown, plan, y, environment);
                    add_signal(signal, base, plan, scratch);
                }
                for (size_t i = 0; i < L; i++)
                    scratch->output[i * BATCH + b] = signal[i];
            }
            if (plan->problem->sigma > 0)
                add_noise(plan, scratch, n, random);
            score(hits, plan, scratch, y, n);
        }
    }
    return 0;
}

/* Every coordinate of every feature of every sample, as Definition 1 reads. */
static int test_full(double *hits, const simulation_plan *plan, simulation_scratch *scratch,
                     bang_random *environment, bang_random *random, bang_error *err)
{
    size_t K = plan->classes, d = plan->dimension;
    int per_sample = plan->options->draw == BANG_DRAW_SAMPLE;
    for (size_t y = 0; y < K && !per_sample; y++)
        draw_environment(scratch->shown + y * plan->features, plan, y, environment);
    for (int64_t s = 0; s < plan->options->test; s++) {
        if (bang_cancelled(plan->options->cancel))
            return bang_simulation_cancelled(err);
        size_t y = (size_t)bang_random_below(random, K);
        uint32_t *shown = scratch->shown + y * plan->features;
        if (per_sample)
            draw_environment(shown, plan, y, environment);
        bang_simulation_sample(scratch->seen, plan, plan->featurizer, plan->blocks, shown, 1,
                               scratch->noise, random);
        for (size_t b = 0; b < plan->blocks; b++)
            for (size_t i = b * K; i < (b + 1) * K; i++)
                scratch->output[i * BATCH] =
                    vector_dot(scratch->heads + i * d, scratch->seen + b * d, d);
        score(hits, plan, scratch, y, 1);
    }
    return 0;
}

int bang_simulation_test(double *hits, const simulation_plan *plan, simulation_scratch *scratch,
                         uint64_t run, bang_error *err)
{
    bang_random environment, random;
    bang_random_init(&environment, plan->options->seed, PURPOSE_ENVIRONMENT, run);
    bang_random_init(&random, plan->options->seed, PURPOSE_TEST, run);
    for (size_t i = 0; i < plan->scores; i++)
        hits[i] = 0;
    if (plan->options->full)
        return test_full(hits, plan, scratch, &environment, &random, err);
    return test_projected(hits, plan, scratch, &environment, &random, err);
}
