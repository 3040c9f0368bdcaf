/* Which pictures a step of training sees.
 *
 * A batch is a row of positions with a picture each; order, partners and lambda are drawn for all
 * of it, the same on every rank. A rank takes its share of the positions and decodes those, and
 * the partners of its share. Which pictures are bad all ranks hear before they compute, as
 * the mean is taken over the good ones. */
#include <string.h>

#include "train/tune.h"

/* What the batch of a step, counted from 0, consists of. */
static void plan(tune *run, tune_request *r, uint64_t step)
{
    const bang_train_options *o = &run->options.train;
    const uint32_t *picture = train_next_batch(&run->order, &r->count);
    memcpy(r->picture, picture, r->count * sizeof *picture);
    bang_ranks_share(&r->from, &r->to, o->ranks, r->count);
    r->asked = 0;
    r->lambda = 1;
    for (size_t p = r->from; p < r->to; p++)
        r->position[r->asked++] = (uint32_t)p;
    if (!(o->mixup > 0))
        return;
    r->lambda = train_draw_mixing(r->partner, r->count, o, step);
    for (size_t p = r->from; p < r->to; p++)
        if (r->partner[p] < r->from || r->partner[p] >= r->to)
            r->position[r->asked++] = r->partner[p];
}

/* Asks for the batches that this step and those after it need. */
static int ask(tune *run, bang_error *err)
{
    uint64_t last = run->options.train.steps;
    while (run->asked < last && run->asked < run->step + TUNE_SLOTS) {
        tune_request *r = &run->requests[run->asked % TUNE_SLOTS];
        plan(run, r, run->asked);
        for (size_t i = 0; i < r->asked; i++)
            run->index[i] = r->picture[r->position[i]];
        /* a picture comes once in an epoch: its changes are named by the epoch */
        int rc = bang_feed_ask(run->feed, run->index, r->asked, run->order.epoch - 1, err);
        if (rc < 0)
            return rc;
        run->asked++;
    }
    return 0;
}

static void hear(void *context, const char *message)
{
    const tune *run = context;
    if (run->options.bad)
        run->options.bad(run->options.context, message);
}

/* What is missing anywhere is so everywhere. */
static int share_missing(tune *run, const tune_request *r, bang_error *err)
{
    bang_ranks *ranks = run->options.train.ranks;
    int rc = bang_ranks_max_u8(ranks, run->missing, r->count, err);
    for (size_t i = 0; rc == 0 && i < r->asked; i++)
        if (run->missing[r->position[i]] && run->row[r->position[i]] != UINT32_MAX)
            rc = bang_fail(err, BANG_EDATA,
                           "%.300s: rank %d can read it, another cannot: give all ranks the same "
                           "pictures",
                           run->images->paths[r->picture[r->position[i]]], bang_ranks_rank(ranks));
    train_bad bad = {.picture = r->picture,
                     .missing = run->missing,
                     .count = r->count,
                     .told = run->told,
                     .hear = hear,
                     .context = run};
    return rc < 0 ? rc : train_share_bad(&bad, run->feed, ranks, err);
}

/* Which of the positions that were asked for did not come. */
static int look_for_missing(tune *run, const tune_request *r, bang_error *err)
{
    int shared = bang_ranks_count(run->options.train.ranks) > 1, rc = 0;
    uint32_t found = 0;
    memset(run->missing, 0, r->count);
    for (size_t i = 0; i < r->asked; i++) {
        size_t p = r->position[i];
        int came = found < run->batch.count && run->batch.index[found] == r->picture[p];
        run->missing[p] = !came;
        run->row[p] = came ? found++ : UINT32_MAX;
    }
    if (shared && run->images->paths && run->options.feed.skip_bad)
        rc = share_missing(run, r, err);
    for (size_t p = 0; p < r->count; p++)
        if (run->missing[p])
            run->bad[r->picture[p]] = 1;
    for (size_t count = bang_feed_bad_count(run->feed); !shared && run->heard < count; run->heard++)
        hear(run, bang_feed_bad(run->feed, run->heard));
    return rc;
}

/* The pictures of the share come first, in its order. One whose partner is bad stays as it is. */
static void find_rows(tune *run, const tune_request *r)
{
    run->mine = run->whole = 0;
    for (size_t p = 0; p < r->count; p++)
        run->whole += !run->missing[p];
    for (size_t p = r->from; p < r->to; p++) {
        if (run->missing[p])
            continue;
        size_t q = run->options.train.mixup > 0 ? r->partner[p] : p;
        run->partner[run->mine++] = run->row[run->missing[q] ? p : q];
    }
}

static int take(tune *run, bang_error *err)
{
    int rc = ask(run, err);
    const tune_request *r = &run->requests[run->step % TUNE_SLOTS];
    if (rc == 0)
        rc = bang_feed_take(&run->batch, run->feed, err);
    if (rc == 0)
        rc = look_for_missing(run, r, err);
    if (rc == 0)
        find_rows(run, r);
    return rc;
}

/* Rows of kept features, which all ranks have. */
static void take_features(tune *run)
{
    tune_request *r = &run->requests[0];
    plan(run, r, run->step);
    run->mine = run->whole = 0;
    for (size_t p = 0; p < r->count; p++) {
        if (!run->features.known[r->picture[p]])
            continue;
        run->whole++;
        if (p < r->from || p >= r->to)
            continue;
        run->index[run->mine] = r->picture[p];
        run->labels[run->mine++] = run->images->labels[r->picture[p]];
    }
    run->batch = (bang_batch){.count = run->mine, .labels = run->labels, .index = run->index};
}

int tune_next_batch(tune *run, bang_error *err)
{
    const bang_train_options *o = &run->options.train;
    int rc = 0;
    if (run->feed)
        rc = take(run, err);
    else
        take_features(run);
    if (rc < 0)
        return rc;
    tune_targets *targets = &run->targets;
    *targets = (tune_targets){.kind = o->loss,
                              .classes = run->model->vit.config.classes,
                              .batch = run->whole,
                              .labels = run->batch.labels,
                              .lambda = 1};
    train_smooth(&targets->hit, &targets->miss, targets->classes, o);
    if (o->mixup > 0) {
        targets->lambda = run->requests[run->step % TUNE_SLOTS].lambda;
        targets->partner = run->partner;
    }
    return 0;
}
