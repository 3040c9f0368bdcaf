/* The inputs of a network in the form it reads fastest, found in the data and
 * exact:
 *
 * - Columns that are equal in every row (the 49 pixels of a patch, the three
 *   channels of a grey pixel) become one, with a multiplicity. They receive
 *   equal gradients, so the sum of their weights trains as one weight whose
 *   learning rate is multiplied by their number.
 * - Columns that together take few different values (a colour's channels; all
 *   patches of a class) become one code per row. Their part of the first
 *   layer is a table with one line per code.
 * - What is left is kept as the numbers that are not zero.
 *
 * A data set in which none of this saves work stays as it is.
 *
 *     bang_columns columns;
 *     bang_columns_init(&columns, width, &err);
 *     bang_columns_refine(&columns, &train_inputs, &err);   // once per data set
 *     bang_columns_refine(&columns, &test_inputs, &err);
 *     bang_rows rows;
 *     bang_rows_init(&rows, &columns, &train_inputs, &err);
 */
#ifndef BANG_MODEL_ROWS_H
#define BANG_MODEL_ROWS_H

#include "bang/tensor/array.h"

/* A partition of columns into groups that are equal in all data seen. */
typedef struct bang_columns {
    size_t width;           /* columns of the data */
    size_t group_count;     /* 1 as long as nothing was seen */
    uint32_t *group;        /* (width) */
    uint32_t *first;        /* (width, group_count used) lowest column of each group */
    uint32_t *multiplicity; /* (width, group_count used) columns in each group */
} bang_columns;

/* The caller releases them. */
int bang_columns_init(bang_columns *out, size_t width, bang_error *err);
/* Every column a group of its own: no reduction. */
int bang_columns_init_all(bang_columns *out, size_t width, bang_error *err);
/* Parts columns that differ in these inputs: (n, ...) u8 or f32 with width
 * numbers in a row. */
int bang_columns_refine(bang_columns *columns, const bang_array *inputs, bang_error *err);
/* After all data were seen: columns that are too many to be reduced (more than
 * 65536 groups) become groups of their own. */
void bang_columns_settle(bang_columns *columns);
void bang_columns_release(bang_columns *columns);

/* Columns read as one code: what they are together, as the numbers that are not
 * zero. */
typedef struct bang_column_block {
    size_t code_count; /* at most 16 */
    uint32_t *start;   /* (code_count + 1) where a code begins in the two below */
    uint16_t *column;  /* groups ... */
    float *value;      /* ... and numbers */
} bang_column_block;

typedef struct bang_rows {
    const bang_columns *columns; /* borrowed */
    size_t count;                /* rows */
    /* either dense: the inputs themselves, borrowed ... */
    const bang_array *dense; /* NULL when compact */
    /* ... or compact */
    size_t block_count;
    bang_column_block *blocks; /* (block_count) */
    uint8_t *codes;            /* (count, block_count) */
    uint32_t *start;           /* (count + 1) where a row begins in the two below */
    uint16_t *column;          /* groups of the numbers that are not zero ... */
    float *value;              /* ... and the numbers; u8 as value / 255 */
} bang_rows;

/* columns must have been refined by these inputs. inputs must outlive the rows
 * when the columns are all different, else they are not needed afterwards. The
 * caller releases the rows. */
int bang_rows_init(bang_rows *out, const bang_columns *columns, const bang_array *inputs,
                   bang_error *err);
/* The inputs as they are, all columns different: nothing is looked for. */
int bang_rows_init_dense(bang_rows *out, const bang_columns *columns, const bang_array *inputs,
                         bang_error *err);
void bang_rows_release(bang_rows *rows);
/* 1 when both hold the same numbers outside their blocks, in the same order. */
int bang_rows_same_numbers(const bang_rows *a, const bang_rows *b);

#endif
