/* Workers take units one after the other, read what a unit needs, let the
 * caller look at it or make the output from it, and write that. Each has a ring
 * of its own and several units under way; without rings there are more workers
 * with one unit each. */
#include "bang/store/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/checkpoint.h"
#include "store/unit.h"

enum {
    UNIT_LEAST = 65536,
    UNIT_MOST = 1 << 20,     /* bytes of an output that are made at a time */
    DEPTH = 4,               /* units under way per worker that has a ring */
    PLAIN_WORKERS = 8,       /* without rings: as many as the disk likes to see at once */
    OVERHEAD = 3 << 20,      /* stacks, rings, lists of pieces */
    MEMORY_USUAL = 64 << 20, /* where the caller says nothing */
};

struct run {
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
    size_t next_item;           /* scan: item; write: place in sorted */
    uint64_t next_first;        /* scan: number of the item */
    size_t next_file;           /* write */
    uint64_t next_offset;
    uint64_t done, total; /* bytes, for progress */
    int code;             /* the first failure */
    bang_error err;
};

struct worker {
    struct run *run;
    pthread_t thread;
    bang_ring *ring;
    bang_unit *units; /* (unit_count) */
    size_t unit_count;
};

static void fail(struct run *run, int code, const bang_error *err)
{
    pthread_mutex_lock(&run->lock);
    if (run->code == 0) {
        run->code = code;
        run->err = *err;
    }
    pthread_cond_broadcast(&run->turned);
    pthread_mutex_unlock(&run->lock);
}

/* Bytes of the widest input of an item. */
static size_t widest(const struct run *run, size_t item)
{
    size_t step = 1;
    for (size_t i = 0; i < run->inputs; i++) {
        const bang_entry *entry = run->items[item].feeds[i].entry;
        if (entry && bang_entry_step(entry) > step)
            step = bang_entry_step(entry);
    }
    return step;
}

/* A unit of a scan: as many whole blocks as fit. 0 when there is nothing left. */
static int next_scan(struct run *run, bang_unit *unit, bang_error *err)
{
    size_t bytes = 0;
    while (run->next_item < run->count) {
        const bang_stream_item *item = &run->items[run->next_item];
        uint64_t left = item->count - run->next_first;
        size_t count = left < BANG_SCAN_BLOCK ? (size_t)left : BANG_SCAN_BLOCK;
        size_t size = count * widest(run, run->next_item);
        if (unit->piece_count > 0 && size > run->unit_bytes - bytes)
            break;
        if (count > 0 && bang_unit_add(unit, run->next_item, run->next_first, count) < 0)
            return bang_fail_memory(err);
        bytes += size < run->unit_bytes - bytes ? size : run->unit_bytes - bytes;
        run->next_first += count;
        if (run->next_first == item->count) {
            run->next_item++;
            run->next_first = 0;
        }
        if (unit->piece_count * run->partial_size > UNIT_LEAST)
            break;
    }
    return unit->piece_count > 0;
}

/* How far the data of output o lie behind those of output 0: their headers
 * differ when the recipes do. */
static int64_t shift_of(const struct run *run, size_t output, size_t item)
{
    const bang_output_item *first = &run->outputs[0]->items[item];
    return (int64_t)run->outputs[output]->items[item].offset - (int64_t)first->offset;
}

/* The numbers of an item that lie in bytes begin .. end-1 of a file of an output. */
static void overlap(uint64_t *first, uint64_t *count, const bang_stream_item *item, int64_t shift,
                    uint64_t begin, uint64_t end)
{
    uint64_t from = item->offset + (uint64_t)shift, to = from + item->count * item->step;
    uint64_t low = begin > from ? begin : from, high = end < to ? end : to;
    *first = low < high ? (low - from) / item->step : 0;
    *count = low < high ? (high - from) / item->step - *first : 0;
}

/* A unit of a file to be written: the same bytes of every output, and all
 * numbers that any of them needs. */
