/* Opening and closing, and who is who. */
#include "base/rank_mpi.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rank_said.h"

/* A set of cores as one number (FNV-1a). */
static uint64_t digest_cores(void)
{
    uint64_t out = 14695981039346656037U;
    int cpus = 1 << 16;
    size_t size = CPU_ALLOC_SIZE(cpus);
    cpu_set_t *set = CPU_ALLOC(cpus);
    if (!set)
        return 0;
    CPU_ZERO_S(size, set);
    sched_getaffinity(0, size, set);
    for (int i = 0; i < cpus; i++)
        if (CPU_ISSET_S((size_t)i, size, set))
            out = (out ^ (uint64_t)i) * 1099511628211U;
    CPU_FREE(set);
    return out;
}

/* Process numbers mean the same to two ranks only in the same space of them: containers on one
 * machine may have one each. */
static uint64_t process_names(void)
{
    struct stat there;
    return stat("/proc/self/ns/pid", &there) == 0 ? (uint64_t)there.st_ino : (uint64_t)getpid();
}

static int introduce(bang_ranks *ranks, bang_error *err)
{
    MPI_Comm machine;
    ranks_peer own = {.cores = digest_cores(),
                      .names = process_names(),
                      .process = (int64_t)getpid(),
                      .machine = ranks->rank};
    int result = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ranks->rank,
                                     MPI_INFO_NULL, &machine);
    if (result == MPI_SUCCESS) {
        result = MPI_Bcast(&own.machine, 1, MPI_INT64_T, 0, machine);
        MPI_Comm_free(&machine);
    }
    if (result == MPI_SUCCESS)
        result = MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, ranks->peers, (int)sizeof own,
                               MPI_BYTE, MPI_COMM_WORLD);
    return ranks_check(ranks, result, "ranks getting to know each other", err);
}

static int duplicate(MPI_Comm *out, bang_error *err)
{
    int rc = ranks_check(NULL, MPI_Comm_dup(MPI_COMM_WORLD, out), "a channel between ranks", err);
    if (rc == 0)
        MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return rc;
}

/* What MPI may still work on, since it could not be ended. */
static bang_ranks *left_to_mpi;

static void release(bang_ranks *ranks)
{
    if (!ranks)
        return;
    pthread_mutex_destroy(&ranks->mpi);
    pthread_mutex_destroy(&ranks->queue);
    pthread_cond_destroy(&ranks->filled);
    pthread_cond_destroy(&ranks->emptied);
    pthread_mutex_destroy(&ranks->post);
    pthread_cond_destroy(&ranks->relieved);
    for (int i = 0; i < RANKS_STAGES; i++)
        free(ranks->stage[i]);
    free(ranks->peers);
    free(ranks->end);
    free(ranks->gone);
    free(ranks->telling);
    free(ranks);
}

static bang_ranks *create(int rank, int count, bang_cancel *cancel)
{
    bang_ranks *ranks = calloc(1, sizeof *ranks);
    if (!ranks)
        return NULL;
    size_t n = (size_t)count;
    ranks->rank = rank;
    ranks->count = count;
    ranks->cancel = cancel;
    ranks->failed_rank = -1;
    pthread_mutex_init(&ranks->mpi, NULL);
    pthread_mutex_init(&ranks->queue, NULL);
    pthread_cond_init(&ranks->filled, NULL);
    pthread_cond_init(&ranks->emptied, NULL);
    pthread_mutex_init(&ranks->post, NULL);
    pthread_condattr_t steady; /* its time is not set back */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&ranks->relieved, &steady);
    pthread_condattr_destroy(&steady);
    int whole = 1;
    for (int i = 0; i < RANKS_STAGES; i++)
        whole = (ranks->stage[i] = malloc(RANKS_STAGE)) && whole;
    ranks->peers = calloc(n, sizeof *ranks->peers);
    ranks->end = calloc(n, sizeof *ranks->end);
    ranks->gone = calloc(n, sizeof *ranks->gone);
    ranks->telling = calloc(n, sizeof(MPI_Request));
    if (!whole || !ranks->peers || !ranks->end || !ranks->gone || !ranks->telling) {
        release(ranks);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        ranks->telling[i] = MPI_REQUEST_NULL;
    return ranks;
}

