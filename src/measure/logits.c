#include "bang/measure/logits.h"

#include <math.h>
#include <stdlib.h>

#include "measure/reader.h"

/* Rows are looked at in runs, since some files give a run as quickly as a row. */
enum { RUNS = 50, RUN_ROWS = 20 };

size_t bang_logits_classes(const bang_logits *logits)
{
    return logits->columns ? logits->columns->classes : logits->table->columns;
}

/* Whether a row as it is in the table lies in 0..1 and sums to 1. */
static int looks_normalised(const bang_reader *reader, size_t row)
{
    const bang_table *table = reader->logits->table;
    size_t at = (row - reader->first) * table->columns;
    double sum = 0;
    for (size_t k = 0; k < table->columns; k++) {
        double z = table->dtype == BANG_F32 ? (double)((const float *)reader->piece)[at + k]
                                            : ((const double *)reader->piece)[at + k];
        if (!(z >= 0 && z <= 1))
            return 0;
        sum += z;
    }
    return fabs(sum - 1) <= 1e-3;
}

static int check_rows(bang_reader *reader, double *row, const bang_label *labels, int sure,
                      bang_error *err)
{
    const bang_table *table = reader->logits->table;
    size_t rows = table->rows;
    size_t runs = rows / RUN_ROWS + (rows % RUN_ROWS > 0);
    runs = runs < RUNS ? runs : RUNS;
    size_t seen = 0;
    int normalised = !sure && table->columns >= 2;
    for (size_t i = 0; i < runs; i++) {
        size_t count = rows < RUN_ROWS ? rows : RUN_ROWS;
        /* Evenly spread, the last ends with the table; of few rows some come twice. */
        size_t free_rows = rows - count, gaps = runs > 1 ? runs - 1 : 1;
        size_t first = free_rows / gaps * i + free_rows % gaps * i / gaps;
        int rc = bang_reader_load(reader, first, count, err);
        for (size_t r = first; rc == 0 && r < first + count; r++) {
            if (labels && labels[r] < 0)
                continue;
            seen++;
            normalised = normalised && looks_normalised(reader, r);
            rc = bang_reader_row(row, reader, r, err);
        }
        if (rc < 0)
            return rc;
    }
    if (normalised && seen >= 2 && !reader->logits->probabilities)
        return bang_fail(
            err, BANG_EDATA,
            "%s: these are probabilities, not logits (rows lie in 0..1 and sum to "
            "1): give logits, or say --probabilities, or --logits if they are logits after all",
            table->name);
    return 0;
}

int bang_logits_check(const bang_logits *logits, const bang_label *labels, int sure,
                      bang_error *err)
{
    bang_reader reader;
    double *row = NULL;
    int rc = bang_reader_init(&reader, logits, RUN_ROWS, err);
    if (rc == 0 && !(row = malloc(reader.classes * sizeof *row)))
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = check_rows(&reader, row, labels, sure, err);
    free(row);
    bang_reader_release(&reader);
    return rc;
}
