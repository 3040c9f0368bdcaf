#include "average.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 2 << 20, PAGE = 4096, FILES = 4 };

typedef struct slot {
    uint64_t at; /* of the chunk that is on its way */
    int pending; /* reads that are not complete */
    char *data[FILES];
} slot;

typedef struct copy {
    struct io_uring ring;
    int in[FILES], out;
    unsigned inputs;
    uint64_t size, next, done; /* bytes */
    slot *slots;
} copy;

static void request(copy *c, slot *s, unsigned input, int writes)
{
    uint64_t left = c->size - s->at;
    unsigned length = left < CHUNK ? (unsigned)((left + PAGE - 1) / PAGE * PAGE) : CHUNK;
    struct io_uring_sqe *entry = io_uring_get_sqe(&c->ring);
    if (writes)
        io_uring_prep_write(entry, c->out, s->data[0], length, s->at);
    else
        io_uring_prep_read(entry, c->in[input], s->data[input], length, s->at);
    io_uring_sqe_set_data(entry, s);
}

/* Gives a slot its next chunk: reads first, or at once the write. */
static void begin_chunk(copy *c, slot *s)
{
    if (c->next >= c->size)
        return;
    s->at = c->next;
    c->next += CHUNK;
    s->pending = (int)c->inputs;
    for (unsigned i = 0; i < c->inputs; i++)
        request(c, s, i, 0);
    if (c->inputs == 0)
        request(c, s, 0, 1);
}

static int copy_all(copy *c, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        begin_chunk(c, &c->slots[i]);
    while (c->done < c->size) {
        struct io_uring_cqe *end;
        int rc = io_uring_submit_and_wait(&c->ring, 1);
        if (rc < 0)
            return rc;
        while (io_uring_peek_cqe(&c->ring, &end) == 0) {
            slot *s = io_uring_cqe_get_data(end);
            uint64_t left = c->size - s->at, part = left < CHUNK ? left : CHUNK;
            if (end->res < 0 || (uint64_t)end->res < part)
                return end->res < 0 ? end->res : -EIO;
            io_uring_cqe_seen(&c->ring, end);
            if (s->pending > 0) {
                if (--s->pending == 0)
                    request(c, s, 0, 1);
            } else {
                c->done += part;
                begin_chunk(c, s);
            }
        }
    }
    return 0;
}

static int open_all(copy *c, const char *to, const char *const from[])
{
    for (; from[c->inputs]; c->inputs++) {
        c->in[c->inputs] = open(from[c->inputs], O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (c->in[c->inputs] < 0)
            return -errno;
    }
    c->out = open(to, O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT | O_CLOEXEC, 0666);
    return c->out < 0 ? -errno : 0;
}

/* In a process of its own: its buffers must not count for what we start later. */
static int copy_process(double *seconds, const char *to, uint64_t size, unsigned depth,
                        const char *const from[])
{
    copy c = {.size = size};
    int rc = open_all(&c, to, from);
    if (rc == 0)
        rc = io_uring_queue_init(depth * FILES, &c.ring, 0);
    c.slots = calloc(depth, sizeof *c.slots);
    for (unsigned i = 0; rc == 0 && i < depth * FILES; i++) {
        if (i % FILES > 0 && i % FILES >= c.inputs)
            continue;
        char *data = c.slots ? aligned_alloc(PAGE, CHUNK) : NULL;
        if (!data)
            return -ENOMEM;
        memset(data, 1, CHUNK);
        c.slots[i / FILES].data[i % FILES] = data;
    }
    double begin = now();
    if (rc == 0 && fallocate(c.out, 0, 0, (off_t)size) < 0)
        rc = -errno;
    if (rc == 0)
        rc = copy_all(&c, depth);
    if (rc == 0 && (ftruncate(c.out, (off_t)size) < 0 || fsync(c.out) < 0))
        rc = -errno;
    *seconds = now() - begin;
    return rc;
}

int disk_limit(cost *out, const char *to, uint64_t size, unsigned depth, const char *const from[])
{
    double *seconds =
        mmap(NULL, sizeof *seconds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(NULL);
    pid_t process = seconds == MAP_FAILED ? -1 : fork();
    if (process == 0)
        _exit(-copy_process(seconds, to, size, depth, from) & 255);
    int status = -1;
    struct rusage used = {0};
    if (process < 0 || wait4(process, &status, 0, &used) < 0 || status != 0) {
        fprintf(stderr, "io_uring with O_DIRECT: %s\n",
                process > 0 && WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "failed");
        return -1;
    }
    *out = (cost){*seconds,
                  (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                      1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
                  1024.0 * (double)used.ru_maxrss};
    munmap(seconds, sizeof *seconds);
    return 0;
}

int dd_limit(cost *out, const char *to, const char *const from[2])
{
    char output[4096];
    static const char script[] =
        "dd if=\"$2\" of=/dev/null iflag=direct bs=4M & other=$!\n"
        "dd if=\"$1\" of=\"$3\" iflag=direct oflag=direct bs=4M conv=fsync || exit 1\n"
        "wait $other";
    const char *const line[] = {"sh", "-c", script, "dd", from[0], from[1], to, NULL};
    return run(out, output, sizeof output, line);
}
