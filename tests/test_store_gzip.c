/* Whole files that may be compressed. */
#include "testing.h"

#include <zlib.h>

#include "bang/base/file.h"
#include "bang/store/gzip.h"

/* Appends a member with text to the file. */
static void add_member(const char *path, const char *text, size_t size)
{
    gzFile file = gzopen(path, "ab");
    assert_int_equal(gzwrite(file, text, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void expect(const char *path, const char *text, size_t size)
{
    char *out;
    size_t count;
    bang_error err = {0};
    if (bang_gzip_read(&out, &count, path, size, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(count, size);
    assert_memory_equal(out, text, size);
    assert_int_equal(out[size], 0);
    free(out);
    if (size > 0) {
        assert_int_equal(bang_gzip_read(&out, &count, path, size - 1, &err), BANG_EDATA);
        assert_non_null(strstr(err.message, "unpacks to more than"));
        assert_null(out);
    }
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 300000};
    char *text = malloc(600000);
    for (size_t i = 0; i < 600000; i++)
        text[i] = (char)(i * i % 251);
    text[0] = 'a';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *path = in_folder(*state, "file");
        assert_int_equal(bang_file_put(path, text, sizes[i], NULL), 0);
        expect(path, text, sizes[i]);
        remove(path);
        add_member(path, text, sizes[i]);
        expect(path, text, sizes[i]);
        add_member(path, text + sizes[i], sizes[i]); /* members follow each other */
        expect(path, text, 2 * sizes[i]);
        remove(path);
    }
    free(text);
}

static void test_damaged(void **state)
{
    const char *path = in_folder(*state, "file");
    char *data, *out;
    size_t size, count;
    bang_error err = {0};
    add_member(path, "some text that is compressed", 28);
    assert_int_equal(bang_file_read(&data, &size, path, &err), 0);
    for (size_t cut = 2; cut < size; cut++) {
        assert_int_equal(bang_gzip_parse(&out, &count, data, cut, "cut", 1000, &err), BANG_EDATA);
        assert_string_equal(err.message, "cut: ends before its bytes do: the file is cut");
    }
    data[size - 6] ^= 1; /* of the check sum */
    assert_int_equal(bang_gzip_parse(&out, &count, data, size, "bad", 1000, &err), BANG_EDATA);
    assert_string_equal(err.message, "bad: its compressed data are damaged: get it again");
    assert_null(out);
    assert_int_equal(bang_gzip_read(&out, &count, in_folder(*state, "none"), 9, &err), BANG_EIO);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_damaged, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
