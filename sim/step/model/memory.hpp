#pragma once

// Activation memory: the bytes that one micro-batch leaves on a rank until its backward has run.
//
//   one GPT layer, b sequences, 16-bit, with dropout:  s b h (34 + 5 a s / h)        (t = 1)
//   tensor + sequence parallel:                        s b h (34 + 5 a s / h) / t
//   tensor without sequence parallel:                  s b h (10 + 24 / t + 5 a s / (h t))
//   selective recompute drops 5 a s / h; full keeps the layer input 2 s b h
//
// (Korthikanti et al. 2022, eqs. 1-6) is the special case of an unfused attention with dropout and
// a GELU MLP of f = 4 h; the general count adds up what each operation's backward needs. Fused
// attention keeps no score matrix but the softmax statistics (4 bytes per row and head).
// Assumptions: statistics of norms are left out (as in the source); with sequence parallelism the
// gathered input of a linear layer is not kept but gathered again; FP8 linear layers keep the FP8
// copy of their input; routing weights of MoE are applied before the down projection, so the
// experts' outputs are not kept; the head keeps its logits in fp32: 4 s b h (1 + V / h) / t, unless
// the stack states how many bytes per logit are alive at the peak of the loss.
//
// Selective recomputation by operation keeps, in 16 bits, the layer's input, the core's output and
// the results of every other product: q and v, gate (or up), and down where kernels run unfused.
// Recomputation by module keeps all but what its modules give up (recompute.hpp). A type stated for
// the attention output makes one copy of it, for the core and its projection; one stated for what
// the experts' activation starts from holds for routed and shared experts.
// A linear mixer keeps what recurrence.hpp counts; selective recomputation leaves it alone (its
// states run again anyway), that by operation keeps its projected columns.
// Context parallelism holds, while a layer runs backward, K and V and their gradients: of the whole
// sequence (all_gather), of two slices (ring), or the exchanged heads (all_to_all).

#include <array>
#include <optional>
#include <string_view>

#include "sim/step/model/transformer_ops.hpp"

namespace orrery::model {

struct ActivationOptions {
  OpOptions ops;
  Recompute recompute = Recompute::none;
  bool dropout = false;  // masks of one byte per element are kept; ops.dropout implies it
  std::optional<Bytes> logits_bytes =
      std::nullopt;  // alive at the peak of the loss, per logit of the rank
};

// Modules whose input waits in host memory instead, under the names of Megatron-Core's
// --offload-modules. Recomputation comes first: what it gives up is not there to be moved.
struct OffloadModules {
  bool attn_norm = false;   // the residual stream
  bool qkv_linear = false;  // result of the norm, or the latents of latent attention
  bool core_attn = false;   // Q, K and V
  bool attn_proj = false;   // the core's output
  bool mlp_norm = false;    // the residual stream
  bool expert_fc1 = false;  // rows of the routed experts
  bool moe_act = false;     // what the experts' activation starts from

  friend bool operator==(const OffloadModules&, const OffloadModules&) = default;
};

struct OffloadModuleWord {
  std::string_view name;
  bool OffloadModules::*member;
};

inline constexpr std::array<OffloadModuleWord, 7> kOffloadModuleWords = {
    {{"attn_norm", &OffloadModules::attn_norm},
     {"qkv_linear", &OffloadModules::qkv_linear},
     {"core_attn", &OffloadModules::core_attn},
     {"attn_proj", &OffloadModules::attn_proj},
     {"mlp_norm", &OffloadModules::mlp_norm},
     {"expert_fc1", &OffloadModules::expert_fc1},
     {"moe_act", &OffloadModules::moe_act}}};

[[nodiscard]] Bytes layer_activation_bytes(const ModelSpec& model, const ActivationOptions& options,
                                           std::int64_t layer);
[[nodiscard]] Bytes embedding_activation_bytes(const ModelSpec& model,
                                               const ActivationOptions& options);
[[nodiscard]] Bytes head_activation_bytes(const ModelSpec& model, const ActivationOptions& options);

// Of them, what waits in host memory.
[[nodiscard]] Bytes layer_offloaded_bytes(const ModelSpec& model, const ActivationOptions& options,
                                          const OffloadModules& modules, std::int64_t layer);

// Extra bytes that exist only while one layer's backward runs: with full recomputation the layer's
// own activations; by module those of the attention or of the MLP.
[[nodiscard]] Bytes layer_working_bytes(const ModelSpec& model, const ActivationOptions& options,
                                        std::int64_t layer);

// Extra bytes while the head's backward runs: the gradient of the logits, or all of logits_bytes;
// at least what the layer of a multi-token prediction module needs.
[[nodiscard]] Bytes head_working_bytes(const ModelSpec& model, const ActivationOptions& options);

}  // namespace orrery::model
