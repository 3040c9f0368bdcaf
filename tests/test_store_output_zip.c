/* Checkpoints written as .pt, .npz and .npy, and read again. */
#include "checkpoint_cases.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "bang/base/file.h"
#include "bang/store/npy.h"
#include "bang/store/output.h"
#include "bang/store/stream.h"
#include "store/output.h"
#include "store/zip.h"

enum { MOST = 32 };

/* Everything that is needed to copy a checkpoint of at most MOST tensors. */
struct copy {
    const bang_checkpoint *from;
    bang_output_item items[MOST];
    bang_feed feeds[MOST];
    bang_stream_item stream[MOST];
};

static void copy_numbers(void *context, size_t output, size_t item, uint64_t first, size_t count,
                         const void *const *in, void *out)
{
    const struct copy *copy = context;
    (void)output, (void)first;
    memcpy(out, in[0], count * copy->stream[item].step);
}

static int write_copy(const bang_checkpoint *from, const char *path, bang_error *err)
{
    struct copy copy = {.from = from};
    const bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    bang_stream stream = BANG_STREAM_INIT;
    bang_output *to = NULL;
    stream.max_memory = (uint64_t)1 << 30; /* sanitizers take some */
    assert_true(from->count <= MOST);
    for (size_t i = 0; i < from->count; i++) {
        const bang_entry *e = &from->entries[i];
        copy.items[i] = (bang_output_item){
            .name = e->name, .dtype = e->dtype, .rank = e->rank, .shape = e->shape};
    }
    int code = bang_output_plan(&to, path, copy.items, from->count, &options, err);
    for (size_t i = 0; code == 0 && i < from->count; i++) {
        copy.feeds[i] = (bang_feed){from, &from->entries[i]};
        copy.stream[i] = (bang_stream_item){.feeds = &copy.feeds[i],
                                            .count = bang_entry_count(&from->entries[i]),
                                            .file = copy.items[i].file,
                                            .offset = copy.items[i].offset,
                                            .step = bang_entry_step(&from->entries[i]),
                                            .item = i};
    }
    if (code == 0)
        code = bang_output_begin(to, err);
    if (code == 0)
        code = bang_stream_write(&stream, copy.stream, from->count, 1, &to, 1, copy_numbers, &copy,
                                 err);
    if (code == 0)
        code = bang_output_commit(to, err);
    bang_output_free(to);
    return code;
}

/* All tensors of a are in b, number for number. */
static void check_same(const bang_checkpoint *a, const bang_checkpoint *b)
{
    bang_error err = {0};
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const bang_entry *x = &a->entries[i], *y = bang_checkpoint_find(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape);
        assert_true(bang_entry_is_plain(y));
        assert_int_equal(y->offset % 64, 0);
        char *one = malloc(x->bytes + 1), *two = malloc(x->bytes + 1);
        assert_int_equal(bang_checkpoint_read(a, x, 0, one, x->bytes, &err), 0);
        assert_int_equal(bang_checkpoint_read(b, y, 0, two, x->bytes, &err), 0);
        assert_memory_equal(one, two, x->bytes);
        free(one);
        free(two);
    }
}

/* The sums that the directory tells are those of the bytes, and nothing follows it. */
static void check_sums(const char *path)
{
    bang_source source;
    bang_zip zip;
    bang_error err = {0};
    assert_int_equal(bang_source_open(&source, path, &err), 0);
    assert_int_equal(bang_zip_read(&zip, &source, &err), 0);
    for (size_t i = 0; i < zip.count; i++) {
        const bang_zip_member *m = &zip.members[i];
        unsigned char *bytes = malloc(m->size + 1), local[4];
        assert_int_equal(bang_source_read(&source, bytes, m->offset, m->size, &err), 0);
        assert_int_equal(crc32_z(0, bytes, m->size), m->crc);
        assert_int_equal(bang_source_read(&source, local, m->header + 14, 4, &err), 0);
        assert_int_equal(local[0] | local[1] << 8 | local[2] << 16 | (uint32_t)local[3] << 24,
                         m->crc);
        free(bytes);
    }
    bang_zip_release(&zip);
    bang_source_close(&source);
}

