/* Rows of a model's outputs as the logits of the classes, in double. One reader per thread. */
#ifndef BANG_SRC_MEASURE_READER_H
#define BANG_SRC_MEASURE_READER_H

#include "bang/measure/logits.h"
#include "measure/kernels.h"

typedef struct bang_reader {
    const bang_logits *logits;
    const bang_measure_kernels *kernels;
    size_t classes;
    size_t capacity;     /* rows of a piece */
    size_t first, count; /* the piece that is loaded */
    void *piece;         /* (capacity, columns) as the table gives them */
    double *wide;        /* (columns, 4), where classes are picked from columns */
    /* Where bang_reader_side leaves probabilities that are given, (classes, 4), or NULL: as they
     * are; of a choice of columns, divided by their sum. */
    double *probabilities;
} bang_reader;

/* Rows that make a piece of some 256 KB, at least 1. */
size_t bang_reader_rows(const bang_logits *logits);
/* The caller releases it in any case. */
int bang_reader_init(bang_reader *reader, const bang_logits *logits, size_t capacity,
                     bang_error *err);
int bang_reader_load(bang_reader *reader, size_t first, size_t count, bang_error *err);
/* The logits of row `row` of the table, which is loaded, into out (classes). Fails on a number
 * that is not finite, and on probabilities that are none. */
int bang_reader_row(double *out, const bang_reader *reader, size_t row, bang_error *err);
/* The same of four rows, some of which may be the same one, side by side: out (classes, 4). 1, or
 * 0 if bang_reader_row would fail on one of them. */
int bang_reader_side(double *out, const bang_reader *reader, const size_t rows[BANG_SIDE]);
void bang_reader_release(bang_reader *reader);

#endif
