/* Parallel loops. Workers live for one call, take one index after the other
 * and sleep in the kernel when they wait; nothing spins.
 *
 *     static int work(void *context, size_t index, int worker, bang_error *err);
 *     int rc = bang_parallel_for(count, threads, work, &context, cancel, &err);
 */
#ifndef BANG_BASE_THREAD_H
#define BANG_BASE_THREAD_H

#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stddef.h>

#include "bang/base/error.h"

/* Raised by whoever wants long work to stop. C++ has no atomic_int; it sees the
 * int that lies there and leaves it to the functions below. */
typedef struct bang_cancel {
#ifdef __cplusplus
    int raised;
#else
    atomic_int raised;
#endif
} bang_cancel;

/* Returns whether it was raised before. A signal handler may call it. */
int bang_cancel_raise(bang_cancel *cancel);

/* 1 if cancel (which may be NULL) was raised. */
int bang_cancelled(bang_cancel *cancel);

/* Cores this process may run on, at least 1. */
int bang_threads_available(void);

/* Returns 0, or a negative code with err filled. worker is 0 .. threads-1 and
 * is never used by two calls at a time: it picks a scratch buffer. */
typedef int (*bang_task)(void *context, size_t index, int worker, bang_error *err);

/* Calls task for every index 0 .. count-1, in any order, on at most threads
 * threads (0: all available). Stops early when a task fails or cancel is
 * raised; of several failures the one with the lowest index is reported, and
 * BANG_ECANCELLED when the work was cut short by cancel. */
int bang_parallel_for(size_t count, int threads, bang_task task, void *context, bang_cancel *cancel,
                      bang_error *err);

#endif