static int join(bang_ranks **out, bang_cancel *cancel, bang_error *err)
{
    int rank = 0, count = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (count == 1 && ranks_said() > 1) {
        MPI_Finalize();
        return bang_fail(err, BANG_EUSAGE,
                         "ranks: the launcher started %d processes, but each is alone for this "
                         "MPI: it is another MPI's launcher: start with Open MPI's mpirun, or with "
                         "srun --mpi=pmix",
                         ranks_said());
    }
    if (count == 1)
        return 0;
    bang_ranks *ranks = create(rank, count, cancel);
    if (!ranks)
        return bang_fail_memory(err);
    MPI_Comm *channels[] = {&ranks->work, &ranks->sums, &ranks->mail, &ranks->ends};
    int rc = introduce(ranks, err);
    for (size_t i = 0; rc == 0 && i < sizeof channels / sizeof *channels; i++)
        rc = duplicate(channels[i], err);
    if (rc == 0)
        *out = ranks;
    else
        release(ranks);
    return rc;
}

/* Here alone MPI waits by itself: the launcher has just started all ranks. */
int bang_ranks_open(bang_ranks **out, bang_cancel *cancel, bang_error *err)
{
    int level = 0;
    *out = NULL;
    if (!bang_ranks_launched())
        return 0;
    /* Ranks that share cores must not spin for each other while MPI itself waits. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    int rc = ranks_load(err);
    if (rc == 0)
        rc = ranks_check(NULL, MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "ranks",
                         err);
    if (rc < 0)
        return rc;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = level >= MPI_THREAD_SERIALIZED
             ? join(out, cancel, err)
             : bang_fail(err, BANG_EIO,
                         "ranks: this MPI does not allow several threads: take one "
                         "that does");
    if (rc == 0 && !*out)
        MPI_Finalize();
    return rc;
}

/* MPI can be ended where every rank comes to its end; else it would wait for those that do
 * not. */
static int all_come(const bang_ranks *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        if (ranks->end[r] == RANKS_AT_WORK || ranks->gone[r]) /* nothing else runs now */
            return 0;
    return 1;
}

int bang_ranks_close(bang_ranks *ranks, const bang_error *failed, bang_error *err)
{
    int rc = bang_ranks_finish(ranks, failed, err);
    if (!ranks)
        return rc;
    ranks_unwatch(ranks);
    ranks_dismiss(ranks);
    int ended = all_come(ranks);
    if (ended)
        MPI_Finalize();
    if (ended)
        release(ranks);
    else
        left_to_mpi = ranks;
    return rc;
}

int bang_ranks_rank(const bang_ranks *ranks)
{
    return ranks ? ranks->rank : 0;
}

int bang_ranks_count(const bang_ranks *ranks)
{
    return ranks ? ranks->count : 1;
}

int ranks_speaks(const bang_ranks *ranks)
{
    int speaks = 1;
    for (int r = 0; speaks && r < ranks->rank; r++)
        speaks = ranks->gone[r];
    return speaks;
}

int bang_ranks_speaks(const bang_ranks *ranks)
{
    bang_ranks *known = (bang_ranks *)ranks; /* only its lock changes */
    if (!ranks)
        return 1;
    ranks_lock(known);
    int speaks = ranks_speaks(ranks);
    ranks_unlock(known);
    return speaks;
}

/* Ranks that may use the same cores share them; a launcher that gives each its own leaves
 * nothing to share. */
int bang_ranks_threads(const bang_ranks *ranks)
{
    int cores = bang_threads_available(), sharing = 1;
    if (!ranks)
        return cores;
    const ranks_peer *own = &ranks->peers[ranks->rank];
    for (int r = 0; r < ranks->count; r++)
        sharing += r != ranks->rank && ranks->peers[r].machine == own->machine &&
                   ranks->peers[r].cores == own->cores;
    return cores > sharing ? cores / sharing : 1;
}
