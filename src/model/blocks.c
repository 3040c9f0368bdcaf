/* Which columns take few values together. A column with at most 16 different
 * values is a candidate; candidates are joined, in order, to the first block
 * in which all columns together still take at most 16. */
#include <stdlib.h>
#include <string.h>

#include "model/inputs.h"

enum { CODES_MAX = 16 };

typedef struct levels {
    uint32_t bits[CODES_MAX];
    size_t row[CODES_MAX]; /* where each was first seen */
    uint8_t count;         /* CODES_MAX + 1: too many */
} levels;

typedef struct block_draft {
    size_t size, code_count;
    uint32_t *column; /* (capacity) */
    size_t capacity;
    uint8_t *codes;         /* (rows) */
    size_t row[CODES_MAX];  /* a row that shows each code */
    double numbers_per_row; /* that are not zero: what coding saves */
} block_draft;

typedef struct search {
    const bang_columns *columns;
    const bang_array *inputs;
    size_t rows;
    uint32_t *bits;         /* (BUNDLE, rows) of candidates */
    uint8_t *codes, *joint; /* (rows) of the candidate; of it and a block */
    block_draft *drafts;    /* (draft_count) */
    size_t draft_count;
} search;

/* The candidate's codes, or 0 when it takes too many values. */
static int code_column(const search *s, levels *l, const uint32_t *column, double *filled)
{
    l->count = 0;
    size_t zeros = 0;
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t bits = column[i];
        uint8_t code = 0;
        while (code < l->count && l->bits[code] != bits)
            code++;
        if (code == l->count) {
            if (code == CODES_MAX)
                return 0;
            l->bits[code] = bits;
            l->row[code] = i;
            l->count++;
        }
        s->codes[i] = code;
        zeros += bits == 0;
    }
    *filled = s->rows ? 1 - (double)zeros / (double)s->rows : 0;
    return 1;
}

/* Joins the candidate to a block if the two together take few values. */
static int join(search *s, block_draft *draft, size_t group, double filled)
{
    int16_t code_of[CODES_MAX][CODES_MAX];
    size_t row[CODES_MAX] = {0}, count = 0;
    memset(code_of, -1, sizeof code_of);
    for (size_t i = 0; i < s->rows; i++) {
        int16_t *code = &code_of[draft->codes[i]][s->codes[i]];
        if (*code < 0) {
            if (count == CODES_MAX)
                return 0;
            row[count] = i;
            *code = (int16_t)count++;
        }
        s->joint[i] = (uint8_t)*code;
    }
    if (draft->size == draft->capacity) {
        uint32_t *grown = realloc(draft->column, 2 * draft->capacity * sizeof *grown);
        if (!grown) /* outside it would be right too, but not to the bit */
            return -1;
        draft->column = grown;
        draft->capacity *= 2;
    }
    memcpy(draft->codes, s->joint, s->rows);
    memcpy(draft->row, row, sizeof row);
    draft->code_count = count;
    draft->column[draft->size++] = (uint32_t)group;
    draft->numbers_per_row += filled;
    return 1;
}

