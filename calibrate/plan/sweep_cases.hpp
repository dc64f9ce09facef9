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

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibrate/samples/sample.hpp"
#include "sim/kernels/kernel_case.hpp"

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

}  // namespace orrery::calibrate
