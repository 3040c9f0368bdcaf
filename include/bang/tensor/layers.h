/* What a transformer is made of besides products: each layer's forward beside
 * its backward, in float and double, and a naive version of each in
 * layers_naive.c that tests compare with.
 *
 *     const bang_layers_f32 *k = bang_layers_best_f32();
 *     k->norm_forward(out, mean, scale, x, gain, bias, rows, width, 1e-5f);
 *
 * Any width, any alignment; rows lie one after the other unless a stride is
 * named. Gradients of parameters are added to what is there.
 */
#ifndef BANG_TENSOR_LAYERS_H
#define BANG_TENSOR_LAYERS_H

#include "bang/tensor/product.h"

#define BANG_LAYERS(real, suffix)                                                                  \
    /* softmax(Q K^T / sqrt(width) [causal mask]) V of one image or text and all heads. */         \
    typedef struct bang_attention_##suffix {                                                       \
        size_t tokens, heads, width; /* width: of one head */                                      \
        size_t queries;              /* only the first so many tokens ask; tokens: all */          \
        int causal;                  /* token i sees 0 .. i */                                     \
        const real *qkv;             /* (tokens, 3, heads, width) */                               \
        real *out;                   /* (queries, heads, width) */                                 \
        real *sums; /* (heads, queries) log of the softmax's denominator, kept for backward */     \
        /* backward only: */                                                                       \
        const real *out_gradient; /* (queries, heads, width) */                                    \
        real *qkv_gradient;       /* (tokens, 3, heads, width), overwritten; of tokens that do not \
                                   * ask the first third is zero */                                \
        real *scratch;            /* bang_attention_scratch numbers */                             \
    } bang_attention_##suffix;                                                                     \
                                                                                                   \
    typedef struct bang_layers_##suffix {                                                          \
        const char *name; /* "avx2", "portable", "naive" */                                        \
        /* out = (x - mean) scale gain + bias with scale = 1/sqrt(variance + epsilon); mean and    \
         * scale (rows) may both be NULL */                                                        \
        void (*norm_forward)(real * out, real *mean, real *scale, const real *x, const real *gain, \
                             const real *bias, size_t rows, size_t width, real epsilon);           \
        /* out again, from what forward left */                                                    \
        void (*norm_again)(real * out, const real *mean, const real *scale, const real *x,         \
                           const real *gain, const real *bias, size_t rows, size_t width);         \
        /* x_gradient += ; gain_gradient +=, bias_gradient += (width; both may be NULL) */         \
        void (*norm_backward)(real * x_gradient, real *gain_gradient, real *bias_gradient,         \
                              const real *out_gradient, const real *x, const real *mean,           \
                              const real *scale, const real *gain, size_t rows, size_t width);     \
        void (*gelu_forward)(real * out, const real *x, size_t count, bang_gelu kind);             \
        /* gradient *= gelu'(x); activated = gelu(x) again unless NULL; it may be x */             \
        void (*gelu_backward)(real * gradient, real *activated, const real *x, size_t count,       \
                              bang_gelu kind);                                                     \
        void (*attention_forward)(const bang_attention_##suffix *a);                               \
        void (*attention_backward)(const bang_attention_##suffix *a);                              \
        /* sum (width) += of all rows: the gradient of a bias */                                   \
        void (*add_rows)(real * sum, const real *x, size_t rows, size_t width);                    \
        /* y += x */                                                                               \
        void (*add)(real * y, const real *x, size_t count);                                        \
        /* out = x/|x| for each row, length (rows) kept; |x| = 0 gives 0 */                        \
        void (*unit_forward)(real * out, real *length, const real *x, size_t rows, size_t width);  \
        /* x_gradient overwritten = (g - out (out.g))/length */                                    \
        void (*unit_backward)(real * x_gradient, const real *out_gradient, const real *out,        \
                              const real *length, size_t rows, size_t width);                      \
        double (*square_sum)(const real *x, size_t count); /* in double, a fixed order */          \
    } bang_layers_##suffix;                                                                        \
    size_t bang_attention_scratch_##suffix(size_t tokens, size_t heads, size_t width);             \
    const bang_layers_##suffix *bang_layers_best_##suffix(void);                                   \
    extern const bang_layers_##suffix bang_layers_portable_##suffix, bang_layers_naive_##suffix

BANG_LAYERS(float, f32);
BANG_LAYERS(double, f64);

#endif
