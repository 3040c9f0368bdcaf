/* Requests to read or write that are under way while the caller does something
 * else: io_uring. Where the kernel or a sandbox does not allow it there is no
 * ring, and the caller reads and writes by itself. Private to this room. */
#ifndef BANG_STORE_RING_H
#define BANG_STORE_RING_H

#include <stddef.h>
#include <stdint.h>

typedef struct bang_request {
    int descriptor, is_write;
    void *data;
    size_t size;
    uint64_t offset;
    long result; /* once done: bytes, or a negative errno */
    void *owner; /* the caller's */
} bang_request;

typedef struct bang_ring bang_ring;

/* NULL where there is none. */
bang_ring *bang_ring_open(void);
void bang_ring_close(bang_ring *ring);
/* Starts it; request and its data must stay until it is done. -1 when too many
 * are under way, or ring is NULL. */
int bang_ring_start(bang_ring *ring, bang_request *request);
/* Sleeps until one is done and returns it; NULL when none is under way. */
bang_request *bang_ring_wait(bang_ring *ring);

#endif
