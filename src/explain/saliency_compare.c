/* What maps have in common. */
#include <math.h>

#include "bang/explain/saliency.h"

void bang_saliency_cells(double *out, size_t cells, const double *map, size_t side)
{
    size_t edge = side / cells;
    for (size_t i = 0; i < cells * cells; i++) {
        const double *from = map + i / cells * edge * side + i % cells * edge;
        double sum = 0;
        for (size_t k = 0; k < edge * edge; k++)
            sum += from[k / edge * side + k % edge];
        out[i] = sum / (double)(edge * edge);
    }
}

double bang_saliency_inside(const double *map, const uint8_t *region, size_t count)
{
    double inside = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        all += map[i];
        inside += region[i] ? map[i] : 0;
    }
    return all > 0 ? inside / all : NAN;
}

double bang_saliency_correlation(const double *a, const double *b, size_t count)
{
    double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < count; i++) {
        mean_a += a[i] / (double)count;
        mean_b += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
        ab += (a[i] - mean_a) * (b[i] - mean_b);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : NAN;
}

double bang_saliency_overlap(const double *a, const double *b, size_t count)
{
    double all_a = 0, all_b = 0, common = 0;
    for (size_t i = 0; i < count; i++) {
        all_a += a[i];
        all_b += b[i];
    }
    if (!(all_a > 0) || !(all_b > 0))
        return NAN;
    for (size_t i = 0; i < count; i++)
        common += fmin(a[i] / all_a, b[i] / all_b);
    return common;
}
