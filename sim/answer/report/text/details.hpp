#pragma once

// What there is to say about one place of the timeline, in words and figures for people.
//
//   share of a wait = its time * GPUs of the device / (step time * all GPUs)
//   worth of a wait = its share * dollars of productive training
//   worth of a stop = its time * mean cost of the run per second
//
// Everything is read from the evaluation; nothing is simulated.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/answer/report/evaluation.hpp"
#include "sim/step/simulate/replay/wait_causes.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::report {

// A gap of a pipeline device in the step, the chain of tasks that it waits for, and where the time
// of any part of the step goes.
//
//   gap    = [end of the task before, start of the task after) on the compute stream of a device
//   chain  = the task after the gap, then each time the task that ended or whose message arrived
//            when this one began; the last one began at once when its device was free
//   time of a window by category, added up over devices == its length * devices, to the nanosecond
//
// Needs StepResult::operation_timeline and slices.

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

struct DetailPart {
  std::string_view label;
  Seconds time;
  double share = 0.0;  // of all parts
  std::variant<step::StepCategory, run::RunActivity> kind = step::StepCategory::compute;
};

// A task of the step that others wait for.
struct DetailLink {
  std::string name;  // "backward 0 of stage 1"; where the one before is alike: "stage 2"
  std::int64_t device = 0;
  TimeWindow time = {};
};

struct DetailWorth {
  std::string what;
  Seconds time = {};
  std::optional<double> share = {};  // of the GPU time of the step
  std::optional<Dollars> dollars = {};
};

struct Details {
  std::string title;  // the thing itself: "waits 413 ms for backward 0 of stage 1"
  std::string place;  // "stage 0 at 2.13 s"
  std::string note = {};
  bool waits = false;                  // all its parts are waiting
  std::vector<DetailPart> parts = {};  // where its time goes; they add up to it
  std::vector<DetailLink> chain = {};  // what it waits for, from effect to cause
  // This one, all of its kind, and the lever that would take them away
  std::vector<DetailWorth> worth = {};
};

// A task of a pipeline device or the gap between two; needs the operations of the step.
[[nodiscard]] Details details_of_step(const Evaluation& evaluation, std::int64_t device,
                                      SimTime at);

// What takes so long on one pipeline device in every step.
[[nodiscard]] DetailWorth worth_of_step_time(const Evaluation& evaluation, std::string what,
                                             Seconds time);

// A part of the step on devices from `first` to `last`.
[[nodiscard]] Details details_of_window(const Evaluation& evaluation, const TimeWindow& window,
                                        std::int64_t first, std::int64_t last);

// What the run does at a moment: the stop around it, or training.
[[nodiscard]] Details details_of_run(const Evaluation& evaluation, SimTime at);

// A part of the run.
[[nodiscard]] Details details_of_run(const Evaluation& evaluation, const TimeWindow& window);

}  // namespace orrery::report
