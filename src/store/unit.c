#include "store/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/checkpoint.h"

size_t bang_unit_capacity(size_t bytes)
{
    return (bytes + bytes / 8 + (size_t)8 * BANG_PAGE) / BANG_PAGE * BANG_PAGE;
}

void bang_unit_release(bang_unit *unit)
{
    free((void *)unit->in);
    free((void *)unit->buffers);
    free((void *)unit->outputs);
    free(unit->partials);
    free(unit->writes);
    free(unit->pieces);
    free(unit->runs);
    free((void *)unit->where);
    *unit = (bang_unit){0};
}

/* Room for one more element; 0, or -1 when memory is out. */
static int grow(void **list, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return 0;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *larger = realloc(*list, more * size);
    if (!larger)
        return -1;
    *list = larger;
    *capacity = more;
    return 0;
}

int bang_unit_add(bang_unit *unit, size_t item, uint64_t first, size_t count)
{
    void *list = unit->pieces;
    int rc = grow(&list, &unit->piece_capacity, unit->piece_count, sizeof *unit->pieces);
    unit->pieces = list;
    if (rc == 0)
        unit->pieces[unit->piece_count++] = (bang_piece){item, first, count};
    return rc;
}

/* The bytes go on where the run ends. */
static int continues(const bang_run *run, const bang_feed *feed, uint64_t offset)
{
    return run && run->checkpoint == feed->checkpoint && run->file == feed->entry->file &&
           run->offset + run->size == offset;
}

static bang_run *add_run(bang_unit *unit)
{
    void *list = unit->runs;
    int rc = grow(&list, &unit->run_capacity, unit->run_count, sizeof *unit->runs);
    unit->runs = list;
    return rc < 0 ? NULL : &unit->runs[unit->run_count++];
}

/* Fills unit->runs with what can be read from the files as it lies there, and
 * unit->where with the offsets of the pieces in their runs for now. */
static int find_runs(bang_unit *unit, const bang_stream_item *items, size_t inputs, size_t *runs)
{
    unit->run_count = 0;
    for (size_t i = 0; i < inputs; i++) {
        bang_run *run = NULL;
        for (size_t p = 0; p < unit->piece_count; p++) {
            const bang_piece *piece = &unit->pieces[p];
            const bang_feed *feed = &items[piece->item].feeds[i];
            size_t slot = p * inputs + i;
            runs[slot] = SIZE_MAX;
            unit->where[slot] = NULL;
            if (!feed->entry)
                continue;
            size_t step = bang_entry_step(feed->entry), size = piece->count * step;
            const bang_input *input = feed->checkpoint->files[feed->entry->file].input;
            uint64_t offset = feed->entry->offset + piece->first * step;
            unit->bytes += size;
            if (!bang_entry_is_plain(feed->entry) || input->is_packed)
                continue;
            if (!continues(run, feed, offset)) {
                run = add_run(unit);
                if (!run)
                    return -1;
                *run = (bang_run){.checkpoint = feed->checkpoint,
                                  .input = i,
                                  .file = feed->entry->file,
                                  .offset = offset};
            }
            runs[slot] = unit->run_count - 1;
            run->size += size;
        }
    }
    return 0;
}

/* 1 if all pages of a run are in the page cache. Only mincore tells without side
 * effects: a read that must not wait (RWF_NOWAIT) has the kernel read ahead, so
 * that everything would be read twice. */
static int is_cached(const bang_source *source, const bang_run *run)
{
    size_t head = (size_t)(run->offset % BANG_PAGE), size = head + run->size, count = 0;
    size_t pages = (size + BANG_PAGE - 1) / BANG_PAGE;
    unsigned char room[1024], *states = pages <= sizeof room ? room : malloc(pages);
    void *map = states ? mmap(NULL, size, PROT_READ, MAP_SHARED, source->descriptor,
                              (off_t)(run->offset - head))
                       : MAP_FAILED;
    if (map != MAP_FAILED) {
        if (mincore(map, size, states) == 0)
            while (count < pages && (states[count] & 1))
                count++;
        munmap(map, size);
    }
    if (states != room)
        free(states);
    return count == pages;
}

/* Reads a run, or starts to. data points to the run's place in its buffer, at
 * the same distance from a page as in the file. */
static int read_run(bang_unit *unit, bang_run *run, bang_ring *ring, int plain, bang_error *err)
{
    const bang_input *input = run->checkpoint->files[run->file].input;
    const bang_source *source = &input->source;
    run->active = 0;
    if (!plain && !source->data && run->size >= BANG_DIRECT_LEAST && input->direct >= 0 &&
        !is_cached(source, run)) {
        size_t head = (size_t)(run->offset % BANG_PAGE);
        size_t whole = (head + run->size + BANG_PAGE - 1) / BANG_PAGE * BANG_PAGE;
        run->request = (bang_request){.descriptor = input->direct,
                                      .data = run->data - head,
                                      .size = whole,
                                      .offset = run->offset - head,
                                      .owner = unit};
        if (bang_ring_start(ring, &run->request) == 0) {
            run->active = 1;
            unit->pending++;
            return 0;
        }
        run->request.result =
            pread(input->direct, run->request.data, whole, (off_t)run->request.offset);
        return bang_unit_read_done(run, err);
    }
    return bang_source_read(source, run->data, (size_t)run->offset, run->size, err);
}

