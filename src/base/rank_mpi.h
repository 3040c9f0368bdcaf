/* Ranks over MPI. Private to this room.
 *
 * Three rules keep a rank from hanging or from spinning:
 * - Every call of MPI stands between ranks_lock and ranks_unlock, and none of them waits: what
 *   takes time is started, and tested from ranks_wait, which sleeps in between.
 * - A wait ends early when cancel is raised, when another rank says that it failed, or when the
 *   process of another rank is gone.
 * - MPI only ever sees memory that lives as long as the ranks (stages): an operation that was
 *   given up can then do no harm. So everything goes through a stage, slice by slice, which also
 *   keeps counts far below the int that MPI takes.
 */
#ifndef BANG_BASE_RANK_MPI_H
#define BANG_BASE_RANK_MPI_H

#include <pthread.h>
#include <sys/types.h>

#include "bang/base/rank.h"
#include "base/rank_mpi_load.h"

enum {
    RANKS_STAGE = 4 << 20, /* bytes */
    RANKS_OF_CALLS = 0,    /* stages: of collective calls, */
    RANKS_OF_CARRIER,      /* of the carrier, */
    RANKS_OF_MAIL,         /* of messages received */
    RANKS_STAGES,
    RANKS_TAG_LETTER = 1, /* number and size of a message to rank 0 */
    RANKS_TAG_BODY = 2,   /* its bytes, a stage at a time */
};

/* How a rank's work ended: the last that the others hear from it. */
typedef enum ranks_end {
    RANKS_AT_WORK,
    RANKS_DONE,
    RANKS_FAILED,
    RANKS_FOLLOWS, /* stopped because another one failed */
    RANKS_MISSES,  /* stopped because another one is gone, as its message says */
} ranks_end;

typedef struct ranks_final {
    int end, code;
    char message[sizeof((bang_error *)0)->message];
} ranks_final;

/* Who the others are. */
typedef struct ranks_peer {
    uint64_t cores; /* digest of the set of cores that it may use */
    uint64_t names; /* its space of process numbers */
    int64_t process;
    int64_t machine; /* lowest rank on the same machine */
} ranks_peer;

typedef struct ranks_job {
    struct ranks_job *next;
    float *values; /* a sum, of count values; NULL: a letter */
    size_t count;
    uint64_t number;
    size_t size;
    char data[]; /* (size) */
} ranks_job;

struct bang_ranks {
    int rank, count;
    bang_cancel *cancel;
    pthread_mutex_t mpi;
    MPI_Comm work; /* collective calls */
    MPI_Comm sums; /* those of the carrier */
    MPI_Comm mail; /* messages to rank 0 */
    MPI_Comm ends; /* how the work of ranks ended */
    char *stage[RANKS_STAGES];

    /* what is known of the others; guarded by the same lock as MPI */
    ranks_peer *peers;    /* (count) */
    ranks_end *end;       /* (count) what was heard */
    int *gone;            /* (count) */
    ranks_final own;      /* what this rank told the others */
    MPI_Request *telling; /* (count) */
    int failed_rank;      /* lowest that failed by itself, or -1 */
    bang_error failure;   /* what it said */
    int follows, misses;  /* this rank gave up because another one failed, or is gone */
    int finished;

    /* the watch: a thread that looks for who is gone while the others compute */
    pthread_mutex_t post;
    pthread_cond_t relieved;
    pthread_t watcher;
    int watching, leaving;
    void (*lost)(void *context, const bang_error *why);
    void *lost_context;

    /* the carrier: a thread for what is under way while others compute */
    pthread_mutex_t queue;
    pthread_cond_t filled, emptied;
    pthread_t carrier;
    int carrying, closing;
    ranks_job *first, *last;
    int broken; /* code of the error that ended it */
    bang_error break_error;
};

void ranks_lock(bang_ranks *ranks);
void ranks_unlock(bang_ranks *ranks);

/* 0, or the error that MPI's result stands for; MPI, which is asked, must not be locked. ranks is
 * NULL while they are opened. */
int ranks_check(bang_ranks *ranks, int result, const char *what, bang_error *err);

/* Sleeps a time that grows with the waiting, which *since is the beginning of (0 at first). */
void ranks_nap(double *since);
double ranks_seconds(void);

/* An error if there is no point in waiting on. since: as for ranks_nap. */
int ranks_trouble(bang_ranks *ranks, double since, bang_error *err);
/* Until request is done. */
int ranks_wait(bang_ranks *ranks, MPI_Request *request, bang_error *err);

/* The lowest rank that has ended without a word, or -1. Locked. */
int ranks_find_gone(bang_ranks *ranks);
int ranks_fail_gone(int rank, bang_error *err);
/* As bang_ranks_speaks. Locked. */
int ranks_speaks(const bang_ranks *ranks);
/* Ends the watch. */
void ranks_unwatch(bang_ranks *ranks);

/* Sums count values of type into place, through a stage. */
int ranks_reduce(bang_ranks *ranks, MPI_Comm comm, char *stage, void *values, size_t count,
                 size_t size, MPI_Datatype type, MPI_Op op, bang_error *err);

/* Waits until the carrier has nothing to do. */
int ranks_drain(bang_ranks *ranks, bang_error *err);
/* Ends the carrier. */
void ranks_dismiss(bang_ranks *ranks);

#endif
