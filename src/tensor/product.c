#include "bang/tensor/product.h"

size_t bang_product_scratch_f32(void)
{
    return 16;
}

size_t bang_product_scratch_f64(void)
{
    return 16;
}

void bang_product_run_f32(const bang_product_f32 *p, float *scratch)
{
    (void)scratch;
    bang_product_naive_f32(p);
}

void bang_product_run_f64(const bang_product_f64 *p, double *scratch)
{
    (void)scratch;
    bang_product_naive_f64(p);
}
