// Keys of the training stack: `software`, `software_options`, `compile`, and a step that is given.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"
#include "sim/scenario/table/limits.hpp"
#include "sim/step/simulate/step_spec.hpp"

namespace orrery::scenario {

namespace {

using hardware::ExpertDispatcher;
using hardware::GraphScope;
using hardware::GroupedGemm;
namespace kind = yaml::kind;

constexpr const char* kAsTheStack = "as the software does it";

// [attn, moe_router]
std::optional<std::string> show_graphs(Draft& draft) {
  const std::optional<hardware::GraphScopes>& graphs = draft.scenario.step.experts.cuda_graphs;
  if (!graphs) {
    return std::nullopt;
  }
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < hardware::kGraphScopeNames.size(); ++i) {
    if (graphs->has(static_cast<GraphScope>(i))) {
      words.push_back(hardware::kGraphScopeNames[i]);
    }
  }
  return fmt::format("[{}]", fmt::join(words, ", "));
}

Key graphs_key() {
  Key graphs = words_key(
      {.path = "software_options.cuda_graphs",
       .aliases = {"cuda_graph_scope"},
       .note = kAsTheStack,
       .meaning = "Parts of a layer that the host launches as one CUDA graph; moe_router holds the "
                  "shared experts, layer all of a layer, full_iteration the whole step.",
       .example = "[attn, moe_router, moe_preprocess]"},
      {hardware::kGraphScopeNames.begin(), hardware::kGraphScopeNames.end()},
      [](Draft& draft) { draft.scenario.step.experts.cuda_graphs.emplace(); },
      [](Draft& draft, std::size_t word) {
        draft.scenario.step.experts.cuda_graphs->add(static_cast<GraphScope>(word));
      });
  graphs.print = show_graphs;
  return graphs;
}

void add_options(std::vector<Key>& keys) {
  keys.push_back(section_key({.path = "software_options",
                              .note = kAsTheStack,
                              .meaning = "What of the stack is switched on, in the words of "
                                         "Megatron Core.",
                              .example = "{expert_dispatcher: hybridep, cuda_graphs: [attn]}"}));
  keys.push_back(choice_key<ExpertDispatcher>(
      {.path = "software_options.expert_dispatcher",
       .aliases = {"moe_token_dispatcher"},
       .note = kAsTheStack,
       .meaning = "How tokens reach their experts: a copy per expert by NCCL (alltoall), or one "
                  "per node and rank, handed on over NVLink (deepep, hybridep).",
       .example = "deepep",
       .idle = {kNoExchange}},
      {{"alltoall", ExpertDispatcher::alltoall},
       {"deepep", ExpertDispatcher::deepep},
       {"hybridep", ExpertDispatcher::hybridep}},
      ORRERY_AT(scenario.step.experts.dispatcher)));
  keys.push_back(choice_key<GroupedGemm>(
      {.path = "software_options.grouped_gemm",
       .note = kAsTheStack,
       .meaning = "Products of the experts of a rank: a loop of library calls (per_expert), one "
                  "kernel (grouped), or one with activation and casts inside (fused).",
       .example = "fused",
       .idle = {ORRERY_WHEN(!d.scenario.model.moe, "the model has no experts")}},
      {{"per_expert", GroupedGemm::per_expert},
       {"grouped", GroupedGemm::grouped},
       {"fused", GroupedGemm::fused}},
      ORRERY_AT(scenario.step.experts.grouped_gemm)));
  keys.push_back(graphs_key());
  keys.push_back(flag_key({.path = "software_options.attention_fp8",
                           .note = kAsTheStack,
                           .meaning = "The attention core multiplies in 8 bits.",
                           .example = "true"},
                          ORRERY_AT(scenario.step.experts.attention_fp8)));
  keys.push_back(flag_key({.path = "software_options.dropout",
                           .note = kAsTheStack,
                           .meaning = "Dropout after attention and MLP: its kernels run and its "
                                      "masks wait for the backward.",
                           .example = "true"},
                          ORRERY_AT(scenario.step.dropout)));
  keys.push_back(flag_key(
      {.path = "software_options.gradient_fusion",
       .aliases = {"gradient_accumulation_fusion"},
       .fallback = "true",
       .meaning = "Products add fp32 gradients up themselves; false: a kernel behind each does, "
                  "which reads both and writes the sum.",
       .example = "false"},
      ORRERY_AT(scenario.step.precision.fuses_gradients)));
}

constexpr const char* kUsualStack =
    "the stack whose profile says under default_for that it is the usual one for the layout";

// A name as text is software.name.
void add_stack(std::vector<Key>& keys) {
  Key software = text_key({.path = "software",
                           .aliases = {"stack"},
                           .note = kUsualStack,
                           .meaning = "Training stack: the name or an alias of its profile, which "
                                      "`orrery list software` shows, or the path of a file.",
                           .example = "torchtitan-fsdp2"},
                          ORRERY_AT(scenario.software));
  software.mapping = true;
  keys.push_back(std::move(software));
  keys.push_back(text_key({.path = "software.name",
                           .note = kUsualStack,
                           .meaning = "The same, when other keys stand beside it.",
                           .example = "megatron-bridge"},
                          ORRERY_AT(scenario.software)));
  keys.push_back(text_key({.path = "software.release",
                           .note = "the newest that the profile knows",
                           .meaning = "Release of the stack, whose recipes are followed.",
                           .example = "\"26.04\""},
                          ORRERY_AT(scenario.recipe.release)));
  keys.push_back(text_key(
      {.path = "software.context",
       .note = "as its released recipes do",
       .meaning = "Who runs the stack, in the words of its profile: benchmark (the project's own "
                  "measurements), scripts (its released training scripts), library, defaults (a "
                  "plain script).",
       .example = "benchmark"},
      ORRERY_AT(scenario.recipe.context)));
  keys.push_back(choice_key<bool>(
      {.path = "software.recipe",
       .fallback = "released",
       .meaning = "Whether keys on which the scenario is silent hold what the released "
                  "configurations of the stack set (released), or their own defaults (plain).",
       .example = "plain"},
      {{"released", false}, {"plain", true}}, ORRERY_AT(scenario.recipe.plain)));
}

}  // namespace

std::vector<Key> software_keys() {
  std::vector<Key> keys;
  add_stack(keys);
  add_options(keys);
  keys.push_back(flag_key(
      {.path = "compile",
       .fallback = "false",
       .meaning = "Memory-bound kernels are fused by torch.compile, where the software profile "
                  "states a compile_speedup.",
       .example = "true"},
      ORRERY_AT(scenario.step.compile)));
  keys.push_back(section_key({.path = "step",
                              .note = "the step is simulated",
                              .meaning = "A step that is given, not simulated.",
                              .example = "{time: 105.22s}"}));
  keys.push_back(value_key<kind::Time>(
      {.path = "step.time",
       .meaning = "Time of one optimizer step without failures; replaces the step model.",
       .example = "105.22s",
       .required = true},
      kPositiveSpan, ORRERY_AT(scenario.step.given_time)));
  return keys;
}

}  // namespace orrery::scenario
