/* Products as three loops, with sums in double. */
#include "tensor/naive.h"

#define REAL float
#define PRODUCT bang_product_f32
#define NAME(x) x##_f32
#include "tensor/product_naive_template.h"

#define REAL double
#define PRODUCT bang_product_f64
#define NAME(x) x##_f64
#include "tensor/product_naive_template.h"
