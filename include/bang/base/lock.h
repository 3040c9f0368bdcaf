/* One process at a time: a lock is a file that is held, never one that is merely there. The
 * system lets go of it when its holder ends, however that happens, so what a killed run has
 * left blocks nobody; who takes it next removes the file when done.
 *
 *     bang_lock *lock;
 *     int rc = bang_lock_take(&lock, path, &err);
 *     if (rc > 0)
 *         return bang_fail(&err, BANG_EIO, "%s: another run is writing here: ...", folder);
 *     ...
 *     bang_lock_give(lock);
 */
#ifndef BANG_BASE_LOCK_H
#define BANG_BASE_LOCK_H

#include "bang/base/error.h"
#include "bang/base/thread.h"

typedef struct bang_lock bang_lock;

/* path is the file of the lock, in a folder that is there. 0; 1 if another process (or another
 * lock of this one) holds it; or a negative code. The caller gives it back. */
int bang_lock_take(bang_lock **out, const char *path, bang_error *err);
/* The same, once nobody else holds it. cancel may be NULL. */
int bang_lock_wait(bang_lock **out, const char *path, bang_cancel *cancel, bang_error *err);
/* Removes the file, then lets go; NULL is allowed. */
void bang_lock_give(bang_lock *lock);

/* 1 if somebody holds it now. */
int bang_lock_is_held(const char *path);

#endif
