/* GMP ends the process when memory is out, unless what allocates for it never returns. So work
 * with GMP is run here: its memory is remembered, and when there is none left all of it is given
 * back and the work is left by a long jump. Private to this room. */
#ifndef BANG_THEORY_GMP_RUN_H
#define BANG_THEORY_GMP_RUN_H

#include <stddef.h>

#include "bang/base/error.h"

/* work(context), and what it returns; BANG_EMEMORY if it was left. Numbers of GMP live as long
 * as the work at most. What else the work holds must be reachable from context, for the caller
 * to free: the work itself may never come to that. Not to be nested. */
int theory_gmp_run(int (*work)(void *context, bang_error *err), void *context, bang_error *err);

/* Within work: zeroed memory, count * size bytes, which goes when the work ends. */
void *theory_gmp_alloc(size_t count, size_t size);

#endif
