/* What several ranks make of their shares of the next pictures. */
#include <stdlib.h>
#include <string.h>

#include "train/predict.h"
#include "train/ranks.h"

int predict_round_init(bang_predictor *p, bang_error *err)
{
    if (bang_ranks_count(p->options.ranks) == 1)
        return 0;
    predict_round *w = p->whole = calloc(1, sizeof *w);
    if (!w)
        return bang_fail_memory(err);
    w->missing = calloc(p->round, sizeof *w->missing);
    w->index = calloc(p->round, sizeof *w->index);
    w->labels = calloc(p->round, sizeof *w->labels);
    w->told = calloc(p->images->count + 1, sizeof *w->told);
    p->bytes += p->round * (1 + sizeof *w->index + sizeof *w->labels) + p->images->count;
    return w->missing && w->index && w->labels && w->told ? 0 : bang_fail_memory(err);
}

void predict_round_release(predict_round *whole)
{
    if (!whole)
        return;
    for (size_t i = 0; i < whole->bad_count; i++)
        free(whole->bad[i]);
    free(whole->bad);
    free(whole->missing);
    free(whole->index);
    free(whole->labels);
    free(whole->told);
    free(whole);
}

static void hear(void *context, const char *message)
{
    predict_round *w = context;
    if (w->bad_count == w->bad_capacity) {
        size_t capacity = w->bad_capacity ? 2 * w->bad_capacity : 16;
        char **bad = realloc(w->bad, capacity * sizeof *bad);
        if (bad) {
            w->bad = bad;
            w->bad_capacity = capacity;
        }
    }
    char *copy = w->bad_count < w->bad_capacity ? strdup(message) : NULL;
    if (copy)
        w->bad[w->bad_count++] = copy;
    else
        w->failed = 1;
}

/* The rows of the own share, good ones together from the share's begin on, to where they belong. */
static void spread(bang_predictor *p, size_t from, size_t to)
{
    size_t row = from + p->sources[0].batch.count;
    for (size_t i = to; i-- > from;) {
        if (p->whole->missing[i])
            continue;
        row--;
        for (size_t m = 0; m < p->count && row != i; m++) {
            const subject *s = &p->subjects[m];
            memcpy(s->outputs + i * s->width, s->outputs + row * s->width,
                   s->width * sizeof *s->outputs);
        }
    }
}

/* Which pictures of the round are bad, and why. */
static int share_missing(bang_predictor *p, size_t many, size_t from, size_t to, bang_error *err)
{
    predict_round *w = p->whole;
    const bang_batch *batch = &p->sources[0].batch;
    size_t found = 0;
    for (size_t i = from; i < to; i++) {
        int came = found < batch->count && batch->index[found] == w->index[i];
        w->missing[i] = !came;
        found += (size_t)came;
    }
    spread(p, from, to);
    int rc = bang_ranks_gather(p->options.ranks, w->missing, 1, many, err);
    train_bad bad = {.picture = w->index,
                     .missing = w->missing,
                     .count = many,
                     .told = w->told,
                     .hear = hear,
                     .context = w};
    if (rc == 0)
        rc = train_share_bad(&bad, p->sources[0].feed, p->options.ranks, err);
    return rc == 0 && w->failed ? bang_fail_memory(err) : rc;
}

/* Good rows together; how many there are. */
static size_t compact(bang_predictor *p, size_t many)
{
    predict_round *w = p->whole;
    size_t kept = 0;
    for (size_t i = 0; i < many; i++) {
        if (w->missing[i])
            continue;
        for (size_t m = 0; m < p->count && kept < i; m++) {
            const subject *s = &p->subjects[m];
            memcpy(s->outputs + kept * s->width, s->outputs + i * s->width,
                   s->width * sizeof *s->outputs);
        }
        w->index[kept] = w->index[i];
        w->labels[kept++] = p->images->labels[w->index[i]];
    }
    return kept;
}

int predict_round_gather(bang_predicted *out, bang_predictor *p, size_t many, bang_error *err)
{
    predict_round *w = p->whole;
    size_t from, to;
    int rc = 0;
    bang_ranks_share(&from, &to, p->options.ranks, many);
    memset(w->missing, 0, many);
    for (size_t i = 0; i < many; i++)
        w->index[i] = (uint32_t)(p->taken + i);
    if (p->images->paths && p->options.feed.skip_bad)
        rc = share_missing(p, many, from, to, err);
    for (size_t m = 0; rc == 0 && m < p->count; m++) {
        const subject *s = &p->subjects[m];
        rc = bang_ranks_gather(p->options.ranks, s->outputs, s->width * sizeof *s->outputs, many,
                               err);
    }
    if (rc == 0)
        *out = (bang_predicted){compact(p, many), p->outputs, w->labels, w->index};
    return rc;
}
