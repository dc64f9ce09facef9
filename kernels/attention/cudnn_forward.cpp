// Functions of cuDNN and NVRTC that attention_cudnn.cpp and the headers of cudnn-frontend call,
// asked of the libraries when they are first called (kernels/device/runtime.hpp).

#include <cudnn.h>
#include <nvrtc.h>

#include "kernels/device/runtime.hpp"

// NOLINTNEXTLINE: a function's name, parameters and arguments are no expressions
#define ORRERY_FORWARD(library, result, name, parameters, arguments)                 \
  result name parameters {                                                           \
    using orrery::kernels::LateLibrary;                                              \
    static auto* const function =                                                    \
        orrery::kernels::late_function<decltype(name)>(LateLibrary::library, #name); \
    return function arguments;                                                       \
  }

extern "C" {

ORRERY_FORWARD(cudnn, size_t, cudnnGetVersion, (void), ())
ORRERY_FORWARD(cudnn, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))
ORRERY_FORWARD(cudnn, void, cudnnGetLastErrorString, (char* text, size_t size), (text, size))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle), (handle))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle), (handle))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream),
               (handle, stream))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnGetStream, (cudnnHandle_t handle, cudaStream_t* stream),
               (handle, stream))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendCreateDescriptor,
               (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor),
               (type, descriptor))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendDestroyDescriptor,
               (cudnnBackendDescriptor_t descriptor), (descriptor))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor),
               (descriptor))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendSetAttribute,
               (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void* elements),
               (descriptor, name, type, count, elements))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendGetAttribute,
               (const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count, void* elements),
               (descriptor, name, type, wanted, count, elements))
ORRERY_FORWARD(cudnn, cudnnStatus_t, cudnnBackendExecute,
               (cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                cudnnBackendDescriptor_t variants),
               (handle, plan, variants))

ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcCreateProgram,
               (nvrtcProgram * program, const char* source, const char* name, int count,
                const char* const* headers, const char* const* names),
               (program, source, name, count, headers, names))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram * program), (program))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcCompileProgram,
               (nvrtcProgram program, int count, const char* const* options),
               (program, count, options))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram program, size_t* size),
               (program, size))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram program, char* cubin),
               (program, cubin))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* size),
               (program, size))
ORRERY_FORWARD(nvrtc, nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram program, char* text),
               (program, text))

}  // extern "C"
