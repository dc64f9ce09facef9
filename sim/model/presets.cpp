#include "sim/model/presets.hpp"

#include <utility>
#include <vector>

#include "sim/model/shard_dims.hpp"

namespace orrery::model {

namespace {

// Widths of a dense decoder in the order in which papers print them.
struct Size {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t sequence = 0;
};

ModelSpec sized(const Size& size) {
  ModelSpec spec;
  spec.num_layers = size.layers;
  spec.hidden_size = size.hidden;
  spec.num_attention_heads = size.heads;
  spec.num_query_groups = size.groups;
  spec.head_dim = size.hidden / size.heads;
  spec.ffn_hidden_size = size.ffn;
  spec.vocab_size = size.vocab;
  spec.sequence_length = size.sequence;
  return spec;
}

// Biases everywhere, LayerNorm, GELU, tied embeddings, learned positions.
ModelSpec gpt(const Size& size) {
  ModelSpec spec = sized(size);
  spec.tie_embeddings = true;
  spec.activation = Activation::gelu;
  spec.norm = Norm::layer_norm;
  spec.position = PositionEmbedding::learned;
  spec.max_positions = size.sequence;
  spec.linear_bias = true;
  return spec;
}

ModelSpec opt_175b() {
  ModelSpec spec = gpt({96, 12288, 96, 96, 49152, 50272, 2048});
  spec.activation = Activation::relu;
  spec.max_positions = 2050;  // two rows before the first position
  return spec;
}

ModelSpec bloom_176b() {
  ModelSpec spec = gpt({70, 14336, 112, 112, 57344, 250880, 2048});
  spec.position = PositionEmbedding::alibi;
  spec.max_positions = 0;
  spec.embedding_norm = true;
  return spec;
}

// RMSNorm, SwiGLU, rotary positions, no biases, two tables: the defaults of ModelSpec.
ModelSpec llama(const Size& size) {
  return sized(size);
}

// Squared ReLU, LayerNorm with bias, rotary positions, no biases, two tables.
ModelSpec nemotron4(const Size& size) {
  ModelSpec spec = sized(size);
  spec.activation = Activation::squared_relu;
  spec.norm = Norm::layer_norm;
  return spec;
}

ModelSpec mixtral(const Size& size) {
  ModelSpec spec = sized(size);
  spec.moe = MoeSpec{.num_experts = 8, .top_k = 2, .ffn_hidden_size = size.ffn};
  return spec;
}

ModelSpec qwen25(const Size& size, bool tied) {
  ModelSpec spec = sized(size);
  spec.qkv_bias = true;
  spec.tie_embeddings = tied;
  return spec;
}

ModelSpec deepseek(const Size& size, const MoeSpec& moe) {
  ModelSpec spec = sized(size);
  spec.moe = moe;
  spec.mla = MlaSpec{.q_lora_rank = 1536,
                     .kv_lora_rank = 512,
                     .qk_nope_head_dim = 128,
                     .qk_rope_head_dim = 64,
                     .v_head_dim = 128};
  spec.head_dim = query_head_dim(spec);
  return spec;
}

ModelSpec deepseek_v2() {
  return deepseek({60, 5120, 128, 128, 12288, 102400, 4096},
                  {.num_experts = 160,
                   .top_k = 6,
                   .ffn_hidden_size = 1536,
                   .shared_experts = 2,
                   .dense_layers = 1});
}

ModelSpec deepseek_v3() {
  ModelSpec spec = deepseek({61, 7168, 128, 128, 18432, 129280, 4096},
                            {.num_experts = 256,
                             .top_k = 8,
                             .ffn_hidden_size = 2048,
                             .shared_experts = 1,
                             .dense_layers = 3});
  spec.mtp_layers = 1;
  return spec;
}

ModelPreset preset(std::string_view name,
                   std::string_view summary,
                   std::string_view source,
                   ModelSpec spec) {
  spec.name = name;
  return {.name = name, .summary = summary, .source = source, .spec = std::move(spec)};
}

using Presets = std::vector<ModelPreset>;

Presets gpt_and_llama_presets() {
  return {
      preset("gpt3-175b",
             "GPT-3 175B, 2020",
             "arXiv 2005.14165, table 2.1; vocabulary of GPT-2",
             gpt({96, 12288, 96, 96, 49152, 50257, 2048})),
      preset("mt-nlg-530b",
             "Megatron-Turing NLG 530B, 2022",
             "arXiv 2201.11990, section 3.1; vocabulary of GPT-2",
             gpt({105, 20480, 128, 128, 81920, 50257, 2048})),
      preset("opt-175b",
             "OPT-175B, 2022",
             "arXiv 2205.01068, table 1; released configuration",
             opt_175b()),
      preset("bloom-176b",
             "BLOOM 176B, 2022; vocabulary padded from 250,680",
             "arXiv 2211.05100, table 3; released configuration",
             bloom_176b()),
      preset("llama2-7b",
             "Llama 2 7B, 2023",
             "arXiv 2307.09288, table 1; released params.json",
             llama({32, 4096, 32, 32, 11008, 32000, 4096})),
      preset("llama2-13b",
             "Llama 2 13B, 2023",
             "arXiv 2307.09288, table 1; released params.json",
             llama({40, 5120, 40, 40, 13824, 32000, 4096})),
      preset("llama2-70b",
             "Llama 2 70B, 2023",
             "arXiv 2307.09288, table 1; released params.json",
             llama({80, 8192, 64, 8, 28672, 32000, 4096})),
      preset("llama3-8b",
             "Llama 3 8B, 2024",
             "arXiv 2407.21783, table 3; released configuration",
             llama({32, 4096, 32, 8, 14336, 128256, 8192})),
      preset("llama3-70b",
             "Llama 3 70B, 2024",
             "arXiv 2407.21783, table 3; released configuration",
             llama({80, 8192, 64, 8, 28672, 128256, 8192})),
      preset("llama3-405b",
             "Llama 3 405B, 2024",
             "arXiv 2407.21783, table 3; released configuration",
             llama({126, 16384, 128, 8, 53248, 128256, 8192})),
  };
}

Presets later_presets() {
  return {
      preset("nemotron4-15b",
             "Nemotron-4 15B, 2024",
             "arXiv 2402.16819, table 1",
             nemotron4({32, 6144, 48, 8, 24576, 256000, 4096})),
      preset("nemotron4-340b",
             "Nemotron-4 340B, 2024",
             "arXiv 2406.11704, table 1",
             nemotron4({96, 18432, 96, 8, 73728, 256000, 4096})),
      preset("mixtral-8x7b",
             "Mixtral 8x7B, 2023: 8 experts, 2 active",
             "arXiv 2401.04088, table 1",
             mixtral({32, 4096, 32, 8, 14336, 32000, 32768})),
      preset("mixtral-8x22b",
             "Mixtral 8x22B, 2024: 8 experts, 2 active; sequence length of the context window",
             "released configuration of Mixtral-8x22B-v0.1",
             mixtral({56, 6144, 48, 8, 16384, 32000, 65536})),
      preset("deepseek-v2",
             "DeepSeek-V2 236B, 2024: latent attention, 160 experts, 6 active, 2 shared",
             "arXiv 2405.04434, section 3.1.2; released configuration",
             deepseek_v2()),
      preset("deepseek-v3",
             "DeepSeek-V3 671B, 2024: latent attention, 256 experts, 8 active, 1 shared, 1 MTP",
             "arXiv 2412.19437, section 4.2; released configuration",
             deepseek_v3()),
      preset("qwen2.5-1.5b",
             "Qwen2.5 1.5B, 2024",
             "arXiv 2412.15115, table 1; released configuration",
             qwen25({28, 1536, 12, 2, 8960, 151936, 4096}, true)),
      preset("qwen2.5-72b",
             "Qwen2.5 72B, 2024",
             "arXiv 2412.15115, table 1; released configuration",
             qwen25({80, 8192, 64, 8, 29568, 152064, 4096}, false)),
  };
}

}  // namespace

std::span<const ModelPreset> model_presets() {
  static const Presets presets = [] {
    Presets all = gpt_and_llama_presets();
    Presets later = later_presets();
    all.insert(all.end(), later.begin(), later.end());
    return all;
  }();
  return presets;
}

std::optional<ModelSpec> find_model_preset(std::string_view name) {
  for (const ModelPreset& candidate : model_presets()) {
    if (candidate.name == name) {
      return candidate.spec;
    }
  }
  return std::nullopt;
}

ModelSpec resolve(ModelSpec spec) {
  spec.num_query_groups = query_groups(spec);
  if (spec.num_attention_heads > 0) {
    spec.head_dim = query_head_dim(spec);
  }
  spec.ffn_hidden_size = dense_ffn(spec);
  spec.max_positions = position_rows(spec);
  return spec;
}

}  // namespace orrery::model
