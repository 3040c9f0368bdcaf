/* A file of logits that is read piece by piece: the numbers that it holds when it is read as a
 * whole, or an error with a reason on one line. */
#include "bang/store/npy.h"
#include "files.h"

/* All rows in pieces of two. */
static void read_rows(const bang_table *table)
{
    bang_error err = {0};
    size_t width = bang_dtype_size(table->dtype) * table->columns;
    char *rows = malloc(2 * width + 1);
    for (size_t first = 0; rows && first < table->rows; first += 2) {
        size_t count = table->rows - first < 2 ? 1 : 2;
        if (table->read(table->context, rows, first, count, &err) < 0)
            abort();
        if (first > 4096) /* more of the same */
            break;
    }
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_npy_table *file;
    bang_error err = {0};
    prepare_folder();
    put("logits.npy", data, size);
    if (bang_npy_table_open(&file, place("logits.npy"), &err) < 0) {
        if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n') || file)
            abort();
        return 0;
    }
    const bang_table *table = bang_npy_table_get(file);
    if ((table->dtype != BANG_F32 && table->dtype != BANG_F64) ||
        (table->columns && table->rows > size / table->columns))
        abort();
    if (table->columns)
        read_rows(table);
    bang_npy_table_close(file);
    return 0;
}
