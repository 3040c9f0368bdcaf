/* The conversions of bang/tensor/convert.h, one table per kind of vector
 * instructions. All give the same bytes. */
#ifndef BANG_SRC_TENSOR_CONVERT_H
#define BANG_SRC_TENSOR_CONVERT_H

#include "bang/tensor/convert.h"

typedef struct bang_converter {
    const char *name; /* "avx2", "portable" */
    void (*to_f32)(float *out, const void *in, bang_dtype dtype, size_t count);
    void (*from_f32)(void *out, bang_dtype dtype, const float *in, size_t count);
    void (*to_f64)(double *out, const void *in, bang_dtype dtype, size_t count);
    void (*from_f64)(void *out, bang_dtype dtype, const double *in, size_t count);
} bang_converter;

const bang_converter *bang_converter_best(void);
extern const bang_converter bang_converter_portable;
#if defined(__x86_64__)
extern const bang_converter bang_converter_avx2;
#endif

#endif
