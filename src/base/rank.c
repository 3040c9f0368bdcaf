/* What holds for ranks with and without MPI. */
#include "base/rank_said.h"

#include <stdlib.h>
#include <string.h>

#include "bang/base/text.h"

/* Launchers say so in the environment: Open MPI's mpirun how many there are; those that speak
 * PMIx or PMI (srun, other mpiruns) at least which one this is. */
static const char *said(void)
{
    const char *count = getenv("OMPI_COMM_WORLD_SIZE");
    if (!count)
        count = getenv("PMI_SIZE");
    if (!count && getenv("PMIX_RANK"))
        count = getenv("SLURM_STEP_NUM_TASKS");
    return count;
}

static int number(const char *text)
{
    int64_t value = 0;
    return text && bang_text_to_int64(&value, text) == 0 && value > 0 && value < INT32_MAX
               ? (int)value
               : 0;
}

int bang_ranks_launched(void)
{
    const char *count = said();
    if (count)
        return strcmp(count, "1") != 0;
    return getenv("PMIX_RANK") || getenv("PMI_RANK");
}

int bang_ranks_launched_first(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

int ranks_said(void)
{
    return number(said());
}

/* The steps of a job are numbered and counted; a job's script itself is no step that srun
 * started, and has no count of its tasks. */
int bang_ranks_apart(int *first)
{
    const char *process = getenv("SLURM_PROCID");
    int count = number(getenv("SLURM_STEP_NUM_TASKS"));
    *first = process && strcmp(process, "0") == 0;
    return !process || count < 2 || said() || getenv("PMIX_RANK") || getenv("PMI_RANK") ? 0 : count;
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
