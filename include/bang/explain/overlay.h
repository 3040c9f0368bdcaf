/* Pictures with maps laid over them, in rows and columns with captions.
 *
 *     bang_overlay_tile tiles[] = {{.picture = pixels}, {.picture = pixels, .map = map, .side =
 * 14}}; bang_overlay_sheet sheet = {.rows = 1, .columns = 2, .size = 224, .channels = 3, .tiles =
 * tiles}; bang_overlay_draw(&picture, &sheet, &err); bang_png_write("maps.png", picture.data,
 * picture.shape[1], picture.shape[0], 3, &err); bang_array_release(&picture);
 *
 * A map is drawn on the picture in grey, smooth between its cells, from dark blue (0) by way of
 * violet and orange to a light yellow, each lighter than the one before; the scale is the map's
 * own: up to its largest value, or, where it is as fine as the picture, up to what 99 of 100
 * values lie below; that each has its own stands beside the scale. A map that is zero has no
 * colour: the picture in pale grey. Small pictures are enlarged, large ones reduced by whole
 * factors.
 */
#ifndef BANG_EXPLAIN_OVERLAY_H
#define BANG_EXPLAIN_OVERLAY_H

#include "bang/tensor/array.h"

typedef struct bang_overlay_tile {
    const uint8_t *picture; /* (size, size, channels) */
    const double *map;      /* (side, side), or NULL: the picture as it is */
    size_t side;
    const char *caption; /* under it, or NULL; with line breaks, as many lines */
} bang_overlay_tile;

typedef struct bang_overlay_sheet {
    size_t rows, columns;
    size_t size, channels;          /* of a picture; 1 or 3 channels */
    const bang_overlay_tile *tiles; /* (rows, columns) */
    const char *const *headings;    /* (columns) over them, or NULL */
} bang_overlay_sheet;

/* out: (height, width, 3) u8, which the caller releases. */
int bang_overlay_draw(bang_array *out, const bang_overlay_sheet *sheet, bang_error *err);
/* How large that will be, in pixels; fails where drawing would. Of headings, captions and maps it
 * matters only whether they are there, and of how many lines. */
int bang_overlay_size(size_t *height, size_t *width, const bang_overlay_sheet *sheet,
                      bang_error *err);
/* The colour of a share of the scale, 0 to 1; NaN is drawn as 0. */
void bang_overlay_color(uint8_t rgb[3], double share);
/* A map (side, side) at a place of the picture, x and y from 0 to 1, linear between the middles
 * of cells and level beyond them. */
double bang_overlay_value(const double *map, size_t side, double x, double y);

#endif
