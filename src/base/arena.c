#include "bang/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ALIGNMENT = 64, SMALLEST_BLOCK = 64 * 1024 };

void bang_memory_large(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    enum { LARGE_PAGE = 2 * 1024 * 1024, PAGE = 4096 };
    uintptr_t from = ((uintptr_t)memory + PAGE - 1) / PAGE * PAGE;
    uintptr_t to = ((uintptr_t)memory + size) / PAGE * PAGE;
    if (size >= LARGE_PAGE && to > from) /* a wish; nothing depends on it */
        (void)madvise((char *)memory + (from - (uintptr_t)memory), to - from, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

void bang_memory_return(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Blocks after `current` are empty; the content starts one alignment unit
 * behind the block's address. */
struct bang_arena_block {
    struct bang_arena_block *next;
    size_t capacity, used;
};

_Static_assert(sizeof(struct bang_arena_block) <= ALIGNMENT, "the header fits before the content");

/* capacity is a multiple of ALIGNMENT. */
static struct bang_arena_block *new_block(size_t capacity)
{
    if (capacity > SIZE_MAX - ALIGNMENT)
        return NULL;
    struct bang_arena_block *block = aligned_alloc(ALIGNMENT, ALIGNMENT + capacity);
    if (block)
        bang_memory_large(block, ALIGNMENT + capacity);
    if (block)
        *block = (struct bang_arena_block){.capacity = capacity};
    return block;
}

/* Makes a block that holds need bytes the current one. */
static struct bang_arena_block *advance(bang_arena *arena, size_t need)
{
    struct bang_arena_block *last = arena->current;
    for (struct bang_arena_block *b = last ? last->next : NULL; b; b = b->next) {
        if (b->capacity >= need)
            return arena->current = b;
        last = b;
    }
    /* Doubling keeps the number of blocks small; what is asked for is enough
     * when memory is short. */
    size_t wish = last && last->capacity <= SIZE_MAX / 4 ? 2 * last->capacity : SMALLEST_BLOCK;
    struct bang_arena_block *block = new_block(wish > need ? wish : need);
    if (!block && wish > need)
        block = new_block(need);
    if (!block)
        return NULL;
    if (last)
        last->next = block;
    else
        arena->first = block;
    return arena->current = block;
}

void *bang_arena_alloc(bang_arena *arena, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - ALIGNMENT) / size)
        return NULL;
    size_t need = count > 0 && size > 0 ? count * size : 1;
    need = (need + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct bang_arena_block *block = arena->current;
    if (!block || block->capacity - block->used < need)
        block = advance(arena, need);
    if (!block)
        return NULL;
    char *memory = (char *)block + ALIGNMENT + block->used;
    block->used += need;
    return memset(memory, 0, need);
}

void bang_arena_reset(bang_arena *arena)
{
    for (struct bang_arena_block *b = arena->first; b; b = b->next)
        b->used = 0;
    arena->current = arena->first;
}

void bang_arena_release(bang_arena *arena)
{
    for (struct bang_arena_block *b = arena->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *arena = (bang_arena){0};
}
