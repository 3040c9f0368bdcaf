/* Batches of pixels, prepared by threads of its own while the caller computes.
 *
 *     bang_feed *feed;
 *     bang_feed_open(&feed, &images, &options, &err);
 *     bang_feed_ask(feed, index, count, draw, &err);     // ask ahead: two or three batches
 *     bang_feed_ask(feed, next, count, draw + 1, &err);
 *     bang_feed_take(&batch, feed, &err);                // waits for the oldest
 *     bang_feed_close(feed);
 *
 * Sample i of a request draws its changes from the stream (seed, draw, index[i]):
 * what comes does not depend on the number of threads. Threads that have nothing
 * to do sleep. Pictures that cannot be read are left out of the batch and noted, or
 * make take fail, naming the file.
 */
#ifndef BANG_DATA_FEED_H
#define BANG_DATA_FEED_H

#include "bang/base/thread.h"
#include "bang/data/images.h"
#include "bang/data/transform.h"

typedef struct bang_feed_options {
    bang_transform transform;
    uint64_t seed;
    int threads;         /* 0: as many as cores */
    int skip_bad;        /* 1: leave broken pictures out; 0: fail */
    size_t cache_bytes;  /* prepared pictures kept in memory when nothing random comes before
                          * (random_crop does); 0: none */
    bang_cancel *cancel; /* may be NULL */
} bang_feed_options;

/* Valid until the next take. */
typedef struct bang_batch {
    size_t count;          /* may be less than asked for, and 0, when some were bad */
    bang_dtype dtype;      /* BANG_U8, or BANG_F32 for data that are such */
    const void *pixels;    /* (count, size, size, channels) */
    const int64_t *labels; /* (count) */
    const uint32_t *index; /* (count) which samples of the set */
} bang_batch;

typedef struct bang_feed bang_feed;

/* images must outlive the feed. Floats in memory must have the right size already and are
 * not changed by a transform; asking for that is an error. */
int bang_feed_open(bang_feed **out, const bang_images *images, const bang_feed_options *options,
                   bang_error *err);
int bang_feed_ask(bang_feed *feed, const uint32_t *index, size_t count, uint64_t draw,
                  bang_error *err);
int bang_feed_take(bang_batch *out, bang_feed *feed, bang_error *err);
/* The most bytes of prepared pictures that it will keep: cache_bytes or less. */
size_t bang_feed_cache(const bang_feed *feed);
/* How many different pictures were bad, the message of the n-th, which names the file, and which
 * of the set it is. */
size_t bang_feed_bad_count(const bang_feed *feed);
const char *bang_feed_bad(const bang_feed *feed, size_t n);
uint32_t bang_feed_bad_picture(const bang_feed *feed, size_t n);
/* NULL is allowed; requests that were not taken are dropped. */
void bang_feed_close(bang_feed *feed);

/* Row n of a batch as (channels, size, size) floats: (value/255 - mean)/std, values of F32
 * data not divided; with partner, lambda times row n and 1 - lambda times row partner
 * (Mixup), mixed after normalising. */
void bang_batch_pixels(float *out, const bang_batch *batch, const bang_transform *transform,
                       size_t n, size_t partner, float lambda, const float mean[3],
                       const float std[3]);

#endif
