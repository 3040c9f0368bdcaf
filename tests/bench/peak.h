/* What one core can do at most, and time that other programs do not disturb much. */
#ifndef BANG_TESTS_BENCH_PEAK_H
#define BANG_TESTS_BENCH_PEAK_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bang/base/arena.h"

/* Seconds of this thread. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Zeroed, on large pages as in an arena; NULL without memory. */
static inline void *room(size_t bytes)
{
    bytes = (bytes + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, bytes);
    if (!memory)
        return NULL;
    bang_memory_large(memory, bytes);
    return memset(memory, 0, bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Twelve independent chains of multiply-add: what no kernel can exceed. Their starts differ, or the
 * compiler keeps one chain for all. */
#define CHAINS(name, features, vector, set, multiply_add, store)                                   \
    __attribute__((target(features), noinline)) static double name(long count, float *out)         \
    {                                                                                              \
        vector a = set(0.999f), b = set(0.001f);                                                   \
        vector c0 = a, c1 = c0 + b, c2 = c1 + b, c3 = c2 + b, c4 = c3 + b, c5 = c4 + b;            \
        vector c6 = c5 + b, c7 = c6 + b, c8 = c7 + b, c9 = c8 + b, c10 = c9 + b, c11 = c10 + b;    \
        double begin = now();                                                                      \
        for (long i = 0; i < count; i++) {                                                         \
            c0 = multiply_add(c0, a, b), c1 = multiply_add(c1, a, b);                              \
            c2 = multiply_add(c2, a, b), c3 = multiply_add(c3, a, b);                              \
            c4 = multiply_add(c4, a, b), c5 = multiply_add(c5, a, b);                              \
            c6 = multiply_add(c6, a, b), c7 = multiply_add(c7, a, b);                              \
            c8 = multiply_add(c8, a, b), c9 = multiply_add(c9, a, b);                              \
            c10 = multiply_add(c10, a, b), c11 = multiply_add(c11, a, b);                          \
        }                                                                                          \
        double seconds = now() - begin;                                                            \
        store(out, c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c11);                   \
        return seconds;                                                                            \
    }
CHAINS(fma_seconds_256, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_storeu_ps)
CHAINS(fma_seconds_512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_storeu_ps)
#undef CHAINS

/* Operations in a second; 0 where this is not known. */
static inline double peak(void)
{
    enum { COUNT = 5000000, TURNS = 15 };
    float sink[16];
    double best = INFINITY;
    int wide = __builtin_cpu_supports("avx512f");
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    for (int turn = 0; turn < TURNS; turn++)
        best = fmin(best, wide ? fma_seconds_512(COUNT, sink) : fma_seconds_256(COUNT, sink));
    return sink[0] > 0 ? 12.0 * (wide ? 32 : 16) * COUNT / best : 0;
}
#else
static inline double peak(void)
{
    return 0;
}
#endif

#endif
