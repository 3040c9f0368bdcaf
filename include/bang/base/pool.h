/* Threads that stay between parallel parts, for work that has many short ones.
 *
 *     static void work(void *context, int part);
 *     bang_pool *pool;
 *     bang_pool_open(&pool, parts, &err);
 *     bang_pool_run(pool, work, &context);      // work(&context, 0 .. parts-1), each once
 *     bang_pool_close(pool);
 *
 * Who waits sleeps in the kernel; nothing spins. Starting threads anew for every
 * part (bang_parallel_for) costs some ten microseconds each time.
 */
#ifndef BANG_BASE_POOL_H
#define BANG_BASE_POOL_H

#include "bang/base/error.h"

typedef struct bang_pool bang_pool;

typedef void (*bang_part)(void *context, int part);

/* parts is 1 or more. Where the system refuses a thread, the others do its parts one after
 * the other. The caller closes it. */
int bang_pool_open(bang_pool **out, int parts, bang_error *err);
/* Returns when all parts are done; the caller does some of them. One call at a time. */
void bang_pool_run(bang_pool *pool, bang_part work, void *context);
/* NULL is allowed. */
void bang_pool_close(bang_pool *pool);

#endif
