#pragma once

// A linear mixer on one tensor rank: Mamba-2, the delta rules, lightning attention.
//
//   mixer = norm, input projection h -> P, causal convolution of F channels, scan, gate (with its
//           norm), output projection I -> h, residual
//
// symbol | meaning                        | mamba2          | gated_delta   | kda      | lightning
// -------|--------------------------------|-----------------|---------------|----------|----------
// I      | inner = H V: scanned channels  | heads x width   | H V           | H V      | H V
// P      | projected: columns of the      | 2 I + 2 G K + H | 2 I + 2 G K   | I + 2 G K| 2 I +
//        | input projection               |                 | + 2 H         | + H      | 2 G K
// F      | convolved                      | I + 2 G K       | I + 2 G K     | I + 2 G K| 0
// R      | rank of the maps h -> R -> G K | 0               | 0             | V        | 0
//        | (decay) and h -> R -> I (gate) |                 |               |          |
//
// Parameters beside the projections: taps F W (mamba2: and F biases); decay and step of the heads
// (mamba2 3 H, gated_delta 2 H, kda H + G K); the gate's norm (mamba2 and lightning I, else V).
// Kept until the backward beside the norm's input and the projections' inputs, bytes per token in
// 16 bits; convolution, states and what is inside the chunks run again:
//
//   mamba2       2 P + 2 I                            projected, result of the scan
//   gated_delta  4 F + 4 I + 2 C H + 14 H + 8 G       both sides of the convolution, gate and
//                                                     result, triangular tiles, gates, statistics
//   kda          4 F + 4 I + 6 G K + 4 C H + 6 H      and the decay of every channel
//   lightning    2 P + 2 I
//
// Tensor parallelism splits heads and keys (as Megatron-Core: both must divide); the low-rank maps
// and norms of one head are copied. Context parallelism exchanges the projected columns for heads
// before the convolution and the result back behind the scan, whatever the attention does
// (Megatron-Core's mamba_context_parallel and gated_delta_net).
//
// Source: Megatron-Core d98e8a64 (ssm/mamba_mixer.py, gated_delta_net), fla bc3b101d (what
// save_for_backward holds), NeMo Automodel 36044ad3 (kimi_linear), MiniMax-M1's modeling file.
// Used inside model/ and by the rules of layouts.

#include <cstdint>

#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::model {

struct MixerDims {
  LayerType type = LayerType::mamba2;
  ScanKind scan = ScanKind::state_space;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t conv = 0;
  std::int64_t chunk = 0;
  std::int64_t inner = 0;
  std::int64_t keys = 0;  // G K
  std::int64_t projected = 0;
  std::int64_t convolved = 0;
  std::int64_t low_rank = 0;
};

// `type`: mamba2, gated_delta, kda or lightning. Needs the model's linear_attention.
[[nodiscard]] MixerDims mixer_dims(const ModelSpec& model, LayerType type, std::int64_t tensor);

// Parameters that tensor ranks split, and those that each has.
struct MixerParameters {
  double split = 0.0;
  double copied = 0.0;
};

[[nodiscard]] MixerParameters mixer_parameters(const ModelSpec& model, LayerType type);

// The formula above for one token and rank, with the input of the output projection in
// `linear_bytes` per element.
[[nodiscard]] double kept_per_token(const MixerDims& mixer, double element_bytes,
                                    double linear_bytes);

// Forward FLOP of all scans per token, over the layers from `first` to before `last`.
[[nodiscard]] double scan_flop_per_token(const ModelSpec& model, std::int64_t first,
                                         std::int64_t last);

}  // namespace orrery::model
