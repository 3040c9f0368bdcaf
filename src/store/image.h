/* Pictures: the formats behind bang_image_parse. Each fills an array (height, width,
 * 3) of BANG_U8 that the caller releases, also after a failure; messages do not name
 * the file. */
#ifndef BANG_SRC_STORE_IMAGE_H
#define BANG_SRC_STORE_IMAGE_H

#include "bang/store/image.h"

int bang_jpeg_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err);
int bang_png_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err);
int bang_webp_decode(bang_array *out, const uint8_t *data, size_t size, bang_error *err);

/* Is it not too large? */
int bang_image_check(size_t height, size_t width, bang_error *err);
/* Zeroed memory for such a picture. */
int bang_image_init(bang_array *out, size_t height, size_t width, size_t channels, bang_error *err);

#endif
