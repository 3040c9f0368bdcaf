/* Tensors whose numbers do not lie one after the other: entries with strides and
 * of the other byte order, and views, against plain loops. */
#include "store_cases.h"

#include "bang/base/thread.h"
#include "store/checkpoint.h"

enum { ROWS = 37, COLUMNS = 53, MOST = 8 * ROWS * COLUMNS };

static const bang_dtype types[] = {BANG_U8,  BANG_BOOL, BANG_F8_E5M2, BANG_I16, BANG_BF16,
                                   BANG_F32, BANG_U32,  BANG_F64,     BANG_I64, BANG_C64};

/* Number (row, column) lies at first + row * down + column * right; its bytes
 * little-endian to out. */
static void fetch(unsigned char *out, const unsigned char *file, const bang_entry *entry,
                  size_t first, size_t row, size_t column, size_t down, size_t right)
{
    size_t size = bang_dtype_size(entry->dtype), half = entry->dtype == BANG_C64 ? 4 : size;
    const unsigned char *from = file + first + (row * down + column * right) * size;
    for (size_t k = 0; k < size; k++)
        out[k] = from[entry->swapped ? k / half * half + half - 1 - k % half : k];
}

/* Reads all of it, and many stretches of it. */
static void check_view(const bang_checkpoint *c, const bang_entry *view, const unsigned char *file,
                       size_t first, size_t down, size_t right)
{
    static unsigned char expected[MOST], got[MOST];
    bang_error err = {0};
    size_t size = bang_dtype_size(view->dtype), at = 0;
    assert_int_equal(view->rank, 2);
    assert_int_equal(view->bytes, view->shape[0] * view->shape[1] * size);
    assert_int_equal(bang_entry_count(view), view->shape[0] * view->shape[1]);
    for (size_t r = 0; r < view->shape[0]; r++)
        for (size_t k = 0; k < view->shape[1]; k++, at += size)
            fetch(expected + at, file, view, first, r, k, down, right);
    assert_int_equal(bang_checkpoint_read(c, view, 0, got, view->bytes, &err), 0);
    assert_memory_equal(got, expected, view->bytes);
    bang_random random;
    bang_random_init(&random, view->bytes, BANG_PURPOSE('v', 'i', 'e', 'w'), 0);
    for (int i = 0; i < 60; i++) {
        size_t from = bang_random_below(&random, view->bytes + 1);
        size_t length = bang_random_below(&random, i % 2 ? 20 : view->bytes - from + 1);
        length = length < view->bytes - from ? length : view->bytes - from;
        memset(got, 0xee, sizeof got);
        assert_int_equal(bang_checkpoint_read(c, view, from, got, length, &err), 0);
        assert_memory_equal(got, expected + from, length);
        if (length < sizeof got)
            assert_int_equal(got[length], 0xee);
    }
}

static void add(bang_checkpoint *c, bang_entry entry)
{
    bang_error err = {0};
    if (bang_checkpoint_add(c, &entry, &err) < 0)
        fail_msg("%s", err.message);
}

static bang_checkpoint *from_memory(const void *data, size_t size)
{
    bang_checkpoint *c;
    bang_error err = {0};
    size_t file;
    assert_int_equal(bang_checkpoint_new(&c, "memory", &err), 0);
    assert_int_equal(bang_checkpoint_add_memory(c, &file, data, size, "memory", &err), 0);
    assert_int_equal(file, 0);
    return c;
}

