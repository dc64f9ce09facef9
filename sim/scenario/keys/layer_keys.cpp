// Keys of layers by type: `model.layer_types` and the recurrence of linear mixers.

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using model::kLayerTypeNames;
using model::LayerType;

constexpr std::int64_t kMostTaps = 64;
constexpr std::int64_t kMostStreams = 64;
constexpr std::int64_t kLongestChunk = 65'536;
constexpr std::string_view kTypesExample = "[gated_delta, gated_delta, gated_delta, attention]";

std::string type_letters() {
  std::string known;
  for (const model::LayerTypeName& one : kLayerTypeNames) {
    known += one.letter != 0 ? std::string(1, one.letter) : std::string();
  }
  return known;
}

// `MEME*E`: a letter a layer, as Megatron's hybrid_override_pattern.
void read_pattern(const yaml::Value& value, const std::string& path, Reading& reading) {
  std::vector<LayerType> types;
  for (const char letter : value.text) {
    const auto* const found =
        std::ranges::find_if(kLayerTypeNames, [letter](const model::LayerTypeName& one) {
          return one.letter != 0 && one.letter == letter;
        });
    if (found == kLayerTypeNames.end()) {
      yaml::report(reading.diagnostics, value.where, path, fmt::format("holds `{}`", letter),
                   fmt::format("a list such as {}, or a text of the letters {}", kTypesExample,
                               type_letters()));
      return;
    }
    types.push_back(found->type);
  }
  reading.draft.scenario.model.layer_types = std::move(types);
}

std::optional<std::string> show_types(Draft& draft) {
  std::vector<std::string_view> words;
  for (const LayerType type : draft.scenario.model.layer_types) {
    words.push_back(kLayerTypeNames[static_cast<std::size_t>(type)].name);
  }
  return words.empty() ? std::nullopt : std::optional(fmt::format("[{}]", fmt::join(words, ", ")));
}

void add_types(Rows& keys) {
  Key& key = keys.words(
      "model.layer_types",
      "What the layers are made of, from the first on and repeated; or a text of Megatron's "
      "letters, M mamba2, G gated_delta, * attention, W sliding_attention, H compressed_attention, "
      "C compressed_sparse_attention, - mlp, E moe. With mlp or moe in it each layer is that block "
      "or that mixer alone; else a mixer and an MLP, of experts from moe.dense_layers on. "
      "sliding_attention sees attention_window.size keys, attention all, compressed_attention and "
      "compressed_sparse_attention those and the entries of model.compressed_attention.",
      kTypesExample, names_of(kLayerTypeNames),
      [](Draft& draft) { draft.scenario.model.layer_types.clear(); },
      [](Draft& draft, std::size_t word) {
        draft.scenario.model.layer_types.push_back(kLayerTypeNames[word].type);
      },
      {.aliases = {"hybrid_override_pattern", "hybrid_layer_pattern", "layers_block_type"},
       .note = "the preset's; else attention in every layer"});
  Form pattern = text_form();
  pattern.name = "a text of letters";
  pattern.example = "MEME*E";
  pattern.pattern = "^[MG*EWHC-]+$";
  key.forms.push_back(pattern);
  key.print = show_types;
  key.read = [list = std::move(key.read)](const yaml::Value& value, const std::string& path,
                                          Reading& reading) {
    const bool text = value.kind == yaml::Value::Kind::scalar && !value.text.empty();
    text ? read_pattern(value, path, reading) : list(value, path, reading);
  };
}

bool has_convolution(const Draft& draft) {
  const auto& types = draft.scenario.model.layer_types;
  return std::ranges::any_of(types, [](LayerType type) {
    return type != LayerType::lightning && type != LayerType::attention;
  });
}

