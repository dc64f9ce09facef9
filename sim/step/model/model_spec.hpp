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
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::int64_t dense_branch = 0;     // inner width of a dense MLP with its own norm beside them
  std::int64_t dense_layers = 0;  // leading layers with a dense MLP of the model's ffn_hidden_size
  double capacity_factor = 0.0;   // 0: dropless; else rows per expert <= factor * average
  double imbalance = 1.0;         // rows of the busiest rank / average, >= 1
  double load_spread = 0.0;       // standard deviation of one expert's rows / average
  double router_skew = 0.0;       // share of the router's variance that all tokens have in common
  std::int64_t node_limit = 0;    // most nodes a token is sent to; 0: no limit
  std::int64_t latent_size = 0;   // width in which routed experts work; 0: that of the stream

  [[nodiscard]] bool drops_tokens() const { return capacity_factor > 0.0; }

  // Inner width of what every token passes beside the routed experts.
  [[nodiscard]] std::int64_t shared_width() const {
    return shared_experts * ffn_hidden_size + dense_branch;
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

// Attention to chosen keys (DeepSeek-V3.2): an indexer of `heads` heads, `dim` wide and with one
// key for all of them, scores every key before a query, which then sees the best `top_k`. With
// compressed attention it scores the entries of the layers that are compressed_sparse_attention.
struct SparseAttentionSpec {
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t top_k = 0;
};

// Compressed attention (DeepSeek-V4): queries through a latent of q_lora_rank, one head that is key
// and value, an output projection of low rank in groups of heads. Every query sees the window of
// attention_window; layers that are compressed also see one entry, a learned mean, for every
// `ratio` tokens before it: all of them (128), or those that an indexer chooses (4).
struct CompressedAttentionSpec {
  std::int64_t q_lora_rank = 0;
  std::int64_t output_groups = 0;
  std::int64_t output_rank = 0;  // of each group
  std::int64_t ratio = 0;        // of this layer (of_layer); 0: the window alone
};

inline constexpr std::int64_t kSparseRatio = 4;
inline constexpr std::int64_t kDenseRatio = 128;

// Channels of the entries of `width` and of their weights, per token: blocks of ratio 4 overlap.
[[nodiscard]] constexpr std::int64_t compressed_columns(const CompressedAttentionSpec& spec,
                                                        std::int64_t width) {
  return spec.ratio == 0 ? 0 : (spec.ratio == kSparseRatio ? 4 : 2) * width;
}

// Sliding-window attention: a query sees the `size` keys up to its own, itself included; in the
// last layer of every `full_every` (0: in none) it sees all of them.
struct WindowSpec {
  std::int64_t size = 0;
  std::int64_t full_every = 0;
};

// Low-rank adapters (LoRA): all weights of the model are frozen, and beside each linear layer of
// the named kinds, Y = X W, two small products are trained, Y += X A B, A of k x r and B of r x n.
//
// symbol | meaning                                     | unit     | origin
// -------|---------------------------------------------|----------|----------
// r      | rank of the adapters                        | elements | scenario
// k, n   | inputs and outputs of the linear layer      | elements | ModelSpec
//
// Source: Hu et al. 2021 (arXiv 2106.09685); what frozen layers leave out: LinearWithFrozenWeight
// of Megatron-Core. nf4 holds the weights of layers in 4 bits with doubly quantised scales and
// brings them to 16 bits at every use (QLoRA, Dettmers et al. 2023, arXiv 2305.14314).
enum class FrozenBase { parameters, nf4 };

// lora:       Y = X W + s (X A) B
// dora:       Y = X W' with W' = m (W + s A B) / ||W + s A B||, m of n elements trained, too, and
//             the norm of each output a constant (Liu et al. 2024, arXiv 2402.09353, section 4.3)
// bottleneck: Y += f(Y D + d) U + u behind attention and MLP, D of h x r (Houlsby et al. 2019,
//             arXiv 1902.00751); of the targets proj and fc2 name these places
enum class AdapterKind { lora, dora, bottleneck };

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
  AdapterKind kind = AdapterKind::lora;
  std::int64_t rank = 0;  // of a bottleneck its width
  AdapterTargets targets = {.qkv = true, .proj = true, .fc1 = true, .fc2 = true};
  double dropout = 0.0;  // of the adapters' input; above 0 its masks are kept
  FrozenBase base = FrozenBase::parameters;
  bool fp32 = false;  // kept in fp32, without a 16-bit copy, and cast at every use

  // Whether the layers of a target have one.
  [[nodiscard]] bool adapts(bool AdapterTargets::*target) const {
    const bool behind = target == &AdapterTargets::proj || target == &AdapterTargets::fc2;
    return targets.*target && (kind != AdapterKind::bottleneck || behind);
  }
};

