#pragma once

// Interprets the status codes of CUDA libraries. Every call is checked; its status becomes nothing,
// Unsupported (a result, kept in the profile) or orrery::Error (exit code 5).
//
// library | fine | unsupported                         | no device                | failed
// --------|------|-------------------------------------|--------------------------|---------
// cuda    | 0    | 801 not supported                   | 3, 34, 35, 46, 100, 803, | the rest
//         |      |                                     | 804                      |
// cublas  | 0    | 8 architecture, 15 not supported    | 1 not initialised        | the rest
// cudnn   | 0    | 3000..3999 not supported            | 1001 not initialised     | the rest
// nccl    | 0    | -                                   | -                        | the rest
//
// Source: driver_types.h, cublas_api.h, cudnn_graph.h and nccl.h of CUDA 13.0.

#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "kernels/device/runnable.hpp"
#include "kernels/nvml/nvml_library.hpp"

namespace orrery::kernels {

enum class Library { cuda, cublas, cudnn, nccl };

enum class Verdict { fine, unsupported, no_device, failed };

[[nodiscard]] Verdict verdict_of(Library library, int status);

// "cuBLAS status 15 (CUBLAS_STATUS_NOT_SUPPORTED)"; an empty name leaves out the parentheses.
[[nodiscard]] std::string status_text(Library library, int status, std::string_view name);

// Throws what verdict_of says; returns when it is fine. `what`: "copy the operands".
void check_status(Library library, int status, std::string_view name, std::string_view what);

void check(cudaError_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);

// ORRERY_CHECK for .cu files: its macro needs fmt, which nvcc does not compile.
void require(bool holds, const char* sentence);

// After <<<>>>: launches report their errors only here.
void check_launch(std::string_view kernel);

// Libraries that the program loads on demand. A missing one disables only what needs it and is
// reported in one line; everything else is measured.
//
// library | file           | without it
// --------|----------------|------------------------------------------------------------
// nccl    | libnccl.so.2   | no collectives
// cudnn   | libcudnn.so.9  | attention runs on Orrery's kernels, none in 8 bits
// nvrtc   | libnvrtc.so.13 | kernels that cudnn-frontend compiles at run time: none here
//
// Their functions are defined here under their own names (nccl_forward.cpp, cudnn_forward.cpp) and
// ask the library, so that callers and the headers of cudnn-frontend are written as if it were
// linked.

enum class LateLibrary { nccl, cudnn, nvrtc };

// Opened by the first call, until the process ends.
[[nodiscard]] const SharedLibrary& late_library(LateLibrary which);

// "libnccl.so.2 is not on this machine: no collectives"; empty where the library is there.
[[nodiscard]] std::string absence_of(LateLibrary which);

[[noreturn]] void throw_function_missing(LateLibrary which, const char* name);

// Throws Unsupported where the library is missing, or is older than the function.
template <typename Signature>
[[nodiscard]] Signature* late_function(LateLibrary which, const char* name) {
  auto* const function = late_library(which).find<Signature>(name);
  if (function == nullptr) {
    throw_function_missing(which, name);
  }
  return function;
}

}  // namespace orrery::kernels