void add_recurrence(Rows& keys) {
  keys.part("model.linear_attention",
            "Heads and widths of the layers that carry a state along the sequence.",
            "{value_heads: 32, key_heads: 16, key_dim: 128, value_dim: 128}",
            ORRERY_AT(scenario.model.linear_attention),
            {.note = "the preset's; needed by mamba2, gated_delta, kda and lightning",
             .idle = {ORRERY_WHEN(d.scenario.model.layer_types.empty(),
                                  "model.layer_types names no layer that uses it")}});
  keys.count("model.linear_attention.value_heads",
             "Heads of the state: those of Mamba-2, or of the values.", "128", {1, kWidest},
             ORRERY_AT(scenario.model.linear_attention->value_heads),
             {.aliases = {"heads", "mamba_num_heads", "linear_num_value_heads"},
              .note = std::string(kOfPreset)});
  keys.count("model.linear_attention.key_heads",
             "Heads of the keys and queries (of B and C: the groups of Mamba-2), each shared by as "
             "many value heads; divides them.",
             "8", {1, kWidest}, ORRERY_AT(scenario.model.linear_attention->key_heads),
             {.aliases = {"groups", "n_groups", "mamba_num_groups", "linear_num_key_heads"},
              .note = "the preset's; else one per value head"});
  keys.count("model.linear_attention.key_dim", "Width of a key: the state width of Mamba-2.", "128",
             {1, kWidest}, ORRERY_AT(scenario.model.linear_attention->key_dim),
             {.aliases = {"state", "ssm_state_size", "mamba_state_dim", "linear_key_head_dim"},
              .note = std::string(kOfPreset)});
  keys.count("model.linear_attention.value_dim",
             "Width of a value head: the head width of Mamba-2.", "64", {1, kWidest},
             ORRERY_AT(scenario.model.linear_attention->value_dim),
             {.aliases = {"head_dim", "mamba_head_dim", "linear_value_head_dim"},
              .note = "the preset's; else key_dim"});
  keys.count(
      "model.linear_attention.conv", "Taps of the causal convolution before the state.", "4",
      {1, kMostTaps}, ORRERY_AT(scenario.model.linear_attention->conv),
      {.aliases = {"conv_kernel", "linear_conv_kernel_dim"},
       .note = "the preset's; else 4",
       .idle = {ORRERY_WHEN(!has_convolution(d), "lightning attention has no convolution")}});
  keys.count("model.linear_attention.chunk", "Tokens between two states of the chunked kernel.",
             "128", {1, kLongestChunk}, ORRERY_AT(scenario.model.linear_attention->chunk),
             {.aliases = {"chunk_size"},
              .note = "the preset's; else that of the kernels: 128 for Mamba-2, 64 for delta "
                      "rules, 256 for lightning"});
}

void add_indexer(Rows& keys) {
  keys.part("model.sparse_attention",
            "Latent attention to the keys that an indexer chooses (DSA, DeepSeek-V3.2), trained "
            "with it; with model.compressed_attention to the entries that it chooses in layers "
            "that are compressed_sparse_attention.",
            "{index_heads: 64, index_head_dim: 128, top_k: 2048}",
            ORRERY_AT(scenario.model.sparse_attention),
            {.note = "the preset's; else attention to all keys"});
  keys.count("model.sparse_attention.index_heads", "Heads of the indexer.", "64", {1, kWidest},
             ORRERY_AT(scenario.model.sparse_attention->heads),
             {.aliases = {"index_n_heads"}, .note = std::string(kOfPreset)});
  keys.count("model.sparse_attention.index_head_dim", "Width of a head of the indexer.", "128",
             {1, kWidest}, ORRERY_AT(scenario.model.sparse_attention->dim),
             {.note = std::string(kOfPreset)});
  keys.count("model.sparse_attention.top_k", "Keys that a query sees.", "2048", {1, kWidest},
             ORRERY_AT(scenario.model.sparse_attention->top_k),
             {.aliases = {"index_topk"}, .note = std::string(kOfPreset)});
}

void add_compressed(Rows& keys) {
  keys.part("model.compressed_attention",
            "Attention of DeepSeek-V4: queries through a latent, one head of head_dim that is key "
            "and value, a window, and in layers that are compressed_attention or "
            "compressed_sparse_attention an entry for every 128 or 4 tokens.",
            "{q_lora_rank: 1024, output_groups: 8, output_rank: 1024}",
            ORRERY_AT(scenario.model.compressed_attention), {.note = "the preset's; else none"});
  keys.count("model.compressed_attention.q_lora_rank", "Width of the latent of the queries.",
             "1024", {1, kWidest}, ORRERY_AT(scenario.model.compressed_attention->q_lora_rank),
             {.note = std::string(kOfPreset)});
  keys.count("model.compressed_attention.output_groups",
             "Groups of heads whose output has a projection of its own.", "8", {1, kWidest},
             ORRERY_AT(scenario.model.compressed_attention->output_groups),
             {.aliases = {"o_groups"}, .note = std::string(kOfPreset)});
  keys.count("model.compressed_attention.output_rank", "Width to which it projects them.", "1024",
             {1, kWidest}, ORRERY_AT(scenario.model.compressed_attention->output_rank),
             {.aliases = {"o_lora_rank"}, .note = std::string(kOfPreset)});
  keys.count("model.residual_streams",
             "Copies of the residual stream that hyper-connections mix at every block.", "4",
             {1, kMostStreams}, ORRERY_AT(scenario.model.residual_streams),
             {.aliases = {"hc_mult", "num_residual_streams"}, .note = "the preset's; else 1"});
}

}  // namespace

void layer_keys(Rows& keys) {
  add_types(keys);
  add_recurrence(keys);
  add_indexer(keys);
  add_compressed(keys);
  keys.flag("model.output_gate",
            "The output of attention is multiplied by the sigmoid of a projection of its input "
            "(Qwen3-Next).",
            "true", ORRERY_AT(scenario.model.output_gate),
            {.aliases = {"attn_output_gate", "attention_output_gate"},
             .note = "the preset's; else false"});
}

}  // namespace orrery::scenario
