/* Tables: rows of an npy file by pieces are what the whole file holds, whatever its type, byte
 * order and order of numbers; what is no table is refused. */
#include "store_cases.h"

#include <math.h>
#include <sys/stat.h>

#include "bang/base/thread.h"
#include "bang/store/npy.h"

/* An npy file of that dict; the caller frees. */
static char *npy_bytes(size_t *total, const char *dict, const void *data, size_t size)
{
    size_t length = strlen(dict);
    char *bytes = malloc(10 + length + size + 1);
    assert_non_null(bytes);
    memcpy(bytes, "\x93NUMPY\x01", 8);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, dict, length);
    if (size > 0)
        memcpy(bytes + 10 + length, data, size);
    *total = 10 + length + size;
    return bytes;
}

static void put_npy(const char *path, const char *descr, const char *order, const char *shape,
                    const void *data, size_t size)
{
    char dict[200];
    size_t total;
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
             order, shape);
    char *bytes = npy_bytes(&total, dict, data, size);
    put_bytes(path, bytes, total);
    free(bytes);
}

static bang_npy_table *open_table(const char *path)
{
    bang_npy_table *file;
    bang_error err = {0};
    if (bang_npy_table_open(&file, path, &err) < 0)
        fail_msg("%s", err.message);
    return file;
}

/* Who reads at the same time, and what comes of it. */
typedef struct readers {
    const bang_table *table;
    const bang_array *whole;
    size_t piece; /* rows */
    atomic_size_t wrong;
} readers;

static double number_at(const bang_table *table, const void *numbers, size_t index)
{
    return table->dtype == BANG_F64 ? ((const double *)numbers)[index]
                                    : (double)((const float *)numbers)[index];
}

static int read_piece(void *context, size_t index, int worker, bang_error *err)
{
    readers *r = context;
    const bang_table *table = r->table;
    size_t first = index * r->piece, left = table->rows - first;
    size_t count = left < r->piece ? left : r->piece, numbers = count * table->columns;
    (void)worker;
    /* of just that size: a sanitizer sees what is written too far */
    void *out = malloc(numbers * bang_dtype_size(table->dtype) + (numbers == 0));
    int rc = table->read(table->context, out, first, count, err);
    for (size_t i = 0; rc == 0 && i < numbers; i++) {
        double is = number_at(table, out, i);
        double should = bang_array_number(r->whole, first * table->columns + i);
        if (!(is == should && !signbit(is) == !signbit(should)) && !(isnan(is) && isnan(should)))
            atomic_fetch_add(&r->wrong, 1);
    }
    free(out);
    return rc;
}

static void compare(const char *path, size_t rows, size_t columns, bang_dtype dtype)
{
    const size_t pieces[] = {1, 7, 64, rows};
    bang_array whole;
    bang_error err = {0};
    bang_npy_table *file = open_table(path);
    const bang_table *table = bang_npy_table_get(file);
    assert_int_equal(table->rows, rows);
    assert_int_equal(table->columns, columns);
    assert_int_equal(table->dtype, dtype);
    assert_string_equal(table->name, path);
    assert_int_equal(bang_npy_read(&whole, path, &err), 0);
    for (size_t i = 0; i < 4; i++) {
        readers r = {.table = table, .whole = &whole, .piece = pieces[i]};
        size_t count = (rows + pieces[i] - 1) / pieces[i];
        if (pieces[i] * 500 < rows)
            continue; /* thousands of calls find nothing more */
        if (bang_parallel_for(count, 4, read_piece, &r, NULL, &err) < 0)
            fail_msg("%s", err.message);
        if (r.wrong > 0)
            fail_msg("%s by %zu rows: %zu numbers are wrong", path, pieces[i], (size_t)r.wrong);
    }
    bang_array_release(&whole);
    bang_npy_table_close(file);
}

/* Any bytes are numbers; those of f2 are all there are. */
static void test_types_and_orders(void **state)
{
    static const char *const types[] = {"f2", "f4", "f8"};
    static const struct {
        const char *shape;
        size_t rows, columns;
    } shapes[] = {
        {"(256, 256)", 256, 256}, {"(65536, 1)", 65536, 1}, {"(1, 65536)", 1, 65536},
        {"(9362, 7)", 9362, 7},   {"(41, 43)", 41, 43},     {"(1, 1)", 1, 1},
    };
    const char *path = in_folder(*state, "table.npy");
    size_t most = 65536 * sizeof(double);
    unsigned char *data = malloc(most);
    for (size_t i = 0; i < most; i++) /* in f2 number i is i */
        data[i] = (unsigned char)(i < 131072 ? i / 2 >> 8 * (i % 2) : i * 37 + i / 251);
    for (size_t t = 0; t < 3; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int kind = 0; kind < 4; kind++) {
                char descr[8];
                snprintf(descr, sizeof descr, "%c%s", kind & 1 ? '>' : '<', types[t]);
                put_npy(path, descr, kind & 2 ? "True" : "False", shapes[s].shape, data,
                        shapes[s].rows * shapes[s].columns * (size_t)(2 << t));
                compare(path, shapes[s].rows, shapes[s].columns, t == 2 ? BANG_F64 : BANG_F32);
            }
    free(data);
}

