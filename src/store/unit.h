/* What is worked on at a time: some numbers of some items, and memory for them.
 * Private to this room. */
#ifndef BANG_STORE_UNIT_H
#define BANG_STORE_UNIT_H

#include "bang/store/stream.h"
#include "store/output.h"
#include "store/ring.h"

/* Memory and file offsets of O_DIRECT are multiples of this. */
enum { BANG_PAGE = 4096 };

/* Numbers first .. first+count-1 of an item. */
typedef struct bang_piece {
    size_t item;
    uint64_t first;
    size_t count;
} bang_piece;

/* Bytes of an input file that lie together and are read at once. */
typedef struct bang_run {
    bang_request request; /* past the page cache: whole pages around them */
    const bang_checkpoint *checkpoint;
    size_t input, file;
    uint64_t offset; /* what is wanted */
    size_t size;
    char *data;
    int active; /* the request is under way */
} bang_run;

typedef struct bang_unit {
    uint64_t number; /* units are taken in this order */
    size_t piece_count, piece_capacity;
    bang_piece *pieces;
    size_t run_count, run_capacity;
    bang_run *runs;
    const char **where; /* (pieces, inputs) where the numbers of a piece are */
    size_t where_capacity;
    const void **in;      /* (inputs) what the caller is shown */
    char **buffers;       /* (inputs) borrowed, as are the next */
    char **outputs;       /* (outputs) */
    char *partials;       /* (blocks, partial_size) of a scan */
    size_t file;          /* of the outputs */
    uint64_t begin, end;  /* of that file; what is behind an output's end is left out */
    bang_request *writes; /* (outputs) */
    size_t pending;       /* requests under way */
    uint64_t bytes;       /* read for it */
    enum { UNIT_FREE, UNIT_READING, UNIT_MADE, UNIT_WRITING } state;
} bang_unit;

/* Adds a piece; -1 when memory is out. */
int bang_unit_add(bang_unit *unit, size_t item, uint64_t first, size_t count);

/* Finds what has to be read for the pieces and reads it, or starts to: requests
 * go to ring, or are done at once where that is better or there is no ring.
 * capacity is that of each buffer. */
int bang_unit_read(bang_unit *unit, const bang_stream_item *items, size_t inputs, size_t capacity,
                   bang_ring *ring, int plain, bang_error *err);
/* A request of the unit is done: what it left out is read or written. */
int bang_unit_read_done(bang_run *run, bang_error *err);
int bang_unit_write_done(bang_output_file *file, bang_request *request, bang_error *err);

void bang_unit_release(bang_unit *unit);

/* Bytes that a buffer needs for so many bytes of numbers: pages are read whole,
 * but never for less than BANG_DIRECT_LEAST. */
enum { BANG_DIRECT_LEAST = 131072 };
size_t bang_unit_capacity(size_t bytes);

#endif
