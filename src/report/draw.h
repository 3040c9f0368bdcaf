/* What the charts and the report share: numbers as people write them, text
 * that is measured before it is placed, axes with round ticks.
 *
 *     bang_draw_locale locale;
 *     bang_draw_begin(&locale);                    // a decimal point is a point
 *     bang_axis axis;
 *     bang_axis_fit(&axis, lo, hi, 6, 0);
 *     for (double i = axis.first; i <= axis.last; i++)
 *         bang_axis_label(text, &axis, i * axis.step);
 *     bang_draw_end(&locale);
 */
#ifndef BANG_REPORT_DRAW_H
#define BANG_REPORT_DRAW_H

#include "bang/base/text.h"

#define BANG_DRAW_WIDTH 820.0 /* of a chart, in px; all text keeps its size at this scale */
#define BANG_DRAW_PAD 16.0
#define BANG_DRAW_BOLD 1.15 /* how much wider bold text runs */

/* The thread's locale with the decimal point of "C", whatever the program
 * set, so that equal data give equal bytes. */
typedef struct bang_draw_locale {
    void *c, *before; /* locale_t */
} bang_draw_locale;

/* 0, or -1 when memory is out (end may be called all the same). */
int bang_draw_begin(bang_draw_locale *locale);
void bang_draw_end(bang_draw_locale *locale);

/* Numbers: a real minus sign, no negative zero, 1.5x10^-7 for what is far
 * from 1. Any finite value fits. */
enum { BANG_NUMBER_SIZE = 64 };
void bang_number_fixed(char out[BANG_NUMBER_SIZE], double value, int decimals);
void bang_number_power(char out[BANG_NUMBER_SIZE], double value, int decimals);
/* That many significant digits, without zeros at the end; all before the point. Returns
 * whether that is the whole value, and no power of ten. */
int bang_number_digits(char out[BANG_NUMBER_SIZE], double value, int digits);
/* Three significant digits, for beside a mark of which the pointer finds more. */
void bang_number_brief(char out[BANG_NUMBER_SIZE], double value, int percent);
/* Up to six significant digits; value * 100 and a % when percent is set. */
void bang_number_short(char out[BANG_NUMBER_SIZE], double value, int percent);

/* Decimals after the point, at most `most`, that show value in full. */
int bang_number_decimals(double value, int most);

/* Finite, and far enough from the largest double to compute with. */
int bang_draw_usable(double value);

/* An axis: ticks at i * step for the whole numbers i = first .. last. */
typedef struct bang_axis {
    double lo, hi; /* what the axis covers; ticks lie within */
    double step;
    double first, last;
    int percent;  /* labels are value * 100 and a % */
    int decimals; /* of a label */
    int power;    /* labels as powers of ten */
} bang_axis;

/* About `want` intervals over lo .. hi; lo > hi means no data, equal ends are
 * moved apart. */
void bang_axis_fit(bang_axis *axis, double lo, double hi, int want, int percent);
/* The same with the ends moved out to ticks. */
void bang_axis_fit_round(bang_axis *axis, double lo, double hi, int want, int percent);
void bang_axis_label(char out[BANG_NUMBER_SIZE], const bang_axis *axis, double value);
double bang_axis_label_width(const bang_axis *axis, double size);

/* Adds s for XML: entities, and U+FFFD for what XML cannot hold (control
 * characters, broken UTF-8). NULL is empty. */
void bang_draw_escaped(bang_text *out, const char *s);
/* The same on one line, for texts that are told apart by line breaks. */
void bang_draw_escaped_line(bang_text *out, const char *s);

/* Upper estimate of the width of s in px at this font size: fonts differ from
 * machine to machine, so it leaves room for a wide one. */
double bang_draw_text_width(const char *s, double size);

/* Text broken into lines that fit; the last one ends in an ellipsis when there
 * is more, and the whole is then the hover title. */
enum { BANG_DRAW_LINES = 3 };
typedef struct bang_draw_block {
    const char *text;
    double size, width; /* font size; room for a line */
    int line_count;     /* after bang_draw_wrap */
    size_t start[BANG_DRAW_LINES], length[BANG_DRAW_LINES];
    int cut;
} bang_draw_block;

/* text may be NULL (no lines). */
void bang_draw_wrap(bang_draw_block *block, const char *text, double size, double width,
                    int most_lines);
/* The same for a name, which may break after "-", "_" and "/", too; and the width
 * of its widest part. */
void bang_draw_wrap_name(bang_draw_block *block, const char *name, double size, double width,
                         int most_lines);
double bang_draw_name_width(const char *name, double size);
double bang_draw_block_height(const bang_draw_block *block);
/* First baseline at (x, y); attributes such as text-anchor="middle". A
 * sideways block reads upwards, its lines stacked from left to right. */
void bang_draw_block_add(bang_text *out, const bang_draw_block *block, double x, double y,
                         int sideways, const char *attributes);
/* One line that is known to fit. */
void bang_draw_label(bang_text *out, double x, double y, const char *attributes, const char *s);

/* The title of a chart: its lines, the room down to what follows it (that of a
 * margin without a title), and the title in its place. */
void bang_draw_title(bang_draw_block *block, const char *title, double width);
double bang_draw_title_room(const bang_draw_block *block);
void bang_draw_title_add(bang_text *out, const bang_draw_block *block);
/* "no data", in the middle of an empty chart. */
void bang_draw_no_data(bang_text *out, double x, double y);

/* <svg ...> with a white ground; ends with "</svg>". The name is read to
 * people who cannot see the chart.
 *
 * Colours are attributes made for white, and what has one also has a class
 * (ground, soft, grid, zero, axis, mark, ink, c0 ... c7, cn): a page with a theme of
 * its own overrides them by CSS, a file without a page is complete as it is. */
void bang_draw_open(bang_text *out, double width, double height, const char *name);

/* Colours and marks: the index counts on round the palette. */
const char *bang_draw_dash(int index); /* "" for the first round */
/* Adds class="<kind> c3" color="#cc79a7", for a group whose parts are drawn in
 * currentColor; neutral is a grey outside of the palette. */
void bang_draw_color(bang_text *out, const char *kind, int index, int neutral);
/* Attributes of text on a ground of that colour, black or white. */
const char *bang_draw_ink(int index);
/* An open <path> in currentColor, for the caller to put a <title> in and close. Shapes
 * count from 0, the circle, and after the last one on as outlines. */
void bang_draw_mark(bang_text *out, double x, double y, double radius, int shape);
/* BANG_MARK_... of a name such as "triangle up"; -1: there is none. */
int bang_draw_shape(const char *name);

#endif
