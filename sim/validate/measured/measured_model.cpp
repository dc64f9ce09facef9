// Model, precision and recomputation of a measured run.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "sim/base/text/text.hpp"
#include "sim/base/units.hpp"
#include "sim/scenario/presets/preset_library.hpp"
#include "sim/validate/rows/row_mapping.hpp"
#include "sim/validate/rows/run_tables.hpp"

namespace orrery::validate {

namespace {

using model::Dtype;
using model::Fp8Scaling;
using model::ModelSpec;

// Letters and digits of a model's name, without its release: "Llama-3.1-405B (8 layers)" and
// "llama3-405b" are both "llama3405b".
std::string plain_name(std::string_view name) {
  std::string text = lower_case(name.substr(0, name.find(" (")));
  const std::size_t dot = text.find("3.1");
  if (dot != std::string::npos) {
    text.erase(dot + 1, 2);
  }
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text;
}

std::optional<ModelSpec> preset_of(std::string_view name) {
  Diagnostics ignored;
  for (const scenario::PresetPtr& preset :
       scenario::PresetLibrary::standard().list(scenario::PresetKind::models, ignored)) {
    if (plain_name(preset->name) == plain_name(name)) {
      return preset->model;
    }
  }
  return std::nullopt;
}

// The number before the last B of a name, in parameters: "GPT-22B" has 22e9.
std::optional<double> parameters_in(std::string_view name) {
  const std::string text(name.substr(0, name.find(" (")));
  const std::size_t unit = text.find_last_of("bB");
  if (unit == std::string::npos || unit == 0) {
    return std::nullopt;
  }
  std::size_t first = unit;
  while (first > 0 && (std::isdigit(static_cast<unsigned char>(text[first - 1])) != 0 ||
                       text[first - 1] == '.')) {
    --first;
  }
  const double billions = std::strtod(text.substr(first, unit - first).c_str(), nullptr);
  return billions > 0.0 ? std::optional(billions * kGiga) : std::nullopt;
}

// Dense decoders keep layers near hidden / 128, so N = 12 h^2 L = 12 h^3 / 128.
ModelSpec usual_shape(std::string_view name) {
  constexpr double kSevenBillion = 7.0;
  constexpr double kMatrices = 12.0;
  constexpr std::int64_t kHead = 128;
  const double parameters = parameters_in(name).value_or(kSevenBillion * kGiga);
  const double hidden = std::cbrt(parameters * static_cast<double>(kHead) / kMatrices);
  ModelSpec shape;
  shape.num_attention_heads =
      std::max<std::int64_t>(8, std::llround(hidden / static_cast<double>(8 * kHead)) * 8);
  shape.hidden_size = shape.num_attention_heads * kHead;
  shape.num_layers = shape.num_attention_heads;
  shape.vocab_size = 128'256;
  shape.sequence_length = 4096;
  return shape;
}

void map_experts(const DataRow& model, const ModelSpec& known, ModelSpec& spec, Mapping& mapping) {
  if (model.has("moe")) {
    const DataRow row = model.row("moe");
    const model::MoeSpec usual = known.moe.value_or(model::MoeSpec{
        .num_experts = 8,
        .top_k = 2,
        .ffn_hidden_size = spec.ffn_hidden_size > 0 ? spec.ffn_hidden_size : 4 * spec.hidden_size});
    model::MoeSpec moe;
    moe.num_experts = mapping.count(row, "experts", usual.num_experts);
    moe.top_k = std::min(mapping.count(row, "topk", usual.top_k), moe.num_experts);
    moe.ffn_hidden_size = mapping.count(row, "expert_ffn", usual.ffn_hidden_size);
    moe.shared_experts = row.integer("shared_expert_ffn").value_or(0) / moe.ffn_hidden_size;
    moe.dense_layers =
        std::clamp<std::int64_t>(row.integer("dense_layers").value_or(0), 0, spec.num_layers);
    spec.moe = moe;
  } else if (known.moe) {
    spec.moe = known.moe;
    mapping.note("experts are not stated: those of the published model");
  }
  if (model.has("mla")) {
    const DataRow row = model.row("mla");
    const model::MlaSpec usual = known.mla.value_or(model::MlaSpec{.q_lora_rank = 1536,
                                                                   .kv_lora_rank = 512,
                                                                   .qk_nope_head_dim = 128,
                                                                   .qk_rope_head_dim = 64,
                                                                   .v_head_dim = 128});
    spec.mla =
        model::MlaSpec{.q_lora_rank = row.integer("q_lora").value_or(0),
                       .kv_lora_rank = mapping.count(row, "kv_lora", usual.kv_lora_rank),
                       .qk_nope_head_dim = mapping.count(row, "qk_head", usual.qk_nope_head_dim),
                       .qk_rope_head_dim = mapping.count(row, "qk_rope", usual.qk_rope_head_dim),
                       .v_head_dim = mapping.count(row, "v_head", usual.v_head_dim)};
  } else if (known.mla) {
    spec.mla = known.mla;
    mapping.note("latent attention is not stated: that of the published model");
  }
}

void map_family(const DataRow& model, const ModelSpec& known, ModelSpec& spec, Mapping& mapping) {
  const bool preset_gate = !known.name.empty() && known.gated_mlp();
  const bool gated = model.flag("gated").value_or(preset_gate);
  const ModelFamily& family = model_family(spec.name, gated);
  spec.activation = gated ? model::Activation::swiglu : family.activation;
  if (!gated && spec.activation == model::Activation::swiglu) {
    spec.activation = model::Activation::gelu;
  }
  spec.norm = family.norm;
  spec.position = family.position;
  spec.linear_bias = family.linear_bias;
  spec.qkv_bias = family.qkv_bias;
  spec.embedding_norm = family.embedding_norm;
  if (model.text("position").starts_with("alibi")) {
    spec.position = model::PositionEmbedding::alibi;
  }
  if (!model.has("tied_embeddings")) {
    mapping.note("tied_embeddings as the model's family has them");
  }
  spec.tie_embeddings = model.flag("tied_embeddings").value_or(family.tied_embeddings);
}

// Heads that share the hidden size in whole numbers, and groups that share the heads.
void settle_heads(ModelSpec& spec, Mapping& mapping) {
  if (spec.head_dim == 0 && !spec.mla && spec.hidden_size % spec.num_attention_heads != 0) {
    spec.head_dim = (spec.hidden_size + spec.num_attention_heads - 1) / spec.num_attention_heads;
    mapping.note(fmt::format("{} heads do not divide hidden {}: head_dim {}",
                             spec.num_attention_heads,
                             spec.hidden_size,
                             spec.head_dim));
  }
  if (spec.num_query_groups > 0 && spec.num_attention_heads % spec.num_query_groups != 0) {
    const std::int64_t groups = divisor_at_most(spec.num_attention_heads, spec.num_query_groups);
    mapping.note(fmt::format("kv_heads {} do not divide {} heads: {}",
                             spec.num_query_groups,
                             spec.num_attention_heads,
                             groups));
    spec.num_query_groups = groups;
  }
}

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

// Blackwell's units know scales of 32 values; what ran elsewhere under that name had blocks.
Fp8Scaling group_scaling(const std::string& gpu, Mapping& mapping) {
  if (contains(gpu, "B200") || contains(gpu, "B300") || contains(gpu, "B100")) {
    return Fp8Scaling::mx;
  }
  mapping.note("MXFP8 without units for it: blocks of 128");
  return Fp8Scaling::block;
}

Fp8Scaling fp8_scaling(const std::string& name, const std::string& gpu, Mapping& mapping) {
  if (contains(name, "rowwise")) {
    return Fp8Scaling::rowwise;
  }
  if (contains(name, "mx")) {
    return group_scaling(gpu, mapping);
  }
  if (contains(name, "tensorwise") || contains(name, "current") || contains(name, "cs")) {
    return Fp8Scaling::tensorwise;
  }
  if (contains(name, "block") || contains(name, "sc") || contains(name, "subchannel")) {
    return Fp8Scaling::block;
  }
  return Fp8Scaling::delayed;
}

}  // namespace

std::int64_t Mapping::count(const DataRow& row, std::string_view key, std::int64_t fallback) {
  const auto value = row.integer(key);
  if (value && *value >= 1) {
    return *value;
  }
  note(fmt::format("{} is missing: {}", key, fallback));
  return fallback;
}

bool lists_as_missing(const DataRow& row, std::string_view key) {
  const auto list = row.texts("missing");
  return std::find(list.begin(), list.end(), key) != list.end() || row.text("missing") == key;
}

std::int64_t divisor_at_most(std::int64_t value, std::int64_t wanted) {
  std::int64_t divisor = std::clamp<std::int64_t>(wanted, 1, value);
  while (value % divisor != 0) {
    --divisor;
  }
  return divisor;
}

std::int64_t multiple_at_least(std::int64_t step, std::int64_t value) {
  return (value + step - 1) / step * step;
}

void map_model(const DataRow& row, Mapping& mapping) {
  const DataRow model = row.row("model");
  ModelSpec& spec = mapping.run.scenario.model;
  spec.name = model.text("name");
  const std::optional<ModelSpec> preset = preset_of(spec.name);
  const ModelSpec known = preset.value_or(usual_shape(spec.name));
  spec.num_layers = mapping.count(model, "layers", known.num_layers);
  spec.hidden_size = mapping.count(model, "hidden", known.hidden_size);
  spec.num_attention_heads = mapping.count(model, "heads", known.num_attention_heads);
  spec.num_query_groups =
      model.integer("kv_heads").value_or(preset ? known.num_query_groups : std::int64_t{0});
  spec.head_dim = model.integer("head_dim").value_or(0);
  spec.ffn_hidden_size =
      model.integer("ffn_hidden").value_or(preset ? known.ffn_hidden_size : std::int64_t{0});
  spec.vocab_size = mapping.count(model, "vocab", known.vocab_size);
  spec.sequence_length = mapping.count(model, "seq_len", known.sequence_length);
  spec.mtp_layers = model.integer("mtp_layers").value_or(0);
  map_family(model, preset.value_or(ModelSpec{}), spec, mapping);
  map_experts(model, preset.value_or(ModelSpec{}), spec, mapping);
  settle_heads(spec, mapping);
}

void map_precision(const DataRow& row, Mapping& mapping) {
  model::PrecisionSpec& precision = mapping.run.scenario.step.precision;
  const std::string name = lower_case(row.text("precision"));
  if (contains(name, "fp4")) {
    precision.compute = Dtype::fp4;
    precision.fp8_scaling = Fp8Scaling::nvfp4;
    return;
  }
  if (contains(name, "fp8")) {
    precision.compute = Dtype::fp8;
    precision.fp8_scaling = fp8_scaling(name, row.row("hardware").text("gpu"), mapping);
    return;
  }
  if (contains(name, "fp16") || contains(name, "float16") || name == "half") {
    if (!contains(name, "bfloat16")) {
      precision.compute = Dtype::fp16;
      precision.activation = Dtype::fp16;
      precision.parameter = Dtype::fp16;
      mapping.run.scenario.step.gradient_dtype = Dtype::fp16;
    }
    return;
  }
  if (!contains(name, "bf16")) {
    mapping.note(fmt::format("precision `{}`: bf16", name));
  }
}

// The modules that a text names by Megatron-Core's words, such as `selective: mla_up_proj,
// moe_act`.
std::optional<model::RecomputeModules> named_modules(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
  model::RecomputeModules modules;
  bool any = false;
  for (std::size_t at = text.find_first_of(kLetters); at != std::string_view::npos;
       at = text.find_first_of(kLetters, at)) {
    const std::size_t end = std::min(text.find_first_not_of(kLetters, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    for (const model::RecomputeModuleWord& module : model::kRecomputeModuleWords) {
      if (module.name == word) {
        module.turn_on(modules);
        any = true;
      }
    }
    at = end;
  }
  return any ? std::optional(modules) : std::nullopt;
}

void map_recompute(const DataRow& row, Mapping& mapping) {
  model::Recompute& policy = mapping.run.scenario.step.recompute.policy;
  const std::string name = lower_case(row.text("recompute"));
  const std::optional<model::RecomputeModules> modules = named_modules(name);
  // Words of the stacks for what they recompute beside whole layers.
  constexpr std::array<std::string_view, 6> kParts = {
      "selective", "core_attn", "attention", "mla", "moe", "norm"};
  if (contains(name, "full") || contains(name, "uniform")) {
    policy = model::Recompute::full;
  } else if (modules) {
    policy = model::Recompute::modules;
    mapping.run.scenario.step.recompute.modules = *modules;
  } else if (std::any_of(kParts.begin(), kParts.end(), [&name](std::string_view part) {
               return contains(name, part);
             })) {
    policy = model::Recompute::selective;
  } else if (!name.empty() && name != "none" && name != "false") {
    mapping.note(fmt::format("recompute `{}`: none", name));
  }
  mapping.run.recompute_is_open =
      policy == model::Recompute::none && (name.empty() || lists_as_missing(row, "recompute"));
}

}  // namespace orrery::validate
