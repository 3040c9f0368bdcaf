/* A run over checkpoints: what all its workers share. Private to this room.
 *
 * Workers take units one after the other, read what a unit needs, let the caller
 * look at it or make the output from it, and write that. Each has a ring of its
 * own and several units under way; without rings there are more workers with
 * one unit each. */
#ifndef BANG_STORE_STREAM_PRIVATE_H
#define BANG_STORE_STREAM_PRIVATE_H

#include <pthread.h>

#include "bang/store/stream.h"
#include "store/unit.h"

/* Units are never smaller than this, so that a disk is worth asking. */
enum { BANG_UNIT_LEAST = 65536 };

typedef struct bang_stream_run {
    bang_stream *stream;
    const bang_stream_item *items;
    size_t count, inputs;
    size_t unit_bytes; /* of an output; of a scan: of the widest input */
    size_t capacity;   /* of an input's buffer */
    void *context;
    /* To write: */
    bang_output *const *outputs;
    size_t output_count;
    bang_stream_make make;
    const size_t *sorted; /* (count) items by their place in the outputs */
    uint64_t slack;       /* how far the data of any output lie from those of output 0 */
    /* To scan: */
    bang_scan_block block;
    bang_scan_fold fold;
    size_t partial_size;
    /* Where the next unit begins; all below under lock. */
    pthread_mutex_t lock;
    pthread_cond_t turned;
    uint64_t next_number, turn; /* turn: which unit may fold */
    uint64_t finished;          /* units; all that were taken, in the end */
    size_t next_item;           /* scan: item; write: place in sorted */
    uint64_t next_first;        /* scan: number of the item */
    size_t next_file;           /* write */
    uint64_t next_offset;
    uint64_t done, total; /* bytes, for progress */
    int code;             /* the first failure */
    bang_error err;
} bang_stream_run;

typedef struct bang_stream_worker {
    bang_stream_run *run;
    pthread_t thread;
    bang_ring *ring;
    bang_unit *units; /* (unit_count) */
    size_t unit_count;
} bang_stream_worker;

/* stream_next.c: fills unit with the next work; 1, 0 when there is none, or
 * negative. */
int bang_stream_next(bang_stream_run *run, bang_unit *unit, bang_error *err);
/* Bytes of the widest input of an item. */
size_t bang_stream_widest(const bang_stream_run *run, size_t item);
/* How far the data of an output lie behind those of output 0: their headers
 * differ when the recipes do. */
int64_t bang_stream_shift(const bang_stream_run *run, size_t output, size_t item);
/* The numbers of an item that lie in bytes begin .. end-1 of a file of an output. */
void bang_stream_overlap(uint64_t *first, uint64_t *count, const bang_stream_item *item,
                         int64_t shift, uint64_t begin, uint64_t end);

/* stream_work.c: what each thread does; argument is a bang_stream_worker. */
void *bang_stream_work(void *argument);

#endif
