/* The blocks of transformers, for images and texts, forward and backward.
 * Private to this room.
 *
 * A pass takes `count` sequences through the blocks. Of the last block's output one
 * row per sequence is wanted: there all but keys and values is computed for that row
 * alone, exactly. Images have `tokens` rows each and want the first; texts have as many
 * rows as they need and want the last.
 */
#ifndef BANG_MODEL_VIT_BLOCK_H
#define BANG_MODEL_VIT_BLOCK_H

#include "bang/model/vit.h"

/* Memory in one piece: first with base NULL to learn how much, then to hand it out.
 * used is SIZE_MAX once it was too much. */
#define VIT_BLOCK(real, suffix)                                                                    \
    typedef struct vit_room_##suffix {                                                             \
        real *base;                                                                                \
        size_t used; /* numbers */                                                                 \
    } vit_room_##suffix;                                                                           \
    /* (rows, width) aligned to 64 bytes; NULL while counting. */                                  \
    real *bang_vit_place_##suffix(vit_room_##suffix *room, size_t rows, size_t width);             \
                                                                                                   \
    /* What is the same for all blocks. S sequences, R rows in all. */                             \
    typedef struct vit_pass_##suffix {                                                             \
        const bang_layers_##suffix *layers;                                                        \
        size_t width, heads, hidden, tokens, count;                                                \
        int causal, add; /* add: matrices' gradients to what is there, or overwrite it */          \
        bang_gelu gelu;                                                                            \
        real epsilon;                                                                              \
        const size_t *start; /* (S + 1) first rows of texts; NULL: images, tokens rows each */     \
        real *product, *attention; /* scratch of the kernels */                                    \
        real *normed;              /* (R, width) */                                                \
        real *wide;                /* (R, max(hidden, 3 width)) */                                 \
        real *back;                /* (R, width) for backward; may be NULL */                      \
        real *rows;                /* (S, width) */                                                \
        real *last; /* (S, width) gradient of what comes out; free in a forward pass */            \
    } vit_pass_##suffix;                                                                           \
                                                                                                   \
    /* What a block's forward leaves for its backward. In the last block attended, x2 and          \
     * what follows have S rows. Where nothing goes back, x2 may be x and out, attended            \
     * pass->normed, and qkv and inner pass->wide; mean and scale NULL. */                         \
    typedef struct vit_kept_##suffix {                                                             \
        real *x;              /* (R, width) what comes in */                                       \
        real *mean1, *scale1; /* (R) */                                                            \
        real *qkv;            /* (R, 3, width) */                                                  \
        real *sums;           /* (S, heads, tokens) */                                             \
        real *attended;       /* (R, width) */                                                     \
        real *x2;             /* (R, width) after attention */                                     \
        real *mean2, *scale2; /* (R) */                                                            \
        real *inner;          /* (R, hidden) what goes into the GELU */                            \
    } vit_kept_##suffix;                                                                           \
                                                                                                   \
    /* Working memory for so many sequences of up to pass->tokens. */                              \
    void bang_vit_pass_place_##suffix(vit_pass_##suffix *pass, vit_room_##suffix *room,            \
                                      size_t sequences, int backward);                             \
    /* out (R, width); NULL: only up to kept->inner, all that backward needs. */                   \
    void bang_vit_block_forward_##suffix(const vit_pass_##suffix *pass, const bang_vit_block *at,  \
                                         const real *parameters, const vit_kept_##suffix *kept,    \
                                         real *out);                                               \
    /* out (S, width), not x2. */                                                                  \
    void bang_vit_last_forward_##suffix(const vit_pass_##suffix *pass, const bang_vit_block *at,   \
                                        const real *parameters, const vit_kept_##suffix *kept,     \
                                        real *out);                                                \
    /* x_gradient (R, width): of out before, of x after. kept->inner is spoiled. Leaves in         \
     * pass->normed and pass->back (R, width) what norm1 puts out and its gradient. gradient may   \
     * be NULL: then only x's is computed. */                                                      \
    void bang_vit_block_backward_##suffix(const vit_pass_##suffix *pass, const bang_vit_block *at, \
                                          const real *parameters, real *gradient,                  \
                                          const vit_kept_##suffix *kept, real *x_gradient);        \
    /* pass->last: of out before; x_gradient (R, width) is overwritten. Images only.               \
     * The rest as above. */                                                                       \
    void bang_vit_last_backward_##suffix(const vit_pass_##suffix *pass, const bang_vit_block *at,  \
                                         const real *parameters, real *gradient,                   \
                                         const vit_kept_##suffix *kept, real *x_gradient);         \
                                                                                                   \
    /* y (rows, out) = x W^T (+ bias) with W (out, in); y_row numbers from row to row. */          \
    void bang_vit_linear_##suffix(const vit_pass_##suffix *pass, real *y, size_t y_row,            \
                                  const real *x, const real *weight, const real *bias,             \
                                  size_t rows, size_t out, size_t in);                             \
    /* The gradient of W = (or +=) y'^T x; nothing where that is NULL. */                          \
    void bang_vit_linear_weight_##suffix(const vit_pass_##suffix *pass, real *weight_gradient,     \
                                         const real *y_gradient, size_t y_row, const real *x,      \
                                         size_t rows, size_t out, size_t in);                      \
    /* The gradient of the bias += sum of y' over rows; nothing where that is NULL. */             \
    void bang_vit_bias_##suffix(const vit_pass_##suffix *pass, real *bias_gradient,                \
                                const real *y_gradient, size_t rows, size_t out);                  \
    /* x' = y' W */                                                                                \
    void bang_vit_linear_input_##suffix(const vit_pass_##suffix *pass, real *x_gradient,           \
                                        const real *y_gradient, size_t y_row, const real *weight,  \
                                        size_t rows, size_t out, size_t in)

VIT_BLOCK(float, f32);
VIT_BLOCK(double, f64);

#endif
