// Keys of one optimizer step: `precision`, `recompute`.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/precision_recipes.hpp"
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

std::vector<yaml::Choice<std::size_t>> recipes() {
  std::vector<yaml::Choice<std::size_t>> choices;
  for (const PrecisionRecipe& recipe : kPrecisionRecipes) {
    choices.push_back({recipe.name, choices.size()});
  }
  return choices;
}

PrecisionSpec with_recipe(PrecisionSpec precision, const PrecisionRecipe& recipe) {
  precision.compute = recipe.compute;
  precision.activation = recipe.activation;
  precision.parameter = recipe.activation;
  precision.fp8_scaling = recipe.scaling;
  return precision;
}

// The place of a recipe in the table; of two names for one the first is printed.
Lens<std::size_t> recipe() {
  return {[](Draft& draft, std::size_t place) {
            PrecisionSpec& precision = draft.scenario.step.precision;
            precision = with_recipe(precision, kPrecisionRecipes[place]);
          },
          [](Draft& draft) -> std::optional<std::size_t> {
            const PrecisionSpec& precision = draft.scenario.step.precision;
            const auto same =
                std::ranges::find_if(kPrecisionRecipes, [&](const PrecisionRecipe& one) {
                  return with_recipe(precision, one) == precision;
                });
            return same == kPrecisionRecipes.end()
                       ? std::nullopt
                       : std::optional(static_cast<std::size_t>(same - kPrecisionRecipes.begin()));
          }};
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

void add_parameters(Rows& keys) {
  keys.choice<bool>("precision.parameters",
                    "Type in which parameters are kept and gathered: that of the activations, from "
                    "which FP8 products cast their own copy, or the FP8 of those products.",
                    "fp8", {{"bf16", false}, {"fp8", true}},
                    ORRERY_AT(scenario.step.fp8_parameters),
                    {.note = "as the software profile says",
                     .idle = {ORRERY_WHEN(d.scenario.step.precision.compute != Dtype::fp8,
                                          "no layer multiplies in FP8")}});
}

void add_precision(Rows& keys) {
  Key& precision = keys.choice<std::size_t>(
      "precision",
      "Data types by recipe. fp32: all in 4 bytes, without a master copy; tf32: the same, "
      "multiplied by tensor cores. fp8-*, mxfp8, nvfp4: the linear layers of transformer layers "
      "multiply in 8 or 4 bits, all else stays bf16; the name says how scales are found "
      "(docs/precision.md). mxfp8 and nvfp4 need a Blackwell GPU.",
      "fp8-delayed", recipes(), recipe(), {.fallback = "bf16"});
  precision.mapping = true;
  keys.choice<std::size_t>("precision.compute", "The recipe, when other keys stand beside it.",
                           "fp16", recipes(), recipe(), {.fallback = "bf16"});
  keys.flag("precision.deterministic",
            "Bitwise the same result in every run: attention and the embedding add their gradients "
            "in a fixed order, without atomic additions.",
            "true", ORRERY_AT(scenario.step.precision.deterministic), {.fallback = "false"});
  keys.choice<Dtype>("precision.gradient_dtype",
                     "Type in which gradients are accumulated and reduced; a 16-bit type must be "
                     "that of the activations.",
                     "bf16", {{"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}},
                     ORRERY_AT(scenario.step.gradient_dtype),
                     {.note = "as the software profile says"});
  add_parameters(keys);
  keys.choice<Dtype>("precision.expert_dispatch",
                     "Type in which tokens are sent to their experts; fp8 adds a scale per 128 "
                     "elements. Results come back in the type of the activations.",
                     "fp8", {{"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}, {"fp8", Dtype::fp8}},
                     ORRERY_AT(scenario.step.precision.dispatch),
                     {.note = "that of the activations", .idle = {kNoExchange}});
  keys.choice<double>("precision.kept_attention_output",
                      "Type of the one copy of the attention's output that waits for the backward, "
                      "with an fp32 scale per 128 elements: fp8, or e5m6, a format of 12 bits.",
                      "e5m6", kept_types(),
                      in_bytes_at(ORRERY_AT(scenario.step.precision.kept_attention_output)),
                      {.note = "16 bit, and once more in the type of the products"});
  keys.choice<double>("precision.kept_expert_inner",
                      "Type in which the experts, shared ones too, keep what their activation "
                      "starts from, with an fp32 scale per 128 elements.",
                      "fp8", kept_types(),
                      in_bytes_at(ORRERY_AT(scenario.step.precision.kept_expert_inner)),
                      {.note = "that of the activations",
                       .idle = {ORRERY_WHEN(!d.scenario.model.moe, "the model is dense")}});
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

void add_optimizer(Rows& keys) {
  std::vector<yaml::Choice<double>> choices;
  for (const Optimizer& optimizer : kOptimizers) {
    choices.push_back({optimizer.name, optimizer.state_bytes});
  }
  keys.section("precision.optimizer", "What the optimizer keeps per parameter.", "{name: adamw}",
               {.note = "adam"});
  keys.choice<double>(
      "precision.optimizer.name",
      "State per parameter, fp32 master copy included (in fp32 and tf32 the parameters "
      "themselves): adam, adamw 12B; lion, sgd-momentum 8B; adam-8bit 6B; sgd 4B.",
      "lion", std::move(choices), in_bytes_at(ORRERY_AT(scenario.step.precision.optimizer_bytes)),
      {.fallback = "adam",
       .idle = {
           ORRERY_WHEN(d.stated("precision.optimizer.state_bytes"), "state_bytes replaces it")}});
  keys.value<kind::Size>("precision.optimizer.state_bytes",
                         "State per parameter, master copy included, in place of the name's.", "8B",
                         yaml::at_most(bytes(100.0)),
                         ORRERY_AT(scenario.step.precision.optimizer_bytes),
                         {.note = "as the name says"});
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

void add_modules(Rows& keys) {
  keys.words(
      "recompute.modules",
      "Parts of every layer that are recomputed, by Megatron-Core's names; activation is that of "
      "every MLP, moe_act that of the routed experts alone. layernorm, mla_up_proj and activation "
      "drop their results; core_attention, mlp, shared_experts and moe drop all inside.",
      "[layernorm, mla_up_proj]", names_of(model::kRecomputeModuleWords),
      [](Draft& draft) { draft.scenario.step.recompute.policy = Recompute::modules; },
      [](Draft& draft, std::size_t word) {
        model::kRecomputeModuleWords[word].turn_on(draft.scenario.step.recompute.modules);
      },
      {.note = "whole layers",
       .idle = {
           ORRERY_WHEN(d.scenario.step.recompute.modules.mla_up_projection &&
                           !d.scenario.model.mla && !d.scenario.model.compressed_attention,
                       "mla_up_proj: the model has no latent attention"),
           ORRERY_WHEN(
               !d.scenario.model.moe && recomputes_experts(d.scenario.step.recompute.modules),
               "moe, moe_act, shared_experts: the model is dense"),
           ORRERY_WHEN(d.scenario.model.moe && d.scenario.step.recompute.modules.mlp &&
                           d.scenario.model.moe->dense_layers == 0,
                       "mlp: every layer has experts"),
           ORRERY_WHEN(d.scenario.model.moe && d.scenario.step.recompute.modules.shared_experts &&
                           d.scenario.model.moe->shared_width() == 0,
                       "shared_experts: the model has none")}});
}

void add_recompute(Rows& keys) {
  Key& recompute = keys.choice<Recompute>(
      "recompute",
      "What is computed twice to save memory: the attention core (selective; where the software "
      "profile says so, the next), all but the attention core and every second product "
      "(selective_operations), whole layers (full), whole layers in part of the chunk ({layers: "
      "N}), parts of the layers ({modules: [...]}), or what a budget of memory asks for "
      "({memory_budget: 0.5}).",
      "selective",
      {{"none", Recompute::none},
       {"selective", Recompute::selective},
       {"selective_operations", Recompute::selective_operations},
       {"full", Recompute::full}},
      ORRERY_AT(scenario.step.recompute.policy),
      {.aliases = {"activation_recompute"}, .fallback = "none"});
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
  add_modules(keys);
  keys.value<kind::Number>(
      "recompute.memory_budget",
      "Share of the activations that recomputation could free which is kept (PyTorch's "
      "activation_memory_budget): 1 keeps all, 0 recomputes whole layers; between, the modules "
      "with the least time for their bytes are recomputed.",
      "0.5", yaml::between(0.0, 1.0),
      {[](Draft& draft, const double& share) {
         step::RecomputeSpec& spec = draft.scenario.step.recompute;
         spec.memory_budget = share;
         spec.policy = Recompute::modules;
       },
       [](Draft& draft) { return draft.scenario.step.recompute.memory_budget; }},
      {.aliases = {"activation_memory_budget"}, .note = "none"});
  keys.count("recompute.layers",
             "Layers of each chunk that are recomputed: the modules, else in full.", "2",
             {1, 10'000},
             {[](Draft& draft, const std::int64_t& value) {
                step::RecomputeSpec& spec = draft.scenario.step.recompute;
                spec.layers = value;
                if (spec.policy != Recompute::modules) {
                  spec.policy = Recompute::full;
                }
              },
              [](Draft& draft) { return draft.scenario.step.recompute.layers; }},
             {.note = "all"});
}

}  // namespace

void step_keys(Rows& keys) {
  add_precision(keys);
  add_optimizer(keys);
  add_recompute(keys);
}

}  // namespace orrery::scenario
