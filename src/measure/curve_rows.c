#include "bang/measure/curve_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bang/base/csv.h"

enum { NAME, FINE, AVG, SET, LABELS, CLASSES, COLUMNS };
static const char *const column_names[COLUMNS] = {"name", "fine",   "avg",
                                                  "set",  "labels", "classes"};

/* Where the columns are, -1: nowhere. */
static void find_columns(int at[COLUMNS], bang_text *unused, bang_csv *csv)
{
    char known[BANG_CSV_FIELDS] = {0};
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = bang_csv_find(csv, column_names[c], 0);
        if (c <= AVG && at[c] < 0)
            bang_csv_problem(csv, csv->began,
                             "no column %s in the header: name,fine,avg are needed",
                             column_names[c]);
        for (int i = at[c]; i >= 0; i = bang_csv_find(csv, column_names[c], (size_t)i + 1)) {
            known[i] = 1;
            if (i > at[c])
                bang_csv_problem(csv, csv->began, "column %s is there twice", column_names[c]);
        }
    }
    for (size_t i = 0; i < csv->count; i++)
        if (!known[i])
            bang_text_add(unused, "%s%.60s", unused->size ? ", " : "", csv->fields[i]);
    if (unused->data)
        bang_text_flatten(unused->data);
}

static double take_accuracy(bang_csv *csv, const char *column, const char *field)
{
    double value;
    if (bang_text_to_double(&value, field) < 0)
        bang_csv_problem(csv, csv->began,
                         "%s \"%.40s\" is no number: accuracies, or paths with a column labels",
                         column, field);
    else if (value < 0 || value > 100)
        bang_csv_problem(csv, csv->began,
                         "%s %.40s is no accuracy: fractions or per cent are needed", column,
                         field);
    else
        return value;
    return NAN;
}

static int take_row(bang_curve_rows *out, bang_csv *csv, const int at[COLUMNS], bang_error *err)
{
    bang_curve_row row = {.line = csv->began, .fine_accuracy = NAN, .avg_accuracy = NAN};
    const char *fields[COLUMNS];
    int empty = 0;
    for (int c = 0; c < COLUMNS; c++) {
        fields[c] = at[c] < 0 ? NULL : csv->fields[at[c]];
        if (fields[c] && !*fields[c] && c != CLASSES) {
            bang_csv_problem(csv, csv->began, "%s is empty", column_names[c]);
            empty = 1;
        }
    }
    row.name = fields[NAME];
    row.fine = fields[FINE];
    row.avg = fields[AVG];
    row.set = fields[SET];
    row.labels = fields[LABELS];
    row.classes = fields[CLASSES];
    if (empty)
        return 0;
    if (!out->files) {
        row.fine_accuracy = take_accuracy(csv, "fine", row.fine);
        row.avg_accuracy = take_accuracy(csv, "avg", row.avg);
    }
    /* the capacity is the next power of two */
    if ((out->count & (out->count - 1)) == 0) {
        size_t capacity = out->count ? 2 * out->count : 1;
        bang_curve_row *rows = realloc(out->rows, capacity * sizeof *rows);
        if (!rows)
            return bang_fail_memory(err);
        out->rows = rows;
    }
    out->rows[out->count++] = row;
    return 0;
}

static int take_rows(bang_curve_rows *out, bang_csv *csv, bang_error *err)
{
    int at[COLUMNS], rc = 0;
    while (bang_csv_next(csv) && bang_csv_is_empty(csv))
        ;
    if (csv->count == 0) {
        if (csv->problem_count == 0)
            bang_csv_problem(csv, 1, "no header: name,fine,avg are needed");
        return 0;
    }
    find_columns(at, &out->unused, csv);
    if (csv->problem_count > 0)
        return 0;
    out->files = at[LABELS] >= 0;
    size_t columns = csv->count;
    while (rc == 0 && bang_csv_next(csv)) {
        if (bang_csv_is_empty(csv))
            continue;
        if (csv->count != columns)
            bang_csv_problem(csv, csv->began, "%s fields than the header has",
                             csv->count < columns ? "fewer" : "more");
        else
            rc = take_row(out, csv, at, err);
    }
    if (rc == 0 && out->count == 0 && csv->problem_count == 0)
        bang_csv_problem(csv, csv->began, "no rows");
    return rc;
}

