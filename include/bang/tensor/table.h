/* A matrix of numbers that is read piece by piece: it may be larger than memory.
 *
 *     bang_table table;
 *     bang_table_of(&table, "pre", BANG_F32, logits, rows, columns);
 *     table.read(table.context, piece, first, count, &err);
 */
#ifndef BANG_TENSOR_TABLE_H
#define BANG_TENSOR_TABLE_H

#include "bang/tensor/array.h"

typedef struct bang_table {
    const char *name; /* for messages, borrowed */
    size_t rows, columns;
    bang_dtype dtype; /* BANG_F32 or BANG_F64: what read gives */
    /* Rows first .. first + count - 1 into out, (count, columns), native numbers in C order.
     * Any thread may call it, several at a time. */
    int (*read)(void *context, void *out, size_t first, size_t count, bang_error *err);
    void *context;
    const void *numbers; /* of a table in memory: (rows, columns), borrowed */
} bang_table;

/* Numbers in memory, (rows, columns) of BANG_F32 or BANG_F64, borrowed for as long as the table
 * is used. Its context is the table itself, which must stay where it is meanwhile. */
void bang_table_of(bang_table *out, const char *name, bang_dtype dtype, const void *numbers,
                   size_t rows, size_t columns);

#endif
