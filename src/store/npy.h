/* The header of an npy file, also of one within a zip. Private to this room. */
#ifndef BANG_STORE_NPY_PRIVATE_H
#define BANG_STORE_NPY_PRIVATE_H

#include "store/bytes.h"
#include "store/checkpoint.h"
#include "store/zip.h"

enum { BANG_NPY_START = 12 }; /* the bytes that tell the header's length */

typedef struct bang_npy_head {
    bang_dtype dtype;
    int big; /* big-endian */
    int fortran;
    int rank;
    size_t shape[BANG_RANK_MAX];
    size_t bytes; /* of all numbers */
    size_t start; /* where they begin */
} bang_npy_head;

/* Looks at the header only, not at whether the numbers are there. */
int bang_npy_head_read(bang_npy_head *out, const bang_source *source, bang_error *err);
/* The numbers are exactly what is left of the file, and an array can have them. */
int bang_npy_check(const bang_npy_head *head, const bang_source *source, bang_error *err);
/* Bytes up to the numbers, from the first BANG_NPY_START or all if there are
 * fewer; 0 if they do not begin as an npy file. */
size_t bang_npy_head_size(const unsigned char *bytes, size_t size);

/* The letter and the digit of a type as in "<f4"; -1: NumPy has no such type. */
int bang_npy_type(char *kind, char *size, bang_dtype dtype);

/* Adds the arrays of a zip whose members are all npy files or folders. */
int bang_open_npz(bang_checkpoint *c, size_t file, const bang_zip *zip, bang_error *err);

#endif
