#include "bang/tensor/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/arena.h"
#include "bang/tensor/convert.h"
#include "tensor/small.h"

enum { ALIGNMENT = 64 };

enum kind { INTEGER, REAL, OPAQUE };

static const struct {
    const char *name;
    size_t bits;
    enum kind kind;
} dtypes[BANG_DTYPE_COUNT] = {
    [BANG_BOOL] = {"BOOL", 8, INTEGER},
    [BANG_U8] = {"U8", 8, INTEGER},
    [BANG_I8] = {"I8", 8, INTEGER},
    [BANG_U16] = {"U16", 16, INTEGER},
    [BANG_I16] = {"I16", 16, INTEGER},
    [BANG_U32] = {"U32", 32, INTEGER},
    [BANG_I32] = {"I32", 32, INTEGER},
    [BANG_U64] = {"U64", 64, INTEGER},
    [BANG_I64] = {"I64", 64, INTEGER},
    [BANG_F16] = {"F16", 16, REAL},
    [BANG_BF16] = {"BF16", 16, REAL},
    [BANG_F32] = {"F32", 32, REAL},
    [BANG_F64] = {"F64", 64, REAL},
    [BANG_F8_E4M3] = {"F8_E4M3", 8, REAL},
    [BANG_F8_E5M2] = {"F8_E5M2", 8, REAL},
    [BANG_F8_E8M0] = {"F8_E8M0", 8, OPAQUE},
    [BANG_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8, OPAQUE},
    [BANG_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8, OPAQUE},
    [BANG_F4] = {"F4", 4, OPAQUE},
    [BANG_F6_E2M3] = {"F6_E2M3", 6, OPAQUE},
    [BANG_F6_E3M2] = {"F6_E3M2", 6, OPAQUE},
    [BANG_C64] = {"C64", 64, OPAQUE},
};

static int is_known(bang_dtype dtype)
{
    return (unsigned)dtype < BANG_DTYPE_COUNT;
}

size_t bang_dtype_bits(bang_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].bits : 0;
}

size_t bang_dtype_size(bang_dtype dtype)
{
    size_t bits = bang_dtype_bits(dtype);
    return bits % 8 == 0 ? bits / 8 : 0;
}

const char *bang_dtype_name(bang_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].name : "?";
}

int bang_dtype_parse(bang_dtype *out, const char *name)
{
    for (int i = 0; i < BANG_DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (bang_dtype)i;
            return 0;
        }
    }
    return -1;
}

int bang_dtype_is_real(bang_dtype dtype)
{
    return is_known(dtype) && dtypes[dtype].kind == REAL;
}

int bang_dtype_is_integer(bang_dtype dtype)
{
    return is_known(dtype) && dtypes[dtype].kind == INTEGER;
}

int bang_array_init(bang_array *out, bang_dtype dtype, int rank, const size_t *shape,
                    bang_error *err)
{
    bang_array array = {.dtype = dtype, .rank = rank, .count = 1};
    char text[256];
    *out = (bang_array){0};
    if (!is_known(dtype))
        return bang_fail(err, BANG_EUSAGE, "array: number type %d is not known", (int)dtype);
    if (rank < 0 || rank > BANG_RANK_MAX)
        return bang_fail(err, BANG_EUSAGE, "array: %d dimensions: from 0 to %d are possible", rank,
                         BANG_RANK_MAX);
    if (bang_dtype_size(dtype) == 0)
        return bang_fail(err, BANG_EUSAGE, "array: numbers of %s share bytes: not for arrays",
                         dtypes[dtype].name);
    size_t size = bang_dtype_size(dtype), limit = PTRDIFF_MAX - ALIGNMENT;
    int fits = 1;
    for (int i = 0; i < rank; i++) {
        array.shape[i] = shape[i];
        fits = fits && (shape[i] == 0 || array.count <= limit / size / shape[i]);
        array.count *= shape[i];
    }
    if (!fits) {
        bang_array_shape_text(text, sizeof text, &array);
        return bang_fail(err, BANG_EUSAGE, "array of shape %s: more than memory can address", text);
    }
    /* aligned_alloc wants a multiple, and no array is without memory. */
    size_t bytes = (array.count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    bytes = bytes ? bytes : ALIGNMENT;
    array.data = aligned_alloc(ALIGNMENT, bytes);
    if (!array.data)
        return bang_fail_memory(err);
    bang_memory_large(array.data, bytes);
    memset(array.data, 0, bytes);
    *out = array;
    return 0;
}

void bang_array_release(bang_array *array)
{
    free(array->data);
    *array = (bang_array){0};
}

double bang_array_number(const bang_array *array, size_t index)
{
    const void *data = array->data;
    switch (array->dtype) {
    case BANG_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    case BANG_U8:
        return ((const uint8_t *)data)[index];
    case BANG_I8:
        return ((const int8_t *)data)[index];
    case BANG_U16:
        return ((const uint16_t *)data)[index];
    case BANG_I16:
        return ((const int16_t *)data)[index];
    case BANG_U32:
        return ((const uint32_t *)data)[index];
    case BANG_I32:
        return ((const int32_t *)data)[index];
    case BANG_U64:
        return (double)((const uint64_t *)data)[index];
    case BANG_I64:
        return (double)((const int64_t *)data)[index];
    case BANG_F16:
        return (double)bang_float_of_small(((const uint16_t *)data)[index], BANG_SMALL_F16);
    case BANG_BF16:
        return (double)bang_float_of_small(((const uint16_t *)data)[index], BANG_SMALL_BF16);
    case BANG_F32:
        return (double)((const float *)data)[index];
    case BANG_F64:
        return ((const double *)data)[index];
    case BANG_F8_E4M3:
        return (double)bang_float_of_small(((const uint8_t *)data)[index], BANG_SMALL_E4M3);
    case BANG_F8_E5M2:
        return (double)bang_float_of_small(((const uint8_t *)data)[index], BANG_SMALL_E5M2);
    default: /* no number that a double could be */
        return NAN;
    }
}

int bang_array_to_f32(bang_array *out, const bang_array *array, bang_error *err)
{
    bang_array result;
    int code = bang_array_init(&result, BANG_F32, array->rank, array->shape, err);
    if (code < 0) {
        *out = result;
        return code;
    }
    float *numbers = result.data;
    /* Not by way of a double: a 64-bit integer would be rounded twice. */
    if (bang_dtype_is_real(array->dtype))
        bang_to_f32(numbers, array->data, array->dtype, array->count);
    else if (array->dtype == BANG_U64)
        for (size_t i = 0; i < array->count; i++)
            numbers[i] = (float)((const uint64_t *)array->data)[i];
    else if (array->dtype == BANG_I64)
        for (size_t i = 0; i < array->count; i++)
            numbers[i] = (float)((const int64_t *)array->data)[i];
    else
        for (size_t i = 0; i < array->count; i++)
            numbers[i] = (float)bang_array_number(array, i);
    *out = result;
    return 0;
}

void bang_array_shape_text(char *out, size_t size, const bang_array *array)
{
    size_t used = 0;
    if (size == 0)
        return;
    out[0] = '\0';
    for (int i = 0; i <= array->rank && used < size; i++) {
        int n = i < array->rank
                    ? snprintf(out + used, size - used, "%s%zu", i ? ", " : "(", array->shape[i])
                    : snprintf(out + used, size - used, "%s", i ? i == 1 ? ",)" : ")" : "()");
        used += n > 0 ? (size_t)n : 0;
    }
}
