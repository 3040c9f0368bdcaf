/* Means over units. Models of one seed share its data, so their mean is less
 * certain than as many independent ones would be: with S seeds of m rows each,
 * the variance of the mean is b/S + w/(S m), with w the variance within seeds
 * and b = max(0, variance of the seeds' means - w/m). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/color.h"

enum { ROWS_MAX = 1024 }; /* models in a unit; more are left out, and the command refuses them */

/* Numbers of one shift, seed by seed. */
typedef struct sample {
    double *value; /* (seeds * ROWS_MAX at most) */
    size_t *rows;  /* (seeds) of each seed that has any */
    size_t count, seeds;
} sample;

static double mean_of(const double *value, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += value[i];
    return sum / (double)count;
}

static double squares_around(const double *value, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (value[i] - mean) * (value[i] - mean);
    return sum;
}

static void finish(color_column *out, const sample *s, size_t p)
{
    double n = (double)s->count, seeds = (double)s->seeds;
    out->n = s->count;
    out->mean[p] = out->sd[p] = out->error[p] = NAN;
    if (s->count == 0)
        return;
    double mean = out->mean[p] = mean_of(s->value, s->count);
    if (s->count > 1)
        out->sd[p] = sqrt(squares_around(s->value, s->count, mean) / (n - 1));
    if (s->seeds < 2) { /* nothing says how much seeds differ */
        out->error[p] = out->sd[p] / sqrt(n);
        return;
    }
    double within = 0, between = 0, seed_sum = 0;
    const double *value = s->value;
    for (size_t u = 0; u < s->seeds; value += s->rows[u++]) {
        double seed_mean = mean_of(value, s->rows[u]);
        within += squares_around(value, s->rows[u], seed_mean);
        seed_sum += seed_mean;
    }
    value = s->value;
    for (size_t u = 0; u < s->seeds; value += s->rows[u++]) {
        double gap = mean_of(value, s->rows[u]) - seed_sum / seeds;
        between += gap * gap / (seeds - 1);
    }
    within = s->count > s->seeds ? within / (n - seeds) : 0;
    out->error[p] = sqrt(fmax(between, within / (n / seeds)) / seeds);
}

static double value_at(const json_t *rows, size_t row, size_t p)
{
    return json_number_value(json_array_get(json_array_get(rows, row), p));
}

static const json_t *rows_of(const json_t *unit, const char *field, int size)
{
    char key[16];
    const json_t *rows = json_object_get(unit, field);
    snprintf(key, sizeof key, "%d", size);
    return size ? json_object_get(rows, key) : rows;
}

/* The numbers of one unit at one shift; how many they are. */
typedef size_t (*collector)(double *out, const json_t *unit, const void *what, size_t p);

static void collect(color_column *out, const json_t *units, collector gather, const void *what)
{
    size_t seeds = json_array_size(units);
    *out = (color_column){0};
    sample s = {0};
    s.value = calloc(seeds ? seeds : 1, ROWS_MAX * sizeof *s.value);
    s.rows = calloc(seeds ? seeds : 1, sizeof *s.rows);
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        s.count = s.seeds = 0;
        for (size_t u = 0; u < seeds && s.value && s.rows; u++) {
            size_t count = gather(s.value + s.count, json_array_get(units, u), what, p);
            s.count += count;
            if (count)
                s.rows[s.seeds++] = count;
        }
        finish(out, &s, p);
    }
    free(s.value);
    free(s.rows);
}

typedef struct choice {
    const char *field;
    int size;
    size_t first, stride;
} choice;

/* Rows first, first + stride, ... of whole strides: a network without a partner
 * is in no pair. */
static size_t gather_rows(double *out, const json_t *unit, const void *what, size_t p)
{
    const choice *c = what;
    const json_t *rows = rows_of(unit, c->field, c->size);
    size_t count = 0, whole = json_array_size(rows) / c->stride;
    for (size_t i = 0; i < whole && count < ROWS_MAX; i++)
        out[count++] = value_at(rows, c->first + i * c->stride, p);
    return count;
}

static size_t gather_gain(double *out, const json_t *unit, const void *what, size_t p)
{
    const json_t *models = json_object_get(unit, "models"), *pairs = json_object_get(unit, what);
    size_t count = 0;
    if (json_is_object(pairs))
        pairs = json_object_get(pairs, "2");
    for (; count < json_array_size(pairs) && count < ROWS_MAX; count++)
        out[count] = value_at(pairs, count, p) -
                     (value_at(models, 2 * count, p) + value_at(models, 2 * count + 1, p)) / 2;
    return count;
}

void color_collect(color_column *out, const json_t *units, const char *field, int size,
                   size_t first, size_t stride)
{
    const choice c = {field, size, first, stride};
    collect(out, units, gather_rows, &c);
}

void color_collect_gain(color_column *out, const json_t *units, const char *field)
{
    collect(out, units, gather_gain, field);
}

static json_t *from_first_shift(const double *values)
{
    json_t *out = json_array();
    for (size_t p = 1; p < COLOR_SHIFTS; p++)
        json_array_append_new(out, bang_json_number(values[p]));
    return out;
}

json_t *color_column_json(const color_column *column)
{
    return json_pack("{so so so sI}", "mean", from_first_shift(column->mean), "sd",
                     from_first_shift(column->sd), "stderr", from_first_shift(column->error), "n",
                     (json_int_t)column->n);
}
