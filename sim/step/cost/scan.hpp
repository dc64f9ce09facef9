#pragma once

// Time of a scan (op.hpp) on one GPU:
//
//   time = gap + tau s / C + bytes / min(rate, memory rate)
//
// symbol      | meaning                                                        | unit   | origin
// ------------|----------------------------------------------------------------|--------|----------
// s, C        | tokens of one sequence, of a chunk: chunks follow one another  | tokens | operation
// tau         | what one chunk adds to the chain                               | s      | profile
// bytes       | of the kernels (op.hpp), all sequences and heads               | byte   | operation
// rate        | at which they move                                             | byte/s | profile
// memory rate | of streaming kernels (memory_bound.hpp)                        | byte/s | profile
// gap         | launches: 6 forward, 12 backward                               | s      | stack
//
// A GPU whose profile has no entry for the kind takes, as an assumption:
//
//   kind          | rate / bandwidth, forward, backward | tau, forward, backward | after
//   --------------|-------------------------------------|------------------------|-----------------
//   state_space   | 0.28, 0.28                          | 0, 0                   | mamba-ssm
//   delta         | 0.69, 0.65                          | 1.28 us, 3.65 us       | H200
//   channel_delta | 0.39, 0.37                          | 1.28 us, 3.65 us       | delta, GB200's
//   retention     | 0.44, 0.59                          | 0, 0                   | ratios to it
//
// The published times are those of CUDA graphs, so launches of the kernels are in tau and rate; gap
// is what the stack adds. Reached on fla's gated delta rule, heads of 128, one sequence of 2,048 to
// 32,768 tokens: 5.9 % forward and 1.8 % backward on an H200, 5.7 and 1.9 % on a GB200; heads of
// 256 take 1.7 times as long as counted. The whole forward of mamba-ssm moves its bytes at 0.95
// TB/s (heads of 128, chunks of 64), 0.28 of an H100's bandwidth; one of its five kernels, tuned by
// tilelang, reaches 0.4. No backward is published: it is taken to move as the forward. Neither
// memory nor tensor cores bind these kernels: what the delta rule gains from an H200 to a GB200,
// 1.22 forward and 0.97 backward, is the ratio of Blackwell's entries to Hopper's. Checked on 40
// measured steps of hybrids (docs/generalisation.md).
// Source: QwenLM/FlashQLA c18a4860 (benchmark_results_H200.txt, _GB200.txt), MoonshotAI/FlashKDA
// 1ce47ea3 (BENCHMARK_GB200.md), README of flash-linear-attention bc3b101d, tile-ai/tilelang
// (benchmark/mamba2), fla-org/flash-linear-attention pull 50.

#include "sim/step/cost/cost.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// Launches of a scan.
[[nodiscard]] double scan_kernels(const model::ScanOp& op);

[[nodiscard]] Cost scan_cost(const model::ScanOp& op, const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
