#include "sim/answer/plan/trial_values.hpp"

#include <cstddef>
#include <cstdint>

#include "sim/base/check.hpp"
#include "sim/base/parallel.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::plan {

std::optional<TrialValues> trial_values(const run::RunPlan& plan, int threads,
                                        const std::stop_token& stop) {
  const auto trials = static_cast<std::size_t>(plan.simulation.trials);
  TrialValues values;
  for (std::vector<double>* list :
       {&values.wall, &values.cost, &values.tokens, &values.held, &values.energy}) {
    list->resize(trials);
  }
  const auto run_chunk = [&](std::int64_t begin, std::int64_t end) {
    run::RunSimulator simulator(plan);
    for (std::int64_t trial = begin; trial < end && !stop.stop_requested(); ++trial) {
      const run::RunResult result =
          simulator.run({.trial = static_cast<std::uint32_t>(trial), .stop = stop});
      const auto i = static_cast<std::size_t>(trial);
      values.wall[i] = in_seconds(to_seconds(result.wall));
      values.cost[i] = in_dollars(result.bill.total());
      values.tokens[i] = in_tokens(result.tokens);
      values.held[i] = in_seconds(result.held);
      values.energy[i] = result.bill.busy_kilowatt_hours + result.bill.idle_kilowatt_hours;
    }
  };
  constexpr std::int64_t kTrialsPerChunk = 16;
  const bool complete =
      parallel_for(plan.simulation.trials,
                   {.threads = threads, .grain = kTrialsPerChunk, .stop = stop}, run_chunk);
  return complete && !stop.stop_requested() ? std::optional(std::move(values)) : std::nullopt;
}

PairedDifference paired_difference(const std::vector<double>& first,
                                   const std::vector<double>& second) {
  ORRERY_CHECK(first.size() == second.size() && !first.empty(), "paired values: {} beside {}",
               first.size(), second.size());
  std::vector<double> differences(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    differences[i] = second[i] - first[i];
  }
  const run::Distribution distribution(std::move(differences));
  return {distribution.mean(), distribution.ci95_of_mean()};
}

}  // namespace orrery::plan
