#pragma once

// The model that is trained: the dimensions of a transformer, dense or mixture of experts.
//
// symbol | meaning                                      | unit     | origin
// -------|----------------------------------------------|----------|---------------------------
// L      | num_layers: transformer layers               | layers   | published, or the scenario
// h      | hidden_size: width of the residual stream    | elements | published, or the scenario
// a      | num_attention_heads: query heads             | heads    | published, or the scenario
// g      | num_query_groups: key/value heads (GQA)      | heads    | default a
// d      | head_dim: width of one head                  | elements | default h / a
// f      | ffn_hidden_size: inner width of the dense MLP | elements | default 4 h
// V      | vocab_size: rows of the embedding table      | tokens   | published, or the scenario
// s      | sequence_length: tokens of one sequence      | tokens   | scenario
//
// Counts are per model, never per rank: shards are the business of layout/. All fields are (set);
// `resolve` fills the defaults, so that later stages never meet a zero.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::model {

enum class Activation { gelu, swiglu, squared_relu, relu };
enum class Norm { layer_norm, rms_norm };
enum class PositionEmbedding { none, learned, rotary, alibi };

// Mixture of experts in the layers from `dense_layers` on.
struct MoeSpec {
  std::int64_t num_experts = 0;      // routed experts per MoE layer
  std::int64_t top_k = 0;            // experts a token is sent to
  std::int64_t ffn_hidden_size = 0;  // inner width of one routed expert
  std::int64_t shared_experts = 0;   // always-on experts of the same inner width
  std::int64_t dense_layers = 0;  // leading layers with a dense MLP of the model's ffn_hidden_size
  double capacity_factor = 0.0;   // 0: dropless; else rows per expert <= factor * average
  double imbalance = 1.0;         // rows of the busiest rank / average, >= 1
  double load_spread = 0.0;       // standard deviation of one expert's rows / average
  double router_skew = 0.0;       // share of the router's variance that all tokens have in common
  std::int64_t node_limit = 0;    // most nodes a token is sent to; 0: no limit

  [[nodiscard]] bool drops_tokens() const {
    return capacity_factor > 0.0;
  }
};

// Multi-head latent attention (DeepSeek-V2/V3).
struct MlaSpec {
  std::int64_t q_lora_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
};

// Sliding-window attention: a query sees the `size` keys up to its own, itself included; in the
// last layer of every `full_every` (0: in none) it sees all of them.
struct WindowSpec {
  std::int64_t size = 0;
  std::int64_t full_every = 0;
};

// Low-rank adapters (LoRA): all weights of the model are frozen, and beside each linear layer of
// the named kinds, Y = X W, two small products are trained, Y += X A B with A of k x r and B of r x n.
//
// symbol | meaning                                     | unit     | origin
// -------|---------------------------------------------|----------|----------
// r      | rank of the adapters                        | elements | scenario
// k, n   | inputs and outputs of the linear layer      | elements | ModelSpec
//
// Source: Hu et al. 2021 (arXiv 2106.09685); what frozen layers leave out: LinearWithFrozenWeight
// of Megatron-Core. nf4 holds the weights of layers in 4 bits with doubly quantised scales and brings
// them to 16 bits at every use (QLoRA, Dettmers et al. 2023, arXiv 2305.14314).
enum class FrozenBase { parameters, nf4 };

struct AdapterTargets {
  bool qkv = false;   // query, key and value projections, of latents too
  bool proj = false;  // output projection of the attention
  bool fc1 = false;   // up and gate projection of dense layers and of shared experts
  bool fc2 = false;   // down projection of these
};

// The words by which scenarios and other programs name these layers: Megatron-Core's without their
// `linear_` first, then those of PEFT, NeMo and older models. A single projection of several stands
// for all of them.
struct AdapterTargetWord {
  std::string_view name;
  bool AdapterTargets::*target;
};

