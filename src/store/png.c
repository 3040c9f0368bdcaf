#include "bang/store/png.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>

#include "bang/base/file.h"

/* What libpng's callbacks need; they leave by longjmp. */
struct encoder {
    bang_text *out;
    char why[128];
};

static void fail(png_structp png, png_const_charp message)
{
    struct encoder *encoder = png_get_error_ptr(png);
    snprintf(encoder->why, sizeof encoder->why, "%s", message);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static void append(png_structp png, png_bytep data, size_t size)
{
    struct encoder *encoder = png_get_io_ptr(png);
    bang_text_add_bytes(encoder->out, (const char *)data, size);
    if (encoder->out->failed)
        png_error(png, "out of memory");
}

static void flush(png_structp png)
{
    (void)png;
}

/* 0, or -1 with encoder->why. No variable changes between setjmp and longjmp
 * that is used after it. */
static int encode(struct encoder *encoder, png_structp png, png_infop info, const uint8_t *pixels,
                  size_t width, size_t height, int channels)
{
    if (setjmp(png_jmpbuf(png)))
        return -1;
    png_set_write_fn(png, encoder, append, flush);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    /* Said and not left to defaults, which may change. */
    png_set_compression_level(png, 9);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8,
                 channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (size_t y = 0; y < height; y++)
        png_write_row(png, pixels + y * width * (size_t)channels);
    png_write_end(png, info);
    return 0;
}

int bang_png_encode(bang_text *out, const uint8_t *pixels, size_t width, size_t height,
                    int channels, bang_error *err)
{
    if (channels != 1 && channels != 3)
        return bang_fail(err, BANG_EUSAGE, "picture: %d channels: 1 or 3 are possible", channels);
    if (width < 1 || height < 1 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX)
        return bang_fail(err, BANG_EUSAGE, "picture: %zu x %zu pixels: 1 to %lu are possible",
                         width, height, (unsigned long)PNG_UINT_31_MAX);
    struct encoder encoder = {.out = out};
    size_t before = out->size;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder, fail, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int code = 0;
    if (!info || out->failed)
        code = bang_fail_memory(err);
    else if (encode(&encoder, png, info, pixels, width, height, channels) < 0)
        code = out->failed ? bang_fail_memory(err)
                           : bang_fail(err, BANG_EIO, "picture: %s: cannot encode it", encoder.why);
    png_destroy_write_struct(&png, &info);
    if (code < 0 && out->data) {
        out->size = before;
        out->data[before] = '\0';
    }
    return code;
}

int bang_png_write(const char *path, const uint8_t *pixels, size_t width, size_t height,
                   int channels, bang_error *err)
{
    bang_text bytes = {0};
    int code = bang_png_encode(&bytes, pixels, width, height, channels, err);
    if (code == 0)
        code = bang_file_put(path, bytes.data, bytes.size, err);
    bang_text_release(&bytes);
    return code;
}