/* Per cent, if one is above 1, becomes fractions. */
static void scale(bang_curve_rows *out)
{
    for (size_t i = 0; i < out->count; i++)
        if (out->rows[i].fine_accuracy > 1 || out->rows[i].avg_accuracy > 1)
            out->per_cent = 1;
    for (size_t i = 0; out->per_cent && i < out->count; i++) {
        bang_curve_row *row = &out->rows[i];
        double least = fmin(row->fine_accuracy > 0 ? row->fine_accuracy : 100,
                            row->avg_accuracy > 0 ? row->avg_accuracy : 100);
        if (least <= 1 && !out->small_line)
            out->small_line = row->line;
        row->fine_accuracy /= 100;
        row->avg_accuracy /= 100;
    }
}

/* By name, then set, then line. */
static int by_place(const void *left, const void *right)
{
    const bang_curve_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order == 0 && a->set && b->set)
        order = strcmp(a->set, b->set);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* A name whose sets are not those of another. */
static void compare_sets(bang_csv *csv, const bang_curve_row *run, size_t count,
                         const bang_curve_row *other, size_t other_count)
{
    size_t i = 0;
    while (i < count && i < other_count && strcmp(run[i].set, other[i].set) == 0)
        i++;
    if (i < count && (i == other_count || strcmp(run[i].set, other[i].set) < 0))
        bang_csv_problem(csv, run[i].line,
                         "\"%.40s\" has set \"%.30s\", but \"%.40s\" has not: all need the same",
                         run[i].name, run[i].set, other->name);
    else if (i < other_count)
        bang_csv_problem(csv, run->line,
                         "\"%.40s\" has no set \"%.30s\", but \"%.40s\" has: all need the same",
                         run->name, other[i].set, other->name);
}

static void find_twins(bang_csv *csv, const bang_curve_row *run, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!run[i].set || !run[i - 1].set)
            bang_csv_problem(csv, run[i].line,
                             "\"%.40s\" is in line %zu, too: names differ, or a column set tells "
                             "the data sets apart",
                             run[i].name, run[i - 1].line);
        else if (strcmp(run[i].set, run[i - 1].set) == 0)
            bang_csv_problem(csv, run[i].line, "\"%.40s\" has set \"%.40s\" in line %zu, too",
                             run[i].name, run[i].set, run[i - 1].line);
    }
}

/* Numbers the names as they come, and holds their sets against each other. sorted, (count), and
 * start, (count + 1), are for its use. */
static void group(bang_curve_rows *out, bang_csv *csv, bang_curve_row *sorted, size_t *start)
{
    size_t n = out->count, names = 0;
    memcpy(sorted, out->rows, n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i].point = i; /* which row it is, here */
    qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(sorted[i].name, sorted[i - 1].name) != 0)
            start[names++] = i;
        out->rows[sorted[i].point].point = names - 1; /* in the order of sorted, so far */
    }
    start[names] = n;
    for (size_t p = 0; p < names; p++) {
        size_t count = start[p + 1] - start[p];
        find_twins(csv, sorted + start[p], count);
        if (p > 0 && sorted->set)
            compare_sets(csv, sorted + start[p], count, sorted, start[1]);
    }
    size_t *number = start; /* of a name, from 1 */
    memset(number, 0, names * sizeof *number);
    for (size_t i = 0; i < n; i++) {
        bang_curve_row *row = &out->rows[i];
        if (number[row->point] == 0)
            number[row->point] = ++out->points;
        row->point = number[row->point] - 1;
    }
}

int bang_curve_rows_parse(bang_curve_rows *out, char *text, size_t size, const char *path,
                          bang_error *err)
{
    bang_csv csv;
    *out = (bang_curve_rows){0};
    bang_csv_begin(&csv, text, size);
    int rc = take_rows(out, &csv, err);
    if (rc == 0 && out->count > 0) {
        bang_curve_row *sorted = calloc(out->count, sizeof *sorted);
        size_t *start = calloc(out->count + 1, sizeof *start);
        if (sorted && start)
            group(out, &csv, sorted, start);
        else
            rc = bang_fail_memory(err);
        free(sorted);
        free(start);
        scale(out);
    }
    if (rc == 0 && out->unused.failed)
        rc = bang_fail_memory(err);
    return rc < 0 ? rc : bang_csv_end(&csv, path, err);
}

void bang_curve_rows_release(bang_curve_rows *rows)
{
    free(rows->rows);
    bang_text_release(&rows->unused);
    *rows = (bang_curve_rows){0};
}
