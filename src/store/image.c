#include "store/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bang/base/file.h"

int bang_image_check(size_t height, size_t width, bang_error *err)
{
    if (height == 0 || width == 0)
        return bang_fail(err, BANG_EDATA, "%zu x %zu pixels: there is nothing to see", width,
                         height);
    if (height > BANG_IMAGE_PIXELS_MAX / width)
        return bang_fail(err, BANG_EDATA, "%zu x %zu pixels: more than %d are refused", width,
                         height, BANG_IMAGE_PIXELS_MAX);
    return 0;
}

int bang_image_init(bang_array *out, size_t height, size_t width, size_t channels, bang_error *err)
{
    size_t shape[3] = {height, width, channels};
    int rc = bang_image_check(height, width, err);
    return rc < 0 ? rc : bang_array_init(out, BANG_U8, 3, shape, err);
}

static int starts_with(const uint8_t *data, size_t size, size_t at, const char *magic, size_t count)
{
    return size >= at + count && memcmp(data + at, magic, count) == 0;
}

/* Formats that are often found under a name that says otherwise. */
static const char *foreign(const uint8_t *data, size_t size)
{
    static const struct {
        size_t at, count;
        const char *magic, *name;
    } known[] = {
        {0, 4, "GIF8", "a GIF"},       {0, 2, "BM", "a BMP"},         {0, 4, "II*\0", "a TIFF"},
        {0, 4, "MM\0*", "a TIFF"},     {4, 8, "ftypavif", "an AVIF"}, {4, 8, "ftypheic", "an HEIC"},
        {0, 1, "<", "a page of text"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (starts_with(data, size, known[i].at, known[i].magic, known[i].count))
            return known[i].name;
    return NULL;
}

static int decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err)
{
    if (starts_with(data, size, 0, "\xff\xd8\xff", 3))
        return bang_jpeg_decode(out, data, size, err);
    if (starts_with(data, size, 0, "\x89PNG\r\n\x1a\n", 8))
        return bang_png_decode(out, data, size, err);
    if (starts_with(data, size, 0, "RIFF", 4) && starts_with(data, size, 8, "WEBP", 4))
        return bang_webp_decode(out, data, size, err);
    if (size == 0)
        return bang_fail(err, BANG_EDATA, "is empty");
    const char *name = foreign(data, size);
    return bang_fail(err, BANG_EDATA, "is %s%sneither JPEG nor PNG nor WebP: convert it",
                     name ? name : "", name ? ", " : "");
}

int bang_image_parse(bang_array *out, const void *data, size_t size, const char *name,
                     bang_error *err)
{
    bang_error why = {0};
    *out = (bang_array){0};
    int rc = decode(out, data, size, &why);
    if (rc == 0)
        return 0;
    bang_array_release(out);
    return bang_fail(err, rc, "%.600s: %s", name, why.message);
}

int bang_image_read(bang_array *out, const char *path, bang_error *err)
{
    char *data;
    size_t size;
    struct stat status;
    *out = (bang_array){0};
    /* Opening a pipe that nobody writes to would wait for ever. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return bang_fail(err, BANG_EDATA, "%s: is no file: give a picture", path);
    int rc = bang_file_read(&data, &size, path, err);
    if (rc < 0)
        return rc;
    rc = bang_image_parse(out, data, size, path, err);
    free(data);
    return rc;
}
