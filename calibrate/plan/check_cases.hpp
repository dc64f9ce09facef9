#pragma once

// Cases that check the result of every kernel: small ones with awkward extents, one or more for
// each operation, role and precision of one GPU. Used by `orrery calibrate --check`.
//
// Extents are small enough for a double-precision reference on the host, larger than one block of
// threads, and not all multiples of 128, as far as the operation allows it.

#include <vector>

#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

// In the order of the table of operations; collectives are not among them.
[[nodiscard]] std::vector<kernels::KernelCase> check_cases();

}  // namespace orrery::calibrate
