#pragma once

// How is a trace read while the window stays alive? On a thread of its own, with progress, until it
// is done or cancelled.
//
// `done` is called once, on that thread, unless the job is destroyed before: pass it on to the
// user interface's thread. Destroying the job cancels it and waits (until the next look at the stop
// request, some milliseconds).

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "gui/timeline/chrome_reader.hpp"

namespace orrery::timeline {

class LoadJob {
 public:
  using Done = std::function<void(ReadResult)>;

  LoadJob(std::filesystem::path path, ReadOptions limits, Done done);

  LoadJob(const LoadJob&) = delete;
  LoadJob& operator=(const LoadJob&) = delete;
  ~LoadJob() = default;

  // 0 to 1; any thread.
  [[nodiscard]] double progress() const {
    return progress_.load(std::memory_order_relaxed);
  }

  void cancel() {
    thread_.request_stop();
  }

  [[nodiscard]] bool finished() const {
    return finished_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<double> progress_ = 0.0;
  std::atomic<bool> finished_ = false;
  std::jthread thread_;  // last: it ends before what it writes to
};

}  // namespace orrery::timeline
