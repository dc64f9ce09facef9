#pragma once

// Activation recomputation: what is discarded after a forward and computed again for the backward.
//
//   none | selective | full | selective_operations | modules
//
// By module, under the names of Megatron-Core's recompute modules. A module gives up what is in
// the second column; what it starts from is kept.
//
// module            | gives up                                    | runs again
// ------------------|---------------------------------------------|-------------------------------
// core_attention    | scores, or the softmax statistics           | the attention core
// layernorm         | results of the norms before the attention   | norm, cast to the
//                   | and before the MLP                          | products' type
// mla_up_projection | latents behind their norms, Q, K, V         | latents' norms, both up
//                   |                                             | projections, rotary embedding
// mlp_activation    | input of the down projection: dense MLP,    | activation, cast
//                   | shared experts                              |
// moe_activation    | the same of the routed experts              | activation, cast
// mlp               | all inside the dense MLP                    | the dense MLP
// shared_experts    | all inside the shared experts               | the shared experts
// moe               | all inside the mixture: probabilities, rows | router, both exchanges, routed
//                   | of the experts, what is inside them         | and shared experts
//
// Assumptions: a module inside another adds nothing to it. Two norms inside latent attention belong
// to mla_up_projection, as where they are fused into the projections. The norms start from the
// residual stream, which every backward of a norm needs anyway.
//
// Source: Megatron-Core's transformer configuration (recompute_granularity selective,
// recompute_modules core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts);
// DeepSeek-V3 recomputes its norms, latent up projections and the experts' activation (arXiv
// 2412.19437, sections 3.2.3 and 3.3.3).

#include <array>
#include <cstddef>
#include <string_view>

namespace orrery::model {

enum class Recompute { none, selective, full, selective_operations, modules };

inline constexpr std::size_t kRecomputePolicies = 5;

// Without effect unless the policy is Recompute::modules.
struct RecomputeModules {
  bool core_attention = false;
  bool layernorm = false;
  bool mla_up_projection = false;
  bool mlp_activation = false;
  bool moe_activation = false;
  bool mlp = false;
  bool shared_experts = false;
  bool moe = false;

  friend bool operator==(const RecomputeModules&, const RecomputeModules&) = default;
};

// The words by which scenarios and published runs name modules: Megatron-Core's, and two of ours.
struct RecomputeModuleWord {
  std::string_view name;
  void (*turn_on)(RecomputeModules&);
};

inline constexpr std::array<RecomputeModuleWord, 9> kRecomputeModuleWords = {
    {{"core_attention", [](RecomputeModules& modules) { modules.core_attention = true; }},
     {"core_attn", [](RecomputeModules& modules) { modules.core_attention = true; }},
     {"layernorm", [](RecomputeModules& modules) { modules.layernorm = true; }},
     {"mla_up_proj", [](RecomputeModules& modules) { modules.mla_up_projection = true; }},
     {"activation",
      [](RecomputeModules& modules) { modules.mlp_activation = modules.moe_activation = true; }},
     {"moe_act", [](RecomputeModules& modules) { modules.moe_activation = true; }},
     {"mlp", [](RecomputeModules& modules) { modules.mlp = true; }},
     {"shared_experts", [](RecomputeModules& modules) { modules.shared_experts = true; }},
     {"moe", [](RecomputeModules& modules) { modules.moe = true; }}}};

}  // namespace orrery::model
