/* Parts of charts out of JSON: every length is checked before the drawing sees
 * it. All return 0, or a negative code and why it cannot be shown. */
#ifndef BANG_REPORT_PAGE_READ_H
#define BANG_REPORT_PAGE_READ_H

#include "bang/base/arena.h"
#include "report/page.h"

/* The numbers of an array of known length; null is a gap. what names the array
 * in the message. */
int bang_read_numbers(double *out, const json_t *array, size_t count, const char *what,
                      bang_error *err);
/* The same into memory of the arena. */
int bang_read_array(const double **out, bang_arena *arena, const json_t *array, size_t count,
                    const char *what, bang_error *err);
/* A member that is a number; 0 when it is missing or null. */
int bang_read_limit(double *out, const json_t *entry, const char *name, bang_error *err);
/* An index into the palette; otherwise when it is missing. what names its owner. */
int bang_read_color(int *out, const json_t *entry, int otherwise, const char *what,
                    bang_error *err);
/* The texts of an array, borrowed; with gaps null is NULL. what names one of them. */
int bang_read_texts(const char *const **out, bang_arena *arena, const json_t *array, int gaps,
                    const char *what, bang_error *err);
/* What all series have: "name", "color" (the index-th of the palette when missing), and arrays of
 * count numbers into memory of the arena, NULL for one that is optional and missing. */
typedef struct bang_read_part {
    const char *name;
    const double **values;
    int optional;
} bang_read_part;
int bang_read_series(const char **name, int *color, const bang_read_part *parts, size_t part_count,
                     bang_arena *arena, const json_t *item, size_t index, size_t count,
                     bang_error *err);
/* BANG_MARK_... by its name; 0 when value is missing or null. */
int bang_read_shape(int *out, const json_t *value, const char *what, bang_error *err);

/* One kind of chart each: read as a whole, then drawn. title may be NULL. */
int bang_page_lines(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                    bang_error *err);
int bang_page_scatter(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                      bang_error *err);
int bang_page_bars(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                   bang_error *err);
int bang_page_columns(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                      bang_error *err);
int bang_page_heat(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                   bang_error *err);
int bang_page_reliability(bang_text *out, const json_t *entry, const char *title, bang_arena *arena,
                          bang_error *err);

#endif