static void check_copy(const char *vector, const char *path, const char *again)
{
    bang_checkpoint *from = open_vector(vector), *to = NULL;
    bang_error err = {0};
    if (write_copy(from, path, &err) < 0 || bang_checkpoint_open(&to, path, &err) < 0)
        fail_msg("%s", err.message);
    check_same(from, to);
    check_sums(path);
    bang_checkpoint_close(to);
    /* The same bytes every time. */
    char *one, *two;
    size_t size, other;
    assert_int_equal(write_copy(from, again, &err), 0);
    assert_int_equal(bang_file_read(&one, &size, path, &err), 0);
    assert_int_equal(bang_file_read(&two, &other, again, &err), 0);
    assert_int_equal(size, other);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
    bang_checkpoint_close(from);
}

static void test_copies(void **state)
{
    const char *folder = *state;
    check_copy("types.pt", in_folder(folder, "a.pt"), in_folder(folder, "b.pt"));
    check_copy("views.pt", in_folder(folder, "a.pth"), in_folder(folder, "b.pth"));
    check_copy("stored.npz", in_folder(folder, "a.bin"), in_folder(folder, "b.bin"));
    check_copy("stored.npz", in_folder(folder, "a.npz"), in_folder(folder, "b.npz"));
    check_copy("views.pt", in_folder(folder, "c.npz"), in_folder(folder, "d.npz"));
}

/* A tensor that goes by in many pieces. */
static void test_long(void **state)
{
    const char *folder = *state, *whole = in_folder(folder, "whole.npy");
    static const char *const names[] = {"long.pt", "long.npz"};
    bang_array array;
    bang_checkpoint *from, *to;
    bang_error err = {0};
    assert_int_equal(bang_array_init(&array, BANG_U16, 2, (size_t[]){3001, 1999}, &err), 0);
    for (size_t i = 0; i < array.count; i++)
        ((uint16_t *)array.data)[i] = (uint16_t)(i * 40503 >> 3);
    assert_int_equal(bang_npy_write(whole, &array, &err), 0);
    assert_int_equal(bang_checkpoint_open(&from, whole, &err), 0);
    for (int i = 0; i < 2; i++) {
        const char *path = in_folder(folder, names[i]);
        assert_int_equal(write_copy(from, path, &err), 0);
        assert_int_equal(bang_checkpoint_open(&to, path, &err), 0);
        check_same(from, to);
        check_sums(path);
        bang_checkpoint_close(to);
    }
    bang_checkpoint_close(from);
    bang_array_release(&array);
}

static void test_npy(void **state)
{
    const char *path = in_folder(*state, "a.npy");
    bang_checkpoint *from = open_vector("fortran.npy"), *to = NULL;
    bang_error err = {0};
    assert_int_equal(write_copy(from, path, &err), 0);
    assert_int_equal(bang_checkpoint_open(&to, path, &err), 0);
    check_same(from, to);
    bang_checkpoint_close(to);
    bang_checkpoint_close(from);
    from = open_vector("state_dict.pt");
    assert_int_equal(write_copy(from, path, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "holds one array, not 3"));
    bang_checkpoint_close(from);
}

static void plan_one(const char *path, bang_dtype dtype, size_t count, const char *why)
{
    bang_output_item item = {.name = "x", .dtype = dtype, .rank = 1, .shape = &count};
    const bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
    bang_output *to;
    bang_error err = {0};
    int code = bang_output_plan(&to, path, &item, 1, &options, &err);
    assert_int_equal(code, why ? BANG_EUSAGE : 0);
    if (why && !strstr(err.message, why))
        fail_msg("%s", err.message);
    bang_output_free(to);
}

/* Types that a format has no name for are refused before anything is written. */
static void test_types(void **state)
{
    const char *folder = *state;
    plan_one(in_folder(folder, "x.pt"), BANG_F4, 4, "PyTorch has no number type F4");
    plan_one(in_folder(folder, "x.pt"), BANG_F8_E4M3, 4, NULL);
    plan_one(in_folder(folder, "x.npz"), BANG_BF16, 4, "npy has no number type BF16");
    plan_one(in_folder(folder, "x.npy"), BANG_F8_E4M3, 4, "npy has no number type F8_E4M3");
    plan_one(in_folder(folder, "x.npy"), BANG_C64, 4, NULL);
}

