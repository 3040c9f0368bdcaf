/* What all ranks do together. */
#include <string.h>

#include "base/rank_mpi.h"

int ranks_reduce(bang_ranks *ranks, MPI_Comm comm, char *stage, void *values, size_t count,
                 size_t size, MPI_Datatype type, MPI_Op op, bang_error *err)
{
    size_t most = RANKS_STAGE / size;
    for (size_t i = 0; i < count; i += most) {
        size_t n = count - i < most ? count - i : most;
        char *at = (char *)values + i * size;
        MPI_Request request;
        memcpy(stage, at, n * size);
        ranks_lock(ranks);
        int result = MPI_Iallreduce(MPI_IN_PLACE, stage, (int)n, type, op, comm, &request);
        ranks_unlock(ranks);
        int rc = ranks_check(ranks, result, "a sum over ranks", err);
        if (rc == 0)
            rc = ranks_wait(ranks, &request, err);
        if (rc < 0)
            return rc;
        memcpy(at, stage, n * size);
    }
    return 0;
}

int bang_ranks_sum_f32(bang_ranks *ranks, float *values, size_t count, bang_error *err)
{
    return !ranks ? 0
                  : ranks_reduce(ranks, ranks->work, ranks->stage[RANKS_OF_CALLS], values, count,
                                 sizeof *values, MPI_FLOAT, MPI_SUM, err);
}

int bang_ranks_sum_f64(bang_ranks *ranks, double *values, size_t count, bang_error *err)
{
    return !ranks ? 0
                  : ranks_reduce(ranks, ranks->work, ranks->stage[RANKS_OF_CALLS], values, count,
                                 sizeof *values, MPI_DOUBLE, MPI_SUM, err);
}

int bang_ranks_max_u8(bang_ranks *ranks, uint8_t *values, size_t count, bang_error *err)
{
    return !ranks ? 0
                  : ranks_reduce(ranks, ranks->work, ranks->stage[RANKS_OF_CALLS], values, count,
                                 sizeof *values, MPI_UINT8_T, MPI_MAX, err);
}

static int spread(bang_ranks *ranks, int from, void *data, size_t size, bang_error *err)
{
    char *stage = ranks->stage[RANKS_OF_CALLS];
    for (size_t i = 0; i < size; i += RANKS_STAGE) {
        size_t n = size - i < RANKS_STAGE ? size - i : RANKS_STAGE;
        MPI_Request request;
        if (from == ranks->rank)
            memcpy(stage, (char *)data + i, n);
        ranks_lock(ranks);
        int result = MPI_Ibcast(stage, (int)n, MPI_BYTE, from, ranks->work, &request);
        ranks_unlock(ranks);
        int rc = ranks_check(ranks, result, "a broadcast to ranks", err);
        if (rc == 0)
            rc = ranks_wait(ranks, &request, err);
        if (rc < 0)
            return rc;
        if (from != ranks->rank)
            memcpy((char *)data + i, stage, n);
    }
    return 0;
}

int bang_ranks_broadcast(bang_ranks *ranks, void *data, size_t size, bang_error *err)
{
    return ranks ? spread(ranks, 0, data, size, err) : 0;
}

/* One share after the other: every byte goes to every rank, so no order of the sending is
 * cheaper, and this one needs no memory beyond a stage. */
int bang_ranks_gather(bang_ranks *ranks, void *rows, size_t row_size, size_t count, bang_error *err)
{
    int rc = 0;
    for (int r = 0; rc == 0 && ranks && r < ranks->count; r++) {
        size_t from, to;
        bang_ranks_share_of(&from, &to, r, ranks->count, count);
        rc = spread(ranks, r, (char *)rows + from * row_size, (to - from) * row_size, err);
    }
    return rc;
}
