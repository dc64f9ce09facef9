// Keys of `model`: a preset, dimensions that replace it, mixture of experts, latent attention.

#include <span>

#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using model::Activation;
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

void add_names(Rows& keys) {
  keys.section("model",
               "What is trained: a preset, dimensions, or a preset with dimensions that replace "
               "some of its own.",
               "{preset: llama3-8b}", {.required = true});
  keys.preset("model.preset", "A published model; `orrery list` shows their sources.",
              "llama3-405b", PresetKind::models,
              {take_preset, [](Draft& draft) { return draft.scenario.model_preset; }},
              {.note = "the dimensions are spelled out"});
  keys.text("model.name", "What reports call the model.", "our 13B", ORRERY_AT(scenario.model.name),
            {.note = "the preset's name, else `custom`"});
}

void add_dimensions(Rows& keys) {
  keys.count(
      "model.num_layers", "Transformer layers.", "32", {1, kMostLayers},
      ORRERY_AT(scenario.model.num_layers),
      {.aliases = {"layers", "num_hidden_layers", "num_blocks"}, .note = std::string(kOfPreset)});
  keys.count("model.hidden_size", "Width of the residual stream.", "4096", {1, kWidest},
             ORRERY_AT(scenario.model.hidden_size),
             {.aliases = {"hidden"}, .note = std::string(kOfPreset)});
  keys.count("model.num_attention_heads", "Query heads.", "32", {1, kWidest},
             ORRERY_AT(scenario.model.num_attention_heads),
             {.aliases = {"heads", "attn_heads"}, .note = std::string(kOfPreset)});
  keys.count("model.num_query_groups",
             "Key and value heads (grouped-query attention); divides the query heads.", "8",
             {1, kWidest}, ORRERY_AT(scenario.model.num_query_groups),
             {.aliases = {"kv_heads", "num_key_value_heads"},
              .note = "the preset's; else one per query head",
              .idle = {ORRERY_WHEN(d.scenario.model.mla.has_value(),
                                   "latent attention has no key and value heads to share")}});
  keys.count("model.head_dim", "Width of one head.", "128", {1, kWidest},
             ORRERY_AT(scenario.model.head_dim),
             {.aliases = {"kv_channels"},
              .note = "the preset's; else hidden_size / num_attention_heads",
              .idle = {ORRERY_WHEN(d.scenario.model.mla.has_value(),
                                   "latent attention states its own widths")}});
  keys.count("model.ffn_hidden_size", "Inner width of the dense MLP.", "14336", {1, kWidest},
             ORRERY_AT(scenario.model.ffn_hidden_size),
             {.aliases = {"ffn_hidden", "intermediate_size"},
              .note = "the preset's; else 4 x hidden_size",
              .idle = {ORRERY_WHEN(d.scenario.model.moe && d.scenario.model.moe->dense_layers == 0,
                                   "every layer has experts")}});
  keys.count("model.vocab_size", "Rows of the embedding table, padding included.", "128256",
             {1, kWidest}, ORRERY_AT(scenario.model.vocab_size),
             {.aliases = {"vocab"}, .note = std::string(kOfPreset)});
  keys.count("model.sequence_length", "Tokens of one sequence.", "8192", {1, kLongest},
             ORRERY_AT(scenario.model.sequence_length),
             {.aliases = {"seq_len", "seq_length", "seq"}, .note = std::string(kOfPreset)});
}

