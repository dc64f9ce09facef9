#pragma once

// Causes of waiting of each pipeline device, by replays of the step with one cause after another.
//
//   replay    | a pass takes                        | messages | data-parallel communication
//   ----------|-------------------------------------|----------|----------------------------
//   ideal     | its work, that of the mean stage    | none     | none
//   stages    | its work                            | none     | none
//   gpus      | and waits for slower GPUs           | none     | none
//   passes    | and its exposed collectives         | none     | none
//   messages  | the same                            | as sent  | none
//   executed  | and what shares the GPU takes of it | as sent  | as sent
//
//   w(k)       = T(k) - busy(k)                  what the device waits in replay k
//   bubble     = min(w(ideal), w(stages))        stage_imbalance = w(stages) - bubble
//   cause of k = w(k) - w(k - 1)                 idle, exposed_tensor ..., exposed_pipeline,
//                                                exposed_data, in this order
//
// symbol  | meaning                                                            | unit | origin
// --------|--------------------------------------------------------------------|------|----------
// T       | makespan of a replay                                               | ns   | engine/
// busy    | of the device: the passes of the replay, the optimizer, the copies | ns   | stage costs
//         | that occupy its compute stream                                     |      |
// work    | all of a pass but idle and exposed communication                   | ns   | stage costs
//
// Each cause is charged with what it adds to those before it: of two that delay the same moment the
// first pays, of two that cost time only together the second. So the bubble depends on neither
// network nor stages, and a wire that is slow where a stage is light anyway costs nothing. The
// share of the passes' own collectives goes to tensor, context and experts as their times. Orders
// are static, so a replay with one cause more is never shorter. A device may yet wait less in it,
// when the time falls into waiting that it had: that is taken from the imbalance, then from the
// causes before it, the latest first, and from the bubble last. The sum of a device is what it
// waits in the executed step, exactly.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/step_result.hpp"

namespace orrery::step {

// A duration with its composition, in integer nanoseconds: total == sum of parts.
struct TaskParts {
  SimTime total;
  std::array<SimTime, kStepCategories> parts{};
};

using CategoryTimes = std::array<SimTime, kStepCategories>;

struct ExecutedStep {
  const schedule::StepGraph& graph;
  const engine::Timing& timing;
  std::span<const SimTime> delays;
  std::span<const TaskParts* const> parts;  // by class of tasks
  std::span<const SimTime> stretch;         // by TaskId; empty: none
  std::int64_t devices = 1;
};

// A device waits: before a task, or at the end of the step.
struct DeviceWait {
  std::int32_t device = 0;
  StepCategory category = StepCategory::bubble;
  SimTime start = {};
  SimTime end = {};
};

struct WaitCauses {
  std::vector<CategoryTimes> of_device;  // waiting by category
  SimTime without_communication;         // makespan of the replay `gpus`
};

[[nodiscard]] WaitCauses find_wait_causes(const ExecutedStep& step);

// Whether the task occupies its device: a pass, the optimizer, or a message that its sender copies.
[[nodiscard]] bool occupies(const schedule::StepTask& task);

// The same without messages.
[[nodiscard]] bool is_compute(const schedule::StepTask& task);

}  // namespace orrery::step
