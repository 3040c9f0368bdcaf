/* Sums of products in double, for one kind of vector instructions; included by
 * kernels_template.h. */
#ifndef BANG_SRC_COMBINE_KERNELS_GRAM_H
#define BANG_SRC_COMBINE_KERNELS_GRAM_H

enum { GRAM_NUMBERS = 256, GRAM_ROWS = 8, GRAM_LANES = 8 };

typedef double gram_vector __attribute__((vector_size(VECTOR_BYTES)));

/* Lane l sums the products l, l + 8, l + 16 ..., whatever the vectors' length;
 * then lanes are added in one order. Both are aligned and n is a multiple of 8. */
static double dot(const double *x, const double *y, size_t n)
{
    enum { STEP = VECTOR_BYTES / sizeof(double), PARTS = GRAM_LANES / STEP };
    const gram_vector *a = (const gram_vector *)(const void *)x,
                      *b = (const gram_vector *)(const void *)y;
    union {
        gram_vector parts[4];
        double lanes[16];
    } sum;
    gram_vector sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0}; /* not an array: in registers */
    for (size_t i = 0; i < n / STEP; i += PARTS) {
        sum0 += a[i] * b[i];
        sum1 += a[i + 1] * b[i + 1];
        if (PARTS > 2) {
            sum2 += a[i + 2] * b[i + 2];
            sum3 += a[i + 3] * b[i + 3];
        }
    }
    sum.parts[0] = sum0;
    sum.parts[1] = sum1;
    sum.parts[2] = sum2;
    sum.parts[3] = sum3;
    const double *s = sum.lanes;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* v_first, v_{first+1}, ... of so many rows, filled up with zeros. */
static void gram_rows(double (*out)[GRAM_NUMBERS], const bang_block *block, const double *base,
                      size_t first, size_t rows, size_t from, size_t n)
{
    float narrow[GRAM_NUMBERS];
    size_t padded = (n + GRAM_LANES - 1) / GRAM_LANES * GRAM_LANES;
    for (size_t row = 0; row < rows; row++) {
        size_t input = first + row;
        bang_dtype dtype = block->in_types[input];
        double *v = out[row];
        const char *at = (const char *)block->in[input] + from * bang_dtype_size(dtype);
        if (input == 0) {
            memcpy(v, base, n * sizeof *v);
        } else if (dtype == BANG_F64) {
            bang_to_f64(v, at, dtype, n);
            for (size_t i = 0; i < n; i++)
                v[i] -= base[i];
        } else { /* all others are floats, and so faster to get at */
            bang_to_f32(narrow, at, dtype, n);
            for (size_t i = 0; i < n; i++)
                v[i] = (double)narrow[i] - base[i];
        }
        for (size_t i = n; i < padded; i++)
            v[i] = 0;
    }
}

static void gram(const bang_block *block, double *out)
{
    _Alignas(64) double left[GRAM_ROWS][GRAM_NUMBERS], right[GRAM_ROWS][GRAM_NUMBERS];
    double base[GRAM_NUMBERS];
    size_t inputs = block->inputs;
    for (size_t from = 0; inputs > 0 && from < block->count; from += GRAM_NUMBERS) {
        size_t n = block->count - from < GRAM_NUMBERS ? block->count - from : GRAM_NUMBERS;
        size_t padded = (n + GRAM_LANES - 1) / GRAM_LANES * GRAM_LANES;
        size_t base_size = bang_dtype_size(block->in_types[0]);
        bang_to_f64(base, (const char *)block->in[0] + from * base_size, block->in_types[0], n);
        for (size_t row = 0; row < inputs; row += GRAM_ROWS) {
            size_t rows = inputs - row < GRAM_ROWS ? inputs - row : GRAM_ROWS;
            gram_rows(left, block, base, row, rows, from, n);
            for (size_t column = row; column < inputs; column += GRAM_ROWS) {
                size_t columns = inputs - column < GRAM_ROWS ? inputs - column : GRAM_ROWS;
                double(*other)[GRAM_NUMBERS] = column == row ? left : right;
                if (column != row)
                    gram_rows(right, block, base, column, columns, from, n);
                for (size_t i = 0; i < rows; i++)
                    for (size_t j = column == row ? i : 0; j < columns; j++)
                        out[(row + i) * inputs + column + j] += dot(left[i], other[j], padded);
            }
        }
    }
    for (size_t i = 0; i < inputs; i++)
        for (size_t j = 0; j < i; j++)
            out[i * inputs + j] = out[j * inputs + i];
}

#endif