// Modules whose weights are trained where all others are frozen, with adapters or without.
struct TrainedModules {
  bool embedding = false;
  bool head = false;
  bool attention = false;  // linear mixers as well
  bool mlp = false;        // with router, routed and shared experts

  friend bool operator==(const TrainedModules&, const TrainedModules&) = default;
};

struct TrainedModuleWord {
  std::string_view name;
  bool TrainedModules::*module;
};

inline constexpr std::array<TrainedModuleWord, 11> kTrainedModuleWords = {
    {{"embedding", &TrainedModules::embedding},
     {"head", &TrainedModules::head},
     {"attention", &TrainedModules::attention},
     {"mlp", &TrainedModules::mlp},
     {"embed_tokens", &TrainedModules::embedding},
     {"wte", &TrainedModules::embedding},
     {"word_embeddings", &TrainedModules::embedding},
     {"lm_head", &TrainedModules::head},
     {"output_layer", &TrainedModules::head},
     {"self_attn", &TrainedModules::attention},
     {"self_attention", &TrainedModules::attention}}};

// What layers that see all tokens have of their own, where others look through a window (Gemma 4).
struct FullAttentionSpec {
  std::int64_t num_query_groups = 0;  // 0: those of the others
  std::int64_t head_dim = 0;          // the same
  bool shared_key_value = false;      // the key is the value, too: one projection
};

// One entry of `layer_types`: what a layer is made of. With `mlp` or `moe` among the entries every
// layer is one of them alone, with one norm and one residual (Nemotron-H); else each mixes tokens
// and has an MLP behind that, of experts from `dense_layers` on.
enum class LayerType {
  attention,          // to all tokens before
  sliding_attention,  // within attention_window
  mamba2,             // state-space scan (Dao and Gu, arXiv 2405.21060)
  gated_delta,        // gated delta rule (arXiv 2412.06464)
  kda,                // the same with a decay for each channel (Kimi Linear, arXiv 2510.26692)
  lightning,          // retention with a fixed decay (MiniMax-01, arXiv 2501.08313)
  attention_mamba2,   // both on the output of one norm, added (Falcon-H1)
  mlp,
  moe,
  compressed_attention,        // CompressedAttentionSpec: every entry of 128 tokens (HCA)
  compressed_sparse_attention  // chosen entries of 4 tokens (CSA)
};

struct LayerTypeName {
  std::string_view name;
  LayerType type;
  char letter;  // in Megatron's hybrid_override_pattern; 0: none
};

inline constexpr std::array<LayerTypeName, 11> kLayerTypeNames = {
    {{"attention", LayerType::attention, '*'},
     {"sliding_attention", LayerType::sliding_attention, 'W'},
     {"mamba2", LayerType::mamba2, 'M'},
     {"gated_delta", LayerType::gated_delta, 'G'},
     {"kda", LayerType::kda, 0},
     {"lightning", LayerType::lightning, 0},
     {"attention_mamba2", LayerType::attention_mamba2, 0},
     {"mlp", LayerType::mlp, '-'},
     {"moe", LayerType::moe, 'E'},
     {"compressed_attention", LayerType::compressed_attention, 'H'},
     {"compressed_sparse_attention", LayerType::compressed_sparse_attention, 'C'}}};

// The recurrence of a linear mixer; recurrence.hpp has the formulas.
//
// symbol | meaning                                                      | mamba2      | delta rules
// -------|--------------------------------------------------------------|-------------|------------
// H      | value_heads                                                  | heads       | value heads
// G      | key_heads: shared by H / G value heads; default H            | groups      | key heads
// K      | key_dim                                                      | state width | key width
// V      | value_dim; default K                                         | head width  | value width
// W      | conv: taps of the convolution before it; lightning has none  | 4           | 4
// C      | chunk: tokens between two states; by the kernels: 128, 64 (delta rules), 256 (lightning)
struct LinearAttentionSpec {
  std::int64_t value_heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t conv = 4;
  std::int64_t chunk = 0;
};

// A model has layers of so many types, with and without experts.
inline constexpr std::size_t kMostLayerTypes = 4;
inline constexpr std::size_t kLayerKinds = 2 * kMostLayerTypes;

enum class Mlp { none, dense, moe };

// What a layer is made of, once its place decides between the kinds of MLP.
struct LayerKind {
  bool attention = true;
  std::optional<LayerType> recurrence = {};  // mamba2, gated_delta, kda or lightning
  Mlp mlp = Mlp::dense;
};

