/* What one thread does: units from reading to writing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/stream.h"

static void fail(bang_stream_run *run, int code, const bang_error *err)
{
    pthread_mutex_lock(&run->lock);
    if (run->code == 0) {
        run->code = code;
        run->err = *err;
    }
    pthread_cond_broadcast(&run->turned);
    pthread_mutex_unlock(&run->lock);
}

/* The bytes of a unit that are no tensor's. */
static void add_spans(const bang_output_file *file, const bang_unit *unit, char *out)
{
    for (size_t i = 0; i < file->span_count; i++) {
        const bang_span *span = &file->spans[i];
        uint64_t end = span->offset + span->bytes.size;
        uint64_t low = span->offset > unit->begin ? span->offset : unit->begin;
        uint64_t high = end < unit->end ? end : unit->end;
        if (low < high)
            memcpy(out + (low - unit->begin), span->bytes.data + (low - span->offset),
                   (size_t)(high - low));
    }
}

/* Fills the unit's part of one output; what lies between tensors and headers of
 * a zip is zero. */
static void make_output(bang_stream_run *run, bang_unit *unit, size_t o)
{
    char *out = unit->outputs[o];
    bang_output *output = run->outputs[o];
    if (output->in_order)
        memset(out, 0, (size_t)(unit->end - unit->begin));
    add_spans(&output->files[unit->file], unit, out);
    for (size_t p = 0; p < unit->piece_count; p++) {
        const bang_piece *piece = &unit->pieces[p];
        const bang_stream_item *item = &run->items[piece->item];
        int64_t shift = bang_stream_shift(run, o, item->item);
        uint64_t first, count, from = item->offset + (uint64_t)shift;
        bang_stream_overlap(&first, &count, item, shift, unit->begin, unit->end);
        if (count == 0) /* only another output needs it */
            continue;
        for (size_t i = 0; i < run->inputs; i++) {
            const bang_entry *entry = item->feeds[i].entry;
            const char *where = unit->where[p * run->inputs + i];
            unit->in[i] = entry ? where + (first - piece->first) * bang_entry_step(entry) : NULL;
        }
        char *to = out + (from + first * item->step - unit->begin);
        run->make(run->context, o, piece->item, first, (size_t)count, unit->in, to);
        if (output->in_order)
            bang_output_saw(output, item->item, to, (size_t)count * item->step);
    }
}

/* Shows the blocks of a unit to the caller; what was found waits in partials. */
static void look(bang_stream_run *run, bang_unit *unit)
{
    memset(unit->partials, 0, unit->piece_count * run->partial_size);
    for (size_t p = 0; p < unit->piece_count; p++) {
        const bang_piece *piece = &unit->pieces[p];
        for (size_t i = 0; i < run->inputs; i++)
            unit->in[i] = unit->where[p * run->inputs + i];
        run->block(run->context, piece->item, piece->first, piece->count, unit->in,
                   unit->partials + p * run->partial_size);
    }
}

/* Folds if it is this unit's turn; 1 if it was. */
static int try_fold(bang_stream_run *run, bang_unit *unit)
{
    pthread_mutex_lock(&run->lock);
    int mine = run->turn == unit->number;
    if (mine) {
        for (size_t p = 0; p < unit->piece_count; p++)
            run->fold(run->context, unit->pieces[p].item, unit->partials + p * run->partial_size);
        run->turn++;
        pthread_cond_broadcast(&run->turned);
    }
    pthread_mutex_unlock(&run->lock);
    return mine;
}

/* Bytes of a unit that lie in a file of an output. */
static size_t part_of(const bang_output_file *file, const bang_unit *unit)
{
    uint64_t end = file->size < unit->end ? file->size : unit->end;
    return end > unit->begin ? (size_t)(end - unit->begin) : 0;
}

static void finish_unit(bang_stream_run *run, bang_unit *unit)
{
    uint64_t written = 0;
    for (size_t o = 0; o < run->output_count; o++) /* their files may differ in length */
        written += part_of(&run->outputs[o]->files[unit->file], unit);
    pthread_mutex_lock(&run->lock);
    run->stream->bytes_read += unit->bytes;
    run->stream->bytes_written += written;
    run->done += unit->bytes + written;
    run->finished++;
    uint64_t done = run->done;
    pthread_mutex_unlock(&run->lock);
    bang_progress_step(run->stream->progress, done, run->total);
    unit->state = UNIT_FREE;
}

/* Writes the unit's part of every output, or starts to. Whole pages go past the
 * page cache; the last bytes of a file cannot. */