static void test_views(void **state)
{
    static unsigned char data[MOST + 24];
    bang_error err = {0};
    fill_random(data, sizeof data, 3);
    put_bytes(in_folder(*state, "x"), data, sizeof data);
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        bang_checkpoint *c;
        size_t file, size = bang_dtype_size(types[i / 2]);
        const size_t shape[] = {ROWS, COLUMNS};
        assert_int_equal(bang_checkpoint_new(&c, "x", &err), 0);
        assert_int_equal(bang_checkpoint_add_path(c, &file, in_folder(*state, "x"), &err), 0);
        add(c, (bang_entry){.name = "m",
                            .dtype = types[i / 2],
                            .rank = 2,
                            .shape = shape,
                            .offset = 7,
                            .swapped = i % 2});
        assert_int_equal(bang_checkpoint_complete(c, &err), 0);
        const bang_entry *m = bang_checkpoint_find(c, "m");
        assert_int_equal(bang_entry_is_plain(m), i % 2 == 0 || size == 1);
        check_view(c, m, data, 7, COLUMNS, 1);
        const bang_entry *t = bang_checkpoint_transposed(c, m, &err);
        assert_int_equal(t->shape[0], COLUMNS);
        assert_false(bang_entry_is_plain(t));
        check_view(c, t, data, 7, 1, COLUMNS);
        const bang_entry *back = bang_checkpoint_transposed(c, t, &err);
        assert_null(back->strides);
        check_view(c, back, data, 7, COLUMNS, 1);
        const bang_entry *rows = bang_checkpoint_rows(c, m, 5, 11, &err);
        assert_null(rows->strides);
        check_view(c, rows, data, 7 + 5 * COLUMNS * size, COLUMNS, 1);
        check_view(c, bang_checkpoint_rows(c, t, 50, 3, &err), data, 7 + 50 * size, 1, COLUMNS);
        check_view(c, bang_checkpoint_transposed(c, rows, &err), data, 7 + 5 * COLUMNS * size, 1,
                   COLUMNS);
        const bang_entry *some = bang_checkpoint_rows(c, t, 10, 20, &err);
        check_view(c, bang_checkpoint_transposed(c, some, &err), data, 7 + 10 * size, COLUMNS, 1);
        check_view(c, bang_checkpoint_rows(c, some, 3, 4, &err), data, 7 + 13 * size, 1, COLUMNS);
        check_view(c, bang_checkpoint_rows(c, m, 0, ROWS, &err), data, 7, COLUMNS, 1);
        assert_int_equal(bang_checkpoint_rows(c, m, ROWS, 0, &err)->bytes, 0);
        assert_int_equal(bang_checkpoint_rows(c, t, 4, 0, &err)->bytes, 0);
        assert_null(bang_checkpoint_rows(c, m, ROWS, 1, &err));
        assert_null(bang_checkpoint_rows(c, m, 1, SIZE_MAX, &err));
        assert_null(bang_checkpoint_rows(c, m, SIZE_MAX, 1, &err));
        bang_checkpoint_close(c);
    }
}

/* What has no such view. */
static void test_no_views(void **state)
{
    (void)state;
    unsigned char data[16] = {0};
    bang_error err = {0};
    bang_checkpoint *c = from_memory(data, sizeof data);
    add(c, (bang_entry){.name = "scalar", .dtype = BANG_F32, .shape = NULL});
    add(c, (bang_entry){.name = "f4", .dtype = BANG_F4, .rank = 2, .shape = (size_t[]){2, 4}});
    add(c, (bang_entry){.name = "f6", .dtype = BANG_F6_E2M3, .rank = 1, .shape = (size_t[]){4}});
    assert_int_equal(bang_checkpoint_complete(c, &err), 0);
    const bang_entry *scalar = bang_checkpoint_find(c, "scalar");
    const bang_entry *f4 = bang_checkpoint_find(c, "f4");
    assert_int_equal(scalar->bytes, 4);
    assert_int_equal(f4->bytes, 4);
    assert_int_equal(bang_entry_step(f4), 1);
    assert_int_equal(bang_entry_count(f4), 4);
    assert_int_equal(bang_checkpoint_find(c, "f6")->bytes, 3);
    assert_null(bang_checkpoint_transposed(c, scalar, &err));
    assert_null(bang_checkpoint_transposed(c, f4, &err));
    assert_null(bang_checkpoint_rows(c, scalar, 0, 0, &err));
    assert_null(bang_checkpoint_rows(c, f4, 0, 1, &err));
    bang_checkpoint_close(c);
}

