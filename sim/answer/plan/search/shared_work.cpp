#include "sim/answer/plan/search/shared_work.hpp"

#include <fmt/core.h>

#include <numeric>

#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"

namespace orrery::plan {

void SharedWork::gather(const Task& task) {
  const std::size_t grain = task.progress ? 256 : 16;
  std::mutex mutex;
  std::size_t done = 0;
  const auto advance = [&](std::size_t items) {
    const std::lock_guard lock(mutex);
    done += items;
    if (task.progress) {
      task.progress(static_cast<double>(done) / static_cast<double>(task.items));
    }
  };
  sweep::Work work;
  work.identity = fmt::format("{}, {}", identity_, ++gathered_);
  work.items.resize(task.items);
  std::iota(work.items.begin(), work.items.end(), std::size_t{0});
  work.batch = grain * grain;
  work.for_all = true;
  work.run = [&](const std::vector<std::size_t>& items, const sweep::Work::Done& finished) {
    const auto visit = [&](std::int64_t begin, std::int64_t end) {
      auto estimator = take();
      for (std::int64_t i = begin; i < end; ++i) {
        task.visit(*estimator, items[static_cast<std::size_t>(i)]);
        finished(items[static_cast<std::size_t>(i)]);
      }
      give(std::move(estimator));
      advance(static_cast<std::size_t>(end - begin));
    };
    return parallel_for(static_cast<std::int64_t>(items.size()),
                        {.threads = options_.threads,
                         .grain = static_cast<std::int64_t>(grain),
                         .stop = heeds_stops_ ? options_.stop : std::stop_token()},
                        visit);
  };
  work.tell = task.tell;
  work.hear = [&](std::size_t item, std::string_view text) {
    if (!task.hear(item, text)) {
      throw Error(ErrorKind::io, "a process does not say all that it found");
    }
    advance(1);
  };
  sweep::Team alone;
  const bool complete = (options_.team == nullptr ? alone : *options_.team).gather(work);
  stopped_ = stopped_ || !complete;
}

std::unique_ptr<Estimator> SharedWork::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    return std::make_unique<Estimator>(bench_);
  }
  auto estimator = std::move(idle_.back());
  idle_.pop_back();
  return estimator;
}

void SharedWork::give(std::unique_ptr<Estimator> estimator) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(estimator));
}

}  // namespace orrery::plan
