// What was switched on in the stack of a measured run: by `software_options`, else by the words of
// `overlap_as_stated`.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "sim/validate/rows/row_mapping.hpp"

namespace orrery::validate {

namespace {

using hardware::ExpertChoices;
using hardware::ExpertDispatcher;
using hardware::GraphScope;
using hardware::GraphScopes;
using hardware::GroupedGemm;
using schedule::ScheduleKind;

// Rows of the busiest rank where tokens are routed as the model likes: the layer's experts take
// 1.35 to 1.4 times as long (Megatron Bridge, first 100 steps of Qwen3-30B with an auxiliary loss:
// a step takes 1.23 times as long as with forced balance, on H100 and GB200).
constexpr double kNaturalImbalance = 1.35;

template <typename E, std::size_t N>
std::optional<E> choice_of(std::string_view word, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), word);
  return found == names.end() ? std::nullopt : std::optional(static_cast<E>(found - names.begin()));
}

struct DispatchWords {
  std::string_view words;
  ExpertDispatcher dispatcher;
};

constexpr std::array<DispatchWords, 3> kDispatchWords = {
    {{"all-to-all dispatch", ExpertDispatcher::alltoall},
     {"DeepEP dispatch", ExpertDispatcher::deepep},
     {"HybridEP dispatch", ExpertDispatcher::hybridep}}};

// "CUDA graphs: transformer_engine attn+moe_router+moe_preprocess"; without names, what Megatron
// Bridge has as its usual parts.
std::optional<GraphScopes> graphs_as_stated(const DataRow& row) {
  const std::string text = row.text("overlap_as_stated");
  const std::size_t at = text.find("CUDA graphs");
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(text).substr(at);
  const std::string_view part = rest.substr(0, rest.find(';'));
  GraphScopes scopes;
  bool named = false;
  for (std::size_t i = 0; i < hardware::kGraphScopeNames.size(); ++i) {
    if (part.find(hardware::kGraphScopeNames[i]) != std::string_view::npos) {
      scopes.add(static_cast<GraphScope>(i));
      named = true;
    }
  }
  if (!named) {
    for (const GraphScope scope :
         {GraphScope::attn, GraphScope::moe_router, GraphScope::moe_preprocess}) {
      scopes.add(scope);
    }
  }
  return scopes;
}

ExpertChoices choices_as_stated(const DataRow& row) {
  ExpertChoices choices;
  for (const DispatchWords& entry : kDispatchWords) {
    if (row.mentions("overlap_as_stated", entry.words)) {
      choices.dispatcher = entry.dispatcher;
    }
  }
  choices.cuda_graphs = graphs_as_stated(row);
  if (choices.cuda_graphs && choices.cuda_graphs->covers(GraphScope::full_iteration)) {
    choices.grouped_gemm = GroupedGemm::fused;  // a graph of the step needs counts on the device
  }
  return choices;
}

ExpertChoices choices_of(const DataRow& options, ExpertChoices choices) {
  const auto dispatcher =
      choice_of<ExpertDispatcher>(options.text("expert_dispatcher"), hardware::kDispatcherNames);
  const auto grouped =
      choice_of<GroupedGemm>(options.text("grouped_gemm"), hardware::kGroupedGemmNames);
  choices.dispatcher = dispatcher ? dispatcher : choices.dispatcher;
  choices.grouped_gemm = grouped ? grouped : choices.grouped_gemm;
  if (options.has("cuda_graphs")) {
    GraphScopes scopes;
    for (const std::string& name : options.texts("cuda_graphs")) {
      if (const auto scope = choice_of<GraphScope>(name, hardware::kGraphScopeNames)) {
        scopes.add(*scope);
      }
    }
    choices.cuda_graphs = scopes;
  }
  choices.attention_fp8 = options.flag("attention_fp8");
  return choices;
}

}  // namespace

void map_options(const DataRow& row, Mapping& mapping) {
  const DataRow options = row.row("software_options");
  scenario::Scenario& scenario = mapping.run.scenario;
  scenario.step.experts = choices_of(options, choices_as_stated(row));
  if (!scenario.model.moe) {
    return;
  }
  if (options.flag("token_drop").value_or(false)) {
    scenario.model.moe->capacity_factor = 1.0;
  }
  const bool overlaps = options.flag("expert_overlap")
                            .value_or(row.mentions("overlap_as_stated", "MoE all-to-all overlap"));
  if (overlaps) {
    scenario.step.overlap.expert = true;
    // Megatron-Core merges neighbouring micro-batches without a pipeline as well.
    if (scenario.step.schedule == ScheduleKind::interleaved ||
        scenario.step.schedule == ScheduleKind::none) {
      scenario.step.schedule = ScheduleKind::interleaved_combined;
    }
  }
  if (options.text("routing") == "natural" || row.mentions("notes", "natural routing")) {
    mapping.note("natural routing: the busiest rank has 1.35 times the average rows");
    scenario.model.moe->imbalance = std::max(scenario.model.moe->imbalance, kNaturalImbalance);
  }
}

}  // namespace orrery::validate
