/* The colours of heat maps, each for a white ground and for a dark one.
 *
 *     bang_text_add(out, "<rect");
 *     bang_heat_fill(out, 0.3, 0);       // fill="#cde1ee" style="--d:#273e54"
 *     bang_text_add(out, "/>");
 *
 * A page in the dark sets fill to var(--d); a file without a page stays white.
 */
#ifndef BANG_REPORT_HEAT_COLOR_H
#define BANG_REPORT_HEAT_COLOR_H

#include "bang/base/text.h"

/* Diverging: at is -1 .. 1 and 0 the neutral middle; sequential: 0 .. 1. What
 * is beyond counts as the end. */
void bang_heat_fill(bang_text *out, double at, int sequential);
/* The same for text on such a cell: black or white, whichever stands out more. */
void bang_heat_ink(bang_text *out, double at, int sequential);

#endif
