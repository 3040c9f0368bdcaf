#include "measure/reader.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 256 * 1024 };

/* Files of half precision round a sum this far. */
#define SUM_WITHIN 1e-2

size_t bang_reader_rows(const bang_logits *logits)
{
    size_t size = bang_dtype_size(logits->table->dtype), columns = logits->table->columns;
    if (size == 0 || columns == 0 || columns > PIECE_BYTES / size)
        return 1;
    return PIECE_BYTES / size / columns;
}

static int check_columns(const bang_logits *logits, bang_error *err)
{
    const bang_class_outputs *columns = logits->columns;
    const bang_table *table = logits->table;
    if (columns->classes == 0)
        return bang_fail(err, BANG_EUSAGE, "%s: a choice of no classes", table->name);
    for (size_t c = 0; c < columns->classes; c++) {
        if (columns->first[c] >= columns->first[c + 1])
            return bang_fail(err, BANG_EUSAGE, "%s: class %zu has no output", table->name, c);
        for (size_t i = columns->first[c]; i < columns->first[c + 1]; i++)
            if (columns->output[i] >= table->columns)
                return bang_fail(err, BANG_EUSAGE,
                                 "%s: class %zu is output %u, and there are %zu: count from 0",
                                 table->name, c, (unsigned)columns->output[i], table->columns);
    }
    return 0;
}

int bang_reader_init(bang_reader *reader, const bang_logits *logits, size_t capacity,
                     bang_error *err)
{
    const bang_table *table = logits->table;
    size_t size = bang_dtype_size(table->dtype);
    *reader = (bang_reader){.logits = logits,
                            .kernels = bang_measure_best(),
                            .classes = bang_logits_classes(logits),
                            .capacity = capacity > 0 ? capacity : 1};
    if (table->dtype != BANG_F32 && table->dtype != BANG_F64)
        return bang_fail(err, BANG_EUSAGE, "%s: numbers of type %s: give F32 or F64", table->name,
                         bang_dtype_name(table->dtype));
    if (table->columns == 0)
        return bang_fail(err, BANG_EDATA, "%s: rows without a column", table->name);
    int rc = logits->columns ? check_columns(logits, err) : 0;
    if (rc < 0)
        return rc;
    if (table->columns > SIZE_MAX / sizeof(double) / BANG_SIDE ||
        reader->capacity > SIZE_MAX / size / table->columns)
        return bang_fail_memory(err);
    reader->piece = malloc(reader->capacity * table->columns * size);
    reader->wide = malloc((logits->columns ? table->columns : 1) * BANG_SIDE * sizeof(double));
    return reader->piece && reader->wide ? 0 : bang_fail_memory(err);
}

void bang_reader_release(bang_reader *reader)
{
    free(reader->piece);
    free(reader->wide);
    *reader = (bang_reader){0};
}

int bang_reader_load(bang_reader *reader, size_t first, size_t count, bang_error *err)
{
    const bang_table *table = reader->logits->table;
    reader->count = 0;
    if (count > reader->capacity || first > table->rows || count > table->rows - first)
        return bang_fail(err, BANG_EUSAGE, "%s: rows %zu to %zu are not there", table->name, first,
                         first + count);
    int rc = table->read(table->context, reader->piece, first, count, err);
    if (rc < 0)
        return rc;
    reader->first = first;
    reader->count = count;
    return 0;
}

/* Says which of the outputs that are asked about is not finite. */
static int fail_finite(const bang_reader *reader, const double *wide, size_t row, bang_error *err)
{
    const bang_class_outputs *columns = reader->logits->columns;
    size_t used = columns ? columns->first[columns->classes] : reader->classes;
    for (size_t i = 0; i < used; i++) {
        size_t column = columns ? columns->output[i] : i;
        if (!isfinite(wide[column]))
            return bang_fail(err, BANG_EDATA,
                             "%s: row %zu, column %zu is %s: it must be a finite number",
                             reader->logits->table->name, row, column,
                             isnan(wide[column]) ? "nan"
                             : wide[column] > 0  ? "inf"
                                                 : "-inf");
    }
    return bang_fail(err, BANG_EDATA, "%s: row %zu is not finite", reader->logits->table->name,
                     row);
}

static int check_probabilities(const bang_reader *reader, const double *wide, size_t row,
                               bang_error *err)
{
    const bang_table *table = reader->logits->table;
    double sum = 0;
    for (size_t k = 0; k < table->columns; k++) {
        if (!isfinite(wide[k]) || wide[k] < 0)
            return bang_fail(err, BANG_EDATA,
                             "%s: row %zu, column %zu is %g: no probability: leave out "
                             "--probabilities if these are logits",
                             table->name, row, k, wide[k]);
        sum += wide[k];
    }
    if (!(fabs(sum - 1) <= SUM_WITHIN))
        return bang_fail(err, BANG_EDATA,
                         "%s: row %zu sums to %g, not to 1: these are no probabilities: leave out "
                         "--probabilities if they are logits, or divide by the sum",
                         table->name, row, sum);
    return 0;
}

