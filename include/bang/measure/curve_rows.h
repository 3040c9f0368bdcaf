/* The points of a curve as a CSV with a header. Columns in any order; others are not looked at:
 *
 *     name,fine,avg                        accuracies: fractions, or per cent if one is above 1
 *     name,set,fine,avg                    the same on several data sets
 *     name,fine,avg,labels[,set][,classes] files: logits of both models, labels, a subset of the
 *                                          classes
 *
 * A point is a name; with sets it has one row for every set, the same ones for all names, and is
 * their mean.
 */
#ifndef BANG_MEASURE_CURVE_ROWS_H
#define BANG_MEASURE_CURVE_ROWS_H

#include "bang/base/text.h"

typedef struct bang_curve_row {
    size_t line;  /* of the file */
    size_t point; /* of the name: names are numbered as they come */
    const char *name, *fine, *avg;
    const char *set, *labels, *classes; /* NULL: no such column; classes: or empty */
    double fine_accuracy, avg_accuracy; /* fractions; NaN for files */
} bang_curve_row;

typedef struct bang_curve_rows {
    size_t count;
    bang_curve_row *rows; /* (count) */
    size_t points;
    int files;         /* there are labels: fine and avg are paths */
    int per_cent;      /* accuracies were */
    size_t small_line; /* per cent, but here is one above 0 and up to 1; or 0 */
    bang_text unused;  /* columns that were not looked at, "lr, epochs"; or empty */
} bang_curve_rows;

/* text, which a 0 follows, is changed, and must stay as long as the rows; path is for messages.
 * The caller releases out in any case. */
int bang_curve_rows_parse(bang_curve_rows *out, char *text, size_t size, const char *path,
                          bang_error *err);
void bang_curve_rows_release(bang_curve_rows *rows);

#endif
