#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/random.h"
#include "bang/model/network.h"

static const char *const activation_names[] = {"relu", "gelu", "tanh"};

int bang_activation_find(bang_activation *out, const char *name)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(activation_names[i], name) == 0) {
            *out = (bang_activation)i;
            return 0;
        }
    return -1;
}

const char *bang_activation_name(bang_activation activation)
{
    return activation_names[activation];
}

int bang_mlp_init(bang_mlp *out, int layers, const size_t *width, bang_activation activation,
                  bang_error *err)
{
    enum { WIDEST = 1 << 24 }; /* no product of two widths overflows */
    *out = (bang_mlp){.layers = layers, .activation = activation};
    if (layers < 1 || layers > BANG_MLP_LAYERS_MAX)
        return bang_fail(err, BANG_EUSAGE, "network: %d layers: 1 to %d are possible", layers,
                         BANG_MLP_LAYERS_MAX);
    for (int l = 0; l <= layers; l++) {
        if (width[l] < 1 || width[l] > WIDEST)
            return bang_fail(err, BANG_EUSAGE,
                             "network: a layer of %zu units: 1 to %d are possible", width[l],
                             WIDEST);
        out->width[l] = width[l];
        out->stride[l] = l ? bang_padded(width[l]) : width[l];
        if (l)
            out->count += (out->width[l - 1] + 1) * out->stride[l];
    }
    void *block = NULL;
    if (out->count > SIZE_MAX / sizeof(float) ||
        posix_memalign(&block, 64, out->count * sizeof(float)) != 0)
        return bang_fail_memory(err);
    memset(block, 0, out->count * sizeof(float));
    float *at = out->parameters = block;
    for (int l = 0; l < layers; l++) {
        out->weight[l] = at;
        at += out->width[l] * out->stride[l + 1];
        out->bias[l] = at;
        at += out->stride[l + 1];
    }
    return 0;
}

int bang_mlp_copy(bang_mlp *out, const bang_mlp *mlp, bang_error *err)
{
    int rc = bang_mlp_init(out, mlp->layers, mlp->width, mlp->activation, err);
    if (rc == 0)
        memcpy(out->parameters, mlp->parameters, mlp->count * sizeof *mlp->parameters);
    return rc;
}

void bang_mlp_release(bang_mlp *mlp)
{
    free(mlp->parameters);
    *mlp = (bang_mlp){0};
}

void bang_mlp_randomise(bang_mlp *mlp, uint64_t seed, uint64_t stream)
{
    bang_random random;
    bang_random_init(&random, seed, BANG_PURPOSE('i', 'n', 'i', 't'), stream);
    for (int l = 0; l < mlp->layers; l++) {
        float bound = (float)(1 / sqrt((double)mlp->width[l]));
        /* biases are drawn as one more input */
        for (size_t i = 0; i <= mlp->width[l]; i++) {
            float *row = i < mlp->width[l] ? mlp->weight[l] + i * mlp->stride[l + 1] : mlp->bias[l];
            for (size_t j = 0; j < mlp->width[l + 1]; j++)
                row[j] = bound * ((float)bang_random_u32(&random) * 0x1p-31f - 1);
        }
    }
}

int bang_mlp_reduce(bang_mlp *out, const bang_mlp *mlp, const bang_columns *columns,
                    bang_error *err)
{
    size_t width[BANG_MLP_LAYERS_MAX + 1], n = mlp->stride[1];
    if (mlp->width[0] != columns->width)
        return bang_fail(err, BANG_EUSAGE, "network: it reads %zu inputs, the data have %zu",
                         mlp->width[0], columns->width);
    memcpy(width, mlp->width, sizeof width);
    width[0] = columns->group_count;
    int rc = bang_mlp_init(out, mlp->layers, width, mlp->activation, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < columns->width; i++) {
        float *to = out->weight[0] + columns->group[i] * n;
        for (size_t j = 0; j < n; j++)
            to[j] += mlp->weight[0][i * n + j];
    }
    size_t rest = mlp->count - columns->width * n;
    memcpy(out->bias[0], mlp->bias[0], rest * sizeof *out->bias[0]);
    return 0;
}

/* The same network but for its inputs? */
static int fits(const bang_mlp *mlp, const bang_mlp *reduced, const bang_columns *columns)
{
    if (mlp->layers != reduced->layers || mlp->width[0] != columns->width ||
        reduced->width[0] != columns->group_count)
        return 0;
    return memcmp(mlp->width + 1, reduced->width + 1, mlp->layers * sizeof *mlp->width) == 0;
}

/* w(t) = D w(0) + (S(t) - D S(0))/m for the m weights w of a group with sum S. */
int bang_mlp_expand(bang_mlp *mlp, const bang_mlp *reduced, const bang_columns *columns,
                    double decay, bang_error *err)
{
    if (!fits(mlp, reduced, columns))
        return bang_fail(err, BANG_EUSAGE,
                         "network: it is not the one that was reduced: widths or inputs differ");
    size_t n = mlp->stride[1], rest = mlp->count - columns->width * n;
    double *change = calloc(columns->group_count * n, sizeof *change);
    if (!change)
        return bang_fail_memory(err);
    for (size_t i = 0; i < columns->width; i++)
        for (size_t j = 0; j < n; j++)
            change[columns->group[i] * n + j] -= decay * (double)mlp->weight[0][i * n + j];
    for (size_t g = 0; g < columns->group_count; g++)
        for (size_t i = g * n; i < (g + 1) * n; i++)
            change[i] = (change[i] + (double)reduced->weight[0][i]) / columns->multiplicity[g];
    for (size_t i = 0; i < columns->width; i++)
        for (size_t j = 0; j < n; j++) {
            float *w = &mlp->weight[0][i * n + j];
            *w = (float)(decay * (double)*w + change[columns->group[i] * n + j]);
        }
    memcpy(mlp->bias[0], reduced->bias[0], rest * sizeof *mlp->bias[0]);
    free(change);
    return 0;
}
