#include "bang/tensor/product.h"
#include "tensor/product_kinds.h"

/* Ours is the faster one where it can use AVX2 and OpenBLAS has nothing wider. */
static int use_own(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           !__builtin_cpu_supports("avx512f");
#else
    return 0;
#endif
}

/* The larger of the blocks that product_template.h packs, and some panels' width. */
size_t bang_product_scratch_f32(void)
{
    return (size_t)(3200 / sizeof(float)) * (804 + 16) + 64;
}

size_t bang_product_scratch_f64(void)
{
    return (size_t)(3200 / sizeof(double)) * (804 + 16) + 64;
}

void bang_product_run_f32(const bang_product_f32 *p, float *scratch)
{
#if defined(__x86_64__)
    if (use_own()) {
        bang_product_avx2_f32(p, scratch);
        return;
    }
#endif
    bang_product_blas_f32(p, scratch);
}

void bang_product_run_f64(const bang_product_f64 *p, double *scratch)
{
#if defined(__x86_64__)
    if (use_own()) {
        bang_product_avx2_f64(p, scratch);
        return;
    }
#endif
    bang_product_blas_f64(p, scratch);
}
