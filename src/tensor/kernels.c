#include "bang/tensor/kernels.h"

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const bang_kernels_f32 *bang_kernels_best_f32(void)
{
    return has_avx2() ? &bang_kernels_avx2_f32 : &bang_kernels_portable_f32;
}

const bang_kernels_f64 *bang_kernels_best_f64(void)
{
    return has_avx2() ? &bang_kernels_avx2_f64 : &bang_kernels_portable_f64;
}
#else
const bang_kernels_f32 *bang_kernels_best_f32(void)
{
    return &bang_kernels_portable_f32;
}

const bang_kernels_f64 *bang_kernels_best_f64(void)
{
    return &bang_kernels_portable_f64;
}
#endif
