// Keys of `model`: a preset, dimensions that replace it, mixture of experts, latent attention.

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using model::Activation;
using model::ModelSpec;
using model::Norm;
using model::PositionEmbedding;
using yaml::between;
namespace kind = yaml::kind;

std::int64_t longest_sequence(const Draft& draft) {
  std::int64_t longest = draft.scenario.model.sequence_length;
  for (const run::PhaseSpec& phase : draft.run.training.phases) {
    longest = std::max(longest, phase.sequence_length.value_or(longest));
  }
  return longest;
}

bool is_longest_window(const Draft& draft) {
  const std::optional<model::WindowSpec>& window = draft.scenario.model.attention_window;
  return window && window->full_every != 1 && window->size >= longest_sequence(draft);
}

constexpr Idle kOneExpertRank = ORRERY_WHEN(d.scenario.model.moe && d.scenario.layout.expert == 1,
                                            "layout.expert is 1: one rank holds all experts");

// Far above any model, and low enough that products of two dimensions stay exact.
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kLongest = std::int64_t{1} << 30U;

void take_preset(Draft& draft, const PresetPtr& preset) {
  draft.scenario.model_preset = preset->name;
  draft.preset = preset->model;
  draft.scenario.model = preset->model;
}

void add_names(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "model",
                              .meaning = "What is trained: a preset, dimensions, or a preset with "
                                         "dimensions that replace some of its own.",
                              .example = "{preset: llama3-8b}",
                              .required = true}));
  keys.push_back(preset_key(
      {.path = "model.preset",
       .note = "the dimensions are spelled out",
       .meaning = "A published model; `orrery list` shows their sources.",
       .example = "llama3-405b"},
      PresetKind::models, {take_preset, [](Draft& draft) { return draft.scenario.model_preset; }}));
  keys.push_back(text_key({.path = "model.name",
                           .note = "the preset's name, else `custom`",
                           .meaning = "What reports call the model.",
                           .example = "our 13B"},
                          ORRERY_AT(scenario.model.name)));
}

void add_dimensions(std::vector<Key>& keys) {
  const std::string of_preset(kOfPreset);
  keys.push_back(count_key({.path = "model.num_layers",
                            .aliases = {"layers", "num_hidden_layers", "num_blocks"},
                            .note = of_preset,
                            .meaning = "Transformer layers.",
                            .example = "32"},
                           {1, kMostLayers}, ORRERY_AT(scenario.model.num_layers)));
  keys.push_back(count_key({.path = "model.hidden_size",
                            .aliases = {"hidden"},
                            .note = of_preset,
                            .meaning = "Width of the residual stream.",
                            .example = "4096"},
                           {1, kWidest}, ORRERY_AT(scenario.model.hidden_size)));
  keys.push_back(count_key({.path = "model.num_attention_heads",
                            .aliases = {"heads", "attn_heads"},
                            .note = of_preset,
                            .meaning = "Query heads.",
                            .example = "32"},
                           {1, kWidest}, ORRERY_AT(scenario.model.num_attention_heads)));
  keys.push_back(
      count_key({.path = "model.num_query_groups",
                 .aliases = {"kv_heads", "num_key_value_heads"},
                 .note = "the preset's; else one per query head",
                 .meaning = "Key and value heads (grouped-query attention); divides the query "
                            "heads.",
                 .example = "8",
                 .idle = {ORRERY_WHEN(d.scenario.model.mla.has_value(),
                                      "latent attention has no key and value heads to share")}},
                {1, kWidest}, ORRERY_AT(scenario.model.num_query_groups)));
  keys.push_back(count_key({.path = "model.head_dim",
                            .aliases = {"kv_channels"},
                            .note = "the preset's; else hidden_size / num_attention_heads",
                            .meaning = "Width of one head.",
                            .example = "128",
                            .idle = {ORRERY_WHEN(d.scenario.model.mla.has_value(),
                                                 "latent attention states its own widths")}},
                           {1, kWidest}, ORRERY_AT(scenario.model.head_dim)));
  keys.push_back(count_key(
      {.path = "model.ffn_hidden_size",
       .aliases = {"ffn_hidden", "intermediate_size"},
       .note = "the preset's; else 4 x hidden_size",
       .meaning = "Inner width of the dense MLP.",
       .example = "14336",
       .idle = {ORRERY_WHEN(d.scenario.model.moe && d.scenario.model.moe->dense_layers == 0,
                            "every layer has experts")}},
      {1, kWidest}, ORRERY_AT(scenario.model.ffn_hidden_size)));
  keys.push_back(count_key({.path = "model.vocab_size",
                            .aliases = {"vocab"},
                            .note = of_preset,
                            .meaning = "Rows of the embedding table, padding included.",
                            .example = "128256"},
                           {1, kWidest}, ORRERY_AT(scenario.model.vocab_size)));
  keys.push_back(count_key({.path = "model.sequence_length",
                            .aliases = {"seq_len", "seq_length", "seq"},
                            .note = of_preset,
                            .meaning = "Tokens of one sequence.",
                            .example = "8192"},
                           {1, kLongest}, ORRERY_AT(scenario.model.sequence_length)));
}

