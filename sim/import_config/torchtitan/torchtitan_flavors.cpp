#include "sim/import_config/torchtitan/torchtitan_flavors.hpp"

#include <fmt/core.h>

#include <array>

#include "sim/base/text/text.hpp"
#include "sim/import_config/hugging_face/model_classes.hpp"

namespace orrery::import_config {

namespace {

using model::MlaSpec;
using model::ModelSpec;
using model::MoeSpec;

constexpr std::string_view kChunked =
    "attention within chunks is costed over the whole sequence; layers with and without experts "
    "alternate where the model says so, and stand in front here";

ModelSpec sized(std::int64_t layers,
                std::int64_t hidden,
                std::int64_t heads,
                std::int64_t groups,
                std::int64_t ffn,
                std::int64_t vocab) {
  ModelSpec spec;
  spec.num_layers = layers;
  spec.hidden_size = hidden;
  spec.num_attention_heads = heads;
  spec.num_query_groups = groups;
  spec.ffn_hidden_size = ffn;
  spec.vocab_size = vocab;
  return spec;
}

// Hidden width of its MLP: 2/3 of 4 x dim, times a factor, up to a multiple.
std::int64_t llama_ffn(std::int64_t dim, double factor, std::int64_t multiple) {
  const std::int64_t narrow = 2 * 4 * dim / 3;
  const auto wide = static_cast<std::int64_t>(factor * static_cast<double>(narrow));
  return (wide + multiple - 1) / multiple * multiple;
}

ModelSpec llama3(std::int64_t layers,
                 std::int64_t dim,
                 std::int64_t heads,
                 double factor,
                 std::int64_t multiple) {
  constexpr std::int64_t kVocab = 128'256;
  return sized(layers, dim, heads, 8, llama_ffn(dim, factor, multiple), kVocab);
}

// Width of an expert: that of the dense MLP shared among the experts that a token passes.
ModelSpec llama4(std::int64_t experts, std::int64_t dense_layers) {
  constexpr std::int64_t kDim = 5120;
  constexpr std::int64_t kMultiple = 2048;
  constexpr double kFactor = 1.2;
  constexpr std::int64_t kPassed = 2;  // one routed, one shared
  ModelSpec spec = sized(48, kDim, 40, 8, llama_ffn(kDim, kFactor, kMultiple), 202'048);
  const std::int64_t narrow = 2 * 4 * kDim / 3;
  const auto wide = static_cast<std::int64_t>(kFactor * static_cast<double>(narrow)) / kPassed;
  spec.moe = MoeSpec{.num_experts = experts,
                     .top_k = 1,
                     .ffn_hidden_size = (wide + kMultiple - 1) / kMultiple * kMultiple,
                     .shared_experts = 1,
                     .dense_layers = dense_layers};
  return spec;
}

ModelSpec deepseek(std::int64_t layers,
                   std::int64_t dim,
                   std::int64_t heads,
                   std::int64_t ffn,
                   std::int64_t vocab,
                   std::int64_t query_rank,
                   const MoeSpec& moe) {
  ModelSpec spec = sized(layers, dim, heads, heads, ffn, vocab);
  spec.moe = moe;
  spec.mla = MlaSpec{.q_lora_rank = query_rank,
                     .kv_lora_rank = 512,
                     .qk_nope_head_dim = 128,
                     .qk_rope_head_dim = 64,
                     .v_head_dim = 128};
  return spec;
}

ModelSpec qwen3(std::int64_t layers,
                std::int64_t dim,
                std::int64_t heads,
                std::int64_t groups,
                std::int64_t ffn,
                bool tied) {
  ModelSpec spec = sized(layers, dim, heads, groups, ffn, 151'936);
  spec.head_dim = 128;
  spec.tie_embeddings = tied;
  return spec;
}

ModelSpec qwen3_moe(std::int64_t layers,
                    std::int64_t dim,
                    std::int64_t heads,
                    std::int64_t ffn,
                    std::int64_t expert_ffn) {
  ModelSpec spec = qwen3(layers, dim, heads, 4, ffn, false);
  spec.moe = MoeSpec{.num_experts = 128, .top_k = 8, .ffn_hidden_size = expert_ffn};
  return spec;
}

std::vector<TorchtitanFlavor> all_flavors() {
  return {
      {"llama3", "8B", llama3(32, 4096, 32, 1.3, 1024)},
      {"llama3", "70B", llama3(80, 8192, 64, 1.3, 4096)},
      {"llama3", "405B", llama3(126, 16'384, 128, 1.2, 4096)},
      {"llama4", "17bx16e", llama4(16, 0), kChunked},
      {"llama4", "17bx128e", llama4(128, 24), kChunked},
      {"deepseek_v3",
       "16B",
       deepseek(27,
                2048,
                16,
                10'944,
                102'400,
                0,
                {.num_experts = 64,
                 .top_k = 6,
                 .ffn_hidden_size = 1408,
                 .shared_experts = 2,
                 .dense_layers = 1})},
      {"deepseek_v3",
       "236B",
       deepseek(60,
                5120,
                128,
                12'288,
                102'400,
                1536,
                {.num_experts = 160,
                 .top_k = 6,
                 .ffn_hidden_size = 1536,
                 .shared_experts = 2,
                 .dense_layers = 1})},
      {"deepseek_v3",
       "671B",
       deepseek(61,
                7168,
                128,
                18'432,
                129'280,
                1536,
                {.num_experts = 256,
                 .top_k = 8,
                 .ffn_hidden_size = 2048,
                 .shared_experts = 1,
                 .dense_layers = 3})},
      {"qwen3", "0.6B", qwen3(28, 1024, 16, 8, 3072, true), kHeadNorm},
      {"qwen3", "1.7B", qwen3(28, 2048, 16, 8, 6144, true), kHeadNorm},
      {"qwen3", "4B", qwen3(36, 2560, 32, 8, 9728, true), kHeadNorm},
      {"qwen3", "8B", qwen3(36, 4096, 32, 8, 12'288, false), kHeadNorm},
      {"qwen3", "14B", qwen3(40, 5120, 40, 8, 17'408, false), kHeadNorm},
      {"qwen3", "32B", qwen3(64, 5120, 64, 8, 25'600, false), kHeadNorm},
      {"qwen3", "30B-A3B", qwen3_moe(48, 2048, 32, 6144, 768), kHeadNorm},
      {"qwen3", "235B-A22B", qwen3_moe(94, 4096, 64, 12'288, 1536), kHeadNorm},
  };
}

// Lower case, dashes as underscores: configs are named llama3_8b, flavors 8B.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '-' ? '_' : lower_case(c);
  }
  return result;
}

}  // namespace

std::optional<TorchtitanFlavor> find_flavor(std::string_view model, std::string_view flavor) {
  std::string wanted = plain(flavor);
  for (const std::string_view suffix : {"_flex", "_varlen", "_irope"}) {
    if (wanted.ends_with(suffix)) {
      wanted.erase(wanted.size() - suffix.size());
    }
  }
  for (const TorchtitanFlavor& known : all_flavors()) {
    if (known.model == model && plain(known.flavor) == wanted) {
      return known;
    }
  }
  return std::nullopt;
}

std::string known_flavors() {
  std::string text;
  for (const TorchtitanFlavor& known : all_flavors()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", known.model, known.flavor);
  }
  return text;
}

}  // namespace orrery::import_config
