#include "sim/hardware/gpu_profile.hpp"

#include <algorithm>

namespace orrery::hardware {

const GemmRate* GpuProfile::find_gemm(model::Dtype dtype) const {
  const auto found = std::find_if(
      gemm.begin(), gemm.end(), [dtype](const GemmRate& rate) { return rate.dtype == dtype; });
  return found == gemm.end() ? nullptr : &*found;
}

}  // namespace orrery::hardware
