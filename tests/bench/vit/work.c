#include "vit.h"

#include <math.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bang/base/thread.h"

static double clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double wall_seconds(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

double core_seconds(void)
{
    return clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Multiply-adds of one image's forward pass when so many tokens are computed in the
 * last block after its keys and values. */
static double forward_products(const bang_vit_config *c, double last)
{
    double tokens = (double)bang_vit_tokens(c), width = (double)c->width;
    double hidden = (double)c->hidden, blocks = (double)c->depth - 1;
    double token = width * (2 * width + 2 * hidden); /* q, proj, fc1, fc2 */
    double seen = 2 * tokens * width;                /* scores and what they weigh */
    double keys = 2 * width * width;
    return blocks * tokens * (token + seen + keys) + tokens * keys + last * (token + seen) +
           width * (double)c->classes;
}

/* Multiply-adds of the patches, which need no gradient of their input. */
static double patch_products(const bang_vit_config *c)
{
    double in = (double)(c->channels * c->patch * c->patch);
    return ((double)bang_vit_tokens(c) - 1) * in * (double)c->width;
}

static double work(const job *j, double last)
{
    double forward = forward_products(&j->config, last), patches = patch_products(&j->config);
    if (j->purpose == BANG_VIT_PREDICT)
        return 2 * (forward + patches);
    return 2 * (3 * forward + 2 * patches);
}

double nominal_work(const job *j)
{
    return work(j, (double)bang_vit_tokens(&j->config));
}

double exact_work(const job *j)
{
    return work(j, 1);
}

/* ---- The processor's peak ---- */

#if defined(__x86_64__)

enum { ROUNDS = 4000000, REPEATS = 10, CHAINS = 10, LANES = 8, TURNS = 5 };

/* Ten chains, different lest they be computed as one, hide a latency of four or five
 * cycles on two units. */
__attribute__((target("avx2,fma"))) static float multiply_add(float start)
{
    __m256 m = _mm256_set1_ps(0.999F), a = _mm256_set1_ps(0.5F), x0 = _mm256_set1_ps(start), x1 = m;
    __m256 x2 = x0 + x1, x3 = x1 + x2, x4 = x2 + x3, x5 = x3 + x4, x6 = x4 + x5, x7 = x5 + x6;
    __m256 x8 = x6 + x7, x9 = x7 + x8;
    for (int i = 0; i < ROUNDS; i++) {
        x0 = _mm256_fmadd_ps(x0, m, a), x1 = _mm256_fmadd_ps(x1, m, a);
        x2 = _mm256_fmadd_ps(x2, m, a), x3 = _mm256_fmadd_ps(x3, m, a);
        x4 = _mm256_fmadd_ps(x4, m, a), x5 = _mm256_fmadd_ps(x5, m, a);
        x6 = _mm256_fmadd_ps(x6, m, a), x7 = _mm256_fmadd_ps(x7, m, a);
        x8 = _mm256_fmadd_ps(x8, m, a), x9 = _mm256_fmadd_ps(x9, m, a);
    }
    return _mm256_cvtss_f32(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9);
}

/* What a thread brings, per second of its own: others may be on its core, too. */
static int one_thread(void *context, size_t index, int thread, bang_error *err)
{
    (void)thread, (void)err;
    double *speed = (double *)context + index, begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
    volatile float sum = 0;
    for (int i = 0; i < REPEATS; i++)
        sum = multiply_add(sum); /* each needs the one before: none is left out */
    *speed = 2.0 * REPEATS * ROUNDS * CHAINS * LANES / (clock_of(CLOCK_THREAD_CPUTIME_ID) - begin);
    return 0;
}

double measure_peak(int threads)
{
    enum { MOST = 256 };
    double speed[MOST], best = 0;
    bang_error err = {0};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || threads > MOST)
        return 0;
    for (int turn = 0; turn < TURNS; turn++) {
        if (bang_parallel_for((size_t)threads, threads, one_thread, speed, NULL, &err) < 0)
            return 0;
        double sum = 0;
        for (int t = 0; t < threads; t++)
            sum += speed[t];
        best = fmax(best, sum);
    }
    return best;
}

#else

double measure_peak(int threads)
{
    (void)threads;
    return 0;
}

#endif
