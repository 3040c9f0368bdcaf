/* What holds for ranks with and without MPI. */
#include "bang/base/rank.h"

#include <stdlib.h>
#include <string.h>

/* Launchers say so in the environment: Open MPI's mpirun how many there are; those that speak
 * PMIx or PMI (srun, other mpiruns) at least which one this is. */
int bang_ranks_launched(void)
{
    const char *count = getenv("OMPI_COMM_WORLD_SIZE");
    if (!count)
        count = getenv("PMI_SIZE");
    if (!count && getenv("PMIX_RANK"))
        count = getenv("SLURM_STEP_NUM_TASKS");
    if (count)
        return strcmp(count, "1") != 0;
    return getenv("PMIX_RANK") || getenv("PMI_RANK");
}

void bang_ranks_share_of(size_t *from, size_t *to, int rank, int ranks, size_t count)
{
    size_t r = (size_t)rank, n = (size_t)ranks, each = count / n, more = count % n;
    *from = r * each + (r < more ? r : more);
    *to = *from + each + (r < more);
}

void bang_ranks_share(size_t *from, size_t *to, const bang_ranks *ranks, size_t count)
{
    bang_ranks_share_of(from, to, bang_ranks_rank(ranks), bang_ranks_count(ranks), count);
}
