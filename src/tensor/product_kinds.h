/* The ways to compute a product that bang_product_run chooses from. */
#ifndef BANG_SRC_TENSOR_PRODUCT_KINDS_H
#define BANG_SRC_TENSOR_PRODUCT_KINDS_H

#include "bang/tensor/product.h"

/* One for each kind of vector instructions. */
void bang_product_portable_f32(const bang_product_f32 *p, float *scratch);
void bang_product_portable_f64(const bang_product_f64 *p, double *scratch);
#if defined(__x86_64__)
void bang_product_avx2_f32(const bang_product_f32 *p, float *scratch);
void bang_product_avx2_f64(const bang_product_f64 *p, double *scratch);
/* Where bang_product_has_avx512; the same bits as with AVX2. */
int bang_product_has_avx512(void);
void bang_product_avx512_f32(const bang_product_f32 *p, float *scratch);
void bang_product_avx512_f64(const bang_product_f64 *p, double *scratch);
#endif

#endif
