/* PNG: libpng reads back what was written. */
#include "testing.h"

#include <png.h>

#include "bang/base/file.h"
#include "bang/store/png.h"

static uint8_t *picture(size_t width, size_t height, int channels)
{
    size_t count = width * height * (size_t)channels;
    uint8_t *pixels = malloc(count);
    for (size_t i = 0; i < count; i++)
        pixels[i] = (uint8_t)(i * i / 7 + i);
    return pixels;
}

static void check_decoded(const void *bytes, size_t size, const uint8_t *pixels, size_t width,
                          size_t height, int channels)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, bytes, size));
    assert_int_equal(image.width, width);
    assert_int_equal(image.height, height);
    assert_int_equal(image.format, channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB);
    uint8_t *decoded = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, decoded, 0, NULL));
    assert_memory_equal(decoded, pixels, width * height * (size_t)channels);
    free(decoded);
}

static void test_round_trip(void **state)
{
    const char *path = in_folder(*state, "out.png");
    static const size_t sizes[][2] = {{1, 1}, {28, 28}, {3, 200}, {1001, 7}};
    for (size_t i = 0; i < 4; i++) {
        for (int channels = 1; channels <= 3; channels += 2) {
            size_t width = sizes[i][0], height = sizes[i][1], size;
            uint8_t *pixels = picture(width, height, channels);
            bang_text first = {0}, second = {0};
            char *file;
            assert_int_equal(bang_png_encode(&first, pixels, width, height, channels, NULL), 0);
            check_decoded(first.data, first.size, pixels, width, height, channels);
            /* Appended, and the same bytes again. */
            bang_text_add(&second, "before");
            assert_int_equal(bang_png_encode(&second, pixels, width, height, channels, NULL), 0);
            assert_int_equal(second.size, first.size + 6);
            assert_memory_equal(second.data, "before", 6);
            assert_memory_equal(second.data + 6, first.data, first.size);
            assert_int_equal(bang_png_write(path, pixels, width, height, channels, NULL), 0);
            assert_int_equal(bang_file_read(&file, &size, path, NULL), 0);
            assert_int_equal(size, first.size);
            assert_memory_equal(file, first.data, size);
            free(file);
            free(pixels);
            bang_text_release(&first);
            bang_text_release(&second);
        }
    }
}

/* A sheet of many pictures is wider than libpng's own limit. */
static void test_very_wide(void **state)
{
    (void)state;
    size_t width = 1200000;
    uint8_t *pixels = picture(width, 1, 1);
    bang_text out = {0};
    bang_error err = {0};
    if (bang_png_encode(&out, pixels, width, 1, 1, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(out.size > 1000);
    bang_text_release(&out);
    free(pixels);
}

static void test_refused(void **state)
{
    const uint8_t pixels[12] = {0};
    bang_text out = {0};
    bang_error err = {0};
    bang_text_add(&out, "kept");
    assert_int_equal(bang_png_encode(&out, pixels, 2, 2, 2, &err), BANG_EUSAGE);
    assert_non_null(strstr(err.message, "2 channels"));
    assert_int_equal(bang_png_encode(&out, pixels, 0, 2, 3, &err), BANG_EUSAGE);
    assert_int_equal(bang_png_encode(&out, pixels, 2, 0, 3, &err), BANG_EUSAGE);
    assert_int_equal(bang_png_encode(&out, pixels, (size_t)1 << 32, 2, 3, &err), BANG_EUSAGE);
    assert_string_equal(out.data, "kept");
    out.failed = 1;
    assert_int_equal(bang_png_encode(&out, pixels, 2, 2, 3, &err), BANG_EMEMORY);
    bang_text_release(&out);
    assert_int_equal(bang_png_write(in_folder(*state, "none/x.png"), pixels, 2, 2, 3, &err),
                     BANG_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, make_folder, drop_folder),
        cmocka_unit_test(test_very_wide),
        cmocka_unit_test_setup_teardown(test_refused, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
