#include "sim/answer/evaluate/doubts/step_doubts.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "sim/step/hardware/stack_knobs.hpp"

namespace orrery::evaluate {

std::vector<report::StepDoubt> step_doubts(const scenario::Scenario& scenario,
                                           const Resolved& resolved, int threads,
                                           const std::stop_token& stop) {
  constexpr std::size_t kMost = 2;
  const step::StepInput input = step_input(scenario, resolved);
  const hardware::SoftwareProfile& software = resolved.costs.software();
  step::StepSimulator simulator;
  const auto logarithm = [&](const hardware::StackKnob& knob, double factor) {
    hardware::SoftwareProfile moved = software;
    knob.move(moved, factor);
    const cost::CostModel costs(resolved.costs.gpu(), std::move(moved), scenario.cluster);
    const auto outcome = simulator.simulate(input, costs,
                                            {.timeline = false,
                                             .operations = false,
                                             .ledger = false,
                                             .threads = threads,
                                             .stop = stop});
    const auto* result = std::get_if<step::StepResult>(&outcome);
    return result == nullptr ? 0.0 : std::log(in_seconds(to_seconds(result->step_time)));
  };
  std::vector<report::StepDoubt> doubts;
  for (const hardware::StackKnob& knob : hardware::stack_knobs()) {
    const double error = knob.error(software);
    const double effect =
        std::abs(logarithm(knob, 1.0 + error) - logarithm(knob, 1.0 - error)) / 2.0;
    if (effect >= kMilli) {
      doubts.push_back({knob.name, knob.measured_by, error, effect});
    }
  }
  std::stable_sort(doubts.begin(), doubts.end(),
                   [](const auto& a, const auto& b) { return a.effect > b.effect; });
  doubts.resize(std::min(doubts.size(), kMost));
  return doubts;
}

}  // namespace orrery::evaluate
