/* Changes to a picture of its final size. Each follows Pillow's arithmetic to the
 * last bit, roundings included. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/transform.h"

/* 0.299 R + 0.587 G + 0.114 B in 16 bits, rounded. */
static inline uint8_t grey_of(const uint8_t *color)
{
    return (uint8_t)((color[0] * 19595U + color[1] * 38470U + color[2] * 7471U + 0x8000U) >> 16);
}

void bang_picture_grey(uint8_t *out, const uint8_t *colors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = grey_of(colors + 3 * i);
}

void bang_picture_flip(uint8_t *pixels, size_t rows, size_t size, size_t channels)
{
    for (size_t y = 0; y < rows; y++) {
        uint8_t *row = pixels + y * size * channels;
        for (size_t x = 0; x < size / 2; x++)
            for (size_t c = 0; c < channels; c++) {
                uint8_t *left = row + x * channels + c,
                        *right = row + (size - 1 - x) * channels + c;
                uint8_t kept = *left;
                *left = *right;
                *right = kept;
            }
    }
}

/* The nearest number with 15 decimals, so that quarter turns are exact; through text, as
 * scaling by a power of ten would itself round. */
static double round_15(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.15f", value);
    return strtod(text, NULL);
}

/* The pixel of the source at (x, y), between four neighbours, cut to a whole number. */
static void blend_four(uint8_t *out, const uint8_t *in, size_t size, size_t channels, double x,
                       double y)
{
    x -= 0.5;
    y -= 0.5;
    /* Both are at least -1/2: so they are rounded down without a call. */
    ptrdiff_t last = (ptrdiff_t)size - 1, left = x < 0 ? -1 : (ptrdiff_t)x,
              top = y < 0 ? -1 : (ptrdiff_t)y;
    double dx = x - (double)left, dy = y - (double)top;
    size_t x0 = (size_t)(left < 0 ? 0 : left), x1 = (size_t)(left < last ? left + 1 : last);
    size_t y0 = (size_t)(top < 0 ? 0 : top), y1 = (size_t)(top < last ? top + 1 : last);
    const uint8_t *above = in + y0 * size * channels, *below = in + y1 * size * channels;
    for (size_t c = 0; c < channels; c++) {
        int a = above[x0 * channels + c], b = above[x1 * channels + c];
        int d = below[x0 * channels + c], e = below[x1 * channels + c];
        double upper = a + (b - a) * dx, lower = d + (e - d) * dx;
        out[c] = (uint8_t)(upper + (lower - upper) * dy);
    }
}

void bang_picture_rotate(uint8_t *out, const uint8_t *in, size_t size, size_t channels,
                         double degrees)
{
    const double pi = 3.14159265358979323846;
    double turned = fmod(degrees, 360), angle;
    turned = turned < 0 ? turned + 360 : turned;
    angle = -(turned * (pi / 180));
    double cosine = round_15(cos(angle)), sine = round_15(sin(angle)), half = (double)size / 2;
    /* From a place of the result to one of the source, about the centre. */
    double shift_x = cosine * -half + sine * -half + half;
    double shift_y = -sine * -half + cosine * -half + half;
    for (size_t y = 0; y < size; y++)
        for (size_t x = 0; x < size; x++) {
            double column = (double)x + 0.5, line = (double)y + 0.5;
            double from_x = cosine * column + sine * line + shift_x;
            double from_y = -sine * column + cosine * line + shift_y;
            uint8_t *to = out + (y * size + x) * channels;
            if (from_x < 0 || from_x >= (double)size || from_y < 0 || from_y >= (double)size)
                memset(to, 0, channels);
            else
                blend_four(to, in, size, channels, from_x, from_y);
        }
}

/* base + factor (value - base), cut off; beyond 0..1 kept within a byte. */
static inline uint8_t blend(int base, int value, float factor)
{
    float mixed = (float)base + factor * (float)(value - base);
    return (uint8_t)(mixed <= 0 ? 0 : mixed >= 255 ? 255 : mixed);
}

void bang_picture_brightness(uint8_t *pixels, size_t count, size_t channels, double factor)
{
    for (size_t i = 0; i < count * channels; i++)
        pixels[i] = blend(0, pixels[i], (float)factor);
}

void bang_picture_contrast(uint8_t *pixels, size_t count, size_t channels, double factor)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += channels == 3 ? grey_of(pixels + 3 * i) : pixels[i];
    int mean = (int)((double)sum / (double)count + 0.5);
    for (size_t i = 0; i < count * channels; i++)
        pixels[i] = blend(mean, pixels[i], (float)factor);
}

