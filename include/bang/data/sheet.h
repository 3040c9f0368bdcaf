/* A contact sheet: what data sets look like, as one picture. Each set is a
 * block, each class of it a row of samples on a light ground; small images are
 * enlarged, large ones reduced by whole factors.
 *
 *     bang_array sheet;
 *     bang_sheet_make(&sheet, &set, NULL, 1, &err);
 *     bang_png_write("sheet.png", sheet.data, sheet.shape[1], sheet.shape[0], 3, &err);
 *     bang_array_release(&sheet);
 */
#ifndef BANG_DATA_SHEET_H
#define BANG_DATA_SHEET_H

#include "bang/data/dataset.h"

enum { BANG_SHEET_CLASSES = 10, BANG_SHEET_SAMPLES = 8 };

/* Which samples are shown: the first 8 of each class, of the 10 smallest labels
 * at most, class by class. Returns how many were put into index. */
size_t bang_sheet_pick(size_t index[BANG_SHEET_CLASSES * BANG_SHEET_SAMPLES], const int64_t *labels,
                       size_t count);

/* The sheet as (height, width, 3) u8. Images must be (n, h, w) or (n, h, w, 1 or
 * 3); floats are shown from 0 (black) to 1 (white), or from their smallest to
 * their largest value where they go beyond. names (count), which may be NULL, say
 * in messages which set is meant. The caller releases the sheet. */
int bang_sheet_make(bang_array *out, const bang_dataset *sets, const char *const *names,
                    size_t count, bang_error *err);

/* What a sheet shows of a source of any kind (bang/data/images.h): a set in memory as it
 * is; of files those that are picked, each cut to a square from its centre. count and
 * classes are of the whole source. The caller releases out. */
int bang_sheet_open(bang_dataset *out, size_t *count, size_t *classes, const char *source,
                    bang_error *err);

#endif
