/* Resizing exactly as Pillow does: antialiased bicubic (a = -0.5), the support
 * widened when shrinking, horizontal pass first, each pass rounded to 8 bits in
 * fixed point; a box of the source as in Image.resize(size, BICUBIC, box).
 *
 *     bang_array small;                                      // (224, 298, 3)
 *     bang_resize(&small, &picture, 224, 298, NULL, &err);
 */
#ifndef BANG_DATA_RESIZE_H
#define BANG_DATA_RESIZE_H

#include "bang/tensor/array.h"

/* In source pixels, also fractions. */
typedef struct bang_box {
    double left, top, right, bottom;
} bang_box;

/* in (h, w, channels) u8, 1 to 4 channels; out (height, width, channels), which the caller
 * releases. box NULL: the whole picture. */
int bang_resize(bang_array *out, const bang_array *in, size_t height, size_t width,
                const bang_box *box, bang_error *err);

#endif
