#include "bang/data/feed.h"

/* (value/255 - mean)/std for all values of a byte, rounded as PyTorch does. */
static void fill_table(float table[256], float mean, float std)
{
    for (int v = 0; v < 256; v++)
        table[v] = ((float)v / 255.0F - mean) / std;
}

/* Channel c of a picture, looked up. */
static void look_up(float *restrict out, const uint8_t *restrict pixels, size_t count,
                    size_t channels, const float table[256])
{
    if (channels == 1)
        for (size_t i = 0; i < count; i++)
            out[i] = table[pixels[i]];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = table[pixels[3 * i]];
}

static void normalize(float *restrict out, const float *restrict values, size_t count,
                      size_t channels, float mean, float std)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (values[channels * i] - mean) / std;
}

static void mix_bytes(float *restrict out, const uint8_t *restrict a, const uint8_t *restrict b,
                      size_t count, size_t channels, const float table[256], float lambda)
{
    float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++)
        out[i] = lambda * table[a[channels * i]] + rest * table[b[channels * i]];
}

static void mix_floats(float *restrict out, const float *restrict a, const float *restrict b,
                       size_t count, size_t channels, float mean, float std, float lambda)
{
    float rest = 1 - lambda;
    for (size_t i = 0; i < count; i++)
        out[i] =
            lambda * ((a[channels * i] - mean) / std) + rest * ((b[channels * i] - mean) / std);
}

void bang_batch_pixels(float *out, const bang_batch *batch, const bang_transform *transform,
                       size_t n, size_t partner, float lambda, const float mean[3],
                       const float std[3])
{
    size_t count = transform->size * transform->size, channels = transform->channels;
    size_t sample = count * channels;
    int mixes = partner != n && lambda != 1;
    for (size_t c = 0; c < channels; c++, out += count) {
        if (batch->dtype == BANG_U8) {
            const uint8_t *a = (const uint8_t *)batch->pixels + n * sample + c;
            const uint8_t *b = (const uint8_t *)batch->pixels + partner * sample + c;
            float table[256];
            fill_table(table, mean[c], std[c]);
            if (mixes)
                mix_bytes(out, a, b, count, channels, table, lambda);
            else
                look_up(out, a, count, channels, table);
        } else {
            const float *a = (const float *)batch->pixels + n * sample + c;
            const float *b = (const float *)batch->pixels + partner * sample + c;
            if (mixes)
                mix_floats(out, a, b, count, channels, mean[c], std[c], lambda);
            else
                normalize(out, a, count, channels, mean[c], std[c]);
        }
    }
}
