#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/image.h"

static const char truncated[] = "truncated";

/* What libpng's callbacks need; they leave by longjmp. All that is allocated hangs
 * here, so that nothing is lost when they do. */
struct decoder {
    const uint8_t *data;
    size_t size, at;
    bang_array *out;       /* (height, width, 3) */
    uint8_t *packed;       /* rows as libpng gives them: all of an interlaced picture, else one */
    size_t stride;         /* from a row to the next; 0 where there is but one */
    int channels;          /* of the file: 1 to 4 */
    int depth;             /* bits of each: 8, or 16; fewer are spread over bytes */
    uint8_t table[256][3]; /* what the values of a palette or of grey mean */
    bang_error *err;
    int code;
    char why[128];
};

static void fail(png_structp png, png_const_charp message)
{
    struct decoder *d = png_get_error_ptr(png);
    snprintf(d->why, sizeof d->why, "%s", message);
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

static void take(png_structp png, png_bytep to, size_t count)
{
    struct decoder *d = png_get_io_ptr(png);
    if (count > d->size - d->at)
        png_error(png, truncated);
    memcpy(to, d->data + d->at, count);
    d->at += count;
}

/* Meaning of one-channel values. Grey of few bits is spread to 0..255; indices that a
 * palette does not have are grey, as in Pillow. */
static void fill_table(struct decoder *d, png_structp png, png_infop info, int kind, int bits)
{
    png_colorp palette = NULL;
    int colors = 0, top = bits < 8 ? (1 << bits) - 1 : 255;
    if (kind == PNG_COLOR_TYPE_PALETTE)
        png_get_PLTE(png, info, &palette, &colors);
    for (int v = 0; v < 256; v++) {
        int grey = kind == PNG_COLOR_TYPE_PALETTE ? v : v * 255 / top;
        const uint8_t color[3] = {palette && v < colors ? palette[v].red : (uint8_t)grey,
                                  palette && v < colors ? palette[v].green : (uint8_t)grey,
                                  palette && v < colors ? palette[v].blue : (uint8_t)grey};
        memcpy(d->table[v], color, 3);
    }
}

/* A row of the file to red, green, blue. Alpha is left away. Of 16 bits the upper 8
 * are taken, but grey without alpha, which Pillow reads as numbers, stops at 255. */
static void convert_row(uint8_t *out, const uint8_t *in, size_t width, const struct decoder *d)
{
    size_t bytes = d->depth / 8, step = bytes * (size_t)d->channels;
    for (size_t x = 0; x < width; x++, in += step, out += 3) {
        if (d->channels >= 3) {
            out[0] = in[0];
            out[1] = in[bytes];
            out[2] = in[2 * bytes];
        } else if (d->channels == 2) {
            out[0] = out[1] = out[2] = in[0];
        } else if (d->depth == 16) {
            out[0] = out[1] = out[2] = in[0] ? 255 : in[1];
        } else {
            memcpy(out, d->table[in[0]], 3);
        }
    }
}

/* Deflate makes at most 258 bytes of 2 bits: what says that it holds more pixels than that is
 * refused before memory is asked for. Filter bytes are not counted. */
static int check_size(const struct decoder *d, size_t width, size_t height, int pixel_bits)
{
    enum { EXPANSION = 1032 };
    int rc = bang_image_check(height, width, d->err);
    if (rc < 0 || width * height * (size_t)pixel_bits / 8 / EXPANSION <= d->size)
        return rc;
    return bang_fail(d->err, BANG_EDATA, "broken PNG: %zu x %zu pixels cannot be in %zu bytes",
                     width, height, d->size);
}

/* The header: size, kind, memory. */
static int begin(struct decoder *d, png_structp png, png_infop info, int *passes)
{
    png_uint_32 width, height;
    int bits, kind, interlace;
    /* Nothing but the palette is of use; text and profiles may be large, or broken. */
    static const png_byte unused[] = "bKGD\0cHRM\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0"
                                     "sCAL\0sPLT\0sRGB\0tEXt\0tIME\0tRNS\0zTXt\0eXIf";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unused, (int)sizeof unused / 5);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_read_fn(png, d, take);
    png_read_info(png, info);
    png_get_IHDR(png, info, &width, &height, &bits, &kind, &interlace, NULL, NULL);
    d->code = check_size(d, width, height, bits * png_get_channels(png, info));
    if (d->code == 0)
        d->code = bang_image_init(d->out, height, width, 3, d->err);
    if (d->code < 0)
        return d->code;
    fill_table(d, png, info, kind, bits);
    png_set_packing(png);
    *passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    d->channels = png_get_channels(png, info);
    d->depth = png_get_bit_depth(png, info);
    size_t row = png_get_rowbytes(png, info), kept = *passes > 1 ? height : 1;
    d->stride = *passes > 1 ? row : 0;
    d->packed = calloc(kept, row);
    return d->packed ? 0 : (d->code = bang_fail_memory(d->err));
}

/* 0, or negative with d->code or d->why. No variable of this function changes between
 * setjmp and longjmp that is used after it. */
static int decode(struct decoder *d, png_structp png, png_infop info)
{
    if (setjmp(png_jmpbuf(png)))
        return -1;
    int passes;
    if (begin(d, png, info, &passes) < 0)
        return -1;
    size_t height = d->out->shape[0], width = d->out->shape[1];
    uint8_t *to = d->out->data;
    for (int pass = 1; pass <= passes; pass++)
        for (size_t y = 0; y < height; y++) {
            uint8_t *row = d->packed + y * d->stride;
            png_read_row(png, row, NULL);
            if (pass == passes)
                convert_row(to + y * width * 3, row, width, d);
        }
    return 0;
}

static int fail_png(const struct decoder *d, bang_error *err)
{
    if (d->code < 0)
        return d->code;
    if (strcmp(d->why, truncated) == 0)
        return bang_fail(err, BANG_EDATA, "truncated PNG");
    return bang_fail(err, BANG_EDATA, "broken PNG: %s", d->why);
}

int bang_png_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err)
{
    struct decoder d = {.data = data, .size = size, .out = out, .err = err};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, fail, ignore);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int rc = 0;
    if (!info)
        rc = bang_fail_memory(err);
    else if (decode(&d, png, info) < 0)
        rc = fail_png(&d, err);
    png_destroy_read_struct(&png, &info, NULL);
    free(d.packed);
    return rc;
}
