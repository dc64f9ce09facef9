// Keys of the training stack: `software`, `software_options`, `compile`, and a step that is given.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/table/idle.hpp"
#include "sim/scenario/table/key.hpp"
#include "sim/scenario/table/key_makers.hpp"
#include "sim/scenario/table/key_table.hpp"

namespace orrery::scenario {

namespace {

using hardware::ExpertDispatcher;
using hardware::GraphScope;
using hardware::GroupedGemm;
namespace kind = yaml::kind;

constexpr const char* kAsTheStack = "as the software does it";

void add_graphs(Rows& keys) {
  Key& graphs = keys.words(
      "software_options.cuda_graphs",
      "Parts of a layer that the host launches as one CUDA graph; moe_router holds the shared "
      "experts, layer all of a layer, full_iteration the whole step.",
      "[attn, moe_router, moe_preprocess]",
      {hardware::kGraphScopeNames.begin(), hardware::kGraphScopeNames.end()},
      [](Draft& draft) { draft.scenario.step.experts.cuda_graphs.emplace(); },
      [](Draft& draft, std::size_t word) {
        draft.scenario.step.experts.cuda_graphs->add(static_cast<GraphScope>(word));
      },
      {.aliases = {"cuda_graph_scope"}, .note = kAsTheStack});
  graphs.print = [](Draft& draft) -> std::optional<std::string> {
    const std::optional<hardware::GraphScopes>& scopes = draft.scenario.step.experts.cuda_graphs;
    if (!scopes) {
      return std::nullopt;
    }
    std::vector<std::string_view> words;
    for (std::size_t i = 0; i < hardware::kGraphScopeNames.size(); ++i) {
      if (scopes->has(static_cast<GraphScope>(i))) {
        words.push_back(hardware::kGraphScopeNames[i]);
      }
    }
    return fmt::format("[{}]", fmt::join(words, ", "));
  };
}

void add_options(Rows& keys) {
  keys.section("software_options",
               "What of the stack is switched on, in the words of Megatron Core.",
               "{expert_dispatcher: hybridep, cuda_graphs: [attn]}", {.note = kAsTheStack});
  keys.choice<ExpertDispatcher>(
      "software_options.expert_dispatcher",
      "How tokens reach their experts: a copy per expert by NCCL (alltoall), or one per node and "
      "rank, handed on over NVLink (deepep, hybridep).",
      "deepep", choices_of<ExpertDispatcher>(hardware::kDispatcherNames),
      ORRERY_AT(scenario.step.experts.dispatcher),
      {.aliases = {"moe_token_dispatcher"}, .note = kAsTheStack, .idle = {kNoExchange}});
  keys.choice<GroupedGemm>(
      "software_options.grouped_gemm",
      "Products of the experts of a rank: a loop of library calls (per_expert), one kernel "
      "(grouped), or one with activation and casts inside (fused).",
      "fused", choices_of<GroupedGemm>(hardware::kGroupedGemmNames),
      ORRERY_AT(scenario.step.experts.grouped_gemm),
      {.note = kAsTheStack,
       .idle = {ORRERY_WHEN(!d.scenario.model.moe, "the model has no experts")}});
  add_graphs(keys);
  keys.flag("software_options.attention_fp8", "The attention core multiplies in 8 bits.", "true",
            ORRERY_AT(scenario.step.experts.attention_fp8), {.note = kAsTheStack});
  keys.flag("software_options.dropout",
            "Dropout after attention and MLP: its kernels run and its masks wait for the backward.",
            "true", ORRERY_AT(scenario.step.dropout), {.note = kAsTheStack});
  keys.flag("software_options.gradient_fusion",
            "Products add fp32 gradients up themselves; false: a kernel behind each does, which "
            "reads both and writes the sum.",
            "false", ORRERY_AT(scenario.step.precision.fuses_gradients),
            {.aliases = {"gradient_accumulation_fusion"}, .fallback = "true"});
}

constexpr const char* kUsualStack =
    "the stack whose profile says under default_for that it is the usual one for the layout";

// A name as text is software.name.
void add_stack(Rows& keys) {
  Key& software = keys.text("software",
                            "Training stack: the name or an alias of its profile, which `orrery "
                            "list software` shows, or the path of a file.",
                            "torchtitan-fsdp2", ORRERY_AT(scenario.software),
                            {.aliases = {"stack"}, .note = kUsualStack});
  software.mapping = true;
  keys.text("software.name", "The same, when other keys stand beside it.", "megatron-bridge",
            ORRERY_AT(scenario.software), {.note = kUsualStack});
  keys.text("software.release", "Release of the stack, whose recipes are followed.", "\"26.04\"",
            ORRERY_AT(scenario.recipe.release), {.note = "the newest that the profile knows"});
  keys.text(
      "software.context",
      "Who runs the stack, in the words of its profile: benchmark (the project's own "
      "measurements), scripts (its released training scripts), library, defaults (a plain script).",
      "benchmark", ORRERY_AT(scenario.recipe.context), {.note = "as its released recipes do"});
  keys.choice<bool>("software.recipe",
                    "Whether keys on which the scenario is silent hold what the released "
                    "configurations of the stack set (released), or their own defaults (plain).",
                    "plain", {{"released", false}, {"plain", true}},
                    ORRERY_AT(scenario.recipe.plain), {.fallback = "released"});
}

}  // namespace

void software_keys(Rows& keys) {
  add_stack(keys);
  add_options(keys);
  keys.flag("compile",
            "Memory-bound kernels are fused by torch.compile, where the software profile states a "
            "compile_speedup.",
            "true", ORRERY_AT(scenario.step.compile), {.fallback = "false"});
  keys.section("step", "A step that is given, not simulated.", "{time: 105.22s}",
               {.note = "the step is simulated"});
  keys.value<kind::Time>(
      "step.time", "Time of one optimizer step without failures; replaces the step model.",
      "105.22s", kPositiveSpan, ORRERY_AT(scenario.step.given_time), {.required = true});
}

}  // namespace orrery::scenario
