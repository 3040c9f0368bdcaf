/* All that is wrong with a file, in one message. Private to this room. */
#ifndef BANG_MODEL_PROBLEMS_H
#define BANG_MODEL_PROBLEMS_H

#include "bang/base/text.h"

/* lines holds "what: why\n" for each problem; 0 when there is none. Else fails with
 * BANG_EDATA and "path: a; b; and 3 more", as many as fit; all (or NULL) gets a whole
 * line for each. Releases lines. */
int bang_problems_fail(bang_text *lines, const char *path, bang_text *all, bang_error *err);

#endif
