#pragma once

// Time of fused attention (FlashAttention, cuDNN) on one GPU:
//
//   time = gap + max(imbalance F / rate, bytes / memory rate)
//   rate = asymptote * generation * attention_efficiency * across * head * occupancy
//          / (1 + s0' / s)
//
// symbol    | meaning                                                        | unit   | origin
// ----------|----------------------------------------------------------------|--------|----------
// F         | op.hpp: causal counts half, backward counts 2.5 x forward      | FLOP   | operation
// asymptote | rate on long sequences, forward and backward separately        | FLOP/s | profile
// generation| 1 when the GPU's profile knows the kernel that the stack names | 1      | profile
//           | (absent: its best one), else the ratio of the two generations  |        |
//           | on an H100, at most 1: the GPU's best kernel is its limit      |        | assumed
// (stack)   | attention_efficiency: rate in this stack / the profile's       | 1      | stack
// s         | keys that a query row runs over in one kernel (ring: a block)  | -      | operation
// across    | context_attention_efficiency^log2(ranks that share the keys)   | 1      | stack
// imbalance | time of the slowest rank / mean, causal context parallelism    | 1      | operation
// s0'       | half length: s0 causal; times full_ratio without mask,         | -      | profile
//           | times backward_ratio backward, backward_ratio_fp8 in 8         |        |
//           | bit                                                            |        |
// (masked)  | causal_backward_fp8: an 8-bit backward with a causal mask / one | 1      | profile
//           | without; absent: 1                                             |        |
// head      | head_64^log2(128/d) below 128, head_256^log2(d/128)            | 1      | profile
//           | above (1), d the larger head dimension                         |        |
// (ordered) | a deterministic backward takes deterministic_time, that of     | 1      | GPU
//           | FlashAttention-2 deterministic_fa2_time: query gradients are   |        |
//           | added in a fixed order. cuDNN has one                          |        |
//           | on Hopper, and on Blackwell without dropout; elsewhere a stack |        |
//           | of cuDNN's runs FlashAttention-2 then                          |        |
// occupancy | share of the last wave: query tiles of 128 rows over the SMs   | 1      | computed
// bytes     | Q, K, V, O read or written once (and their gradients)          | byte   | operation
//
// Reached on the shipped profiles (mean absolute error of the rate): H200 cuDNN 9.19 3 %, GB200
// cuDNN 9.22 5 %, H100 FlashAttention-2 2 %, Triton 4 %, cuDNN (2024) 4 %, FlashAttention-3 3 %.
// 8-bit inputs use the kernel's own 8-bit rates, or the 16-bit ones flagged as extrapolated.
// FlashAttention and cuDNN take no 4-byte inputs; the kernels that do are of the generation before
// (xFormers' and PyTorch's memory-efficient attention, beside FlashAttention-2 in arXiv 2307.08691)
// and run at its rate times that of products in fp32 or tf32 / in 16 bits, flagged the same. A
// window of w keys counts w - w^2 / (2 s) keys a query. Unfused attention arrives as GemmOp and
// MemoryOp instead. Range: s >= 512, head dimension 64 to 256.
// Source: scenarios/published/kernel_measurements.yaml. Determinism: the two deterministic rows of
// cuDNN 9.19 on an H200 (head dimensions 192 and 128) run at 0.82 and 0.85 of the others' rate;
// FlashAttention-3 loses up to 37.9 % (DASH, arXiv 2601.21824); FlashAttention-2's backward takes
// 1.66 to 1.94 x on an H100 (302.5 against 179.3 TFLOP/s at 8,192 tokens; 166.0 causal: Dao-AILab
// flash-attention PR 1893). Which kernel has one: NVIDIA/TransformerEngine, get_attention_backend,
// PR 2130 and 2584 (cuDNN 9.18.1 on Blackwell, not with dropout).

#include <optional>

#include "sim/step/cost/cost.hpp"
#include "sim/step/cost/measured_kernels.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::cost {

// The entry of the GPU's profile that stands for the stack's kernel and the factor on its rates.
struct AttentionKernelRate {
  const hardware::AttentionRate* rate = nullptr;
  double scale = 1.0;
  bool derived = false;  // the profile has no entry of the generation
};

[[nodiscard]] AttentionKernelRate attention_kernel_rate(const hardware::GpuProfile& gpu,
                                                        const hardware::SoftwareProfile& software,
                                                        const model::AttentionOp& op = {});

// FLOP/s that the kernel reaches on this shape.
[[nodiscard]] FlopPerSecond attention_rate(const model::AttentionOp& op,
                                           const hardware::GpuProfile& gpu,
                                           const hardware::SoftwareProfile& software);

// Time of the kernel without any stack, its launches included: the law that calibration fits.
[[nodiscard]] Seconds library_attention_time(const model::AttentionOp& op,
                                             const hardware::AttentionRate& rate,
                                             const hardware::GpuProfile& gpu);

// The kernel as it was measured on this machine; nothing when the stack runs another one.
[[nodiscard]] std::optional<KernelPrediction> measured_attention(
    const model::AttentionOp& op, const hardware::GpuProfile& gpu,
    const hardware::SoftwareProfile& software);

// Bytes that cross the memory interface: operands once, forward; with their gradients, backward.
[[nodiscard]] Bytes attention_bytes(const model::AttentionOp& op);

// Launches of the fused forward (one) or backward (three).
[[nodiscard]] double attention_kernels(const model::AttentionOp& op);

[[nodiscard]] Cost attention_cost(const model::AttentionOp& op, const hardware::GpuProfile& gpu,
                                  const hardware::SoftwareProfile& software);

}  // namespace orrery::cost