class LayerModel;

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
  bool shared_key_value = false;   // one projection for keys and values (of_layer)
  bool output_gate = false;  // attention's output times the sigmoid of a projection (Qwen3-Next)
  bool causal = true;
  std::optional<MoeSpec> moe;
  std::optional<MlaSpec> mla;
  std::optional<SparseAttentionSpec> sparse_attention;  // of latents or compressed entries
  std::optional<CompressedAttentionSpec> compressed_attention;
  std::optional<WindowSpec> attention_window;
  std::optional<FullAttentionSpec> full_attention;  // with a window only
  std::vector<LayerType> layer_types;  // repeated over the layers; empty: attention, MLP
  std::optional<LinearAttentionSpec> linear_attention;
  std::int64_t residual_streams =
      1;                        // hyper-connections: copies of the stream, mixed at each block
  std::int64_t mtp_layers = 0;  // multi-token-prediction modules after the last layer
  bool mtp_shared = false;      // all of them with one set of weights (Nemotron 3)
  std::optional<AdapterSpec> lora;
  std::optional<TrainedModules> trainable;  // without it and adapters all weights are trained
  bool reference = false;  // a frozen model of the same shape runs its forward too (DPO)

  // Whether the weights of a module are trained; a tied table is trained as either of its names.
  [[nodiscard]] bool trains(bool TrainedModules::*module) const {
    const bool all = !lora && !trainable;
    const bool table = tie_embeddings && trainable &&
                       (module == &TrainedModules::embedding || module == &TrainedModules::head) &&
                       (trainable->embedding || trainable->head);
    return all || table || (trainable && (*trainable).*module);
  }

  // Nothing below the head is trained: no backward goes there.
  [[nodiscard]] bool ends_at_head() const {
    return !lora && !trains(&TrainedModules::embedding) && !trains(&TrainedModules::attention) &&
           !trains(&TrainedModules::mlp);
  }

  [[nodiscard]] bool gated_mlp() const { return activation == Activation::swiglu; }

  // Of a layer of the model; those of multi-token prediction, behind them, have attention and MLP.
  [[nodiscard]] LayerKind kind_of(std::int64_t layer) const;

  // With the dimensions that the attention of this layer has; refers to this model.
  [[nodiscard]] LayerModel of_layer(std::int64_t layer) const;

  // Equal for layers of the same shapes and parameters, below kLayerKinds.
  [[nodiscard]] std::size_t shape_index(std::int64_t layer) const;

  // The same, with layers told apart that differ in their window.
  [[nodiscard]] std::size_t kind_index(std::int64_t layer) const;

  // End of a run of layers from `layer` on that have one kind_index and one shape_index.
  [[nodiscard]] std::int64_t alike_until(std::int64_t layer) const {
    if (!layer_types.empty() || attention_window) {
      return layer + 1;
    }
    return moe && layer < moe->dense_layers ? moe->dense_layers : INT64_MAX;
  }

  [[nodiscard]] bool is_moe_layer(std::int64_t layer) const {
    return kind_of(layer).mlp == Mlp::moe;
  }

  // Whether the layer looks through the window, however long the sequence is.
  [[nodiscard]] bool is_sliding(std::int64_t layer) const;

  // Keys that a query of this layer sees at most, entries of compressed ones included; 0: all.
  [[nodiscard]] std::int64_t window_of(std::int64_t layer) const;

  // Layers are a mixer or an MLP each, not both.
  [[nodiscard]] bool has_single_blocks() const;

 private:
  [[nodiscard]] std::optional<LayerType> type_of(std::int64_t layer) const {
    const auto count = static_cast<std::int64_t>(layer_types.size());
    return layer < num_layers && count > 0
               ? std::optional(layer_types[static_cast<std::size_t>(layer % count)])
               : std::nullopt;
  }
};

// The model as one layer sees it; a copy only where the layer differs, since layers are many and
// most are alike.
class LayerModel {
 public:
  explicit LayerModel(const ModelSpec& shared) : shared_(&shared) {}

  explicit LayerModel(ModelSpec&& own) : own_(std::move(own)) {}

  [[nodiscard]] const ModelSpec& spec() const { return own_ ? *own_ : *shared_; }

 private:
  const ModelSpec* shared_ = nullptr;
  std::optional<ModelSpec> own_;
};

// Fills the fields that may be left out (0): query groups, head_dim, ffn, positions. With
// multi-head latent attention head_dim is the width of a query head, qk_nope + qk_rope.
[[nodiscard]] ModelSpec resolve(ModelSpec spec);

}  // namespace orrery::model
