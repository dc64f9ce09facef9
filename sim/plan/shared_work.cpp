#include "sim/plan/shared_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>

#include "sim/base/error.hpp"
#include "sim/base/parallel.hpp"
#include "sim/sweep/told.hpp"

namespace orrery::plan {

void SharedWork::agree(const std::string& identity) const {
  if (options_.team.processes <= 1) {
    return;
  }
  const std::vector<std::string> all = options_.team.exchange(identity);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != all.front()) {
      throw Error(ErrorKind::io,
                  fmt::format("process {} searches another scenario than process 0", i));
    }
  }
}

std::vector<std::size_t> SharedWork::part(const Cut& cut, int process) const {
  std::vector<std::size_t> items;
  const auto processes = static_cast<std::size_t>(options_.team.processes);
  for (auto chunk = static_cast<std::size_t>(process); chunk * cut.grain < cut.items;
       chunk += processes) {
    const std::size_t end = std::min(cut.items, (chunk + 1) * cut.grain);
    for (std::size_t item = chunk * cut.grain; item < end; ++item) {
      items.push_back(item);
    }
  }
  return items;
}

void SharedWork::run(const Cut& cut,
                     const Work& work,
                     const std::function<void(double)>& progress) {
  const std::vector<std::size_t> own = part(cut, options_.team.number);
  std::mutex mutex;
  std::size_t done = 0;
  const auto visit = [&](std::int64_t begin, std::int64_t end) {
    auto estimator = take();
    for (std::int64_t i = begin; i < end; ++i) {
      work(*estimator, own[static_cast<std::size_t>(i)]);
    }
    give(std::move(estimator));
    const std::lock_guard lock(mutex);
    done += static_cast<std::size_t>(end - begin);
    if (progress) {
      progress(static_cast<double>(done) / static_cast<double>(own.size()));
    }
  };
  try {
    const bool complete = parallel_for(static_cast<std::int64_t>(own.size()),
                                       {.threads = options_.threads,
                                        .grain = static_cast<std::int64_t>(cut.grain),
                                        .stop = winds_up_ ? std::stop_token() : options_.stop},
                                       visit);
    stopped_ = stopped_ || !complete;
  } catch (const std::exception& error) {
    if (options_.team.processes <= 1) {
      throw;
    }
    failure_ = sweep::told(error);  // the others wait to be told
  }
}

void SharedWork::tell(const Cut& cut,
                      std::vector<char>& done,
                      const std::vector<std::size_t>& begins,
                      std::size_t size,
                      const std::function<char*(std::size_t)>& at) {
  const Team& team = options_.team;
  if (team.processes <= 1) {
    return;
  }
  std::string mine;
  for (const std::size_t item : part(cut, team.number)) {
    mine += done[item];
    mine.append(at(begins[item]), (begins[item + 1] - begins[item]) * size);
  }
  const std::vector<std::string> all =
      sweep::heard(team.exchange(failure_.empty() ? sweep::told(mine) : failure_));
  for (int process = 0; process < team.processes; ++process) {
    const std::vector<std::size_t> items = part(cut, process);
    const std::string& said = all[static_cast<std::size_t>(process)];
    std::size_t wanted = 0;
    for (const std::size_t item : items) {
      wanted += 1 + (begins[item + 1] - begins[item]) * size;
    }
    if (said.size() != wanted) {
      throw Error(ErrorKind::io, "a process does not say all that it found");
    }
    const char* from = said.data();
    for (const std::size_t item : items) {
      const std::size_t length = (begins[item + 1] - begins[item]) * size;
      done[item] = *from++;
      std::memcpy(at(begins[item]), from, length);
      from += length;
      stopped_ = stopped_ || done[item] == 0;
    }
  }
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
