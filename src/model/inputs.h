/* What the sources of this room share about inputs. */
#ifndef BANG_MODEL_INPUTS_H
#define BANG_MODEL_INPUTS_H

#include "bang/model/rows.h"

/* Numbers in one row of (n, ...). */
size_t inputs_width(const bang_array *inputs);
/* U8 or F32 with this many numbers in a row? */
int inputs_check(const bang_array *inputs, size_t width, bang_error *err);

/* The bits of one number: equal bits are equal inputs. */
static inline uint32_t inputs_bits(const bang_array *inputs, size_t index)
{
    return inputs->dtype == BANG_U8 ? ((const uint8_t *)inputs->data)[index]
                                    : ((const uint32_t *)inputs->data)[index];
}

/* 1 when the number is not zero. */
static inline int inputs_filled(const bang_array *inputs, size_t index)
{
    return inputs->dtype == BANG_U8 ? ((const uint8_t *)inputs->data)[index] != 0
                                    : ((const float *)inputs->data)[index] != 0;
}

/* The number that the network reads. */
static inline float inputs_number(const bang_array *inputs, size_t index)
{
    return inputs->dtype == BANG_U8 ? (float)((const uint8_t *)inputs->data)[index] / 255.0f
                                    : ((const float *)inputs->data)[index];
}

/* Finds the groups that can be read as codes: fills blocks and codes of out,
 * whose columns and count are set, and marks the groups in taken (group_count). */
int blocks_find(bang_rows *out, uint8_t *taken, const bang_array *inputs, bang_error *err);

#endif
