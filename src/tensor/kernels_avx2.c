/* For processors with AVX2 and FMA; CMakeLists.txt compiles this file for them. */
#include <math.h>
#include <string.h>

#include "bang/tensor/kernels.h"

#if defined(__x86_64__)

#define VECTOR_BYTES 32
#define LABEL "avx2"

#define REAL float
#define STEP bang_step_f32
#define KERNELS bang_kernels_f32
#define NAME(x) x##_avx2_f32
#include "tensor/kernels_template.h"

#define REAL double
#define STEP bang_step_f64
#define KERNELS bang_kernels_f64
#define NAME(x) x##_avx2_f64
#include "tensor/kernels_template.h"

#endif
