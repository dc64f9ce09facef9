#pragma once

// Replay of a step whose compute slows down while its GPU also communicates.
//
//   pace(t)     = 1 - slowdown while a data-parallel collective of the device runs, else 1
//   end(task)   = first e with e = start + duration + stretch
//   stretch     = slowdown * (time of [start, e) that the device's collectives run), whole ns
//
// symbol   | meaning                                                         | unit | origin
// ---------|-----------------------------------------------------------------|------|-----------
// slowdown | of compute by communication on the same SMs and memory          | 1    | software
// duration | of a task alone on its GPU                                      | ns   | task times
//
// One linear pass: a collective waits for nothing but tasks of its own device, so every one that
// begins before a compute task ends stands before that task in the order of an early task
// (task_graph.hpp), and its time is known by then. Start and end are those of an event-driven
// replay; a stretched task that moves others moves what runs beside them too.
//
// Complexity: O(tasks + edges).

#include <span>
#include <vector>

#include "sim/step/engine/replay.hpp"
#include "sim/step/schedule/step_graph.hpp"
#include "sim/step/simulate/replay/task_times.hpp"

namespace orrery::step {

// How compute slows beside a collective: everything in whole ns.
struct Pace {
  double slowdown = 0.0;

  [[nodiscard]] SimTime stretch(SimTime shared) const {
    return to_sim_time(to_seconds(shared) * slowdown);
  }

  // End of what would end at `alone` by itself, has shared its GPU for `shared` before and shares
  // it from `from` on, without an end. kForever where it does not go on at all.
  [[nodiscard]] SimTime end_beside(SimTime alone, SimTime shared, SimTime from) const;
};

class PacedReplay {
 public:
  // The graph must outlive it.
  PacedReplay(const schedule::StepGraph& graph, double slowdown);

  // The makespan; leaves durations with their stretch, and ends, of all nodes in `packed`.
  SimTime run(const TaskTimes& times, engine::Timing::Packed& packed);

  // The same for all tasks, with the stretch noted in `times`.
  void run(TaskTimes& times, engine::Timing& out);

 private:
  struct Span {
    SimTime start;
    SimTime end;
  };

  // Collectives of a device in the order they run, so sorted and disjoint. Compute comes in the
  // order of time too: `first` moves on past those that have ended.
  struct Device {
    std::vector<Span> collectives;
    std::size_t first = 0;
  };

  enum class Role : std::uint8_t { other, compute, collective };

  struct Class {
    Role role = Role::other;
    std::uint32_t device = 0;
    // The last stretch that was solved: tasks of a class mostly begin beside a collective alike.
    SimTime rest{-1};  // alone, from where the collective begins
    SimTime shared;
    SimTime beside;
  };

  // pace_.end_beside, which is the same wherever in time it lies.
  [[nodiscard]] SimTime end_beside(Class& of, SimTime alone, SimTime shared, SimTime from) const;
  [[nodiscard]] SimTime paced_end(Class& of, SimTime start, SimTime duration);
  [[nodiscard]] SimTime last_end(std::span<const SimTime> end) const;

  const schedule::StepGraph& graph_;
  Pace pace_;
  bool slows_ = false;          // compute is slowed at all
  std::vector<Class> classes_;  // by class of tasks, then the nodes that are none
  std::vector<Device> devices_;
};

}  // namespace orrery::step