/* Types without a storage class of their own, by way of bytes. */
static void test_untyped(void **state)
{
    static const bang_dtype types[] = {BANG_F8_E4M3,     BANG_F8_E5M2, BANG_F8_E4M3FNUZ,
                                       BANG_F8_E5M2FNUZ, BANG_F8_E8M0, BANG_U16,
                                       BANG_U32,         BANG_U64};
    const char *path = in_folder(*state, "x.pt");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t shape[] = {2, 3};
        bang_output_item item = {.name = "x", .dtype = types[i], .rank = 2, .shape = shape};
        const bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
        bang_output *to;
        bang_checkpoint *c = NULL;
        bang_error err = {0};
        assert_int_equal(bang_output_plan(&to, path, &item, 1, &options, &err), 0);
        assert_int_equal(bang_output_begin(to, &err), 0);
        assert_int_equal(bang_output_rewrite(&to->files[0], &err), 0);
        assert_int_equal(bang_output_commit(to, &err), 0);
        bang_output_free(to);
        if (bang_checkpoint_open(&c, path, &err) < 0)
            fail_msg("%s", err.message);
        const bang_entry *entry = bang_checkpoint_find(c, "x");
        assert_int_equal(entry->dtype, types[i]);
        assert_int_equal(entry->rank, 2);
        assert_memory_equal(entry->shape, shape, sizeof shape);
        assert_true(bang_entry_is_plain(entry));
        assert_int_equal(c->entries[0].offset, item.offset);
        bang_checkpoint_close(c);
    }
}

/* Beyond 4 GB: only what is no tensor's is written, into a file with holes. */
static void test_large(void **state)
{
    static const char *const names[] = {"x.pt", "x.npz"};
    for (int n = 0; n < 2; n++) {
        const char *path = in_folder(*state, names[n]);
        size_t large = (size_t)5 << 30, small = 7;
        bang_output_item items[] = {
            {.name = "a", .dtype = BANG_U8, .rank = 1, .shape = &large},
            {.name = "b", .dtype = BANG_F32, .rank = 1, .shape = &small},
        };
        const bang_output_options options = BANG_OUTPUT_OPTIONS_INIT;
        bang_output *to;
        bang_error err = {0};
        assert_int_equal(bang_output_plan(&to, path, items, 2, &options, &err), 0);
        assert_true(items[1].offset > large);
        int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        assert_int_equal(ftruncate(fd, (off_t)to->files[0].size), 0);
        for (size_t i = 0; i < to->files[0].span_count; i++) {
            const bang_span *span = &to->files[0].spans[i];
            ssize_t size = (ssize_t)span->bytes.size;
            assert_int_equal(pwrite(fd, span->bytes.data, span->bytes.size, (off_t)span->offset),
                             size);
        }
        close(fd);
        /* Those who read from the front need the sizes there too. */
        const bang_text *local = &to->files[0].spans[n == 0 ? 2 : 0].bytes;
        uint64_t sizes[] = {to->files[0].spans[n == 0 ? 3 : 1].offset - items[0].offset, 0};
        if (n == 1) /* the header of the array is a part of the member */
            sizes[0] +=
                local->size -
                (size_t)((char *)memmem(local->data, local->size, "\x93NUMPY", 6) - local->data);
        sizes[1] = sizes[0];
        assert_memory_equal(local->data + 18, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
        assert_non_null(memmem(local->data, local->size, sizes, sizeof sizes));
        bang_checkpoint *c = NULL;
        if (bang_checkpoint_open(&c, path, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(c->count, 2);
        for (int i = 0; i < 2; i++) {
            const bang_entry *entry = bang_checkpoint_find(c, items[i].name);
            assert_int_equal(entry->offset, items[i].offset);
            assert_int_equal(entry->bytes, items[i].bytes);
        }
        bang_checkpoint_close(c);
        bang_output_free(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copies, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_long, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_npy, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_types, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_untyped, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_large, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
