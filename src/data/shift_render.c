/* The pixels of a shifted digit. Strokes are a layer of their own ("ink", 0..1), changed in
 * shape first, sampled once, and laid over the ground:
 *     image = (1 - ink) ground + ink front
 * Angles and exponentials are computed in double and rounded to float, so that last bits of the
 * C library do not reach the pixels. */
#include <math.h>
#include <string.h>

#include "data/shift.h"

enum {
    SIDE = BANG_SHIFT_SIDE,
    PAD = 2, /* empty pixels around, so that reading beside the edge needs no test */
    WIDE = SIDE + 2 * PAD,
    CELL = 7,                /* pixels between the control points of a smooth field */
    KNOTS = SIDE / CELL + 3, /* of them a side */
    REACH = 6,               /* taps of the blur beside the middle: three sigma of two pixels */
};

static const double pi = 3.14159265358979323846;

/* The largest (sign 1) or the smallest (sign -1) of a pixel and its neighbours: four, or eight
 * where corners is set. Both are (WIDE, WIDE) with an empty frame. */
static void spread(float *restrict out, const float *restrict in, int sign, int corners)
{
    const float way = (float)sign;
    memset(out, 0, WIDE * WIDE * sizeof *out);
    for (int y = PAD; y < PAD + SIDE; y++)
        for (int x = PAD; x < PAD + SIDE; x++) {
            const float *p = in + y * WIDE + x;
            float most = way * p[0];
            const float beside[4] = {p[-1], p[1], p[-WIDE], p[WIDE]};
            for (int k = 0; k < 4; k++)
                most = way * beside[k] > most ? way * beside[k] : most;
            const float aslant[4] = {p[-WIDE - 1], p[-WIDE + 1], p[WIDE - 1], p[WIDE + 1]};
            for (int k = 0; corners && k < 4; k++)
                most = way * aslant[k] > most ? way * aslant[k] : most;
            out[y * WIDE + x] = way * most;
        }
}

static void mix(float *to, const float *other, double share)
{
    const float t = (float)share;
    for (int i = 0; i < WIDE * WIDE; i++)
        to[i] += t * (other[i] - to[i]);
}

/* Strokes grow or shrink by 0..2 pixels a side, in between by mixing: the first pixel is one of
 * four neighbours, the second of eight, which makes an octagon of two. */
static void resize_strokes(float *ink, double pixels, int sign)
{
    float first[WIDE * WIDE], second[WIDE * WIDE];
    spread(first, ink, sign, 0);
    if (pixels <= 1) {
        mix(ink, first, pixels);
        return;
    }
    spread(second, first, sign, 1);
    mix(first, second, pixels < 2 ? pixels - 1 : 1);
    memcpy(ink, first, sizeof first);
}

static float peak(const float *ink)
{
    float most = 0;
    for (int i = 0; i < WIDE * WIDE; i++)
        most = ink[i] > most ? ink[i] : most;
    return most;
}

/* Thin strokes keep their blackness: the darkest point stays as dark as it was. */
static void thin_strokes(float *ink, double pixels)
{
    float before = peak(ink);
    resize_strokes(ink, pixels, -1);
    float after = peak(ink), gain = after > 0 ? before / after : 0;
    for (int i = 0; i < WIDE * WIDE; i++)
        ink[i] *= gain;
}

/* The four weights of a uniform cubic B-spline at t in 0..1 between two knots. */
static void spline_weights(float w[4], float t)
{
    float s = 1 - t;
    w[0] = s * s * s / 6;
    w[1] = (3 * t * t * t - 6 * t * t + 4) / 6;
    w[2] = (3 * s * s * s - 6 * s * s + 4) / 6;
    w[3] = t * t * t / 6;
}

