#pragma once

// How long does a kernel take that only moves bytes: norms, activations, casts, the optimizer?
//
//   time = kernels * gap + bytes / rate
//   gap  = launch_latency of the GPU + kernel_gap of the stack
//   rate = hbm_bandwidth * memory_efficiency of the GPU * memory_efficiency of the stack
//   norm of a named implementation = latency + kernel_gap + bytes / (hbm_bandwidth * share)
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
// GPU's profile knows it. Reached on the published norms: 4 to 13 % by implementation and
// direction. Range: 0.25 MiB and above; smaller kernels are all gap. Cache reuse between kernels is
// left out. Source: norm kernels of cuDNN 9.19 and 9.22,
// scenarios/published/kernel_measurements.yaml.

#include <optional>

#include "sim/cost/cost.hpp"
#include "sim/cost/measured_kernels.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/model/op.hpp"

namespace orrery::cost {

// Bytes per second that this stack's kernels move.
[[nodiscard]] BytesPerSecond memory_rate(const hardware::GpuProfile& gpu,
                                         const hardware::SoftwareProfile& software);

// The weakest source in memory_rate.
[[nodiscard]] SourceKind memory_source(const hardware::GpuProfile& gpu,
                                       const hardware::SoftwareProfile& software);

// The gaps before `kernels` launches, booked as gap.
[[nodiscard]] Cost kernel_gap(const hardware::GpuProfile& gpu,
                              const hardware::SoftwareProfile& software,
                              double kernels);

// Norms of layers, of queries and keys, of embeddings; forward and backward.
[[nodiscard]] bool is_norm(const model::MemoryOp& op);

// The kernel as it was measured on this machine; nothing for a norm whose implementation the stack
// names.
[[nodiscard]] std::optional<KernelPrediction> measured_memory(
    const model::MemoryOp& op,
    const hardware::GpuProfile& gpu,
    const hardware::SoftwareProfile& software);

[[nodiscard]] Cost memory_bound_cost(const model::MemoryOp& op,
                                     const hardware::GpuProfile& gpu,
                                     const hardware::SoftwareProfile& software);

// `parameters` that this rank updates.
[[nodiscard]] Cost optimizer_cost(double parameters,
                                  const hardware::GpuProfile& gpu,
                                  const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