/* Strides of any kind: gaps, repetition, more dimensions than an array has. */
static void test_strides(void **state)
{
    (void)state;
    unsigned char data[4096], got[4096];
    bang_error err = {0};
    bang_random random;
    bang_random_init(&random, 1, BANG_PURPOSE('s', 't', 'r', 'd'), 0);
    fill_random(data, sizeof data, 4);
    for (int round = 0; round < 300; round++) {
        enum { RANK = 10 };
        size_t shape[RANK], rank = bang_random_below(&random, RANK + 1), count = 1, last = 0;
        ptrdiff_t strides[RANK];
        bang_dtype dtype = types[bang_random_below(&random, sizeof types / sizeof *types)];
        size_t size = bang_dtype_size(dtype);
        for (size_t d = 0; d < rank; d++) {
            shape[d] = 1 + bang_random_below(&random, count < 100 ? 4 : 1);
            strides[d] = (ptrdiff_t)bang_random_below(&random, 20);
            count *= shape[d];
            last += (shape[d] - 1) * (size_t)strides[d];
        }
        size_t span = (last + 1) * size, offset = sizeof data - span;
        bang_checkpoint *c = from_memory(data, sizeof data);
        bang_entry entry = {.name = "s",
                            .dtype = dtype,
                            .rank = (int)rank,
                            .shape = shape,
                            .strides = strides,
                            .offset = offset + 1};
        /* One byte too far: refused, unless the strides are those of C order. */
        assert_int_equal(bang_checkpoint_add(c, &entry, &err), BANG_EDATA);
        entry.offset = offset;
        add(c, entry);
        assert_int_equal(bang_checkpoint_complete(c, &err), 0);
        assert_int_equal(bang_checkpoint_read(c, &c->entries[0], 0, got, count * size, &err), 0);
        for (size_t i = 0; i < count; i++) {
            size_t rest = i, at = offset;
            for (size_t d = rank; d-- > 0; rest /= shape[d])
                at += rest % shape[d] * (size_t)strides[d] * size;
            assert_memory_equal(got + i * size, data + at, size);
        }
        bang_checkpoint_close(c);
    }
}

/* What a header may claim, and what is done about it. */
static void test_limits(void **state)
{
    (void)state;
    enum { HALF = 62 };
    const size_t huge = (size_t)1 << HALF;
    struct {
        bang_entry entry;
        const char *why; /* NULL: accepted */
    } cases[] = {
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){4}}, NULL},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){4}, .offset = 1}, "behind the file"},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){1}, .offset = UINT64_MAX - 1},
         "behind the file"},
        {{.dtype = BANG_F32, .rank = 2, .shape = (size_t[]){huge, huge}}, "larger than memory"},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){SIZE_MAX}}, "larger than memory"},
        {{.dtype = BANG_U8, .rank = 1, .shape = (size_t[]){huge}}, "larger than memory"},
        {{.dtype = BANG_U8, .rank = 1, .shape = (size_t[]){huge >> 4}}, "behind the file"},
        {{.dtype = BANG_F32, .rank = 3, .shape = (size_t[]){huge, 0, huge}}, NULL},
        {{.dtype = BANG_F32, .rank = 3, .shape = (size_t[]){0, SIZE_MAX, 2}, .offset = 1 << 20},
         NULL},
        {{.dtype = BANG_F32,
          .rank = 2,
          .shape = (size_t[]){0, SIZE_MAX},
          .strides = (ptrdiff_t[]){-1, PTRDIFF_MAX}},
         NULL},
        {{.dtype = BANG_F32,
          .rank = 1,
          .shape = (size_t[]){2},
          .strides = (ptrdiff_t[]){PTRDIFF_MAX}},
         "farther than a file"},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){2}, .strides = (ptrdiff_t[]){-1}},
         "negative stride"},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){2}, .strides = (ptrdiff_t[]){4}},
         "behind the file"},
        {{.dtype = BANG_F32, .rank = 1, .shape = (size_t[]){2}, .strides = (ptrdiff_t[]){3}}, NULL},
        {{.dtype = BANG_U8,
          .rank = 2,
          .shape = (size_t[]){3, 3},
          .strides = (ptrdiff_t[]){PTRDIFF_MAX / 2, PTRDIFF_MAX / 2}},
         "farther than a file"},
        /* A stride of a single element is no matter. */
        {{.dtype = BANG_F32,
          .rank = 2,
          .shape = (size_t[]){1, 4},
          .strides = (ptrdiff_t[]){PTRDIFF_MAX, 1}},
         NULL},
        {{.dtype = BANG_F4, .rank = 1, .shape = (size_t[]){3}}, "whole bytes"},
        {{.dtype = BANG_F4, .rank = 1, .shape = (size_t[]){2}, .strides = (ptrdiff_t[]){2}},
         "share bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char data[16] = {0}, got[16];
        bang_error err = {0};
        bang_checkpoint *c = from_memory(data, sizeof data);
        bang_entry entry = cases[i].entry;
        entry.name = "t";
        int code = bang_checkpoint_add(c, &entry, &err);
        if (code != (cases[i].why ? BANG_EDATA : 0) ||
            (cases[i].why && !strstr(err.message, cases[i].why)))
            fail_msg("case %d: %s", (int)i, err.message);
        if (code == 0) {
            assert_int_equal(bang_checkpoint_complete(c, &err), 0);
            const bang_entry *t = bang_checkpoint_find(c, "t");
            assert_true(t->bytes <= 16);
            assert_int_equal(bang_checkpoint_read(c, t, 0, got, t->bytes, &err), 0);
        }
        bang_checkpoint_close(c);
    }
}

