/* One chart or table out of a record's "show" (report.h says what it holds) as
 * a file of its own.
 *
 *     bang_text svg = {0};
 *     bang_figure_svg(&svg, chart, &err);
 */
#ifndef BANG_REPORT_FIGURE_H
#define BANG_REPORT_FIGURE_H

#include "bang/base/json.h"
#include "bang/base/text.h"

/* Appends an SVG document; every kind that is a chart. */
int bang_figure_svg(bang_text *out, const json_t *entry, bang_error *err);

/* 1 when the entry is a chart or a table, of which there can be a CSV. */
int bang_figure_has_numbers(const json_t *entry);

/* Appends the numbers behind an entry as CSV, all digits kept:
 *     lines: series,x,y,error     heat: panel,x,y,value     bars: name,value
 *     columns: name,series,value,low,high     scatter: name,series,x,y
 *     reliability: panel,low,high,count,confidence,accuracy
 *     table: its columns
 * Lines have further columns, band and label, when a series has them; a column
 * of a table that stands under a group is called "group: column". */
int bang_figure_csv(bang_text *out, const json_t *entry, bang_error *err);

/* The names of the files for the entries of a record's "show", null for those without numbers;
 * NULL: out of memory. A name is the key, "theory/f-curve" -> "theory-f-curve.csv", and where the
 * record has several entries with numbers the words of the title, "lab/curve" ->
 * "lab-curve_accuracy-on-the-curve.csv", numbered from the second on where they are the same.
 * The caller releases the array. */
json_t *bang_figure_files(const json_t *record);

#endif