static int start_draft(search *s, const levels *l, size_t group, double filled)
{
    block_draft *grown = realloc(s->drafts, (s->draft_count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    s->drafts = grown;
    block_draft *draft = &s->drafts[s->draft_count];
    *draft = (block_draft){.size = 1, .code_count = l->count, .numbers_per_row = filled};
    draft->capacity = 4;
    draft->column = calloc(draft->capacity, sizeof *draft->column);
    draft->codes = malloc(s->rows ? s->rows : 1);
    s->draft_count++; /* so that what there is of it is freed */
    if (!draft->column || !draft->codes)
        return -1;
    draft->column[0] = (uint32_t)group;
    memcpy(draft->codes, s->codes, s->rows);
    memcpy(draft->row, l->row, sizeof draft->row);
    return 0;
}

/* 1 when a few rows already show too many values: spares reading the rest. */
static int rich(const search *s, size_t group)
{
    enum { ROWS = 256 };
    uint32_t seen[CODES_MAX];
    size_t count = 0, rows = s->rows < ROWS ? s->rows : ROWS;
    for (size_t i = 0; i < rows; i++) {
        uint32_t bits = inputs_bits(s->inputs, i * s->columns->width + s->columns->first[group]);
        size_t k = 0;
        while (k < count && seen[k] != bits)
            k++;
        if (k == CODES_MAX)
            return 1;
        if (k == count)
            seen[count++] = bits;
    }
    return 0;
}

/* A column that is nearly always zero costs less as a number. It would also make
 * blocks of other data sets differ that have the same numbers otherwise. */
#define LEAST_FILLED 0.0625

/* Candidates come in bundles, so that each row is fetched once for all of a
 * bundle. */
enum { BUNDLE = 128 };

static void fetch_bundle(const search *s, const uint32_t *group, size_t count)
{
    const bang_columns *c = s->columns;
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < count; j++)
            s->bits[j * s->rows + i] = inputs_bits(s->inputs, i * c->width + c->first[group[j]]);
}

/* Columns that go together lie together, or all go together: trying every draft
 * would take long in wide data. */
enum { DRAFTS_TRIED = 4, DRAFTS_MAX = 4000 };

static int join_some(search *s, size_t group, double filled)
{
    for (size_t d = 0; d < s->draft_count; d++)
        if (d < DRAFTS_TRIED || d + DRAFTS_TRIED >= s->draft_count) {
            int joined = join(s, &s->drafts[d], group, filled);
            if (joined)
                return joined;
        }
    return 0;
}

static int draft_bundle(search *s, const uint32_t *group, size_t count)
{
    fetch_bundle(s, group, count);
    for (size_t j = 0; j < count; j++) {
        levels l;
        double filled;
        if (!code_column(s, &l, s->bits + j * s->rows, &filled) || filled < LEAST_FILLED)
            continue;
        int joined = join_some(s, group[j], filled);
        if (joined < 0 ||
            (!joined && s->draft_count < DRAFTS_MAX && start_draft(s, &l, group[j], filled) < 0))
            return -1;
    }
    return 0;
}

static int draft_blocks(search *s)
{
    uint32_t bundle[BUNDLE];
    size_t count = 0;
    for (size_t g = 0; g < s->columns->group_count; g++) {
        if (!rich(s, g))
            bundle[count++] = (uint32_t)g;
        if (count == BUNDLE || (count && g + 1 == s->columns->group_count)) {
            if (draft_bundle(s, bundle, count) < 0)
                return -1;
            count = 0;
        }
    }
    return 0;
}

static int keep_block(bang_rows *out, const search *s, const block_draft *draft, uint8_t *taken)
{
    bang_column_block *block = &out->blocks[out->block_count++];
    size_t most = draft->size * draft->code_count, at = 0;
    *block = (bang_column_block){.code_count = draft->code_count};
    block->start = calloc(draft->code_count + 1, sizeof *block->start);
    block->column = calloc(most + 1, sizeof *block->column);
    block->value = calloc(most + 1, sizeof *block->value);
    if (!block->start || !block->column || !block->value)
        return -1;
    for (size_t c = 0; c < draft->code_count; c++) {
        const size_t row = draft->row[c] * s->columns->width;
        for (size_t j = 0; j < draft->size; j++) {
            uint32_t group = draft->column[j];
            taken[group] = 1;
            block->column[at] = (uint16_t)group;
            block->value[at] = inputs_number(s->inputs, row + s->columns->first[group]);
            at += block->value[at] != 0;
        }
        block->start[c + 1] = (uint32_t)at;
    }
    return 0;
}

/* A block costs about as much as one number a row. */
static int keep_blocks(bang_rows *out, const search *s, uint8_t *taken)
{
    size_t kept = 0;
    for (size_t d = 0; d < s->draft_count; d++)
        kept += s->drafts[d].numbers_per_row > 1;
    out->blocks = calloc(kept ? kept : 1, sizeof *out->blocks);
    out->codes = malloc(kept && s->rows ? kept * s->rows : 1);
    if (!out->blocks || !out->codes)
        return -1;
    for (size_t d = 0; d < s->draft_count; d++) {
        if (s->drafts[d].numbers_per_row <= 1)
            continue;
        size_t at = out->block_count;
        if (keep_block(out, s, &s->drafts[d], taken) < 0)
            return -1;
        for (size_t i = 0; i < s->rows; i++)
            out->codes[i * kept + at] = s->drafts[d].codes[i];
    }
    return 0;
}

int blocks_find(bang_rows *out, uint8_t *taken, const bang_array *inputs, bang_error *err)
{
    search s = {.columns = out->columns, .inputs = inputs, .rows = out->count};
    s.bits = calloc(s.rows ? s.rows : 1, BUNDLE * sizeof *s.bits);
    s.codes = malloc(s.rows ? s.rows : 1);
    s.joint = malloc(s.rows ? s.rows : 1);
    int failed =
        !s.bits || !s.codes || !s.joint || draft_blocks(&s) < 0 || keep_blocks(out, &s, taken) < 0;
    for (size_t d = 0; d < s.draft_count; d++) {
        free(s.drafts[d].column);
        free(s.drafts[d].codes);
    }
    free(s.drafts);
    free(s.bits);
    free(s.codes);
    free(s.joint);
    return failed ? bang_fail_memory(err) : 0;
}
