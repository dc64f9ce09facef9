#include "sim/answer/sweep/run_sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "sim/answer/sweep/point_evaluator.hpp"
#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"

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

using Take = std::function<void(std::size_t point, PointResult result)>;

// The points on `threads` threads; few points leave threads for their trials. False when a stop
// request came before all were done.
bool work_on(PointEvaluator& evaluator, const std::vector<std::size_t>& points, int threads,
             const Take& take, const std::stop_token& stop) {
  const int count = static_cast<int>(std::min<std::size_t>(points.size(), 1'000'000));
  const int for_trials = std::max(1, threads / std::max(1, count));
  std::atomic<bool> interrupted{false};
  const auto evaluate = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t point = points[static_cast<std::size_t>(i)];
      try {
        take(point, evaluator.result(point, for_trials, stop));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) {
          throw;
        }
        interrupted = true;  // this point only: those that are finished count
      }
    }
  };
  const bool complete =
      parallel_for(static_cast<std::int64_t>(points.size()),
                   {.threads = std::min(threads, std::max(1, count)), .stop = stop}, evaluate);
  return complete && !interrupted;
}

}  // namespace

SweepOutcome run_sweep(const Sweep& sweep, Team& team, const RunOptions& options) {
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
  std::mutex taking;
  const auto take = [&](std::size_t point, PointResult result) {
    const std::lock_guard lock(taking);
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
  PointEvaluator evaluator(sweep);
  const LineShape shape = line_shape(sweep);
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  const bool complete =
      team.gather({.identity = journal_header(sweep, {}),
                   .items = evaluator.good_order(std::move(missing)),
                   .batch = static_cast<std::size_t>(threads),
                   .for_all = options.for_all,
                   .run =
                       [&](const std::vector<std::size_t>& points, const Work::Done& done) {
                         const auto take_own = [&](std::size_t point, PointResult result) {
                           take(point, std::move(result));
                           done(point);
                         };
                         return work_on(evaluator, points, threads, take_own, options.stop);
                       },
                   .tell =
                       [&](std::size_t point) {
                         return journal_line(sweep.points[point], outcome.results[point]);
                       },
                   .hear =
                       [&](std::size_t point, std::string_view line) {
                         JournalEntry entry = read_journal_line(line, shape);
                         if (!entry.problem.empty()) {
                           throw Error(ErrorKind::io, "a process sent no readable message");
                         }
                         take(point, std::move(entry.result));
                       }});
  outcome.complete = complete || outcome.done == all;
  if (options.journal != nullptr) {
    options.journal->close();
  }
  return outcome;
}

}  // namespace orrery::sweep
