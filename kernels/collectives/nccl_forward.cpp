// NCCL's functions, asked of the library when they are first called (kernels/device/runtime.hpp).

#include <nccl.h>

#include "kernels/device/runtime.hpp"

// NOLINTNEXTLINE: a function's name, parameters and arguments are no expressions
#define ORRERY_FORWARD(result, name, parameters, arguments)                       \
  result name parameters {                                                        \
    using orrery::kernels::LateLibrary;                                           \
    static auto* const function =                                                 \
        orrery::kernels::late_function<decltype(name)>(LateLibrary::nccl, #name); \
    return function arguments;                                                    \
  }

extern "C" {

ORRERY_FORWARD(const char*, ncclGetErrorString, (ncclResult_t status), (status))
ORRERY_FORWARD(const char*, ncclGetLastError, (ncclComm_t comm), (comm))
ORRERY_FORWARD(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id), (id))
ORRERY_FORWARD(ncclResult_t, ncclCommInitRank,
               (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank), (comm, ranks, id, rank))
ORRERY_FORWARD(ncclResult_t, ncclCommSplit,
               (ncclComm_t comm, int colour, int key, ncclComm_t* part, ncclConfig_t* config),
               (comm, colour, key, part, config))
ORRERY_FORWARD(ncclResult_t, ncclCommDestroy, (ncclComm_t comm), (comm))
ORRERY_FORWARD(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count), (comm, count))
ORRERY_FORWARD(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank), (comm, rank))
ORRERY_FORWARD(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* status),
               (comm, status))
ORRERY_FORWARD(ncclResult_t, ncclGroupStart, (), ())
ORRERY_FORWARD(ncclResult_t, ncclGroupEnd, (), ())
ORRERY_FORWARD(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * info), (info))
ORRERY_FORWARD(ncclResult_t, ncclSend,
               (const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                cudaStream_t stream),
               (from, count, type, peer, comm, stream))
ORRERY_FORWARD(ncclResult_t, ncclRecv,
               (void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                cudaStream_t stream),
               (to, count, type, peer, comm, stream))
ORRERY_FORWARD(ncclResult_t, ncclAllReduce,
               (const void* from, void* to, size_t count, ncclDataType_t type,
                ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream),
               (from, to, count, type, operation, comm, stream))
ORRERY_FORWARD(ncclResult_t, ncclReduceScatter,
               (const void* from, void* to, size_t count, ncclDataType_t type,
                ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream),
               (from, to, count, type, operation, comm, stream))
ORRERY_FORWARD(ncclResult_t, ncclAllGather,
               (const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                cudaStream_t stream),
               (from, to, count, type, comm, stream))

}  // extern "C"
