#include "sim/import_config/hugging_face/model_classes.hpp"

#include <algorithm>
#include <array>

namespace orrery::import_config {

namespace {

constexpr std::string_view kSandwich =
    "two more norms in every layer (after attention and MLP) are neither counted nor costed";
constexpr std::string_view kSinks = "attention sinks (a number per head) are not counted";
constexpr std::string_view kParallel =
    "attention and MLP of a layer work on one input, side by side: costed one after the other, "
    "with "
    "a norm each";

constexpr std::array<ModelClass, 50> kFamilies = {{
    {.type = "llama", .defaults = {32, 4096, 32, 32, 0, 11'008, 32'000}},
    {.type = "mistral", .defaults = {32, 4096, 32, 8, 0, 14'336, 32'000}},
    {.type = "mixtral"},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true},
    {.type = "qwen3", .remark = kHeadNorm},
    {.type = "qwen3_moe", .remark = kHeadNorm},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3"},
    {.type = "kimi_k2"},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .tied = true, .full_every = 2, .remark = kSandwich},
    {.type = "gemma3_text",
     .tied = true,
     .full_every = 6,
     .remark = kSandwich,
     .defaults = {26, 2304, 8, 4, 256, 9216, 262'208}},
    {.type = "gpt2",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .position = "learned",
     .tied = true,
     .linear_bias = true},
    {.type = "gpt_bigcode",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .position = "learned",
     .tied = true,
     .linear_bias = true},
    {.type = "opt",
     .activation = "relu",
     .gated = false,
     .norm = "layer_norm",
     .position = "learned",
     .tied = true,
     .linear_bias = true},
    {.type = "bloom",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .position = "alibi",
     .tied = true,
     .linear_bias = true,
     .embedding_norm = true},
    {.type = "gpt_neox",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .linear_bias = true,
     .parallel = true,
     .remark = kParallel},
    {.type = "falcon",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .tied = true,
     .parallel = true,
     .remark = kParallel},
    {.type = "phi",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .linear_bias = true,
     .parallel = true,
     .remark = kParallel},
    {.type = "gptj",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .parallel = true,
     .remark = kParallel},
    {.type = "mpt",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .position = "alibi",
     .tied = true},
    {.type = "starcoder2",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .tied = true,
     .linear_bias = true},
    {.type = "nemotron", .activation = "squared_relu", .gated = false, .norm = "layer_norm"},
    {.type = "arcee", .activation = "squared_relu", .gated = false},
    {.type = "ernie4_5", .tied = true},
    {.type = "ernie4_5_moe", .tied = true},
    {.type = "dots1", .remark = kHeadNorm},
    {.type = "granitemoe", .tied = true},
    {.type = "phi3"},
    {.type = "olmo", .norm = "layer_norm"},
    {.type = "olmo2", .remark = kHeadNorm},
    {.type = "olmo3", .full_every = 4, .remark = kHeadNorm},
    {.type = "apertus", .activation = "gelu", .gated = false, .remark = kHeadNorm},
    {.type = "gpt_oss", .linear_bias = true, .remark = kSinks},
    {.type = "glm4_moe", .remark = kHeadNorm},
    {.type = "chatglm"},
    {.type = "glm"},
    {.type = "glm4", .remark = kSandwich},
    {.type = "llama4_text"},
    {.type = "minimax_m2", .remark = kHeadNorm},
    {.type = "mimo", .qkv_bias = true},
    {.type = "smollm3"},
    {.type = "granite", .tied = true},
    {.type = "internlm2"},
    {.type = "stablelm", .norm = "layer_norm"},
    {.type = "seed_oss"},
    {.type = "cohere", .norm = "layer_norm", .tied = true, .parallel = true, .remark = kParallel},
    {.type = "cohere2",
     .norm = "layer_norm",
     .tied = true,
     .full_every = 4,
     .parallel = true,
     .remark = kParallel},
    {.type = "exaone4", .remark = kHeadNorm},
}};

// Names that files use for a class of the list.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOtherNames = {
    {{"RefinedWeb", "falcon"},
     {"RefinedWebModel", "falcon"},
     {"ministral", "mistral"},
     {"gemma3", "gemma3_text"}}};

constexpr std::array<std::string_view, 28> kForeign = {
    "mamba",       "mamba2",      "jamba",
    "bamba",       "rwkv",        "zamba",
    "zamba2",      "nemotron_h",  "falcon_h1",
    "qwen3_next",  "qwen3_5_moe", "recurrent_gemma",
    "kimi_linear", "minimax_m3",  "granitemoehybrid",
    "bert",        "roberta",     "t5",
    "mt5",         "bart",        "whisper",
    "vit",         "clip",        "deepseek_v32",
    "glm_moe_dsa", "deepseek_v4", "nemotron-nas",
    "gemma4_text"};

}  // namespace

const ModelClass* find_model_class(std::string_view type) {
  for (const auto& [other, name] : kOtherNames) {
    type = type == other ? name : type;
  }
  const auto* found = std::find_if(kFamilies.begin(), kFamilies.end(), [type](const ModelClass& c) {
    return !type.empty() && c.type == type;
  });
  return found == kFamilies.end() ? nullptr : found;
}

bool is_foreign_class(std::string_view type) {
  return std::find(kForeign.begin(), kForeign.end(), type) != kForeign.end();
}

std::string model_class_names() {
  std::string names;
  for (const ModelClass& one : kFamilies) {
    if (!one.type.empty()) {
      names += (names.empty() ? "" : ", ") + std::string(one.type);
    }
  }
  return names;
}

}  // namespace orrery::import_config
