/* The table for AVX2 and FMA beside those of bang/tensor/layers.h. */
#ifndef BANG_SRC_TENSOR_LAYERS_KINDS_H
#define BANG_SRC_TENSOR_LAYERS_KINDS_H

#include "bang/tensor/layers.h"

#if defined(__x86_64__)
extern const bang_layers_f32 bang_layers_avx2_f32;
extern const bang_layers_f64 bang_layers_avx2_f64;
#endif

#endif
