#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/model/vit.h"

/* Keys' kernel with a = -1/2, as Pillow, and PyTorch with antialias, have it. */
static double cubic(double x)
{
    x = fabs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* weights (to, from): what each of the old places adds to each of the new ones. The kernel is
 * widened when there are fewer of these. */
static void make_weights(double *weights, size_t to, size_t from)
{
    double scale = (double)from / (double)to, spread = scale > 1 ? scale : 1;
    for (size_t i = 0; i < to; i++) {
        double centre = ((double)i + 0.5) * scale, sum = 0, *row = weights + i * from;
        for (size_t k = 0; k < from; k++)
            sum += row[k] = cubic(((double)k + 0.5 - centre) / spread);
        for (size_t k = 0; k < from; k++)
            row[k] /= sum;
    }
}

/* out (to, to, width) from in (from, from, width): columns, then rows. */
static int resample(float *out, const float *in, size_t to, size_t from, size_t width,
                    bang_error *err)
{
    double *weights = calloc(to * from, sizeof *weights);
    double *half = calloc(from * to * width, sizeof *half); /* (from, to, width) */
    double *sum = calloc(width, sizeof *sum);
    if (weights && half && sum) {
        make_weights(weights, to, from);
        for (size_t y = 0; y < from; y++)
            for (size_t x = 0; x < to; x++)
                for (size_t k = 0; k < from; k++)
                    for (size_t c = 0; c < width; c++)
                        half[(y * to + x) * width + c] +=
                            weights[x * from + k] * (double)in[(y * from + k) * width + c];
        for (size_t y = 0; y < to; y++)
            for (size_t x = 0; x < to; x++) {
                memset(sum, 0, width * sizeof *sum);
                for (size_t k = 0; k < from; k++)
                    for (size_t c = 0; c < width; c++)
                        sum[c] += weights[y * from + k] * half[(k * to + x) * width + c];
                for (size_t c = 0; c < width; c++)
                    out[(y * to + x) * width + c] = (float)sum[c];
            }
    }
    int rc = weights && half && sum ? 0 : bang_fail_memory(err);
    free(weights);
    free(half);
    free(sum);
    return rc;
}

int bang_vit_resize(bang_vit *vit, size_t image, bang_error *err)
{
    bang_vit_config config = vit->config;
    bang_vit other;
    if (image == config.image)
        return 0;
    config.image = image;
    int rc = bang_vit_init(&other, &config, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < vit->map.tensor_count; i++) {
        const bang_vit_tensor *from = &vit->map.tensors[i], *to = &other.map.tensors[i];
        size_t same = from->offset == vit->map.positions ? config.width : from->count;
        memcpy(other.parameters + to->offset, vit->parameters + from->offset,
               same * sizeof *other.parameters);
    }
    /* the class token's position is none in the picture: it stays */
    rc = resample(other.parameters + other.map.positions + config.width,
                  vit->parameters + vit->map.positions + config.width, image / config.patch,
                  vit->config.image / config.patch, config.width, err);
    if (rc < 0) {
        bang_vit_release(&other);
        return rc;
    }
    bang_vit_release(vit);
    *vit = other;
    return 0;
}
