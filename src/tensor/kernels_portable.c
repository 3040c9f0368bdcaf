/* For every processor: what the compiler may assume of all of them. */
#include <math.h>
#include <string.h>

#include "bang/tensor/kernels.h"

#define VECTOR_BYTES 16
#define LABEL "portable"

#define REAL float
#define STEP bang_step_f32
#define KERNELS bang_kernels_f32
#define NAME(x) x##_portable_f32
#include "tensor/kernels_template.h"

#define REAL double
#define STEP bang_step_f64
#define KERNELS bang_kernels_f64
#define NAME(x) x##_portable_f64
#include "tensor/kernels_template.h"
