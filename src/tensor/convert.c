#include "tensor/convert.h"

const bang_converter *bang_converter_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &bang_converter_avx2;
#endif
    return &bang_converter_portable;
}

void bang_to_f32(float *out, const void *in, bang_dtype dtype, size_t count)
{
    bang_converter_best()->to_f32(out, in, dtype, count);
}

void bang_from_f32(void *out, bang_dtype dtype, const float *in, size_t count)
{
    bang_converter_best()->from_f32(out, dtype, in, count);
}

void bang_to_f64(double *out, const void *in, bang_dtype dtype, size_t count)
{
    bang_converter_best()->to_f64(out, in, dtype, count);
}

void bang_from_f64(void *out, bang_dtype dtype, const double *in, size_t count)
{
    bang_converter_best()->from_f64(out, dtype, in, count);
}
