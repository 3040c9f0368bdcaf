#include <stdlib.h>
#include <string.h>

#include "bang/base/file.h"
#include "bang/store/npy.h"
#include "store/bytes.h"

struct bang_npy_rows {
    bang_file *file;
    char *path;
    size_t columns, expected, count;
};

/* Its length does not depend on the number of rows: NumPy leaves room for that to grow. */
static int make_header(bang_text *out, const bang_npy_rows *rows, size_t count, bang_error *err)
{
    bang_array shape = {.dtype = BANG_F32, .rank = 2, .shape = {count, rows->columns}};
    shape.count = count * rows->columns;
    return bang_npy_header(out, &shape, err);
}

int bang_npy_rows_begin(bang_npy_rows **out, const char *path, size_t columns, size_t expected,
                        bang_error *err)
{
    bang_npy_rows *rows = calloc(1, sizeof *rows);
    bang_text header = {0};
    *out = NULL;
    if (!rows)
        return bang_fail_memory(err);
    rows->columns = columns;
    rows->expected = expected;
    rows->path = strdup(path);
    int rc = rows->path ? make_header(&header, rows, expected, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_file_begin(&rows->file, path, err);
    if (rc == 0)
        bang_file_write(rows->file, header.data, header.size);
    bang_text_release(&header);
    if (rc < 0)
        bang_npy_rows_discard(rows);
    else
        *out = rows;
    return rc;
}

void bang_npy_rows_add(bang_npy_rows *rows, const float *numbers, size_t count)
{
    /* an array owns numbers that may change: these are copied into one, some at a time */
    enum { PIECE = 4096 };
    float piece[PIECE];
    size_t left = count * rows->columns;
    for (size_t many; left > 0; left -= many, numbers += many) {
        many = left < PIECE ? left : PIECE;
        memcpy(piece, numbers, many * sizeof *piece);
        bang_array array = {.dtype = BANG_F32, .rank = 1, .shape = {many}, .count = many};
        array.data = piece;
        bang_bytes_write(rows->file, &array, 1);
    }
    rows->count += count;
}

int bang_npy_rows_settle(bang_npy_rows *rows, bang_error *err)
{
    bang_text header = {0};
    int rc = 0;
    if (rows->count != rows->expected) {
        rc = make_header(&header, rows, rows->count, err);
        if (rc == 0 && bang_file_replace(rows->file, 0, header.data, header.size) < 0)
            rc = bang_fail(err, BANG_EIO,
                           "%s: %zu rows were announced and %zu came: write to a regular file",
                           rows->path, rows->expected, rows->count);
    }
    bang_text_release(&header);
    return rc < 0 ? rc : bang_file_settle(rows->file, err);
}

int bang_npy_rows_commit(bang_npy_rows *rows, bang_error *err)
{
    int rc = bang_npy_rows_settle(rows, err);
    if (rc == 0) {
        rc = bang_file_commit(rows->file, err);
        rows->file = NULL;
    }
    bang_npy_rows_discard(rows);
    return rc;
}

void bang_npy_rows_discard(bang_npy_rows *rows)
{
    if (!rows)
        return;
    bang_file_discard(rows->file);
    free(rows->path);
    free(rows);
}
