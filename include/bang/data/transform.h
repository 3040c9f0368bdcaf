/* From a picture to what a network reads: the shortest edge to size, the centre
 * cut out; or, for training, a random crop and other changes.
 *
 *     bang_transform how = BANG_TRANSFORM_INIT;
 *     how.size = 224;
 *     bang_transform_apply(pixels, &picture, &how, random, &err);   // (224, 224, 3) u8
 *
 * Centre: the short edge becomes size, the long one trunc(size*long/short); the crop
 * begins at round-half-even((long - size)/2) as torchvision, or floor as Hugging
 * Face. Pictures that are size x size already are left alone.
 * Colours become grey, where that is asked for, before anything else but the border.
 * crop:   torchvision's RandomResizedCrop: area U(scale) of the picture, log-uniform ratio
 *         3/4 .. 4/3, ten tries then the centre; bicubic
 * flip:   left-right, probability 1/2
 * rotate: U(-degrees, degrees) about the centre, bilinear, black outside
 * color:  brightness, contrast, saturation by factors U(1 - color, 1 + color), hue by
 *         U(-color/4, color/4) of a turn, in random order (torchvision's ColorJitter)
 * All draws come from random, so that a sample's changes depend on its stream alone.
 */
#ifndef BANG_DATA_TRANSFORM_H
#define BANG_DATA_TRANSFORM_H

#include "bang/base/random.h"
#include "bang/tensor/array.h"

typedef enum bang_crop { BANG_CROP_TORCHVISION, BANG_CROP_HF } bang_crop;

typedef struct bang_transform {
    size_t size;     /* pixels of an edge of the result */
    size_t channels; /* of the result: 1 (Pillow's L of colours) or 3 (grey copied) */
    size_t border;   /* pixels cut from each edge before anything else (ObjectNet: 2) */
    bang_crop crop;  /* offset of the centre crop */
    /* for training */
    int random_crop;
    double scale[2]; /* of random_crop: 0.9, 1 */
    int flip;
    double degrees; /* of rotate; 0: none */
    double color;   /* 0: none */
} bang_transform;
#define BANG_TRANSFORM_INIT                                                                        \
    {                                                                                              \
        .size = 224, .channels = 3, .scale = { 0.9, 1 }                                            \
    }

/* "flip,rotate,color,crop", any of them, into transform (rotate 15 degrees, color 0.4);
 * fails with BANG_EUSAGE naming what is unknown. */
int bang_transform_augment(bang_transform *transform, const char *list, bang_error *err);
/* 1 if the result depends on random. */
int bang_transform_is_random(const bang_transform *transform);

/* picture (h, w, 1|3) u8; out (size, size, channels) u8. random may be NULL when nothing is
 * random. */
int bang_transform_apply(uint8_t *out, const bang_array *picture, const bang_transform *transform,
                         bang_random *random, bang_error *err);

#endif
