#include "bang/combine/blocks.h"

#include <math.h>

#include "combine/kernels.h"

const bang_combine_kernels *bang_combine_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &bang_combine_avx2;
#endif
    return &bang_combine_portable;
}

const bang_combine_real *bang_combine_for(const bang_block *block)
{
    const bang_combine_kernels *best = bang_combine_best();
    int wide = block->out_type == BANG_F64;
    for (size_t i = 0; i < block->inputs; i++)
        wide |= block->in_types[i] == BANG_F64;
    return wide ? &best->f64 : &best->f32;
}

size_t bang_block_linear(const bang_block *block, const double *weights)
{
    return bang_combine_for(block)->linear(block, weights);
}

/* Mixes all bits with all (Steele, Lea and Flood 2014, as in SplitMix64). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
}

/* The coin of number j of a tensor and model i is word j % 4 of Philox 4x32-10
 * with the counter (low half of j/4, its high half, i, "dare") and as key the
 * halves, low first, of mixed(seed + 0x9E3779B97F4A7C15) ^ key: a function of
 * these alone, however the tensor is cut into blocks. The number is kept iff the
 * word is at least drop 2^32, rounded up, but at most 2^32 - 1. */
size_t bang_block_dare(const bang_block *block, const double *weights, double scale, double drop,
                       uint64_t seed, uint64_t key, uint64_t first)
{
    uint64_t both = mixed(seed + 0x9E3779B97F4A7C15U) ^ key;
    double limit = ceil(drop * 0x1p32);
    bang_coins coins = {
        .key = {(uint32_t)both, (uint32_t)(both >> 32)},
        .limit = limit > 0 ? limit < 0x1p32 ? (uint32_t)limit : UINT32_MAX : 0,
        .first = first,
    };
    return bang_combine_for(block)->dare(block, weights, scale, drop, &coins);
}

uint64_t bang_block_key(const char *name)
{
    uint64_t hash = 0xCBF29CE484222325U;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001B3U;
    return hash;
}

size_t bang_block_ties(const bang_block *block, const double *weights, double scale,
                       const float *thresholds)
{
    return bang_combine_for(block)->ties(block, weights, scale, thresholds);
}

size_t bang_block_fisher(const bang_block *block, const double *weights)
{
    return bang_combine_for(block)->fisher(block, weights);
}

void bang_block_gram(const bang_block *block, double *gram)
{
    bang_combine_best()->gram(block, gram);
}

size_t bang_block_not_finite(const void *numbers, bang_dtype dtype, size_t count)
{
    const char *bytes = numbers;
    size_t bad = 0, most = (size_t)1 << 30, size = bang_dtype_size(dtype);
    for (size_t n; count > 0; count -= n, bytes += n * size) {
        n = count < most ? count : most;
        bad += bang_combine_best()->not_finite(bytes, dtype, n);
    }
    return bad;
}
