#pragma once

// A gap of a pipeline device in the step, the chain of tasks that it waits for, and where the time
// of any part of the step goes.
//
//   gap    = [end of the task before, start of the task after) on the compute stream of a device
//   chain  = the task after the gap, then each time the task that ended or whose message arrived
//            when this one began; the last one began at once when its device was free
//   time of a window by category, added up over devices == its length * devices, to the nanosecond
//
// Needs StepResult::operation_timeline and slices.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/step/simulate/replay/wait_causes.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::report {

struct TimeWindow {
  SimTime begin;
  SimTime end;
};

struct Gap {
  TimeWindow time;
  std::optional<std::size_t> next;  // slice that ends it; nothing: the step ends before
};

// Nothing where the device computes.
[[nodiscard]] std::optional<Gap> gap_at(const step::StepResult& step, std::int64_t device,
                                        SimTime at);

// The slice that computes on a device at a moment.
[[nodiscard]] std::optional<std::size_t> task_at(const step::StepResult& step, std::int64_t device,
                                                 SimTime at);

// Slices of the step from effect to cause, `slice` first.
[[nodiscard]] std::vector<std::size_t> chain_of_causes(const step::StepResult& step,
                                                       std::size_t slice);

// What ends when the step does: where the chain of a gap at its end begins.
[[nodiscard]] std::size_t last_task(const step::StepResult& step);

// Devices from `first` to `last`.
[[nodiscard]] step::CategoryTimes time_within(const step::StepResult& step,
                                              const TimeWindow& window, std::int64_t first,
                                              std::int64_t last);

}  // namespace orrery::report
