#include "tests/oracle/reliability/renewal_case.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/sim_time.hpp"
#include "sim/run/failures/failure_sources.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/theory/time_law.hpp"

namespace orrery::run::test {

namespace {

constexpr double kLives = 200.0;        // of every part, on average
constexpr double kStrikes = 200'000.0;  // counted, all trials together
constexpr double kMostTrials = kKilo;
const Seconds kRenewalLongest = days(20'000.0);

// Parts that begin new, one on each node, and run for the window.
std::optional<RunPlan> plan_of(const RenewalCase& asked, Seconds window) {
  RunSpec spec;
  spec.training.duration = window;
  FailureCause part = failure_cause("part", FailureCategory::host);
  part.life = weibull_of_mean(asked.shape, asked.mean_life);
  part.age.kind = AgeKind::fresh;
  spec.failures.causes = {part};
  const StepInput step = {.step_time = to_sim_time(window),
                          .tokens_per_step = tokens(1.0),
                          .gpus = asked.parts,
                          .nodes = asked.parts,
                          .gpus_per_node = 1,
                          .parameters = 0.0};
  std::vector<RunProblem> problems;
  return resolve_run(spec, step, problems);
}

}  // namespace

Seconds simulate_renewal(const RenewalCase& asked) {
  const Seconds window = std::min(kLives * asked.mean_life, kRenewalLongest);
  const auto plan = plan_of(asked, window);
  if (!plan) {
    return seconds(std::nan(""));
  }
  // The first quarter belongs to the ages that all parts share at the start.
  const SimTime begin = to_sim_time(0.25 * window);
  const SimTime end = to_sim_time(window);
  const double expected = static_cast<double>(asked.parts) * (0.75 * window / asked.mean_life);
  const auto trials = static_cast<std::uint32_t>(
      std::clamp(std::ceil(kStrikes / std::max(expected, 1.0)), 1.0, kMostTrials));
  FailureSources sources(*plan);
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
    return seconds(std::nan(""));
  }
  return 0.75 * window * (static_cast<double>(trials) / static_cast<double>(strikes));
}

}  // namespace orrery::run::test
