/* The palette, and the marks of points. */
#include <math.h>
#include <string.h>

#include "bang/report/chart.h"
#include "report/draw.h"

/* Okabe and Ito's colours without yellow, which is lost on white; then grey
 * and a brown dark enough to tell from orange. */
static const char *const palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#4d4d4d", "#8c5a2b"};
enum { PALETTE = sizeof palette / sizeof palette[0] };

void bang_draw_color(bang_text *out, const char *kind, int index, int neutral)
{
    unsigned at = (unsigned)index % PALETTE;
    if (neutral)
        bang_text_add(out, " class=\"%s cn\" color=\"#666\"", kind);
    else
        bang_text_add(out, " class=\"%s c%u\" color=\"%s\"", kind, at, palette[at]);
}

const char *bang_draw_ink(int index)
{
    static const char dark[PALETTE] = {0, 0, 0, 1, 1, 1, 0, 0}; /* on these colours */
    return dark[(unsigned)index % PALETTE] ? "class=\"ink\" fill=\"#111\""
                                           : "class=\"ink white\" fill=\"#fff\"";
}

const char *bang_draw_dash(int index)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"7 4\"",
                                         " stroke-dasharray=\"2 4\""};
    return dashes[(unsigned)index / PALETTE % 3];
}

enum { SHAPES = BANG_MARK_END - BANG_MARK_CIRCLE, CORNERS = 12 };

/* In units of a circle's radius. Polygons reach further out than the circle so
 * that all look equally large. */
static const struct {
    const char *name;
    int count; /* 0: the circle */
    double corners[CORNERS][2];
} shapes[SHAPES] = {
    {"circle", 0, {{0, 0}}},
    {"square", 4, {{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}},
    {"diamond", 4, {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}},
    {"triangle up", 3, {{0, -1.25}, {1.2, .85}, {-1.2, .85}}},
    {"triangle down", 3, {{0, 1.25}, {1.2, -.85}, {-1.2, -.85}}},
    {"plus",
     12,
     {{-.42, -1.3},
      {.42, -1.3},
      {.42, -.42},
      {1.3, -.42},
      {1.3, .42},
      {.42, .42},
      {.42, 1.3},
      {-.42, 1.3},
      {-.42, .42},
      {-1.3, .42},
      {-1.3, -.42},
      {-.42, -.42}}},
    {"cross",
     12,
     {{-1.2, -.6},
      {-.6, -1.2},
      {0, -.6},
      {.6, -1.2},
      {1.2, -.6},
      {.6, 0},
      {1.2, .6},
      {.6, 1.2},
      {0, .6},
      {-.6, 1.2},
      {-1.2, .6},
      {-.6, 0}}},
    {"star",
     10,
     {{0, -1.5},
      {.37, -.51},
      {1.43, -.46},
      {.6, .19},
      {.88, 1.21},
      {0, .63},
      {-.88, 1.21},
      {-.6, .19},
      {-1.43, -.46},
      {-.37, -.51}}},
};

int bang_draw_shape(const char *name)
{
    for (int i = 0; i < SHAPES; i++)
        if (strcmp(shapes[i].name, name) == 0)
            return BANG_MARK_CIRCLE + i;
    return -1;
}

void bang_draw_mark(bang_text *out, double x, double y, double radius, int shape)
{
    unsigned kind = (unsigned)shape % SHAPES;
    int hollow = (unsigned)shape / SHAPES % 2 == 1;
    bang_text_add(out, "<path d=\"");
    if (shapes[kind].count == 0)
        bang_text_add(out, "M%.2f %.2fa%.2f %.2f 0 1 0 %.2f 0a%.2f %.2f 0 1 0 %.2f 0", x - radius,
                      y, radius, radius, 2 * radius, radius, radius, -2 * radius);
    for (int i = 0; i < shapes[kind].count; i++)
        bang_text_add(out, "%c%.2f %.2f", i ? 'L' : 'M', x + radius * shapes[kind].corners[i][0],
                      y + radius * shapes[kind].corners[i][1]);
    bang_text_add(out, "z\" %s>",
                  hollow ? "class=\"mark hollow\" fill=\"#fff\" stroke=\"currentColor\" "
                           "stroke-width=\"1.6\""
                         : "class=\"mark\" fill=\"currentColor\" stroke=\"#fff\"");
}
