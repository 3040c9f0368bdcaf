/* Resizing: parts of a result, and the loops over pixels, compiled once per kind of
 * vector instructions. */
#ifndef BANG_SRC_DATA_RESIZE_H
#define BANG_SRC_DATA_RESIZE_H

#include "bang/data/resize.h"

/* Pixels of somebody else: the whole of a picture, or a rectangle of it. */
typedef struct bang_view {
    const uint8_t *pixels; /* of its first row */
    size_t height, width, channels;
    size_t stride; /* bytes from a row to the next */
} bang_view;

bang_view bang_view_of(const bang_array *picture);
bang_view bang_view_cut(const bang_view *view, size_t top, size_t left, size_t height,
                        size_t width);

/* The rectangle (rows, columns) from top, left on of what bang_resize makes of the view at
 * height x width; out (rows, columns, channels). */
typedef struct bang_window {
    size_t height, width;
    size_t top, left, rows, columns;
} bang_window;

int bang_resize_window(uint8_t *out, const bang_view *in, const bang_window *window,
                       const bang_box *box, bang_error *err);

/* What the values of one edge are made of: value i is the sum over t < taps[i] of
 * weight[i * most + t] times the pixel first[i] + t, in units of 2^-BANG_RESIZE_BITS.
 * Weights up to most, which is the largest of taps, are 0. */
enum { BANG_RESIZE_BITS = 22 };
typedef struct bang_taps {
    size_t count, most;
    size_t *first;   /* (count) rising */
    size_t *taps;    /* (count) */
    int32_t *weight; /* (count, most) */
} bang_taps;

typedef struct bang_resize_kernels {
    /* A row of out (across->count, channels) from one of in (width, channels); wide is room
     * for (width + across->most, 4). */
    void (*across)(uint8_t *out, const uint8_t *in, size_t width, size_t channels,
                   const bang_taps *across, int32_t *wide);
    /* A row of size bytes: the sum over t < taps of weight[t] times rows[t]. */
    void (*down)(uint8_t *out, const uint8_t *const *rows, size_t size, const int32_t *weight,
                 size_t taps);
} bang_resize_kernels;

extern const bang_resize_kernels bang_resize_portable;
#if defined(__x86_64__)
extern const bang_resize_kernels bang_resize_avx2;
#endif

#endif
