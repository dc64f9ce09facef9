#pragma once

// Cases of a sweep: lists per family, chosen so that fits see the whole range of a training step
// and no more. Shapes are spread evenly in the logarithm of their extents.
//
// block         | full                                               | quick
// --------------|----------------------------------------------------|------------------------
// dense         | 48 shapes x fprop, dgrad, wgrad, accumulated wgrad | 6 shapes x 3, bf16
//               | in bf16; 32 x 4 fp8_tensor; 16 x 3 of each other   |
//               | scaling                                            |
// grouped       | 8 to 64 groups x 64 to 4,096 tokens, even, skewed  | -
// attention     | 1k to 32k tokens, causal and full, dims 64 and     | 6
//               | 128, grouped queries, 192 / 128 of latent attention|
// memory        | every memory-bound kernel x 4 sizes past L2;       | 10
//               | permutes of 4 and 8 copies; norms of one head      |
// optimizer     | gradient norm and AdamW, 3 sizes                   | 2
// anchors       | 4 shapes in bursts and sustained                   | 1
// transfers     | device copies, pinned host copies                  | 4
// conditions    | a tiny kernel one by one and in graphs of 1, 64    | graphs of 1 and 1,024,
//               | and 1,024; the anchor while 8, 16 and 32 SMs are   | beside a copy to the host
//               | held, idle or copying memory; beside copies inside |
//               | the GPU, to and from the host                      |
//
// Shapes of the dense block: tokens 1,024 to 16,384; weights of the layers of models with hidden
// sizes 2,048 to 16,384 cut 1, 2, 4 and 8 ways. What the GPU or the library does not offer is found
// out by asking and kept as `unsupported`. Source of the counts: farthest-point choice of 36 points
// per precision is as good as any larger set (docs/calibration.md, hold-out errors).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/step/kernels/kernel_case.hpp"

namespace orrery::calibrate {

enum class Depth { quick, full };

struct SweepCase {
  kernels::KernelCase kernel;
  std::string_view block;  // "dense", "grouped", ... : as in the table above
  Regime regime = Regime::sustained;
  Condition condition = {};
  bool singly = false;  // a figure of the profile rests on this case alone
};

// In the order of the blocks; every case is sound and, in its regime and condition, there once.
[[nodiscard]] std::vector<SweepCase> sweep_cases(Depth depth);

// The shape that is measured again and again, so that drift of the clock shows.
[[nodiscard]] kernels::KernelCase anchor_case();

// A kernel whose work is nothing beside the cost of launching it.
[[nodiscard]] kernels::KernelCase tiny_case();

// What keeps the GPU at its power limit while it warms up: a large product.
[[nodiscard]] kernels::KernelCase soak_case();

// Cases that check the result of every kernel: small ones with awkward extents, one or more for
// each operation, role and precision of one GPU. Used by `orrery calibrate --check`.
//
// Extents are small enough for a double-precision reference on the host, larger than one block of
// threads, and not all multiples of 128, as far as the operation allows it.

// In the order of the table of operations; collectives are not among them.
[[nodiscard]] std::vector<kernels::KernelCase> check_cases();

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

// Farthest-point selection of the shapes to measure: a few of many, so that no other shape is far
// from all of them.
//
//   distance(a, b) = sqrt( sum_i (ln a_i - ln b_i)^2 )
//   first = the candidate nearest to the mean of the logarithms, then again and again the candidate
//   whose distance to its nearest chosen one is largest
//
// symbol | meaning                                | unit | origin
// -------|----------------------------------------|------|-------
// a_i    | extent i of a candidate, positive      | 1    | caller
//
// Ties go to the earlier candidate, so the choice is the same everywhere. Cost: candidates x
// chosen. Source: T. Gonzalez, Theoretical Computer Science 38 (1985) 293: within a factor of 2 of
// the best covering radius. On published products 36 points chosen so predict the rest as well as
// 144 (docs/calibration.md).

using Extents = std::vector<std::int64_t>;

// Indices of `count` candidates in the order of choice, all when there are fewer. Candidates have
// equally many extents.
[[nodiscard]] std::vector<std::size_t> farthest_points(std::span<const Extents> candidates,
                                                       std::size_t count);

}  // namespace orrery::calibrate
