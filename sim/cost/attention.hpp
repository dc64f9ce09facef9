#pragma once

// How long does fused attention (FlashAttention, cuDNN) take on one GPU?
//
//   time = gap + max(F / rate, bytes / memory rate)
//   rate = asymptote * attention_efficiency * head * occupancy / (1 + s0' / s)
//
// symbol    | meaning                                                        | unit   | origin
// ----------|----------------------------------------------------------------|--------|----------
// F         | op.hpp: causal counts half, backward counts 2.5 x forward      | FLOP   | operation
// asymptote | rate on long sequences, forward and backward apart             | FLOP/s | profile
// (stack)   | attention_efficiency: rate in this stack / the profile's       | 1      | stack
// s         | keys that a query row runs over                                | -      | operation
// s0'       | half length: s0 causal; s0 / 3 full; times 1.2 backward        | -      | profile
// head      | (d / 128)^0.3 below 128 per head, d the larger head dimension  | 1      | fit
// occupancy | share of the last wave: query tiles of 128 rows over the SMs   | 1      | computed
// bytes     | Q, K, V, O read or written once (and their gradients)          | byte   | operation
//
// Reached on the shipped profiles (bf16, head dimension 128, mean absolute error of the rate): H200
// cuDNN 9.19 forward 2 %, backward 4 %; GB200 cuDNN 9.22 3 % and 8 %; H100 FlashAttention-3 3 % and
// 6 %. Fits on each of them give a causal half length of 2.7 to 3.7 times the full one, and a
// backward one of 1.1 to 1.4 times the forward one. 8-bit inputs use the 16-bit rates, flagged as
// extrapolated: their backward is no faster (H200). Unfused attention arrives as GemmOp and
// MemoryOp instead. Range: s >= 512, head dimension 64 to 256.
// Source: scenarios/published/kernel_measurements.yaml.

#include "sim/cost/cost.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/model/op.hpp"

namespace orrery::cost {

// FLOP/s that the kernel reaches on this shape.
[[nodiscard]] FlopPerSecond attention_rate(const model::AttentionOp& op,
                                           const hardware::GpuProfile& gpu,
                                           const hardware::SoftwareProfile& software);

// Launches of the fused forward (one) or backward (three).
[[nodiscard]] double attention_kernels(const model::AttentionOp& op);

[[nodiscard]] Cost attention_cost(const model::AttentionOp& op,
                                  const hardware::GpuProfile& gpu,
                                  const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
