#pragma once

// How long does a matrix product take on one GPU?
//
//   time    = gap + max(compute + exposed * memory, memory)
//   compute = F / (sustained * efficiency) * (1 + k0 / K) * sqrt(waves) * alignment * rows
//   memory  = bytes / (hbm_bandwidth * memory_efficiency)
//
// symbol     | meaning                                                       | unit   | origin
// -----------|---------------------------------------------------------------|--------|----------
// F          | 2 m n k batch                                                 | FLOP   | operation
// sustained  | rate of large products in steady state                        | FLOP/s | profile
// efficiency | gemm_efficiency: rate inside this stack / sustained           | 1      | stack
// k0         | half_depth: depth that filling and draining a tile costs      | -      | profile
// waves      | whole waves of the best tile over the SMs / what it needs     | 1      | computed
// alignment  | 1.3 when n or k is not a multiple of 8 elements               | 1      | published
// rows       | grouped products: 1 + 38 / rows per group                     | 1      | fit
// bytes      | operands read, result written; fp32 accumulation: 8 per sum   | byte   | operation
// exposed    | share of the memory time that compute does not hide           | 1      | fit
// gap        | launch latency of the GPU + kernel gap of the stack           | s      | profiles
//
// exposed is 0.25, for grouped products 1: their operands are read cold and in small pieces.
// The square root of the wave ratio: a library that switches tiles and splits K loses about half
// (in the logarithm) of what a fixed tile would: fitted exponent 0.51 on the A100 points. The two
// products of unfused attention (attention_scores, attention_context) run at the GPU's fused rate
// times attention_efficiency, bound by compute or by the traffic of the scores. Range: m, n, k >=
// 64, 16-bit. A value outside the range that the profile states for `sustained` (FLOP of one
// product) or `half_depth` (K) is booked as extrapolated. Source: fit on
// scenarios/published/kernel_measurements.yaml (SimuMax tables of A100 PCIe and B200).

#include "sim/cost/cost.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/model/op.hpp"

namespace orrery::cost {

// The stack-independent parts, for tests and for `explain`.
struct GemmTime {
  Seconds compute;
  Seconds memory;
  double wave_penalty = 1.0;  // sqrt(waves)
  double alignment_penalty = 1.0;
  double row_penalty = 1.0;
  bool substituted_dtype = false;  // the GPU has no unit for the data type: a wider one is used
};

// One of the two batched products of unfused attention.
[[nodiscard]] bool is_attention_product(const model::GemmOp& op);

// Bytes that cross the memory interface once.
[[nodiscard]] Bytes gemm_bytes(const model::GemmOp& op);

// Whole waves of the best tile over what it needs, >= 1 / tile efficiency of the best tile.
[[nodiscard]] double wave_ratio(const model::GemmOp& op, std::int64_t sm_count);

// The rate entry of the data type; when the GPU has no such unit the next wider type it does have
// (fp4 -> fp8 -> bf16, bf16 <-> fp16, fp32 -> tf32 -> 16 bit), and `substituted` is set.
[[nodiscard]] const hardware::GemmRate& gemm_rate(const hardware::GpuProfile& gpu,
                                                  model::Dtype dtype,
                                                  bool& substituted);

[[nodiscard]] GemmTime gemm_time(const model::GemmOp& op,
                                 const hardware::GpuProfile& gpu,
                                 const hardware::SoftwareProfile& software);

[[nodiscard]] Cost gemm_cost(const model::GemmOp& op,
                             const hardware::GpuProfile& gpu,
                             const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
