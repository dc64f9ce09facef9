#pragma once

// The names of the activities of a step and of a run on a time axis, shared by traces and the
// desktop program.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/run/run_timeline.hpp"
#include "sim/step/schedule/step_graph.hpp"

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

}  // namespace orrery::report
