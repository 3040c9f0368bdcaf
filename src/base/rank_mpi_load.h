/* MPI, loaded when a launcher has started this process as one of several, and not
 * before: linked, it would cost every command some milliseconds and megabytes. So a
 * program that was built with MPI also runs where there is none.
 *
 * The names of mpi.h stand for what was loaded; the rest of the code does not notice. */
#ifndef BANG_BASE_RANK_MPI_LOAD_H
#define BANG_BASE_RANK_MPI_LOAD_H

#include <mpi.h>

#include "bang/base/error.h"

_Static_assert(OMPI_MAJOR_VERSION >= 3 && OMPI_MAJOR_VERSION <= 5,
               "its library may have another name and other handles: look at rank_mpi_load.c");

#define RANKS_MPI_CALLS(X)                                                                         \
    X(Allgather)                                                                                   \
    X(Bcast)                                                                                       \
    X(Comm_dup)                                                                                    \
    X(Comm_free)                                                                                   \
    X(Comm_rank)                                                                                   \
    X(Comm_set_errhandler)                                                                         \
    X(Comm_size)                                                                                   \
    X(Comm_split_type)                                                                             \
    X(Error_string)                                                                                \
    X(Finalize)                                                                                    \
    X(Iallreduce)                                                                                  \
    X(Ibcast)                                                                                      \
    X(Init_thread)                                                                                 \
    X(Iprobe)                                                                                      \
    X(Irecv)                                                                                       \
    X(Isend)                                                                                       \
    X(Recv)                                                                                        \
    X(Test)

/* Handles are addresses of objects of Open MPI's. */
#define RANKS_MPI_HANDLES(X)                                                                       \
    X(MPI_Comm, ompi_mpi_comm_world)                                                               \
    X(MPI_Datatype, ompi_mpi_byte)                                                                 \
    X(MPI_Datatype, ompi_mpi_double)                                                               \
    X(MPI_Datatype, ompi_mpi_float)                                                                \
    X(MPI_Datatype, ompi_mpi_int64_t)                                                              \
    X(MPI_Datatype, ompi_mpi_uint8_t)                                                              \
    X(MPI_Errhandler, ompi_mpi_errors_return)                                                      \
    X(MPI_Info, ompi_mpi_info_null)                                                                \
    X(MPI_Op, ompi_mpi_op_max)                                                                     \
    X(MPI_Op, ompi_mpi_op_sum)                                                                     \
    X(MPI_Request, ompi_request_null)

typedef struct ranks_library {
#define RANKS_CALL(name) __typeof__(MPI_##name) *name;
#define RANKS_HANDLE(type, name) type name;
    RANKS_MPI_CALLS(RANKS_CALL)
    RANKS_MPI_HANDLES(RANKS_HANDLE)
#undef RANKS_CALL
#undef RANKS_HANDLE
} ranks_library;

/* Filled once, before any thread of ours, and read only since. */
extern ranks_library ranks_mpi;

/* Loads it; once in the life of a process. */
int ranks_load(bang_error *err);

#ifndef RANKS_MPI_AS_IT_IS
#define MPI_Allgather ranks_mpi.Allgather
#define MPI_Bcast ranks_mpi.Bcast
#define MPI_Comm_dup ranks_mpi.Comm_dup
#define MPI_Comm_free ranks_mpi.Comm_free
#define MPI_Comm_rank ranks_mpi.Comm_rank
#define MPI_Comm_set_errhandler ranks_mpi.Comm_set_errhandler
#define MPI_Comm_size ranks_mpi.Comm_size
#define MPI_Comm_split_type ranks_mpi.Comm_split_type
#define MPI_Error_string ranks_mpi.Error_string
#define MPI_Finalize ranks_mpi.Finalize
#define MPI_Iallreduce ranks_mpi.Iallreduce
#define MPI_Ibcast ranks_mpi.Ibcast
#define MPI_Init_thread ranks_mpi.Init_thread
#define MPI_Iprobe ranks_mpi.Iprobe
#define MPI_Irecv ranks_mpi.Irecv
#define MPI_Isend ranks_mpi.Isend
#define MPI_Recv ranks_mpi.Recv
#define MPI_Test ranks_mpi.Test
#undef MPI_COMM_WORLD
#undef MPI_BYTE
#undef MPI_DOUBLE
#undef MPI_FLOAT
#undef MPI_INT64_T
#undef MPI_UINT8_T
#undef MPI_ERRORS_RETURN
#undef MPI_INFO_NULL
#undef MPI_MAX
#undef MPI_SUM
#undef MPI_REQUEST_NULL
#define MPI_COMM_WORLD ranks_mpi.ompi_mpi_comm_world
#define MPI_BYTE ranks_mpi.ompi_mpi_byte
#define MPI_DOUBLE ranks_mpi.ompi_mpi_double
#define MPI_FLOAT ranks_mpi.ompi_mpi_float
#define MPI_INT64_T ranks_mpi.ompi_mpi_int64_t
#define MPI_UINT8_T ranks_mpi.ompi_mpi_uint8_t
#define MPI_ERRORS_RETURN ranks_mpi.ompi_mpi_errors_return
#define MPI_INFO_NULL ranks_mpi.ompi_mpi_info_null
#define MPI_MAX ranks_mpi.ompi_mpi_op_max
#define MPI_SUM ranks_mpi.ompi_mpi_op_sum
#define MPI_REQUEST_NULL ranks_mpi.ompi_request_null
#endif

#endif
