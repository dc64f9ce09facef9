#pragma once

// The operations that one rank runs for a layer, the embedding or the loss, in execution order.
//
// The shard context says how the axes split a layer; shapes follow from it:
//   T = b s / c tokens of a micro-batch on one rank (c = context degree)
//   QKV columns (a d + 2 g d) / t, MLP columns f / t (x2 when gated), vocabulary V / t
// With sequence parallelism norms, residuals and dropout work on T / t tokens, and the pair
// all-gather + reduce-scatter takes the place of the all-reduce (same volume).
//
// Shards that do not divide evenly are rounded up (padding). Key/value heads are copied when there
// are fewer of them than tensor ranks. Collectives appear only for degrees above one.
//
// Context parallelism, c ranks of s / c tokens each, in one of three forms:
//   all_gather  K and V are gathered, their gradients scattered; nothing hides it
//   ring        K and V travel round the ring in c - 1 steps behind the c blocks of attention,
//               their gradients a second time;
//               partial results are merged in fp32
//   all_to_all  every rank gets all tokens of heads / c heads (Ulysses): Q, K, V and the output
//               cross once forward and once backward;
//               K and V heads are copied when there are fewer than c of them,
//               so that each rank has one
// Causal masks leave the last rank (2c - 1) / c times the mean work unless the sequence is cut into
// 2c pieces, an early and a late one per rank (zigzag).
//
// Selective recomputation is either the attention core (Korthikanti et al.) or, by operation, all
// but the attention core and every other matrix product in the order q, k, v, output, (gate,) up,
// down, which are saved (torchtitan's policy). A stack whose recomputation stops early ends it
// before the last product, whose result the backward does not need.
//
// Assumptions. FP8: the linear layers of transformer layers multiply in FP8, their
// inputs and output gradients are cast and transposed for each micro-batch (model/precision.hpp);
// weights are cast once per step and so are no operation of a micro-batch, unless the stack casts
// them in every forward; gathers stay in the activation type unless the stack casts before them.
// Determinism: attention adds its gradients up in order, the embedding's sorts its rows. MoE
// passes are those of the rank with the most rows (imbalance).
//
// Source: Korthikanti et al. 2022 (arXiv 2205.05198) for tensor and sequence parallelism and for
// selective recomputation; Narayanan et al. 2021 (arXiv 2104.04473).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/step/model/model_spec.hpp"
#include "sim/step/model/op.hpp"

namespace orrery::model {

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

struct ShardContext {
  std::int64_t micro_batch = 1;  // b sequences
  std::int64_t tensor = 1;       // t
  bool sequence_parallel = false;
  std::int64_t context = 1;        // c
  std::int64_t expert = 1;         // e
  std::int64_t expert_tensor = 1;  // et
  ContextMethod context_method = ContextMethod::all_gather;
  bool context_balanced = true;  // zigzag: every rank has the same share of a causal mask

  friend bool operator==(const ShardContext&, const ShardContext&) = default;
};

struct PrecisionSpec {
  Dtype compute = Dtype::bf16;          // GEMM operands of the linear layers of a transformer layer
  Dtype activation = Dtype::bf16;       // residual stream, attention, logits GEMM
  Dtype parameter = Dtype::bf16;        // the copy that is multiplied and gathered
  Dtype gradient = Dtype::fp32;         // accumulated and reduced gradients
  Bytes optimizer_bytes = bytes(12.0);  // per parameter: fp32 master + two fp32 moments (Adam)
  // Type in which tokens go to their experts (and the gradients of the experts' results); absent:
  // that of the activations. FP8 carries an fp32 scale per 128 elements. Results come back in the
  // type of the activations.
  std::optional<Dtype> dispatch = {};
  Fp8Scaling fp8_scaling = Fp8Scaling::delayed;  // without effect unless compute is fp8 or fp4
  double cast_share = 1.0;      // traffic of casts / that of separate kernels: less where fused
  bool gathers_low = false;     // tensor-parallel gathers move what the linear layers multiply
  bool casts_weights = false;   // in every forward pass; else once per step, the copies are kept
  bool fuses_gradients = true;  // added up inside the GEMM; else by a kernel behind it
  bool deterministic = false;   // bitwise the same result in every run: no atomic additions
  // Bytes per element, scales included, of tensors that wait for the backward in a narrower type.
  // Absent: the attention output in 16 bits, and once more where its projection multiplies in FP8;
  // what the experts' activation starts from in the type of the activations.
  std::optional<Bytes> kept_attention_output = {};
  std::optional<Bytes> kept_expert_inner = {};

