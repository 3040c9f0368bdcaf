/* Sums over pairs of numbers, from a block to a checkpoint. */
#ifndef BANG_COMBINE_DIFFERENCE_PRIVATE_H
#define BANG_COMBINE_DIFFERENCE_PRIVATE_H

#include "bang/combine/difference.h"

/* Of one block, or with what was lost by rounding of several. */
enum { BANG_SUM_AA, BANG_SUM_BB, BANG_SUM_AB, BANG_SUM_DD, BANG_SUM_COUNT };

typedef struct bang_pair_sums {
    double sum[BANG_SUM_COUNT];  /* a a, b b, a b, (b-a)(b-a) */
    double lost[BANG_SUM_COUNT]; /* to be added to it; 0 for a block */
    double max_abs;
    uint64_t not_finite;
    int unequal; /* some byte */
} bang_pair_sums;

/* 1 if numbers of this type can be compared as doubles. */
int bang_pair_is_number(bang_dtype dtype);
/* Adds count pairs to sums, which hold nothing lost. */
void bang_pair_block(bang_pair_sums *sums, const void *a, bang_dtype a_type, const void *b,
                     bang_dtype b_type, size_t count);
/* Adds more to sums, with compensation (Neumaier). */
void bang_pair_add(bang_pair_sums *sums, const bang_pair_sums *more);
/* What the sums over count pairs say. */
void bang_pair_finish(bang_change *change, const bang_pair_sums *sums, uint64_t count);

/* Finds the layers of d->tensors, without their changes; -1 when memory is out. */
int bang_difference_layers(bang_difference *d);

#endif
