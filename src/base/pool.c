#include "bang/base/pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct member {
    bang_pool *pool;
    int number; /* 1 .. */
    pthread_t thread;
};

struct bang_pool {
    int parts, started; /* the caller is counted */
    struct member *members;
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    /* under the lock: */
    bang_part work;
    void *context;
    uint64_t round; /* of the latest run */
    int busy;       /* members that have not ended it */
    int closing;
};

/* Parts go to members by number alone, so that each finds its memory where it
 * left it. */
static void do_parts(const bang_pool *pool, int member, bang_part work, void *context)
{
    for (int part = member; part < pool->parts; part += pool->started)
        work(context, part);
}

static void *serve(void *argument)
{
    struct member *self = argument;
    bang_pool *pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->closing)
            pthread_cond_wait(&pool->begin, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->round;
        bang_part work = pool->work;
        void *context = pool->context;
        pthread_mutex_unlock(&pool->lock);
        do_parts(pool, self->number, work, context);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->end);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int bang_pool_open(bang_pool **out, int parts, bang_error *err)
{
    *out = NULL;
    if (parts < 1)
        return bang_fail(err, BANG_EUSAGE, "threads: %d: take 1 or more", parts);
    bang_pool *pool = calloc(1, sizeof *pool);
    struct member *members = calloc((size_t)parts, sizeof *members);
    if (!pool || !members) {
        free(pool);
        free(members);
        return bang_fail_memory(err);
    }
    *pool = (bang_pool){.parts = parts, .started = 1, .members = members};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    while (pool->started < parts) {
        struct member *next = &members[pool->started];
        *next = (struct member){.pool = pool, .number = pool->started};
        if (pthread_create(&next->thread, NULL, serve, next) != 0)
            break;
        pool->started++;
    }
    *out = pool;
    return 0;
}

void bang_pool_run(bang_pool *pool, bang_part work, void *context)
{
    if (pool->started > 1) {
        pthread_mutex_lock(&pool->lock);
        pool->work = work;
        pool->context = context;
        pool->busy = pool->started - 1;
        pool->round++;
        pthread_cond_broadcast(&pool->begin);
        pthread_mutex_unlock(&pool->lock);
    }
    do_parts(pool, 0, work, context);
    if (pool->started > 1) {
        pthread_mutex_lock(&pool->lock);
        while (pool->busy > 0)
            pthread_cond_wait(&pool->end, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
    }
}

void bang_pool_close(bang_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->started; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->end);
    pthread_cond_destroy(&pool->begin);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
}