static void test_twice_and_notes(void **state)
{
    (void)state;
    unsigned char data[4] = {0};
    bang_error err = {0};
    bang_checkpoint *c = from_memory(data, sizeof data);
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i * 7 % 199);
        add(c, (bang_entry){.name = name, .dtype = BANG_U8, .rank = 0});
    }
    assert_int_equal(bang_checkpoint_complete(c, &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "\"0\": is there twice"));
    assert_int_equal(bang_checkpoint_note(c, &err, "left %s out", "x"), 0);
    assert_int_equal(bang_checkpoint_note(c, &err, "\xff"), 0);
    char text[600];
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[598] = '\0';
    assert_int_equal(bang_checkpoint_note(c, &err, "%s", text), 0);
    assert_int_equal(json_array_size(c->notes), 3);
    assert_string_equal(json_string_value(json_array_get(c->notes, 0)), "left x out");
    bang_checkpoint_close(c);
}

struct readers {
    const bang_checkpoint *checkpoint;
    const bang_entry *views[4];
    unsigned char expected[4][8 * ROWS * COLUMNS];
};

static int read_some(void *context, size_t index, int worker, bang_error *err)
{
    (void)worker;
    struct readers *readers = context;
    const bang_entry *view = readers->views[index % 4];
    unsigned char got[1000];
    size_t from = index * 37 % (view->bytes - sizeof got);
    int code = bang_checkpoint_read(readers->checkpoint, view, from, got, sizeof got, err);
    if (code == 0 && memcmp(got, readers->expected[index % 4] + from, sizeof got) != 0)
        code = bang_fail(err, BANG_EDATA, "other bytes");
    return code;
}

static void test_threads(void **state)
{
    static struct readers readers;
    static unsigned char data[8 * ROWS * COLUMNS];
    bang_error err = {0};
    fill_random(data, sizeof data, 9);
    put_safetensors(in_folder(*state, "x.safetensors"),
                    "{\"a\":{\"dtype\":\"F64\",\"shape\":[37,53],\"data_offsets\":[0,15688]}}",
                    data, sizeof data);
    bang_checkpoint *c = open_it(in_folder(*state, "x.safetensors"));
    static bang_entry turned;
    turned = c->entries[0];
    turned.swapped = 1;
    readers.checkpoint = c;
    readers.views[0] = &c->entries[0];
    readers.views[1] = bang_checkpoint_transposed(c, &c->entries[0], &err);
    readers.views[2] = bang_checkpoint_rows(c, readers.views[1], 3, 40, &err);
    readers.views[3] = &turned;
    for (int i = 0; i < 4; i++)
        assert_int_equal(bang_checkpoint_read(c, readers.views[i], 0, readers.expected[i],
                                              readers.views[i]->bytes, &err),
                         0);
    if (bang_parallel_for(4000, 4, read_some, &readers, NULL, &err) < 0)
        fail_msg("%s", err.message);
    bang_checkpoint_close(c);
}

/* Every dimension is shown, however many there are; what does not fit is cut. */
static void test_shapes(void **state)
{
    (void)state;
    size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    char text[64], little[8];
    bang_entry nine = {.rank = 9, .shape = sizes}, eight = {.rank = 8, .shape = sizes};
    bang_entry one = {.rank = 1, .shape = sizes + 6}, other = {.rank = 1, .shape = sizes},
               none = {0};
    bang_entry_shape_text(text, sizeof text, &nine);
    assert_string_equal(text, "(1, 2, 3, 4, 5, 6, 7, 8, 9)");
    bang_entry_shape_text(text, sizeof text, &one);
    assert_string_equal(text, "(7,)");
    bang_entry_shape_text(text, sizeof text, &none);
    assert_string_equal(text, "()");
    bang_entry_shape_text(little, sizeof little, &nine);
    assert_string_equal(little, "(1, 2, ");
    assert_true(bang_entry_same_shape(&nine, &nine) && bang_entry_same_shape(&none, &none));
    assert_false(bang_entry_same_shape(&nine, &eight) || bang_entry_same_shape(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test_setup_teardown(test_views, make_folder, drop_folder),
        cmocka_unit_test(test_no_views),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_twice_and_notes),
        cmocka_unit_test_setup_teardown(test_threads, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
