/* Heat maps as pixels: grids of numbers side by side on one scale, from a light
 * grey (0) by way of yellow and red to nearly black (the largest of all).
 *
 *     bang_array picture;
 *     bang_heat_draw(&picture, amount, 3, 6, 6, &err);
 *     bang_png_write("map.png", picture.data, picture.shape[1], picture.shape[0], 3, &err);
 *     bang_array_release(&picture);
 */
#ifndef BANG_EXPLAIN_HEAT_H
#define BANG_EXPLAIN_HEAT_H

#include "bang/tensor/array.h"

/* Pixels: of a cell's side, between cells, around and between the maps. */
enum { BANG_HEAT_CELL = 24, BANG_HEAT_GAP = 2, BANG_HEAT_MARGIN = 16 };

/* The colour of value, from 0 to most; less is drawn as 0, and NaN too. */
void bang_heat_color(uint8_t rgb[3], double value, double most);

/* amount: (maps, rows, columns). out: (height, width, 3) u8, which the caller
 * releases. */
int bang_heat_draw(bang_array *out, const double *amount, size_t maps, size_t rows, size_t columns,
                   bang_error *err);

#endif
