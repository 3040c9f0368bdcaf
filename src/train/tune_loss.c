/* Losses of rows of logits, in double: they are a small part of a step. */
#include <math.h>

#include "train/tune.h"

size_t tune_arg_max(const float *logits, size_t classes)
{
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

/* y = miss + (hit - miss) (lambda onehot(first) + (1 - lambda) onehot(second)): smoothing after
 * mixing, as both are linear. */
typedef struct target {
    size_t first, second;
    double miss, on_first, on_second;
} target;

static target target_of(const tune_targets *t, size_t row)
{
    double rise = t->hit - t->miss;
    target y = {.miss = t->miss, .first = (size_t)t->labels[row], .on_first = rise};
    y.second = y.first;
    if (t->partner) {
        y.second = (size_t)t->labels[t->partner[row]];
        y.on_first = t->lambda * rise;
        y.on_second = (1 - t->lambda) * rise;
    }
    return y;
}

static double value_of(const target *y, size_t c)
{
    return y->miss + (c == y->first ? y->on_first : 0) + (c == y->second ? y->on_second : 0);
}

/* -sum y log softmax(z) = sum(y) log(sum exp(z - m)) - sum y (z - m) with m the largest z; its
 * gradient is sum(y) softmax(z) - y. */
static double cross_entropy(float *gradient, const float *z, const target *y, size_t classes,
                            double scale)
{
    double most = (double)z[tune_arg_max(z, classes)], sum = 0, all = 0;
    for (size_t c = 0; c < classes; c++) {
        double power = exp((double)z[c] - most);
        sum += power;
        all += (double)z[c] - most;
        if (gradient)
            gradient[c] = (float)power;
    }
    double mass = (double)classes * y->miss + y->on_first + y->on_second;
    double met = y->miss * all + y->on_first * ((double)z[y->first] - most) +
                 y->on_second * ((double)z[y->second] - most);
    for (size_t c = 0; gradient && c < classes; c++)
        gradient[c] = (float)(scale * (mass * (double)gradient[c] / sum - value_of(y, c)));
    return mass * log(sum) - met;
}

/* Mean over classes of (z - y)^2; its gradient is 2 (z - y)/classes. */
static double squared_error(float *gradient, const float *z, const target *y, size_t classes,
                            double scale)
{
    double sum = 0;
    for (size_t c = 0; c < classes; c++) {
        double difference = (double)z[c] - value_of(y, c);
        sum += difference * difference;
        if (gradient)
            gradient[c] = (float)(scale * 2 * difference / (double)classes);
    }
    return sum / (double)classes;
}

double tune_loss(float *gradient, const float *logits, const tune_targets *targets, size_t first,
                 size_t count)
{
    size_t classes = targets->classes;
    double loss = 0, scale = 1 / (double)targets->batch;
    for (size_t i = 0; i < count; i++) {
        const float *z = logits + i * classes;
        float *g = gradient ? gradient + i * classes : NULL;
        target y = target_of(targets, first + i);
        loss += targets->kind == BANG_MSE ? squared_error(g, z, &y, classes, scale)
                                          : cross_entropy(g, z, &y, classes, scale);
    }
    return loss;
}
