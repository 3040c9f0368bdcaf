/* A data set for training and prediction, from a folder or by name.
 *
 *     bang_dataset set;
 *     bang_dataset_open(&set, "multicolor:split=test,p=0.8,seed=3", &err);
 *
 * A source is
 *     DIR                          images.npy (n, ...) u8 or float, labels.npy (n) integers;
 *                                  without labels.npy, labels are not known
 *     mnist, fashion-mnist         28x28 grey, with :split=train|test,count=N
 *     multicolor, singlecolor      with :split=train|test,p=P,seed=S,count=N,protocol=NAME
 *     shift                        digits under shifts (bang/data/shift.h), 28x28 grey, with
 *                                  :kind=KIND,split=train|val|test,seed=S,count=N
 * where split is train, p 0, seed 1, kind id and count all unless said; the kinds that are
 * tested on only (v2, r, a, s, o) have the split test unless said. A folder goes before a name.
 */
#ifndef BANG_DATA_DATASET_H
#define BANG_DATA_DATASET_H

#include "bang/tensor/array.h"

typedef struct bang_dataset {
    bang_array inputs; /* (count, ...) BANG_U8 (pixels, read as value / 255) or BANG_F32 */
    bang_array labels; /* (count) BANG_I64, 0 .. classes-1, below 2^31 - 1; all -1: not known */
    size_t count;
    size_t width;   /* numbers in one input */
    size_t classes; /* 10 for the named sets, else the largest label + 1, 0: not known */
    const char *const *class_names; /* (classes) borrowed for ever; NULL: numbers */
} bang_dataset;

/* The caller releases it. MNIST is fetched when a named set needs it and the
 * cache does not hold it; Fashion-MNIST is not. */
int bang_dataset_open(bang_dataset *out, const char *source, bang_error *err);
void bang_dataset_release(bang_dataset *set);

#endif
