/* NumPy's .npy: magic "\x93NUMPY", version, a header that is a Python dict with
 * descr, fortran_order and shape, then the numbers. Versions 1 to 3 are read;
 * version 1 is written, its header padded so that the data start at a multiple
 * of 64. Either byte order and Fortran order are read into native C order.
 *
 *     bang_npy_read(&array, "logits.npy", &err);
 *     bang_npy_write("copy.npy", &array, &err);
 */
#ifndef BANG_STORE_NPY_H
#define BANG_STORE_NPY_H

#include "bang/base/file.h"
#include "bang/base/text.h"
#include "bang/tensor/table.h"

/* The caller releases the array. Number types: b1 u1-u8 i1-i8 f2 f4 f8. */
int bang_npy_read(bang_array *out, const char *path, bang_error *err);
/* The same from memory; name is for messages. */
int bang_npy_parse(bang_array *out, const void *data, size_t size, const char *name,
                   bang_error *err);
/* Byte for byte as NumPy does; it has no BANG_BF16. */
int bang_npy_write(const char *path, const bang_array *array, bang_error *err);
/* The same into a file that was begun; name is for messages. */
int bang_npy_put(bang_file *file, const char *name, const bang_array *array, bang_error *err);
/* Appends what stands before the numbers of array, whose data are not looked
 * at: for a writer that makes them piece by piece, little-endian. */
int bang_npy_header(bang_text *out, const bang_array *array, bang_error *err);

/* A file (rows, columns) of BANG_F32 whose rows come piece by piece; how many they are need
 * not be known:
 *
 *     bang_npy_rows *to;
 *     bang_npy_rows_begin(&to, "logits.npy", columns, expected, &err);
 *     bang_npy_rows_add(to, numbers, count);            // errors are remembered
 *     bang_npy_rows_commit(to, &err);                   // or bang_npy_rows_discard(to)
 */
typedef struct bang_npy_rows bang_npy_rows;

/* The caller ends with commit or discard. */
int bang_npy_rows_begin(bang_npy_rows **out, const char *path, size_t columns, size_t expected,
                        bang_error *err);
void bang_npy_rows_add(bang_npy_rows *rows, const float *numbers, size_t count);
/* A number of rows other than expected needs a regular file: a pipe has the header already. */
int bang_npy_rows_commit(bang_npy_rows *rows, bang_error *err);
/* Before it: brings all to disk, as bang_file_settle does. */
int bang_npy_rows_settle(bang_npy_rows *rows, bang_error *err);
/* NULL is allowed. */
void bang_npy_rows_discard(bang_npy_rows *rows);

/* A file of two dimensions whose rows are read piece by piece, from any thread: f2 and f4 as
 * BANG_F32, f8 as BANG_F64, either byte order, C and Fortran order. Integers are refused. The
 * file is read, not mapped: one that shrinks meanwhile is an error, not a signal.
 *
 *     bang_npy_table *logits;
 *     bang_npy_table_open(&logits, "logits.npy", &err);
 *     const bang_table *table = bang_npy_table_get(logits);
 *     bang_npy_table_close(logits);
 */
typedef struct bang_npy_table bang_npy_table;

/* The caller closes it. */
int bang_npy_table_open(bang_npy_table **out, const char *path, bang_error *err);
/* Borrowed. */
const bang_table *bang_npy_table_get(const bang_npy_table *table);
/* NULL is allowed. */
void bang_npy_table_close(bang_npy_table *table);

#endif
