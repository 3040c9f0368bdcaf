/* For every processor: what the compiler may assume of all of them. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/product_kinds.h"

#define VECTOR_BYTES 16

#define REAL float
#define REAL_BITS 32
#define PRODUCT bang_product_f32
#define NAME(x) x##_portable_f32
#include "tensor/product_template.h"

#define REAL double
#define REAL_BITS 64
#define PRODUCT bang_product_f64
#define NAME(x) x##_portable_f64
#include "tensor/product_template.h"
