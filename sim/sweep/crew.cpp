#include "sim/sweep/crew.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"

namespace orrery::sweep {

bool work_on(PointEvaluator& evaluator,
             const std::vector<std::size_t>& points,
             int threads,
             const TakeResult& take,
             const std::stop_token& stop) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int all = threads > 0 ? threads : cores;
  const int count = static_cast<int>(std::min<std::size_t>(points.size(), 1'000'000));
  const int for_trials = std::max(1, all / std::max(1, count));
  std::mutex taking;
  std::atomic<bool> interrupted{false};
  const auto evaluate = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t point = points[static_cast<std::size_t>(i)];
      try {
        PointResult result = evaluator.result(point, for_trials, stop);
        const std::lock_guard lock(taking);
        take(point, std::move(result));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) {
          throw;
        }
        interrupted = true;  // this point only: those that are finished count
      }
    }
  };
  const bool complete = parallel_for(static_cast<std::int64_t>(points.size()),
                                     {.threads = std::min(all, std::max(1, count)), .stop = stop},
                                     evaluate);
  return complete && !interrupted;
}

}  // namespace orrery::sweep
