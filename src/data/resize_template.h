/* The loops of resizing, included once per kind of vector instructions with KERNELS
 * defined as the name of the table. Sums are of integers, so that every kind gives
 * the same bytes. */
#include <string.h>

#include "data/resize.h"

typedef int32_t four __attribute__((vector_size(16)));

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

/* A pixel becomes a vector of four, one more channel or two being empty. All values have
 * equally many taps, some of them 0, so that no branch is guessed wrong. */
static inline __attribute__((always_inline)) void
across_color(uint8_t *restrict out, const uint8_t *restrict in, size_t width, const size_t channels,
             const bang_taps *across, int32_t *restrict wide)
{
    for (size_t x = 0; x < width; x++)
        for (size_t c = 0; c < channels; c++)
            wide[4 * x + c] = in[channels * x + c];
    const int32_t half = 1 << (BANG_RESIZE_BITS - 1);
    const size_t most = across->most;
    for (size_t i = 0; i < across->count; i++) {
        const int32_t *from = wide + 4 * across->first[i];
        const int32_t *weight = across->weight + i * most;
        four sum = {half, half, half, half}, pixel;
        for (size_t t = 0; t < most; t++) {
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

/* sums += the products of up to four rows: several at a time, so that sums are not loaded
 * and stored for each. */
static inline __attribute__((always_inline)) void add_rows(int32_t *restrict sums,
                                                           const uint8_t *const *rows, size_t at,
                                                           size_t size, const int32_t *weight,
                                                           const int count)
{
    const uint8_t *restrict a = rows[0] + at, *restrict b = count > 1 ? rows[1] + at : NULL,
                            *restrict c = count > 2 ? rows[2] + at : NULL,
                            *restrict d = count > 3 ? rows[3] + at : NULL;
    const int32_t u = weight[0], v = count > 1 ? weight[1] : 0, w = count > 2 ? weight[2] : 0,
                  z = count > 3 ? weight[3] : 0;
    for (size_t i = 0; i < size; i++) {
        int32_t sum = sums[i] + a[i] * u;
        sum += count > 1 ? b[i] * v : 0;
        sum += count > 2 ? c[i] * w : 0;
        sum += count > 3 ? d[i] * z : 0;
        sums[i] = sum;
    }
}

static void down(uint8_t *restrict out, const uint8_t *const *rows, size_t size,
                 const int32_t *weight, size_t taps)
{
    enum { BLOCK = 512 };
    int32_t sums[BLOCK];
    for (size_t x = 0; x < size; x += BLOCK) {
        size_t part = size - x < BLOCK ? size - x : BLOCK, t = 0;
        for (size_t i = 0; i < part; i++)
            sums[i] = 1 << (BANG_RESIZE_BITS - 1);
        for (; t + 4 <= taps; t += 4)
            add_rows(sums, rows + t, x, part, weight + t, 4);
        if (taps - t == 3)
            add_rows(sums, rows + t, x, part, weight + t, 3);
        else if (taps - t == 2)
            add_rows(sums, rows + t, x, part, weight + t, 2);
        else if (taps - t == 1)
            add_rows(sums, rows + t, x, part, weight + t, 1);
        for (size_t i = 0; i < part; i++)
            out[x + i] = to_byte(sums[i]);
    }
}

const bang_resize_kernels KERNELS = {.across = across, .down = down};
