#pragma once

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

#include <string>

#include "kernels/device/runnable.hpp"
#include "kernels/nvml/shared_library.hpp"

namespace orrery::kernels {

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