void add_blocks(std::vector<Key>& keys) {
  keys.push_back(choice_key<Activation>(
      {.path = "model.activation",
       .note = "the preset's; else swiglu",
       .meaning = "Activation of the MLP; swiglu has a gate, a third matrix.",
       .example = "gelu"},
      {{"swiglu", Activation::swiglu},
       {"gelu", Activation::gelu},
       {"squared_relu", Activation::squared_relu},
       {"relu", Activation::relu}},
      ORRERY_AT(activation)));
  keys.push_back(flag_key(
      {.path = "model.gated_mlp",
       .aliases = {"gated", "gated_linear_unit", "swiglu"},
       .note = "follows from the activation",
       .meaning = "Another way to say it: true is swiglu; false is gelu where it would be swiglu.",
       .example = "true"},
      ORRERY_AT(gated_mlp)));
  keys.push_back(choice_key<Norm>({.path = "model.norm",
                                   .aliases = {"normalization"},
                                   .note = "the preset's; else rms_norm",
                                   .meaning = "Normalisation; layer_norm has a bias.",
                                   .example = "layer_norm"},
                                  {{"rms_norm", Norm::rms_norm}, {"layer_norm", Norm::layer_norm}},
                                  ORRERY_AT(scenario.model.norm)));
  keys.push_back(choice_key<PositionEmbedding>(
      {.path = "model.position",
       .aliases = {"position_embedding"},
       .note = "the preset's; else rotary",
       .meaning = "How positions enter: a table (learned), rotation of queries and keys, a bias of "
                  "the scores (alibi).",
       .example = "learned"},
      {{"rotary", PositionEmbedding::rotary},
       {"learned", PositionEmbedding::learned},
       {"alibi", PositionEmbedding::alibi},
       {"none", PositionEmbedding::none}},
      ORRERY_AT(scenario.model.position)));
  keys.push_back(
      count_key({.path = "model.max_positions",
                 .aliases = {"max_position_embeddings"},
                 .note = "the preset's; else, and at least, sequence_length",
                 .meaning = "Rows of a learned position table.",
                 .example = "4096",
                 .idle = {ORRERY_WHEN(d.scenario.model.position != PositionEmbedding::learned,
                                      "only learned positions have a table")}},
                {1, kLongest}, ORRERY_AT(scenario.model.max_positions)));
}

void add_flags(std::vector<Key>& keys) {
  keys.push_back(flag_key({.path = "model.tie_embeddings",
                           .aliases = {"tied_embeddings", "tie_word_embeddings"},
                           .note = "the preset's; else false",
                           .meaning = "One table for embedding and output.",
                           .example = "true"},
                          ORRERY_AT(scenario.model.tie_embeddings)));
  keys.push_back(flag_key({.path = "model.linear_bias",
                           .note = "the preset's; else false",
                           .meaning = "Biases in every linear layer (GPT-3, OPT, BLOOM).",
                           .example = "true"},
                          ORRERY_AT(scenario.model.linear_bias)));
  keys.push_back(flag_key({.path = "model.qkv_bias",
                           .note = "the preset's; else false",
                           .meaning = "Bias in the query, key and value projection only (Qwen2.5).",
                           .example = "true",
                           .idle = {ORRERY_WHEN(d.scenario.model.linear_bias,
                                                "linear_bias gives every linear layer a bias")}},
                          ORRERY_AT(scenario.model.qkv_bias)));
  keys.push_back(flag_key({.path = "model.embedding_norm",
                           .note = "the preset's; else false",
                           .meaning = "A norm after the embedding (BLOOM).",
                           .example = "true"},
                          ORRERY_AT(scenario.model.embedding_norm)));
  keys.push_back(flag_key({.path = "model.causal",
                           .note = "the preset's; else true",
                           .meaning = "Attention looks back only, which halves its work.",
                           .example = "false"},
                          ORRERY_AT(scenario.model.causal)));
}

