/* How ranks wait, and how they learn of each other's end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/rank_mpi.h"

static const double patience = 2;          /* seconds, after a failure */
static const double patience_stopped = .6; /* a launcher kills a second after it said stop */
static const double patience_first = 600;  /* of the others with rank 0, which saves, and speaks */

void ranks_lock(bang_ranks *ranks)
{
    pthread_mutex_lock(&ranks->mpi);
}

void ranks_unlock(bang_ranks *ranks)
{
    pthread_mutex_unlock(&ranks->mpi);
}

int ranks_check(bang_ranks *ranks, int result, const char *what, bang_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown";
    int size = 0;
    if (result == MPI_SUCCESS)
        return 0;
    if (ranks)
        ranks_lock(ranks);
    MPI_Error_string(result, text, &size);
    if (ranks)
        ranks_unlock(ranks);
    return bang_fail(err, BANG_EIO, "%s: MPI says %s: are all ranks still there?", what, text);
}

double ranks_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A sixteenth of the time waited so far: what is soon done is soon seen, and who waits long costs
 * nothing. At least 10 microseconds, at most a millisecond, a fifth of that while data may be on
 * the way. */
void ranks_nap(double *since)
{
    double now = ranks_seconds();
    if (*since == 0)
        *since = now;
    double waited = now - *since, nap = waited / 16, most = waited < .1 ? 2e-4 : 1e-3;
    nap = nap < 1e-5 ? 1e-5 : nap > most ? most : nap;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * nap)}, NULL);
}

/* Of failures that several ranks report, the lowest rank's counts; that somebody asked to stop
 * counts less than any other. Called with MPI locked. */
static void note_failure(bang_ranks *ranks, int rank, const ranks_final *final)
{
    int known = ranks->failed_rank >= 0;
    int asked = final->code == BANG_ECANCELLED,
        known_asked = ranks->failure.code == BANG_ECANCELLED;
    if (known && (asked != known_asked ? asked : rank > ranks->failed_rank))
        return;
    ranks->failed_rank = rank;
    ranks->failure.code = final->code;
    if (final->end == RANKS_MISSES || rank == ranks->rank)
        snprintf(ranks->failure.message, sizeof ranks->failure.message, "%s", final->message);
    else
        snprintf(ranks->failure.message, sizeof ranks->failure.message, "rank %d: %.980s", rank,
                 final->message);
}

static void listen(bang_ranks *ranks)
{
    for (;;) {
        int there = 0;
        MPI_Status status;
        ranks_final final = {0};
        if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks->ends, &there, &status) != MPI_SUCCESS ||
            !there)
            return;
        /* So short a message is there as a whole. */
        if (MPI_Recv(&final, (int)sizeof final, MPI_BYTE, status.MPI_SOURCE, MPI_ANY_TAG,
                     ranks->ends, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        final.message[sizeof final.message - 1] = '\0';
        ranks->end[status.MPI_SOURCE] = (ranks_end) final.end;
        if (final.end == RANKS_FAILED || final.end == RANKS_MISSES)
            note_failure(ranks, status.MPI_SOURCE, &final);
    }
}

/* Processes of other machines cannot be looked at; their launcher notices. */
static int is_near(const bang_ranks *ranks, int rank)
{
    const ranks_peer *own = &ranks->peers[ranks->rank], *peer = &ranks->peers[rank];
    return peer->machine == own->machine && peer->names == own->names;
}

int ranks_find_gone(bang_ranks *ranks)
{
    int any = 0;
    for (int r = 0; r < ranks->count; r++)
        if (r != ranks->rank && is_near(ranks, r) && kill((pid_t)ranks->peers[r].process, 0) < 0 &&
            errno == ESRCH)
            any = ranks->gone[r] = 1;
    if (any)
        listen(ranks); /* its last words may have come since */
    for (int r = 0; any && r < ranks->count; r++)
        if (ranks->gone[r] && ranks->end[r] == RANKS_AT_WORK)
            return r;
    return -1;
}

int ranks_fail_gone(int rank, bang_error *err)
{
    return bang_fail(err, BANG_EIO,
                     "rank %d has ended in the middle of the work: the others stop: see why it "
                     "ended (out of memory? killed?), then go on as after an interruption",
                     rank);
}

int ranks_trouble(bang_ranks *ranks, double since, bang_error *err)
{
    int rc = 0;
    ranks_lock(ranks);
    listen(ranks);
    if (ranks->failed_rank >= 0) {
        ranks->follows = 1;
        rc = bang_fail(err, ranks->failure.code, "%s", ranks->failure.message);
    } else if (bang_cancelled(ranks->cancel)) {
        rc = bang_fail(err, BANG_ECANCELLED, "stopped on request");
    } else if (since != 0 && ranks_seconds() - since > .05) {
        int gone = ranks_find_gone(ranks);
        if (gone >= 0) {
            ranks->misses = 1;
            rc = ranks_fail_gone(gone, err);
        }
    }
    ranks_unlock(ranks);
    return rc;
}

/* MPI moves bytes only while it is asked. A question that took it long has moved some, and there
 * may be more of them: it is asked again at once, but not without end. */
static int test(bang_ranks *ranks, MPI_Request *request, int *done)
{
    enum { AGAIN = 16 };
    static const double moved = 5e-6; /* seconds */
    int result = MPI_SUCCESS;
    *done = 0;
    for (int i = 0; i < AGAIN && result == MPI_SUCCESS && !*done; i++) {
        double begin = ranks_seconds();
        ranks_lock(ranks);
        result = MPI_Test(request, done, MPI_STATUS_IGNORE);
        ranks_unlock(ranks);
        if (ranks_seconds() - begin < moved)
            break;
    }
    return result;
}