static int next_write(struct run *run, bang_unit *unit, bang_error *err)
{
    uint64_t size = 0;
    for (;;) {
        size = 0;
        if (run->next_file == run->outputs[0]->file_count)
            return 0;
        for (size_t o = 0; o < run->output_count; o++) {
            uint64_t other = run->outputs[o]->files[run->next_file].size;
            size = other > size ? other : size;
        }
        if (run->next_offset < size)
            break;
        run->next_file++;
        run->next_offset = 0;
        while (run->next_item < run->count &&
               run->items[run->sorted[run->next_item]].file < run->next_file)
            run->next_item++;
    }
    unit->file = run->next_file;
    unit->begin = run->next_offset;
    unit->end = size - unit->begin < run->unit_bytes ? size : unit->begin + run->unit_bytes;
    run->next_offset = unit->end;
    int passed = 1; /* so far every item ends before this unit does, in every output */
    for (size_t k = run->next_item; k < run->count; k++) {
        size_t index = run->sorted[k];
        const bang_stream_item *item = &run->items[index];
        uint64_t low = UINT64_MAX, high = 0;
        int beyond = item->file != unit->file, ended = 1;
        for (size_t o = 0; o < run->output_count && !beyond; o++) {
            int64_t shift = shift_of(run, o, item->item);
            uint64_t first, count, from = item->offset + (uint64_t)shift;
            overlap(&first, &count, item, shift, unit->begin, unit->end);
            if (count > 0 && first < low)
                low = first;
            if (count > 0 && first + count > high)
                high = first + count;
            ended = ended && from + item->count * item->step <= unit->end;
            beyond = o == 0 && from >= unit->end + run->slack;
        }
        if (beyond)
            break;
        if (high > low && bang_unit_add(unit, index, low, (size_t)(high - low)) < 0)
            return bang_fail_memory(err);
        passed = passed && ended;
        if (passed)
            run->next_item = k + 1;
    }
    return 1;
}

