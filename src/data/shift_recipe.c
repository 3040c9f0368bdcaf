#include "data/shift.h"

/* Always and never. */
#define ALL(low, high)                                                                             \
    {                                                                                              \
        1, low, high                                                                               \
    }
#define NO                                                                                         \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }

/* The strengths, all of them. They were chosen on seeds 101 and 102 so that a small ViT that was
 * trained on the mixture gets about 60 % of id and 55 % of the others right: far from both ends,
 * where fine-tuning and averaging can make a difference either way. Experiments begin at seed 1. */
const bang_shift_recipe bang_shift_recipes[BANG_SHIFT_KINDS] = {
    [BANG_SHIFT_BROAD] =
        {
            .thick = {.3, .5, 1.5},
            .thin = {.15, .3, .8},
            .affine = .7,
            .rotate = ALL(-60, 60),
            .scale = ALL(-.45, .2),
            .shear = ALL(-.4, .4),
            .move = ALL(-2.8, 2.8),
            .elastic = {.5, 1, 3},
            .blur = {.35, .5, 2},
            .front = {.6, .5, 1},
            .ground = NO,
            .texture = {.5, .1, .5},
            .textures = SHIFT_TEXTURES,
            .cover = {.2, .2, .8},
            .invert = {.5, 0, 0},
            .noise = {.5, 0, .4},
        },
    [BANG_SHIFT_ID] =
        {
            .affine = 1,
            .rotate = ALL(-10, 10),
            .scale = ALL(-.1, .1),
            .shear = ALL(-.1, .1),
            .move = ALL(-1.5, 1.5),
            .front = ALL(.35, .9),
            .texture = ALL(.15, .65),
            .textures = 1,
            .noise = ALL(.1, .1),
        },
    [BANG_SHIFT_V2] =
        {
            .affine = 1,
            .rotate = ALL(-10, 10),
            .scale = ALL(-.1, .1),
            .shear = ALL(-.1, .1),
            .move = ALL(-1.5, 1.5),
            .front = ALL(.35, .9),
            .texture = ALL(.15, .65),
            .textures = 1,
            .noise = ALL(.15, .25),
        },
    [BANG_SHIFT_R] =
        {
            .thick = {.6, .8, 2},
            .affine = 1,
            .rotate = ALL(-10, 10),
            .scale = ALL(-.1, .1),
            .shear = ALL(-.1, .1),
            .move = ALL(-1.5, 1.5),
            .blur = {.6, .8, 2},
            .front = ALL(.45, 1),
            .texture = ALL(.2, .7),
            .textures = SHIFT_TEXTURES,
            .noise = ALL(0, .1),
            .invert = {.5, 0, 0},
        },
    [BANG_SHIFT_A] =
        {
            .affine = 1,
            .rotate = ALL(-10, 10),
            .scale = ALL(-.1, .1),
            .shear = ALL(-.1, .1),
            .move = ALL(-1.5, 1.5),
            .front = ALL(.5, 1),
            .texture = {.7, .1, .5},
            .textures = SHIFT_TEXTURES,
            .cover = ALL(.2, .8),
            .noise = ALL(.1, .35),
        },
    [BANG_SHIFT_S] =
        {
            .thin = ALL(.5, 1),
            .affine = 1,
            .rotate = ALL(-10, 10),
            .scale = ALL(-.1, .1),
            .shear = ALL(-.1, .1),
            .move = ALL(-1.5, 1.5),
            .elastic = ALL(1, 2.5),
            .front = ALL(0, .5),
            .ground = ALL(.85, 1),
            .noise = ALL(0, .1),
        },
    [BANG_SHIFT_O] =
        {
            .affine = 1,
            .rotate = ALL(-50, 50),
            .scale = ALL(-.35, .15),
            .shear = ALL(-.3, .3),
            .move = ALL(-2.5, 2.5),
            .front = ALL(.35, .9),
            .texture = ALL(.15, .65),
            .textures = 1,
            .noise = ALL(.1, .1),
        },
};

/* Spends two numbers of the stream whether there is a change or not: what follows in the
 * stream stays where it is when a strength is set otherwise. */
static int draw(double *out, const bang_shift_change *change, double none, bang_random *random)
{
    int changed = bang_random_uniform(random) < change->chance;
    double value = change->low + (change->high - change->low) * bang_random_uniform(random);
    *out = changed ? value : none;
    return changed;
}

void bang_shift_draw_plan(bang_shift_plan *out, const bang_shift_recipe *recipe,
                          bang_random *random)
{
    enum { EDGE = 3, PLACES = BANG_SHIFT_SIDE - SHIFT_COVER - 2 * EDGE + 1 };
    double unused;
    draw(&out->thick, &recipe->thick, 0, random);
    draw(&out->thin, &recipe->thin, 0, random);
    draw(&out->rotate, &recipe->rotate, 0, random);
    draw(&out->scale, &recipe->scale, 0, random);
    draw(&out->shear, &recipe->shear, 0, random);
    draw(&out->move_x, &recipe->move, 0, random);
    draw(&out->move_y, &recipe->move, 0, random);
    if (bang_random_uniform(random) >= recipe->affine)
        out->rotate = out->scale = out->shear = out->move_x = out->move_y = 0;
    draw(&out->elastic, &recipe->elastic, 0, random);
    draw(&out->blur, &recipe->blur, 0, random);
    draw(&out->front, &recipe->front, 1, random);
    draw(&out->ground, &recipe->ground, 0, random);
    draw(&out->texture, &recipe->texture, 0, random);
    int kinds = recipe->textures > 0 ? recipe->textures : 1;
    out->kind = (bang_shift_texture)(bang_random_uniform(random) * kinds);
    out->covered = draw(&out->cover, &recipe->cover, 0, random);
    out->cover_x = EDGE + (int)(bang_random_uniform(random) * PLACES);
    out->cover_y = EDGE + (int)(bang_random_uniform(random) * PLACES);
    out->inverted = draw(&unused, &recipe->invert, 0, random);
    draw(&out->noise, &recipe->noise, 0, random);
}
