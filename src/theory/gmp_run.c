#include "theory/gmp_run.h"

#include <gmp.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* In front of every block, in a ring. */
typedef union block {
    struct {
        union block *before, *after;
    } ring;
    max_align_t align;
} block;

static _Thread_local struct {
    int active;
    block all; /* the ring's fixed member */
    jmp_buf out;
} run;

/* Other users of GMP in this process, and other threads of ours, keep what they have. */
static void *(*other_allocate)(size_t);
static void *(*other_reallocate)(void *, size_t, size_t);
static void (*other_free)(void *, size_t);

static void link_in(block *b)
{
    b->ring.before = &run.all;
    b->ring.after = run.all.ring.after;
    b->ring.after->ring.before = b;
    run.all.ring.after = b;
}

static void take_out(block *b)
{
    b->ring.before->ring.after = b->ring.after;
    b->ring.after->ring.before = b->ring.before;
}

static void *allocate(size_t size)
{
    if (!run.active)
        return other_allocate(size);
    block *b = size <= PTRDIFF_MAX ? malloc(sizeof *b + size) : NULL;
    if (!b)
        longjmp(run.out, 1);
    link_in(b);
    return b + 1;
}

static void *reallocate(void *old, size_t old_size, size_t size)
{
    if (!run.active)
        return other_reallocate(old, old_size, size);
    block *b = (block *)old - 1;
    take_out(b);
    block *grown = size <= PTRDIFF_MAX ? realloc(b, sizeof *b + size) : NULL;
    link_in(grown ? grown : b);
    if (!grown)
        longjmp(run.out, 1);
    return grown + 1;
}

static void release(void *old, size_t size)
{
    if (!run.active) {
        other_free(old, size);
        return;
    }
    block *b = (block *)old - 1;
    take_out(b);
    free(b);
}

/* Once in the life of a process, and done before any thread goes on. */
static void install(void)
{
    static atomic_int state; /* 1 while it is done, then 2 */
    int none = 0;
    if (!atomic_compare_exchange_strong(&state, &none, 1)) {
        while (atomic_load(&state) != 2)
            continue;
        return;
    }
    mp_get_memory_functions(&other_allocate, &other_reallocate, &other_free);
    mp_set_memory_functions(allocate, reallocate, release);
    atomic_store(&state, 2);
}

void *theory_gmp_alloc(size_t count, size_t size)
{
    if (size && count > PTRDIFF_MAX / size)
        longjmp(run.out, 1);
    void *memory = allocate(count * size);
    return memset(memory, 0, count * size);
}

int theory_gmp_run(int (*work)(void *context, bang_error *err), void *context, bang_error *err)
{
    install();
    run.all.ring.before = run.all.ring.after = &run.all;
    run.active = 1;
    int rc;
    if (setjmp(run.out) == 0)
        rc = work(context, err);
    else
        rc = bang_fail_memory(err);
    run.active = 0;
    for (block *b = run.all.ring.after, *next; b != &run.all; b = next) {
        next = b->ring.after;
        free(b);
    }
    return rc;
}
