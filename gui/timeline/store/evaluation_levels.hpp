#pragma once

// Levels of an evaluation's timeline: the run, and within it the step, which repeats.
//
// level | rows                                                | repeats
// ------|-----------------------------------------------------|---------------------------------
// run   | training, planned stops, recovery of one trial;     | -
//       | failures, saves and restarts as marks               |
// step  | stages x streams; memory of each stage              | in all training of the run, once
//       |                                                     | per step time
// opera-| stages x compute, communication by axis, host;      | once per step
// tions | use of the links of a GPU; where GPUs are unequal   |
//       | the slowest rank of the stage apart                 |
//
// The ranks of a stage that are alike share its rows. Operations are there when the evaluation has
// them (EvaluateOptions::operation_timeline).
// Needs EvaluateOptions::timelines. Without `training:` there is no run, without a simulated step
// no step; with neither there are no levels. Every training step of the run is drawn as the step
// that was simulated, at its time; steps of other phases or of a slower job are not drawn apart.

#include <cstdint>
#include <optional>
#include <vector>

#include "gui/timeline/store/slice.hpp"
#include "gui/timeline/store/store.hpp"
#include "gui/timeline/store/store_builder.hpp"
#include "sim/answer/report/evaluation.hpp"
#include "sim/answer/trace/group_rules.hpp"
#include "sim/answer/trace/kernel_rules.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::timeline {

[[nodiscard]] Category category_of(run::RunActivity activity);
[[nodiscard]] Category category_of(schedule::TaskKind kind);

[[nodiscard]] Levels levels_of(const report::Evaluation& evaluation, double nic_limit = 0.0);

// The innermost level of the timeline: the operations within the tasks of a step.
//
//   start of an operation = start of its task + its place in it (step::place_operations)
//
// Flows: a collective, what it waits for and what waits for it; a message from pass to pass.
// Beyond kMostOperations the first of the step are shown, and the note of the level says so.

inline constexpr std::uint64_t kMostOperations = 4'000'000;

// The ranks of a pipeline device, ascending; empty where they are not known.
[[nodiscard]] std::vector<std::int32_t> ranks_of(const report::Evaluation& evaluation,
                                                 std::size_t device);

// Whether one of them is slower than the others: their rows are those of the mean rank.
[[nodiscard]] bool are_unequal(const report::Evaluation& evaluation, std::size_t device);

// What a GPU waits for, on the row of its computation: by pipeline device, kNoRow for none.
void add_waits(const report::Evaluation& evaluation, const std::vector<RowId>& rows,
               StoreBuilder& builder);

// A counter of what the stage holds in memory, where it is known.
void add_memory(const report::Evaluation& evaluation, std::size_t device, RowId stage,
                StoreBuilder& builder);

// Nothing when the evaluation has no timeline of operations.
[[nodiscard]] std::optional<Level> operation_level(const report::Evaluation& evaluation,
                                                   double nic_limit);

// Of communication.
[[nodiscard]] constexpr Category category_of(trace::Axis axis, trace::Operation operation) {
  switch (axis) {
    case trace::Axis::tensor:
      return Category::tensor;
    case trace::Axis::context:
      return Category::context;
    case trace::Axis::expert:
      return Category::expert;
    case trace::Axis::pipeline:
      return Category::pipeline;
    default:
      break;
  }
  const bool gathers =
      operation == trace::Operation::all_gather || operation == trace::Operation::broadcast;
  return gathers ? Category::data_gather : Category::data_reduce;
}

// Of everything else.
[[nodiscard]] constexpr Category category_of(trace::Work work) {
  switch (work) {
    case trace::Work::optimizer:
      return Category::optimizer;
    case trace::Work::copy:
      return Category::copy;
    default:
      return Category::kernel;
  }
}

}  // namespace orrery::timeline
