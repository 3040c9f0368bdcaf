#define RANKS_MPI_AS_IT_IS
#include "base/rank_mpi_load.h"

#include <dlfcn.h>
#include <string.h>

/* The name by which Open MPI 3 to 5 promise to fit what was compiled with any of them. */
static const char library[] = "libmpi.so.40";

ranks_library ranks_mpi;

/* Copies the address of name to out, as C has no conversion from void * to a function. */
static int find(void *out, void *from, const char *name, bang_error *err)
{
    void *found = dlsym(from, name);
    if (!found)
        return bang_fail(err, BANG_EIO, "%s: has no %s: is it Open MPI?", library, name);
    memcpy(out, &found, sizeof found);
    return 0;
}

int ranks_load(bang_error *err)
{
    /* never closed: MPI has threads and handlers of its own */
    void *from = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    int rc = 0;
    if (!from)
        return bang_fail(err, BANG_EIO,
                         "ranks: MPI cannot be loaded: %s: install Open MPI, or start one process",
                         dlerror());
#define RANKS_CALL(name)                                                                           \
    if (rc == 0)                                                                                   \
        rc = find(&ranks_mpi.name, from, "MPI_" #name, err);
#define RANKS_HANDLE(type, name)                                                                   \
    if (rc == 0)                                                                                   \
        rc = find(&ranks_mpi.name, from, #name, err);
    RANKS_MPI_CALLS(RANKS_CALL)
    RANKS_MPI_HANDLES(RANKS_HANDLE)
    return rc;
}
