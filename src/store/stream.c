/* Sharing memory and work among threads. */
#include "store/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bang/base/arena.h"
#include "store/checkpoint.h"
#include "store/pages.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BANG_SANITIZED 1
#elif defined(__has_feature)
#define BANG_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define BANG_SANITIZED 0
#endif

enum {
    UNIT_MOST = 1 << 20,     /* bytes of an output that are made at a time */
    DEPTH = 4,               /* units under way per worker that has a ring */
    PLAIN_WORKERS = 8,       /* without rings: as many as the disk likes to see at once */
    OVERHEAD = 5 << 20,      /* a large page that is not full, stacks, rings, lists of pieces */
    MEMORY_USUAL = 64000000, /* where the caller says nothing */
};

/* Bytes of this process that are in memory now; 0 where it cannot be told. */
static uint64_t resident(void)
{
#if BANG_SANITIZED /* then most of it is the sanitizer's, and grows with what was freed */
    return 0;
#endif
    char line[128] = "", *pages = NULL;
    bang_memory_return(); /* the buffers of an earlier pass: they count once */
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fgets(line, sizeof line, file)) /* all pages, those in memory, ... */
        pages = strchr(line, ' ');
    fclose(file);
    return pages ? strtoull(pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Memory of one unit when that many bytes of an output are made at a time. */
static uint64_t unit_memory(const bang_stream_run *run, size_t bytes, size_t capacity)
{
    return (uint64_t)run->inputs * capacity + (uint64_t)run->output_count * bytes +
           BANG_UNIT_LEAST + 2 * (uint64_t)run->partial_size;
}

/* Bytes of an input for so many of an output, or for a scan of at least a block. */
static size_t input_bytes(const bang_stream_run *run, size_t bytes)
{
    size_t most = bytes;
    for (size_t i = 0; i < run->count; i++) {
        size_t step = bang_stream_widest(run, i), out = run->make ? run->items[i].step : step;
        size_t need = run->make ? (bytes + 2 * (size_t)run->slack + out) / out * step
                                : BANG_SCAN_BLOCK * step;
        most = need > most ? need : most;
    }
    return most;
}

/* What scattered tensors will take besides: a cache for each checkpoint. */
static uint64_t cache_memory(const bang_stream_run *run)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < run->inputs; k++) {
        int scattered = 0;
        for (size_t i = 0; i < run->count && !scattered; i++)
            scattered = run->items[i].feeds[k].entry && run->items[i].feeds[k].entry->strides;
        bytes += scattered ? bang_pages_memory() : 0;
    }
    return bytes;
}

/* Chooses the size of units, and how many there can be at a time. Where the caller
 * set no limit, many tensors may need more than usual: two small units will do. */
static int divide_memory(bang_stream_run *run, size_t wanted, size_t *units, bang_error *err)
{
    uint64_t limit = run->stream->max_memory ? run->stream->max_memory : MEMORY_USUAL;
    uint64_t base = resident() + OVERHEAD + cache_memory(run),
             left = limit > base ? limit - base : 0, need = 0;
    for (size_t bytes = UNIT_MOST; bytes >= BANG_UNIT_LEAST; bytes /= 2) {
        run->unit_bytes = bytes;
        run->capacity = bang_unit_capacity(input_bytes(run, bytes));
        need = unit_memory(run, bytes, run->capacity);
        *units = (size_t)(left / need);
        if (*units >= wanted || (bytes == BANG_UNIT_LEAST && *units > 0)) {
            *units = *units < wanted ? *units : wanted;
            return 0;
        }
    }
    if (run->stream->max_memory == 0) {
        *units = wanted < 2 ? wanted : 2;
        return 0;
    }
    return bang_fail(err, BANG_EUSAGE,
                     "%llu MB of memory are too few for %zu inputs and %zu outputs: at least %llu "
                     "MB are needed: raise --max-memory",
                     (unsigned long long)(limit / 1000000), run->inputs, run->output_count,
                     (unsigned long long)((base + need) / 1000000 + 2));
}

/* Buffers of all units in one piece, on large pages where they can be had: for
 * every request the kernel holds each page. */
static char *buffers(const bang_stream_run *run, size_t units)
{
    enum { LARGE = 2 << 20 };
    size_t size = units * (run->inputs * run->capacity + run->output_count * run->unit_bytes);
    size = (size + LARGE - 1) / LARGE * LARGE;
    char *memory = aligned_alloc(LARGE, size ? size : LARGE);
    if (memory)
        bang_memory_large(memory, size);
    return memory;
}

