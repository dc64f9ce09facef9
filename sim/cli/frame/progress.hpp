#pragma once

// A progress line for long simulations, on stderr and on a terminal only, after the first half
// second. The time left is what the rest takes at the pace so far.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/units.hpp"

namespace orrery::cli {

class ProgressLine {
 public:
  // Shows nothing unless `enabled` and stderr is a terminal. `unit`: what is counted.
  ProgressLine(std::string label, bool enabled, std::string unit = "trials");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // What was there before this program began, and so says nothing about its pace.
  void start_at(std::int64_t done) { first_ = done; }

  // `done` of `all`; called by one thread at a time.
  void update(std::int64_t done, std::int64_t all);
  void update(std::int64_t done, std::int64_t all, std::string unit);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::string unit_;
  bool enabled_;
  bool shown_ = false;
  std::int64_t first_ = 0;
  Clock::time_point begin_;
  Clock::time_point next_;
};

// The line itself: "label [=====     ]  50%  500 / 1,000 trials, 12 s left".
[[nodiscard]] std::string progress_text(const std::string& label, std::int64_t done,
                                        std::int64_t all, const std::string& unit = "trials",
                                        std::optional<Seconds> left = {});

}  // namespace orrery::cli
