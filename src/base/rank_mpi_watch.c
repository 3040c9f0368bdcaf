/* The watch: a thread that misses a rank while all others compute. */
#include <time.h>

#include "base/rank_mpi.h"

static const double pause = .05; /* seconds between two looks */
/* Who waits for others finds out at once, and says more. A launcher that has lost a rank kills the
 * others after a second. */
static const double head_start = .3;

/* 1 when the thread is to end. */
static int rest(bang_ranks *ranks)
{
    double until = ranks_seconds() + pause;
    struct timespec end = {(time_t)until, (long)(1e9 * (until - (double)(time_t)until))};
    pthread_mutex_lock(&ranks->post);
    while (!ranks->leaving && ranks_seconds() < until)
        pthread_cond_timedwait(&ranks->relieved, &ranks->post, &end);
    int leaving = ranks->leaving;
    pthread_mutex_unlock(&ranks->post);
    return leaving;
}

/* 1 when there is nothing more to look for. *since: when somebody was first missed, 0 before. */
static int look(bang_ranks *ranks, double *since)
{
    double now = ranks_seconds();
    ranks_lock(ranks);
    int over = ranks->finished, gone = over ? -1 : ranks_find_gone(ranks);
    if (gone >= 0 && *since == 0)
        *since = now;
    /* Who has told its own end is about to speak. Locked, so that it hears what was said. */
    if (gone >= 0 && now - *since > head_start && ranks->own.end == RANKS_AT_WORK &&
        ranks_speaks(ranks)) {
        bang_error why = {0};
        ranks_fail_gone(gone, &why);
        ranks->lost(ranks->lost_context, &why);
        over = 1;
    }
    ranks_unlock(ranks);
    return over;
}

static void *watch(void *argument)
{
    double since = 0;
    while (!rest(argument) && !look(argument, &since)) {
    }
    return NULL;
}

void bang_ranks_watch(bang_ranks *ranks, void (*lost)(void *context, const bang_error *why),
                      void *context)
{
    if (!ranks || ranks->watching)
        return;
    ranks->lost = lost;
    ranks->lost_context = context;
    ranks->watching = pthread_create(&ranks->watcher, NULL, watch, ranks) == 0;
}

void ranks_unwatch(bang_ranks *ranks)
{
    if (!ranks->watching)
        return;
    pthread_mutex_lock(&ranks->post);
    ranks->leaving = 1;
    pthread_cond_signal(&ranks->relieved);
    pthread_mutex_unlock(&ranks->post);
    pthread_join(ranks->watcher, NULL);
    ranks->watching = 0;
}