void add_blocks(Rows& keys) {
  keys.choice<Activation>("model.activation",
                          "Activation of the MLP; swiglu has a gate, a third matrix.", "gelu",
                          {{"swiglu", Activation::swiglu},
                           {"gelu", Activation::gelu},
                           {"squared_relu", Activation::squared_relu},
                           {"relu", Activation::relu}},
                          ORRERY_AT(activation), {.note = "the preset's; else swiglu"});
  keys.flag(
      "model.gated_mlp",
      "Another way to say it: true is swiglu; false is gelu where it would be swiglu.", "true",
      ORRERY_AT(gated_mlp),
      {.aliases = {"gated", "gated_linear_unit", "swiglu"}, .note = "follows from the activation"});
  keys.choice<Norm>("model.norm", "Normalisation; layer_norm has a bias.", "layer_norm",
                    {{"rms_norm", Norm::rms_norm}, {"layer_norm", Norm::layer_norm}},
                    ORRERY_AT(scenario.model.norm),
                    {.aliases = {"normalization"}, .note = "the preset's; else rms_norm"});
  keys.choice<PositionEmbedding>(
      "model.position",
      "How positions enter: a table (learned), rotation of queries and keys, a bias of the scores "
      "(alibi).",
      "learned",
      {{"rotary", PositionEmbedding::rotary},
       {"learned", PositionEmbedding::learned},
       {"alibi", PositionEmbedding::alibi},
       {"none", PositionEmbedding::none}},
      ORRERY_AT(scenario.model.position),
      {.aliases = {"position_embedding"}, .note = "the preset's; else rotary"});
  keys.count("model.max_positions", "Rows of a learned position table.", "4096", {1, kLongest},
             ORRERY_AT(scenario.model.max_positions),
             {.aliases = {"max_position_embeddings"},
              .note = "the preset's; else, and at least, sequence_length",
              .idle = {ORRERY_WHEN(d.scenario.model.position != PositionEmbedding::learned,
                                   "only learned positions have a table")}});
}

void add_flags(Rows& keys) {
  keys.flag(
      "model.tie_embeddings", "One table for embedding and output.", "true",
      ORRERY_AT(scenario.model.tie_embeddings),
      {.aliases = {"tied_embeddings", "tie_word_embeddings"}, .note = "the preset's; else false"});
  keys.flag("model.linear_bias", "Biases in every linear layer (GPT-3, OPT, BLOOM).", "true",
            ORRERY_AT(scenario.model.linear_bias), {.note = "the preset's; else false"});
  keys.flag("model.qkv_bias", "Bias in the query, key and value projection only (Qwen2.5).", "true",
            ORRERY_AT(scenario.model.qkv_bias),
            {.note = "the preset's; else false",
             .idle = {ORRERY_WHEN(d.scenario.model.linear_bias,
                                  "linear_bias gives every linear layer a bias")}});
  keys.flag("model.embedding_norm", "A norm after the embedding (BLOOM).", "true",
            ORRERY_AT(scenario.model.embedding_norm), {.note = "the preset's; else false"});
  keys.flag("model.causal", "Attention looks back only, which halves its work.", "false",
            ORRERY_AT(scenario.model.causal), {.note = "the preset's; else true"});
}

constexpr std::int64_t kMostExperts = 65'536;

void add_moe(Rows& keys) {
  keys.part("model.moe", "Mixture of experts in the layers from dense_layers on.",
            "{num_experts: 64, top_k: 8, ffn_hidden_size: 2048}", ORRERY_AT(scenario.model.moe),
            {.note = "the preset's; else a dense model"});
  keys.count("model.moe.num_experts", "Routed experts of a layer.", "64", {1, kMostExperts},
             ORRERY_AT(scenario.model.moe->num_experts),
             {.aliases = {"num_moe_experts", "n_routed_experts", "num_local_experts"},
              .note = std::string(kOfPreset)});
  keys.count(
      "model.moe.top_k", "Experts that a token is sent to.", "8", {1, kMostExperts},
      ORRERY_AT(scenario.model.moe->top_k),
      {.aliases = {"moe_router_topk", "num_experts_per_tok"}, .note = std::string(kOfPreset)});
  keys.count("model.moe.ffn_hidden_size", "Inner width of one expert.", "2048", {1, kWidest},
             ORRERY_AT(scenario.model.moe->ffn_hidden_size),
             {.aliases = {"moe_ffn_hidden_size", "moe_intermediate_size"},
              .note = std::string(kOfPreset)});
  keys.count("model.moe.shared", "Experts of the same width that every token passes.", "1",
             {0, kMostExperts}, ORRERY_AT(scenario.model.moe->shared_experts),
             {.aliases = {"shared_experts", "n_shared_experts"}, .note = "the preset's; else 0"});
  keys.count("model.moe.dense_branch",
             "Inner width of a dense MLP with a norm and a residual of its own beside the experts "
             "(Snowflake Arctic).",
             "7168", {1, kWidest}, ORRERY_AT(scenario.model.moe->dense_branch),
             {.note = "the preset's; else none"});
  keys.count("model.moe.latent_size",
             "Width in which the routed experts work, between two projections (Nemotron 3 Super).",
             "1024", {1, kWidest}, ORRERY_AT(scenario.model.moe->latent_size),
             {.aliases = {"moe_latent_size"}, .note = "the preset's; else that of the stream"});
  keys.count("model.moe.dense_layers", "Leading layers with a dense MLP.", "3", {0, kMostLayers},
             ORRERY_AT(scenario.model.moe->dense_layers),
             {.aliases = {"first_k_dense_replace"}, .note = "the preset's; else 0"});
}

