/* Products by OpenBLAS, and what a layer does to them in a pass of its own. */
#include <cblas.h>
#include <stdatomic.h>

#include "bang/tensor/layers.h"
#include "tensor/product_kinds.h"

/* One thread of ours is one of its. */
static void one_thread(void)
{
    static atomic_int done;
    if (!atomic_load_explicit(&done, memory_order_relaxed)) {
        openblas_set_num_threads(1);
        atomic_store_explicit(&done, 1, memory_order_relaxed);
    }
}

#define REAL float
#define PRODUCT bang_product_f32
#define NAME(x) x##_f32
#define GEMM cblas_sgemm
#include "tensor/product_blas_template.h"

#define REAL double
#define PRODUCT bang_product_f64
#define NAME(x) x##_f64
#define GEMM cblas_dgemm
#include "tensor/product_blas_template.h"
