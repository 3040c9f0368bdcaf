/* Ranks where the library is built without MPI: every process is alone. */
#include "bang/base/rank.h"

int bang_ranks_open(bang_ranks **out, bang_cancel *cancel, bang_error *err)
{
    (void)cancel;
    *out = NULL;
    return bang_ranks_launched()
               ? bang_fail(err, BANG_EUSAGE,
                           "several processes: this program was built without MPI: start one, or "
                           "build it with -DBANG_MPI=ON")
               : 0;
}

int bang_ranks_finish(bang_ranks *ranks, const bang_error *failed, bang_error *err)
{
    (void)ranks;
    return failed ? bang_fail(err, failed->code, "%s", failed->message) : 0;
}

int bang_ranks_close(bang_ranks *ranks, const bang_error *failed, bang_error *err)
{
    return bang_ranks_finish(ranks, failed, err);
}

void bang_ranks_watch(bang_ranks *ranks, void (*lost)(void *context, const bang_error *why),
                      void *context)
{
    (void)ranks, (void)lost, (void)context;
}

int bang_ranks_rank(const bang_ranks *ranks)
{
    (void)ranks;
    return 0;
}

int bang_ranks_count(const bang_ranks *ranks)
{
    (void)ranks;
    return 1;
}

int bang_ranks_speaks(const bang_ranks *ranks)
{
    (void)ranks;
    return 1;
}

int bang_ranks_threads(const bang_ranks *ranks)
{
    (void)ranks;
    return bang_threads_available();
}

/* What others would change stays as it is: the parameters are those of the header.
 * NOLINTBEGIN(readability-non-const-parameter) */
int bang_ranks_sum_f32(bang_ranks *ranks, float *values, size_t count, bang_error *err)
{
    (void)ranks, (void)values, (void)count, (void)err;
    return 0;
}

int bang_ranks_sum_f64(bang_ranks *ranks, double *values, size_t count, bang_error *err)
{
    (void)ranks, (void)values, (void)count, (void)err;
    return 0;
}

int bang_ranks_max_u8(bang_ranks *ranks, uint8_t *values, size_t count, bang_error *err)
{
    (void)ranks, (void)values, (void)count, (void)err;
    return 0;
}

int bang_ranks_broadcast(bang_ranks *ranks, void *data, size_t size, bang_error *err)
{
    (void)ranks, (void)data, (void)size, (void)err;
    return 0;
}

int bang_ranks_gather(bang_ranks *ranks, void *rows, size_t row_size, size_t count, bang_error *err)
{
    (void)ranks, (void)rows, (void)row_size, (void)count, (void)err;
    return 0;
}

int bang_ranks_post(bang_ranks *ranks, uint64_t number, const void *data, size_t size,
                    bang_error *err)
{
    (void)ranks, (void)number, (void)data, (void)size;
    return bang_fail(err, BANG_EUSAGE, "a message: there is nobody to send it to");
}

int bang_ranks_receive(bang_ranks *ranks, uint64_t *number, void **data, size_t *size, int wait,
                       bang_error *err)
{
    (void)ranks, (void)number, (void)size;
    *data = NULL;
    return wait ? bang_fail(err, BANG_EUSAGE, "a message: there is nobody to wait for") : 0;
}

int bang_ranks_begin_sum(bang_ranks *ranks, float *values, size_t count, bang_error *err)
{
    (void)ranks, (void)values, (void)count, (void)err;
    return 0;
}

int bang_ranks_end_sums(bang_ranks *ranks, bang_error *err)
{
    (void)ranks, (void)err;
    return 0;
}

void bang_ranks_stop(bang_ranks *ranks, const bang_error *why)
{
    (void)ranks, (void)why;
}
/* NOLINTEND(readability-non-const-parameter) */