// How unevenly tokens reach the experts, and how far.
void add_moe_load(Rows& keys) {
  keys.value<kind::Number>(
      "model.moe.capacity",
      "Rows per expert are at most this times the average, the rest are dropped; 0 drops none. "
      "Experts with a fixed number of rows also spare the host their counts.",
      "1.25", between(0.0, 100.0), ORRERY_AT(scenario.model.moe->capacity_factor),
      {.aliases = {"capacity_factor"}, .note = "the preset's; else 0"});
  keys.value<kind::Number>("model.moe.imbalance",
                           "Rows of the busiest expert-parallel rank / average.", "1.2",
                           between(1.0, 100.0), ORRERY_AT(scenario.model.moe->imbalance),
                           {.note = "the preset's; else 1", .idle = {kOneExpertRank}});
  keys.value<kind::Number>(
      "model.moe.load_spread",
      "Standard deviation of one expert's rows / average. The busiest rank follows: loads average "
      "out over the experts of a rank, the busiest of all ranks counts.",
      "0.3", between(0.0, 10.0), ORRERY_AT(scenario.model.moe->load_spread),
      {.note = "the preset's; else 0", .idle = {kOneExpertRank}});
  keys.value<kind::Number>("model.moe.router_skew",
                           "Share of the variance of the router's logits that all tokens have in "
                           "common; gives load_spread for any number of experts. 0 is balanced by "
                           "force; 0.0005 biases, 0.02 an auxiliary loss late, 0.1 the same in the "
                           "first hundred steps, 0.13 fine-tuning, 0.5 to 0.9 no balancing at all.",
                           "0.1", between(0.0, 1.0), ORRERY_AT(scenario.model.moe->router_skew),
                           {.note = "the preset's; else 0", .idle = {kOneExpertRank}});
  keys.count("model.moe.node_limit",
             "Most nodes that a token is sent to (group-limited routing); 0 sets no limit.", "4",
             {0, kMostExperts}, ORRERY_AT(scenario.model.moe->node_limit),
             {.aliases = {"topk_group", "moe_router_group_topk"},
              .note = "the preset's; else 0",
              .idle = {ORRERY_WHEN(d.scenario.model.moe && d.scenario.layout.expert == 1,
                                   "layout.expert is 1: no token is sent")}});
}

void add_latent_attention(Rows& keys) {
  keys.part("model.mla", "Multi-head latent attention (DeepSeek-V2, V3).",
            "{kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128}",
            ORRERY_AT(scenario.model.mla), {.note = "the preset's; else none"});
  keys.count("model.mla.q_lora_rank", "Width of the compressed query; 0 projects it directly.",
             "1536", {0, kWidest}, ORRERY_AT(scenario.model.mla->q_lora_rank),
             {.note = "the preset's; else 0"});
  keys.count("model.mla.kv_lora_rank", "Width of the compressed key and value.", "512",
             {1, kWidest}, ORRERY_AT(scenario.model.mla->kv_lora_rank),
             {.note = std::string(kOfPreset)});
  keys.count("model.mla.qk_nope_head_dim", "Width of a query head without rotation.", "128",
             {1, kWidest}, ORRERY_AT(scenario.model.mla->qk_nope_head_dim),
             {.aliases = {"qk_head_dim"}, .note = std::string(kOfPreset)});
  keys.count("model.mla.qk_rope_head_dim", "Width of its rotated part.", "64", {1, kWidest},
             ORRERY_AT(scenario.model.mla->qk_rope_head_dim),
             {.aliases = {"qk_pos_emb_head_dim"}, .note = std::string(kOfPreset)});
  keys.count("model.mla.v_head_dim", "Width of a value head.", "128", {1, kWidest},
             ORRERY_AT(scenario.model.mla->v_head_dim), {.note = std::string(kOfPreset)});
  keys.count("model.mtp", "Multi-token-prediction modules after the last layer.", "1", {0, 64},
             ORRERY_AT(scenario.model.mtp_layers),
             {.aliases = {"mtp_layers", "mtp_num_layers", "num_nextn_predict_layers"},
              .note = "the preset's; else 0"});
  keys.flag(
      "model.mtp_shared",
      "All multi-token-prediction modules have one set of weights (Nemotron 3).", "true",
      ORRERY_AT(scenario.model.mtp_shared),
      {.aliases = {"mtp_use_repeated_layer"},
       .note = "the preset's; else false",
       .idle = {ORRERY_WHEN(d.scenario.model.mtp_layers < 2, "the model has no two modules")}});
}

