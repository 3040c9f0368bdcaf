/* For every processor: what the compiler may assume of all of them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bang/tensor/layers.h"

#define VECTOR_BYTES 16
#define LABEL "portable"

#define REAL float
#define REAL_BITS 32
#define ATTENTION bang_attention_f32
#define LAYERS bang_layers_f32
#define NAME(x) x##_portable_f32
#include "tensor/layers_template.h"

#define REAL double
#define REAL_BITS 64
#define ATTENTION bang_attention_f64
#define LAYERS bang_layers_f64
#define NAME(x) x##_portable_f64
#include "tensor/layers_template.h"
