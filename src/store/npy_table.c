/* Rows of an npy file, read where they are wanted. In Fortran order a row lies scattered over
 * the file: blocks of many rows are put together, and some of them kept. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/npy.h"
#include "bang/tensor/convert.h"
#include "store/npy.h"

/* On the stack of a reader: what is not read straight to where it belongs. */
enum { SCRATCH = 65536 };

/* A block is large enough that of each column there is more than a few bytes, and there are as
 * many as keep threads apart that go through the rows together. */
enum { BLOCK = 4 << 20, BLOCKS = 4 };
/* Of so many columns, a line of the cache, pieces of so many rows are put together. */
enum { TOGETHER = 16, PIECE = 1024 };

typedef struct block {
    size_t first, count; /* rows; count 0: none */
    uint64_t used;       /* when, in requests */
    char *rows;          /* (count, columns); owned */
} block;

struct bang_npy_table {
    bang_table table;
    bang_source source;
    bang_npy_head head;
    char *path;
    int turn;             /* its byte order is the other one */
    pthread_mutex_t lock; /* of what follows */
    block blocks[BLOCKS];
    char *pieces; /* (TOGETHER, PIECE); owned */
    uint64_t requests;
};

/* count numbers from the index-th on, native, of type table.dtype. scratch is used where the
 * file has another type. */
static int read_run(const bang_npy_table *t, char *out, size_t index, size_t count, char *scratch,
                    bang_error *err)
{
    size_t size = bang_dtype_size(t->head.dtype), wide = bang_dtype_size(t->table.dtype);
    size_t start = t->head.start + index * size;
    int rc = 0;
    if (size == wide) {
        rc = bang_source_read(&t->source, out, start, count * size, err);
        if (rc == 0 && t->turn)
            bang_bytes_swap(out, count, size);
        return rc;
    }
    for (size_t many; rc == 0 && count > 0; count -= many) {
        many = count < SCRATCH / size ? count : SCRATCH / size;
        rc = bang_source_read(&t->source, scratch, start, many * size, err);
        if (rc == 0 && t->turn)
            bang_bytes_swap(scratch, many, size);
        if (rc == 0)
            bang_to_f32((float *)(void *)out, scratch, t->head.dtype, many);
        start += many * size;
        out += many * wide;
    }
    return rc;
}

/* (columns, count) of numbers of that size to (count, ..) whose rows are stride bytes apart. */
static void turn_over(char *out, size_t stride, const char *in, size_t columns, size_t count,
                      size_t size)
{
    if (size == sizeof(float))
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < columns; c++)
                memcpy(out + i * stride + c * sizeof(float), in + (c * count + i) * sizeof(float),
                       sizeof(float));
    else
        for (size_t i = 0; i < count; i++)
            for (size_t c = 0; c < columns; c++)
                memcpy(out + i * stride + c * sizeof(double), in + (c * count + i) * sizeof(double),
                       sizeof(double));
}

/* Columns lie one behind the other: of some a piece each is read, and they are dealt out to the
 * rows together. */
static int read_columns(const bang_npy_table *t, char *out, size_t first, size_t count,
                        char *scratch, bang_error *err)
{
    size_t size = bang_dtype_size(t->table.dtype), stride = t->table.columns * size;
    for (size_t many; count > 0; count -= many, first += many, out += many * stride) {
        many = count < PIECE ? count : PIECE;
        for (size_t c = 0, columns; c < t->table.columns; c += columns) {
            columns = t->table.columns - c < TOGETHER ? t->table.columns - c : TOGETHER;
            for (size_t k = 0; k < columns; k++) {
                int rc = read_run(t, t->pieces + k * many * size, (c + k) * t->table.rows + first,
                                  many, scratch, err);
                if (rc < 0)
                    return rc;
            }
            turn_over(out + c * size, stride, t->pieces, columns, many, size);
        }
    }
    return 0;
}

