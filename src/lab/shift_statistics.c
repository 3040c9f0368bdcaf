/* What units say of a difference: mean, interval, seeds. */
#include <math.h>
#include <string.h>

#include "bang/measure/statistics.h"
#include "lab/shift_show.h"

#define LEVEL 0.95
enum { SEEDS_FOR_T = 3 };

/* The normal distribution's quantile: a large number of degrees of freedom. */
static double normal_quantile(double p)
{
    return bang_student_quantile(p, 1e9);
}

static double images_of(const json_t *unit, size_t set)
{
    return json_number_value(json_array_get(json_object_get(unit, "n"), set));
}

/* The variance that the images leave when b and c of n are those that one of two alone has right,
 * each counting with its weight. */
static double pair_variance(double b, double c, double weight, double n)
{
    double difference = b - weight * c;
    return (b + weight * weight * c - difference * difference / n) / (n * n);
}

/* Images that a and b alone have right on a set: 0, or -1 where they were not counted. */
static int find_pair(double *only_a, double *only_b, const json_t *unit, const char *a,
                     const char *b, size_t set)
{
    const json_t *list = json_object_get(unit, "contrasts");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *first = json_string_value(json_object_get(pair, "a"));
        const char *second = json_string_value(json_object_get(pair, "b"));
        if (!first || !second)
            continue;
        int same = strcmp(first, a) == 0 && strcmp(second, b) == 0;
        int turned = strcmp(first, b) == 0 && strcmp(second, a) == 0;
        if (!same && !turned)
            continue;
        const json_t *one = json_array_get(json_object_get(pair, "only_a"), set);
        const json_t *two = json_array_get(json_object_get(pair, "only_b"), set);
        *only_a = json_number_value(same ? one : two);
        *only_b = json_number_value(same ? two : one);
        return json_is_number(one) && json_is_number(two) ? 0 : -1;
    }
    return -1;
}

/* The largest variance of a quantity between low and high with that mean (Bhatia and Davis). */
static double widest(double mean, double low, double high)
{
    return fmax(0, (mean - low) * (high - mean));
}

/* Images of a group as counted, in the order TTT TTF TFT TFF FTT FTF FFT FFF. */
static double group_count(const json_t *units, size_t u, const char *method, size_t group,
                          size_t set)
{
    const json_t *methods = json_object_get(json_array_get(units, u), "methods");
    const json_t *rows = json_object_get(json_object_get(methods, method), "groups");
    return json_number_value(json_array_get(json_array_get(rows, set), group));
}

/* Of what is counted in groups. Contributions are against the better of PM and FM: the average has
 * some images right that this one has wrong, and the other way round. */
static double group_variance(const json_t *units, size_t u, shift_quantity quantity,
                             const char *method, size_t set)
{
    enum { TTT, TTF, TFT, TFF, FTT, FTF, FFT };
    double c[8], n = images_of(json_array_get(units, u), set);
    for (size_t g = 0; g < 8; g++)
        c[g] = group_count(units, u, method, g, set);
    int pre = c[TFT] + c[TFF] >= c[FTT] + c[FTF]; /* PM is the better one */
    double right = pre ? c[FTT] : c[TFT], wrong = pre ? c[TFF] : c[FTF];
    switch (quantity) {
    case SHIFT_BEYOND: /* the rest of the improvement, turned round; or there is none */
        return right + c[FFT] > wrong + c[TTF] ? pair_variance(wrong + c[TTF], right, 1, n)
                                               : pair_variance(c[FFT], 0, 1, n);
    case SHIFT_BOTH:
        return pair_variance(c[FFT], c[TTF], 1, n);
    case SHIFT_TWICE:
        return pair_variance(c[FFT], c[TTF], 2, n);
    case SHIFT_ONE:
        return pair_variance(right, wrong, 1, n);
    default:
        return pair_variance(right + c[FFT], wrong + c[TTF], 1, n);
    }
}

/* Of one member on one set. What a model is sure of it has right no less often, so that the
 * variance of confidence less being right is at most the sum of the two. Confidence is 1/K or
 * more. */
static double set_variance(const json_t *units, size_t u, shift_quantity quantity,
                           const char *member, size_t set)
{
    double n = images_of(json_array_get(units, u), set);
    double value = shift_read(units, u, quantity, member, set);
    double alone = group_count(units, u, member, 2, set) + group_count(units, u, member, 3, set);
    switch (quantity) {
    case SHIFT_OVER:
    case SHIFT_GAP:
        return (widest(shift_read(units, u, SHIFT_ACCURACY, member, set), 0, 1) +
                widest(shift_read(units, u, SHIFT_CONFIDENCE, member, set), 1. / BANG_SHIFT_CLASSES,
                       1)) /
               n;
    case SHIFT_BEYOND:
    case SHIFT_BOTH:
    case SHIFT_TWICE:
    case SHIFT_ONE:
    case SHIFT_ALL:
        return group_variance(units, u, quantity, member, set);
    case SHIFT_MARGIN_PRE:
    case SHIFT_MARGIN_FINE:
        return widest(value, -1, 1) / alone;
    case SHIFT_MARGIN_SUM:
        return widest(value, -2, 2) / alone;
    default:
        return widest(value, 0, 1) / n;
    }
}

