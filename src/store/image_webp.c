#include <webp/decode.h>

#include "store/image.h"

static const char *reason(VP8StatusCode code)
{
    switch (code) {
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "truncated WebP";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "broken WebP: of a kind that is not known";
    default:
        return "broken WebP";
    }
}

/* Lossy pictures spend more than a bit on each 16 x 16 pixels. Lossless ones of a single colour
 * may spend nothing; but no picture that is large and worth reading is so empty. */
static int check_size(size_t width, size_t height, size_t size, bang_error *err)
{
    enum { SMALL = 1 << 24, PER_BYTE = 2048 };
    int rc = bang_image_check(height, width, err);
    if (rc < 0 || width * height <= SMALL || width * height / PER_BYTE <= size)
        return rc;
    return bang_fail(err, BANG_EDATA,
                     "WebP: %zu x %zu pixels in %zu bytes: there is nothing to see", width, height,
                     size);
}

int bang_webp_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return bang_fail(err, BANG_EUSAGE, "WebP: the library is not the one we were built with");
    VP8StatusCode code = WebPGetFeatures(data, size, &config.input);
    if (code != VP8_STATUS_OK)
        return bang_fail(err, BANG_EDATA, "%s", reason(code));
    if (config.input.has_animation)
        return bang_fail(err, BANG_EDATA, "animated WebP: save one picture of it");
    int rc = check_size((size_t)config.input.width, (size_t)config.input.height, size, err);
    if (rc == 0)
        rc = bang_image_init(out, (size_t)config.input.height, (size_t)config.input.width, 3, err);
    if (rc < 0)
        return rc;
    /* Alpha is not multiplied in: it is left away. */
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out->data;
    config.output.u.RGBA.stride = (int)out->shape[1] * 3;
    config.output.u.RGBA.size = out->count;
    code = WebPDecode(data, size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY)
        return bang_fail_memory(err);
    return code == VP8_STATUS_OK ? 0 : bang_fail(err, BANG_EDATA, "%s", reason(code));
}
