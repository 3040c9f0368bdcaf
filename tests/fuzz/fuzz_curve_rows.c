/* The CSV of a curve: rows that are whole, or an error of one line. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bang/measure/curve_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const bang_curve_rows *rows)
{
    size_t seen = 0;
    if (rows->count == 0 || rows->points == 0 || rows->points > rows->count ||
        rows->count % rows->points != 0)
        abort();
    for (size_t i = 0; i < rows->count; i++) {
        const bang_curve_row *row = &rows->rows[i];
        if (!row->name[0] || !row->fine[0] || !row->avg[0] || row->point > seen ||
            (row->labels != NULL) != rows->files || (!row->set && row->point != i))
            abort();
        seen += row->point == seen;
        if (!rows->files && (!(row->fine_accuracy >= 0 && row->fine_accuracy <= 1) ||
                             !(row->avg_accuracy >= 0 && row->avg_accuracy <= 1)))
            abort();
    }
    if (seen != rows->points)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bang_curve_rows rows;
    bang_error err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (bang_curve_rows_parse(&rows, text, size, "fuzz.csv", &err) == 0)
        check(&rows);
    else if (err.code >= 0 || !err.message[0] || strchr(err.message, '\n'))
        abort();
    bang_curve_rows_release(&rows);
    free(text);
    return 0;
}
