/* Many discrete Fourier transforms at once. */
#ifndef BANG_THEORY_FOURIER_H
#define BANG_THEORY_FOURIER_H

#include <stddef.h>

#include "theory/complex.h"

/* Every column of table (size, columns) becomes its transform,
 * out[j] = sum_a in[a] exp(2 pi i a j / size); size is a power of two and
 * root[k] = exp(2 pi i k / size). Rows are moved whole, so the inner loops run
 * over contiguous columns. */
void fourier_columns(complex_pair *table, size_t size, size_t columns, const complex_pair *root);

#endif
