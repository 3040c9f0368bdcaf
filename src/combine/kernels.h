/* The arithmetic of bang/combine/blocks.h: the loops over numbers, in float and
 * double, one table per kind of vector instructions. All give the same bytes. */
#ifndef BANG_SRC_COMBINE_KERNELS_H
#define BANG_SRC_COMBINE_KERNELS_H

#include "bang/combine/blocks.h"

/* Where DARE's coins come from; see blocks_task.c. */
typedef struct bang_coins {
    uint32_t key[2];
    uint32_t limit; /* kept iff the word is at least this */
    uint64_t first;
} bang_coins;

/* Numbers are worked on in pieces of so many bytes, some of which are in the
 * first cache at once. */
enum { BANG_PIECE = 4096 };

#define BANG_COMBINE_MEMBERS(real)                                                                 \
    size_t (*linear)(const bang_block *block, const double *weights);                              \
    size_t (*dare)(const bang_block *block, const double *weights, double scale, double drop,      \
                   const bang_coins *coins);                                                       \
    size_t (*ties)(const bang_block *block, const double *weights, double scale,                   \
                   const float *thresholds);                                                       \
    size_t (*fisher)(const bang_block *block, const double *weights);                              \
    /* |x - base| as the bits of a float. */                                                       \
    void (*distances)(uint32_t * out, const real *x, const real *base, size_t count)

typedef struct bang_combine_f32 {
    BANG_COMBINE_MEMBERS(float);
} bang_combine_f32;
typedef struct bang_combine_f64 {
    BANG_COMBINE_MEMBERS(double);
} bang_combine_f64;

typedef struct bang_combine_kernels {
    const char *name; /* "avx2", "portable" */
    bang_combine_f32 f32;
    bang_combine_f64 f64;
    void (*gram)(const bang_block *block, double *gram);
} bang_combine_kernels;

const bang_combine_kernels *bang_combine_best(void);
extern const bang_combine_kernels bang_combine_portable;
#if defined(__x86_64__)
extern const bang_combine_kernels bang_combine_avx2;
#endif

#endif