void bang_picture_saturation(uint8_t *pixels, size_t count, size_t channels, double factor)
{
    for (size_t i = 0; channels == 3 && i < count; i++) {
        int grey = grey_of(pixels + 3 * i);
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = blend(grey, pixels[3 * i + c], (float)factor);
    }
}

/* Hue, saturation and value, each of 8 bits, as Pillow's HSV. */
static void to_hsv(uint8_t hsv[3], const uint8_t color[3])
{
    int r = color[0], g = color[1], b = color[2];
    int most = r > g ? r : g, least = r < g ? r : g;
    most = b > most ? b : most;
    least = b < least ? b : least;
    hsv[0] = hsv[1] = 0;
    hsv[2] = (uint8_t)most;
    if (most == least)
        return;
    float range = (float)(most - least), saturation = range / (float)most;
    float from_r = (float)(most - r) / range, from_g = (float)(most - g) / range;
    float from_b = (float)(most - b) / range, hue;
    if (r == most)
        hue = from_b - from_g;
    else if (g == most)
        hue = (float)(2.0 + from_r - from_b);
    else
        hue = (float)(4.0 + from_g - from_r);
    double turns = hue / 6.0 + 1.0; /* from 5/6 to 11/6 */
    hue = (float)(turns >= 1 ? turns - 1 : turns);
    hsv[0] = (uint8_t)(hue * 255.0);
    hsv[1] = (uint8_t)(saturation * 255.0);
}

/* Of every hue: which sixth of the circle it lies in, and how far. */
typedef struct hues {
    int sector[256];
    float fraction[256];
} hues;

static void fill_hues(hues *h)
{
    for (int i = 0; i < 256; i++) {
        double sixths = (float)i * 6.0 / 255.0;
        int sector = (int)sixths;
        h->sector[i] = sector % 6;
        h->fraction[i] = (float)(sixths - (float)sector);
    }
}

/* value * part, rounded. */
static inline uint8_t shade(int value, double part)
{
    return (uint8_t)((float)value * part + 0.5);
}

static void from_hsv(uint8_t color[3], const uint8_t hsv[3], const hues *h)
{
    float fraction = h->fraction[hsv[0]], saturation = (float)((float)hsv[1] / 255.0);
    uint8_t v = hsv[2], p = shade(v, 1.0 - saturation), q = shade(v, 1.0 - saturation * fraction);
    uint8_t t = shade(v, 1.0 - saturation * (1.0 - fraction));
    const uint8_t all[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
    memcpy(color, all[h->sector[hsv[0]]], 3);
}

void bang_picture_hue(uint8_t *pixels, size_t count, size_t channels, double turn)
{
    uint8_t shift = (uint8_t)(int)(turn * 255), hsv[3]; /* around the circle */
    hues h;
    fill_hues(&h);
    for (size_t i = 0; channels == 3 && i < count; i++) {
        to_hsv(hsv, pixels + 3 * i);
        hsv[0] = (uint8_t)(hsv[0] + shift);
        from_hsv(pixels + 3 * i, hsv, &h);
    }
}

static double around(bang_random *random, double center, double width)
{
    return center + width * (2 * bang_random_uniform(random) - 1);
}

static void change_color(uint8_t *pixels, const bang_transform *t, bang_random *random)
{
    size_t count = t->size * t->size;
    int order[4] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) {
        int other = (int)bang_random_below(random, (uint64_t)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    /* All are drawn before any is used, so that the order changes none of them. */
    double brightness = around(random, 1, t->color), contrast = around(random, 1, t->color);
    double saturation = around(random, 1, t->color), hue = around(random, 0, t->color / 4);
    for (int i = 0; i < 4; i++) {
        if (order[i] == 0)
            bang_picture_brightness(pixels, count, t->channels, brightness);
        else if (order[i] == 1)
            bang_picture_contrast(pixels, count, t->channels, contrast);
        else if (order[i] == 2)
            bang_picture_saturation(pixels, count, t->channels, saturation);
        else
            bang_picture_hue(pixels, count, t->channels, hue);
    }
}

int bang_transform_change(uint8_t *pixels, const bang_transform *t, bang_random *random,
                          bang_error *err)
{
    if (t->flip && bang_random_uniform(random) < 0.5)
        bang_picture_flip(pixels, t->size, t->size, t->channels);
    if (t->degrees > 0) {
        size_t bytes = t->size * t->size * t->channels;
        uint8_t *before = malloc(bytes + 1);
        if (!before)
            return bang_fail_memory(err);
        memcpy(before, pixels, bytes);
        bang_picture_rotate(pixels, before, t->size, t->channels, around(random, 0, t->degrees));
        free(before);
    }
    if (t->color > 0)
        change_color(pixels, t, random);
    return 0;
}
