/* Pictures of 8 bits a channel as PNG. Equal pixels give equal bytes.
 *
 *     bang_png_write("sheet.png", pixels, width, height, 3, &err);
 */
#ifndef BANG_STORE_PNG_H
#define BANG_STORE_PNG_H

#include <stdint.h>

#include "bang/base/text.h"

/* pixels: (height, width, channels), channels 1 (grey) or 3 (red, green, blue). */
int bang_png_write(const char *path, const uint8_t *pixels, size_t width, size_t height,
                   int channels, bang_error *err);
/* Appends the file's bytes to out. */
int bang_png_encode(bang_text *out, const uint8_t *pixels, size_t width, size_t height,
                    int channels, bang_error *err);

#endif
