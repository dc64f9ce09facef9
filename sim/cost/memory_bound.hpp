#pragma once

// How long does a kernel take that only moves bytes: norms, activations, casts, the optimizer?
//
//   time = kernels * gap + bytes / (hbm_bandwidth * memory_efficiency(GPU) *
//   memory_efficiency(stack)) gap  = max(launch_latency of the GPU, kernel_gap of the stack)
//   optimizer step = gap + parameters * optimizer_traffic / the same rate
//
// symbol             | meaning                                                  | unit   | origin
// -------------------|----------------------------------------------------------|--------|---------
// bytes              | read + written, each once                                | byte   |
// operation kernels            | launches of the unfused implementation                   | - |
// operation hbm_bandwidth      | datasheet rate of the memory                             | byte/s
// | profile memory_efficiency  | share that streaming kernels reach; the stack's share of that | 1
// | profiles optimizer_traffic  | bytes moved per parameter of the optimizer step          | byte
// | stack
//
// A stack cannot launch faster than its GPU, hence the larger of the two gaps, not their sum.
// Range: 0.25 MiB and above; smaller kernels are all gap. Cache reuse between kernels is left out.
// Source: calibration against norm kernels of cuDNN 9.19 and 9.22 (kernel_measurements.yaml).

#include "sim/cost/cost.hpp"
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

[[nodiscard]] Cost memory_bound_cost(const model::MemoryOp& op,
                                     const hardware::GpuProfile& gpu,
                                     const hardware::SoftwareProfile& software);

// `parameters` that this rank updates.
[[nodiscard]] Cost optimizer_cost(double parameters,
                                  const hardware::GpuProfile& gpu,
                                  const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