static void test_no_rows(void **state)
{
    const char *path = in_folder(*state, "table.npy");
    char byte = 'x';
    put_npy(path, "<f4", "True", "(0, 10)", NULL, 0);
    bang_npy_table *file = open_table(path);
    const bang_table *table = bang_npy_table_get(file);
    assert_int_equal(table->read(table->context, &byte, 0, 0, NULL), 0);
    assert_int_equal(byte, 'x');
    bang_npy_table_close(file);
}

static void test_rows_that_are_not_there(void **state)
{
    const char *path = in_folder(*state, "table.npy");
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    float out[6] = {0};
    bang_error err = {0};
    bang_table plain;
    put_npy(path, "<f4", "False", "(2, 3)", numbers, sizeof numbers);
    bang_npy_table *file = open_table(path);
    bang_table_of(&plain, "plain", BANG_F32, numbers, 2, 3);
    const bang_table *tables[] = {bang_npy_table_get(file), &plain};
    for (int i = 0; i < 2; i++) {
        const bang_table *table = tables[i];
        assert_int_equal(table->read(table->context, out, 1, 1, &err), 0);
        assert_memory_equal(out, numbers + 3, 3 * sizeof *out);
        assert_int_equal(table->read(table->context, out, 1, 2, &err), BANG_EUSAGE);
        assert_non_null(strstr(err.message, "has 2 rows"));
        assert_int_equal(table->read(table->context, out, 3, 0, &err), BANG_EUSAGE);
        assert_int_equal(table->read(table->context, out, 1, SIZE_MAX, &err), BANG_EUSAGE);
    }
    bang_npy_table_close(file);
}

static void test_in_memory(void **state)
{
    (void)state;
    const double numbers[] = {1, 2, 3, 4, 5, 6};
    double out[4];
    bang_table table;
    bang_table_of(&table, "six", BANG_F64, numbers, 3, 2);
    assert_int_equal(table.rows, 3);
    assert_int_equal(table.columns, 2);
    assert_string_equal(table.name, "six");
    assert_int_equal(table.read(table.context, out, 1, 2, NULL), 0);
    assert_memory_equal(out, numbers + 2, sizeof out);
    bang_table_of(&table, "none", BANG_F64, NULL, 0, 2);
    assert_int_equal(table.read(table.context, out, 0, 0, NULL), 0);
}

/* Opened, then cut: both orders, also in the middle of a run. */
static void test_a_file_that_shrinks(void **state)
{
    static const char *const orders[] = {"False", "True"};
    const char *path = in_folder(*state, "table.npy");
    float *numbers = calloc(10000, 100 * sizeof *numbers);
    float *out = calloc(10000, 100 * sizeof *out);
    assert_true(numbers && out);
    for (int i = 0; i < 2; i++) {
        bang_error err = {0};
        put_npy(path, "<f4", orders[i], "(10000, 100)", numbers, 4000000);
        bang_npy_table *file = open_table(path);
        const bang_table *table = bang_npy_table_get(file);
        assert_int_equal(truncate(path, 2000000), 0);
        assert_int_equal(table->read(table->context, out, 0, 10000, &err), BANG_EDATA);
        assert_non_null(strstr(err.message, "became shorter while it was read"));
        /* a block that was not read whole is none */
        assert_int_equal(table->read(table->context, out, 5001, 1, &err), BANG_EDATA);
        bang_npy_table_close(file);
    }
    free(numbers);
    free(out);
}

/* Of Fortran order, larger than what is kept of it: any rows in any order, by several threads. */
enum { LONG_ROWS = 5 * 131072 + 100, LONG_COLUMNS = 8 };

static int read_anywhere(void *context, size_t index, int worker, bang_error *err)
{
    readers *r = context;
    float out[50 * LONG_COLUMNS];
    size_t first = index * 7919 * 131 % (LONG_ROWS - 50), count = 1 + index % 50;
    (void)worker;
    int rc = r->table->read(r->table->context, out, first, count, err);
    for (size_t i = 0; rc == 0 && i < count * LONG_COLUMNS; i++) {
        /* 1024 + k is an f2 for k below 1024: its bits are 0x6400 + k */
        size_t number = (first + i / LONG_COLUMNS) * 3 + i % LONG_COLUMNS;
        if (out[i] != (float)(1024 + number % 1024))
            atomic_fetch_add(&r->wrong, 1);
    }
    return rc;
}

