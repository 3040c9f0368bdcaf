/* Goes through the numbers of several checkpoints side by side, block by block,
 * in bounded memory and at the speed of the disk.
 *
 * What is in the page cache is copied from there; the rest is read past it
 * (O_DIRECT), several requests at a time (io_uring, or threads where that
 * cannot be had). Results do not depend on threads, memory or the way of
 * reading.
 */
#ifndef BANG_STORE_STREAM_H
#define BANG_STORE_STREAM_H

#include "bang/base/progress.h"
#include "bang/base/thread.h"
#include "bang/store/checkpoint.h"
#include "bang/store/output.h"

/* Where the numbers of one input come from. */
typedef struct bang_feed {
    const bang_checkpoint *checkpoint;
    const bang_entry *entry; /* NULL: this input is not needed here */
} bang_feed;

/* One tensor, or a part of one, for every input. */
typedef struct bang_stream_item {
    const bang_feed *feeds; /* (inputs) */
    uint64_t count;         /* of numbers, the same in all feeds (see bang_entry_count) */
    /* Only to write: */
    size_t file;     /* of the outputs */
    uint64_t offset; /* of the first byte there, as in the outputs' items, for output 0 */
    size_t step;     /* bytes of a number */
    size_t item;     /* of the outputs: whose tensor this is */
} bang_stream_item;

typedef struct bang_stream {
    int threads;                   /* 0: all cores */
    uint64_t max_memory;           /* bytes that the whole process may have resident; 0: 64 MB */
    int plain;                     /* neither io_uring nor O_DIRECT, for tests */
    const bang_progress *progress; /* in bytes read and written; or NULL */
    bang_cancel *cancel;           /* or NULL */
    uint64_t bytes_read, bytes_written; /* added up by every call */
} bang_stream;
#define BANG_STREAM_INIT                                                                           \
    {                                                                                              \
        0, 0, 0, NULL, NULL, 0, 0                                                                  \
    }

/* Blocks of a scan start at multiples of this many numbers. */
enum { BANG_SCAN_BLOCK = 32768 };

/* Looks at count <= BANG_SCAN_BLOCK numbers from first on; in[i] is NULL where
 * the feed is. partial holds zeros and takes what was found. From any thread. */
typedef void (*bang_scan_block)(void *context, size_t item, uint64_t first, size_t count,
                                const void *const *in, void *partial);
/* Takes the partial of one block; called in the order of items and blocks, one
 * call at a time, so that sums are always formed in the same order. */
typedef void (*bang_scan_fold)(void *context, size_t item, const void *partial);

/* Shows every number of items, (count), to block. An item of no numbers is skipped. */
int bang_stream_scan(bang_stream *stream, const bang_stream_item *items, size_t count,
                     size_t inputs, size_t partial_size, bang_scan_block block, bang_scan_fold fold,
                     void *context, bang_error *err);

/* Makes count numbers from first on of item for one output; out and in need not
 * be aligned to the numbers. From any thread. */
typedef void (*bang_stream_make)(void *context, size_t output, size_t item, uint64_t first,
                                 size_t count, const void *const *in, void *out);

/* Fills all bytes of outputs, (output_count), which were begun and have the same
 * items. */
int bang_stream_write(bang_stream *stream, const bang_stream_item *items, size_t count,
                      size_t inputs, bang_output *const *outputs, size_t output_count,
                      bang_stream_make make, void *context, bang_error *err);

#endif
