/* Small vision transformers, and their forward pass as plain loops. */
#ifndef BANG_TESTS_PLAIN_VIT_H
#define BANG_TESTS_PLAIN_VIT_H

#include <math.h>

#include "testing.h"

#include "bang/base/random.h"
#include "bang/model/vit.h"

typedef struct vit_case {
    const char *name;
    bang_vit_config config;
} vit_case;

enum { VIT_CASES = 5 };
static const vit_case vit_cases[VIT_CASES] = {
    {"timm",
     {.image = 8,
      .patch = 4,
      .channels = 3,
      .width = 12,
      .depth = 3,
      .heads = 3,
      .hidden = 20,
      .classes = 4,
      .gelu = BANG_GELU_EXACT,
      .epsilon = 1e-6,
      .patch_bias = 1}},
    {"clip",
     {.image = 6,
      .patch = 2,
      .channels = 3,
      .width = 8,
      .depth = 2,
      .heads = 2,
      .hidden = 32,
      .projection = 5,
      .classes = 3,
      .gelu = BANG_GELU_QUICK,
      .epsilon = 1e-5,
      .norm_first = 1,
      .unit_features = 1}},
    {"grey",
     {.image = 9,
      .patch = 3,
      .channels = 1,
      .width = 6,
      .depth = 1,
      .heads = 1,
      .hidden = 7,
      .classes = 2,
      .gelu = BANG_GELU_TANH,
      .epsilon = 1e-5,
      .patch_bias = 1,
      .unit_features = 1}},
    {"projected",
     {.image = 4,
      .patch = 2,
      .channels = 1,
      .width = 16,
      .depth = 3,
      .heads = 4,
      .hidden = 17,
      .projection = 18,
      .classes = 5,
      .gelu = BANG_GELU_EXACT,
      .epsilon = 1e-3,
      .norm_first = 1}},
    {"one patch",
     {.image = 2,
      .patch = 2,
      .channels = 3,
      .width = 4,
      .depth = 2,
      .heads = 4,
      .hidden = 4,
      .classes = 2,
      .gelu = BANG_GELU_QUICK,
      .epsilon = 1e-6,
      .patch_bias = 1,
      .norm_first = 1}},
};

/* A model with numbers of all kinds everywhere, gains and biases too. */
static inline double *vit_numbers(size_t count, uint64_t seed, double scale)
{
    double *out = calloc(count ? count : 1, sizeof *out);
    bang_random random;
    if (!out)
        abort();
    bang_random_init(&random, seed, BANG_PURPOSE('t', 'e', 's', 't'), 0);
    for (size_t i = 0; i < count; i++)
        out[i] = scale * bang_random_normal(&random);
    return out;
}

static inline double *vit_weights(const bang_vit_map *map, uint64_t seed)
{
    double *out = vit_numbers(map->count, seed, 0.3);
    for (size_t t = 0; t < map->tensor_count; t++)
        if (strstr(map->tensors[t].name, "gain"))
            for (size_t i = 0; i < map->tensors[t].count; i++)
                out[map->tensors[t].offset + i] += 1;
    return out;
}

static inline size_t vit_pixels(const bang_vit_config *c)
{
    return c->channels * c->image * c->image;
}

static inline float *vit_floats(const double *numbers, size_t count)
{
    float *out = calloc(count ? count : 1, sizeof *out);
    if (!out)
        abort();
    for (size_t i = 0; i < count; i++)
        out[i] = (float)numbers[i];
    return out;
}

/* y (rows, out) = x W^T + bias */
static inline void plain_linear(double *y, const double *x, const double *weight,
                                const double *bias, size_t rows, size_t out, size_t in)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < out; j++) {
            y[i * out + j] = bias[j];
            for (size_t k = 0; k < in; k++)
                y[i * out + j] += x[i * in + k] * weight[j * in + k];
        }
}

static inline void plain_norm(double *y, const double *x, const double *gain, const double *bias,
                              size_t rows, size_t width, double epsilon)
{
    for (size_t i = 0; i < rows; i++) {
        double mean = 0, variance = 0;
        for (size_t j = 0; j < width; j++)
            mean += x[i * width + j] / (double)width;
        for (size_t j = 0; j < width; j++)
            variance += pow(x[i * width + j] - mean, 2) / (double)width;
        for (size_t j = 0; j < width; j++)
            y[i * width + j] =
                (x[i * width + j] - mean) / sqrt(variance + epsilon) * gain[j] + bias[j];
    }
}

static inline double plain_gelu(double x, bang_gelu kind)
{
    if (kind == BANG_GELU_QUICK)
        return x / (1 + exp(-1.702 * x));
    if (kind == BANG_GELU_TANH)
        return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + .044715 * x * x * x)));
    return x / 2 * (1 + erf(x / sqrt(2)));
}

/* out (tokens, heads, width) of qkv (tokens, 3, heads, width) */
static inline void plain_attention(double *out, const double *qkv, size_t tokens, size_t heads,
                                   size_t width, int causal)
{
    size_t all = heads * width;
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < tokens; i++) {
            double sum = 0;
            for (size_t j = 0; j < width; j++)
                out[i * all + h * width + j] = 0;
            for (size_t t = 0; t < tokens && (!causal || t <= i); t++) {
                const double *q = qkv + i * 3 * all + h * width;
                const double *k = qkv + t * 3 * all + all + h * width, *v = k + all;
                double score = 0;
                for (size_t j = 0; j < width; j++)
                    score += q[j] * k[j];
                double e = exp(score / sqrt((double)width));
                sum += e;
                for (size_t j = 0; j < width; j++)
                    out[i * all + h * width + j] += e * v[j];
            }
            for (size_t j = 0; j < width; j++)
                out[i * all + h * width + j] /= sum;
        }
}