/* A smooth surface over the image from control points (KNOTS, KNOTS). */
static void smooth_field(float *restrict out, const float *restrict knots)
{
    float w[CELL][4], rows[SIDE][KNOTS];
    for (int i = 0; i < CELL; i++)
        spline_weights(w[i], ((float)i + 0.5f) / CELL);
    for (int y = 0; y < SIDE; y++)
        for (int k = 0; k < KNOTS; k++) {
            const float *p = knots + y / CELL * KNOTS + k, *v = w[y % CELL];
            rows[y][k] = v[0] * p[0] + v[1] * p[KNOTS] + v[2] * p[2 * KNOTS] + v[3] * p[3 * KNOTS];
        }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const float *p = rows[y] + x / CELL, *v = w[x % CELL];
            out[y * SIDE + x] = v[0] * p[0] + v[1] * p[1] + v[2] * p[2] + v[3] * p[3];
        }
}

/* Displacement of each pixel, across and down. */
static void draw_elastic(float *across, float *down, double pixels, bang_random *random)
{
    float knots[KNOTS * KNOTS];
    for (int axis = 0; axis < 2; axis++) {
        for (int k = 0; k < KNOTS * KNOTS; k++)
            knots[k] = (float)(pixels * bang_random_normal(random));
        smooth_field(axis ? down : across, knots);
    }
}

static float clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

/* Reads ink (WIDE, WIDE) at row and column of the image; empty outside. */
static float sample(const float *ink, float y, float x)
{
    float v = clamp(y, -1, SIDE) + PAD, u = clamp(x, -1, SIDE) + PAD;
    int row = (int)v, column = (int)u;
    float down = v - (float)row, across = u - (float)column;
    const float *p = ink + row * WIDE + column;
    float upper = p[0] + across * (p[1] - p[0]);
    float lower = p[WIDE] + across * (p[WIDE + 1] - p[WIDE]);
    return upper + down * (lower - upper);
}

/* The one sampling: pixel q of out takes the ink at
 *     S^-1 R^-1 (q - middle - move) / size + middle + elastic,  R a turn, S = (1 shear; 0 1). */
static void place(float *restrict out, const float *restrict ink, const bang_shift_plan *plan,
                  bang_random *random)
{
    const float middle = (SIDE - 1) / 2.0f;
    double angle = plan->rotate * pi / 180, size = exp(plan->scale), k = plan->shear;
    double c = cos(angle) / size, s = sin(angle) / size;
    const float xx = (float)(c + k * s), xy = (float)(s - k * c), yx = (float)-s, yy = (float)c;
    const float move_x = (float)plan->move_x, move_y = (float)plan->move_y;
    float across[SHIFT_PIXELS] = {0}, down[SHIFT_PIXELS] = {0};
    if (plan->elastic > 0)
        draw_elastic(across, down, plan->elastic, random);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float dx = (float)x - middle - move_x, dy = (float)y - middle - move_y;
            float u = xx * dx + xy * dy + middle + across[y * SIDE + x];
            float v = yx * dx + yy * dy + middle + down[y * SIDE + x];
            out[y * SIDE + x] = sample(ink, v, u);
        }
}

/* One way of the blur: lines along x become columns of out, so that two calls do both ways. */
static void blur_lines(float *restrict out, const float *restrict in, const float taps[REACH + 1])
{
    float line[SIDE + 2 * REACH] = {0}, sum[SIDE];
    for (int y = 0; y < SIDE; y++) {
        memcpy(line + REACH, in + y * SIDE, SIDE * sizeof *line);
        for (int x = 0; x < SIDE; x++)
            sum[x] = taps[0] * line[x + REACH];
        for (int k = 1; k <= REACH; k++)
            for (int x = 0; x < SIDE; x++)
                sum[x] += taps[k] * (line[x + REACH - k] + line[x + REACH + k]);
        for (int x = 0; x < SIDE; x++)
            out[x * SIDE + y] = sum[x];
    }
}

static void blur_strokes(float *ink, double sigma)
{
    double weights[REACH + 1], total = 0;
    float taps[REACH + 1], turned[SHIFT_PIXELS];
    for (int k = 0; k <= REACH; k++) {
        weights[k] = exp(-k * k / (2 * sigma * sigma));
        total += k ? 2 * weights[k] : weights[k];
    }
    for (int k = 0; k <= REACH; k++)
        taps[k] = (float)(weights[k] / total);
    blur_lines(turned, ink, taps);
    blur_lines(ink, turned, taps);
}

