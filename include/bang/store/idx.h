/* The idx format of MNIST: two zero bytes, a type byte, the rank, one
 * big-endian u32 per dimension, then the numbers, big-endian. Files may be
 * compressed with gzip.
 *
 *     bang_idx_read(&images, "train-images-idx3-ubyte.gz", &err);
 */
#ifndef BANG_STORE_IDX_H
#define BANG_STORE_IDX_H

#include "bang/tensor/array.h"

/* The caller releases the array. Types: 8 u8, 9 i8, 11 i16, 12 i32, 13 f32, 14 f64. */
int bang_idx_read(bang_array *out, const char *path, bang_error *err);
/* The same from (possibly compressed) bytes in memory; name is for messages. */
int bang_idx_parse(bang_array *out, const void *data, size_t size, const char *name,
                   bang_error *err);
/* Uncompressed. */
int bang_idx_write(const char *path, const bang_array *array, bang_error *err);

#endif
