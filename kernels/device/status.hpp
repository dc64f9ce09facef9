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

}  // namespace orrery::kernels
