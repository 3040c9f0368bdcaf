/* How far two checkpoints are apart: tensor by tensor, layer by layer, in all.
 *
 *     bang_difference found;
 *     bang_stream stream = BANG_STREAM_INIT;
 *     bang_difference_measure(&found, before, after, &stream, &err);
 *     found.total.relative_change;           // |b - a|/|a| over all weights
 *     bang_difference_release(&found);
 *
 * Numbers of any two types are compared as doubles, integers too (those beyond
 * 2^53 are rounded), BOOL as 0 and 1. Integers are counters and indices, not weights:
 * layers and the total leave their tensors out. Memory is bounded by the number of
 * tensors, not by their size, and results do not depend on threads.
 */
#ifndef BANG_COMBINE_DIFFERENCE_H
#define BANG_COMBINE_DIFFERENCE_H

#include "bang/base/arena.h"
#include "bang/store/checkpoint.h"
#include "bang/store/stream.h"

/* What is said of the numbers a of the first checkpoint and b of the second;
 * |x| is the square root of the sum of squares. NAN where it is not defined:
 *
 *     cosine           <a,b>/(|a||b|), within -1 .. 1      when |a| or |b| is 0
 *     norm_ratio       |b|/|a|                             when |a| is 0
 *     relative_change  |b - a|/|a|, 0 when a equals b      when |a| is 0 and |b| is not
 *     max_abs          the largest |b_i - a_i|             never
 *
 * Where a equals b, number for number, cosine and norm_ratio are exactly 1.
 * F64 numbers whose squares are no doubles (beyond 1e154) leave all but max_abs
 * undefined.
 *
 * A pair of which one is NaN or infinite is counted and left out. A tensor with
 * such a pair has all four undefined; layers and the total go on without them. Of a
 * layer in which only integers differ and nothing else is, all is undefined. */
typedef struct bang_change {
    uint64_t count;      /* pairs of numbers, with those left out */
    uint64_t not_finite; /* pairs left out */
    double norm_a, norm_b;
    double cosine, norm_ratio, relative_change, max_abs;
} bang_change;

typedef struct bang_tensor_change {
    const bang_entry *a, *b; /* of the same name and shape */
    size_t layer;            /* index */
    int equal;               /* the same type and the same bytes */
    bang_change change;      /* a type without arithmetic is here only if equal: change 0 */
} bang_tensor_change;

typedef struct bang_layer_change {
    const char *name;
    size_t tensors, equal; /* how many; how many of them are equal */
    bang_change change;
} bang_layer_change;

/* A name that both have for what cannot be compared. */
typedef struct bang_mismatch {
    const bang_entry *a, *b;
    const char *why; /* "shape (2, 3) and (3, 2)" */
} bang_mismatch;

/* Entries are those of the checkpoints, which must stay; the rest is owned. */
typedef struct bang_difference {
    size_t count;
    bang_tensor_change *tensors; /* (count) in the order of the first checkpoint */
    size_t layer_count;
    /* (layer_count) in the order of the first checkpoint; layers whose names differ
     * in numbers only stand together, by these numbers (2 before 10). */
    bang_layer_change *layers;
    size_t only_a_count, only_b_count;
    const bang_entry **only_a, **only_b;
    size_t different_count;
    bang_mismatch *different;
    size_t equal; /* tensors */
    bang_change total;
    bang_arena arena; /* holds all of it */
} bang_difference;

/* stream says how to read. The caller releases what was found. */
int bang_difference_measure(bang_difference *out, const bang_checkpoint *a,
                            const bang_checkpoint *b, bang_stream *stream, bang_error *err);
/* Also right after a failure. */
void bang_difference_release(bang_difference *difference);

/* 1 if layers and the total are made from it too: none of the two holds integers. */
int bang_tensor_change_counts(const bang_tensor_change *tensor);

/* Compares names as people sort them: numbers by their value, else byte by byte. */
int bang_name_compare(const char *a, const char *b);

#endif
