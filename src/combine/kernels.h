/* The arithmetic of bang/combine/blocks.h: the loops over numbers, in float and
 * double, one table per kind of vector instructions. All give the same bytes. */
#ifndef BANG_SRC_COMBINE_KERNELS_H
#define BANG_SRC_COMBINE_KERNELS_H

#include "bang/combine/blocks.h"

/* Where DARE's coins come from; see blocks.c. */
typedef struct bang_coins {
    uint32_t key[2];
    uint32_t limit; /* kept iff the word is at least this */
    uint64_t first; /* the block's first number within its tensor */
} bang_coins;

/* Numbers are worked on in pieces of so many bytes, some of which are in the
 * first cache at once. */
enum { BANG_PIECE_BYTES = 4096 };

/* As the functions of blocks.h, for one type to compute in. */
typedef struct bang_combine_real {
    size_t (*linear)(const bang_block *block, const double *weights);
    size_t (*dare)(const bang_block *block, const double *weights, double scale, double drop,
                   const bang_coins *coins);
    size_t (*ties)(const bang_block *block, const double *weights, double scale,
                   const float *thresholds);
    size_t (*fisher)(const bang_block *block, const double *weights);
    /* |x_input - x_0| as bits of floats, for count numbers from number `from` on. */
    void (*distances)(uint32_t *out, const bang_block *block, size_t input, size_t from,
                      size_t count);
} bang_combine_real;

typedef struct bang_combine_kernels {
    const char *name; /* "avx2", "portable" */
    bang_combine_real f32, f64;
    void (*gram)(const bang_block *block, double *gram);
    size_t (*not_finite)(const void *numbers, bang_dtype dtype, size_t count);
} bang_combine_kernels;

const bang_combine_kernels *bang_combine_best(void);
/* That of the best which the block's number types ask for. */
const bang_combine_real *bang_combine_for(const bang_block *block);
extern const bang_combine_kernels bang_combine_portable;
#if defined(__x86_64__)
extern const bang_combine_kernels bang_combine_avx2;
#endif

#endif