static void test_a_long_table(void **state)
{
    const char *path = in_folder(*state, "long.npy");
    uint16_t *numbers = malloc(sizeof *numbers * LONG_ROWS * LONG_COLUMNS);
    char shape[64];
    float out[LONG_COLUMNS];
    bang_error err = {0};
    assert_non_null(numbers);
    for (size_t c = 0; c < LONG_COLUMNS; c++)
        for (size_t i = 0; i < LONG_ROWS; i++)
            numbers[c * LONG_ROWS + i] = (uint16_t)(0x6400 + (i * 3 + c) % 1024);
    snprintf(shape, sizeof shape, "(%d, %d)", LONG_ROWS, LONG_COLUMNS);
    put_npy(path, "=f2", "True", shape, numbers, sizeof *numbers * LONG_ROWS * LONG_COLUMNS);
    free(numbers);
    bang_npy_table *file = open_table(path);
    readers r = {.table = bang_npy_table_get(file)};
    if (bang_parallel_for(300, 4, read_anywhere, &r, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(r.wrong, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(r.table->read(r.table->context, out, i * 131072, 1, &err), 0);
    /* the fifth block takes the place of another, and what was in its place is no part of it */
    assert_int_equal(truncate(path, 1000), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(r.table->read(r.table->context, out, LONG_ROWS - 50, 1, &err), BANG_EDATA);
    bang_npy_table_close(file);
}

static void refuse(const char *path, const char *why)
{
    bang_npy_table *file = (bang_npy_table *)1;
    bang_error err = {0};
    int rc = bang_npy_table_open(&file, path, &err);
    if (rc >= 0 || file || !strstr(err.message, why) || strchr(err.message, '\n') ||
        strncmp(err.message, path, strlen(path)) != 0)
        fail_msg("%d, not \"%s\": %s", rc, why, err.message);
}

static void test_no_tables(void **state)
{
    static const struct {
        const char *descr, *shape;
        size_t size;
        const char *why;
    } bad[] = {
        {"<i8", "(2, 3)", 48, "(2, 3) of I64: a table of f2, f4 or f8 is needed: are these labels"},
        {"|u1", "(2, 3)", 6, "of U8"},
        {"|b1", "(2, 3)", 6, "of BOOL"},
        {"<c8", "(2, 3)", 48, "complex"},
        {"<c16", "(2, 3)", 96, "\"<c16\" is not known"},
        {"<f16", "(2, 3)", 96, "\"<f16\" is not known"},
        {"|V2", "(2, 3)", 12, "bfloat16"},
        {"|O", "(2, 3)", 48, "Python objects"},
        {"<f4", "(6,)", 24, "shape (6,): a table has two dimensions"},
        {"<f4", "()", 4, "shape (): a table"},
        {"<f4", "(1, 2, 3)", 24, "shape (1, 2, 3): a table has two dimensions"},
        {"<f4", "(2, 3)", 23, "needs 24 bytes of numbers, but 23 follow: the file is cut"},
        {"<f4", "(2, 3)", 25, "no single array"},
        {"<f4", "(3000000000, 3000000000)", 24, "larger than memory"},
    };
    const char *path = in_folder(*state, "bad.npy");
    const char data[96] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_npy(path, bad[i].descr, "False", bad[i].shape, data, bad[i].size);
        refuse(path, bad[i].why);
    }
    refuse(in_folder(*state, "none.npy"), "No such file");
    refuse(*state, "directory");
}

static void test_other_formats(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } others[] = {
        {"PK\x03\x04\x14\0\0\0\0\0\0\0", 12,
         "but a zip, as numpy.savez and torch.save make: write"},
        {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8", 12, "but a pickle, as torch.save made"},
        {"\x80\x04\x95\x1a\0\0\0\0\0\0\0\0", 12, "but a pickle: write the array with numpy.save"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "but HDF5"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\0\0\0", 12, "but gzip"},
        {"\x40\0\0\0\0\0\0\0{\"a\"", 12, "but safetensors"},
        {"0.25,1.5\n3,4\n", 13, "is no npy file but text: write the array with numpy.save"},
        {"1\n2\n", 4, "is no npy file but text"},
        {"", 0, "is no npy file but nothing"},
        {"\x93NUMPX\x01\0\0\0\0\0", 12, "is no npy file: write"},
        {"\x93NUMPY\x01", 7, "7 bytes: too short"},
    };
    const char *path = in_folder(*state, "other.npy");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put_bytes(path, others[i].bytes, others[i].size);
        refuse(path, others[i].why);
    }
}

/* A pipe has no places to read from: it is read into memory. */
static void test_a_pipe(void **state)
{
    (void)state;
    const float numbers[6] = {1, 2, 3, 4, 5, 6};
    float out[3];
    int ends[2];
    char path[64];
    size_t total;
    char *bytes = npy_bytes(&total, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                            numbers, sizeof numbers);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, total), total);
    close(ends[1]);
    free(bytes);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    bang_npy_table *file = open_table(path);
    const bang_table *table = bang_npy_table_get(file);
    assert_int_equal(table->read(table->context, out, 1, 1, NULL), 0);
    assert_memory_equal(out, numbers + 3, sizeof out);
    assert_int_equal(table->read(table->context, out, 0, 1, NULL), 0);
    assert_memory_equal(out, numbers, sizeof out);
    bang_npy_table_close(file);
    close(ends[0]);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_types_and_orders),
        IN_FOLDER(test_no_rows),
        IN_FOLDER(test_rows_that_are_not_there),
        cmocka_unit_test(test_in_memory),
        IN_FOLDER(test_a_file_that_shrinks),
        IN_FOLDER(test_a_long_table),
        IN_FOLDER(test_no_tables),
        IN_FOLDER(test_other_formats),
        cmocka_unit_test(test_a_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
