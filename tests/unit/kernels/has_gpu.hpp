#pragma once

// Whether there is a GPU to test with.

#include <cuda_runtime.h>

namespace orrery::kernels {

inline bool has_gpu() {
  int visible = 0;
  return cudaGetDeviceCount(&visible) == cudaSuccess && visible > 0;
}

}  // namespace orrery::kernels
