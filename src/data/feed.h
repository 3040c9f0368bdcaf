/* The feed's inside. Workers take samples of the oldest request that has some left,
 * under one lock; pixels are written without it, each sample to its own place. */
#ifndef BANG_SRC_DATA_FEED_H
#define BANG_SRC_DATA_FEED_H

#include <pthread.h>

#include "bang/data/feed.h"
#include "data/transform.h"

enum { BANG_FEED_AHEAD = 16 }; /* requests that may be outstanding */

typedef struct bang_request {
    size_t count, capacity;
    uint64_t draw;
    uint32_t *index; /* (count) */
    int64_t *labels; /* (count) */
    uint8_t *pixels; /* (count, sample bytes) */
    char **bad;      /* (count) why a sample cannot be had, or NULL */
    int *code;       /* (count) of that */
    size_t begun, done;
} bang_request;

struct bang_feed {
    const bang_images *images;
    bang_feed_options options;
    bang_dtype dtype;
    size_t sample; /* bytes of a prepared picture */
    int plain;     /* memory holds samples as they are asked for */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t work, ready;
    int closing;
    bang_request *queue[BANG_FEED_AHEAD + 1]; /* (queued) the oldest first */
    size_t queued;
    uint8_t **cache; /* (images->count) or NULL: prepared pictures */
    size_t cached;   /* bytes */

    bang_request *taken; /* what the caller looks at, NULL at first */
    bang_request *spare; /* kept for its memory */
    uint8_t *known_bad;  /* (images->count) 1: noted below */
    size_t bad_count, bad_capacity;
    char **bad; /* (bad_count) why, and which */
    uint32_t *bad_index;

    int threads;
    pthread_t *workers;
};

/* What a worker does until the feed, which is context, is closed. */
void *bang_feed_work(void *context);

#endif
