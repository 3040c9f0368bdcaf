/* Pictures of every kind have the pixels that Pillow reads; broken ones are errors
 * that name the file. */
#include "image_cases.h"

#include <zlib.h>

#include "bang/base/file.h"
#include "bang/store/image.h"

static void test_decoded(void **state)
{
    (void)state;
    bang_tensors vectors = open_vectors("decoded.safetensors");
    assert_true(vectors.count > 45);
    for (size_t i = 0; i < vectors.count; i++) {
        const char *name = vectors.items[i].name;
        const bang_array *expected = &vectors.items[i].array;
        bang_array picture;
        bang_error err = {0};
        if (bang_image_read(&picture, vector_path(name), &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(picture.dtype, BANG_U8);
        assert_int_equal(picture.rank, 3);
        for (int d = 0; d < 3; d++)
            assert_int_equal(picture.shape[d], expected->shape[d]);
        check_pixels(name, picture.data, expected);
        bang_array_release(&picture);
    }
    bang_tensors_release(&vectors);
}

/* However a file is cut, either all its pixels are there or it is an error. */
static void test_truncated(void **state)
{
    (void)state;
    bang_tensors vectors = open_vectors("decoded.safetensors");
    for (size_t i = 0; i < vectors.count; i++) {
        const char *name = vectors.items[i].name;
        char *data;
        size_t size;
        assert_int_equal(bang_file_read(&data, &size, vector_path(name), NULL), 0);
        for (size_t cut = 0; cut < size; cut++) {
            bang_array picture;
            bang_error err = {0};
            char *copy = malloc(cut + 1); /* so that a sanitizer sees a read behind the end */
            memcpy(copy, data, cut);
            int rc = bang_image_parse(&picture, copy, cut, name, &err);
            free(copy);
            if (rc == 0) {
                if (cut + 16 < size) /* a check sum and PNG's last chunk */
                    fail_msg("%s: read from %zu of %zu bytes", name, cut, size);
                check_pixels(name, picture.data, &vectors.items[i].array);
                bang_array_release(&picture);
            } else {
                assert_int_equal(rc, BANG_EDATA);
                assert_null(picture.data);
                assert_int_equal(strncmp(err.message, name, strlen(name)), 0);
            }
        }
        free(data);
    }
    bang_tensors_release(&vectors);
}

static void check_refused(const void *data, size_t size, const char *why)
{
    bang_array picture;
    bang_error err = {0};
    assert_int_equal(bang_image_parse(&picture, data, size, "x.jpg", &err), BANG_EDATA);
    assert_null(picture.data);
    assert_int_equal(strncmp(err.message, "x.jpg: ", 7), 0);
    if (!strstr(err.message, why))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static char *read_vector(size_t *size, const char *name)
{
    char *data;
    assert_int_equal(bang_file_read(&data, size, vector_path(name), NULL), 0);
    return data;
}

static void test_refused(void **state)
{
    (void)state;
    check_refused("", 0, "is empty");
    check_refused("GIF89a", 6, "is a GIF");
    check_refused("<html>", 6, "is a page of text");
    check_refused("hello there", 11, "neither JPEG nor PNG nor WebP");
    check_refused("\xff\xd8\xff\xd9", 4, "broken JPEG");
    bang_array picture;
    bang_error err = {0};
    assert_int_equal(bang_image_read(&picture, "none/here.jpg", &err), BANG_EIO);
    assert_non_null(strstr(err.message, "none/here.jpg"));
    assert_null(picture.data);
    assert_int_equal(bang_image_read(&picture, "/dev/null", &err), BANG_EDATA);
    assert_non_null(strstr(err.message, "is no file"));

    size_t size;
    char *data = read_vector(&size, "420.jpg");
    check_refused(data, size / 2, "truncated JPEG");
    check_refused(data, size - 2, "truncated JPEG");
    free(data);
    data = read_vector(&size, "rgb8.png");
    check_refused(data, size / 2, "truncated PNG");
    data[60] ^= 1;
    check_refused(data, size, "broken PNG");
    free(data);
    data = read_vector(&size, "lossy.webp");
    check_refused(data, size - 10, "truncated WebP");
    free(data);
}

/* Sizes that a header claims are looked at before memory is asked for. */
static void test_bombs(void **state)
{
    (void)state;
    size_t size;
    char *data = read_vector(&size, "420.jpg");
    for (size_t at = 2; at + 9 < size; at++)
        if ((uint8_t)data[at] == 0xff && (uint8_t)data[at + 1] == 0xc0)
            memset(data + at + 5, 0xf0, 4);
    check_refused(data, size, "61680 x 61680 pixels: more than 200000000");
    free(data);
    /* PNG: the header's sizes, with a check sum that fits. */
    static const char huge[] =
        "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0"
        "\0\0\x9b\xab\x9c\x31\0\0\0\0IDAT\x35\xaf\x06\x1e";
    check_refused(huge, sizeof huge - 1, "2147483647 x 2147483647 pixels: more than 200000000");
    /* Sizes that are possible, but not in so few bytes. */
    data = read_vector(&size, "progressive.jpg");
    for (size_t at = 2; at + 9 < size; at++)
        if ((uint8_t)data[at] == 0xff && (uint8_t)data[at + 1] == 0xc2)
            memset(data + at + 5, 0x30, 4);
    check_refused(data, size, "12336 x 12336 pixels cannot be in ");
    free(data);
    static const char *const pngs[] = {"rgba16i.png", "rgb8.png", "grey1.png"};
    for (size_t i = 0; i < 3; i++) {
        data = read_vector(&size, pngs[i]);
        memcpy(data + 16, "\0\0\x30\x30\0\0\x30\x30", 8);
        uLong sum = crc32(0, (const Bytef *)data + 12, 17);
        for (size_t b = 0; b < 4; b++)
            data[29 + b] = (char)(sum >> (24 - 8 * b));
        check_refused(data, size, "12336 x 12336 pixels cannot be in ");
        free(data);
    }
}

/* Damage that every reader overlooks is no error: JPEGs with bytes too many, or one
 * block that cannot be decoded, are common. */
static void test_harmless(void **state)
{
    (void)state;
    size_t size;
    char *data = read_vector(&size, "420.jpg");
    data = realloc(data, size + 100);
    memset(data + size, 'x', 100);
    bang_array picture;
    bang_error err = {0};
    if (bang_image_parse(&picture, data, size + 100, "x", &err) < 0)
        fail_msg("%s", err.message);
    bang_tensors vectors = open_vectors("decoded.safetensors");
    check_pixels("420.jpg", picture.data, bang_tensors_find(&vectors, "420.jpg"));
    bang_tensors_release(&vectors);
    bang_array_release(&picture);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded),  cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
