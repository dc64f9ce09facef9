#include "sim/plan/estimate.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "sim/cost/cost_model.hpp"
#include "sim/evaluate/fill_metrics.hpp"
#include "sim/evaluate/resolve.hpp"
#include "sim/model/flops.hpp"
#include "sim/step/step_simulator.hpp"

namespace orrery::plan {

struct Estimator::State {
  State(const Workbench& shared, Bytes free)
      : bench(shared),
        headroom(free),
        scenario(shared.base),
        flop_per_token(
            model::model_flop_per_token(shared.base.model, model::FlopConvention::palm)) {}

  // Differ by type of GPU and number of nodes.
  const cost::CostModel& costs(const Candidate& candidate) {
    const std::pair key(int{candidate.gpu}, candidate.nodes);
    auto& known = models[key];
    if (!known) {
      Diagnostics ignored;  // a warning of the scenario, whoever evaluates it
      known =
          std::make_unique<cost::CostModel>(bench.machines[candidate.gpu].gpu,
                                            evaluate::stack_of(bench.base, bench.software, ignored),
                                            scenario.cluster);
    }
    return *known;
  }

  const Workbench& bench;
  Bytes headroom;
  scenario::Scenario scenario;  // of the latest candidate
  Flop flop_per_token;
  std::map<std::pair<int, std::int32_t>, std::unique_ptr<cost::CostModel>> models;
  step::StepSimulator simulator;
};

namespace {

Estimate refusal(std::string key, std::string message) {
  Estimate estimate;
  estimate.verdict = Verdict::breaks_rule;
  estimate.key = std::move(key);
  estimate.message = std::move(message);
  return estimate;
}

Verdict judge(const step::Feasibility& fit, Bytes headroom) {
  if (!fit.fits || fit.headroom < headroom) {
    return Verdict::over_memory;
  }
  return fit.fits_host ? Verdict::fits : Verdict::over_host_memory;
}

}  // namespace

Estimator::Estimator(const Workbench& bench, Bytes headroom)
    : state_(std::make_unique<State>(bench, headroom)) {}

Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

Estimate Estimator::estimate(const Candidate& candidate) {
  State& state = *state_;
  scenario::Scenario& scenario = state.scenario;
  apply(candidate, state.bench, scenario);
  const Machine& machine = state.bench.machines[candidate.gpu];
  scenario.cluster.network = machine.network;
  const cost::CostModel& costs = state.costs(candidate);
  Diagnostics diagnostics;
  auto resolved = evaluate::resolve_layout(scenario, machine.gpu, costs.software(), diagnostics);
  if (!resolved) {
    const auto& all = diagnostics.all();
    const auto error = std::find_if(all.begin(), all.end(), [](const Diagnostic& found) {
      return found.severity == Severity::error;
    });
    return refusal(error->key, error->message);
  }
  step::StepInput input = {.model = scenario.model,
                           .layout = std::move(resolved->layout),
                           .cluster = resolved->cluster,
                           .spec = scenario.step};
  input.spec.precision = step::resolve_precision(scenario.step, costs.software());
  input.spec.recompute.policy = resolved->recompute;
  auto outcome = state.simulator.simulate(input, costs, {.timeline = false, .operations = false});
  if (auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    return refusal(std::move(problem->key), std::move(problem->message));
  }
  const auto& step = std::get<step::StepResult>(outcome);
  const step::StageMemory& worst =
      step.memory[static_cast<std::size_t>(step.feasibility.worst_stage)];
  Estimate estimate;
  estimate.verdict = judge(step.feasibility, state.headroom);
  estimate.step_time = step.step_time;
  estimate.peak_memory = worst.peak();
  estimate.memory_limit = worst.limit;
  estimate.headroom = step.feasibility.headroom;
  estimate.worst_stage = step.feasibility.worst_stage;
  estimate.host_memory = step.feasibility.host;
  estimate.ledger = step.ledger;
  const TokensPerSecond rate = evaluate::tokens_per_step(scenario) / to_seconds(step.step_time);
  const FlopPerSecond peak = evaluate::dense_peak(machine.gpu, scenario.step.precision.compute) *
                             static_cast<double>(step.gpus);
  estimate.tokens_per_second = in_tokens_per_second(rate);
  estimate.mfu = state.flop_per_token * in_tokens_per_second(rate) * per_second(1.0) / peak;
  return estimate;
}

}  // namespace orrery::plan
