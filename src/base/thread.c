#include "bang/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(sizeof(bang_cancel) == sizeof(int), "C++ programs see an int");
_Static_assert(_Alignof(bang_cancel) == _Alignof(int), "where C has an atomic one");

int bang_cancel_raise(bang_cancel *cancel)
{
    return atomic_exchange(&cancel->raised, 1);
}

int bang_cancelled(bang_cancel *cancel)
{
    return cancel && atomic_load_explicit(&cancel->raised, memory_order_relaxed) != 0;
}

int bang_threads_available(void)
{
    /* The kernel refuses a mask that is too short for the machine. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int known = sched_getaffinity(0, size, set) == 0;
        int count = known ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (known)
            return count > 0 ? count : 1;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

struct loop {
    bang_task task;
    void *context;
    bang_cancel *cancel;
    size_t count;
    atomic_size_t next;
    atomic_size_t failed; /* lowest index that failed so far; SIZE_MAX: none */
    atomic_int cut;       /* cancel kept an index from being run */
};

struct worker {
    struct loop *loop;
    int number;
    pthread_t thread;
    size_t failed; /* index whose error this is; SIZE_MAX: none */
    int code;      /* what its task returned */
    bang_error err;
};

/* Indices are taken in ascending order and one below the lowest failure is
 * always run, so which failure is reported does not depend on timing. */
static void *run(void *argument)
{
    struct worker *self = argument;
    struct loop *loop = self->loop;
    for (;;) {
        size_t index = atomic_fetch_add(&loop->next, 1);
        if (index >= loop->count || index > atomic_load(&loop->failed))
            return NULL;
        if (bang_cancelled(loop->cancel)) {
            atomic_store(&loop->cut, 1);
            return NULL;
        }
        int code = loop->task(loop->context, index, self->number, &self->err);
        if (code >= 0)
            continue;
        self->failed = index;
        self->code = code;
        size_t lowest = atomic_load(&loop->failed);
        while (index < lowest && !atomic_compare_exchange_weak(&loop->failed, &lowest, index)) {
        }
        return NULL; /* whatever this worker took next would be a higher index */
    }
}

static int outcome(const struct loop *loop, const struct worker *workers, int count,
                   bang_error *err)
{
    const struct worker *first = NULL;
    for (int i = 0; i < count; i++)
        if (workers[i].failed != SIZE_MAX && (!first || workers[i].failed < first->failed))
            first = &workers[i];
    if (first && !first->err.message[0])
        return bang_fail(err, first->code, "item %zu: failed without saying why", first->failed);
    if (first)
        return bang_fail(err, first->code, "%s", first->err.message);
    if (atomic_load(&loop->cut))
        return bang_fail(err, BANG_ECANCELLED, "stopped on request");
    return 0;
}

int bang_parallel_for(size_t count, int threads, bang_task task, void *context, bang_cancel *cancel,
                      bang_error *err)
{
    if (threads <= 0)
        threads = bang_threads_available();
    if ((size_t)threads > count)
        threads = count > 0 ? (int)count : 1;
    struct loop loop = {.task = task, .context = context, .cancel = cancel, .count = count};
    atomic_init(&loop.next, 0);
    atomic_init(&loop.failed, SIZE_MAX);
    atomic_init(&loop.cut, 0);

    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!workers)
        return bang_fail_memory(err);
    /* The caller is worker 0. Where the system refuses a thread, the others do
     * its share. */
    int started = 1;
    for (int i = 0; i < threads; i++)
        workers[i] = (struct worker){.loop = &loop, .number = i, .failed = SIZE_MAX};
    while (started < threads &&
           pthread_create(&workers[started].thread, NULL, run, &workers[started]) == 0)
        started++;
    run(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);

    int code = outcome(&loop, workers, started, err);
    free(workers);
    return code;
}
