/* Large matrix products, with what a layer does to the result folded in: the
 * output is touched while it is still in the cache.
 *
 *     C = A B  (+ C)  (+ bias on every row)  (+ residual),   D = gelu(C)
 *
 *     bang_product_f32 p = {.m = rows, .n = out, .k = in,
 *                           .a = x, .a_row = in, .a_column = 1,           // x (rows, in)
 *                           .b = weight, .b_row = 1, .b_column = in,      // weight^T, (out, in)
 *                           .c = y, .c_row = out, .bias = bias};
 *     bang_product_run_f32(&p, scratch);
 *
 * Each operand may lie transposed: one of its two strides is 1. One call runs on
 * the calling thread; callers split work over images, never inside a product.
 * A result does not depend on what else runs, and row i of C not on m. Processors with AVX2
 * and with AVX-512 give the same bits; others round after each multiplication.
 */
#ifndef BANG_TENSOR_PRODUCT_H
#define BANG_TENSOR_PRODUCT_H

#include <stddef.h>

/* EXACT: x/2 (1 + erf(x/sqrt(2))).  QUICK: x/(1 + exp(-1.702 x)), of OpenAI's CLIP.
 * TANH: x/2 (1 + tanh(sqrt(2/pi) (x + .044715 x^3))). */
typedef enum bang_gelu { BANG_GELU_EXACT, BANG_GELU_QUICK, BANG_GELU_TANH } bang_gelu;

#define BANG_PRODUCT(real, suffix)                                                                 \
    typedef struct bang_product_##suffix {                                                         \
        size_t m, n, k;                                                                            \
        const real *a; /* (m, k): element (i, j) is a[i*a_row + j*a_column] */                     \
        size_t a_row, a_column;                                                                    \
        const real *b; /* (k, n) likewise */                                                       \
        size_t b_row, b_column;                                                                    \
        real *c; /* (m, n): c[i*c_row + j] */                                                      \
        size_t c_row;                                                                              \
        int add;              /* to what C holds */                                                \
        const real *bias;     /* (n) or NULL */                                                    \
        const real *residual; /* (m, n), rows residual_row apart, may be C; or NULL */             \
        size_t residual_row;                                                                       \
        real *activated; /* D (m, n), rows c_row apart, may be C; or NULL */                       \
        bang_gelu gelu;                                                                            \
    } bang_product_##suffix;                                                                       \
    /* Numbers that a call needs as scratch, whatever its sizes; aligned to 64 bytes. */           \
    size_t bang_product_scratch_##suffix(void);                                                    \
    void bang_product_run_##suffix(const bang_product_##suffix *p, real *scratch);                 \
    /* The same as three loops, for tests. */                                                      \
    void bang_product_naive_##suffix(const bang_product_##suffix *p)

BANG_PRODUCT(float, f32);
BANG_PRODUCT(double, f64);

#endif
