#pragma once

// Durations of all tasks of a step graph: costs of the stages, rounded once to nanoseconds.
//
//   duration(task) = sum of its parts, each rounded to a whole nanosecond; compute x slowest GPU
//   stretch(task)  = what communication on the same GPU takes from it (paced_replay.hpp)
//
// symbol    | meaning                                                  | unit | origin
// ----------|----------------------------------------------------------|------|------------------
// parts     | composition of a task by ledger category                 | ns   | stage costs
// delays    | by delay index of the graph: messages between devices    | ns   | stage costs
//
// Classes of tasks (step_graph.hpp) with the same contents share one composition.

#include <span>
#include <vector>

#include "sim/base/sim_time.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/replay/attribution.hpp"
#include "sim/step/simulate/stages/stage_costs.hpp"

namespace orrery::step {

class TaskTimes {
 public:
  // `speeds` by device; empty: nominal.
  TaskTimes(const schedule::StepGraph& graph, const StageCosts& costs,
            std::span<const DeviceSpeed> speeds = {});

  [[nodiscard]] std::span<const SimTime> durations() const { return durations_; }

  [[nodiscard]] std::span<const SimTime> delays() const { return delays_; }

  // By class of tasks.
  [[nodiscard]] std::span<const TaskParts* const> parts() const { return parts_; }

  [[nodiscard]] std::span<const SimTime> stretch() const { return stretch_; }

  // The same steps at other speeds of the devices; made with as many of them. Forgets the stretch.
  void set_speeds(std::span<const DeviceSpeed> speeds);

  // From the durations of all nodes with their stretch, as a replay left them.
  void take_stretch(std::span<const SimTime> packed);

  // From when tasks ran: of communication, too.
  void take_stretch(const engine::Timing& timing);

 private:
  // What a composition is made of, before it is rounded.
  struct Raw {
    Parts parts;
    std::int32_t device = -1;  // whose speed it has; -1: none
  };

  void take_durations();

  const schedule::StepGraph& graph_;
  std::vector<Raw> raw_;
  std::vector<TaskParts> compositions_;
  std::vector<const TaskParts*> parts_;  // of compositions_
  std::vector<SimTime> durations_;
  std::vector<SimTime> delays_;
  std::vector<SimTime> stretch_;
};

// Each part rounded half to even; the total is their sum. Compute, recomputation and the optimizer
// take as long as the slowest GPU; on the mean of all GPUs a part of that is idle.
[[nodiscard]] TaskParts round_parts(const Parts& parts, const DeviceSpeed& speed = {});

}  // namespace orrery::step
