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

/* Appends the name of the file for the index-th (from 0) entry with numbers of the record under
 * that key: "simulation/1-1", 1 -> "simulation-1-1-2.csv", the first without a number. */
void bang_figure_file(bang_text *out, const char *key, size_t index);

#endif
