#include "data/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void clear_bad(bang_request *request)
{
    for (size_t i = 0; i < request->count; i++) {
        free(request->bad[i]);
        request->bad[i] = NULL;
    }
}

static void free_request(bang_request *request)
{
    if (!request)
        return;
    if (request->bad)
        clear_bad(request);
    free(request->index);
    free(request->labels);
    free(request->pixels);
    free(request->bad);
    free(request->code);
    free(request);
}

static bang_request *make_request(size_t capacity, size_t sample)
{
    bang_request *request = calloc(1, sizeof *request);
    if (!request || capacity > PTRDIFF_MAX / sample)
        return free_request(request), NULL;
    request->capacity = capacity;
    request->index = calloc(capacity + 1, sizeof *request->index);
    request->labels = calloc(capacity + 1, sizeof *request->labels);
    request->pixels = malloc(capacity * sample + 1);
    request->bad = calloc(capacity + 1, sizeof *request->bad);
    request->code = calloc(capacity + 1, sizeof *request->code);
    if (request->index && request->labels && request->pixels && request->bad && request->code)
        return request;
    free_request(request);
    return NULL;
}

/* How inputs in memory are laid out, and whether they can be used as they are. */
static int look_at_memory(bang_feed *feed, bang_error *err)
{
    const bang_array *all = &feed->images->memory.inputs;
    const bang_transform *t = &feed->options.transform;
    size_t channels = all->rank == 4 ? all->shape[3] : 1;
    char shape[120];
    bang_array_shape_text(shape, sizeof shape, all);
    if (all->rank < 3 || all->rank > 4 || (channels != 1 && channels != 3) || all->count == 0)
        return bang_fail(err, BANG_EUSAGE,
                         "data of shape %s: are no pictures: must be (n, height, width) or "
                         "(n, height, width, 1 or 3)",
                         shape);
    feed->plain = all->shape[1] == t->size && all->shape[2] == t->size && channels == t->channels &&
                  t->border == 0 && !t->random_crop;
    feed->dtype = all->dtype;
    if (all->dtype == BANG_F32 && (!feed->plain || bang_transform_is_random(t)))
        return bang_fail(err, BANG_EUSAGE,
                         "floats of shape %s: cannot be resized or changed to %zu x %zu with %zu "
                         "channel%s: give U8",
                         shape, t->size, t->size, t->channels, t->channels == 1 ? "" : "s");
    return 0;
}

static int start_workers(bang_feed *feed, bang_error *err)
{
    int wanted = feed->options.threads > 0 ? feed->options.threads : bang_threads_available();
    feed->workers = calloc((size_t)wanted, sizeof *feed->workers);
    if (!feed->workers)
        return bang_fail_memory(err);
    /* Where the system refuses a thread, the others do its share. They read how many there
     * are under the lock. */
    pthread_mutex_lock(&feed->lock);
    while (feed->threads < wanted &&
           pthread_create(&feed->workers[feed->threads], NULL, bang_feed_work, feed) == 0)
        feed->threads++;
    pthread_mutex_unlock(&feed->lock);
    return feed->threads > 0 ? 0
                             : bang_fail(err, BANG_EIO, "pictures: the system refuses a thread");
}

int bang_feed_open(bang_feed **out, const bang_images *images, const bang_feed_options *options,
                   bang_error *err)
{
    *out = NULL;
    int rc = bang_transform_check(&options->transform, err);
    if (rc < 0)
        return rc;
    if (images->count == 0 || images->count > UINT32_MAX)
        return bang_fail(err, BANG_EUSAGE, "%zu pictures: 1 to 2^32 - 1 are possible",
                         images->count);
    bang_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return bang_fail_memory(err);
    feed->images = images;
    feed->options = *options;
    feed->dtype = BANG_U8;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->work, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&feed->ready, &attributes);
    pthread_condattr_destroy(&attributes);
    rc = images->paths ? 0 : look_at_memory(feed, err);
    const bang_transform *t = &options->transform;
    feed->sample = t->size * t->size * t->channels * bang_dtype_size(feed->dtype);
    feed->known_bad = rc == 0 ? calloc(images->count, 1) : NULL;
    if (rc == 0 && options->cache_bytes >= feed->sample && !t->random_crop && !feed->plain)
        feed->cache = calloc(images->count, sizeof *feed->cache);
    if (rc == 0 && !feed->known_bad)
        rc = bang_fail_memory(err);
    if (rc == 0)
        rc = start_workers(feed, err);
    if (rc < 0) {
        bang_feed_close(feed);
        return rc;
    }
    *out = feed;
    return 0;
}

size_t bang_feed_cache(const bang_feed *feed)
{
    if (!feed->cache)
        return 0;
    size_t room = feed->options.cache_bytes / feed->sample, count = feed->images->count;
    return (room < count ? room : count) * feed->sample;
}

void bang_feed_close(bang_feed *feed)
{
    if (!feed)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->closing = 1;
    pthread_cond_broadcast(&feed->work);
    pthread_mutex_unlock(&feed->lock);
    for (int i = 0; i < feed->threads; i++)
        pthread_join(feed->workers[i], NULL);
    for (size_t i = 0; i < feed->queued; i++)
        free_request(feed->queue[i]);
    free_request(feed->taken);
    free_request(feed->spare);
    for (size_t i = 0; feed->cache && i < feed->images->count; i++)
        free(feed->cache[i]);
    for (size_t i = 0; i < feed->bad_count; i++)
        free(feed->bad[i]);
    pthread_cond_destroy(&feed->ready);
    pthread_cond_destroy(&feed->work);
    pthread_mutex_destroy(&feed->lock);
    free(feed->cache);
    free(feed->known_bad);
    free(feed->bad);
    free(feed->bad_index);
    free(feed->workers);
    free(feed);
}

