#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bang/store/image.h"
#include "data/feed.h"

/* A picture's own pixels, from memory or its file, which *loaded then holds. */
static int open_view(bang_view *out, bang_array *loaded, const bang_feed *feed, uint32_t index,
                     bang_error *err)
{
    const bang_images *images = feed->images;
    if (images->paths) {
        int rc = bang_image_read(loaded, images->paths[index], err);
        if (rc == 0)
            *out = bang_view_of(loaded);
        return rc;
    }
    const bang_array *all = &images->memory.inputs;
    size_t channels = all->rank > 3 ? all->shape[3] : 1;
    *out = (bang_view){(const uint8_t *)all->data + index * images->memory.width, all->shape[1],
                       all->shape[2], channels, all->shape[2] * channels};
    return 0;
}

/* The picture at its final size, from scratch. */
static int prepare(uint8_t *out, const bang_feed *feed, uint32_t index, bang_random *random,
                   bang_error *err)
{
    bang_array loaded = {0};
    bang_view view;
    bang_error why = {0};
    int rc = open_view(&view, &loaded, feed, index, err);
    if (rc == 0) {
        rc = bang_transform_prepare(out, &view, &feed->options.transform, random, &why);
        if (rc < 0 && feed->images->paths)
            rc = bang_fail(err, rc, "%.600s: %s", feed->images->paths[index], why.message);
        else if (rc < 0)
            rc = bang_fail(err, rc, "image %u: %s", index, why.message);
    }
    bang_array_release(&loaded);
    return rc;
}

/* What is in the cache stays as it is, so that it can be read without the lock. */
static const uint8_t *find_cached(bang_feed *feed, uint32_t index)
{
    if (!feed->cache)
        return NULL;
    pthread_mutex_lock(&feed->lock);
    const uint8_t *found = feed->cache[index];
    pthread_mutex_unlock(&feed->lock);
    return found;
}

/* Keeps a copy as long as there is room; without memory it is left out. */
static void keep_cached(bang_feed *feed, uint32_t index, const uint8_t *pixels)
{
    if (!feed->cache)
        return;
    pthread_mutex_lock(&feed->lock);
    int room = !feed->cache[index] && feed->options.cache_bytes - feed->cached >= feed->sample;
    feed->cached += room ? feed->sample : 0;
    pthread_mutex_unlock(&feed->lock);
    if (!room)
        return;
    uint8_t *copy = malloc(feed->sample);
    if (copy)
        memcpy(copy, pixels, feed->sample);
    pthread_mutex_lock(&feed->lock);
    if (copy && !feed->cache[index]) {
        feed->cache[index] = copy;
        copy = NULL;
    } else {
        feed->cached -= feed->sample;
    }
    pthread_mutex_unlock(&feed->lock);
    free(copy);
}

static int make_sample(bang_feed *feed, const bang_request *request, size_t i, bang_error *err)
{
    uint32_t index = request->index[i];
    uint8_t *out = request->pixels + i * feed->sample;
    bang_random random;
    int rc = 0;
    bang_random_init(&random, feed->options.seed, BANG_PURPOSE('f', 'e', 'e', 'd'),
                     request->draw << 32 | index);
    const uint8_t *known = find_cached(feed, index);
    if (feed->plain)
        known = (const uint8_t *)feed->images->memory.inputs.data + index * feed->sample;
    if (known) {
        memcpy(out, known, feed->sample);
    } else {
        rc = prepare(out, feed, index, &random, err);
        if (rc == 0)
            keep_cached(feed, index, out);
    }
    if (rc == 0 && feed->dtype == BANG_U8)
        rc = bang_transform_change(out, &feed->options.transform, &random, err);
    return rc;
}

/* Samples first .. first + count - 1 of a request. */
static void make_samples(bang_feed *feed, const bang_request *request, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        bang_error err = {0};
        request->code[i] = make_sample(feed, request, i, &err);
        request->bad[i] = request->code[i] < 0 ? strdup(err.message) : NULL;
    }
}

/* The oldest request that has samples left, or NULL. */
static bang_request *find_work(const bang_feed *feed)
{
    for (size_t i = 0; i < feed->queued; i++)
        if (feed->queue[i]->begun < feed->queue[i]->count)
            return feed->queue[i];
    return NULL;
}

void *bang_feed_work(void *context)
{
    bang_feed *feed = context;
    /* Many small samples at a time, so that the lock costs nothing; files one by one. */
    size_t batch = feed->images->paths ? 1 : 1 + (64 << 10) / (feed->sample + 1);
    pthread_mutex_lock(&feed->lock);
    while (!feed->closing) {
        bang_request *request = find_work(feed);
        if (!request) {
            pthread_cond_wait(&feed->work, &feed->lock);
            continue;
        }
        size_t first = request->begun, left = request->count - first;
        size_t share = (left + (size_t)feed->threads - 1) / (size_t)feed->threads;
        size_t count = batch < share ? batch : share;
        request->begun += count;
        pthread_mutex_unlock(&feed->lock);
        make_samples(feed, request, first, count);
        pthread_mutex_lock(&feed->lock);
        request->done += count;
        if (request->done == request->count && request == feed->queue[0])
            pthread_cond_signal(&feed->ready);
    }
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}
