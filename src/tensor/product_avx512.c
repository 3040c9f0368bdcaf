/* For processors with AVX-512; CMakeLists.txt compiles this file for them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/product_kinds.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_BYTES 64

#define REAL float
#define REAL_BITS 32
#define PRODUCT bang_product_f32
#define NAME(x) x##_avx512_f32
#include "tensor/product_template.h"

#define REAL double
#define REAL_BITS 64
#define PRODUCT bang_product_f64
#define NAME(x) x##_avx512_f64
#include "tensor/product_template.h"

#endif
