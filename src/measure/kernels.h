/* Loops over one row of logits in double, one table per kind of vector instructions; all
 * give the same bits. kernels_naive.c has the plain versions that tests compare with. */
#ifndef BANG_SRC_MEASURE_KERNELS_H
#define BANG_SRC_MEASURE_KERNELS_H

#include <stddef.h>

typedef struct bang_measure_kernels {
    const char *name; /* "avx2", "portable", "naive" */
    void (*widen)(double *out, const float *in, size_t count);
    /* 1 if all numbers are finite. */
    int (*finite)(const double *z, size_t count);
    /* out = w0 a + w1 b; b may be NULL, out may be a. */
    void (*mix)(double *out, const double *a, double w0, const double *b, double w1, size_t count);
    /* Where the largest lies, the first of equals; count >= 1. */
    size_t (*largest)(const double *z, size_t count);
    /* e_k = exp(scale (z_k - top)), into e unless it is NULL; sums: of e_k, of e_k^2. top is the
     * largest z, scale > 0, so that e_k <= 1; below 1e-300 it may be 0. */
    void (*exponentials)(double *e, const double *z, size_t count, double top, double scale,
                         double sums[2]);
    /* With the same e_k and d_k = z_k - top: sums of e_k, e_k d_k, e_k d_k^2. */
    void (*moments)(const double *z, size_t count, double top, double scale, double sums[3]);
} bang_measure_kernels;

const bang_measure_kernels *bang_measure_best(void);
extern const bang_measure_kernels bang_measure_naive, bang_measure_portable;
#if defined(__x86_64__)
extern const bang_measure_kernels bang_measure_avx2;
#endif

#endif
