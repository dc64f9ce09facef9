#include "sim/answer/plan/search/step_estimator.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::plan {

namespace {

// What the estimator takes from the scenario itself, whatever the workbench was made for.
constexpr std::array<std::string_view, 13> kLayoutKeys = {"cluster.nodes",
                                                          "batch.global",
                                                          "batch.micro",
                                                          "layout.tensor",
                                                          "layout.sequence_parallel",
                                                          "layout.context",
                                                          "layout.pipeline",
                                                          "layout.virtual_stages",
                                                          "layout.data",
                                                          "layout.expert",
                                                          "layout.expert_tensor",
                                                          "layout.sharding",
                                                          "layout.shard_group"};

bool is_layout(std::string_view key) {
  return std::find(kLayoutKeys.begin(), kLayoutKeys.end(), key) != kLayoutKeys.end();
}

// The stack is that of the layout where the scenario names none.
std::string rest_of(const scenario::Scenario& scenario,
                    std::span<const scenario::KeyValue> changes) {
  std::vector<std::string> lines;
  for (const scenario::KeyValue& change : changes) {
    if (!is_layout(change.key)) {
      lines.push_back(change.key + ": " + change.value);
    }
  }
  std::sort(lines.begin(), lines.end());
  std::string rest = scenario.software;
  for (const std::string& line : lines) {
    rest += '\n' + line;
  }
  return rest;
}

}  // namespace

struct StepEstimator::Known {
  Known(Workbench made, std::shared_ptr<step::StepSimulator> simulator)
      : bench(std::move(made)), estimator(bench, std::move(simulator)) {}

  Workbench bench;
  Estimator estimator;
};

StepEstimator::StepEstimator() : simulator_(std::make_shared<step::StepSimulator>()) {}

StepEstimator::~StepEstimator() = default;

std::optional<Estimate> StepEstimator::estimate(
    const scenario::Scenario& scenario, std::span<const scenario::KeyValue> changes,
    const std::optional<hardware::ProfileSearch>& search, Diagnostics& diagnostics) {
  constexpr std::size_t kMostKnown = 64;
  std::string rest = rest_of(scenario, changes);
  auto found = known_.find(rest);
  if (found == known_.end()) {
    PlanSpec spec;
    spec.any_stack = true;
    spec.constraints.memory_headroom = Bytes{};  // fits as `orrery run` says it
    for (AxisChoice& axis : spec.search) {
      axis.mode = AxisChoice::Mode::fixed;
    }
    auto bench = make_workbench(scenario, spec, search, diagnostics);
    if (!bench) {
      return std::nullopt;
    }
    if (known_.size() >= kMostKnown) {
      known_.clear();
    }
    auto known = std::make_unique<Known>(*std::move(bench), simulator_);
    found = known_.emplace(std::move(rest), std::move(known)).first;
  }
  Known& known = *found->second;
  Estimate estimate = known.estimator.estimate(scenario);
  if (estimate.verdict == Verdict::breaks_rule) {
    diagnostics.error(scenario.where(estimate.key), estimate.key, estimate.message);
    return std::nullopt;
  }
  return estimate;
}

}  // namespace orrery::plan
