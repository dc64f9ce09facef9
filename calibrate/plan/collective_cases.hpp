#pragma once

// Which collectives does a calibration measure between the GPUs of a machine or a job?
//
//   sizes  = 1 KiB x 4^i up to 1 GiB, of the largest buffer of a rank
//   groups = all ranks; the ranks of one node where there are several nodes; pairs in a node
//
// Beside a product: all-reduce, all-gather and reduce-scatter of 256 MiB over each of these groups,
// for what a collective takes from the compute that it hides behind.
//
// All five operations; out of place, and in place where NCCL has such a call. fp32 elements: the
// time depends on bytes.

#include <cstdint>
#include <vector>

#include "sim/kernels/kernel_case.hpp"

namespace orrery::calibrate {

// Ranks with equal `rank / size` form a group.
struct CollectiveShape {
  std::int64_t ranks = 1;  // of one group
  std::int64_t nodes = 1;  // of one group
};

// The largest group first.
[[nodiscard]] std::vector<CollectiveShape> collective_shapes(std::int64_t ranks,
                                                             std::int64_t nodes);

[[nodiscard]] std::vector<kernels::KernelCase> collective_cases(const CollectiveShape& shape);

// What runs beside the anchor.
[[nodiscard]] std::vector<kernels::KernelCase> background_cases(const CollectiveShape& shape);

}  // namespace orrery::calibrate
