#include "bang/explain/overlay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain/letters.h"

enum {
    GAP = 12,    /* between tiles, and around all */
    LEAST = 168, /* pixels that a small picture is enlarged to, about */
    MOST = 256,  /* that a large one is reduced to, at most */
    LINE = LETTERS_HEIGHT + 4,
    BAR = 14, /* height of the scale at the foot */
    LARGEST = 1 << 15,
    INK = 34,
    PALE = 110, /* greys */
};

/* Rising lightness, so that the order survives print and every kind of colour vision. */
static const uint8_t stops[][3] = {{18, 14, 64},   {66, 22, 118},  {132, 38, 116}, {196, 64, 84},
                                   {238, 112, 44}, {252, 182, 52}, {252, 250, 172}};
enum { STOPS = sizeof stops / sizeof *stops };

void bang_overlay_color(uint8_t rgb[3], double share)
{
    double at = share > 0 ? share * (STOPS - 1) : 0;
    at = at < STOPS - 1 ? at : STOPS - 1;
    int below = at < STOPS - 2 ? (int)at : STOPS - 2;
    for (int i = 0; i < 3; i++)
        rgb[i] = (uint8_t)(stops[below][i] +
                           (stops[below + 1][i] - stops[below][i]) * (at - below) + 0.5);
}

/* The two cells around a place of one axis, and how far it is on the way. */
static double between(size_t *first, size_t *second, double place, size_t side)
{
    double at = place * (double)side - .5;
    at = at > 0 ? at : 0;
    at = at < (double)(side - 1) ? at : (double)(side - 1);
    *first = (size_t)at;
    *second = *first + 1 < side ? *first + 1 : *first;
    return at - (double)*first;
}

