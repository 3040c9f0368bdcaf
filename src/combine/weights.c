#include <math.h>

#include "bang/combine/blocks.h"

void bang_weights_slerp(double weights[2], const double *gram, double t)
{
    /* x_1 = x_0 + d, and d is what was measured: |x_0 x x_1| = |x_0 x d| has no
     * cancellation of two long vectors, so that small angles are right. */
    double base = gram[0], along = gram[1], change = gram[3];
    double cross = sqrt(fmax(base * change - along * along, 0)), inner = base + along;
    double lengths = sqrt(base) * sqrt(fmax(base + 2 * along + change, 0));
    weights[0] = 1 - t;
    weights[1] = t;
    if (!(lengths > 0) || !(cross >= 1e-4 * lengths))
        return;
    double angle = atan2(cross, inner), sine = sin(angle);
    weights[0] = sin((1 - t) * angle) / sine;
    weights[1] = sin(t * angle) / sine;
}

double bang_weights_stock(double *weights, const double *gram, size_t models)
{
    size_t size = models + 1, pairs = 0;
    double sum = 0, t = 1, n = (double)models;
    for (size_t i = 1; i <= models; i++)
        for (size_t j = i + 1; j <= models; j++) {
            double lengths = sqrt(gram[i * size + i]) * sqrt(gram[j * size + j]);
            if (lengths > 0) {
                sum += gram[i * size + j] / lengths;
                pairs++;
            }
        }
    if (pairs > 0 && isfinite(sum)) { /* else infinite numbers must show in the output */
        double cosine = sum / (double)pairs;
        t = cosine > 0 ? fmin(n * cosine / (1 + (n - 1) * cosine), 1) : 0;
    }
    weights[0] = 1 - t;
    for (size_t i = 1; i <= models; i++)
        weights[i] = t / n;
    return t;
}