/* The largest output of every class; 1 if all of them are finite. */
static int pick(double *out, const double *wide, const bang_class_outputs *columns)
{
    int fine = 1;
    for (size_t c = 0; c < columns->classes; c++) {
        double most = -INFINITY;
        for (size_t i = columns->first[c]; i < columns->first[c + 1]; i++) {
            double z = wide[columns->output[i]];
            fine &= fabs(z) <= DBL_MAX;
            most = z > most ? z : most;
        }
        out[c] = most;
    }
    return fine;
}

int bang_reader_row(double *out, const bang_reader *reader, size_t row, bang_error *err)
{
    const bang_logits *logits = reader->logits;
    const bang_table *table = logits->table;
    double *wide = logits->columns ? reader->wide : out;
    size_t columns = table->columns, at = (row - reader->first) * columns;
    int fine = 1;
    for (size_t k = 0; k < columns; k++) {
        wide[k] = table->dtype == BANG_F32 ? (double)((const float *)reader->piece)[at + k]
                                           : ((const double *)reader->piece)[at + k];
        fine &= isfinite(wide[k]) != 0;
    }
    if (logits->probabilities) {
        int rc = check_probabilities(reader, wide, row, err);
        if (rc < 0)
            return rc;
    }
    if (logits->columns)
        fine = pick(out, wide, logits->columns);
    if (!fine)
        return fail_finite(reader, wide, row, err);
    if (logits->probabilities)
        reader->kernels->logarithms(out, out, reader->classes);
    return 0;
}

/* As check_probabilities, of four rows. */
static int are_probabilities(const double *wide, size_t columns)
{
    double sum[BANG_SIDE] = {0}, least[BANG_SIDE] = {0};
    for (size_t k = 0; k < columns; k++)
        for (size_t j = 0; j < BANG_SIDE; j++) {
            double p = wide[BANG_SIDE * k + j];
            sum[j] += p;
            least[j] = p < least[j] ? p : least[j];
        }
    int fine = 1;
    for (size_t j = 0; j < BANG_SIDE; j++)
        fine &= fabs(sum[j] - 1) <= SUM_WITHIN && least[j] >= 0;
    return fine;
}

static int pick_side(double *out, const double *wide, const bang_class_outputs *columns)
{
    double none[BANG_SIDE] = {0};
    for (size_t c = 0; c < columns->classes; c++) {
        double most[BANG_SIDE] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (size_t i = columns->first[c]; i < columns->first[c + 1]; i++) {
            const double *z = wide + BANG_SIDE * (size_t)columns->output[i];
            for (size_t j = 0; j < BANG_SIDE; j++) {
                none[j] += 0 * z[j]; /* 0 as long as all are finite */
                most[j] = z[j] > most[j] ? z[j] : most[j];
            }
        }
        memcpy(out + BANG_SIDE * c, most, sizeof most);
    }
    return none[0] == 0 && none[1] == 0 && none[2] == 0 && none[3] == 0;
}

/* Of four rows; divided by their sums where they are a part of all. Nothing at all is divided
 * equally, as the softmax of its logarithms is. */
static void keep(double *to, const double *p, size_t classes, int part)
{
    double sum[BANG_SIDE] = {0};
    for (size_t i = 0; i < BANG_SIDE * classes; i++)
        sum[i % BANG_SIDE] += p[i];
    for (size_t i = 0; i < BANG_SIDE * classes; i++) {
        double all = sum[i % BANG_SIDE];
        to[i] = !part ? p[i] : all > 0 ? p[i] / all : 1 / (double)classes;
    }
}

int bang_reader_side(double *out, const bang_reader *reader, const size_t rows[BANG_SIDE])
{
    const bang_logits *logits = reader->logits;
    const bang_table *table = logits->table;
    const bang_measure_kernels *kernels = reader->kernels;
    double *wide = logits->columns ? reader->wide : out;
    size_t columns = table->columns;
    int fine;
    if (table->dtype == BANG_F32) {
        const float *from[BANG_SIDE];
        for (size_t j = 0; j < BANG_SIDE; j++)
            from[j] = (const float *)reader->piece + (rows[j] - reader->first) * columns;
        fine = kernels->turn_f32(wide, from, columns);
    } else {
        const double *from[BANG_SIDE];
        for (size_t j = 0; j < BANG_SIDE; j++)
            from[j] = (const double *)reader->piece + (rows[j] - reader->first) * columns;
        fine = kernels->turn_f64(wide, from, columns);
    }
    if (logits->probabilities && !are_probabilities(wide, columns))
        return 0;
    if (logits->columns)
        fine = pick_side(out, wide, logits->columns);
    if (fine && logits->probabilities) {
        if (reader->probabilities)
            keep(reader->probabilities, out, reader->classes, logits->columns != NULL);
        kernels->logarithms(out, out, BANG_SIDE * reader->classes);
    }
    return fine;
}
