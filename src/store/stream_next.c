/* Cutting the work into units. */
#include "store/stream.h"

/* Lists of pieces count as memory, too. */
enum { PIECES_MOST = 2048 };

size_t bang_stream_widest(const bang_stream_run *run, size_t item)
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
static int next_scan(bang_stream_run *run, bang_unit *unit, bang_error *err)
{
    size_t bytes = 0;
    while (run->next_item < run->count) {
        const bang_stream_item *item = &run->items[run->next_item];
        uint64_t left = item->count - run->next_first;
        size_t count = left < BANG_SCAN_BLOCK ? (size_t)left : BANG_SCAN_BLOCK;
        size_t size = count * bang_stream_widest(run, run->next_item);
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
        if (unit->piece_count * run->partial_size > BANG_UNIT_LEAST ||
            unit->piece_count >= PIECES_MOST)
            break;
    }
    return unit->piece_count > 0;
}

int64_t bang_stream_shift(const bang_stream_run *run, size_t output, size_t item)
{
    const bang_output_item *first = &run->outputs[0]->items[item];
    return (int64_t)run->outputs[output]->items[item].offset - (int64_t)first->offset;
}

void bang_stream_overlap(uint64_t *first, uint64_t *count, const bang_stream_item *item,
                         int64_t shift, uint64_t begin, uint64_t end)
{
    uint64_t from = item->offset + (uint64_t)shift, to = from + item->count * item->step;
    uint64_t low = begin > from ? begin : from, high = end < to ? end : to;
    *first = low < high ? (low - from) / item->step : 0;
    *count = low < high ? (high - from) / item->step - *first : 0;
}

/* Where a unit of tiny tensors ends before its bytes are full: at a page before the
 * tensor that would be one too many. */
static uint64_t end_of_pieces(const bang_stream_run *run, const bang_unit *unit)
{
    size_t k = run->next_item + PIECES_MOST;
    if (k >= run->count)
        return unit->end;
    const bang_stream_item *item = &run->items[run->sorted[k]];
    if (item->file != unit->file || item->offset < run->slack)
        return unit->end;
    uint64_t end = (item->offset - run->slack) / BANG_PAGE * BANG_PAGE;
    return end > unit->begin && end < unit->end ? end : unit->end;
}

/* A unit of a file to be written: the same bytes of every output, and all
 * numbers that any of them needs. */
static int next_write(bang_stream_run *run, bang_unit *unit, bang_error *err)
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
    unit->end = end_of_pieces(run, unit);
    run->next_offset = unit->end;
    int passed = 1; /* so far every item ends before this unit does, in every output */
    for (size_t k = run->next_item; k < run->count; k++) {
        size_t index = run->sorted[k];
        const bang_stream_item *item = &run->items[index];
        uint64_t low = UINT64_MAX, high = 0;
        int beyond = item->file != unit->file, ended = 1;
        for (size_t o = 0; o < run->output_count && !beyond; o++) {
            int64_t shift = bang_stream_shift(run, o, item->item);
            uint64_t first, count, from = item->offset + (uint64_t)shift;
            bang_stream_overlap(&first, &count, item, shift, unit->begin, unit->end);
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

int bang_stream_next(bang_stream_run *run, bang_unit *unit, bang_error *err)
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
