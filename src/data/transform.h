/* The two halves of a transform, and the changes one by one. */
#ifndef BANG_SRC_DATA_TRANSFORM_H
#define BANG_SRC_DATA_TRANSFORM_H

#include "bang/data/transform.h"
#include "data/resize.h"

/* Says what in the settings is impossible. */
int bang_transform_check(const bang_transform *transform, bang_error *err);
/* Border, channels, and the crop at its final size, into out (size, size, channels).
 * Draws from random for random_crop only. */
int bang_transform_prepare(uint8_t *out, const bang_view *picture, const bang_transform *transform,
                           bang_random *random, bang_error *err);
/* What comes after that: flip, rotate, color, in place. */
int bang_transform_change(uint8_t *pixels, const bang_transform *transform, bang_random *random,
                          bang_error *err);
/* 1 if bang_transform_change does anything. */
int bang_transform_changes(const bang_transform *transform);

/* Pillow's L of count colours. */
void bang_picture_grey(uint8_t *out, const uint8_t *colors, size_t count);
/* pixels (rows, size, channels), left and right exchanged. */
void bang_picture_flip(uint8_t *pixels, size_t rows, size_t size, size_t channels);
/* As Image.rotate(degrees, BILINEAR) of a square picture, counter-clockwise. */
void bang_picture_rotate(uint8_t *out, const uint8_t *in, size_t size, size_t channels,
                         double degrees);
/* As ImageEnhance.Brightness, Contrast and Color; pixels (count, channels). */
void bang_picture_brightness(uint8_t *pixels, size_t count, size_t channels, double factor);
void bang_picture_contrast(uint8_t *pixels, size_t count, size_t channels, double factor);
void bang_picture_saturation(uint8_t *pixels, size_t count, size_t channels, double factor);
/* As torchvision's adjust_hue of Pillow's pictures: turn is -1/2 .. 1/2 of the circle. */
void bang_picture_hue(uint8_t *pixels, size_t count, size_t channels, double turn);

#endif
