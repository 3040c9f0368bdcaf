#include <stdlib.h>
#include <string.h>

#include "bang/base/arena.h"
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

static void part_all(bang_columns *columns)
{
    columns->group_count = columns->width;
    for (size_t i = 0; i < columns->width; i++) {
        columns->group[i] = columns->first[i] = (uint32_t)i;
        columns->multiplicity[i] = 1;
    }
}

int bang_columns_init_all(bang_columns *out, size_t width, bang_error *err)
{
    int rc = columns_alloc(out, width, err);
    if (rc == 0)
        part_all(out);
    return rc;
}

void bang_columns_settle(bang_columns *columns)
{
    if (columns->group_count > UINT16_MAX + (size_t)1)
        part_all(columns);
}

void bang_columns_release(bang_columns *columns)
{
    free(columns->group);
    free(columns->first);
    free(columns->multiplicity);
    *columns = (bang_columns){0};
}

/* Parts every group by the values of this row: columns stay together that were
 * and that show the same. Groups keep the order of their first columns, so the
 * result does not depend on the order of rows. table (slots, a power of two of
 * at least twice the width) finds the group of what was seen before. */
static void split(bang_columns *c, const uint32_t *row, uint32_t *table, size_t slots)
{
    const uint32_t free_slot = UINT32_MAX;
    memset(table, 0xff, slots * sizeof *table);
    c->group_count = 0;
    for (size_t j = 0; j < c->width; j++) {
        uint32_t old = c->group[j], found;
        uint64_t hash = ((uint64_t)old << 32 | row[j]) * 0x9e3779b97f4a7c15u;
        size_t slot = (size_t)(hash >> 20) & (slots - 1);
        /* columns before j have their new group already; multiplicity keeps the
         * old one of each new group for as long as they are counted anew below */
        while ((found = table[slot]) != free_slot &&
               (row[c->first[found]] != row[j] || c->multiplicity[found] != old))
            slot = (slot + 1) & (slots - 1);
        if (found == free_slot) {
            found = table[slot] = (uint32_t)c->group_count++;
            c->first[found] = (uint32_t)j;
            c->multiplicity[found] = old;
        }
        c->group[j] = found;
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

/* Sixteen rows of bytes at a time, turned so that a column is one vector: a
 * column and the first of its group are then compared at once. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
enum { SIDE = 16 };

/* Four rounds of interleaving rows i and i + 8 turn rows into columns. */
static void turn(bytes16 out[SIDE], const bytes16 in[SIDE])
{
    bytes16 a[SIDE], b[SIDE];
    memcpy(a, in, sizeof a);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < SIDE / 2; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                               21, 6, 22, 7, 23);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                   28, 13, 29, 14, 30, 15, 31);
        }
        memcpy(a, b, sizeof a);
    }
    memcpy(out, a, sizeof a);
}

/* 1 when groups hold in these sixteen rows. turned has room for width + 16. */
static int holds_sixteen(const bang_columns *c, const uint32_t *leader, const uint8_t *rows,
                         bytes16 *turned)
{
    bytes16 in[SIDE], differ = {0};
    for (size_t from = 0; from < c->width; from += SIDE) {
        /* the last bytes of a row may not be a whole vector */
        size_t many = c->width - from < SIDE ? c->width - from : SIDE;
        for (size_t i = 0; i < SIDE; i++) {
            if (many < SIDE)
                in[i] = (bytes16){0};
            memcpy(&in[i], rows + i * c->width + from, many);
        }
        turn(turned + from, in);
    }
    for (size_t j = 0; j < c->width; j++)
        differ |= turned[j] ^ turned[leader[j]];
    uint64_t half[2];
    memcpy(half, &differ, sizeof half);
    return !(half[0] | half[1]);
}

typedef struct refinement {
    uint32_t *leader; /* (width) the first column of each column's group */
    uint32_t *row;    /* (width) a row as 32-bit patterns */
    uint32_t *table;  /* (slots) */
    size_t slots;
    bytes16 *turned; /* (width + 16) */
} refinement;

static void find_leaders(const bang_columns *c, uint32_t *leader)
{
    for (size_t j = 0; j < c->width; j++)
        leader[j] = c->first[c->group[j]];
}

static void refine_row(bang_columns *c, refinement *r, const bang_array *inputs, size_t i)
{
    if (inputs->dtype == BANG_U8) {
        const uint8_t *bytes = (const uint8_t *)inputs->data + i * c->width;
        if (holds_u8(c, r->leader, bytes))
            return;
        for (size_t j = 0; j < c->width; j++)
            r->row[j] = bytes[j];
        split(c, r->row, r->table, r->slots);
    } else {
        const uint32_t *words = (const uint32_t *)inputs->data + i * c->width;
        if (holds_u32(c, r->leader, words))
            return;
        split(c, words, r->table, r->slots);
    }
    find_leaders(c, r->leader);
}

int bang_columns_refine(bang_columns *c, const bang_array *inputs, bang_error *err)
{
    int rc = inputs_check(inputs, c->width, err);
    if (rc < 0)
        return rc;
    bang_arena arena = {0};
    refinement r = {0};
    r.leader = bang_arena_alloc(&arena, c->width, sizeof *r.leader);
    r.row = bang_arena_alloc(&arena, c->width, sizeof *r.row);
    for (r.slots = 4; r.slots < 2 * c->width;)
        r.slots *= 2;
    r.table = bang_arena_alloc(&arena, r.slots, sizeof *r.table);
    r.turned = bang_arena_alloc(&arena, c->width + SIDE, sizeof *r.turned);
    if (!r.leader || !r.row || !r.table || !r.turned) {
        bang_arena_release(&arena);
        return bang_fail_memory(err);
    }
    find_leaders(c, r.leader);
    size_t rows = inputs->shape[0];
    for (size_t i = 0; i < rows && c->group_count < c->width; i++) {
        if (inputs->dtype == BANG_U8 && i % SIDE == 0 && i + SIDE <= rows &&
            holds_sixteen(c, r.leader, (const uint8_t *)inputs->data + i * c->width, r.turned))
            i += SIDE - 1;
        else
            refine_row(c, &r, inputs, i);
    }
    bang_arena_release(&arena);
    return 0;
}
