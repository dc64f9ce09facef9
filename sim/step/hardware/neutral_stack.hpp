#pragma once

// The software of a bare benchmark, which changes nothing: nccl-tests and kernel benchmarks
// measure the library, not a training stack.

#include "sim/step/hardware/software_profile.hpp"

namespace orrery::hardware {

// Efficiencies 1, gaps and overheads 0, source `given`.
[[nodiscard]] SoftwareProfile neutral_stack();

}  // namespace orrery::hardware
