#pragma once

// The names of the activities of a step and of a run on a time axis, shared by traces and the
// desktop program.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/run_timeline.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/operations/operation_timeline.hpp"

namespace orrery::report {

// "forward 3", "reduce gradients"
[[nodiscard]] std::string task_name(const schedule::StepTask& task);

// What a slice with this name shows, where it is one that these traces write.
[[nodiscard]] std::optional<schedule::TaskKind> task_named(std::string_view name);
[[nodiscard]] std::optional<run::RunActivity> activity_named(std::string_view name);

[[nodiscard]] bool has_micro_batch(schedule::TaskKind kind);

[[nodiscard]] std::string_view stream_name(schedule::Stream stream);

enum class RunLane { training, planned_stop, recovery, failure };

inline constexpr std::array<std::string_view, 4> kRunLaneNames = {"training", "planned stops",
                                                                  "recovery", "failures"};

[[nodiscard]] RunLane lane_of(run::RunActivity activity);

// The description of one operation of a step in lines for people, in traces and on screen.
//
//   rate  = work / time that it takes on its stream
//   share = booked time * runs / step time
//
// symbol | meaning                                                          | unit | origin
// -------|------------------------------------------------------------------|------|----------
// work   | FLOP; bytes through memory, or that one rank sends               | -    | timeline
// runs   | how often tasks of this kind run in the step on one GPU          | -    | slices

// "1.2 TFLOP at 612 TFLOP/s", "8 ranks of one node, each sends 67 MB at 182 GB/s", "compute waits
// 120 us for it, 300 us are hidden", "slowed 12 us by the experts' all-to-all beside it", "0.42 %
// of the step in 16 runs"
[[nodiscard]] std::vector<std::string> operation_lines(const step::OperationTimeline& timeline,
                                                       const step::PlacedOperation& placed,
                                                       double runs, SimTime step_time);

}  // namespace orrery::report
