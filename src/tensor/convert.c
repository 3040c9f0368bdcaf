#include "tensor/convert.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdatomic.h>

/* Not every compiler's __builtin_cpu_supports knows F16C, and to ask the processor
 * takes long under a hypervisor, so once is enough. */
static int has_f16c(void)
{
    static atomic_int known; /* 0: not yet, 1: no, 2: yes */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        answer = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2;
}
#endif

const bang_converter *bang_converter_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && has_f16c())
        return &bang_converter_avx2;
#endif
    return &bang_converter_portable;
}

void bang_to_f32(float *out, const void *in, bang_dtype dtype, size_t count)
{
    bang_converter_best()->to_f32(out, in, dtype, count);
}

void bang_from_f32(void *out, bang_dtype dtype, const float *in, size_t count)
{
    bang_converter_best()->from_f32(out, dtype, in, count);
}

void bang_to_f64(double *out, const void *in, bang_dtype dtype, size_t count)
{
    bang_converter_best()->to_f64(out, in, dtype, count);
}

void bang_from_f64(void *out, bang_dtype dtype, const double *in, size_t count)
{
    bang_converter_best()->from_f64(out, dtype, in, count);
}
