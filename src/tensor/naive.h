/* What the naive versions of products and layers share. */
#ifndef BANG_SRC_TENSOR_NAIVE_H
#define BANG_SRC_TENSOR_NAIVE_H

#include "bang/tensor/product.h"

/* The GELU and its slope, in double from libm. Far out they are their limits:
 * x or 0, 1 or 0. */
double bang_naive_gelu(double x, bang_gelu kind);
double bang_naive_gelu_slope(double x, bang_gelu kind);

#endif
