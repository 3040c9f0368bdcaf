/* Pictures from files: JPEG, PNG, WebP, told apart by their content, as 8-bit RGB
 * with the pixel values that Pillow's Image.open(..).convert("RGB") gives.
 *
 *     bang_array picture;                         // (height, width, 3) BANG_U8
 *     bang_image_read(&picture, "cat.jpg", &err);
 *     bang_array_release(&picture);
 *
 * Palettes are looked up, alpha is dropped, grey is copied to three channels. Of 16
 * bits the upper 8 are taken, but grey of 16 bits without alpha, which Pillow reads as
 * numbers, is cut at 255: convert such files first. CMYK is taken as inverted, as
 * Adobe writes it. EXIF's rotation is not applied, as Pillow and torchvision do not.
 * Sizes are bounded before memory is asked for, also by what so many bytes can hold.
 *
 * A JPEG whose markers end before the end of the image is truncated; bytes too many
 * and blocks that cannot be decoded are overlooked, as every reader does. Of WebP,
 * pictures that move are refused.
 */
#ifndef BANG_STORE_IMAGE_H
#define BANG_STORE_IMAGE_H

#include "bang/tensor/array.h"

/* More pixels than this are refused as a likely bomb. */
enum { BANG_IMAGE_PIXELS_MAX = 200000000 };

/* The caller releases it. A truncated picture is an error. */
int bang_image_read(bang_array *out, const char *path, bang_error *err);
/* The same from memory; name is for messages. */
int bang_image_parse(bang_array *out, const void *data, size_t size, const char *name,
                     bang_error *err);

#endif