/* A block behind its first norm, which put out normed (tokens, width); that is spoiled. */
static inline void plain_block_from(double *x, double *normed, const double *w,
                                    const bang_vit_block *at, size_t tokens, size_t width,
                                    size_t heads, size_t hidden, bang_gelu gelu, double epsilon,
                                    int causal)
{
    double *qkv = vit_numbers(tokens * 3 * width, 0, 0);
    double *y = vit_numbers(tokens * width, 0, 0), *inner = vit_numbers(tokens * hidden, 0, 0);
    plain_linear(qkv, normed, w + at->qkv_weight, w + at->qkv_bias, tokens, 3 * width, width);
    plain_attention(normed, qkv, tokens, heads, width / heads, causal);
    plain_linear(y, normed, w + at->proj_weight, w + at->proj_bias, tokens, width, width);
    for (size_t i = 0; i < tokens * width; i++)
        x[i] += y[i];
    plain_norm(normed, x, w + at->norm2_gain, w + at->norm2_bias, tokens, width, epsilon);
    plain_linear(inner, normed, w + at->fc1_weight, w + at->fc1_bias, tokens, hidden, width);
    for (size_t i = 0; i < tokens * hidden; i++)
        inner[i] = plain_gelu(inner[i], gelu);
    plain_linear(y, inner, w + at->fc2_weight, w + at->fc2_bias, tokens, width, hidden);
    for (size_t i = 0; i < tokens * width; i++)
        x[i] += y[i];
    free(qkv), free(y), free(inner);
}

/* x (tokens, width) through one block; sizes of a bang_vit_config. */
static inline void plain_block(double *x, const double *w, const bang_vit_block *at, size_t tokens,
                               size_t width, size_t heads, size_t hidden, bang_gelu gelu,
                               double epsilon, int causal)
{
    double *normed = vit_numbers(tokens * width, 0, 0);
    plain_norm(normed, x, w + at->norm1_gain, w + at->norm1_bias, tokens, width, epsilon);
    plain_block_from(x, normed, w, at, tokens, width, heads, hidden, gelu, epsilon, causal);
    free(normed);
}

/* One image's x_0 (tokens, width). */
static inline void plain_embed(double *x, const bang_vit_config *c, const bang_vit_map *map,
                               const double *w, const double *pixels)
{
    size_t side = c->image / c->patch;
    for (size_t t = 0; t <= side * side; t++)
        for (size_t o = 0; o < c->width; o++) {
            double sum = w[map->positions + t * c->width + o];
            sum += t == 0 ? w[map->token + o] : c->patch_bias ? w[map->patch_bias + o] : 0;
            for (size_t i = 0; t > 0 && i < c->channels * c->patch * c->patch; i++) {
                size_t channel = i / (c->patch * c->patch);
                size_t row = (t - 1) / side * c->patch + i / c->patch % c->patch;
                size_t column = (t - 1) % side * c->patch + i % c->patch;
                sum += w[map->patch_weight + o * c->channels * c->patch * c->patch + i] *
                       pixels[(channel * c->image + row) * c->image + column];
            }
            x[t * c->width + o] = sum;
        }
}

/* features and logits of one image from the class token x (width) behind the blocks. */
static inline void plain_finish(double *features, double *logits, const double *x,
                                const bang_vit_config *c, const bang_vit_map *map, const double *w)
{
    size_t n = bang_vit_features(c);
    double *y = vit_numbers(c->width, 0, 0), *none = vit_numbers(n, 0, 0);
    plain_norm(y, x, w + map->norm_gain, w + map->norm_bias, 1, c->width, c->epsilon);
    if (c->projection)
        plain_linear(features, y, w + map->projection, none, 1, n, c->width);
    else
        memcpy(features, y, n * sizeof *y);
    double square = 0;
    for (size_t j = 0; j < n; j++)
        square += features[j] * features[j];
    for (size_t j = 0; c->unit_features && j < n; j++)
        features[j] /= sqrt(square);
    plain_linear(logits, features, w + map->head_weight, w + map->head_bias, 1, c->classes, n);
    free(y), free(none);
}

/* features and logits (count, ..) of images. */
static inline void plain_vit(double *features, double *logits, const bang_vit_config *c,
                             const bang_vit_map *map, const double *w, const double *pixels,
                             size_t count)
{
    size_t tokens = bang_vit_tokens(c), n = bang_vit_features(c);
    double *x = vit_numbers(tokens * c->width, 0, 0), *y = vit_numbers(tokens * c->width, 0, 0);
    for (size_t i = 0; i < count; i++, features += n, logits += c->classes) {
        plain_embed(x, c, map, w, pixels + i * vit_pixels(c));
        if (c->norm_first) {
            memcpy(y, x, tokens * c->width * sizeof *x);
            plain_norm(x, y, w + map->first_gain, w + map->first_bias, tokens, c->width,
                       c->epsilon);
        }
        for (size_t l = 0; l < c->depth; l++)
            plain_block(x, w, &map->blocks[l], tokens, c->width, c->heads, c->hidden, c->gelu,
                        c->epsilon, 0);
        plain_finish(features, logits, x, c, map, w);
    }
    free(x), free(y);
}

#endif
