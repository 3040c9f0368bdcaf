/* Means over units. Models of one seed share its data, so their mean is less
 * certain than as many independent ones would be: with S seeds of m rows each,
 * the variance of the mean is b/S + w/(S m), with w the variance within seeds
 * and b = max(0, variance of the seeds' means - w/m). */
#include <math.h>
#include <stdio.h>

#include "lab/color.h"

typedef struct tally {
    double seed_sum, seed_squares; /* of the seeds' means */
    double within;                 /* sum of squares around them */
    double sum, squares;
    size_t rows, seeds;
} tally;

static void finish(color_column *out, const tally *t, size_t p)
{
    double n = (double)t->rows, s = (double)t->seeds, per_seed = s > 0 ? n / s : 0;
    if (t->rows == 0)
        return;
    out->n = t->rows;
    out->mean[p] = t->sum / n;
    double total = fmax(t->squares - n * out->mean[p] * out->mean[p], 0);
    out->sd[p] = n > 1 ? sqrt(total / (n - 1)) : NAN;
    if (t->seeds < 2) { /* nothing says how much seeds differ */
        out->error[p] = n > 1 ? out->sd[p] / sqrt(n) : NAN;
        return;
    }
    double within = n > s ? t->within / (n - s) : 0;
    double seed_mean = t->seed_sum / s;
    double between = fmax(t->seed_squares - s * seed_mean * seed_mean, 0) / (s - 1);
    out->error[p] = sqrt(fmax(between, within / per_seed) / s);
}

static double value_at(const json_t *rows, size_t row, size_t p)
{
    return json_number_value(json_array_get(json_array_get(rows, row), p));
}

static void add_seed(tally *t, const double *values, size_t count)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        t->sum += values[i];
        t->squares += values[i] * values[i];
        t->within += (values[i] - mean) * (values[i] - mean);
    }
    t->rows += count;
    t->seeds += count > 0;
    t->seed_sum += mean;
    t->seed_squares += mean * mean;
}

enum { ROWS_MAX = 4096 }; /* more models in a unit are left out; the command allows fewer */

void color_collect(color_column *out, const json_t *units, const char *field, int size,
                   size_t first, size_t stride)
{
    *out = (color_column){0};
    char key[16];
    snprintf(key, sizeof key, "%d", size);
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        tally t = {0};
        for (size_t u = 0; u < json_array_size(units); u++) {
            const json_t *rows = json_object_get(json_array_get(units, u), field);
            double values[ROWS_MAX];
            size_t count = 0;
            if (size)
                rows = json_object_get(rows, key);
            for (size_t r = first; r < json_array_size(rows) && count < ROWS_MAX; r += stride)
                values[count++] = value_at(rows, r, p);
            if (count)
                add_seed(&t, values, count);
        }
        finish(out, &t, p);
    }
}

void color_collect_gain(color_column *out, const json_t *units, const char *field)
{
    *out = (color_column){0};
    for (size_t p = 0; p < COLOR_SHIFTS; p++) {
        tally t = {0};
        for (size_t u = 0; u < json_array_size(units); u++) {
            const json_t *unit = json_array_get(units, u);
            const json_t *models = json_object_get(unit, "models");
            const json_t *pairs = json_object_get(unit, field);
            double values[ROWS_MAX];
            size_t count = 0;
            if (json_is_object(pairs))
                pairs = json_object_get(pairs, "2");
            for (size_t r = 0; r < json_array_size(pairs) && count < ROWS_MAX; r++)
                values[count++] = value_at(pairs, r, p) -
                                  (value_at(models, 2 * r, p) + value_at(models, 2 * r + 1, p)) / 2;
            if (count)
                add_seed(&t, values, count);
        }
        finish(out, &t, p);
    }
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
