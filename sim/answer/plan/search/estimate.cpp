#include "sim/answer/plan/search/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/answer/evaluate/inputs/resolve.hpp"
#include "sim/step/cost/cost_model.hpp"
#include "sim/step/model/flops.hpp"
#include "sim/step/simulate/memory/memory_account.hpp"
#include "sim/step/simulate/stages/layer_costs.hpp"
#include "sim/step/simulate/step_bounds.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::plan {

// Of one GPU type and number of nodes.
struct Hardware {
  cost::CostModel costs;
  step::CostMemo memo;
};

struct Estimator::State {
  State(const Workbench& shared, std::shared_ptr<step::StepSimulator> kept)
      : bench(shared),
        simulator(kept ? std::move(kept) : std::make_shared<step::StepSimulator>()),
        scenario(shared.base),
        flop_per_token(
            model::model_flop_per_token(shared.base.model, model::FlopConvention::palm)) {
    input.model = shared.base.model;
  }

  Hardware& hardware(const Candidate& candidate) {
    const std::pair key(int{candidate.gpu}, candidate.nodes);
    std::unique_ptr<Hardware>& known = known_hardware[key];
    if (!known) {
      Diagnostics ignored;  // a warning of the scenario, whoever evaluates it
      known = std::make_unique<Hardware>(
          Hardware{cost::CostModel(bench.machines[candidate.gpu].gpu,
                                   evaluate::stack_of(bench.base, bench.software, ignored),
                                   scenario.cluster),
                   {}});
    }
    return *known;
  }

  // Makes `input` the candidate's; a rule that is broken otherwise.
  std::optional<Diagnostic> prepare(const Candidate& candidate);

  // That of `scenario`, which is the candidate's already.
  std::optional<Diagnostic> resolve(const Candidate& candidate);

  [[nodiscard]] Bytes headroom(const Candidate& candidate) const {
    return bench.machines[candidate.gpu].headroom;
  }

  const Workbench& bench;
  std::shared_ptr<step::StepSimulator> simulator;
  scenario::Scenario scenario;  // of the latest candidate
  step::StepInput input;        // likewise
  Flop flop_per_token;
  std::map<std::pair<int, std::int32_t>, std::unique_ptr<Hardware>> known_hardware;
  std::optional<std::size_t> machine;  // whose network the scenario has
};

std::optional<Diagnostic> Estimator::State::prepare(const Candidate& candidate) {
  apply(candidate, bench, scenario);
  return resolve(candidate);
}

std::optional<Diagnostic> Estimator::State::resolve(const Candidate& candidate) {
  const Machine& here = bench.machines[candidate.gpu];
  if (machine != candidate.gpu) {
    machine = candidate.gpu;
    scenario.cluster.network = here.network;
  }
  const cost::CostModel& costs = hardware(candidate).costs;
  Diagnostics diagnostics;
  auto resolved = evaluate::resolve_layout(scenario, here.gpu, costs.software(), diagnostics);
  if (!resolved) {
    const auto& all = diagnostics.all();
    return *std::find_if(all.begin(), all.end(),
                         [](const Diagnostic& found) { return found.severity == Severity::error; });
  }
  input.layout = std::move(resolved->layout);
  input.cluster = std::move(resolved->cluster);
  input.spec = scenario.step;
  input.spec.critic = evaluate::held_critic(scenario);
  input.spec.recompute.policy = resolved->recompute;
  step::settle(input, costs);
  if (input.spec.recompute.memory_budget) {
    input.spec.recompute = step::meet_memory_budget(input, costs);
  }
  return std::nullopt;
}

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

Estimator::Estimator(const Workbench& bench, std::shared_ptr<step::StepSimulator> simulator)
    : state_(std::make_unique<State>(bench, std::move(simulator))) {}

Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;

Estimate Estimator::estimate(const Candidate& candidate) {
  State& state = *state_;
  if (auto broken = state.prepare(candidate)) {
    return refusal(std::move(broken->key), std::move(broken->message));
  }
  return simulate(candidate);
}

Estimate Estimator::estimate(const scenario::Scenario& stated) {
  State& state = *state_;
  Candidate machine;  // the first one; of a candidate only that and the nodes are asked for
  machine.nodes = static_cast<std::int32_t>(stated.cluster.nodes);
  state.scenario.layout = stated.layout;
  state.scenario.batch = stated.batch;
  state.scenario.step = stated.step;
  state.scenario.cluster.nodes = stated.cluster.nodes;
  if (auto broken = state.resolve(machine)) {
    return refusal(std::move(broken->key), std::move(broken->message));
  }
  return simulate(machine);
}

Estimate Estimator::simulate(const Candidate& candidate) {
  State& state = *state_;
  Hardware& hardware = state.hardware(candidate);
  auto outcome = state.simulator->simulate(
      state.input, hardware.costs,
      {.timeline = false, .operations = false, .ledger = false, .memo = &hardware.memo});
  if (auto* problem = std::get_if<step::StepProblem>(&outcome)) {
    return refusal(std::move(problem->key), std::move(problem->message));
  }
  const auto& step = std::get<step::StepResult>(outcome);
  const step::StageMemory& worst =
      step.memory[static_cast<std::size_t>(step.feasibility.worst_stage)];
  Estimate estimate;
  estimate.verdict = judge(step.feasibility, state.headroom(candidate));
  estimate.step_time = step.step_time;
  estimate.peak_memory = worst.peak();
  estimate.memory_limit = worst.limit;
  estimate.headroom = step.feasibility.headroom;
  estimate.worst_stage = step.feasibility.worst_stage;
  estimate.host_memory = step.feasibility.host;
  const TokensPerSecond rate =
      evaluate::tokens_per_step(state.scenario) / to_seconds(step.step_time);
  const FlopPerSecond peak = evaluate::dense_peak(state.bench.machines[candidate.gpu].gpu,
                                                  state.scenario.step.precision.compute) *
                             static_cast<double>(step.gpus);
  estimate.tokens_per_second = in_tokens_per_second(rate);
  estimate.mfu = state.flop_per_token * in_tokens_per_second(rate) * per_second(1.0) / peak;
  return estimate;
}

SimTime Estimator::least_of_family(const Candidate& candidate) {
  State& state = *state_;
  if (state.prepare(candidate)) {
    return {};  // whoever looks at its members finds the rule
  }
  Hardware& hardware = state.hardware(candidate);
  return step::least_time_of_passes(state.input, hardware.costs, &hardware.memo);
}

Bound Estimator::bound(const Candidate& candidate) {
  State& state = *state_;
  Bound bound;
  if (state.prepare(candidate)) {
    return bound;
  }
  Hardware& hardware = state.hardware(candidate);
  const auto found = state.simulator->bound(state.input, hardware.costs, &hardware.memo);
  if (const auto* known = std::get_if<step::StepBound>(&found)) {
    constexpr double kRounding = 1e-9;
    const Bytes limit = hardware.costs.gpu().memory.value();
    const double over = (known->feasibility.headroom - state.headroom(candidate)) / limit;
    bound.verdict = judge(known->feasibility, state.headroom(candidate));
    bound.undecided = std::abs(over) < kRounding;
    bound.least = known->least;
    bound.headroom = known->feasibility.headroom;
  }
  return bound;
}

}  // namespace orrery::plan