/* Of the difference on one set; b may be NULL. */
static double difference_variance(const json_t *units, size_t u, const shift_difference *d,
                                  size_t a_set, size_t b_set)
{
    const json_t *unit = json_array_get(units, u);
    double only_a, only_b;
    if (d->b && d->quantity == SHIFT_ACCURACY && a_set == b_set &&
        find_pair(&only_a, &only_b, unit, d->a, d->b, a_set) == 0)
        return pair_variance(only_a, only_b, 1, images_of(unit, a_set));
    double variance = set_variance(units, u, d->quantity, d->a, a_set);
    return d->b ? variance + set_variance(units, u, d->quantity, d->b, b_set) : variance;
}

/* Sets are independent of each other. */
static double sets_variance(const json_t *units, size_t u, const shift_difference *d)
{
    enum { FIVE = SHIFT_SETS - 1 };
    double sum = 0;
    if (!d->b || d->a_set == d->b_set) {
        if (d->a_set < SHIFT_SETS)
            return difference_variance(units, u, d, d->a_set, d->a_set);
        for (size_t s = 1; s < SHIFT_SETS; s++)
            sum += difference_variance(units, u, d, s, s) / (FIVE * FIVE);
        return sum;
    }
    shift_difference one = {d->quantity, d->a, d->a_set, NULL, 0};
    shift_difference two = {d->quantity, d->b, d->b_set, NULL, 0};
    return sets_variance(units, u, &one) + sets_variance(units, u, &two);
}

static double fashion_variance(const json_t *units, size_t u, const shift_difference *d)
{
    const json_t *f = json_object_get(json_array_get(units, u), "fashion");
    const json_t *wse = json_object_get(f, "only_wse"), *ose = json_object_get(f, "only_ose");
    double n = json_number_value(json_object_get(f, "n"));
    if (d->b && json_is_number(wse) && json_is_number(ose))
        return pair_variance(json_number_value(wse), json_number_value(ose), 1, n);
    return widest(shift_read(units, u, SHIFT_FASHION, d->a, 0), 0, 1) / n * (d->b ? 2 : 1);
}

/* Of what is read off the curve: the square of half its t interval, as if of a normal
 * distribution. R^2 has none. */
static double curve_variance(const json_t *units, size_t u, const shift_difference *d, double level)
{
    shift_curve curve;
    if (d->quantity == SHIFT_FIT)
        return 0;
    if (shift_curve_of(&curve, units, u) < 0)
        return NAN;
    const bang_curve *fit = &curve.fit;
    double wider = bang_student_quantile((1 + level) / 2, (double)fit->count - 3) /
                   normal_quantile((1 + level) / 2);
    double error = NAN, x;
    bang_curve_residual residual;
    if (d->quantity == SHIFT_BEND) {
        double half = (fit->most - fit->least) / 2 / fit->scale;
        error = fit->residual_sd * sqrt(fit->inverse[2][2]) * half * half;
    } else if (shift_curve_compare(&residual, &x, units, u, d->a) == 0) {
        error = residual.standard_error;
    }
    return error * error * wider * wider;
}

static double value_of(const json_t *units, size_t u, const shift_difference *d)
{
    double a = shift_read(units, u, d->quantity, d->a, d->a_set);
    return d->b ? a - shift_read(units, u, d->quantity, d->b, d->b_set) : a;
}

static double variance_of(const json_t *units, size_t u, const shift_difference *d, double level)
{
    return d->quantity == SHIFT_FASHION       ? fashion_variance(units, u, d)
           : d->quantity >= SHIFT_ABOVE_CURVE ? curve_variance(units, u, d, level)
                                              : sets_variance(units, u, d);
}

/* Half of the interval of a mean of n; images: the mean of the variances that images leave. */
static double half_of(const shift_effect *e, double images, double level)
{
    double n = (double)e->n, p = (1 + level) / 2, seeds = e->n > 1 ? e->sd * e->sd / n : 0;
    if (e->basis == SHIFT_BY_SEEDS)
        return bang_student_quantile(p, n - 1) * sqrt(seeds);
    if (isnan(images))
        return INFINITY;
    return normal_quantile(p) * sqrt(fmax(images, seeds));
}

shift_effect shift_effect_at(const json_t *units, const shift_difference *difference, double level,
                             double bar)
{
    shift_effect e = {0, 0, SHIFT_BY_IMAGES, NAN, NAN, NAN, NAN};
    double sum = 0, squares = 0, images = 0;
    for (size_t u = 0; u < json_array_size(units); u++) {
        double value = value_of(units, u, difference);
        if (isnan(value))
            continue;
        e.n++;
        e.wins += value > bar;
        sum += value;
        images += variance_of(units, u, difference, level);
    }
    if (!e.n)
        return e;
    double n = (double)e.n;
    e.mean = sum / n;
    for (size_t u = 0; u < json_array_size(units); u++) {
        double value = value_of(units, u, difference);
        if (!isnan(value))
            squares += (value - e.mean) * (value - e.mean);
    }
    e.sd = e.n > 1 ? sqrt(squares / (n - 1)) : NAN;
    if (difference->quantity >= SHIFT_ABOVE_CURVE && difference->quantity != SHIFT_FASHION)
        e.basis = SHIFT_BY_GRID;
    else if (e.n >= SEEDS_FOR_T)
        e.basis = SHIFT_BY_SEEDS;
    double half = half_of(&e, images / n, level);
    e.low = e.mean - half;
    e.high = e.mean + half;
    return e;
}

shift_effect shift_effect_of(const json_t *units, const shift_difference *difference)
{
    return shift_effect_at(units, difference, LEVEL, 0);
}