inline constexpr std::array<AdapterTargetWord, 31> kAdapterTargetWords = {
    {{"qkv", &AdapterTargets::qkv},
     {"proj", &AdapterTargets::proj},
     {"fc1", &AdapterTargets::fc1},
     {"fc2", &AdapterTargets::fc2},
     {"q_proj", &AdapterTargets::qkv},
     {"k_proj", &AdapterTargets::qkv},
     {"v_proj", &AdapterTargets::qkv},
     {"o_proj", &AdapterTargets::proj},
     {"gate_proj", &AdapterTargets::fc1},
     {"up_proj", &AdapterTargets::fc1},
     {"down_proj", &AdapterTargets::fc2},
     {"linear_qkv", &AdapterTargets::qkv},
     {"linear_q", &AdapterTargets::qkv},
     {"linear_k", &AdapterTargets::qkv},
     {"linear_v", &AdapterTargets::qkv},
     {"linear_proj", &AdapterTargets::proj},
     {"linear_fc1", &AdapterTargets::fc1},
     {"linear_fc2", &AdapterTargets::fc2},
     {"attention_qkv", &AdapterTargets::qkv},
     {"attention_dense", &AdapterTargets::proj},
     {"mlp_fc1", &AdapterTargets::fc1},
     {"mlp_fc2", &AdapterTargets::fc2},
     {"qkv_proj", &AdapterTargets::qkv},
     {"gate_up_proj", &AdapterTargets::fc1},
     {"query_key_value", &AdapterTargets::qkv},
     {"c_attn", &AdapterTargets::qkv},
     {"out_proj", &AdapterTargets::proj},
     {"dense", &AdapterTargets::proj},
     {"dense_h_to_4h", &AdapterTargets::fc1},
     {"c_fc", &AdapterTargets::fc1},
     {"dense_4h_to_h", &AdapterTargets::fc2}}};

struct AdapterSpec {
  std::int64_t rank = 0;
  AdapterTargets targets = {.qkv = true, .proj = true, .fc1 = true, .fc2 = true};
  double dropout = 0.0;  // of the adapters' input; above 0 its masks are kept
  FrozenBase base = FrozenBase::parameters;
};

struct ModelSpec {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_query_groups = 0;  // 0: num_attention_heads
  std::int64_t head_dim = 0;          // 0: hidden_size / num_attention_heads
  std::int64_t ffn_hidden_size = 0;   // 0: 4 * hidden_size
  std::int64_t vocab_size = 0;
  std::int64_t sequence_length = 0;
  bool tie_embeddings = false;
  Activation activation = Activation::swiglu;
  Norm norm = Norm::rms_norm;
  PositionEmbedding position = PositionEmbedding::rotary;
  std::int64_t max_positions = 0;  // rows of a learned position table, 0: sequence_length
  bool linear_bias = false;        // biases in every linear layer (GPT-3, BLOOM, OPT)
  bool qkv_bias = false;           // bias in the QKV projection only (Qwen2.5)
  bool embedding_norm = false;     // extra LayerNorm after the embedding (BLOOM)
  bool causal = true;
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::optional<WindowSpec> attention_window;
  std::int64_t mtp_layers = 0;      // multi-token-prediction modules after the last layer
  std::optional<AdapterSpec> lora;  // absent: all weights are trained

  [[nodiscard]] bool gated_mlp() const {
    return activation == Activation::swiglu;
  }

  [[nodiscard]] bool is_moe_layer(std::int64_t layer) const {
    return moe.has_value() && layer >= moe->dense_layers;
  }

  // Keys that a query of this layer sees at most; 0: all.
  [[nodiscard]] std::int64_t window_of(std::int64_t layer) const {
    const bool full =
        !attention_window || attention_window->size >= sequence_length ||
        (attention_window->full_every > 0 && (layer + 1) % attention_window->full_every == 0);
    return full ? 0 : attention_window->size;
  }
};

// Fills the fields that may be left out (0): query groups, head_dim, ffn, positions. With
// multi-head latent attention head_dim is the width of a query head, qk_nope + qk_rope.
[[nodiscard]] ModelSpec resolve(ModelSpec spec);

}  // namespace orrery::model