constexpr std::int64_t kMostExperts = 65'536;

void add_moe(std::vector<Key>& keys) {
  const std::string of_preset(kOfPreset);
  keys.push_back(section_at({.path = "model.moe",
                             .note = "the preset's; else a dense model",
                             .meaning = "Mixture of experts in the layers from dense_layers on.",
                             .example = "{num_experts: 64, top_k: 8, ffn_hidden_size: 2048}"},
                            ORRERY_AT(scenario.model.moe)));
  keys.push_back(count_key({.path = "model.moe.num_experts",
                            .aliases = {"num_moe_experts", "n_routed_experts", "num_local_experts"},
                            .note = of_preset,
                            .meaning = "Routed experts of a layer.",
                            .example = "64"},
                           {1, kMostExperts}, ORRERY_AT(scenario.model.moe->num_experts)));
  keys.push_back(count_key({.path = "model.moe.top_k",
                            .aliases = {"moe_router_topk", "num_experts_per_tok"},
                            .note = of_preset,
                            .meaning = "Experts that a token is sent to.",
                            .example = "8"},
                           {1, kMostExperts}, ORRERY_AT(scenario.model.moe->top_k)));
  keys.push_back(count_key({.path = "model.moe.ffn_hidden_size",
                            .aliases = {"moe_ffn_hidden_size", "moe_intermediate_size"},
                            .note = of_preset,
                            .meaning = "Inner width of one expert.",
                            .example = "2048"},
                           {1, kWidest}, ORRERY_AT(scenario.model.moe->ffn_hidden_size)));
  keys.push_back(count_key({.path = "model.moe.shared",
                            .aliases = {"shared_experts", "n_shared_experts"},
                            .note = "the preset's; else 0",
                            .meaning = "Experts of the same width that every token passes.",
                            .example = "1"},
                           {0, kMostExperts}, ORRERY_AT(scenario.model.moe->shared_experts)));
  keys.push_back(count_key({.path = "model.moe.dense_branch",
                            .note = "the preset's; else none",
                            .meaning = "Inner width of a dense MLP with a norm and a residual of "
                                       "its own beside the experts (Snowflake Arctic).",
                            .example = "7168"},
                           {1, kWidest}, ORRERY_AT(scenario.model.moe->dense_branch)));
  keys.push_back(count_key({.path = "model.moe.latent_size",
                            .aliases = {"moe_latent_size"},
                            .note = "the preset's; else that of the stream",
                            .meaning = "Width in which the routed experts work, between two "
                                       "projections (Nemotron 3 Super).",
                            .example = "1024"},
                           {1, kWidest}, ORRERY_AT(scenario.model.moe->latent_size)));
  keys.push_back(count_key({.path = "model.moe.dense_layers",
                            .aliases = {"first_k_dense_replace"},
                            .note = "the preset's; else 0",
                            .meaning = "Leading layers with a dense MLP.",
                            .example = "3"},
                           {0, kMostLayers}, ORRERY_AT(scenario.model.moe->dense_layers)));
}