  // Parameters in fp32 are the optimizer's master copy themselves.
  [[nodiscard]] bool is_master() const {
    return bytes_per_element(parameter) > bytes_per_element(Dtype::bf16);
  }

  // What the optimizer holds beside the parameters, for each of them.
  [[nodiscard]] Bytes beside_parameters() const {
    return is_master() ? std::max(Bytes{}, optimizer_bytes - bytes_per_element(parameter))
                       : optimizer_bytes;
  }

  friend bool operator==(const PrecisionSpec&, const PrecisionSpec&) = default;
};

// How the attention core is computed: fused kernels keep no score matrix.
enum class AttentionKernel { fused, unfused };

struct OpOptions {
  ShardContext shard;
  PrecisionSpec precision;
  AttentionKernel attention = AttentionKernel::fused;
  bool dropout = false;                // dropout kernels run (GPT-3-era recipes)
  bool hierarchical_exchange = false;  // experts: one copy of a token per node, not per expert
  bool fused_experts = false;          // activation and casts inside the experts' products
  bool attention_fp8 = false;          // the attention core multiplies in 8 bits
  // Memory passes over what the activation of experts with biases starts from, forward; absent: one
  // fused kernel.
  std::optional<double> biased_activation_passes = {};
  // Sequence parallelism: the gathered input of a linear layer is kept for its weight gradient.
  bool keeps_gathered_input = false;
  bool recompute_stops_early = false;
  RecomputeModules recompute_modules = {};  // of Recompute::modules
  // Partial results of unfused kernels that selective recomputation by operation keeps though no
  // backward needs them: a compiler drops them.
  bool keeps_unused_results = true;
  // Measured traffic of a stack in place of the count of its operations; absent: as counted.
  std::optional<double> score_passes;  // over the scores of unfused attention, forward
  double backward_passes = 1.0;        // of unfused kernels, backward / forward
  // Passes more, and more launches, where the fused softmax kernel refuses; absent: no such kernel.
  std::optional<double> softmax_fallback_passes;
  std::optional<Bytes> loss_bytes_per_logit;  // cross-entropy forward and backward together

  friend bool operator==(const OpOptions&, const OpOptions&) = default;
};

// Whether Megatron's fused scale-mask-softmax kernel takes these shapes: 16 < keys <= 2048, queries
// and sequences x heads of the rank both multiples of 4 (four rows share a thread block). Otherwise
// scale, mask and softmax run one by one in fp32, with casts around them. Source: the availability
// test of fused_softmax.py, Megatron-LM 2021-2022 and its DeepSpeed forks.
[[nodiscard]] constexpr bool fused_softmax_fits(std::int64_t queries, std::int64_t keys,
                                                std::int64_t sequences_times_heads) {
  return keys > 16 && keys <= 2048 && queries % 4 == 0 && sequences_times_heads % 4 == 0;
}

// The passes of one part of the model for one micro-batch on one rank. backward_input and
// backward_weight are apart, so that schedules may split them; a full backward runs
// backward_input and backward_weight of each operation interleaved, which costs the same.
struct LayerPasses {
  Pass forward;
  Pass backward_input;
  Pass backward_weight;
  std::size_t mlp_weight_ops = 0;  // leading operations of backward_weight: those of the MLP block
};

// Layer `layer` (0-based: MoE models may begin with dense layers).
[[nodiscard]] LayerPasses layer_passes(const ModelSpec& model, const OpOptions& options,
                                       std::int64_t layer);

// Embedding look-up (and its gradient) on the first stage.
[[nodiscard]] LayerPasses embedding_passes(const ModelSpec& model, const OpOptions& options);

// Final norm, logits GEMM and cross-entropy on the last stage, followed by the multi-token
// prediction modules (norms, projection 2 h -> h, one layer, the shared head again) if there are
// any.
[[nodiscard]] LayerPasses head_passes(const ModelSpec& model, const OpOptions& options);

// The operations that must run again before the backward of a layer, every one marked `recomputed`:
// none: empty; selective: the attention core; selective_operations: all but what is saved; full:
// the forward pass of the layer; modules: those of options.recompute_modules.
[[nodiscard]] Pass recompute_pass(const ModelSpec& model, const OpOptions& options,
                                  std::int64_t layer, Recompute policy);

// The same for the layers of the multi-token prediction modules, which stand with the head.
[[nodiscard]] Pass head_recompute_pass(const ModelSpec& model, const OpOptions& options,
                                       Recompute policy);

}  // namespace orrery::model