double bang_overlay_value(const double *map, size_t side, double x, double y)
{
    size_t left, right, above, below;
    double u = between(&left, &right, x, side), v = between(&above, &below, y, side);
    return (1 - v) * ((1 - u) * map[above * side + left] + u * map[above * side + right]) +
           v * ((1 - u) * map[below * side + left] + u * map[below * side + right]);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Where the scale of a map ends. */
static int find_most(double *most, const bang_overlay_tile *tile, size_t size, bang_error *err)
{
    size_t count = tile->side * tile->side;
    *most = 0;
    for (size_t i = 0; i < count; i++)
        *most = tile->map[i] > *most ? tile->map[i] : *most;
    if (tile->side < size)
        return 0;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return bang_fail_memory(err);
    memcpy(sorted, tile->map, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    if (sorted[(count - 1) * 99 / 100] > 0)
        *most = sorted[(count - 1) * 99 / 100];
    free(sorted);
    return 0;
}

/* How the sheet is laid out, in pixels. */
typedef struct plan {
    const bang_overlay_sheet *sheet;
    letters_canvas canvas;
    size_t enlarge, reduce; /* one of them is 1 */
    size_t edge;            /* of a tile */
    size_t heading, pitch;  /* heights: above the first row, of a row with its captions and gap */
    int scale;              /* 1: some tile has a map, the scale is drawn */
} plan;

/* The mean of what a pixel of the tile shows. */
static void picture_color(double rgb[3], const plan *p, const uint8_t *picture, size_t x, size_t y)
{
    size_t channels = p->sheet->channels, size = p->sheet->size, n = p->reduce;
    for (size_t k = 0; k < 3; k++) {
        double sum = 0;
        for (size_t i = 0; i < n * n; i++) {
            size_t row = y / p->enlarge * n + i / n, column = x / p->enlarge * n + i % n;
            sum += picture[(row * size + column) * channels + (channels == 3 ? k : 0)];
        }
        rgb[k] = sum / (double)(n * n);
    }
}

/* What is dark in the map stays visible: a dimmed picture in grey. */
static void lay_over(double rgb[3], double share)
{
    uint8_t heat[3];
    double grey = .3 * rgb[0] + .59 * rgb[1] + .11 * rgb[2], weight = .3 + .4 * share;
    bang_overlay_color(heat, share);
    for (int k = 0; k < 3; k++)
        rgb[k] = (1 - weight) * grey * (.65 + .25 * share) + weight * heat[k];
}

/* A map that is zero says nothing: no colour of the scale. */
static void fade(double rgb[3])
{
    double grey = .3 * rgb[0] + .59 * rgb[1] + .11 * rgb[2];
    for (int k = 0; k < 3; k++)
        rgb[k] = .45 * grey + .55 * 255;
}

static int draw_tile(const plan *p, const bang_overlay_tile *tile, size_t left, size_t top,
                     bang_error *err)
{
    double most = 0;
    int rc = tile->map ? find_most(&most, tile, p->sheet->size, err) : 0;
    if (rc < 0)
        return rc;
    for (size_t y = 0; y < p->edge; y++)
        for (size_t x = 0; x < p->edge; x++) {
            double rgb[3], u = ((double)x + .5) / (double)p->edge,
                           v = ((double)y + .5) / (double)p->edge;
            picture_color(rgb, p, tile->picture, x, y);
            if (tile->map) {
                double value = bang_overlay_value(tile->map, tile->side, u, v);
                if (most > 0)
                    lay_over(rgb, value > 0 ? fmin(value / most, 1) : 0);
                else
                    fade(rgb);
            }
            for (int k = 0; k < 3; k++)
                p->canvas.pixels[3 * ((top + y) * p->canvas.width + left + x) + (size_t)k] =
                    (uint8_t)(rgb[k] + .5);
        }
    return 0;
}

/* The first line in ink, those that follow paler. */
static void draw_caption(const plan *p, const char *caption, size_t left, size_t top)
{
    for (size_t i = 0; *caption; i++) {
        char line[160] = {0};
        size_t length = strcspn(caption, "\n"), kept = sizeof line - 1;
        memcpy(line, caption, length < kept ? length : kept);
        bang_letters_draw(&p->canvas, line, left, top + i * LINE, p->edge, i ? PALE : INK);
        caption += length + (caption[length] == '\n');
    }
}

/* none [dark .. light] most */
static void draw_scale(const plan *p)
{
    static const char none[] = "none", most[] = "most";
    size_t left = GAP + bang_letters_width(none) + GAP / 2,
           right = GAP + p->edge - bang_letters_width(most) - GAP / 2,
           top = p->canvas.height - GAP - BAR;
    for (size_t x = left; x < right; x++)
        for (size_t y = 0; y < BAR; y++)
            bang_overlay_color(p->canvas.pixels + 3 * ((top + y) * p->canvas.width + x),
                               ((double)(x - left) + .5) / (double)(right - left));
    bang_letters_draw(&p->canvas, none, GAP, top, p->edge, PALE);
    bang_letters_draw(&p->canvas, most, right + GAP / 2, top, p->edge, PALE);
    size_t beside = GAP + p->edge + GAP;
    if (beside + GAP < p->canvas.width)
        bang_letters_draw(&p->canvas, "each map's own scale", beside, top,
                          p->canvas.width - beside - GAP, PALE);
}

/* As many as the longest caption of the sheet has. */
static size_t caption_lines(const bang_overlay_sheet *sheet)
{
    size_t lines = 0;
    for (size_t i = 0; i < sheet->rows * sheet->columns; i++) {
        const char *caption = sheet->tiles[i].caption;
        size_t here = caption != NULL;
        for (; caption && *caption; caption++)
            here += *caption == '\n';
        lines = here > lines ? here : lines;
    }
    return lines;
}

static int has_empty_map(const bang_overlay_sheet *sheet)
{
    for (size_t i = 0; i < sheet->rows * sheet->columns; i++)
        if (sheet->tiles[i].map && sheet->tiles[i].side == 0)
            return 1;
    return 0;
}

static int make_plan(plan *p, const bang_overlay_sheet *sheet, bang_error *err)
{
    *p = (plan){.sheet = sheet, .enlarge = 1, .reduce = 1};
    if (sheet->rows < 1 || sheet->columns < 1 || sheet->size < 1 || sheet->size > LARGEST ||
        (sheet->channels != 1 && sheet->channels != 3) || has_empty_map(sheet))
        return bang_fail(
            err, BANG_EUSAGE,
            "sheet: %zu rows, %zu columns of pictures of %zu pixels and %zu channels, or a map "
            "without cells",
            sheet->rows, sheet->columns, sheet->size, sheet->channels);
    if (sheet->size > MOST)
        p->reduce = (sheet->size + MOST - 1) / MOST;
    else if (sheet->size <= LEAST / 2)
        p->enlarge = LEAST / sheet->size;
    p->edge = sheet->size / p->reduce * p->enlarge;
    p->heading = sheet->headings ? LINE + GAP / 2 : 0;
    p->pitch = p->edge + GAP + caption_lines(sheet) * LINE + (caption_lines(sheet) ? GAP / 2 : 0);
    for (size_t i = 0; i < sheet->rows * sheet->columns; i++)
        p->scale |= sheet->tiles[i].map != NULL;
    p->canvas.width = GAP + sheet->columns * (p->edge + GAP);
    p->canvas.height =
        GAP + p->heading + sheet->rows * p->pitch + (p->scale ? (size_t)(BAR + GAP) : 0);
    if (p->canvas.width > LARGEST || p->canvas.height > LARGEST)
        return bang_fail(err, BANG_EUSAGE,
                         "sheet: %zu x %zu pictures make %zu x %zu pixels, up to %d are possible: "
                         "show fewer",
                         sheet->rows, sheet->columns, p->canvas.width, p->canvas.height, LARGEST);
    return 0;
}

int bang_overlay_size(size_t *height, size_t *width, const bang_overlay_sheet *sheet,
                      bang_error *err)
{
    plan p;
    int rc = make_plan(&p, sheet, err);
    *height = rc < 0 ? 0 : p.canvas.height;
    *width = rc < 0 ? 0 : p.canvas.width;
    return rc;
}

int bang_overlay_draw(bang_array *out, const bang_overlay_sheet *sheet, bang_error *err)
{
    plan p;
    *out = (bang_array){0};
    int rc = make_plan(&p, sheet, err);
    if (rc == 0)
        rc = bang_array_init(out, BANG_U8, 3, (size_t[]){p.canvas.height, p.canvas.width, 3}, err);
    if (rc < 0)
        return rc;
    memset(out->data, 255, out->count);
    p.canvas.pixels = out->data;
    for (size_t c = 0; sheet->headings && c < sheet->columns; c++)
        bang_letters_draw(&p.canvas, sheet->headings[c], GAP + c * (p.edge + GAP), GAP, p.edge,
                          INK);
    for (size_t i = 0; rc == 0 && i < sheet->rows * sheet->columns; i++) {
        size_t left = GAP + i % sheet->columns * (p.edge + GAP);
        size_t top = GAP + p.heading + i / sheet->columns * p.pitch;
        rc = draw_tile(&p, &sheet->tiles[i], left, top, err);
        if (rc == 0 && sheet->tiles[i].caption)
            draw_caption(&p, sheet->tiles[i].caption, left, top + p.edge + GAP / 2);
    }
    if (rc == 0 && p.scale)
        draw_scale(&p);
    if (rc < 0)
        bang_array_release(out);
    return rc;
}
