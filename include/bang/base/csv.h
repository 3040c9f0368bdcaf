/* Comma-separated values, by RFC 4180: records end with a line break of any system, a field in
 * quotes may hold both commas and line breaks, and a quote within is doubled. A mark of byte order
 * before the first is left out. What is wrong is collected, so that it can be told at once:
 *
 *     bang_csv csv;
 *     bang_csv_begin(&csv, text, size);
 *     while (bang_csv_next(&csv))
 *         if (csv.count != 3) bang_csv_problem(&csv, csv.began, "no three fields");
 *     return bang_csv_end(&csv, path, &err);
 */
#ifndef BANG_BASE_CSV_H
#define BANG_BASE_CSV_H

#include <stddef.h>

#include "bang/base/error.h"

enum { BANG_CSV_FIELDS = 256, BANG_CSV_SAID = 5 };

typedef struct bang_csv {
    size_t began; /* line where the record began, from 1 */
    size_t count;
    char *fields[BANG_CSV_FIELDS]; /* (count) of the record, within the text */
    /* private */
    char *at;
    size_t line; /* of the next character */
    /* What is wrong: the first few lines are said, all are counted. */
    size_t problem_count;
    size_t problem_lines[BANG_CSV_SAID + 1]; /* rising */
    char problems[BANG_CSV_SAID + 1][160];
} bang_csv;

/* text, which a 0 follows, is changed: fields are cut out of it in place. */
void bang_csv_begin(bang_csv *csv, char *text, size_t size);
/* The next record: 1, or 0 at the end. */
int bang_csv_next(bang_csv *csv);
/* 1 for an empty line. */
int bang_csv_is_empty(const bang_csv *csv);
/* Which field, from the from-th on, has this name, in any case of letters; or -1. */
int bang_csv_find(const bang_csv *csv, const char *name, size_t from);

void bang_csv_problem(bang_csv *csv, size_t line, const char *format, ...) BANG_PRINTF(3, 4);
/* 0, or BANG_EDATA with all problems. */
int bang_csv_end(const bang_csv *csv, const char *path, bang_error *err);

#endif