int bang_unit_read_done(bang_run *run, bang_error *err)
{
    const bang_source *source = &run->checkpoint->files[run->file].input->source;
    size_t head = (size_t)(run->offset % BANG_PAGE), got = 0;
    run->active = 0;
    if (run->request.result > (long)head)
        got = (size_t)run->request.result - head;
    if (got >= run->size)
        return 0;
    /* Cut short, or not allowed after all: the plain way, which also finds the
     * right words when the bytes are not there. */
    return bang_source_read(source, run->data + got, (size_t)run->offset + got, run->size - got,
                            err);
}

int bang_unit_write_done(bang_output_file *file, bang_request *request, bang_error *err)
{
    size_t done = request->result > 0 ? (size_t)request->result : 0;
    while (done < request->size) {
        ssize_t n = pwrite(bang_file_descriptor(file->file), (char *)request->data + done,
                           request->size - done, (off_t)(request->offset + done));
        if (n < 0 && errno != EINTR)
            return bang_fail(err, BANG_EIO, "%s: %s: nothing was written", file->path,
                             strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Gives each run its place in the buffer of its input. */
static void place_runs(bang_unit *unit, size_t *used)
{
    for (size_t r = 0; r < unit->run_count; r++) {
        bang_run *run = &unit->runs[r];
        size_t *at = &used[run->input];
        if (run->size >= BANG_DIRECT_LEAST) {
            size_t start = (*at + BANG_PAGE - 1) / BANG_PAGE * BANG_PAGE;
            run->data = unit->buffers[run->input] + start + run->offset % BANG_PAGE;
            *at = start +
                  (run->offset % BANG_PAGE + run->size + BANG_PAGE - 1) / BANG_PAGE * BANG_PAGE;
        } else {
            run->data = unit->buffers[run->input] + *at;
            *at += run->size;
        }
    }
}

/* Tensors that do not lie in a file as they are wanted. */
static int read_others(bang_unit *unit, const bang_stream_item *items, size_t inputs,
                       const size_t *runs, size_t *used, size_t capacity, bang_error *err)
{
    int code = 0;
    for (size_t i = 0; i < inputs; i++)
        if (used[i] > capacity) /* then bang_unit_capacity is wrong */
            return bang_fail(err, BANG_EUSAGE, "stream: a buffer is too small");
    for (size_t s = 0; code == 0 && s < unit->piece_count * inputs; s++) {
        const bang_piece *piece = &unit->pieces[s / inputs];
        const bang_feed *feed = &items[piece->item].feeds[s % inputs];
        if (!feed->entry)
            continue;
        size_t step = bang_entry_step(feed->entry);
        if (runs[s] != SIZE_MAX) {
            const bang_run *run = &unit->runs[runs[s]];
            unit->where[s] = run->data + (feed->entry->offset + piece->first * step - run->offset);
            continue;
        }
        char *to = unit->buffers[s % inputs] + used[s % inputs];
        used[s % inputs] += piece->count * step;
        unit->where[s] = to;
        if (used[s % inputs] > capacity)
            return bang_fail(err, BANG_EUSAGE, "stream: a buffer is too small");
        code = bang_checkpoint_read(feed->checkpoint, feed->entry, piece->first * step, to,
                                    piece->count * step, err);
    }
    return code;
}

int bang_unit_read(bang_unit *unit, const bang_stream_item *items, size_t inputs, size_t capacity,
                   bang_ring *ring, int plain, bang_error *err)
{
    size_t slots = unit->piece_count * inputs;
    size_t *runs = calloc(slots + 1, sizeof *runs), *used = calloc(inputs + 1, sizeof *used);
    int code = runs && used ? 0 : bang_fail_memory(err);
    if (code == 0 && slots > unit->where_capacity) {
        const char **where = realloc((void *)unit->where, slots * sizeof *where);
        if (where) {
            unit->where = where;
            unit->where_capacity = slots;
        } else
            code = bang_fail_memory(err);
    }
    unit->bytes = 0;
    if (code == 0 && find_runs(unit, items, inputs, runs) < 0)
        code = bang_fail_memory(err);
    if (code == 0) {
        place_runs(unit, used);
        code = read_others(unit, items, inputs, runs, used, capacity, err);
    }
    for (size_t r = 0; code == 0 && r < unit->run_count; r++)
        code = read_run(unit, &unit->runs[r], ring, plain, err);
    free(runs);
    free(used);
    return code;
}
