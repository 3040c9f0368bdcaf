/* The inner loops of training, for float and double, in one version per kind
 * of vector instructions; the best that the processor has is chosen at run
 * time. Every kernel has its plain reference in tests/test_tensor_kernels.c.
 *
 *     const bang_kernels_f32 *k = bang_kernels_best_f32();
 *     k->product(...);
 *
 * Rows of numbers that kernels write or read as vectors are aligned to 64 bytes
 * and a multiple of BANG_LANES numbers long ("padded").
 */
#ifndef BANG_TENSOR_KERNELS_H
#define BANG_TENSOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { BANG_LANES = 16 };

/* n rounded up to a multiple of BANG_LANES. */
static inline size_t bang_padded(size_t n)
{
    return (n + BANG_LANES - 1) / BANG_LANES * BANG_LANES;
}

/* What is the same for all numbers in one step of an optimiser (train.h has the
 * formulas). */
#define BANG_STEP_MEMBERS(real)                                                                    \
    real rate;            /* SGD: r; Adam: r/(1 - b1^t) */                                         \
    real beta1, beta2;    /* SGD: beta1 is the momentum */                                         \
    real root_correction; /* Adam: 1/sqrt(1 - b2^t) */                                             \
    real epsilon;                                                                                  \
    real keep;          /* w is multiplied by this first (AdamW's decay) */                        \
    real decay;         /* decay*w is added to the gradient */                                     \
    real gradient_scale /* the gradient is multiplied by this (clipping, multiplicity) */

typedef struct bang_step_f32 {
    BANG_STEP_MEMBERS(float);
} bang_step_f32;
typedef struct bang_step_f64 {
    BANG_STEP_MEMBERS(double);
} bang_step_f64;

#define BANG_KERNEL_MEMBERS(real, step)                                                            \
    const char *name; /* "avx2", "portable" */                                                     \
    /* C (m, n) = A (m, k) B (k, n), added to what C holds if add is set. A's element (i, j) is    \
     * a[i*a_row + j*a_column]; n is padded. */                                                    \
    void (*product)(real * c, size_t c_row, const real *a, size_t a_row, size_t a_column,          \
                    const real *b, size_t b_row, size_t m, size_t n, size_t k, int add);           \
    /* z (n) += sum_i value[i] W[column[i]] with W (.., n); all values 1 when value is NULL. */    \
    void (*gather)(real * z, const real *w, size_t n, const uint16_t *column, const float *value,  \
                   size_t count);                                                                  \
    /* The way back: W[column[i]] += value[i] z. */                                                \
    void (*scatter)(real * w, const real *z, size_t n, const uint16_t *column, const float *value, \
                    size_t count);                                                                 \
    /* out = a*x + b*y */                                                                          \
    void (*mix)(real * out, real a, const real *x, real b, const real *y, size_t n);               \
    /* x = max(x, 0);  d = 0 where x is 0 */                                                       \
    void (*relu_forward)(real * x, size_t n);                                                      \
    void (*relu_backward)(real * d, const real *x, size_t n);                                      \
    /* out = byte/255 or number, any n and alignment */                                            \
    void (*from_u8)(real * out, const uint8_t *in, size_t n);                                      \
    void (*from_f32)(real * out, const float *in, size_t n);                                       \
    /* One step of n numbers: w, gradient, moments. */                                             \
    void (*adam)(real * w, const real *g, real *m, real *v, size_t n, const step *s);              \
    void (*sgd)(real * w, const real *g, real *m, size_t n, const step *s)

typedef struct bang_kernels_f32 {
    BANG_KERNEL_MEMBERS(float, bang_step_f32);
} bang_kernels_f32;
typedef struct bang_kernels_f64 {
    BANG_KERNEL_MEMBERS(double, bang_step_f64);
} bang_kernels_f64;

const bang_kernels_f32 *bang_kernels_best_f32(void);
const bang_kernels_f64 *bang_kernels_best_f64(void);

/* Each version by itself, for tests and for machines of other kinds. */
extern const bang_kernels_f32 bang_kernels_portable_f32;
extern const bang_kernels_f64 bang_kernels_portable_f64;
#if defined(__x86_64__)
extern const bang_kernels_f32 bang_kernels_avx2_f32;
extern const bang_kernels_f64 bang_kernels_avx2_f64;
#endif

#endif
