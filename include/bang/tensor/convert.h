/* Numbers of one type as numbers of another, many at a time, at the speed of
 * memory. Rounding is to nearest, ties to even, once; what is too large becomes
 * infinite, or NaN where the type has no infinity (F8_E4M3); NaN stays NaN.
 *
 *     bang_to_f32(block, bytes, BANG_BF16, count);
 *     bang_from_f32(bytes, BANG_F16, block, count);
 *
 * Only types for which bang_dtype_is_real. Neither side need be aligned, and
 * the results are the same on every processor.
 */
#ifndef BANG_TENSOR_CONVERT_H
#define BANG_TENSOR_CONVERT_H

#include "bang/tensor/array.h"

void bang_to_f32(float *out, const void *in, bang_dtype dtype, size_t count);
void bang_from_f32(void *out, bang_dtype dtype, const float *in, size_t count);
void bang_to_f64(double *out, const void *in, bang_dtype dtype, size_t count);
/* From a double at once, not by way of a float. */
void bang_from_f64(void *out, bang_dtype dtype, const double *in, size_t count);

#endif
