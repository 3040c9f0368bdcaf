/* Room for text beside marks: names of points that cover neither the marks nor
 * each other, as far as there is room.
 *
 *     bang_labels labels = {.left = 60, .right = 800, .top = 20, .bottom = 320};
 *     bang_labels_reserve(&labels, 2);
 *     bang_labels_keep(&labels, x - 5, y - 5, x + 5, y + 5, 1);    // a mark
 *     bang_label label = bang_labels_place(&labels, "Mixup", x, y, 8);
 *     bang_labels_add(out, &label);
 *     bang_labels_release(&labels);
 */
#ifndef BANG_REPORT_LABELS_H
#define BANG_REPORT_LABELS_H

#include "report/draw.h"

typedef struct bang_labels_box {
    double left, top, right, bottom;
    double weight; /* how bad it is to cover it */
} bang_labels_box;

typedef struct bang_labels {
    double left, right, top, bottom; /* px; text stays inside */
    bang_labels_box *boxes;          /* (count) of (most) */
    size_t count, most;
} bang_labels;

typedef struct bang_label {
    bang_draw_block text;
    double x, y;           /* of the text: its anchor and baseline */
    int side;              /* of the mark: 1 right, so that it begins there, 0, -1 left */
    int led;               /* so far off that a line leads to it */
    double from_x, from_y; /* of that line */
    double to_x, to_y;
} bang_label;

/* Room for that many boxes and labels, which the caller releases; 0, or -1 when
 * memory is out. */
int bang_labels_reserve(bang_labels *labels, size_t most);
void bang_labels_release(bang_labels *labels);
/* Something that text should leave free. */
void bang_labels_keep(bang_labels *labels, double left, double top, double right, double bottom,
                      double weight);
/* The best place for text around (x, y), where a mark of that radius stands; it
 * is then kept free, too. */
bang_label bang_labels_place(bang_labels *labels, const char *text, double x, double y,
                             double radius);
void bang_labels_add(bang_text *out, const bang_label *label);

#endif
