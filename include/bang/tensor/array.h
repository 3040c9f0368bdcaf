/* An array in memory: a number type, a shape, and the numbers in C order.
 *
 *     bang_array array;
 *     bang_array_init(&array, BANG_F32, 2, (size_t[]){rows, columns}, &err);
 *     float *data = array.data;
 *     bang_array_release(&array);
 */
#ifndef BANG_TENSOR_ARRAY_H
#define BANG_TENSOR_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"

typedef enum bang_dtype {
    BANG_BOOL,
    BANG_U8,
    BANG_I8,
    BANG_U16,
    BANG_I16,
    BANG_U32,
    BANG_I32,
    BANG_U64,
    BANG_I64,
    BANG_F16,
    BANG_BF16,
    BANG_F32,
    BANG_F64,
    BANG_F8_E4M3, /* finite: no infinities, NaN is 0x7f and 0xff, up to 448 */
    BANG_F8_E5M2, /* as IEEE: the upper half of an F16 */
    /* No arithmetic below: such tensors are copied. */
    BANG_F8_E8M0,
    BANG_F8_E4M3FNUZ,
    BANG_F8_E5M2FNUZ,
    BANG_F4, /* several numbers share bytes */
    BANG_F6_E2M3,
    BANG_F6_E3M2,
    BANG_C64,
    BANG_DTYPE_COUNT,
} bang_dtype;

/* Bits of one number, and the name that safetensors gives it ("F32"). */
size_t bang_dtype_bits(bang_dtype dtype);
const char *bang_dtype_name(bang_dtype dtype);
/* Bytes of one number; 0 where several share bytes. */
size_t bang_dtype_size(bang_dtype dtype);
/* The type of that name into out; -1 if there is none. */
int bang_dtype_parse(bang_dtype *out, const char *name);
/* F64 F32 F16 BF16 F8_E4M3 F8_E5M2: numbers that can be averaged. */
int bang_dtype_is_real(bang_dtype dtype);
/* BOOL and all integers. */
int bang_dtype_is_integer(bang_dtype dtype);

enum { BANG_RANK_MAX = 8 };

typedef struct bang_array {
    bang_dtype dtype;
    int rank; /* 0: a single number */
    size_t shape[BANG_RANK_MAX];
    size_t count; /* of numbers: the product of the shape */
    void *data;   /* owned; aligned to 64; never NULL after init */
} bang_array;

/* Zeroed memory of that shape. The caller releases it. */
int bang_array_init(bang_array *out, bang_dtype dtype, int rank, const size_t *shape,
                    bang_error *err);
/* Also right for an array of zero bytes or one that was released. */
void bang_array_release(bang_array *array);

/* Any number as a double (64-bit integers beyond 2^53 are rounded). */
double bang_array_number(const bang_array *array, size_t index);
/* The same for all: a new array of BANG_F32. The caller releases it. */
int bang_array_to_f32(bang_array *out, const bang_array *array, bang_error *err);
/* "(10, 42, 42, 3)", "(7,)" or "()" into out, cut to size. */
void bang_array_shape_text(char *out, size_t size, const bang_array *array);

#endif
