#include "bang/tensor/table.h"

#include <string.h>

static int read_numbers(void *context, void *out, size_t first, size_t count, bang_error *err)
{
    const bang_table *table = context;
    size_t row = table->columns * bang_dtype_size(table->dtype);
    if (first > table->rows || count > table->rows - first)
        return bang_fail(err, BANG_EUSAGE, "%s: has %zu rows: asked for %zu from row %zu on",
                         table->name, table->rows, count, first);
    if (count > 0 && row > 0)
        memcpy(out, (const char *)table->numbers + first * row, count * row);
    return 0;
}

void bang_table_of(bang_table *out, const char *name, bang_dtype dtype, const void *numbers,
                   size_t rows, size_t columns)
{
    *out = (bang_table){.name = name,
                        .rows = rows,
                        .columns = columns,
                        .dtype = dtype,
                        .read = read_numbers,
                        .context = out,
                        .numbers = numbers};
}
