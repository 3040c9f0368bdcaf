/* Means over pairs and seeds, and how sure they are. */
#include <math.h>
#include <stdio.h>

#include "bang/measure/statistics.h"
#include "lab/average.h"

static double value_of(const json_t *unit, const char *field, size_t row, average_choice c)
{
    const json_t *numbers = json_array_get(json_object_get(unit, field), row);
    double sum = 0;
    for (size_t p = c.from; p < c.to; p++)
        sum += json_number_value(json_array_get(numbers, p));
    return sum / (double)(c.to - c.from);
}

static double pair_value(const json_t *unit, size_t pair, average_choice c)
{
    size_t stride = c.stride ? c.stride : 1;
    double value = value_of(unit, c.field, c.first + pair * stride, c), less = 0;
    if (c.minus)
        less = value_of(unit, c.minus, pair, c);
    if (c.other)
        less = fmax(less, value_of(unit, c.other, pair, c));
    return value - less;
}

static size_t pair_count(const json_t *unit, average_choice c)
{
    return json_array_size(json_object_get(unit, c.field)) / (c.stride ? c.stride : 1);
}

/* Mean and sum of squares around it, number by number (Welford). */
typedef struct moments {
    size_t count;
    double mean, squares;
} moments;

static void add(moments *m, double value)
{
    double gap = value - m->mean;
    m->count++;
    m->mean += gap / (double)m->count;
    m->squares += gap * (value - m->mean);
}

void average_estimate_of(average_estimate *out, const json_t *units, average_choice c)
{
    moments all = {0}, seeds = {0};
    *out = (average_estimate){0};
    for (size_t u = 0; u < json_array_size(units); u++) {
        const json_t *unit = json_array_get(units, u);
        size_t pairs = pair_count(unit, c);
        moments seed = {0};
        for (size_t k = 0; k < pairs; k++) {
            double value = pair_value(unit, k, c);
            add(&all, value);
            add(&seed, value);
            out->above += value > 0;
        }
        if (pairs)
            add(&seeds, seed.mean);
    }
    const moments *free = seeds.count > 1 ? &seeds : &all;
    double degrees = (double)free->count - 1;
    out->pairs = all.count;
    out->seeds = seeds.count;
    out->mean = seeds.count ? seeds.mean : NAN;
    out->sd = out->error = out->low = out->high = NAN;
    if (free->count < 2)
        return;
    out->sd = sqrt(all.squares / ((double)all.count - 1));
    out->error = sqrt(free->squares / degrees / (double)free->count);
    double reach = bang_student_quantile(0.975, degrees) * out->error;
    out->low = out->mean - reach;
    out->high = out->mean + reach;
}

/* "+1.23", or with a minus as people print it. */
static void sign_text(char *out, size_t size, double fraction)
{
    snprintf(out, size, "%s%.2f", signbit(fraction) ? "\u2212" : "+", fabs(100 * fraction));
}

void average_interval_text(char *out, size_t size, const average_estimate *e)
{
    char mean[24], low[24], high[24];
    sign_text(mean, sizeof mean, e->mean);
    sign_text(low, sizeof low, e->low);
    sign_text(high, sizeof high, e->high);
    snprintf(out, size, isfinite(e->low) ? "%s [%s, %s]" : "%s", mean, low, high);
}
