#include "sim/validate/renewal_case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sim/base/sim_time.hpp"
#include "sim/run/failure_sources.hpp"
#include "sim/run/life_law.hpp"
#include "sim/run/run_plan.hpp"

namespace orrery::validate {

namespace {

constexpr double kLives = 200.0;        // of every part, on average
constexpr double kStrikes = 200'000.0;  // counted, all trials together
constexpr double kMostTrials = kKilo;
const Seconds kRenewalLongest = days(20'000.0);

// Parts that begin new, one on each node, and run for the window.
std::optional<run::RunPlan> plan_of(const RenewalCase& asked, Seconds window) {
  run::RunSpec spec;
  spec.training.duration = window;
  run::FailureCause part = run::failure_cause("part", run::FailureCategory::host);
  part.life = run::weibull_of_mean(asked.shape, asked.mean_life);
  part.age.kind = run::AgeKind::fresh;
  spec.failures.causes = {part};
  const run::StepInput step = {.step_time = to_sim_time(window),
                               .tokens_per_step = tokens(1.0),
                               .gpus = asked.parts,
                               .nodes = asked.parts,
                               .gpus_per_node = 1,
                               .parameters = 0.0};
  std::vector<run::RunProblem> problems;
  return run::resolve_run(spec, step, problems);
}

}  // namespace

RenewalMtbf simulate_renewal(const RenewalCase& asked) {
  const Seconds window = std::min(kLives * asked.mean_life, kRenewalLongest);
  const auto plan = plan_of(asked, window);
  if (!plan) {
    return {seconds(std::nan("")), "the run refuses the case"};
  }
  // The first quarter belongs to the ages that all parts share at the start.
  const SimTime begin = to_sim_time(0.25 * window);
  const SimTime end = to_sim_time(window);
  const double expected = static_cast<double>(asked.parts) * (0.75 * window / asked.mean_life);
  const auto trials = static_cast<std::uint32_t>(
      std::clamp(std::ceil(kStrikes / std::max(expected, 1.0)), 1.0, kMostTrials));
  run::FailureSources sources(*plan);
  std::int64_t strikes = 0;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    sources.reset(trial);
    while (sources.next() < end) {
      const SimTime at = sources.next();
      static_cast<void>(sources.take(at));
      strikes += at >= begin ? 1 : 0;
    }
  }
  if (strikes == 0) {
    return {seconds(std::nan("")), "no part fails in the longest time that is simulated"};
  }
  return {0.75 * window * (static_cast<double>(trials) / static_cast<double>(strikes)),
          fmt::format("{} failures of parts that keep their ages", strikes)};
}

}  // namespace orrery::validate
