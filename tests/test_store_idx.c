/* idx, plain and compressed. */
#include "testing.h"

#include <zlib.h>

#include "bang/base/file.h"
#include "bang/store/idx.h"

static int parse(bang_array *out, const void *data, size_t size, bang_error *err)
{
    char *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    int code = bang_idx_parse(out, exact, size, "x.idx", err);
    free(exact);
    return code;
}

static const char letters[] = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
                              "abcdef";
enum { LETTERS = sizeof letters - 1 };

/* gzip.compress of the same in Python */
static const unsigned char letters_gz[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                           0x03, 0x63, 0x60, 0xe0, 0x60, 0x62, 0x60, 0x60, 0x00,
                                           0x61, 0xe6, 0xc4, 0xa4, 0xe4, 0x94, 0xd4, 0x34, 0x00,
                                           0x83, 0xda, 0x46, 0x2f, 0x12, 0x00, 0x00, 0x00};

static void check_letters(const void *data, size_t size)
{
    bang_array array;
    bang_error err = {0};
    if (parse(&array, data, size, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(array.dtype, BANG_U8);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], 2);
    assert_int_equal(array.shape[1], 3);
    assert_memory_equal(array.data, "abcdef", 6);
    bang_array_release(&array);
}

static void check_refused(const void *data, size_t size, const char *why)
{
    bang_array array = {.data = (void *)1};
    bang_error err = {0};
    assert_int_equal(parse(&array, data, size, &err), BANG_EDATA);
    assert_null(array.data);
    if (!strstr(err.message, why) || strncmp(err.message, "x.idx: ", 7) != 0)
        fail_msg("%s", err.message);
}

static void test_plain_and_compressed(void **state)
{
    (void)state;
    check_letters(letters, LETTERS);
    check_letters(letters_gz, sizeof letters_gz);
}

static void test_cut_and_long_files(void **state)
{
    (void)state;
    for (size_t size = 0; size < LETTERS; size++)
        check_refused(letters, size, "the file is cut");
    check_refused("\0\0\x08\x01\0\0\0\1ab", 10, "bytes follow");
    for (size_t size = 2; size < sizeof letters_gz; size++)
        check_refused(letters_gz, size, "the file is cut");
    unsigned char more[sizeof letters_gz + 8] = {0};
    memcpy(more, letters_gz, sizeof letters_gz);
    check_refused(more, sizeof more, "damaged");
    /* The checksum at the end counts. */
    more[sizeof letters_gz - 8] ^= 1;
    check_refused(more, sizeof letters_gz, "damaged");
}

static void test_refused_headers(void **state)
{
    (void)state;
    check_refused("\1\0\x08\x01\0\0\0\1a", 9, "does not begin as");
    check_refused("\0\1\x08\x01\0\0\0\1a", 9, "does not begin as");
    check_refused("\0\0\x0a\x01\0\0\0\1a", 9, "does not begin as");
    check_refused("\0\0\x08\x09\0\0\0\1a", 9, "9 dimensions");
    check_refused("\0\0\x08\x01\xff\xff\xff\xff"
                  "a",
                  9, "cut");
    check_refused("\0\0\x0e\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
                  "a",
                  17, "cut");
    /* 2^96 numbers, which is 0 in 64 bits */
    check_refused("\0\0\x08\x03\x80\0\0\0\x80\0\0\0\x80\0\0\0", 16, "cut");
}