/* Clouds that go from 0 to 1. */
static void draw_clouds(float *out, bang_random *random)
{
    float knots[KNOTS * KNOTS], low = 1, high = 0;
    for (int k = 0; k < KNOTS * KNOTS; k++)
        knots[k] = (float)bang_random_uniform(random);
    smooth_field(out, knots);
    for (int i = 0; i < SHIFT_PIXELS; i++) {
        low = out[i] < low ? out[i] : low;
        high = out[i] > high ? out[i] : high;
    }
    float gain = high > low ? 1 / (high - low) : 0;
    for (int i = 0; i < SHIFT_PIXELS; i++)
        out[i] = (out[i] - low) * gain;
}

/* A triangle wave in any direction, from 0 to 1 and back in 4 to 10 pixels. */
static void draw_stripes(float *out, bang_random *random)
{
    double angle = pi * bang_random_uniform(random);
    double period = 4 + 6 * bang_random_uniform(random);
    const float across = (float)(cos(angle) / period), down = (float)(sin(angle) / period);
    const float phase = (float)bang_random_uniform(random) + SIDE; /* what follows stays above 0 */
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float at = phase + across * (float)x + down * (float)y, part = at - (float)(int)at;
            out[y * SIDE + x] = part < 0.5f ? 2 * part : 2 - 2 * part;
        }
}

static void draw_checks(float *out, bang_random *random)
{
    enum { WIDTH = 4, SQUARES = SIDE / WIDTH + 1 };
    float greys[SQUARES][SQUARES];
    int left = (int)bang_random_below(random, WIDTH), top = (int)bang_random_below(random, WIDTH);
    for (int k = 0; k < SQUARES * SQUARES; k++)
        greys[k / SQUARES][k % SQUARES] = (float)bang_random_uniform(random);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            out[y * SIDE + x] = greys[(y + top) / WIDTH][(x + left) / WIDTH];
}

static void draw_texture(float *out, bang_shift_texture kind, bang_random *random)
{
    if (kind == SHIFT_STRIPES)
        draw_stripes(out, random);
    else if (kind == SHIFT_CHECKS)
        draw_checks(out, random);
    else
        draw_clouds(out, random);
}

/* ink becomes the image: strokes on their ground. */
static void lay_on_ground(float *ink, const bang_shift_plan *plan, bang_random *random)
{
    const float front = (float)plan->front, ground = (float)plan->ground;
    const float amount = (float)plan->texture;
    float texture[SHIFT_PIXELS] = {0};
    if (plan->texture > 0)
        draw_texture(texture, plan->kind, random);
    for (int i = 0; i < SHIFT_PIXELS; i++) {
        float behind = ground + amount * texture[i];
        ink[i] = behind + ink[i] * (front - behind);
    }
}

static void put_cover(float *image, const bang_shift_plan *plan)
{
    for (int y = 0; y < SHIFT_COVER; y++)
        for (int x = 0; x < SHIFT_COVER; x++)
            image[(plan->cover_y + y) * SIDE + plan->cover_x + x] = (float)plan->cover;
}

void bang_shift_render(uint8_t *out, const uint8_t *digit, const bang_shift_plan *plan,
                       bang_random *random)
{
    float ink[WIDE * WIDE] = {0}, image[SHIFT_PIXELS];
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            ink[(y + PAD) * WIDE + x + PAD] = (float)digit[y * SIDE + x] / 255;
    if (plan->thick > 0)
        resize_strokes(ink, plan->thick, 1);
    if (plan->thin > 0)
        thin_strokes(ink, plan->thin);
    place(image, ink, plan, random);
    if (plan->blur > 0)
        blur_strokes(image, plan->blur);
    lay_on_ground(image, plan, random);
    if (plan->covered)
        put_cover(image, plan);
    for (int i = 0; plan->inverted && i < SHIFT_PIXELS; i++)
        image[i] = 1 - image[i];
    for (int i = 0; plan->noise > 0 && i < SHIFT_PIXELS; i++)
        image[i] += (float)(plan->noise * bang_random_normal(random));
    for (int i = 0; i < SHIFT_PIXELS; i++)
        out[i] = (uint8_t)(clamp(image[i], 0, 1) * 255 + 0.5f);
}
