#pragma once

// Problems in the specs of a run: the findings of the functions that resolve them, each under its
// key of the scenario, and the conditions they share.

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/run/run_plan.hpp"

namespace orrery::run {

// Collects findings under the keys of the scenario.
class Findings {
 public:
  explicit Findings(std::vector<RunProblem>& problems) : problems_(problems) {}

  // Notes an error unless `holds`; returns `holds`.
  bool require(bool holds, std::string_view key, std::string message, std::string allowed = {}) {
    if (!holds) {
      add(Severity::error, key, std::move(message), std::move(allowed));
      sound_ = false;
    }
    return holds;
  }

  void warn(std::string_view key, std::string message) {
    add(Severity::warning, key, std::move(message), {});
  }

  [[nodiscard]] bool sound() const {
    return sound_;
  }

 private:
  void add(Severity severity, std::string_view key, std::string message, std::string allowed) {
    problems_.push_back({severity, std::string(key), std::move(message), std::move(allowed)});
  }

  std::vector<RunProblem>& problems_;
  bool sound_ = true;
};

inline bool in_range(Seconds value) {
  return value >= Seconds{} && value <= to_seconds(kLongestTime);
}

inline bool is_rate(PerSecond rate) {
  return std::isfinite(in_per_second(rate)) && rate >= PerSecond{};
}

inline bool is_positive(double value) {
  return std::isfinite(value) && value > 0.0;
}

}  // namespace orrery::run