/* Compresses size bytes; the caller frees. */
static unsigned char *compress_bytes(size_t *out_size, const void *data, size_t size)
{
    z_stream zlib = {0};
    assert_int_equal(deflateInit2(&zlib, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    size_t capacity = deflateBound(&zlib, (uLong)size);
    unsigned char *out = malloc(capacity);
    zlib.next_in = (Bytef *)data;
    zlib.avail_in = (uInt)size;
    zlib.next_out = out;
    zlib.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    *out_size = zlib.total_out;
    deflateEnd(&zlib);
    return out;
}

/* A small file that claims, or that becomes, far more. */
static void test_bombs(void **state)
{
    (void)state;
    size_t size, compressed;
    /* Claims 2 GB and holds 8 bytes: refused before memory is taken. */
    unsigned char *bomb = compress_bytes(&compressed, "\0\0\x08\x01\x7f\xff\xff\xff", 8);
    check_refused(bomb, compressed, "cut");
    free(bomb);
    /* Claims 3 bytes and becomes 30 MB. */
    size = 30000000;
    unsigned char *data = calloc(size, 1);
    memcpy(data, "\0\0\x08\x01\0\0\0\3", 8);
    bomb = compress_bytes(&compressed, data, size);
    assert_true(compressed < 40000);
    check_refused(bomb, compressed, "bytes follow");
    free(bomb);
    /* As good as deflate can: it must still be read. */
    memcpy(data, "\0\0\x08\x01\x01\xc9\xc3\x78", 8); /* 29999992 */
    bomb = compress_bytes(&compressed, data, size);
    bang_array array;
    assert_int_equal(parse(&array, bomb, compressed, NULL), 0);
    assert_int_equal(array.count, size - 8);
    bang_array_release(&array);
    free(bomb);
    free(data);
}

/* A compressed file may consist of several, one behind the other. */
static void test_members(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < LETTERS; cut++) {
        size_t first, second;
        unsigned char *a = compress_bytes(&first, letters, cut),
                      *b = compress_bytes(&second, letters + cut, LETTERS - cut);
        unsigned char *both = malloc(first + second);
        memcpy(both, a, first);
        memcpy(both + first, b, second);
        check_letters(both, first + second);
        check_refused(both, first, "cut");
        free(a);
        free(b);
        free(both);
    }
}

static void test_numbers_are_big_endian(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        double expected;
    } cases[] = {
        {"\0\0\x09\0\x80", 5, -128},
        {"\0\0\x0b\0\xff\xfe", 6, -2},
        {"\0\0\x0c\0\1\2\3\4", 8, 16909060},
        {"\0\0\x0d\0\xbf\xc0\0\0", 8, -1.5},
        {"\0\0\x0e\0\x40\x09\x21\xfb\x54\x44\x2d\x18", 12, 3.141592653589793},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bang_array array;
        assert_int_equal(parse(&array, cases[i].bytes, cases[i].size, NULL), 0);
        assert_int_equal(array.rank, 0);
        assert_true(bang_array_number(&array, 0) == cases[i].expected);
        bang_array_release(&array);
    }
}

static void test_write(void **state)
{
    const char *path = in_folder(*state, "out.idx");
    char *text;
    size_t size;
    bang_array array, again;
    bang_error err = {0};
    assert_int_equal(parse(&array, letters, LETTERS, NULL), 0);
    assert_int_equal(bang_idx_write(path, &array, &err), 0);
    bang_array_release(&array);
    assert_int_equal(bang_file_read(&text, &size, path, NULL), 0);
    assert_int_equal(size, LETTERS);
    assert_memory_equal(text, letters, LETTERS);
    free(text);

    /* More numbers than are turned round at a time. */
    size_t count = 5000;
    assert_int_equal(bang_array_init(&array, BANG_F64, 1, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        ((double *)array.data)[i] = (double)i / 3;
    assert_int_equal(bang_idx_write(path, &array, &err), 0);
    assert_int_equal(bang_idx_read(&again, path, &err), 0);
    assert_int_equal(again.count, count);
    assert_memory_equal(again.data, array.data, count * 8);
    bang_array_release(&again);

    array.dtype = BANG_U64;
    assert_int_equal(bang_idx_write(path, &array, &err), BANG_EUSAGE);
    array.dtype = BANG_F64;
    array.shape[0] = (size_t)1 << 32;
    assert_int_equal(bang_idx_write(path, &array, &err), BANG_EUSAGE);
    bang_array_release(&array);
    assert_int_equal(bang_idx_read(&again, in_folder(*state, "none"), &err), BANG_EIO);
    assert_null(again.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_compressed),
        cmocka_unit_test(test_cut_and_long_files),
        cmocka_unit_test(test_refused_headers),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_numbers_are_big_endian),
        cmocka_unit_test_setup_teardown(test_write, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
