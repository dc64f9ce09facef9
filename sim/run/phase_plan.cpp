#include "sim/run/phase_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

constexpr double kRounding = 1e-9;  // a quotient that is whole but for its last digits

// Sum over the phases of the steps in each times what `each` says of a phase.
template <typename Amount, typename Each>
Amount sum_of(const std::vector<PlannedPhase>& phases, std::int64_t steps, Each each) {
  Amount sum{};
  std::int64_t begin = 0;
  for (const PlannedPhase& phase : phases) {
    const std::int64_t end = std::min(phase.until_step, steps);
    if (end <= begin) {
      break;
    }
    sum += static_cast<double>(end - begin) * each(phase);
    begin = end;
  }
  return sum;
}

template <typename Amount, typename Each>
double steps_for(const std::vector<PlannedPhase>& phases, Amount wanted, Each each) {
  ORRERY_CHECK(!phases.empty(), "no phase to train in for {} phases", phases.size());
  double begin = 0.0;
  Amount done{};
  for (const PlannedPhase& phase : phases) {
    const double steps = std::ceil((wanted - done) / each(phase) * (1.0 - kRounding));
    const double end = static_cast<double>(phase.until_step);
    if (begin + steps <= end || phase.until_step == kLastStep) {
      return begin + std::max(steps, 0.0);
    }
    done += (end - begin) * each(phase);
    begin = end;
  }
  return begin;
}

Tokens tokens_of(const PlannedPhase& phase) {
  return phase.tokens_per_step;
}

Seconds time_of(const PlannedPhase& phase) {
  return to_seconds(phase.step_time);
}

}  // namespace

Tokens tokens_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps) {
  return sum_of<Tokens>(phases, steps, tokens_of);
}

Seconds time_of_steps(const std::vector<PlannedPhase>& phases, std::int64_t steps) {
  return sum_of<Seconds>(phases, steps, time_of);
}

double steps_for_tokens(const std::vector<PlannedPhase>& phases, Tokens tokens) {
  return steps_for(phases, tokens, tokens_of);
}

double steps_for_time(const std::vector<PlannedPhase>& phases, Seconds time) {
  return steps_for(phases, time, time_of);
}

std::size_t phase_of_step(const std::vector<PlannedPhase>& phases, std::int64_t step) {
  const auto phase = std::upper_bound(
      phases.begin(), phases.end(), step, [](std::int64_t value, const PlannedPhase& candidate) {
        return value < candidate.until_step;
      });
  return static_cast<std::size_t>(phase - phases.begin());
}

}  // namespace orrery::run
