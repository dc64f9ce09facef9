#include "sim/validate/rows/run_tables.hpp"

#include <algorithm>
#include <array>

namespace orrery::validate {

namespace {

using model::Activation;
using model::Norm;
using model::PositionEmbedding;

constexpr std::array<StackName, 22> kStacks = {
    {{"megatron-deepspeed-vtrain", "megatron-deepspeed-vtrain"},
     {"megatron-deepspeed", "megatron-deepspeed"},
     {"megatron-lm", "megatron-lm"},
     {"megatron-core-no-overlap", "megatron-core-no-overlap"},
     {"megatron-bridge", "megatron-bridge"},
     {"bridge", "megatron-bridge"},
     {"mt-nlg", "megatron-deepspeed"},
     {"deepspeed", "megatron-deepspeed"},
     {"megatron", "megatron-core"},
     {"nemo-mlperf", "nemo-mlperf"},
     {"nemo", "nemo"},
     {"llm-foundry", "llm-foundry-fsdp"},
     {"torchtitan", "torchtitan-fsdp2"},
     {"internevo", "internevo"},
     {"meta-llama", "meta-llama3"},
     {"metaseq", "metaseq-fsdp"},
     {"megascale", "megatron-core"},
     {"nanotron", "nanotron"},
     {"automodel", "automodel-fsdp2"},
     {"fsdp2", "torchtitan-fsdp2"},
     {"fsdp", "llm-foundry-fsdp"},
     {"pytorch", "pytorch-ddp"}}};

constexpr std::array<ModelFamily, 14> kFamilies = {{
    {"GPT-OSS", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary, true},
    {"GPT",
     Activation::gelu,
     Norm::layer_norm,
     PositionEmbedding::learned,
     true,
     false,
     false,
     true},
    {"Llama", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
    {"BLOOM",
     Activation::gelu,
     Norm::layer_norm,
     PositionEmbedding::alibi,
     true,
     false,
     true,
     true},
    {"MPT",
     Activation::gelu,
     Norm::layer_norm,
     PositionEmbedding::learned,
     false,
     false,
     false,
     true},
    {"OPT",
     Activation::relu,
     Norm::layer_norm,
     PositionEmbedding::learned,
     true,
     false,
     false,
     true},
    {"MT-NLG",
     Activation::gelu,
     Norm::layer_norm,
     PositionEmbedding::learned,
     true,
     false,
     false,
     true},
    {"Nemotron", Activation::squared_relu, Norm::layer_norm, PositionEmbedding::rotary},
    {"InternLM", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
    {"DeepSeek", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
    {"Qwen", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary, false, true},
    {"Mixtral", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
    {"Mistral", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
    {"Grok", Activation::swiglu, Norm::rms_norm, PositionEmbedding::rotary},
}};

constexpr std::size_t kGptFamily = 1;
constexpr std::size_t kLlamaFamily = 2;

constexpr std::array<Keyword, 16> kKeywords = {{
    {"overlap_as_stated",
     "all overlaps disabled",
     KeywordEffect::no_overlap,
     "nothing hides behind compute"},
    {"overlap_as_stated",
     "gradient buckets off",
     KeywordEffect::no_data_overlap,
     "gradients are reduced after the last backward"},
    {"overlap_as_stated",
     "no DP overlap",
     KeywordEffect::no_data_overlap,
     "gradients are reduced after the last backward"},
    {"overlap_as_stated",
     "DP overlap",
     KeywordEffect::data_overlap,
     "gradient reduction behind the backward"},
    {"overlap_as_stated",
     "overlap_sync_grad true",
     KeywordEffect::data_overlap,
     "gradient reduction behind the backward"},
    {"overlap_as_stated",
     "no TP userbuffers overlap",
     KeywordEffect::no_tensor_overlap,
     "tensor-parallel collectives are exposed"},
    {"overlap_as_stated",
     "TP userbuffers overlap",
     KeywordEffect::tensor_overlap,
     "tensor-parallel collectives behind their GEMMs"},
    {"overlap_as_stated",
     "TP comm overlap",
     KeywordEffect::tensor_overlap,
     "tensor-parallel collectives behind their GEMMs"},
    {"overlap_as_stated",
     "async TP",
     KeywordEffect::tensor_overlap,
     "tensor-parallel collectives behind their GEMMs"},
    {"overlap_as_stated",
     "torch.compile",
     KeywordEffect::compile,
     "memory-bound kernels are compiled"},
    {"source",
     "2025-06",
     KeywordEffect::release_2025,
     "a profile of the stack's name with -2025, if there is one"},
    {"source",
     "202506",
     KeywordEffect::release_2025,
     "a profile of the stack's name with -2025, if there is one"},
    {"precision_as_stated",
     "fp8 FSDP all-gather",
     KeywordEffect::fp8_parameters,
     "parameters are gathered in FP8"},
    {"notes",
     "capacity factor 1.0",
     KeywordEffect::capacity_one,
     "no expert takes more rows than the average"},
    {"inter_node",
     "4 x 100 Gb/s",
     KeywordEffect::four_nics,
     "the rate per GPU is that of four ports per node"},
    {"inter_node",
     "4 Omni-Path links per node",
     KeywordEffect::four_nics,
     "the rate per GPU is that of four ports per node"},
}};

}  // namespace

std::span<const StackName> stack_names() {
  return kStacks;
}

std::string_view software_of(std::string_view stack) {
  for (const StackName& entry : kStacks) {
    if (stack.starts_with(entry.stack)) {
      return entry.software;
    }
  }
  return kGenericSoftware;
}

layout::Sharding usual_sharding(std::string_view stack) {
  const std::string_view software = software_of(stack);
  const bool sharded = software.find("fsdp") != std::string_view::npos ||
                       stack.find("fsdp") != std::string_view::npos ||
                       stack.find("maxtext") != std::string_view::npos;
  return sharded ? layout::Sharding::zero3 : layout::Sharding::zero1;
}

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

const ModelFamily& model_family(std::string_view name, bool gated) {
  for (const ModelFamily& family : kFamilies) {
    if (name.starts_with(family.name)) {
      return family;
    }
  }
  return kFamilies[gated ? kLlamaFamily : kGptFamily];
}

std::span<const Keyword> keywords() {
  return kKeywords;
}

}  // namespace orrery::validate
