/* How near the products of matrices come to what the processor can do at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bang/tensor/kernels.h"

enum { TURNS = 7 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Twelve independent chains of multiply-add: what no kernel can exceed. */
__attribute__((target("avx2,fma"))) static double fma_seconds(long count, float *out)
{
    __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    /* starts of their own, or the compiler keeps one chain for all */
    __m256 c0 = a, c1 = c0 + b, c2 = c1 + b, c3 = c2 + b, c4 = c3 + b, c5 = c4 + b;
    __m256 c6 = c5 + b, c7 = c6 + b, c8 = c7 + b, c9 = c8 + b, c10 = c9 + b, c11 = c10 + b;
    double begin = now();
    for (long i = 0; i < count; i++) {
        c0 = _mm256_fmadd_ps(c0, a, b), c1 = _mm256_fmadd_ps(c1, a, b);
        c2 = _mm256_fmadd_ps(c2, a, b), c3 = _mm256_fmadd_ps(c3, a, b);
        c4 = _mm256_fmadd_ps(c4, a, b), c5 = _mm256_fmadd_ps(c5, a, b);
        c6 = _mm256_fmadd_ps(c6, a, b), c7 = _mm256_fmadd_ps(c7, a, b);
        c8 = _mm256_fmadd_ps(c8, a, b), c9 = _mm256_fmadd_ps(c9, a, b);
        c10 = _mm256_fmadd_ps(c10, a, b), c11 = _mm256_fmadd_ps(c11, a, b);
    }
    double seconds = now() - begin;
    c0 = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c11;
    _mm256_storeu_ps(out, c0);
    return seconds;
}

static double peak(void)
{
    enum { COUNT = 20000000 };
    float sink[8];
    double best = INFINITY;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    for (int turn = 0; turn < TURNS; turn++)
        best = fmin(best, fma_seconds(COUNT, sink));
    return sink[0] > 0 ? 12.0 * 16 * COUNT / best / 1e9 : 0;
}
#else
static double peak(void)
{
    return 0;
}
#endif

int main(void)
{
    static const struct {
        const char *name;
        size_t m, n, k;
        int transposed, add;
    } cases[] = {
        {"first layer, forward", 100, 64, 5292, 0, 1},
        {"first layer, gradient of 48 inputs", 48, 64, 100, 1, 0},
        {"hidden layer, forward", 100, 64, 64, 0, 1},
        {"hidden layer, gradient", 64, 64, 100, 1, 0},
        {"last layer, forward", 100, 16, 64, 0, 1},
    };
    const bang_kernels_f32 *k = bang_kernels_best_f32();
    double most = peak();
    printf("kernels %s; multiply-add alone %.1f GFLOP/s\n", k->name, most);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t m = cases[i].m, n = cases[i].n, depth = cases[i].k;
        float *a = aligned_alloc(64, (m * depth + 16) / 16 * 64);
        float *b = aligned_alloc(64, n * depth * sizeof *b);
        float *c = aligned_alloc(64, m * n * sizeof *c);
        if (!a || !b || !c)
            return 1;
        memset(a, 0, m * depth * sizeof *a);
        memset(b, 0, n * depth * sizeof *b);
        memset(c, 0, m * n * sizeof *c);
        double flops = 2.0 * (double)m * (double)n * (double)depth, best = INFINITY;
        long repeats = (long)(2e8 / flops) + 1;
        for (int turn = 0; turn < TURNS; turn++) {
            double begin = now();
            for (long r = 0; r < repeats; r++)
                k->product(c, n, a, cases[i].transposed ? 1 : depth, cases[i].transposed ? m : 1, b,
                           n, m, n, depth, cases[i].add);
            best = fmin(best, (now() - begin) / (double)repeats);
        }
        printf("%-36s %6.1f GFLOP/s", cases[i].name, flops / best / 1e9);
        printf(most > 0 ? ", %.0f %% of that\n" : "\n", 100 * flops / best / 1e9 / most);
        free(a);
        free(b);
        free(c);
    }
    return 0;
}
