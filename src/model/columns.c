#include <stdlib.h>
#include <string.h>

#include "model/inputs.h"

size_t inputs_width(const bang_array *inputs)
{
    size_t width = 1;
    for (int i = 1; i < inputs->rank; i++)
        width *= inputs->shape[i];
    return width;
}

int inputs_check(const bang_array *inputs, size_t width, bang_error *err)
{
    if (inputs->dtype != BANG_U8 && inputs->dtype != BANG_F32)
        return bang_fail(err, BANG_EUSAGE, "inputs: %s numbers: give U8 or F32",
                         bang_dtype_name(inputs->dtype));
    if (inputs->rank < 1 || inputs_width(inputs) != width)
        return bang_fail(err, BANG_EUSAGE, "inputs: %zu numbers in a row: %zu are expected",
                         inputs->rank < 1 ? 0 : inputs_width(inputs), width);
    return 0;
}

static int columns_alloc(bang_columns *out, size_t width, bang_error *err)
{
    *out = (bang_columns){.width = width};
    if (width == 0 || width > UINT32_MAX)
        return bang_fail(err, BANG_EUSAGE, "inputs: %zu numbers in a row: cannot be read", width);
    out->group = calloc(width, sizeof *out->group);
    out->first = calloc(width, sizeof *out->first);
    out->multiplicity = calloc(width, sizeof *out->multiplicity);
    if (out->group && out->first && out->multiplicity)
        return 0;
    bang_columns_release(out);
    return bang_fail_memory(err);
}

int bang_columns_init(bang_columns *out, size_t width, bang_error *err)
{
    int rc = columns_alloc(out, width, err);
    if (rc < 0)
        return rc;
    out->group_count = 1;
    out->multiplicity[0] = (uint32_t)width;
    return 0;
}

int bang_columns_init_all(bang_columns *out, size_t width, bang_error *err)
{
    int rc = columns_alloc(out, width, err);
    if (rc < 0)
        return rc;
    out->group_count = width;
    for (size_t i = 0; i < width; i++) {
        out->group[i] = out->first[i] = (uint32_t)i;
        out->multiplicity[i] = 1;
    }
    return 0;
}

void bang_columns_release(bang_columns *columns)
{
    free(columns->group);
    free(columns->first);
    free(columns->multiplicity);
    *columns = (bang_columns){0};
}

/* Parts every group by the values of this row. Groups keep the order of their
 * first columns, so the result does not depend on the order of rows. */
static void split(bang_columns *c, const uint32_t *row, uint32_t *next, uint32_t *old)
{
    memcpy(old, c->group, c->width * sizeof *old);
    size_t old_count = c->group_count;
    c->group_count = 0;
    /* next[g]: last of the new groups that came out of old group g, chained
     * through multiplicity, which is counted anew below */
    for (size_t g = 0; g < old_count; g++)
        next[g] = UINT32_MAX;
    for (size_t j = 0; j < c->width; j++) {
        uint32_t g = next[old[j]];
        while (g != UINT32_MAX && row[c->first[g]] != row[j])
            g = c->multiplicity[g];
        if (g == UINT32_MAX) {
            g = (uint32_t)c->group_count++;
            c->first[g] = (uint32_t)j;
            c->multiplicity[g] = next[old[j]];
            next[old[j]] = g;
        }
        c->group[j] = g;
    }
    memset(c->multiplicity, 0, c->group_count * sizeof *c->multiplicity);
    for (size_t j = 0; j < c->width; j++)
        c->multiplicity[c->group[j]]++;
}

/* 1 when all columns of each group are equal in this row. */
static int holds_u8(const bang_columns *c, const uint32_t *leader, const uint8_t *row)
{
    unsigned differ = 0;
    for (size_t j = 0; j < c->width; j++)
        differ |= (unsigned)row[j] ^ row[leader[j]];
    return !differ;
}

static int holds_u32(const bang_columns *c, const uint32_t *leader, const uint32_t *row)
{
    uint32_t differ = 0;
    for (size_t j = 0; j < c->width; j++)
        differ |= row[j] ^ row[leader[j]];
    return !differ;
}

int bang_columns_refine(bang_columns *c, const bang_array *inputs, bang_error *err)
{
    int rc = inputs_check(inputs, c->width, err);
    if (rc < 0 || c->group_count == c->width)
        return rc;
    /* the first column of each column's group; a row as 32-bit patterns; scratch */
    uint32_t *leader = calloc(c->width, sizeof *leader), *row = calloc(c->width, sizeof *row);
    uint32_t *next = calloc(c->width, sizeof *next), *old = calloc(c->width, sizeof *old);
    if (!leader || !row || !next || !old)
        rc = bang_fail_memory(err);
    for (size_t j = 0; rc == 0 && j < c->width; j++)
        leader[j] = c->first[c->group[j]];
    const uint8_t *bytes = inputs->data;
    const uint32_t *words = inputs->data;
    int narrow = inputs->dtype == BANG_U8;
    for (size_t i = 0; rc == 0 && i < inputs->shape[0]; i++) {
        const uint8_t *narrow_row = bytes + (narrow ? i * c->width : 0);
        const uint32_t *wide_row = narrow ? row : words + i * c->width;
        if (narrow ? holds_u8(c, leader, narrow_row) : holds_u32(c, leader, wide_row))
            continue;
        for (size_t j = 0; narrow && j < c->width; j++)
            row[j] = narrow_row[j];
        split(c, wide_row, next, old);
        for (size_t j = 0; j < c->width; j++)
            leader[j] = c->first[c->group[j]];
    }
    free(leader);
    free(row);
    free(next);
    free(old);
    return rc;
}
