#include "measure/kernels.h"

const bang_measure_kernels *bang_measure_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &bang_measure_avx2;
#endif
    return &bang_measure_portable;
}
