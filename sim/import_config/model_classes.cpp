#include "sim/import_config/model_classes.hpp"

#include <algorithm>
#include <array>

namespace orrery::import_config {

namespace {

constexpr std::string_view kSandwich =
    "two more norms in every layer (after attention and MLP) are neither counted nor costed";
constexpr std::string_view kGemma4 =
    "four norms a layer, wider heads in global layers and the dense MLP beside the experts are "
    "not expressed: parameters come out lower";
constexpr std::string_view kSinks = "attention sinks (a number per head) are not counted";

constexpr std::array<ModelClass, 34> kFamilies = {{
    {.type = "llama"},
    {.type = "mistral"},
    {.type = "mixtral"},
    {.type = "qwen2", .qkv_bias = true},
    {.type = "qwen2_moe", .qkv_bias = true},
    {.type = "qwen3", .remark = kHeadNorm},
    {.type = "qwen3_moe", .remark = kHeadNorm},
    {.type = "deepseek_v2"},
    {.type = "deepseek_v3"},
    {.type = "kimi_k2"},
    {.type = "gemma", .tied = true},
    {.type = "gemma2", .tied = true, .remark = kSandwich},
    {.type = "gemma3_text", .tied = true, .remark = kSandwich},
    {.type = "gemma4_text", .tied = true, .remark = kGemma4},
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
     .linear_bias = true},
    {.type = "starcoder2",
     .activation = "gelu",
     .gated = false,
     .norm = "layer_norm",
     .tied = true,
     .linear_bias = true},
    {.type = "nemotron", .activation = "squared_relu", .gated = false, .norm = "layer_norm"},
    {.type = "phi3"},
    {.type = "olmo", .norm = "layer_norm"},
    {.type = "olmo2", .remark = kHeadNorm},
    {.type = "gpt_oss", .qkv_bias = true, .remark = kSinks},
    {.type = "glm4_moe", .remark = kHeadNorm},
    {.type = "llama4_text"},
    {.type = "minimax_m2", .remark = kHeadNorm},
    {.type = "mimo", .qkv_bias = true},
    {.type = "smollm3"},
    {.type = "granite", .tied = true},
    {.type = "internlm2"},
    {.type = "cohere", .norm = "layer_norm", .tied = true},
    {.type = "exaone4", .remark = kHeadNorm},
}};

constexpr std::array<std::string_view, 25> kForeign = {"mamba",
                                                       "mamba2",
                                                       "jamba",
                                                       "bamba",
                                                       "rwkv",
                                                       "zamba",
                                                       "zamba2",
                                                       "nemotron_h",
                                                       "falcon_h1",
                                                       "qwen3_next",
                                                       "qwen3_5_moe",
                                                       "recurrent_gemma",
                                                       "granitemoehybrid",
                                                       "bert",
                                                       "roberta",
                                                       "t5",
                                                       "mt5",
                                                       "bart",
                                                       "whisper",
                                                       "vit",
                                                       "clip",
                                                       "deepseek_v32",
                                                       "glm_moe_dsa",
                                                       "deepseek_v4",
                                                       "nemotron-nas"};

}  // namespace

const ModelClass* find_model_class(std::string_view type) {
  const auto* found = std::find_if(
      kFamilies.begin(), kFamilies.end(), [type](const ModelClass& c) { return c.type == type; });
  return found == kFamilies.end() ? nullptr : found;
}

bool is_foreign_class(std::string_view type) {
  return std::find(kForeign.begin(), kForeign.end(), type) != kForeign.end();
}

}  // namespace orrery::import_config
