#include "outputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int outputs_init(outputs *o, bang_error *err)
{
    o->columns = o->map ? o->map->classes : o->width;
    o->right = calloc(o->models + 1, sizeof *o->right);
    return o->right ? 0 : bang_fail_memory(err);
}

void outputs_release(outputs *o)
{
    free(o->right);
    free(o->scores);
    free(o->mean);
    free(o->sum);
    *o = (outputs){0};
}

static int make_room(outputs *o, size_t count, bang_error *err)
{
    if (count <= o->capacity)
        return 0;
    if (o->columns && count > SIZE_MAX / sizeof *o->sum / o->columns)
        return bang_fail_memory(err);
    size_t numbers = count * o->columns;
    free(o->scores);
    free(o->mean);
    free(o->sum);
    o->scores = calloc(numbers + 1, sizeof *o->scores);
    o->mean = calloc(numbers + 1, sizeof *o->mean);
    o->sum = calloc(numbers + 1, sizeof *o->sum);
    o->capacity = o->scores && o->mean && o->sum ? count : 0;
    return o->capacity ? 0 : bang_fail_memory(err);
}

static int check_finite(const outputs *o, size_t model, const float *from, const uint32_t *index,
                        size_t count, bang_error *err)
{
    for (size_t i = 0; i < count * o->width; i++)
        if (!isfinite(from[i])) {
            char input[320];
            uint32_t which = index[i / o->width];
            if (o->paths)
                snprintf(input, sizeof input, "%.300s", o->paths[which]);
            else
                snprintf(input, sizeof input, "input %lu", (unsigned long)which);
            return bang_fail(err, BANG_EDATA,
                             "network %zu: its output for %s is not finite: its weights or the "
                             "data are broken",
                             model + 1, input);
        }
    return 0;
}

static size_t count_right(const outputs *o, const float *z, const int64_t *labels, size_t count)
{
    size_t right = 0;
    for (size_t i = 0; i < count; i++, z += o->columns) {
        size_t best = 0;
        for (size_t c = 1; c < o->columns; c++)
            best = z[c] > z[best] ? c : best;
        right += labels[i] >= 0 && best == (size_t)labels[i];
    }
    return right;
}

/* sum += weight times z, or times its softmax */
static void add(const outputs *o, const float *z, double weight, size_t count)
{
    double *to = o->sum;
    for (size_t i = 0; i < count; i++, z += o->columns, to += o->columns) {
        double most = (double)z[0], mass = 0;
        for (size_t c = 1; c < o->columns; c++)
            most = fmax(most, (double)z[c]);
        for (size_t c = 0; o->probabilities && c < o->columns; c++)
            mass += exp((double)z[c] - most);
        for (size_t c = 0; c < o->columns; c++)
            to[c] += weight * (o->probabilities ? exp((double)z[c] - most) / mass : (double)z[c]);
    }
}

int outputs_add(outputs *o, const float *const *from, const int64_t *labels, const uint32_t *index,
                size_t count, bang_error *err)
{
    int rc = make_room(o, count, err), scored = o->scored && labels;
    if (rc < 0)
        return rc;
    memset(o->sum, 0, count * o->columns * sizeof *o->sum);
    for (size_t m = 0; m < o->models; m++) {
        const float *z = from[m];
        rc = check_finite(o, m, z, index, count, err);
        if (rc < 0)
            return rc;
        if (o->map) {
            bang_class_map_scores(o->scores, z, count, o->map);
            z = o->scores;
        }
        if (scored)
            o->right[m] += count_right(o, z, labels, count);
        add(o, z, o->weights ? o->weights[m] : 1, count);
    }
    /* sums of equal models divide back without rounding */
    double many = o->weights ? 1 : (double)o->models;
    for (size_t i = 0; i < count * o->columns; i++)
        o->mean[i] = (float)(o->sum[i] / many);
    if (scored)
        o->right[o->models] += count_right(o, o->mean, labels, count);
    for (size_t i = 0; scored && i < count; i++)
        o->labelled += labels[i] >= 0;
    o->rows += count;
    return 0;
}

double outputs_accuracy(const outputs *o, size_t m)
{
    return o->labelled ? (double)o->right[m] / (double)o->labelled : NAN;
}