/* The block that has row `row`, loaded in place of the one that was not used for longest. */
static int find_block(block **out, bang_npy_table *t, size_t row, char *scratch, bang_error *err)
{
    size_t line = t->table.columns * bang_dtype_size(t->table.dtype);
    size_t most = line < BLOCK ? BLOCK / line : 1, left;
    most -= most > PIECE ? most % PIECE : 0;
    block *b = t->blocks;
    for (int i = 0; i < BLOCKS; i++) {
        block *other = &t->blocks[i];
        if (other->count > 0 && row >= other->first && row - other->first < other->count) {
            *out = other;
            return 0;
        }
        if (other->used < b->used)
            b = other;
    }
    if (!b->rows)
        b->rows = malloc(most * line);
    if (!t->pieces)
        t->pieces = malloc(bang_dtype_size(t->table.dtype) * TOGETHER * PIECE);
    if (!b->rows || !t->pieces)
        return bang_fail_memory(err);
    b->first = row - row % most;
    left = t->table.rows - b->first;
    b->count = 0; /* until it is there */
    int rc = read_columns(t, b->rows, b->first, left < most ? left : most, scratch, err);
    if (rc == 0)
        b->count = left < most ? left : most;
    *out = b;
    return rc;
}

static int copy_from_blocks(bang_npy_table *t, char *out, size_t first, size_t count, char *scratch,
                            bang_error *err)
{
    size_t line = t->table.columns * bang_dtype_size(t->table.dtype);
    int rc = 0;
    pthread_mutex_lock(&t->lock);
    for (size_t many; rc == 0 && count > 0 && line > 0; count -= many, first += many) {
        block *b = NULL;
        rc = find_block(&b, t, first, scratch, err);
        if (rc < 0)
            break;
        many = b->first + b->count - first;
        many = many < count ? many : count;
        memcpy(out, b->rows + (first - b->first) * line, many * line);
        out += many * line;
        b->used = ++t->requests;
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

static int read_rows(void *context, void *out, size_t first, size_t count, bang_error *err)
{
    bang_npy_table *t = context;
    char scratch[SCRATCH];
    if (first > t->table.rows || count > t->table.rows - first)
        return bang_fail(err, BANG_EUSAGE, "%s: has %zu rows: asked for %zu from row %zu on",
                         t->path, t->table.rows, count, first);
    return t->head.fortran
               ? copy_from_blocks(t, out, first, count, scratch, err)
               : read_run(t, out, first * t->table.columns, count * t->table.columns, scratch, err);
}

/* What a table can be made of. */
static int check(const bang_npy_table *t, bang_error *err)
{
    const bang_npy_head *head = &t->head;
    bang_array shape = {.rank = head->rank};
    char text[256];
    memcpy(shape.shape, head->shape, sizeof shape.shape);
    bang_array_shape_text(text, sizeof text, &shape);
    if (head->dtype == BANG_C64)
        return bang_fail(err, BANG_EDATA,
                         "%s: holds complex numbers: write real ones, f4 or f8, with numpy.save",
                         t->path);
    if (bang_dtype_is_integer(head->dtype))
        return bang_fail(err, BANG_EDATA,
                         "%s: %s of %s: a table of f2, f4 or f8 is needed: are these labels, or "
                         "classes that were predicted?",
                         t->path, text, bang_dtype_name(head->dtype));
    if (head->rank != 2)
        return bang_fail(err, BANG_EDATA,
                         "%s: shape %s: a table has two dimensions, (samples, classes): reshape it",
                         t->path, text);
    return bang_npy_check(head, &t->source, err);
}

int bang_npy_table_open(bang_npy_table **out, const char *path, bang_error *err)
{
    bang_npy_table *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return bang_fail_memory(err);
    t->source.descriptor = -1;
    pthread_mutex_init(&t->lock, NULL);
    t->path = strdup(path);
    int rc = t->path ? bang_source_open(&t->source, t->path, err) : bang_fail_memory(err);
    if (rc == 0)
        rc = bang_npy_head_read(&t->head, &t->source, err);
    if (rc == 0)
        rc = check(t, err);
    if (rc < 0) {
        bang_npy_table_close(t);
        return rc;
    }
    t->turn = t->head.big == bang_bytes_native_little();
    t->table = (bang_table){.name = t->path,
                            .rows = t->head.shape[0],
                            .columns = t->head.shape[1],
                            .dtype = t->head.dtype == BANG_F64 ? BANG_F64 : BANG_F32,
                            .read = read_rows,
                            .context = t};
    *out = t;
    return 0;
}

const bang_table *bang_npy_table_get(const bang_npy_table *table)
{
    return &table->table;
}

void bang_npy_table_close(bang_npy_table *table)
{
    if (!table)
        return;
    bang_source_close(&table->source);
    for (int i = 0; i < BLOCKS; i++)
        free(table->blocks[i].rows);
    free(table->pieces);
    pthread_mutex_destroy(&table->lock);
    free(table->path);
    free(table);
}