void add_window(Rows& keys) {
  keys.part("model.attention_window",
            "Sliding-window attention; fused kernels skip what lies outside.",
            "{size: 4096, full_every: 2}", ORRERY_AT(scenario.model.attention_window),
            {.note = "the preset's; else every token sees the whole sequence",
             .idle = {ORRERY_WHEN(d.scenario.model.attention_window &&
                                      d.scenario.model.attention_window->full_every == 1,
                                  "with full_every: 1 every layer sees the whole sequence")}});
  keys.count("model.attention_window.size", "Keys that a query sees at most, its own included.",
             "4096", {1, kLongest}, ORRERY_AT(scenario.model.attention_window->size),
             {.aliases = {"sliding_window"},
              .note = std::string(kOfPreset),
              .idle = {ORRERY_WHEN(is_longest_window(d), "no sequence is longer")}});
  keys.count("model.attention_window.full_every",
             "The last of so many layers sees the whole sequence: 2 is every second layer, 0 none.",
             "2", {0, kMostLayers}, ORRERY_AT(scenario.model.attention_window->full_every),
             {.note = "the preset's; else 0"});
  keys.part("model.full_attention",
            "What layers that see the whole sequence have of their own (Gemma 4).",
            "{num_query_groups: 4, head_dim: 512, shared_key_value: true}",
            ORRERY_AT(scenario.model.full_attention),
            {.note = "the preset's; else the dimensions of the other layers",
             .idle = {ORRERY_WHEN(!d.scenario.model.attention_window, "no layer has a window")}});
  keys.count("model.full_attention.num_query_groups", "Their key and value heads.", "4",
             {1, kWidest}, ORRERY_AT(scenario.model.full_attention->num_query_groups),
             {.aliases = {"num_global_key_value_heads"},
              .note = "the preset's; else model.num_query_groups"});
  keys.count("model.full_attention.head_dim", "The width of their heads.", "512", {1, kWidest},
             ORRERY_AT(scenario.model.full_attention->head_dim),
             {.aliases = {"global_head_dim"}, .note = "the preset's; else model.head_dim"});
  keys.flag("model.full_attention.shared_key_value",
            "Keys are values, too: one projection gives both.", "true",
            ORRERY_AT(scenario.model.full_attention->shared_key_value),
            {.aliases = {"attention_k_eq_v"}, .note = "the preset's; else false"});
}

// Of the words of adapters and of trained modules: the others are other names.
constexpr std::size_t kTargets = 4;

