/* Inside the renderer of shifted digits: how strong each change is for a kind (the table), what
 * was drawn for one image (the plan), and the pixels. */
#ifndef BANG_SRC_DATA_SHIFT_H
#define BANG_SRC_DATA_SHIFT_H

#include "bang/base/random.h"
#include "bang/data/shift.h"

enum { SHIFT_PIXELS = BANG_SHIFT_SIDE * BANG_SHIFT_SIDE, SHIFT_COVER = 9 };

/* With this chance a number is drawn uniformly from low .. high; else there is no change. */
typedef struct bang_shift_change {
    double chance, low, high;
} bang_shift_change;

typedef enum bang_shift_texture {
    SHIFT_SMOOTH,  /* soft clouds */
    SHIFT_STRIPES, /* in any direction, 4 to 10 pixels wide */
    SHIFT_CHECKS,  /* squares of 4 pixels, each of its own grey */
    SHIFT_TEXTURES,
} bang_shift_texture;

/* One row of the table: all that a kind does to its digits. */
typedef struct bang_shift_recipe {
    bang_shift_change thick;   /* strokes grow by that many pixels a side */
    bang_shift_change thin;    /* strokes shrink by that many pixels a side */
    double affine;             /* chance of the next four, which come together */
    bang_shift_change rotate;  /* degrees */
    bang_shift_change scale;   /* logarithm of the size */
    bang_shift_change shear;   /* columns a row */
    bang_shift_change move;    /* pixels, across and down */
    bang_shift_change elastic; /* pixels: size of a smooth random displacement */
    bang_shift_change blur;    /* sigma in pixels, of the strokes alone */
    bang_shift_change front;   /* grey of the strokes, else 1 */
    bang_shift_change ground;  /* grey of what is behind them, else 0 */
    bang_shift_change texture; /* how much a texture adds to the ground */
    int textures;              /* how many of the kinds above are used */
    bang_shift_change cover;   /* grey of a 9x9 square over the middle part */
    bang_shift_change invert;  /* chance alone: 1 - image */
    bang_shift_change noise;   /* sigma of a normal number per pixel */
} bang_shift_recipe;
extern const bang_shift_recipe bang_shift_recipes[BANG_SHIFT_KINDS];

/* What was drawn for one image; 0 stands for no change unless said. */
typedef struct bang_shift_plan {
    double thick, thin, rotate, scale, shear, move_x, move_y, elastic, blur;
    double front, ground, texture;
    bang_shift_texture kind;
    int covered, cover_x, cover_y;
    double cover;
    int inverted;
    double noise;
} bang_shift_plan;
void bang_shift_draw_plan(bang_shift_plan *out, const bang_shift_recipe *recipe,
                          bang_random *random);

/* digit and out are (28, 28). random gives what the plan does not hold: the field of the
 * elastic change, the texture, the noise. */
void bang_shift_render(uint8_t *out, const uint8_t *digit, const bang_shift_plan *plan,
                       bang_random *random);

#endif
