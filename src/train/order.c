#include <math.h>
#include <string.h>

#include "train/loop.h"

static void shuffle(uint32_t *index, size_t count, bang_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)bang_random_below(random, i);
        uint32_t swap = index[i - 1];
        index[i - 1] = index[j];
        index[j] = swap;
    }
}

/* The order of order->epoch, which is then counted as begun. */
static void begin_epoch(train_order *order)
{
    const bang_train_options *o = order->options;
    for (size_t i = 0; i < order->rows; i++)
        order->index[i] = (uint32_t)i;
    if (!o->in_order) {
        bang_random random;
        /* epochs of one model lie apart: a model has fewer than 2^20 */
        bang_random_init(&random, o->seed, BANG_PURPOSE('o', 'r', 'd', 'r'),
                         (o->stream << 20) + order->epoch);
        shuffle(order->index, order->rows, &random);
    }
    order->epoch++;
}

const uint32_t *train_next_batch(train_order *order, size_t *count)
{
    if (order->next == 0)
        begin_epoch(order);
    const uint32_t *batch = order->index + order->next;
    size_t left = order->rows - order->next;
    *count = left < order->options->batch ? left : order->options->batch;
    order->next = *count == left ? 0 : order->next + *count;
    return batch;
}

uint64_t train_epoch_steps(size_t rows, size_t batch)
{
    return rows / batch + (rows % batch > 0);
}

void train_seek(train_order *order, uint64_t step)
{
    uint64_t steps = train_epoch_steps(order->rows, order->options->batch);
    order->epoch = step / steps;
    order->next = 0;
    if (step % steps == 0)
        return;
    begin_epoch(order);
    order->next = (size_t)(step % steps) * order->options->batch;
}

/* Gamma(shape, 1) up to a factor that Beta does not see: Marsaglia and Tsang's
 * squeeze for shape >= 1, in logarithms so that small shapes do not underflow. */
static double log_gamma_draw(bang_random *random, double shape)
{
    double boost = 0;
    if (shape < 1) {
        boost = log(bang_random_uniform(random)) / fmax(shape, 1e-300); /* finite */
        shape += 1;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = bang_random_normal(random), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(bang_random_uniform(random)) < 0.5 * x * x + d - d * v + d * log(v))
            return log(d * v) + boost;
    }
}

double train_draw_mixing(uint32_t *partner, size_t count, const bang_train_options *options,
                         uint64_t step)
{
    bang_random random;
    bang_random_init(&random, options->seed, BANG_PURPOSE('m', 'i', 'x', 'u'),
                     (options->stream << 32) + step);
    double a = log_gamma_draw(&random, options->mixup), b = log_gamma_draw(&random, options->mixup);
    for (size_t i = 0; i < count; i++)
        partner[i] = (uint32_t)i;
    shuffle(partner, count, &random);
    return 1 / (1 + exp(b - a));
}

double train_take_part(train_part *part, uint32_t *partner, const uint32_t *index, size_t count,
                       const bang_train_options *options, uint64_t step)
{
    int mixed = options->mixup > 0;
    size_t from, to;
    double lambda = mixed ? train_draw_mixing(partner, count, options, step) : 1;
    bang_ranks_share(&from, &to, options->ranks, count);
    part->index = index + from;
    part->count = to - from;
    part->behind = 0;
    if (!mixed || bang_ranks_count(options->ranks) == 1)
        return lambda;
    memcpy(part->own, part->index, part->count * sizeof *index);
    memcpy(part->places, partner + from, part->count * sizeof *partner);
    for (size_t i = 0; i < part->count; i++) {
        size_t other = part->places[i], place = other - from;
        if (other < from || other >= to) {
            place = part->count + part->behind++;
            part->own[place] = index[other];
        }
        partner[i] = (uint32_t)place;
    }
    part->index = part->own;
    return lambda;
}

void train_smooth(double *hit, double *miss, size_t classes, const bang_train_options *options)
{
    double e = options->label_smoothing, k = (double)classes;
    if (options->smoothing == BANG_SMOOTHING_CLASSY_VISION)
        e = e / (1 + e);
    if (options->smoothing == BANG_SMOOTHING_OTHERS) {
        *hit = 1 - e;
        *miss = classes > 1 ? e / (k - 1) : 0;
    } else {
        *hit = 1 - e + e / k;
        *miss = e / k;
    }
}
