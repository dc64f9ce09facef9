#pragma once

// Which software runs a bare benchmark? One that changes nothing: nccl-tests and kernel benchmarks
// measure the library, not a training stack.

#include "sim/hardware/software_profile.hpp"

namespace orrery::hardware {

// Efficiencies 1, gaps and overheads 0, source `given`.
[[nodiscard]] SoftwareProfile neutral_stack();

}  // namespace orrery::hardware
