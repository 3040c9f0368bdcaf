#include "bang/explain/heat.h"

#include <string.h>

/* Each stop is darker than the one before, so that the order survives print
 * and every kind of colour vision. */
static const uint8_t stops[][3] = {
    {236, 235, 231}, {250, 221, 148}, {244, 165, 80}, {218, 87, 61}, {148, 28, 68}, {52, 8, 46},
};
enum { STOPS = sizeof stops / sizeof *stops, GROUND = 255 };

void bang_heat_color(uint8_t rgb[3], double value, double most)
{
    double at = value > 0 && most > 0 ? value / most * (STOPS - 1) : 0;
    at = at < STOPS - 1 ? at : STOPS - 1;
    int below = at < STOPS - 2 ? (int)at : STOPS - 2;
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)(stops[below][i] +
                           (stops[below + 1][i] - stops[below][i]) * (at - below) + 0.5);
}

static void fill_cell(uint8_t *pixels, size_t width, size_t top, size_t left, const uint8_t rgb[3])
{
    for (size_t y = 0; y < BANG_HEAT_CELL; y++)
        for (size_t x = 0; x < BANG_HEAT_CELL; x++)
            memcpy(pixels + 3 * ((top + y) * width + left + x), rgb, 3);
}

int bang_heat_draw(bang_array *out, const double *amount, size_t maps, size_t rows, size_t columns,
                   bang_error *err)
{
    enum { PITCH = BANG_HEAT_CELL + BANG_HEAT_GAP, MOST = 1 << 12 };
    *out = (bang_array){0};
    if (maps < 1 || rows < 1 || columns < 1 || rows > MOST || columns > MOST || maps > MOST)
        return bang_fail(err, BANG_EUSAGE,
                         "heat map: %zu maps of %zu x %zu cells: 1 to %d of each are possible",
                         maps, rows, columns, MOST);
    size_t span = columns * PITCH - BANG_HEAT_GAP + BANG_HEAT_MARGIN;
    size_t width = maps * span + BANG_HEAT_MARGIN;
    size_t height = rows * PITCH - BANG_HEAT_GAP + 2 * BANG_HEAT_MARGIN;
    int rc = bang_array_init(out, BANG_U8, 3, (size_t[]){height, width, 3}, err);
    if (rc < 0)
        return rc;
    memset(out->data, GROUND, out->count);
    double most = 0;
    for (size_t i = 0; i < maps * rows * columns; i++)
        most = amount[i] > most ? amount[i] : most;
    for (size_t m = 0; m < maps; m++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++) {
                uint8_t rgb[3];
                bang_heat_color(rgb, amount[(m * rows + r) * columns + c], most);
                fill_cell(out->data, width, BANG_HEAT_MARGIN + r * PITCH,
                          BANG_HEAT_MARGIN + m * span + c * PITCH, rgb);
            }
    return 0;
}