/* Fills unit with the next work; 1, 0 when there is none, or negative. */
static int next_unit(struct run *run, bang_unit *unit, bang_error *err)
{
    unit->piece_count = unit->run_count = 0;
    pthread_mutex_lock(&run->lock);
    int code = 0;
    if (run->code == 0 && bang_cancelled(run->stream->cancel))
        code = bang_fail(err, BANG_ECANCELLED, "interrupted: nothing was written");
    else if (run->code == 0)
        code = run->make ? next_write(run, unit, err) : next_scan(run, unit, err);
    unit->number = run->next_number;
    if (code > 0)
        run->next_number++;
    pthread_mutex_unlock(&run->lock);
    return code;
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
static void make_output(struct run *run, bang_unit *unit, size_t o)
{
    char *out = unit->outputs[o];
    bang_output *output = run->outputs[o];
    const void *in[64];
    const void **list = run->inputs <= 64 ? in : calloc(run->inputs, sizeof *list);
    if (output->in_order)
        memset(out, 0, (size_t)(unit->end - unit->begin));
    add_spans(&output->files[unit->file], unit, out);
    for (size_t p = 0; list && p < unit->piece_count; p++) {
        const bang_piece *piece = &unit->pieces[p];
        const bang_stream_item *item = &run->items[piece->item];
        int64_t shift = shift_of(run, o, item->item);
        uint64_t first, count, from = item->offset + (uint64_t)shift;
        overlap(&first, &count, item, shift, unit->begin, unit->end);
        for (size_t i = 0; i < run->inputs; i++) {
            const bang_entry *entry = item->feeds[i].entry;
            const char *where = unit->where[p * run->inputs + i];
            list[i] = entry ? where + (first - piece->first) * bang_entry_step(entry) : NULL;
        }
        char *to = out + (from + first * item->step - unit->begin);
        if (count > 0) {
            run->make(run->context, o, piece->item, first, (size_t)count, list, to);
            if (output->in_order)
                bang_output_saw(output, item->item, to, (size_t)count * item->step);
        }
    }
    if (list != in)
        free((void *)list);
}

/* Shows the blocks of a unit to the caller; what was found waits in partials. */
static void look(struct run *run, bang_unit *unit)
{
    const void *in[64];
    const void **list = run->inputs <= 64 ? in : calloc(run->inputs, sizeof *list);
    memset(unit->partials, 0, unit->piece_count * run->partial_size);
    for (size_t p = 0; list && p < unit->piece_count; p++) {
        const bang_piece *piece = &unit->pieces[p];
        for (size_t i = 0; i < run->inputs; i++)
            list[i] = unit->where[p * run->inputs + i];
        run->block(run->context, piece->item, piece->first, piece->count, list,
                   unit->partials + p * run->partial_size);
    }
    if (list != in)
        free((void *)list);
}

/* Folds if it is this unit's turn; 1 if it was. */
static int try_fold(struct run *run, bang_unit *unit)
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

static void finish_unit(struct run *run, bang_unit *unit, uint64_t written)
{
    pthread_mutex_lock(&run->lock);
    run->stream->bytes_read += unit->bytes;
    run->stream->bytes_written += written;
    run->done += unit->bytes + written;
    uint64_t done = run->done;
    pthread_mutex_unlock(&run->lock);
    bang_progress_step(run->stream->progress, done, run->total);
    unit->state = UNIT_FREE;
}

/* Writes the unit's part of every output, or starts to. Whole pages go past the
 * page cache; the last bytes of a file cannot. */
static int start_writes(struct worker *worker, bang_unit *unit, bang_error *err)
{
    struct run *run = worker->run;
    int code = 0;
    for (size_t o = 0; code == 0 && o < run->output_count; o++) {
        bang_output_file *file = &run->outputs[o]->files[unit->file];
        bang_request *request = &unit->writes[o];
        uint64_t end = file->size < unit->end ? file->size : unit->end;
        size_t size = end > unit->begin ? (size_t)(end - unit->begin) : 0;
        size_t whole = size / BANG_PAGE * BANG_PAGE;
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
static int advance(struct worker *worker, bang_unit *unit, bang_error *err)
{
    struct run *run = worker->run;
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
        finish_unit(run, unit, 0);
    if (code == 0 && unit->state == UNIT_WRITING && unit->pending == 0)
        finish_unit(run, unit, (unit->end - unit->begin) * run->output_count);
    return code;
}

/* One request of this worker is done. */
static int complete(struct worker *worker, bang_request *request, bang_error *err)
{
    struct run *run = worker->run;
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
static void wait_turn(struct worker *worker)
{
    struct run *run = worker->run;
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

static int has_failed(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    int failed = run->code != 0;
    pthread_mutex_unlock(&run->lock);
    return failed;
}

/* Starts units where there is room. *active tells how many are under way,
 * *started how many were begun, some of which may have ended already. */
static int start_units(struct worker *worker, size_t *active, size_t *started, bang_error *err)
{
    struct run *run = worker->run;
    *active = *started = 0;
    for (size_t u = 0; u < worker->unit_count; u++) {
        bang_unit *unit = &worker->units[u];
        if (unit->state == UNIT_FREE) {
            int more = next_unit(run, unit, err);
            if (more < 0)
                return more;
            if (more == 0)
                continue;
            ++*started;
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
        *active += unit->state != UNIT_FREE;
    }
    return 0;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    bang_error err = {0};
    int code = 0, more = 1;
    while (code == 0 && more && !has_failed(run)) {
        size_t active, started;
        code = start_units(worker, &active, &started, &err);
        if (code < 0)
            break;
        bang_request *request = bang_ring_wait(worker->ring);
        if (request)
            code = complete(worker, request, &err);
        else if (active > 0)
            wait_turn(worker);
        else
            more = started > 0;
    }
    if (code < 0)
        fail(run, code, &err);
    /* Memory that the kernel still writes to must not be freed. */
    for (bang_request *request = bang_ring_wait(worker->ring); request;
         request = bang_ring_wait(worker->ring))
        continue;
    return NULL;
}

/* Bytes of this process that are in memory now; 0 where it cannot be told. */
static uint64_t resident(void)
{
    unsigned long long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    int read = fscanf(file, "%llu %llu", &total, &pages);
    fclose(file);
    return read == 2 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Memory of one unit when that many bytes of an output are made at a time. */
static uint64_t unit_memory(const struct run *run, size_t bytes, size_t capacity)
{
    return (uint64_t)run->inputs * capacity + (uint64_t)run->output_count * bytes + UNIT_LEAST;
}

/* Bytes of an input for so many of an output, or for a scan of at least a block. */
static size_t input_bytes(const struct run *run, size_t bytes)
{
    size_t most = bytes;
    for (size_t i = 0; i < run->count; i++) {
        size_t step = widest(run, i), out = run->make ? run->items[i].step : step;
        size_t need =
            run->make ? (bytes + (size_t)run->slack + out) / out * step : BANG_SCAN_BLOCK * step;
        most = need > most ? need : most;
    }
    return most;
}

/* Chooses the size of units, and how many there can be at a time. */
static int divide_memory(struct run *run, size_t wanted, size_t *units, bang_error *err)
{
    uint64_t limit = run->stream->max_memory ? run->stream->max_memory : MEMORY_USUAL;
    uint64_t base = resident() + OVERHEAD, left = limit > base ? limit - base : 0, need = 0;
    for (size_t bytes = UNIT_MOST; bytes >= UNIT_LEAST; bytes /= 2) {
        run->unit_bytes = bytes;
        run->capacity = bang_unit_capacity(input_bytes(run, bytes));
        need = unit_memory(run, bytes, run->capacity);
        *units = (size_t)(left / need);
        if (*units >= wanted || (bytes == UNIT_LEAST && *units > 0)) {
            *units = *units < wanted ? *units : wanted;
            return 0;
        }
    }
    return bang_fail(err, BANG_EUSAGE,
                     "%llu MB of memory are too few for %zu inputs and %zu outputs: at least %llu "
                     "MB are needed: raise --max-memory",
                     (unsigned long long)(limit >> 20), run->inputs, run->output_count,
                     (unsigned long long)((base + need) / 1000000 + 1));
}

static int init_unit(struct run *run, bang_unit *unit)
{
    unit->buffers = calloc(run->inputs + 1, sizeof *unit->buffers);
    unit->outputs = calloc(run->output_count + 1, sizeof *unit->outputs);
    unit->writes = calloc(run->output_count + 1, sizeof *unit->writes);
    int ok = unit->buffers && unit->outputs && unit->writes;
    for (size_t i = 0; ok && i < run->inputs; i++)
        ok = (unit->buffers[i] = aligned_alloc(BANG_PAGE, run->capacity)) != NULL;
    for (size_t i = 0; ok && i < run->output_count; i++)
        ok = (unit->outputs[i] = aligned_alloc(BANG_PAGE, run->unit_bytes)) != NULL;
    if (ok && !run->make) {
        /* next_scan ends a unit once its partials reach this. */
        unit->partials = malloc(UNIT_LEAST + 2 * run->partial_size + 1);
        ok = unit->partials != NULL;
    }
    return ok ? 0 : -1;
}

/* A second descriptor per input file that reads past the page cache. */
static void open_direct(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        for (size_t k = 0; k < run->inputs; k++) {
            const bang_feed *feed = &run->items[i].feeds[k];
            if (!feed->entry)
                continue;
            const bang_checkpoint_file *file = &feed->checkpoint->files[feed->entry->file];
            if (file->input->direct < 0 && file->path && file->input->source.descriptor >= 0)
                file->input->direct = open(file->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
        }
    }
}

static int run_workers(struct run *run, struct worker *workers, size_t count)
{
    size_t begun = 0;
    for (size_t i = 1; i < count; i++, begun++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            break; /* fewer will do */
    work(&workers[0]);
    for (size_t i = 1; i <= begun; i++)
        pthread_join(workers[i].thread, NULL);
    return run->code;
}

/* Shares the units among workers and runs them. */
static int go(struct run *run, bang_error *err)
{
    int in_order = 0;
    for (size_t o = 0; o < run->output_count; o++)
        in_order = in_order || run->outputs[o]->in_order;
    int cores = run->stream->threads > 0 ? run->stream->threads : bang_threads_available();
    bang_ring *ring = run->stream->plain || in_order ? NULL : bang_ring_open();
    size_t count = in_order ? 1 : ring || run->stream->plain ? (size_t)cores : PLAIN_WORKERS;
    size_t depth = ring ? DEPTH : 1, units = 0;
    int code = divide_memory(run, count * depth, &units, err);
    count = code == 0 && units < count ? units : count;
    struct worker *workers = calloc(count + 1, sizeof *workers);
    bang_unit *all = calloc(units + 1, sizeof *all);
    if (code == 0 && (!workers || !all))
        code = bang_fail_memory(err);
    for (size_t u = 0; code == 0 && u < units; u++)
        if (init_unit(run, &all[u]) < 0)
            code = bang_fail_memory(err);
    for (size_t w = 0; code == 0 && w < count; w++) {
        workers[w] = (struct worker){.run = run,
                                     .ring = !ring    ? NULL
                                             : w == 0 ? ring
                                                      : bang_ring_open(),
                                     .units = &all[w * units / count],
                                     .unit_count = (w + 1) * units / count - w * units / count};
    }
    if (code == 0) {
        open_direct(run);
        code = run_workers(run, workers, count);
        if (code < 0 && err)
            *err = run->err;
    }
    for (size_t w = 0; workers && w < count; w++)
        if (workers[w].ring != ring)
            bang_ring_close(workers[w].ring);
    bang_ring_close(ring);
    for (size_t u = 0; all && u < units; u++)
        bang_unit_release(&all[u], run->inputs, run->output_count);
    free(all);
    free(workers);
    return code;
}

static uint64_t total_bytes(const struct run *run)
{
    uint64_t total = 0;
    for (size_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->inputs; k++)
            if (run->items[i].feeds[k].entry)
                total += run->items[i].count * bang_entry_step(run->items[i].feeds[k].entry);
    for (size_t o = 0; o < run->output_count; o++)
        for (size_t f = 0; f < run->outputs[o]->file_count; f++)
            total += run->outputs[o]->files[f].size;
    return total;
}

static int execute(struct run *run, bang_error *err)
{
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->turned, NULL);
    run->total = total_bytes(run);
    int code = go(run, err);
    pthread_cond_destroy(&run->turned);
    pthread_mutex_destroy(&run->lock);
    return code;
}

int bang_stream_scan(bang_stream *stream, const bang_stream_item *items, size_t count,
                     size_t inputs, size_t partial_size, bang_scan_block block, bang_scan_fold fold,
                     void *context, bang_error *err)
{
    struct run run = {.stream = stream,
                      .items = items,
                      .count = count,
                      .inputs = inputs,
                      .partial_size = partial_size,
                      .block = block,
                      .fold = fold,
                      .context = context};
    return execute(&run, err);
}

struct placed {
    size_t index, file;
    uint64_t offset;
};

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The items by their place, and that no number lies across a page: units end at
 * pages. The caller frees. */
static int sort_items(size_t **out, struct run *run, bang_error *err)
{
    struct placed *list = calloc(run->count + 1, sizeof *list);
    size_t *sorted = calloc(run->count + 1, sizeof *sorted);
    int code = list && sorted ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < run->count; i++) {
        const bang_stream_item *item = &run->items[i];
        list[i] = (struct placed){i, item->file, item->offset};
        for (size_t o = 0; code == 0 && o < run->output_count; o++) {
            int64_t shift = shift_of(run, o, item->item);
            uint64_t distance = (uint64_t)(shift < 0 ? -shift : shift);
            run->slack = distance > run->slack ? distance : run->slack;
            if ((item->offset + (uint64_t)shift) % item->step != 0)
                code = bang_fail(err, BANG_EUSAGE, "stream: tensor %zu is not aligned", i);
        }
    }
    if (code == 0)
        qsort(list, run->count, sizeof *list, by_place);
    for (size_t i = 0; code == 0 && i < run->count; i++)
        sorted[i] = list[i].index;
    free(list);
    *out = sorted;
    return code;
}

int bang_stream_write(bang_stream *stream, const bang_stream_item *items, size_t count,
                      size_t inputs, bang_output *const *outputs, size_t output_count,
                      bang_stream_make make, void *context, bang_error *err)
{
    struct run run = {.stream = stream,
                      .items = items,
                      .count = count,
                      .inputs = inputs,
                      .outputs = outputs,
                      .output_count = output_count,
                      .make = make,
                      .context = context};
    size_t *sorted = NULL;
    int code = sort_items(&sorted, &run, err);
    run.sorted = sorted;
    if (code == 0 && output_count > 0)
        code = execute(&run, err);
    free(sorted);
    return code;
}