int bang_feed_ask(bang_feed *feed, const uint32_t *index, size_t count, uint64_t draw,
                  bang_error *err)
{
    if (draw > UINT32_MAX)
        return bang_fail(err, BANG_EUSAGE, "pictures: draw number beyond 2^32 - 1");
    for (size_t i = 0; i < count; i++)
        if (index[i] >= feed->images->count)
            return bang_fail(err, BANG_EUSAGE, "pictures: number %u is asked for, of %zu", index[i],
                             feed->images->count);
    bang_request *request = feed->spare && feed->spare->capacity >= count ? feed->spare : NULL;
    if (request)
        feed->spare = NULL;
    else
        request = make_request(count, feed->sample);
    if (!request)
        return bang_fail_memory(err);
    request->count = count;
    request->draw = draw;
    request->begun = request->done = 0;
    if (count)
        memcpy(request->index, index, count * sizeof *index);
    pthread_mutex_lock(&feed->lock);
    int full = feed->queued == BANG_FEED_AHEAD;
    if (!full) {
        feed->queue[feed->queued++] = request;
        pthread_cond_broadcast(&feed->work);
    }
    pthread_mutex_unlock(&feed->lock);
    if (!full)
        return 0;
    free_request(request);
    return bang_fail(err, BANG_EUSAGE, "pictures: %d batches are asked for and not taken",
                     BANG_FEED_AHEAD);
}

/* The oldest request once it is done; NULL if there is none, or cancel came first. Nobody
 * wakes us when that is raised (a signal handler may not), so we look. */
static bang_request *wait_for_oldest(bang_feed *feed, int *cancelled)
{
    pthread_mutex_lock(&feed->lock);
    bang_request *oldest = feed->queued ? feed->queue[0] : NULL;
    while (!(*cancelled = bang_cancelled(feed->options.cancel)) && oldest &&
           oldest->done < oldest->count) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&feed->ready, &feed->lock, &until);
    }
    if (oldest && !*cancelled) {
        feed->queued--;
        for (size_t i = 0; i < feed->queued; i++)
            feed->queue[i] = feed->queue[i + 1];
    }
    pthread_mutex_unlock(&feed->lock);
    return *cancelled ? NULL : oldest;
}

/* Notes a picture that is bad, once. */
static int note_bad(bang_feed *feed, uint32_t index, const char *message, bang_error *err)
{
    if (feed->known_bad[index])
        return 0;
    if (feed->bad_count == feed->bad_capacity) {
        size_t capacity = feed->bad_capacity ? 2 * feed->bad_capacity : 16;
        char **bad = realloc(feed->bad, capacity * sizeof *bad);
        if (bad)
            feed->bad = bad;
        uint32_t *which = realloc(feed->bad_index, capacity * sizeof *which);
        if (which)
            feed->bad_index = which;
        if (!bad || !which)
            return bang_fail_memory(err);
        feed->bad_capacity = capacity;
    }
    char *copy = strdup(message);
    if (!copy)
        return bang_fail_memory(err);
    feed->bad_index[feed->bad_count] = index;
    feed->bad[feed->bad_count++] = copy;
    feed->known_bad[index] = 1;
    return 0;
}

/* Moves the good samples together. */
static int sort_out(bang_batch *out, bang_feed *feed, bang_request *request, bang_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < request->count; i++) {
        if (request->code[i] == 0) {
            if (kept < i) {
                memcpy(request->pixels + kept * feed->sample, request->pixels + i * feed->sample,
                       feed->sample);
                request->index[kept] = request->index[i];
            }
            request->labels[kept] = feed->images->labels[request->index[kept]];
            kept++;
            continue;
        }
        int is_picture = request->code[i] == BANG_EDATA || request->code[i] == BANG_EIO;
        const char *why = request->bad[i] ? request->bad[i] : "out of memory";
        if (!is_picture || !feed->options.skip_bad)
            return bang_fail(err, request->bad[i] ? request->code[i] : BANG_EMEMORY, "%s", why);
        int rc = note_bad(feed, request->index[i], why, err);
        if (rc < 0)
            return rc;
    }
    *out = (bang_batch){kept, feed->dtype, request->pixels, request->labels, request->index};
    return 0;
}

int bang_feed_take(bang_batch *out, bang_feed *feed, bang_error *err)
{
    int cancelled;
    *out = (bang_batch){0};
    bang_request *request = wait_for_oldest(feed, &cancelled);
    if (cancelled)
        return bang_fail(err, BANG_ECANCELLED, "interrupted");
    if (!request)
        return bang_fail(err, BANG_EUSAGE, "pictures: nothing was asked for");
    if (feed->taken) {
        free_request(feed->spare);
        feed->spare = feed->taken;
        clear_bad(feed->spare);
    }
    feed->taken = request;
    return sort_out(out, feed, request, err);
}

size_t bang_feed_bad_count(const bang_feed *feed)
{
    return feed->bad_count;
}

const char *bang_feed_bad(const bang_feed *feed, size_t n)
{
    return n < feed->bad_count ? feed->bad[n] : NULL;
}

uint32_t bang_feed_bad_picture(const bang_feed *feed, size_t n)
{
    return n < feed->bad_count ? feed->bad_index[n] : UINT32_MAX;
}
