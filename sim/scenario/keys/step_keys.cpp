// Keys of one optimizer step: `precision`, `recompute`.

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

namespace {

using model::Dtype;
using model::Fp8Scaling;
using model::PrecisionSpec;
using model::Recompute;
namespace kind = yaml::kind;

bool recomputes_experts(const model::RecomputeModules& modules) {
  const bool routed_alone = modules.moe_activation && !modules.mlp_activation;
  return modules.moe || modules.shared_experts || routed_alone;
}

enum class Recipe {
  bf16,
  fp16,
  fp32,
  tf32,
  fp8_delayed,
  fp8_tensorwise,
  fp8_rowwise,
  fp8_block,
  mxfp8,
  nvfp4
};

const std::vector<yaml::Choice<Recipe>>& recipes() {
  static const std::vector<yaml::Choice<Recipe>> choices = {
      {"bf16", Recipe::bf16},
      {"fp16", Recipe::fp16},
      {"fp32", Recipe::fp32},
      {"tf32", Recipe::tf32},
      {"fp8-delayed", Recipe::fp8_delayed},
      {"fp8-tensorwise", Recipe::fp8_tensorwise},
      {"fp8-current", Recipe::fp8_tensorwise},
      {"fp8-rowwise", Recipe::fp8_rowwise},
      {"fp8-block", Recipe::fp8_block},
      {"mxfp8", Recipe::mxfp8},
      {"nvfp4", Recipe::nvfp4}};
  return choices;
}

Fp8Scaling scaling_of(Recipe recipe) {
  switch (recipe) {
    case Recipe::fp8_tensorwise:
      return Fp8Scaling::tensorwise;
    case Recipe::fp8_rowwise:
      return Fp8Scaling::rowwise;
    case Recipe::fp8_block:
      return Fp8Scaling::block;
    case Recipe::mxfp8:
      return Fp8Scaling::mx;
    case Recipe::nvfp4:
      return Fp8Scaling::nvfp4;
    case Recipe::bf16:
    case Recipe::fp16:
    case Recipe::fp32:
    case Recipe::tf32:
    case Recipe::fp8_delayed:
      break;
  }
  return Fp8Scaling::delayed;
}

// Bytes per element of what waits for the backward, with its scales.
std::vector<yaml::Choice<double>> kept_types() {
  constexpr double scale = 4.0 / 128.0;  // fp32, one for 128 elements
  constexpr double kTwelveBits = 1.5;
  return {{"fp8", 1.0 + scale}, {"e5m6", kTwelveBits + scale}};
}

// A size that words stand for.
template <typename Place>
Lens<double> in_bytes_at(Place place) {
  return {[place](Draft& draft, double value) { place(draft) = bytes(value); },
          [place](Draft& draft) -> std::optional<double> {
            const std::optional<Bytes> size = place(draft);
            return size ? std::optional(in_bytes(*size)) : std::nullopt;
          }};
}

// The one type of everything; empty: 8 or 4 bits for the products of linear layers only, around
// which all stays bf16.
std::optional<Dtype> plain_type(Recipe recipe) {
  switch (recipe) {
    case Recipe::bf16:
      return Dtype::bf16;
    case Recipe::fp16:
      return Dtype::fp16;
    case Recipe::fp32:
      return Dtype::fp32;
    case Recipe::tf32:
      return Dtype::tf32;
    default:
      return std::nullopt;
  }
}

void take_recipe(PrecisionSpec& precision, Recipe recipe) {
  const auto plain = plain_type(recipe);
  precision.compute = plain.value_or(recipe == Recipe::nvfp4 ? Dtype::fp4 : Dtype::fp8);
  precision.activation = plain.value_or(Dtype::bf16);
  precision.parameter = precision.activation;
  precision.fp8_scaling = scaling_of(recipe);
}

Lens<Recipe> recipe() {
  return {[](Draft& draft, Recipe value) { take_recipe(draft.scenario.step.precision, value); },
          [](Draft& draft) -> std::optional<Recipe> {
            for (const yaml::Choice<Recipe>& choice : recipes()) {
              PrecisionSpec same = draft.scenario.step.precision;
              take_recipe(same, choice.value);
              if (same == draft.scenario.step.precision) {
                return choice.value;
              }
            }
            return std::nullopt;
          }};
}

Key parameters_key() {
  return choice_key<bool>(
      {.path = "precision.parameters",
       .note = "as the software profile says",
       .meaning = "Type in which parameters are kept and gathered: that of the activations, from "
                  "which FP8 products cast their own copy, or the FP8 of those products.",
       .example = "fp8",
       .idle = {ORRERY_WHEN(d.scenario.step.precision.compute != Dtype::fp8,
                            "no layer multiplies in FP8")}},
      {{"bf16", false}, {"fp8", true}}, ORRERY_AT(scenario.step.fp8_parameters));
}

void add_precision(std::vector<Key>& keys) {
  Key precision = choice_key<Recipe>(
      {.path = "precision",
       .fallback = "bf16",
       .meaning =
           "Data types by recipe. fp32: all in 4 bytes, without a master copy; tf32: the same, "
           "multiplied by tensor cores. fp8-*, mxfp8, nvfp4: the linear layers of transformer "
           "layers multiply in 8 or 4 bits, all else stays bf16; the name says how scales are "
           "found (docs/precision.md). mxfp8 and nvfp4 need a Blackwell GPU.",
       .example = "fp8-delayed"},
      recipes(), recipe());
  precision.mapping = true;
  keys.push_back(std::move(precision));
  keys.push_back(choice_key<Recipe>({.path = "precision.compute",
                                     .fallback = "bf16",
                                     .meaning = "The recipe, when other keys stand beside it.",
                                     .example = "fp16"},
                                    recipes(), recipe()));
  keys.push_back(flag_key(
      {.path = "precision.deterministic",
       .fallback = "false",
       .meaning = "Bitwise the same result in every run: attention and the embedding add their "
                  "gradients in a fixed order, without atomic additions.",
       .example = "true"},
      ORRERY_AT(scenario.step.precision.deterministic)));
  keys.push_back(choice_key<Dtype>(
      {.path = "precision.gradient_dtype",
       .note = "as the software profile says",
       .meaning = "Type in which gradients are accumulated and reduced; a 16-bit type must be that "
                  "of the activations.",
       .example = "bf16"},
      {{"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}},
      ORRERY_AT(scenario.step.gradient_dtype)));
  keys.push_back(parameters_key());
  keys.push_back(choice_key<Dtype>(
      {.path = "precision.expert_dispatch",
       .note = "that of the activations",
       .meaning = "Type in which tokens are sent to their experts; fp8 adds a scale per 128 "
                  "elements. Results come back in the type of the activations.",
       .example = "fp8",
       .idle = {kNoExchange}},
      {{"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}, {"fp8", Dtype::fp8}},
      ORRERY_AT(scenario.step.precision.dispatch)));
  keys.push_back(choice_key<double>(
      {.path = "precision.kept_attention_output",
       .note = "16 bit, and once more in the type of the products",
       .meaning = "Type of the one copy of the attention's output that waits for the backward, "
                  "with an fp32 scale per 128 elements: fp8, or e5m6, a format of 12 bits.",
       .example = "e5m6"},
      kept_types(), in_bytes_at(ORRERY_AT(scenario.step.precision.kept_attention_output))));
  keys.push_back(choice_key<double>(
      {.path = "precision.kept_expert_inner",
       .note = "that of the activations",
       .meaning = "Type in which the experts, shared ones too, keep what their activation starts "
                  "from, with an fp32 scale per 128 elements.",
       .example = "fp8",
       .idle = {ORRERY_WHEN(!d.scenario.model.moe, "the model is dense")}},
      kept_types(), in_bytes_at(ORRERY_AT(scenario.step.precision.kept_expert_inner))));
}

// State of the optimizer per parameter, the fp32 master copy (4 bytes) included.
struct Optimizer {
  std::string_view name;
  double state_bytes;
};

constexpr std::array<Optimizer, 6> kOptimizers = {{{"adam", 12.0},         // and two fp32 moments
                                                   {"adamw", 12.0},        // the same
                                                   {"adam-8bit", 6.0},     // two 8-bit moments
                                                   {"lion", 8.0},          // one fp32 moment
                                                   {"sgd-momentum", 8.0},  // one fp32 moment
                                                   {"sgd", 4.0}}};         // none

void add_optimizer(std::vector<Key>& keys) {
  std::vector<yaml::Choice<double>> choices;
  for (const Optimizer& optimizer : kOptimizers) {
    choices.push_back({optimizer.name, optimizer.state_bytes});
  }
  keys.push_back(section_key({.path = "precision.optimizer",
                              .note = "adam",
                              .meaning = "What the optimizer keeps per parameter.",
                              .example = "{name: adamw}"}));
  keys.push_back(choice_key<double>(
      {.path = "precision.optimizer.name",
       .fallback = "adam",
       .meaning = "State per parameter, fp32 master copy included (in fp32 and tf32 the "
                  "parameters themselves): adam, adamw 12B; lion, sgd-momentum 8B; adam-8bit 6B; "
                  "sgd 4B.",
       .example = "lion",
       .idle = {ORRERY_WHEN(d.stated("precision.optimizer.state_bytes"),
                            "state_bytes replaces it")}},
      std::move(choices), in_bytes_at(ORRERY_AT(scenario.step.precision.optimizer_bytes))));
  keys.push_back(value_key<kind::Size>(
      {.path = "precision.optimizer.state_bytes",
       .note = "as the name says",
       .meaning = "State per parameter, master copy included, in place of the name's.",
       .example = "8B"},
      yaml::at_most(bytes(100.0)), ORRERY_AT(scenario.step.precision.optimizer_bytes)));
}

std::vector<std::string_view> module_words() {
  std::vector<std::string_view> words;
  for (const model::RecomputeModuleWord& module : model::kRecomputeModuleWords) {
    words.push_back(module.name);
  }
  return words;
}

// The fewest words that turn on just these modules.
std::vector<std::string_view> words_of(const model::RecomputeModules& modules) {
  std::vector<std::string_view> words;
  model::RecomputeModules on;
  for (const model::RecomputeModuleWord& word : model::kRecomputeModuleWords) {
    model::RecomputeModules with = on;
    word.turn_on(with);
    model::RecomputeModules both = modules;
    word.turn_on(both);
    if (both == modules && with != on) {
      words.push_back(word.name);
      on = with;
    }
  }
  return words;
}

// {modules: [layernorm], layers: 2}
std::optional<std::string> show_parts(const step::RecomputeSpec& spec) {
  std::vector<std::string> parts;
  if (spec.memory_budget) {
    parts.push_back(fmt::format("memory_budget: {}", *spec.memory_budget));
  } else if (spec.policy == Recompute::modules) {
    parts.push_back(fmt::format("modules: [{}]", fmt::join(words_of(spec.modules), ", ")));
  }
  if (spec.layers) {
    parts.push_back(fmt::format("layers: {}", *spec.layers));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

Key modules_key() {
  return words_key(
      {.path = "recompute.modules",
       .note = "whole layers",
       .meaning = "Parts of every layer that are recomputed, by Megatron-Core's names; activation "
                  "is that of every MLP, moe_act that of the routed experts alone. layernorm, "
                  "mla_up_proj and activation drop their results; core_attention, mlp, "
                  "shared_experts and moe drop all inside.",
       .example = "[layernorm, mla_up_proj]",
       .idle = {ORRERY_WHEN(d.scenario.step.recompute.modules.mla_up_projection &&
                                !d.scenario.model.mla && !d.scenario.model.compressed_attention,
                            "mla_up_proj: the model has no latent attention"),
                ORRERY_WHEN(
                    !d.scenario.model.moe && recomputes_experts(d.scenario.step.recompute.modules),
                    "moe, moe_act, shared_experts: the model is dense"),
                ORRERY_WHEN(d.scenario.model.moe && d.scenario.step.recompute.modules.mlp &&
                                d.scenario.model.moe->dense_layers == 0,
                            "mlp: every layer has experts"),
                ORRERY_WHEN(d.scenario.model.moe &&
                                d.scenario.step.recompute.modules.shared_experts &&
                                d.scenario.model.moe->shared_width() == 0,
                            "shared_experts: the model has none")}},
      module_words(),
      [](Draft& draft) { draft.scenario.step.recompute.policy = Recompute::modules; },
      [](Draft& draft, std::size_t word) {
        model::kRecomputeModuleWords[word].turn_on(draft.scenario.step.recompute.modules);
      });
}

void add_recompute(std::vector<Key>& keys) {
  Key recompute = choice_key<Recompute>(
      {.path = "recompute",
       .aliases = {"activation_recompute"},
       .fallback = "none",
       .meaning =
           "What is computed twice to save memory: the attention core (selective; where the "
           "software profile says so, the next), all but the attention core and every "
           "second product (selective_operations), whole layers (full), whole layers in "
           "part of the chunk ({layers: N}), parts of the layers ({modules: [...]}), or what "
           "a budget of memory asks for ({memory_budget: 0.5}).",
       .example = "selective"},
      {{"none", Recompute::none},
       {"selective", Recompute::selective},
       {"selective_operations", Recompute::selective_operations},
       {"full", Recompute::full}},
      ORRERY_AT(scenario.step.recompute.policy));
  recompute.mapping = true;
  recompute.begin = [](const yaml::Value&, Reading& reading) {
    reading.draft.scenario.step.recompute = {};
  };
  recompute.print = [word = recompute.print](Draft& draft) {
    const step::RecomputeSpec& spec = draft.scenario.step.recompute;
    return spec.policy == Recompute::modules || spec.layers ? show_parts(spec) : word(draft);
  };
  recompute.end = [](const yaml::Value& value, const std::string& path, Reading& reading) {
    if (value.entries.empty()) {
      yaml::report(reading.diagnostics, value.where, path,
                   "states neither modules nor layers nor a budget",
                   "such as {modules: [layernorm]}, {layers: 2} or {memory_budget: 0.5}");
    }
  };
  keys.push_back(std::move(recompute));
  keys.push_back(modules_key());
  keys.push_back(value_key<kind::Number>(
      {.path = "recompute.memory_budget",
       .aliases = {"activation_memory_budget"},
       .note = "none",
       .meaning = "Share of the activations that recomputation could free which is kept (PyTorch's "
                  "activation_memory_budget): 1 keeps all, 0 recomputes whole layers; between, the "
                  "modules with the least time for their bytes are recomputed.",
       .example = "0.5"},
      yaml::between(0.0, 1.0),
      {[](Draft& draft, const double& share) {
         step::RecomputeSpec& spec = draft.scenario.step.recompute;
         spec.memory_budget = share;
         spec.policy = Recompute::modules;
       },
       [](Draft& draft) { return draft.scenario.step.recompute.memory_budget; }}));
  keys.push_back(count_key({.path = "recompute.layers",
                            .note = "all",
                            .meaning = "Layers of each chunk that are recomputed: the "
                                       "modules, else in full.",
                            .example = "2"},
                           {1, 10'000},
                           {[](Draft& draft, const std::int64_t& value) {
                              step::RecomputeSpec& spec = draft.scenario.step.recompute;
                              spec.layers = value;
                              if (spec.policy != Recompute::modules) {
                                spec.policy = Recompute::full;
                              }
                            },
                            [](Draft& draft) { return draft.scenario.step.recompute.layers; }}));
}

}  // namespace

std::vector<Key> step_keys() {
  std::vector<Key> keys;
  add_precision(keys);
  add_optimizer(keys);
  add_recompute(keys);
  return keys;
}

}  // namespace orrery::scenario
