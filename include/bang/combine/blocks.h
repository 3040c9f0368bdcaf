/* The arithmetic of combining models, a block of numbers at a time, and the
 * weights that follow from what was measured on whole tensors. Nothing here
 * knows files.
 *
 * Numbers come as bytes of any real type. All is computed in float, or in
 * double when the output or any input is F64, each product and sum rounded as
 * IEEE says (no fused operation, so that every processor gives the same bytes),
 * and rounded once more to the output's type. Weights are rounded once to the
 * type that is computed in.
 *
 *     bang_block block = {.inputs = 2, .count = n, .in = in, .in_types = types,
 *                         .out = out, .out_type = BANG_BF16};
 *     size_t bad = bang_block_linear(&block, (double[]){1 - alpha, alpha});
 */
#ifndef BANG_COMBINE_BLOCKS_H
#define BANG_COMBINE_BLOCKS_H

#include "bang/tensor/array.h"

/* Nothing need be aligned; what is aligned to its type's size is fastest. */
typedef struct bang_block {
    size_t inputs;
    size_t count;               /* numbers */
    const void *const *in;      /* (inputs) NULL: not read, its weight must be 0 */
    const bang_dtype *in_types; /* (inputs) real types, also of inputs that are NULL */
    void *out;                  /* overlaps no input */
    bang_dtype out_type;
} bang_block;

/* Each returns how many numbers of the output are not finite, after rounding to
 * its type; all NaNs are the same positive quiet one. An input of weight 0 is
 * left out (0 times NaN would be NaN).
 *
 * Linear: out = w_0 x_0 + w_1 x_1 + ..., in this order. */
size_t bang_block_linear(const bang_block *block, const double *weights);

/* How many numbers are infinite or NaN. */
size_t bang_block_not_finite(const void *numbers, bang_dtype dtype, size_t count);

/* For the two below input 0 is the base b, and d_i = x_i - b for i >= 1;
 * weights (inputs) belong to the inputs, weights[0] is not used.
 *
 * DARE (Yu et al. 2023): out = b + sum_i m_i (s w_i/(1 - drop)) d_i, where m_i is 0
 * with probability drop (0 <= drop < 1) and else 1, drawn for number first + j of
 * the tensor from (seed, key of the tensor's name, i) alone: blocks.c says how.
 * What is dropped is left out, even NaN. */
size_t bang_block_dare(const bang_block *block, const double *weights, double scale, double drop,
                       uint64_t seed, uint64_t key, uint64_t first);
/* For a tensor's name: its FNV-1a hash of 64 bits. */
uint64_t bang_block_key(const char *name);

/* TIES (Yadav et al. 2023): t_i = 0 where |d_i| as a float is below thresholds[i]
 * (that of input 0 is not used), else d_i; g = sign(sum_i w_i t_i);
 * out = b + s (sum w_i t_i / sum w_i) over those with sign(t_i) = g, or b where there
 * is none, so also where g = 0. Weights are at least 0. NaN gives NaN. */
size_t bang_block_ties(const bang_block *block, const double *weights, double scale,
                       const float *thresholds);

/* Fisher (Matena and Raffel 2022): out = sum_i (w_i f_i) x_i / sum_i w_i f_i, with
 * inputs x_0 .. x_{n-1}, f_0 .. f_{n-1} (inputs = 2n) and n weights; where the lower
 * sum is 0 or less, the average with weights w_i/sum w. NaN gives NaN. */
size_t bang_block_fisher(const bang_block *block, const double *weights);

/* Sums over a block in double: gram (inputs, inputs) += v_i v_j with v_0 = x_0 and
 * v_i = x_i - x_0, a difference of doubles. No input may be NULL; out is not used. */
void bang_block_gram(const bang_block *block, double *gram);

/* For TIES' thresholds, the keep-th largest of all |x_i - x_0| of a tensor, by radix:
 * as a float without its sign each has 31 bits, of which pass 0 looks at the upper
 * 11, pass 1 at the next 10 and pass 2 at the last 10. A pass counts, for the
 * numbers whose bits above those are prefix[i] (all in pass 0), their bits as
 * histogram[i][bits] (inputs, BANG_RADIX), added to what is there; nothing for
 * input 0 and for those that are NULL. NaN counts as largest; out is not used.
 *
 *     for (int pass = 0; pass < BANG_RADIX_PASSES; pass++) {
 *         memset(histogram, 0, ...);
 *         ... bang_block_histogram(&block, pass, prefix, histogram) for each block
 *         bang_radix_select(&prefix[i], &keep[i], pass, histogram + i*BANG_RADIX), i >= 1
 *     }
 *     memcpy(&threshold[i], &prefix[i], 4);
 */
enum { BANG_RADIX = 2048, BANG_RADIX_PASSES = 3 };
void bang_block_histogram(const bang_block *block, int pass, const uint32_t *prefix,
                          uint64_t *histogram);
/* Which bin of one input's BANG_RADIX holds the keep-th largest (1 <= keep <= how many
 * there are): extends *prefix by the bin (pass 0 begins anew) and takes what lies
 * above it from *keep. After the last pass *prefix are the bits of the threshold. */
void bang_radix_select(uint32_t *prefix, uint64_t *keep, int pass, const uint64_t *histogram);

/* Spherical interpolation of two from their gram (2, 2) above:
 * w = sin((1-t) o)/sin o, sin(t o)/sin o with o the angle between x_0 and x_1;
 * 1 - t, t where a vector is zero or they are parallel or opposite (sin o < 1e-4: there
 * the weights of parallel ones differ by less than 1e-8).
 * t of 0 and 1 give exactly (1, 0) and (0, 1). */
void bang_weights_slerp(double weights[2], const double *gram, double t);

/* Model stock (Jang et al. 2024) of n >= 1 fine-tuned models x_1 .. x_n and the base x_0
 * from their gram (n+1, n+1): c the mean cosine of the pairs d_i, d_j,
 * t = n c/(1 + (n-1) c) held within 0..1; w = 1 - t for the base, t/n each.
 * Returns t. Pairs with a d of 0 do not count; without any pair, or where one is not
 * finite, t = 1. */
double bang_weights_stock(double *weights, const double *gram, size_t models);

#endif
