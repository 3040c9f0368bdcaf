/* For processors with AVX2 and FMA; CMakeLists.txt compiles this file for them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/layers_kinds.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_BYTES 32
#define LABEL "avx2"

#define REAL float
#define REAL_BITS 32
#define ATTENTION bang_attention_f32
#define LAYERS bang_layers_f32
#define NAME(x) x##_avx2_f32
#include "tensor/layers_template.h"

#define REAL double
#define REAL_BITS 64
#define ATTENTION bang_attention_f64
#define LAYERS bang_layers_f64
#define NAME(x) x##_avx2_f64
#include "tensor/layers_template.h"

#endif
