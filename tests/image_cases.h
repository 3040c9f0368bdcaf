/* What tools/make-image-vectors made with Pillow, and pictures to try things on. */
#ifndef BANG_TESTS_IMAGE_CASES_H
#define BANG_TESTS_IMAGE_CASES_H

#include "testing.h"

#include "bang/store/png.h"
#include "bang/store/safetensors.h"

static inline const char *vector_path(const char *name)
{
    const char *source = getenv("BANG_SOURCE");
    return in_folder(in_folder(source ? source : ".", "tests/data/images"), name);
}

static inline bang_tensors open_vectors(const char *name)
{
    bang_tensors vectors;
    bang_error err = {0};
    if (bang_safetensors_read(&vectors, vector_path(name), &err) < 0)
        fail_msg("%s", err.message);
    return vectors;
}

/* NAME.in or NAME.out */
static inline const bang_array *vector(const bang_tensors *vectors, const char *name,
                                       const char *which)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", name, which);
    const bang_array *array = bang_tensors_find(vectors, full);
    if (!array)
        fail_msg("no %s", full);
    return array;
}

/* Byte by byte, so that a failure names the place. */
static inline void check_pixels(const char *name, const void *pixels, const bang_array *expected)
{
    const uint8_t *a = pixels, *b = expected->data;
    for (size_t i = 0; i < expected->count; i++)
        if (a[i] != b[i])
            fail_msg("%s: byte %zu is %d, not %d", name, i, a[i], b[i]);
}

/* A picture of noise and slopes that depends on seed. */
static inline uint8_t *make_pixels(size_t height, size_t width, size_t channels, unsigned seed)
{
    uint8_t *pixels = malloc(height * width * channels);
    uint32_t state = seed * 2654435761U + 1;
    for (size_t i = 0; i < height * width * channels; i++) {
        state = state * 1664525U + 1013904223U;
        pixels[i] = (uint8_t)((i / channels % width * 3 + seed * 40 + (state >> 27)) & 255);
    }
    return pixels;
}

static inline void write_picture(const char *path, size_t height, size_t width, int channels,
                                 unsigned seed)
{
    uint8_t *pixels = make_pixels(height, width, (size_t)channels, seed);
    bang_error err = {0};
    if (bang_png_write(path, pixels, width, height, channels, &err) < 0)
        fail_msg("%s", err.message);
    free(pixels);
}

#endif
