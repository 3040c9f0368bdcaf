/* A block of memory that is filled from one end and emptied at once. First
 * touch of fresh memory is many times slower than reuse, so a loop keeps one
 * arena and resets it.
 *
 *     bang_arena arena = {0};
 *     double *row = bang_arena_alloc(&arena, count, sizeof *row);
 *     if (!row) ...                      // out of memory or overflow
 *     bang_arena_reset(&arena);          // keep the memory, forget the content
 *     bang_arena_release(&arena);        // give the memory back
 */
#ifndef BANG_BASE_ARENA_H
#define BANG_BASE_ARENA_H

#include <stddef.h>

typedef struct bang_arena {
    struct bang_arena_block *first, *current;
} bang_arena;

/* count * size zeroed bytes aligned to 64, owned by the arena; NULL when the
 * product overflows or memory is out. A count of 0 gives a valid pointer. */
void *bang_arena_alloc(bang_arena *arena, size_t count, size_t size);

/* Forgets all content and keeps the memory. */
void bang_arena_reset(bang_arena *arena);

/* Returns all memory; the arena is again as if zero-initialised. */
void bang_arena_release(bang_arena *arena);

/* Asks the system for large pages under memory that is not touched yet, where
 * that is worth it: strides and random rows through many megabytes otherwise
 * spend their time looking up addresses. */
void bang_memory_large(void *memory, size_t size);
/* Gives back to the system what was freed, where the C library can: before looking
 * at how much memory this process has. */
void bang_memory_return(void);

#endif
