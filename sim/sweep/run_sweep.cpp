#include "sim/sweep/run_sweep.hpp"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

#include "sim/base/error.hpp"

namespace orrery::sweep {

namespace {

// Points that read a file before and after it changed must not stand in one table.
class SameFiles {
 public:
  void check(const PointResult& result) {
    for (const FileStamp& file : result.files) {
      const auto [known, fresh] = seen_.try_emplace(file.path, file.sha256);
      if (!fresh && known->second != file.sha256) {
        throw Error(ErrorKind::io,
                    fmt::format("{}: has changed while points were evaluated", file.path));
      }
    }
  }

 private:
  std::map<std::string, std::string> seen_;
};

}  // namespace

SweepOutcome run_sweep(const Sweep& sweep, Crew& crew, const RunOptions& options) {
  SweepOutcome outcome;
  outcome.results.resize(sweep.points.size());
  std::vector<std::size_t> missing;
  SameFiles same_files;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    if (options.journal != nullptr) {
      const auto known = options.journal->finished().find(sweep.points[i]);
      if (known != options.journal->finished().end()) {
        outcome.results[i] = known->second;
        same_files.check(known->second);
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
    same_files.check(result);
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
