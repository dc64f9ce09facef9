#pragma once

// How far is a long simulation? One line on stderr, on a terminal only, after the first half
// second.

#include <chrono>
#include <cstdint>
#include <string>

namespace orrery::cli {

class ProgressLine {
 public:
  // Shows nothing unless `enabled` and stderr is a terminal.
  ProgressLine(std::string label, bool enabled);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `done` of `all`; called by one thread at a time.
  void update(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point next_;
};

// The line itself: "label [=====     ]  50%  500 / 1,000 trials".
[[nodiscard]] std::string progress_text(const std::string& label,
                                        std::int64_t done,
                                        std::int64_t all);

}  // namespace orrery::cli