// How unevenly tokens reach the experts, and how far.
void add_moe_load(std::vector<Key>& keys) {
  keys.push_back(value_key<kind::Number>(
      {.path = "model.moe.capacity",
       .aliases = {"capacity_factor"},
       .note = "the preset's; else 0",
       .meaning =
           "Rows per expert are at most this times the average, the rest are dropped; 0 "
           "drops none. Experts with a fixed number of rows also spare the host their counts.",
       .example = "1.25"},
      between(0.0, 100.0), ORRERY_AT(scenario.model.moe->capacity_factor)));
  keys.push_back(
      value_key<kind::Number>({.path = "model.moe.imbalance",
                               .note = "the preset's; else 1",
                               .meaning = "Rows of the busiest expert-parallel rank / average.",
                               .example = "1.2",
                               .idle = {kOneExpertRank}},
                              between(1.0, 100.0), ORRERY_AT(scenario.model.moe->imbalance)));
  keys.push_back(value_key<kind::Number>(
      {.path = "model.moe.load_spread",
       .note = "the preset's; else 0",
       .meaning = "Standard deviation of one expert's rows / average. The busiest rank follows: "
                  "loads average out over the experts of a rank, the busiest of all ranks counts.",
       .example = "0.3",
       .idle = {kOneExpertRank}},
      between(0.0, 10.0), ORRERY_AT(scenario.model.moe->load_spread)));
  keys.push_back(value_key<kind::Number>(
      {.path = "model.moe.router_skew",
       .note = "the preset's; else 0",
       .meaning = "Share of the variance of the router's logits that all tokens have in common; "
                  "gives load_spread for any number of experts. 0 is balanced by force; 0.0005 "
                  "biases, 0.02 an auxiliary loss late, 0.1 the same in the first hundred steps, "
                  "0.13 fine-tuning, 0.5 to 0.9 no balancing at all.",
       .example = "0.1",
       .idle = {kOneExpertRank}},
      between(0.0, 1.0), ORRERY_AT(scenario.model.moe->router_skew)));
  keys.push_back(
      count_key({.path = "model.moe.node_limit",
                 .aliases = {"topk_group", "moe_router_group_topk"},
                 .note = "the preset's; else 0",
                 .meaning = "Most nodes that a token is sent to (group-limited "
                            "routing); 0 sets no limit.",
                 .example = "4",
                 .idle = {ORRERY_WHEN(d.scenario.model.moe && d.scenario.layout.expert == 1,
                                      "layout.expert is 1: no token is sent")}},
                {0, kMostExperts}, ORRERY_AT(scenario.model.moe->node_limit)));
}

void add_latent_attention(std::vector<Key>& keys) {
  const std::string of_preset(kOfPreset);
  keys.push_back(section_at({.path = "model.mla",
                             .note = "the preset's; else none",
                             .meaning = "Multi-head latent attention (DeepSeek-V2, V3).",
                             .example = "{kv_lora_rank: 512, qk_nope_head_dim: 128, "
                                        "qk_rope_head_dim: 64, v_head_dim: 128}"},
                            ORRERY_AT(scenario.model.mla)));
  keys.push_back(count_key({.path = "model.mla.q_lora_rank",
                            .note = "the preset's; else 0",
                            .meaning = "Width of the compressed query; 0 projects it directly.",
                            .example = "1536"},
                           {0, kWidest}, ORRERY_AT(scenario.model.mla->q_lora_rank)));
  keys.push_back(count_key({.path = "model.mla.kv_lora_rank",
                            .note = of_preset,
                            .meaning = "Width of the compressed key and value.",
                            .example = "512"},
                           {1, kWidest}, ORRERY_AT(scenario.model.mla->kv_lora_rank)));
  keys.push_back(count_key({.path = "model.mla.qk_nope_head_dim",
                            .aliases = {"qk_head_dim"},
                            .note = of_preset,
                            .meaning = "Width of a query head without rotation.",
                            .example = "128"},
                           {1, kWidest}, ORRERY_AT(scenario.model.mla->qk_nope_head_dim)));
  keys.push_back(count_key({.path = "model.mla.qk_rope_head_dim",
                            .aliases = {"qk_pos_emb_head_dim"},
                            .note = of_preset,
                            .meaning = "Width of its rotated part.",
                            .example = "64"},
                           {1, kWidest}, ORRERY_AT(scenario.model.mla->qk_rope_head_dim)));
  keys.push_back(count_key({.path = "model.mla.v_head_dim",
                            .note = of_preset,
                            .meaning = "Width of a value head.",
                            .example = "128"},
                           {1, kWidest}, ORRERY_AT(scenario.model.mla->v_head_dim)));
  keys.push_back(count_key({.path = "model.mtp",
                            .aliases = {"mtp_layers", "mtp_num_layers", "num_nextn_predict_layers"},
                            .note = "the preset's; else 0",
                            .meaning = "Multi-token-prediction modules after the last layer.",
                            .example = "1"},
                           {0, 64}, ORRERY_AT(scenario.model.mtp_layers)));
  keys.push_back(flag_key(
      {.path = "model.mtp_shared",
       .aliases = {"mtp_use_repeated_layer"},
       .note = "the preset's; else false",
       .meaning = "All multi-token-prediction modules have one set of weights (Nemotron 3).",
       .example = "true",
       .idle = {ORRERY_WHEN(d.scenario.model.mtp_layers < 2, "the model has no two modules")}},
      ORRERY_AT(scenario.model.mtp_shared)));
}

