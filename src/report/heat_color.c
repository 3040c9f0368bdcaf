#include "report/heat_color.h"

#include <math.h>

enum { STOPS = 9 };
typedef unsigned char palette[STOPS][3];

/* On white: ColorBrewer's RdBu without its darkest ends: orange-red below 0,
 * blue above, told apart by all common kinds of colour vision. On a dark ground
 * the same hues leave from a dark middle, so that what is near 0 recedes in
 * both; its ends are dark enough for white values everywhere. */
static const palette diverging[2] = {
    {{178, 24, 43},
     {214, 96, 77},
     {244, 165, 130},
     {251, 216, 196},
     {240, 240, 240},
     {205, 225, 238},
     {146, 197, 222},
     {67, 147, 195},
     {33, 102, 172}},
    {{205, 86, 68},
     {172, 70, 57},
     {130, 58, 50},
     {86, 50, 47},
     {46, 49, 55},
     {41, 65, 88},
     {41, 87, 125},
     {47, 109, 160},
     {60, 132, 194}},
};

/* One blue, from what the ground looks like to the strongest. */
static const palette sequential_blue[2] = {
    {{242, 246, 250},
     {222, 233, 244},
     {198, 218, 237},
     {166, 200, 227},
     {130, 179, 216},
     {94, 156, 203},
     {62, 131, 188},
     {36, 106, 170},
     {18, 82, 148}},
    {{39, 43, 49},
     {38, 52, 66},
     {38, 63, 86},
     {39, 74, 104},
     {41, 87, 123},
     {46, 102, 146},
     {52, 116, 168},
     {57, 124, 181},
     {62, 133, 194}},
};

static void color_at(unsigned rgb[3], double at, int sequential, int dark)
{
    const unsigned char(*stops)[3] = sequential ? sequential_blue[dark] : diverging[dark];
    double place = sequential ? at * (STOPS - 1) : (at + 1) / 2 * (STOPS - 1);
    place = fmax(0, fmin(STOPS - 1, place));
    int below = place >= STOPS - 1 ? STOPS - 2 : (int)place;
    for (int i = 0; i < 3; i++)
        rgb[i] = (unsigned)(stops[below][i] +
                            (stops[below + 1][i] - stops[below][i]) * (place - below) + 0.5);
}

static const char *ink_on(const unsigned rgb[3])
{
    return 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] < 122000 ? "#fff" : "#111";
}

void bang_heat_fill(bang_text *out, double at, int sequential)
{
    unsigned light[3], dark[3];
    color_at(light, at, sequential, 0);
    color_at(dark, at, sequential, 1);
    bang_text_add(out, " fill=\"#%02x%02x%02x\" style=\"--d:#%02x%02x%02x\"", light[0], light[1],
                  light[2], dark[0], dark[1], dark[2]);
}

void bang_heat_ink(bang_text *out, double at, int sequential)
{
    unsigned light[3], dark[3];
    color_at(light, at, sequential, 0);
    color_at(dark, at, sequential, 1);
    bang_text_add(out, " fill=\"%s\" style=\"--d:%s\"", ink_on(light), ink_on(dark));
}
