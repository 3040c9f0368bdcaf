/* Several processes that work on one thing: ranks, as MPI starts them.
 *
 *     bang_ranks *ranks = NULL;
 *     bang_ranks_open(&ranks, cancel, &err);       // NULL: this process is alone
 *     size_t from, to;
 *     bang_ranks_share(&from, &to, ranks, count);  // what this one is to do
 *     ...
 *     rc = bang_ranks_gather(ranks, rows, row_size, count, &err);
 *     bang_ranks_close(ranks, rc < 0 ? &err : NULL, &err);
 *
 * NULL stands for one process alone wherever ranks are asked for: it has rank 0 of 1,
 * its share is all there is, and sums, gathers and broadcasts change nothing. So
 * code is written once, for any number of ranks.
 *
 * All ranks call the same collective functions in the same order. Who waits sleeps. A rank
 * that fails tells the others when it closes, or at once with bang_ranks_stop; they find its
 * message where they wait, and fail with it. Raising cancel ends every wait.
 *
 * Calls may come from any thread; collective ones from one at a time.
 */
#ifndef BANG_BASE_RANK_H
#define BANG_BASE_RANK_H

#include <stddef.h>
#include <stdint.h>

#include "bang/base/error.h"
#include "bang/base/thread.h"

typedef struct bang_ranks bang_ranks;

/* 1 if a launcher (mpirun, srun) started this process as one of several; then, and only then,
 * opening starts MPI. */
int bang_ranks_launched(void);
/* 0 if the launcher says that this is not the first of them. */
int bang_ranks_launched_first(void);
/* How many processes srun started of which none can know of the others, since it was not told to
 * speak to MPI; *first: this is the first of them. 0: nothing of the kind. */
int bang_ranks_apart(int *first);

/* *out is NULL where this process is alone. cancel may be NULL and outlives the ranks. Once in
 * the life of a process. Fails under a launcher where the library was built without MPI. */
int bang_ranks_open(bang_ranks **out, bang_cancel *cancel, bang_error *err);

/* Tells the others how the work of this rank ended and waits to hear how theirs did, so that what
 * they write is whole before any of them ends; after a failure for a second or two only, but for
 * minutes to hear rank 0, which may be saving what there is. failed is what this rank failed
 * with, or NULL. Negative if a rank has failed or is gone: then *err, which
 * failed may be, is the error of the lowest that failed. A second call says the same again. */
int bang_ranks_finish(bang_ranks *ranks, const bang_error *failed, bang_error *err);
/* Finishes if need be, and ends MPI. NULL is allowed. */
int bang_ranks_close(bang_ranks *ranks, const bang_error *failed, bang_error *err);

/* Starts a thread that sleeps, and looks now and then whether another rank on this machine has
 * ended without a word: so that it is said in time even if all others compute for longer than the
 * launcher lets them live. lost is called from it, at most once, never after bang_ranks_finish,
 * and only where bang_ranks_speaks; it must not call any of these functions. Without such a thread
 * the loss is noticed where ranks wait for each other, as ever. */
void bang_ranks_watch(bang_ranks *ranks, void (*lost)(void *context, const bang_error *why),
                      void *context);

int bang_ranks_rank(const bang_ranks *ranks);  /* 0 for the one that writes */
int bang_ranks_count(const bang_ranks *ranks); /* 1 or more */
/* 1 on the lowest rank that is not known to be gone: the one that says what went wrong. */
int bang_ranks_speaks(const bang_ranks *ranks);
/* Threads for each rank so that those on one machine share its cores. */
int bang_ranks_threads(const bang_ranks *ranks);

/* Things [*from, *to) of count that rank takes: in the order of the ranks, sizes equal but for
 * one. */
void bang_ranks_share_of(size_t *from, size_t *to, int rank, int ranks, size_t count);
void bang_ranks_share(size_t *from, size_t *to, const bang_ranks *ranks, size_t count);

/* Collective. Sums and maxima are the same bits on all ranks; those of floating point depend on
 * how many ranks there are. */
int bang_ranks_sum_f32(bang_ranks *ranks, float *values, size_t count, bang_error *err);
int bang_ranks_sum_f64(bang_ranks *ranks, double *values, size_t count, bang_error *err);
int bang_ranks_max_u8(bang_ranks *ranks, uint8_t *values, size_t count, bang_error *err);
/* From rank 0 to all. */
int bang_ranks_broadcast(bang_ranks *ranks, void *data, size_t size, bang_error *err);
/* Every rank has filled its share of rows, (count, row_size bytes); afterwards all have all. */
int bang_ranks_gather(bang_ranks *ranks, void *rows, size_t row_size, size_t count,
                      bang_error *err);

/* Messages to rank 0, which need no answer. number names what is sent; data is copied. */
int bang_ranks_post(bang_ranks *ranks, uint64_t number, const void *data, size_t size,
                    bang_error *err);
/* On rank 0: 1 and the next message, from any rank; *data is the caller's to free and ends with
 * a zero byte that size does not count. 0 if there is none and wait is 0. */
int bang_ranks_receive(bang_ranks *ranks, uint64_t *number, void **data, size_t *size, int wait,
                       bang_error *err);

/* A sum under way while this process computes. The values of each are ready in the order in which
 * they are started, the same on all ranks.
 *
 *     bang_ranks_begin_sum(ranks, slice, count, &err);  // from any thread, one at a time
 *     ... more of them, and work ...
 *     bang_ranks_end_sums(ranks, &err);                 // all that were begun are done
 *
 * A thread of its own carries them, so that nobody has to look after them. */
int bang_ranks_begin_sum(bang_ranks *ranks, float *values, size_t count, bang_error *err);
int bang_ranks_end_sums(bang_ranks *ranks, bang_error *err);

/* Tells all others that this one cannot go on. */
void bang_ranks_stop(bang_ranks *ranks, const bang_error *why);

#endif
