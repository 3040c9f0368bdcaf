/* The sum of gradients over ranks, while the way back through the network goes on.
 *
 * Backward goes from the head, which is last in the parameters, to the patches: what it has left
 * is final from some offset on. The gradient is cut into slices from its end. Threads meet in
 * pairs when they leave a slice: who comes first goes on, who comes second adds the two and meets
 * the next pair, so that the order of the sum is that of a tree and nobody waits. The last
 * hands the slice to the ranks. A thread leaves slices in their order, and leaves the next
 * only when it has done its part of this one: so slices begin in the same order on every rank. */
#include <time.h>

#include "train/tune.h"

/* Where a slice may end, from the end of the parameters to their beginning: at the head, the last
 * norm, each block. Returns the k-th such offset in what is trained. */
static size_t border(const tune *run, size_t k)
{
    const bang_vit_map *map = &run->model->vit.map;
    size_t depth = run->model->vit.config.depth;
    if (run->options.only_head || k == depth + 2)
        return 0;
    return k == 0   ? map->head_weight
           : k == 1 ? map->norm_gain
                    : map->blocks[depth + 1 - k].norm1_gain;
}

int tune_sum_prepare(tune *run, bang_error *err)
{
    size_t borders = run->model->vit.config.depth + 3, last = run->count;
    if (bang_ranks_count(run->options.train.ranks) == 1)
        return 0;
    run->slice = bang_arena_alloc(&run->arena, borders + 1, sizeof *run->slice);
    run->settled =
        bang_arena_alloc(&run->arena, borders * (size_t)run->threads, sizeof *run->settled);
    if (!run->slice || !run->settled)
        return bang_fail_memory(err);
    run->slice[0] = last;
    for (size_t k = 0; k < borders && last > 0; k++) {
        size_t from = border(run, k);
        if (from > 0 && last - from < TUNE_SLICE)
            continue;
        run->slice[++run->slice_count] = last = from;
    }
    for (int t = 0; t < run->threads; t++) {
        run->team[t].run = run;
        run->team[t].worker.context = &run->team[t];
    }
    return 0;
}

void tune_sum_begin(tune *run)
{
    run->sum_error = (bang_error){0};
    for (size_t i = 0; i < run->slice_count * (size_t)run->threads; i++)
        atomic_store(&run->settled[i], 0);
    for (int t = 0; t < run->threads; t++)
        run->team[t].slice = 0;
}

/* The slice of the first thread, which is the sum over all, to the ranks: in parts, so that one is
 * on its way while the next is copied. */
static void hand_over(tune *run, size_t s)
{
    size_t from = run->slice[s + 1], to = run->slice[s];
    while (from < to && run->sum_error.code == 0) {
        size_t count = to - from < TUNE_SLICE_MOST ? to - from : TUNE_SLICE_MOST;
        bang_ranks_begin_sum(run->options.train.ranks, run->team[0].gradient + from, count,
                             &run->sum_error);
        from += count;
        run->sums.count++;
        run->sums.bytes += count * sizeof(float);
    }
}

/* A pair is known by the lower thread of its upper half. */
static void leave_slice(tune *run, size_t s, int t)
{
    atomic_int *met = run->settled + s * (size_t)run->threads;
    size_t from = run->slice[s + 1], count = run->slice[s] - from;
    for (int width = 1; width < run->active; width *= 2) {
        int low = t / (2 * width) * (2 * width), high = low + width;
        if (high >= run->active) /* nobody there */
            continue;
        if (atomic_fetch_add(&met[high], 1) == 0)
            return;
        bang_layers_best_f32()->add(run->team[low].gradient + from, run->team[high].gradient + from,
                                    count);
    }
    hand_over(run, s);
}

void tune_settled(void *thread, size_t from)
{
    tune_thread *self = thread;
    tune *run = self->run;
    int t = (int)(self - run->team);
    while (self->slice < run->slice_count && run->slice[self->slice + 1] >= from)
        leave_slice(run, self->slice++, t);
}

void tune_sum_all(tune *run)
{
    for (size_t s = 0; s < run->slice_count; s++) {
        for (int t = 0; t < run->active; t++)
            leave_slice(run, s, t);
        if (run->active == 0)
            hand_over(run, s);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int tune_sum_end(tune *run, bang_error *err)
{
    double begin = now();
    int rc = bang_ranks_end_sums(run->options.train.ranks, err);
    run->sums.waited += now() - begin;
    if (run->sum_error.code < 0)
        rc = bang_fail(err, run->sum_error.code, "%s", run->sum_error.message);
    return rc;
}