/* Takes the unit's buffers from *memory on. */
static int init_unit(bang_stream_run *run, bang_unit *unit, char **memory)
{
    unit->buffers = calloc(run->inputs + 1, sizeof *unit->buffers);
    unit->outputs = calloc(run->output_count + 1, sizeof *unit->outputs);
    unit->writes = calloc(run->output_count + 1, sizeof *unit->writes);
    unit->in = calloc(run->inputs + 1, sizeof *unit->in);
    int ok = unit->buffers && unit->outputs && unit->writes && unit->in;
    for (size_t i = 0; ok && i < run->inputs; i++, *memory += run->capacity)
        unit->buffers[i] = *memory;
    for (size_t i = 0; ok && i < run->output_count; i++, *memory += run->unit_bytes)
        unit->outputs[i] = *memory;
    if (ok && !run->make) {
        /* next_scan ends a unit once its partials reach this. */
        unit->partials = malloc(BANG_UNIT_LEAST + 2 * run->partial_size + 1);
        ok = unit->partials != NULL;
    }
    return ok ? 0 : -1;
}

/* The same file once more, for O_DIRECT. By its descriptor: another file may have
 * taken its name in the meantime. */
static int open_again(const bang_input *input)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", input->source.descriptor);
    return (int)TEMP_FAILURE_RETRY(open(link, O_RDONLY | O_DIRECT | O_CLOEXEC));
}

/* A second descriptor per input file that reads past the page cache. */
static void open_direct(const bang_stream_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        for (size_t k = 0; k < run->inputs; k++) {
            const bang_feed *feed = &run->items[i].feeds[k];
            if (!feed->entry)
                continue;
            bang_input *input = feed->checkpoint->files[feed->entry->file].input;
            if (input->direct < 0 && !input->is_packed && input->source.descriptor >= 0)
                input->direct = open_again(input);
        }
    }
}

static int run_workers(bang_stream_run *run, bang_stream_worker *workers, size_t count)
{
    size_t begun = 0;
    for (size_t i = 1; i < count; i++, begun++)
        if (pthread_create(&workers[i].thread, NULL, bang_stream_work, &workers[i]) != 0)
            break; /* fewer will do */
    bang_stream_work(&workers[0]);
    for (size_t i = 1; i <= begun; i++)
        pthread_join(workers[i].thread, NULL);
    return run->code;
}

/* Shares the units among workers and runs them. */
static int go(bang_stream_run *run, bang_error *err)
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
    bang_stream_worker *workers = calloc(count + 1, sizeof *workers);
    bang_unit *all = calloc(units + 1, sizeof *all);
    if (code == 0 && (!workers || !all))
        code = bang_fail_memory(err);
    char *memory = code == 0 ? buffers(run, units) : NULL, *free_memory = memory;
    if (code == 0 && !memory)
        code = bang_fail_memory(err);
    for (size_t u = 0; code == 0 && u < units; u++)
        if (init_unit(run, &all[u], &free_memory) < 0)
            code = bang_fail_memory(err);
    for (size_t w = 0; code == 0 && w < count; w++) {
        workers[w] =
            (bang_stream_worker){.run = run,
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
        /* Never a file with a hole that nobody noticed. */
        if (code == 0)
            code = bang_stream_next(run, &all[0], err); /* or cancelled, just now */
        if (code > 0 || (code == 0 && run->finished != run->next_number))
            code = bang_fail(err, BANG_EIO, "stream: work was left undone: please report this");
    }
    for (size_t w = 0; workers && w < count; w++)
        if (workers[w].ring != ring)
            bang_ring_close(workers[w].ring);
    bang_ring_close(ring);
    for (size_t u = 0; all && u < units; u++)
        bang_unit_release(&all[u]);
    free(memory);
    free(all);
    free(workers);
    return code;
}

static uint64_t total_bytes(const bang_stream_run *run)
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

static int execute(bang_stream_run *run, bang_error *err)
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
    bang_stream_run run = {.stream = stream,
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
static int sort_items(size_t **out, bang_stream_run *run, bang_error *err)
{
    struct placed *list = calloc(run->count + 1, sizeof *list);
    size_t *sorted = calloc(run->count + 1, sizeof *sorted);
    int code = list && sorted ? 0 : bang_fail_memory(err);
    for (size_t i = 0; code == 0 && i < run->count; i++) {
        const bang_stream_item *item = &run->items[i];
        list[i] = (struct placed){i, item->file, item->offset};
        for (size_t o = 0; code == 0 && o < run->output_count; o++) {
            int64_t shift = bang_stream_shift(run, o, item->item);
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
    bang_stream_run run = {.stream = stream,
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
