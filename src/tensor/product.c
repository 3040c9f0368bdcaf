#include "bang/tensor/product.h"
#include "tensor/product_kinds.h"

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

int bang_product_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

#define BEST(type)                                                                                 \
    (bang_product_has_avx512() ? bang_product_avx512_##type                                        \
     : has_avx2()              ? bang_product_avx2_##type                                          \
                               : bang_product_portable_##type)
#else
#define BEST(type) bang_product_portable_##type
#endif

/* The larger of the blocks that product_template.h packs, and some panels' width. */
size_t bang_product_scratch_f32(void)
{
    return (size_t)(3200 / sizeof(float)) * (804 + 32) + 64;
}

size_t bang_product_scratch_f64(void)
{
    return (size_t)(3200 / sizeof(double)) * (804 + 32) + 64;
}

void bang_product_run_f32(const bang_product_f32 *p, float *scratch)
{
    BEST(f32)(p, scratch);
}

void bang_product_run_f64(const bang_product_f64 *p, double *scratch)
{
    BEST(f64)(p, scratch);
}
