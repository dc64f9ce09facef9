#include "sim/answer/evaluate/rollouts.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include "sim/answer/evaluate/inputs/fill_metrics.hpp"
#include "sim/step/simulate/step_simulator.hpp"

namespace orrery::evaluate {

namespace {

Seconds forward_time(const scenario::Scenario& scenario, const Resolved& resolved, Seconds step) {
  const Seconds third = step * (1.0 / 3.0);
  const auto outcome = make_simulator()->simulate(step_input(scenario, resolved), resolved.costs,
                                                  {.timeline = true, .threads = 1});
  const auto* result = std::get_if<step::StepResult>(&outcome);
  if (result == nullptr || scenario.step.given_time) {
    return third;
  }
  std::vector<SimTime> busy(static_cast<std::size_t>(resolved.layout.pipeline));
  for (const step::Slice& slice : result->slices) {
    if (slice.task.kind == schedule::TaskKind::forward) {
      busy[static_cast<std::size_t>(slice.task.device)] += slice.end - slice.start;
    } else if (slice.task.kind == schedule::TaskKind::overlapped) {
      return third;
    }
  }
  const auto stages = static_cast<double>(resolved.layout.pipeline);
  const auto passes =
      static_cast<double>(resolved.layout.micro_batches * resolved.layout.virtual_stages);
  return to_seconds(*std::max_element(busy.begin(), busy.end())) * (1.0 + (stages - 1.0) / passes);
}

}  // namespace

run::RolloutResult rollout_step(const scenario::Scenario& scenario, const Resolved& resolved,
                                const step::StepResult& step) {
  const Seconds update = to_seconds(step.step_time);
  const auto served = static_cast<double>(model::count_parameters(scenario.model).total);
  constexpr Bytes kSixteenBits = bytes(2.0);
  return run::compose_rollout(*scenario.rollout,
                              {.tokens = in_tokens(tokens_per_step(scenario)),
                               .update = update,
                               .forward = forward_time(scenario, resolved, update),
                               .gpus = step.gpus,
                               .weights = kSixteenBits * served});
}

}  // namespace orrery::evaluate
