#pragma once

// Collectives that a calibration measures between the GPUs of a machine or a job.
//
//   sizes  = 1 KiB x 4^i up to 1 GiB, of the largest buffer of a rank
//   groups = all ranks; the ranks of one node where there are several nodes;
//            halves, quarters ... of a node down to pairs;
//            one rank of each node
//            (rank r is in group r / (ranks x stride) x stride + r mod stride; the first is timed)
//   at once: all halves of a node, and all groups of one rank of each node, from 1 MiB on; the
//            slowest counts
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

struct CollectiveShape {
  std::int64_t ranks = 1;   // of one group
  std::int64_t nodes = 1;   // of one group
  std::int64_t stride = 1;  // between the ranks of a group
  bool concurrent = false;  // all groups run at once

  friend bool operator==(const CollectiveShape& a, const CollectiveShape& b) = default;
};

[[nodiscard]] std::int64_t group_of(const CollectiveShape& shape, std::int64_t rank);

// The largest group first.
[[nodiscard]] std::vector<CollectiveShape> collective_shapes(std::int64_t ranks,
                                                             std::int64_t nodes);

[[nodiscard]] std::vector<kernels::KernelCase> collective_cases(const CollectiveShape& shape);

// What runs beside the anchor.
[[nodiscard]] std::vector<kernels::KernelCase> background_cases(const CollectiveShape& shape);

}  // namespace orrery::calibrate
