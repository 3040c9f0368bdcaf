/* What a command works on for long is held, so that two do not mix. */
#ifndef BANG_CLI_HOLD_H
#define BANG_CLI_HOLD_H

#include "bang/base/lock.h"

/* Takes the lock .NAME.bang-lock beside path; it fails, and says so, where another run has it. A
 * signal no longer ends the process at once: the caller gives the lock back. */
int cli_hold(bang_lock **out, const char *path, bang_error *err);

#endif
