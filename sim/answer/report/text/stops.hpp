#pragma once

// The stops of the trial that the timeline draws: what ended training, and until it went on.
//
//   stop = [failure or planned stop, training again), with the training before it that was lost
//   cost = (lost + stopped) * mean cost of the run per second

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/answer/report/evaluation.hpp"

namespace orrery::report {

struct Stop {
  SimTime begin;
  std::string what;      // the cause of the failure, or the planned stop
  SimTime lost = {};     // training that the stop threw away
  SimTime stopped = {};  // from the stop until the next one, or until training went on
  std::vector<std::pair<run::RunActivity, SimTime>> parts = {};  // of `stopped`, in order

  [[nodiscard]] SimTime together() const { return lost + stopped; }
};

// In order of time; needs Evaluation::plan and timeline.
[[nodiscard]] std::vector<Stop> stops_of(const Evaluation& evaluation);

// Mean cost of a second of the run; nothing without prices.
[[nodiscard]] std::optional<DollarsPerSecond> cost_per_second(const Evaluation& evaluation);

}  // namespace orrery::report