static int start_writes(bang_stream_worker *worker, bang_unit *unit, bang_error *err)
{
    bang_stream_run *run = worker->run;
    int code = 0;
    for (size_t o = 0; code == 0 && o < run->output_count; o++) {
        bang_output_file *file = &run->outputs[o]->files[unit->file];
        bang_request *request = &unit->writes[o];
        size_t size = part_of(file, unit), whole = size / BANG_PAGE * BANG_PAGE;
        if (run->stream->plain || file->direct < 0)
            whole = 0;
        *request = (bang_request){.descriptor = file->direct,
                                  .is_write = 1,
                                  .data = unit->outputs[o],
                                  .size = whole,
                                  .offset = unit->begin,
                                  .owner = unit};
        if (whole > 0 && bang_ring_start(worker->ring, request) == 0)
            unit->pending++;
        else if (whole > 0) {
            request->result = pwrite(file->direct, request->data, whole, (off_t)unit->begin);
            code = bang_unit_write_done(file, request, err);
        }
        bang_request rest = {
            .data = unit->outputs[o] + whole, .size = size - whole, .offset = unit->begin + whole};
        if (code == 0)
            code = bang_unit_write_done(file, &rest, err);
    }
    unit->state = UNIT_WRITING;
    return code;
}

/* Takes a unit as far as it can go without waiting. */
static int advance(bang_stream_worker *worker, bang_unit *unit, bang_error *err)
{
    bang_stream_run *run = worker->run;
    int code = 0;
    if (unit->state == UNIT_READING && unit->pending == 0) {
        if (run->make) {
            for (size_t o = 0; o < run->output_count; o++)
                make_output(run, unit, o);
            code = start_writes(worker, unit, err);
        } else {
            look(run, unit);
            unit->state = UNIT_MADE;
        }
    }
    if (code == 0 && unit->state == UNIT_MADE && try_fold(run, unit))
        finish_unit(run, unit);
    if (code == 0 && unit->state == UNIT_WRITING && unit->pending == 0)
        finish_unit(run, unit);
    return code;
}

/* One request of this worker is done. */
static int complete(bang_stream_worker *worker, bang_request *request, bang_error *err)
{
    bang_stream_run *run = worker->run;
    bang_unit *unit = request->owner;
    unit->pending--;
    if (request->is_write)
        return bang_unit_write_done(&run->outputs[request - unit->writes]->files[unit->file],
                                    request, err);
    for (size_t r = 0; r < unit->run_count; r++)
        if (request == &unit->runs[r].request)
            return bang_unit_read_done(&unit->runs[r], err);
    return 0;
}

/* Nothing is under way but units that wait for their turn: sleeps until it may
 * have come, or somebody failed. */
static void wait_turn(bang_stream_worker *worker)
{
    bang_stream_run *run = worker->run;
    pthread_mutex_lock(&run->lock);
    for (;;) {
        int mine = run->code != 0;
        for (size_t u = 0; u < worker->unit_count; u++)
            mine = mine ||
                   (worker->units[u].state == UNIT_MADE && worker->units[u].number == run->turn);
        if (mine)
            break;
        pthread_cond_wait(&run->turned, &run->lock);
    }
    pthread_mutex_unlock(&run->lock);
}

static int has_failed(bang_stream_run *run)
{
    pthread_mutex_lock(&run->lock);
    int failed = run->code != 0;
    pthread_mutex_unlock(&run->lock);
    return failed;
}

/* Starts units where there is room. *active tells how many are under way, *ended
 * how many came to their end: in their place others can begin. */
static int start_units(bang_stream_worker *worker, size_t *active, size_t *ended, bang_error *err)
{
    bang_stream_run *run = worker->run;
    *active = *ended = 0;
    for (size_t u = 0; u < worker->unit_count; u++) {
        bang_unit *unit = &worker->units[u];
        if (unit->state == UNIT_FREE) {
            int more = bang_stream_next(run, unit, err);
            if (more < 0)
                return more;
            if (more == 0)
                continue;
            unit->state = UNIT_READING;
            unit->pending = 0;
            int code = bang_unit_read(unit, run->items, run->inputs, run->capacity, worker->ring,
                                      run->stream->plain, err);
            if (code < 0)
                return code;
        }
        int code = advance(worker, unit, err);
        if (code < 0)
            return code;
        ++*(unit->state == UNIT_FREE ? ended : active);
    }
    return 0;
}

void *bang_stream_work(void *argument)
{
    bang_stream_worker *worker = argument;
    bang_stream_run *run = worker->run;
    bang_error err = {0};
    int code = 0, more = 1;
    while (code == 0 && more && !has_failed(run)) {
        size_t active, ended;
        code = start_units(worker, &active, &ended, &err);
        if (code < 0)
            break;
        bang_request *request = bang_ring_wait(worker->ring);
        if (request)
            code = complete(worker, request, &err);
        else if (active > 0)
            wait_turn(worker);
        else
            more = ended > 0;
    }
    if (code < 0)
        fail(run, code, &err);
    /* Memory that the kernel still writes to must not be freed. */
    for (bang_request *request = bang_ring_wait(worker->ring); request;
         request = bang_ring_wait(worker->ring))
        continue;
    return NULL;
}
