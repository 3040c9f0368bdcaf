#include "store/ring.h"

#include <liburing.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 128 };

struct bang_ring {
    struct io_uring uring;
    unsigned started, waiting; /* requests under way; of these not yet handed to the kernel */
};

bang_ring *bang_ring_open(void)
{
    bang_ring *ring = calloc(1, sizeof *ring);
    if (ring && io_uring_queue_init(DEPTH, &ring->uring, 0) == 0)
        return ring;
    free(ring);
    return NULL;
}

void bang_ring_close(bang_ring *ring)
{
    if (ring)
        io_uring_queue_exit(&ring->uring);
    free(ring);
}

/* Hands what was started to the kernel. */
static int submit(bang_ring *ring)
{
    int rc = ring->waiting > 0 ? io_uring_submit(&ring->uring) : 0;
    if (rc > 0)
        ring->waiting -= (unsigned)rc < ring->waiting ? (unsigned)rc : ring->waiting;
    return rc;
}

int bang_ring_start(bang_ring *ring, bang_request *request)
{
    struct io_uring_sqe *entry =
        ring && ring->started < DEPTH ? io_uring_get_sqe(&ring->uring) : NULL;
    if (!entry)
        return -1;
    /* The kernel's length is 32 bits; what is left over the caller completes. */
    unsigned size = request->size < 1U << 30 ? (unsigned)request->size : 1U << 30;
    if (request->is_write)
        io_uring_prep_write(entry, request->descriptor, request->data, size, request->offset);
    else
        io_uring_prep_read(entry, request->descriptor, request->data, size, request->offset);
    io_uring_sqe_set_data(entry, request);
    ring->started++;
    ring->waiting++;
    submit(ring); /* if the kernel is busy, bang_ring_wait tries again */
    return 0;
}

bang_request *bang_ring_wait(bang_ring *ring)
{
    struct io_uring_cqe *done = NULL;
    if (!ring || ring->started == 0)
        return NULL;
    while (!done) {
        static const struct timespec moment = {0, 1000000};
        submit(ring);
        if (ring->started > ring->waiting)
            io_uring_wait_cqe(&ring->uring, &done); /* EINTR: once more */
        else
            nanosleep(&moment, NULL); /* the kernel takes nothing now, and nothing will come */
    }
    bang_request *request = io_uring_cqe_get_data(done);
    request->result = done->res;
    io_uring_cqe_seen(&ring->uring, done);
    ring->started--;
    return request;
}
