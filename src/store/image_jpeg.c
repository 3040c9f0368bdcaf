#include <turbojpeg.h>

#include "store/image.h"

/* 1 if the file is whole: its markers, one after the other, lead to the end of the
 * image. libjpeg fills up what is missing and only warns, in the same way as of
 * damage that does no harm; so this tells the two apart. */
static int is_whole(const uint8_t *data, size_t size)
{
    size_t at = 2; /* behind the start of the image */
    while (at + 1 < size) {
        if (data[at] != 0xff || data[at + 1] == 0xff || data[at + 1] == 0) {
            at++; /* coded data, or fill bytes before a marker */
            continue;
        }
        uint8_t marker = data[at + 1];
        at += 2;
        if (marker == 0xd9)
            return 1;
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) /* no length follows */
            continue;
        if (at + 1 >= size)
            return 0;
        size_t length = (size_t)data[at] << 8 | data[at + 1];
        at += length;
    }
    return 0;
}

/* Cyan, magenta, yellow and black, all stored inverted as Adobe does (and as everybody
 * assumes), to red, green, blue: (255 - c)(255 - k)/255, rounded as
 * k' - round((255 - c') k' / 255), with c' and k' what is stored. */
static void from_cmyk(uint8_t *out, const uint8_t *in, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++) {
        unsigned light = in[4 * i + 3];
        for (int c = 0; c < 3; c++) {
            unsigned product = (255U - in[4 * i + c]) * light + 128;
            out[3 * i + c] = (uint8_t)(light - ((product + (product >> 8)) >> 8));
        }
    }
}

static int fail(tjhandle handle, const uint8_t *data, size_t size, bang_error *err)
{
    return is_whole(data, size)
               ? bang_fail(err, BANG_EDATA, "broken JPEG: %s", tjGetErrorStr2(handle))
               : bang_fail(err, BANG_EDATA, "truncated JPEG");
}

/* Pixels as format says into to (height, width, tjPixelSize[format]). */
static int decompress(tjhandle handle, const bang_array *to, int format, const uint8_t *data,
                      size_t size, bang_error *err)
{
    /* The slow, exact cosine transform and smooth chroma: the defaults, also of Pillow. */
    int rc = tjDecompress2(handle, data, size, to->data, (int)to->shape[1], 0, (int)to->shape[0],
                           format, TJFLAG_LIMITSCANS);
    if (rc == 0 || (tjGetErrorCode(handle) == TJERR_WARNING && is_whole(data, size)))
        return 0;
    return fail(handle, data, size, err);
}

/* Huffman codes need a bit or more for each 8 x 8 block, so that a byte holds 512 pixels at
 * most; a small file that says it holds a large picture would cost memory for nothing. Of small
 * ones nobody asks: bytes may be missing, or coded in another way. */
static int check_size(size_t width, size_t height, size_t size, bang_error *err)
{
    enum { SMALL = 1 << 24, PER_BYTE = 1024 };
    int rc = bang_image_check(height, width, err);
    if (rc < 0 || width * height <= SMALL || width * height / PER_BYTE <= size)
        return rc;
    return bang_fail(err, BANG_EDATA, "broken JPEG: %zu x %zu pixels cannot be in %zu bytes", width,
                     height, size);
}

static int decode(bang_array *out, bang_array *cmyk, tjhandle handle, const uint8_t *data,
                  size_t size, bang_error *err)
{
    int width = 0, height = 0, subsampling = -1, space = -1;
    /* It also fails where it has no name for how colours are subsampled; then the size is
     * there, and the picture can be read. */
    if (tjDecompressHeader3(handle, data, size, &width, &height, &subsampling, &space) < 0 &&
        (width < 1 || height < 1 || space < 0))
        return fail(handle, data, size, err);
    if (width < 1 || height < 1)
        return bang_fail(err, BANG_EDATA, "broken JPEG: it holds no picture");
    int rc = check_size((size_t)width, (size_t)height, size, err);
    if (rc == 0)
        rc = bang_image_init(out, (size_t)height, (size_t)width, 3, err);
    if (rc < 0)
        return rc;
    if (space != TJCS_CMYK && space != TJCS_YCCK)
        return decompress(handle, out, TJPF_RGB, data, size, err);
    rc = bang_image_init(cmyk, (size_t)height, (size_t)width, 4, err);
    if (rc == 0)
        rc = decompress(handle, cmyk, TJPF_CMYK, data, size, err);
    if (rc == 0)
        from_cmyk(out->data, cmyk->data, out->count / 3);
    return rc;
}

int bang_jpeg_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err)
{
    bang_array cmyk = {0};
    tjhandle handle = tjInitDecompress();
    if (!handle)
        return bang_fail_memory(err);
    int rc = decode(out, &cmyk, handle, data, size, err);
    bang_array_release(&cmyk);
    tjDestroy(handle);
    return rc;
}