void add_window(std::vector<Key>& keys) {
  keys.push_back(section_at(
      {.path = "model.attention_window",
       .note = "the preset's; else every token sees the whole sequence",
       .meaning = "Sliding-window attention; fused kernels skip what lies outside.",
       .example = "{size: 4096, full_every: 2}",
       .idle = {ORRERY_WHEN(
           d.scenario.model.attention_window && d.scenario.model.attention_window->full_every == 1,
           "with full_every: 1 every layer sees the whole sequence")}},
      ORRERY_AT(scenario.model.attention_window)));
  keys.push_back(count_key({.path = "model.attention_window.size",
                            .aliases = {"sliding_window"},
                            .note = std::string(kOfPreset),
                            .meaning = "Keys that a query sees at most, its own included.",
                            .example = "4096",
                            .idle = {ORRERY_WHEN(is_longest_window(d), "no sequence is longer")}},
                           {1, kLongest}, ORRERY_AT(scenario.model.attention_window->size)));
  keys.push_back(count_key(
      {.path = "model.attention_window.full_every",
       .note = "the preset's; else 0",
       .meaning = "The last of so many layers sees the whole sequence: 2 is every second layer, 0 "
                  "none.",
       .example = "2"},
      {0, kMostLayers}, ORRERY_AT(scenario.model.attention_window->full_every)));
  keys.push_back(section_at(
      {.path = "model.full_attention",
       .note = "the preset's; else the dimensions of the other layers",
       .meaning = "What layers that see the whole sequence have of their own (Gemma 4).",
       .example = "{num_query_groups: 4, head_dim: 512, shared_key_value: true}",
       .idle = {ORRERY_WHEN(!d.scenario.model.attention_window, "no layer has a window")}},
      ORRERY_AT(scenario.model.full_attention)));
  keys.push_back(count_key({.path = "model.full_attention.num_query_groups",
                            .aliases = {"num_global_key_value_heads"},
                            .note = "the preset's; else model.num_query_groups",
                            .meaning = "Their key and value heads.",
                            .example = "4"},
                           {1, kWidest},
                           ORRERY_AT(scenario.model.full_attention->num_query_groups)));
  keys.push_back(count_key({.path = "model.full_attention.head_dim",
                            .aliases = {"global_head_dim"},
                            .note = "the preset's; else model.head_dim",
                            .meaning = "The width of their heads.",
                            .example = "512"},
                           {1, kWidest}, ORRERY_AT(scenario.model.full_attention->head_dim)));
  keys.push_back(flag_key({.path = "model.full_attention.shared_key_value",
                           .aliases = {"attention_k_eq_v"},
                           .note = "the preset's; else false",
                           .meaning = "Keys are values, too: one projection gives both.",
                           .example = "true"},
                          ORRERY_AT(scenario.model.full_attention->shared_key_value)));
}

constexpr std::size_t kTargets = 4;  // of the words of adapters: the others are other names

void add_adapters(std::vector<Key>& keys) {
  keys.push_back(
      section_at({.path = "model.lora",
                  .note = "all weights are trained",
                  .meaning = "Low-rank adapters: the model's own weights are frozen, so they have "
                             "no gradients, no optimizer state and no reduction.",
                  .example = "{rank: 16, targets: [qkv, proj]}"},
                 ORRERY_AT(scenario.model.lora)));
  keys.push_back(count_key({.path = "model.lora.rank",
                            .aliases = {"r", "lora_r", "lora_rank", "dim"},
                            .note = "required",
                            .meaning = "Rank of the adapters.",
                            .example = "16"},
                           {1, kWidest}, ORRERY_AT(scenario.model.lora->rank)));
  std::vector<std::string_view> words;
  for (const model::AdapterTargetWord& word : model::kAdapterTargetWords) {
    words.push_back(word.name);
  }
  Key targets = words_key(
      {.path = "model.lora.targets",
       .aliases = {"target_modules", "lora_target", "lora_target_modules"},
       .fallback = "[qkv, proj, fc1, fc2]",
       .meaning = "Linear layers that have an adapter: query, key and value; output of the "
                  "attention; up and gate; down. Other names mean these; one projection of several "
                  "stands for all. Routed experts have none, fc1 and fc2 are those of dense layers "
                  "and shared experts.",
       .example = "[qkv, proj]"},
      std::move(words),
      [](Draft& draft) {
        draft.scenario.model.lora->targets = {false, false, false, false};
      },
      [](Draft& draft, std::size_t word) {
        draft.scenario.model.lora->targets.*model::kAdapterTargetWords[word].target = true;
      });
  targets.print = [](Draft& draft) -> std::optional<std::string> {
    if (!draft.scenario.model.lora) {
      return std::nullopt;
    }
    std::vector<std::string_view> chosen;
    for (std::size_t i = 0; i < kTargets; ++i) {
      const model::AdapterTargetWord& word = model::kAdapterTargetWords[i];
      if (draft.scenario.model.lora->targets.*word.target) {
        chosen.push_back(word.name);
      }
    }
    return fmt::format("[{}]", fmt::join(chosen, ", "));
  };
  keys.push_back(std::move(targets));
}

