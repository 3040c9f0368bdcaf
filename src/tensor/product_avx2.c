/* For processors with AVX2 and FMA; CMakeLists.txt compiles this file for them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/product_kinds.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_BYTES 32

#define REAL float
#define REAL_BITS 32
#define PRODUCT bang_product_f32
#define NAME(x) x##_avx2_f32
#include "tensor/product_template.h"

#define REAL double
#define REAL_BITS 64
#define PRODUCT bang_product_f64
#define NAME(x) x##_avx2_f64
#include "tensor/product_template.h"

#endif