int ranks_wait(bang_ranks *ranks, MPI_Request *request, bang_error *err)
{
    double since = 0;
    for (;;) {
        int done, result = test(ranks, request, &done);
        int rc = ranks_check(ranks, result, "exchange between ranks", err);
        if (rc == 0 && done)
            return 0;
        if (rc == 0)
            rc = ranks_trouble(ranks, since, err);
        if (rc < 0)
            return rc;
        ranks_nap(&since);
    }
}

/* Once; locked. */
static void tell(bang_ranks *ranks, ranks_end end, const bang_error *why)
{
    if (ranks->own.end != RANKS_AT_WORK)
        return;
    ranks->own.end = (int)end;
    ranks->own.code = why ? why->code : 0;
    snprintf(ranks->own.message, sizeof ranks->own.message, "%s", why ? why->message : "");
    for (int r = 0; r < ranks->count; r++)
        if (r != ranks->rank && MPI_Isend(&ranks->own, (int)sizeof ranks->own, MPI_BYTE, r, 0,
                                          ranks->ends, &ranks->telling[r]) != MPI_SUCCESS)
            ranks->telling[r] = MPI_REQUEST_NULL;
    ranks->end[ranks->rank] = end;
    if (end == RANKS_FAILED || end == RANKS_MISSES)
        note_failure(ranks, ranks->rank, &ranks->own);
}

void bang_ranks_stop(bang_ranks *ranks, const bang_error *why)
{
    if (!ranks)
        return;
    ranks_lock(ranks);
    tell(ranks, RANKS_FAILED, why);
    ranks_unlock(ranks);
}

/* Whether all that are not gone have been told and heard. Locked. */
static int all_heard(bang_ranks *ranks)
{
    int heard = 1;
    for (int r = 0; r < ranks->count; r++) {
        int done = 1;
        if (ranks->gone[r])
            continue;
        if (ranks->telling[r] != MPI_REQUEST_NULL)
            MPI_Test(&ranks->telling[r], &done, MPI_STATUS_IGNORE);
        heard = heard && done && ranks->end[r] != RANKS_AT_WORK;
    }
    return heard;
}

/* How long the others may be waited for. A rank that ends in trouble makes the launcher end all,
 * so nobody goes before rank 0, who may be writing a state, for as long as that one lives.
 * Locked. */
static double patience_with(const bang_ranks *ranks, int stopped)
{
    if (ranks->rank > 0 && ranks->end[0] == RANKS_AT_WORK && !ranks->gone[0])
        return patience_first;
    return stopped ? patience_stopped : patience;
}

/* Until all others have been heard of, or patience is at its end, or one is gone: then there is
 * nothing more to learn, and little time. */
static void hear_all(bang_ranks *ranks)
{
    double since = 0, trouble = 0;
    for (int heard = 0; !heard;) {
        double now = ranks_seconds();
        int stopped = bang_cancelled(ranks->cancel);
        ranks_lock(ranks);
        listen(ranks);
        int look = stopped || (since != 0 && now - since > .05);
        heard = all_heard(ranks) || (look && ranks_find_gone(ranks) >= 0);
        if (trouble == 0 && (stopped || ranks->failed_rank >= 0))
            trouble = now;
        int over = trouble != 0 && now - trouble > patience_with(ranks, stopped);
        ranks_unlock(ranks);
        if (over)
            return;
        if (!heard)
            ranks_nap(&since);
    }
}

/* Who is missing, if that explains the end better than "stopped on request" does. Locked. */
static void judge_missing(bang_ranks *ranks)
{
    int gone = ranks_find_gone(ranks);
    for (int r = ranks->count - 1; r >= 0; r--)
        if (ranks->end[r] == RANKS_AT_WORK && !is_near(ranks, r))
            ranks->gone[gone = r] = 1;
    if (gone < 0 || (ranks->failed_rank >= 0 && ranks->failure.code != BANG_ECANCELLED))
        return;
    ranks_fail_gone(gone, &ranks->failure);
    ranks->failed_rank = gone;
}

/* How this rank's work ended: what it failed with may be what it heard of another, and that it
 * was stopped may be because another is gone. Locked. */
static ranks_end own_end(bang_ranks *ranks, bang_error *failed)
{
    listen(ranks);
    int gone = ranks_find_gone(ranks);
    if (ranks->follows)
        return RANKS_FOLLOWS;
    if (gone < 0 || (failed->code != BANG_ECANCELLED && !ranks->misses))
        return RANKS_FAILED;
    ranks_fail_gone(gone, failed);
    return RANKS_MISSES;
}

int bang_ranks_finish(bang_ranks *ranks, const bang_error *failed, bang_error *err)
{
    bang_error own = failed ? *failed : (bang_error){0};
    if (!ranks)
        return failed ? bang_fail(err, own.code, "%s", own.message) : 0;
    if (!ranks->finished) {
        int rc = failed ? -1 : ranks_drain(ranks, &own);
        ranks_lock(ranks);
        ranks_end end = rc < 0 ? own_end(ranks, &own) : RANKS_DONE;
        tell(ranks, end, &own);
        ranks_unlock(ranks);
        hear_all(ranks);
        ranks_lock(ranks);
        judge_missing(ranks);
        ranks->finished = 1;
        ranks_unlock(ranks);
    }
    return ranks->failed_rank < 0
               ? 0
               : bang_fail(err, ranks->failure.code, "%s", ranks->failure.message);
}