void add_adapter_types(std::vector<Key>& keys) {
  keys.push_back(value_key<kind::Number>(
      {.path = "model.lora.dropout",
       .aliases = {"lora_dropout"},
       .fallback = "0",
       .meaning = "Dropout of the adapters' input; above 0 its passes run and its masks are kept.",
       .example = "0.1"},
      between(0.0, 1.0), ORRERY_AT(scenario.model.lora->dropout)));
  keys.push_back(choice_key<model::FrozenBase>(
      {.path = "model.lora.base",
       .fallback = "parameters",
       .meaning = "How the frozen weights of layers are held: in the type of the parameters, or in "
                  "4 bits (QLoRA), unpacked before every product.",
       .example = "nf4"},
      {{"parameters", model::FrozenBase::parameters}, {"nf4", model::FrozenBase::nf4}},
      ORRERY_AT(scenario.model.lora->base)));
  keys.push_back(choice_key<bool>(
      {.path = "model.lora.dtype",
       .fallback = "parameters",
       .meaning = "Type in which what is trained is kept: that of the parameters "
                  "beside an fp32 master copy, or fp32 alone, cast at every use "
                  "(PEFT).",
       .example = "fp32"},
      {{"parameters", false}, {"fp32", true}}, ORRERY_AT(scenario.model.lora->fp32)));
}

void add_trainable(std::vector<Key>& keys) {
  std::vector<std::string_view> words;
  for (const model::TrainedModuleWord& word : model::kTrainedModuleWords) {
    words.push_back(word.name);
  }
  Key trainable = words_key(
      {.path = "model.trainable",
       .aliases = {"modules_to_save", "additional_target", "lora_modules_to_save"},
       .note = "all weights; with model.lora the adapters alone",
       .meaning = "Modules that are trained whole where all other weights are frozen, beside "
                  "adapters or without: attention with linear mixers, mlp with router and experts. "
                  "Names of PEFT mean these; a tied table is both embedding and head.",
       .example = "[embedding, head]"},
      std::move(words),
      [](Draft& draft) { draft.scenario.model.trainable = model::TrainedModules{}; },
      [](Draft& draft, std::size_t word) {
        (*draft.scenario.model.trainable).*model::kTrainedModuleWords[word].module = true;
      });
  trainable.print = [](Draft& draft) -> std::optional<std::string> {
    const auto& modules = draft.scenario.model.trainable;
    if (!modules) {
      return std::nullopt;
    }
    std::vector<std::string_view> chosen;
    for (const model::TrainedModuleWord& word : std::span(model::kTrainedModuleWords).first(4)) {
      if ((*modules).*word.module) {
        chosen.push_back(word.name);
      }
    }
    return fmt::format("[{}]", fmt::join(chosen, ", "));
  };
  keys.push_back(std::move(trainable));
}

void add_reference(std::vector<Key>& keys) {
  keys.push_back(flag_key(
      {.path = "model.reference",
       .fallback = "false",
       .meaning = "A frozen model of the same shape runs its forward over every micro-batch, too "
                  "(DPO, IPO, KTO); with model.lora it is the model without its adapters. A pair "
                  "of answers is two sequences of the batch.",
       .example = "true"},
      ORRERY_AT(scenario.model.reference)));
}

}  // namespace

std::vector<Key> model_keys() {
  std::vector<Key> keys;
  add_names(keys);
  add_dimensions(keys);
  add_blocks(keys);
  add_flags(keys);
  add_moe(keys);
  add_moe_load(keys);
  add_latent_attention(keys);
  add_window(keys);
  add_adapters(keys);
  add_adapter_types(keys);
  add_trainable(keys);
  add_reference(keys);
  return keys;
}

}  // namespace orrery::scenario