void add_adapters(Rows& keys) {
  keys.part("model.lora",
            "Low-rank adapters: the model's own weights are frozen, so they have no gradients, no "
            "optimizer state and no reduction.",
            "{rank: 16, targets: [qkv, proj]}", ORRERY_AT(scenario.model.lora),
            {.note = "all weights are trained"});
  keys.choice<model::AdapterKind>(
      "model.lora.kind",
      "lora; dora: magnitudes of the outputs are trained, too; bottleneck: two products with an "
      "activation between them behind attention and MLP.",
      "dora",
      {{"lora", model::AdapterKind::lora},
       {"dora", model::AdapterKind::dora},
       {"bottleneck", model::AdapterKind::bottleneck}},
      ORRERY_AT(scenario.model.lora->kind), {.fallback = "lora"});
  keys.count("model.lora.rank", "Rank of the adapters, the width of a bottleneck.", "16",
             {1, kWidest}, ORRERY_AT(scenario.model.lora->rank),
             {.aliases = {"r", "lora_r", "lora_rank", "dim"}, .note = "required"});
  Key& targets = keys.words(
      "model.lora.targets",
      "Linear layers that have an adapter: query, key and value; output of the attention; up and "
      "gate; down. Other names mean these; one projection of several stands for all. Routed "
      "experts have none, fc1 and fc2 are those of dense layers and shared experts.",
      "[qkv, proj]", names_of(model::kAdapterTargetWords),
      [](Draft& draft) {
        draft.scenario.model.lora->targets = {false, false, false, false};
      },
      [](Draft& draft, std::size_t word) {
        draft.scenario.model.lora->targets.*model::kAdapterTargetWords[word].target = true;
      },
      {.aliases = {"target_modules", "lora_target", "lora_target_modules"},
       .fallback = "[qkv, proj, fc1, fc2]"});
  targets.print = [](Draft& draft) -> std::optional<std::string> {
    if (!draft.scenario.model.lora) {
      return std::nullopt;
    }
    return show_names(std::span(model::kAdapterTargetWords).first(kTargets), [&](const auto& word) {
      return draft.scenario.model.lora->targets.*word.target;
    });
  };
}

void add_adapter_types(Rows& keys) {
  keys.value<kind::Number>(
      "model.lora.dropout",
      "Dropout of the adapters' input; above 0 its passes run and its masks are kept.", "0.1",
      between(0.0, 1.0), ORRERY_AT(scenario.model.lora->dropout),
      {.aliases = {"lora_dropout"}, .fallback = "0"});
  keys.choice<model::FrozenBase>(
      "model.lora.base",
      "How the frozen weights of layers are held: in the type of the parameters, or in 4 bits "
      "(QLoRA), unpacked before every product.",
      "nf4", {{"parameters", model::FrozenBase::parameters}, {"nf4", model::FrozenBase::nf4}},
      ORRERY_AT(scenario.model.lora->base), {.fallback = "parameters"});
  keys.choice<bool>("model.lora.dtype",
                    "Type in which what is trained is kept: that of the parameters beside an fp32 "
                    "master copy, or fp32 alone, cast at every use (PEFT).",
                    "fp32", {{"parameters", false}, {"fp32", true}},
                    ORRERY_AT(scenario.model.lora->fp32), {.fallback = "parameters"});
}

void add_trainable(Rows& keys) {
  Key& trainable = keys.words(
      "model.trainable",
      "Modules that are trained whole where all other weights are frozen, beside adapters or "
      "without: attention with linear mixers, mlp with router and experts. Names of PEFT mean "
      "these; a tied table is both embedding and head.",
      "[embedding, head]", names_of(model::kTrainedModuleWords),
      [](Draft& draft) { draft.scenario.model.trainable = model::TrainedModules{}; },
      [](Draft& draft, std::size_t word) {
        (*draft.scenario.model.trainable).*model::kTrainedModuleWords[word].module = true;
      },
      {.aliases = {"modules_to_save", "additional_target", "lora_modules_to_save"},
       .note = "all weights; with model.lora the adapters alone"});
  trainable.print = [](Draft& draft) -> std::optional<std::string> {
    const auto& modules = draft.scenario.model.trainable;
    if (!modules) {
      return std::nullopt;
    }
    return show_names(std::span(model::kTrainedModuleWords).first(kTargets),
                      [&](const auto& word) { return (*modules).*word.module; });
  };
}

void add_reference(Rows& keys) {
  keys.flag("model.reference",
            "A frozen model of the same shape runs its forward over every micro-batch, too (DPO, "
            "IPO, KTO); with model.lora it is the model without its adapters. A pair of answers is "
            "two sequences of the batch.",
            "true", ORRERY_AT(scenario.model.reference), {.fallback = "false"});
}

}  // namespace

void model_keys(Rows& keys) {
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
}

}  // namespace orrery::scenario
