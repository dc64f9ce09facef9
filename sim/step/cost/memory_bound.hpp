#pragma once

// Time of memory-bound kernels: norms, activations, casts, the optimizer.
//
//   time = kernels * gap + bytes / rate
//   gap  = launch_latency of the GPU + kernel_gap of the stack
//   rate = hbm_bandwidth * memory_efficiency of the GPU * memory_efficiency of the stack
//   norm of a named implementation = kernel_gap + max(floor, latency * chunks + rows * row_time
//                    + max(bytes / (hbm_bandwidth * share) * wide * padded * waves, wave_time))
//   optimizer step = gap + parameters * optimizer_traffic / rate
//
// symbol            | meaning                                                | unit   | origin
// ------------------|--------------------------------------------------------|--------|----------
// bytes             | read + written, each once                              | byte   | operation
// kernels           | launches of the unfused implementation                 | -      | operation
// hbm_bandwidth     | rate of the memory                                     | byte/s | profile
// memory_efficiency | GPU: share that streaming kernels reach                | 1      | profile
//                   | stack: share of that its own kernels reach             | 1      | stack
// launch_latency    | GPU-side gap between dependent kernels                 | s      | profile
// kernel_gap        | what the stack adds to it                              | s      | stack
// optimizer_traffic | bytes moved per parameter of the optimizer step        | byte   | stack
//
// Kernels that were measured on this machine come before all of this: measured_kernels.hpp.
// Norms: latency and share of the implementation that the stack names (norm_kernel), where the
// GPU's profile knows it. What follows from the width w of a row and from the code that computes
// it holds on every GPU; without a width these factors are 1:
//
// symbol   | cuDNN forward | PyTorch forward, backward | torch.compile forward, backward
// ---------|---------------|---------------------------|--------------------------------
// row_time | 24 ps         | 0                         | 0
// wide     | 1             | (w / 4096)^0.25 *, 1      | 1
// waves    | 1             | whole / needed **, 1      | 1
// padded   | 1             | 1                         | 1 + 0.1 p, 1 + 0.35 p
// chunks   | 1             | 1                         | 1 + w / 2048, 1
// floor    | 0             | 8.5 us, 28 us             | 0
//
// * on Hopper alone. ** of 16 rows on every SM; wave_time 0.95 us for each whole one.
//
// row_time: each row ends in a reduction. wide, above 4,096 elements: eager PyTorch reads a row a
// second time, from beyond the L1; Blackwell's L2 keeps up. waves: a block of 128 threads has one
// row, which it reads twice in turn (PyTorch, layer_norm_kernel.cu). padded: Triton's blocks are
// powers of two, and of 8,192 lanes a row of 5,120 leaves p = 0.6 per busy lane idle. chunks, up to
// 4,096 elements: a row is read in dependent loads. floor: an eager call takes the host so long.
// cuDNN backward: none of these.
// Reached on the published norms: 3 to 8 % by implementation and direction (held out by shape: 4 to
// 13). On rows that no constant has seen (eager PyTorch forward on a B200, 32,768 rows:
// ml-explore/mlx, pull request 3850): 2 to 3 % at 4,096, 7,168 and 8,192 elements, 13 % too fast at
// 2,048 and 3,072, 47 % at 1,024. Range: 0.25 MiB and above, rows of 128 to 16,384. Cache reuse
// between kernels is left out.
// Source: norm kernels of cuDNN 9.19 and 9.22, PyTorch and torch.compile beside them (H200, GB200),
// scenarios/published/kernel_measurements.yaml.

#include <optional>

#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// Bytes per second that this stack's kernels move.
[[nodiscard]] BytesPerSecond memory_rate(const hardware::GpuProfile& gpu,
                                         const hardware::SoftwareProfile& software);

// The weakest source in memory_rate.
[[nodiscard]] SourceKind memory_source(const hardware::GpuProfile& gpu,
                                       const hardware::SoftwareProfile& software);

// The gaps before `kernels` launches, booked as gap.
[[nodiscard]] Cost kernel_gap(const hardware::GpuProfile& gpu,
                              const hardware::SoftwareProfile& software, double kernels);

// The kernel as it was measured on this machine; nothing for a norm whose implementation the stack
// names.
[[nodiscard]] std::optional<KernelPrediction> measured_memory(
    const model::MemoryOp& op, const hardware::GpuProfile& gpu,
    const hardware::SoftwareProfile& software);

[[nodiscard]] Cost memory_bound_cost(const model::MemoryOp& op, const hardware::GpuProfile& gpu,
                                     const hardware::SoftwareProfile& software);

// `parameters` that this rank updates.
[[nodiscard]] Cost optimizer_cost(double parameters, const hardware::GpuProfile& gpu,
                                  const hardware::SoftwareProfile& software);

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

// Launches of a scan.
[[nodiscard]] double scan_kernels(const model::ScanOp& op);

[[nodiscard]] Cost scan_cost(const model::ScanOp& op, const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
