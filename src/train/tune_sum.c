/* The sum of gradients over ranks, while the way back through the network goes on.
 *
 * Backward goes from the head, which is last in the parameters, to the patches: what it has left
 * is final from some offset on. The gradient is cut into slices from its end; who is
 * the last of a rank's threads to leave a slice sums it over the threads, in their order, and
 * hands it to the ranks. A thread leaves slices in their order, and the one that sums leaves the
 * next only afterwards: so slices begin in the same order on every rank. */
#include <string.h>

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
    run->settled = bang_arena_alloc(&run->arena, borders, sizeof *run->settled);
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
    for (size_t s = 0; s < run->slice_count; s++)
        atomic_store(&run->settled[s], 0);
    for (int t = 0; t < run->threads; t++)
        run->team[t].slice = 0;
}

/* Over the threads, then over the ranks: in parts, so that the first is under way while the next
 * is summed. */
static void sum_slice(tune *run, size_t s)
{
    const bang_layers_f32 *layers = bang_layers_best_f32();
    size_t from = run->slice[s + 1], to = run->slice[s];
    while (from < to && run->sum_error.code == 0) {
        size_t count = to - from < TUNE_SLICE_MOST ? to - from : TUNE_SLICE_MOST;
        float *sum = run->team[0].gradient + from;
        for (int t = 1; t < run->active; t++)
            layers->add(sum, run->team[t].gradient + from, count);
        if (bang_ranks_begin_sum(run->options.train.ranks, sum, count, &run->sum_error) < 0)
            return;
        from += count;
    }
}

static void leave_slice(tune *run, size_t s)
{
    if (atomic_fetch_add(&run->settled[s], 1) + 1 == run->active)
        sum_slice(run, s);
}

void tune_settled(void *thread, size_t from)
{
    tune_thread *self = thread;
    tune *run = self->run;
    while (self->slice < run->slice_count && run->slice[self->slice + 1] >= from)
        leave_slice(run, self->slice++);
}

void tune_sum_rest(tune *run)
{
    for (size_t s = 0; s < run->slice_count; s++)
        if (run->active == 0 || atomic_load(&run->settled[s]) < run->active)
            sum_slice(run, s);
}

int tune_sum_end(tune *run, bang_error *err)
{
    int rc = bang_ranks_end_sums(run->options.train.ranks, err);
    if (run->sum_error.code < 0)
        rc = bang_fail(err, run->sum_error.code, "%s", run->sum_error.message);
    return rc;
}
