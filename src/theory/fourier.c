#include "theory/fourier.h"

static void swap_rows(complex_pair *a, complex_pair *b, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        complex_pair keep = a[i];
        a[i] = b[i];
        b[i] = keep;
    }
}

/* (a, b) becomes (a + w b, a - w b). */
static void butterfly(complex_pair *restrict a, complex_pair *restrict b, size_t columns,
                      complex_pair w)
{
    for (size_t i = 0; i < columns; i++) {
        double re = w.re * b[i].re - w.im * b[i].im, im = w.re * b[i].im + w.im * b[i].re;
        b[i].re = a[i].re - re;
        b[i].im = a[i].im - im;
        a[i].re += re;
        a[i].im += im;
    }
}

void fourier_columns(complex_pair *table, size_t size, size_t columns, const complex_pair *root)
{
    for (size_t i = 1, j = 0; i < size; i++) { /* bit reversal */
        size_t bit = size >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
        if (i < j)
            swap_rows(table + i * columns, table + j * columns, columns);
    }
    for (size_t half = 1; half < size; half *= 2)
        for (size_t at = 0; at < size; at += 2 * half)
            for (size_t k = 0; k < half; k++)
                butterfly(table + (at + k) * columns, table + (at + k + half) * columns, columns,
                          root[k * (size / (2 * half))]);
}
