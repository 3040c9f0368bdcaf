/* The loops of resizing, included once per kind of vector instructions with KERNELS
 * defined as the name of the table. Sums are of integers, so that every kind gives
 * the same bytes. */
#include <string.h>

#include "data/resize.h"

typedef int32_t four __attribute__((vector_size(16)));
typedef int32_t eight __attribute__((vector_size(32)));
typedef uint8_t eight_bytes __attribute__((vector_size(8)));

static inline uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> BANG_RESIZE_BITS;
    value = value < 0 ? 0 : value;
    return (uint8_t)(value > 255 ? 255 : value);
}

static void across_grey(uint8_t *restrict out, const uint8_t *restrict in, const bang_taps *across)
{
    for (size_t i = 0; i < across->count; i++) {
        const uint8_t *from = in + across->first[i];
        const int32_t *weight = across->weight + i * across->most;
        int32_t sum = 1 << (BANG_RESIZE_BITS - 1);
        for (size_t t = 0; t < across->taps[i]; t++)
            sum += from[t] * weight[t];
        out[i] = to_byte(sum);
    }
}

/* A pixel becomes a vector of four, one more channel or two being empty. */
static inline __attribute__((always_inline)) void
across_color(uint8_t *restrict out, const uint8_t *restrict in, size_t width, const size_t channels,
             const bang_taps *across, int32_t *restrict wide)
{
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < 4; c++)
            wide[4 * x + c] = c < channels ? in[channels * x + c] : 0;
    const int32_t half = 1 << (BANG_RESIZE_BITS - 1);
    for (size_t i = 0; i < across->count; i++) {
        const int32_t *from = wide + 4 * across->first[i];
        const int32_t *weight = across->weight + i * across->most;
        four sum = {half, half, half, half}, pixel;
        for (size_t t = 0; t < across->taps[i]; t++) {
            memcpy(&pixel, from + 4 * t, sizeof pixel);
            sum += pixel * weight[t];
        }
        for (size_t c = 0; c < channels; c++)
            out[channels * i + c] = to_byte(sum[c]);
    }
}

static void across(uint8_t *out, const uint8_t *in, size_t width, size_t channels,
                   const bang_taps *taps, int32_t *wide)
{
    if (channels == 1)
        across_grey(out, in, taps);
    else if (channels == 2)
        across_color(out, in, width, 2, taps, wide);
    else if (channels == 3)
        across_color(out, in, width, 3, taps, wide);
    else
        across_color(out, in, width, 4, taps, wide);
}

static void down(uint8_t *restrict out, const uint8_t *restrict in, size_t stride, size_t size,
                 const int32_t *weight, size_t taps)
{
    enum { BLOCK = 32 };
    const int32_t half = 1 << (BANG_RESIZE_BITS - 1);
    size_t x = 0;
    for (; x + BLOCK <= size; x += BLOCK) {
        eight sum[BLOCK / 8];
        for (int b = 0; b < BLOCK / 8; b++)
            sum[b] = (eight){half, half, half, half, half, half, half, half};
        for (size_t t = 0; t < taps; t++) {
            for (int b = 0; b < BLOCK / 8; b++) {
                eight_bytes bytes;
                memcpy(&bytes, in + t * stride + x + 8 * (size_t)b, sizeof bytes);
                sum[b] += __builtin_convertvector(bytes, eight) * weight[t];
            }
        }
        int32_t sums[BLOCK];
        memcpy(sums, sum, sizeof sums);
        for (size_t i = 0; i < BLOCK; i++)
            out[x + i] = to_byte(sums[i]);
    }
    for (; x < size; x++) {
        int32_t sum = half;
        for (size_t t = 0; t < taps; t++)
            sum += in[t * stride + x] * weight[t];
        out[x] = to_byte(sum);
    }
}

const bang_resize_kernels KERNELS = {.across = across, .down = down};
