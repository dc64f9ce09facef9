#include "sim/sweep/run_sweep.hpp"

#include <utility>

namespace orrery::sweep {

SweepOutcome run_sweep(const Sweep& sweep, Crew& crew, const RunOptions& options) {
  SweepOutcome outcome;
  outcome.results.resize(sweep.points.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (options.journal != nullptr) {
      const auto known = options.journal->finished().find(sweep.points[i]);
      if (known != options.journal->finished().end()) {
        outcome.results[i] = known->second;
        continue;
      }
    }
    missing.push_back(i);
  }
  const auto all = static_cast<std::int64_t>(sweep.points.size());
  outcome.reused = all - static_cast<std::int64_t>(missing.size());
  outcome.done = outcome.reused;
  PointEvaluator evaluator(sweep);
  const auto take = [&](std::size_t point, PointResult result) {
    if (options.journal != nullptr) {
      options.journal->append(sweep.points[point], result);
    }
    outcome.results[point] = std::move(result);
    ++outcome.done;
    if (options.progress) {
      options.progress(outcome.done, all);
    }
  };
  outcome.complete = crew.lead(
      evaluator, evaluator.good_order(std::move(missing)), options.threads, take, options.stop);
  if (options.journal != nullptr) {
    options.journal->close();
  }
  return outcome;
}

}  // namespace orrery::sweep
