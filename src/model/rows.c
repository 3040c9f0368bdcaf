#include <stdlib.h>
#include <string.h>

#include "model/inputs.h"

/* Room for one more row of numbers in the two lists. */
static int reserve(bang_rows *out, size_t *capacity, size_t wanted)
{
    if (wanted <= *capacity)
        return 0;
    size_t larger = wanted + wanted / 2;
    uint16_t *column = realloc(out->column, larger * sizeof *column);
    if (column)
        out->column = column;
    float *value = column ? realloc(out->value, larger * sizeof *value) : NULL;
    if (value)
        out->value = value;
    *capacity = value ? larger : *capacity;
    return value ? 0 : -1;
}

/* The numbers of row i that are not zero, from place at on; where they end. */
static size_t keep_row(bang_rows *out, size_t at, size_t i, const uint32_t *place, size_t places,
                       const bang_array *inputs)
{
    const uint32_t *first = out->columns->first;
    size_t row = i * out->columns->width;
    for (size_t j = 0; j < places; j++) {
        /* written anyway: numbers are as often there as not, and a branch
         * would be guessed wrong */
        out->column[at] = (uint16_t)place[j];
        out->value[at] = inputs_number(inputs, row + first[place[j]]);
        at += (size_t)inputs_filled(inputs, row + first[place[j]]);
    }
    return at;
}

static int keep_numbers(bang_rows *out, const uint32_t *place, size_t places,
                        const bang_array *inputs, bang_error *err)
{
    size_t at = 0, capacity = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (at > UINT32_MAX - places)
            return bang_fail(err, BANG_EUSAGE,
                             "inputs: more than 4e9 numbers: train on fewer rows");
        if (reserve(out, &capacity, at + places + 1) < 0)
            return bang_fail_memory(err);
        out->start[i] = (uint32_t)at;
        at = keep_row(out, at, i, place, places, inputs);
    }
    out->start[out->count] = (uint32_t)at;
    return reserve(out, &capacity, at + 1) < 0 ? bang_fail_memory(err) : 0;
}

static int compact(bang_rows *out, const bang_array *inputs, bang_error *err)
{
    size_t groups = out->columns->group_count, places = 0;
    uint8_t *taken = calloc(groups, 1);
    uint32_t *place = calloc(groups, sizeof *place);
    out->start = calloc(out->count + 1, sizeof *out->start);
    int rc =
        taken && place && out->start ? blocks_find(out, taken, inputs, err) : bang_fail_memory(err);
    for (size_t g = 0; rc == 0 && g < groups; g++)
        if (!taken[g])
            place[places++] = (uint32_t)g;
    if (rc == 0)
        rc = keep_numbers(out, place, places, inputs, err);
    free(taken);
    free(place);
    return rc;
}

/* Reading numbers one by one costs about twice as much each as reading all. */
static int worth_compacting(const bang_rows *rows)
{
    double per_row = rows->count ? (double)rows->start[rows->count] / (double)rows->count : 0;
    return 2 * (per_row + (double)rows->block_count) < (double)rows->columns->width;
}

static void release_compact(bang_rows *rows)
{
    for (size_t b = 0; b < rows->block_count; b++) {
        free(rows->blocks[b].start);
        free(rows->blocks[b].column);
        free(rows->blocks[b].value);
    }
    free(rows->blocks);
    free(rows->codes);
    free(rows->start);
    free(rows->column);
    free(rows->value);
}

int bang_rows_init(bang_rows *out, const bang_columns *columns, const bang_array *inputs,
                   bang_error *err)
{
    *out = (bang_rows){.columns = columns};
    int rc = inputs_check(inputs, columns->width, err);
    if (rc < 0)
        return rc;
    out->count = inputs->shape[0];
    int all = columns->group_count == columns->width;
    if (columns->group_count > UINT16_MAX + (size_t)1) {
        if (!all)
            return bang_fail(err, BANG_EUSAGE,
                             "inputs: %zu different columns: at most 65536 can be reduced: train "
                             "without reduction",
                             columns->group_count);
        out->dense = inputs;
        return 0;
    }
    rc = compact(out, inputs, err);
    if (rc == 0 && !(all && !worth_compacting(out)))
        return 0;
    release_compact(out);
    *out = (bang_rows){.columns = columns, .count = inputs->shape[0], .dense = inputs};
    return rc;
}

int bang_rows_init_dense(bang_rows *out, const bang_columns *columns, const bang_array *inputs,
                         bang_error *err)
{
    *out = (bang_rows){.columns = columns};
    int rc = inputs_check(inputs, columns->width, err);
    if (rc == 0 && columns->group_count != columns->width)
        rc = bang_fail(err, BANG_EUSAGE,
                       "inputs: their columns are grouped: start from "
                       "bang_columns_init_all to read them as they are");
    if (rc < 0)
        return rc;
    out->count = inputs->shape[0];
    out->dense = inputs;
    return 0;
}

void bang_rows_release(bang_rows *rows)
{
    release_compact(rows);
    *rows = (bang_rows){0};
}

int bang_rows_same_numbers(const bang_rows *a, const bang_rows *b)
{
    if (a->dense || b->dense || a->count != b->count || a->columns != b->columns)
        return 0;
    size_t total = a->start[a->count];
    return memcmp(a->start, b->start, (a->count + 1) * sizeof *a->start) == 0 &&
           memcmp(a->column, b->column, total * sizeof *a->column) == 0 &&
           memcmp(a->value, b->value, total * sizeof *a->value) == 0;
}
