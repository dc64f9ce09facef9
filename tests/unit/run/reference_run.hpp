#pragma once

// A second, naive implementation of the run: one step at a time, no queue, no closed forms, the
// cost of every kept step in a list. It knows phases, rework, tiers of checkpoints, copies that
// certainly survive or certainly do not, and saves by the survivors; nothing of nodes, spares or
// chance. Used to check RunSimulator to the nanosecond.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run::testing {

struct ReferenceResult {
  std::int64_t wall = 0;
  std::int64_t steps = 0;
  std::int64_t saves = 0;
  std::int64_t failures = 0;
  std::map<RunCategory, std::int64_t> ns;
};

class ReferenceRun {
 public:
  ReferenceRun(const RunPlan& plan, std::span<const ScriptedFailure> failures);

  [[nodiscard]] ReferenceResult run();

 private:
  enum class Outcome { done, failed, over };

  struct Tier {
    std::int64_t durable = -1;
    std::int64_t flight = -1;
    std::int64_t flight_until = -1;  // -1: none in flight
  };

  Outcome spend(std::int64_t length, RunCategory category);
  Outcome step_boundary();
  Outcome regular_save();
  Outcome one_step();
  Outcome save_and_wait();
  Outcome recover();
  Outcome stage(RecoveryStage stage, RunCategory category);
  void undo_to(std::int64_t steps, RunCategory category);
  void forget_evaluations();
  [[nodiscard]] bool save_is_due() const;

  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(kept_.size()); }

  const RunPlan& plan_;
  std::span<const ScriptedFailure> failures_;
  std::size_t next_failure_ = 0;
  std::int64_t now_ = 0;
  std::vector<std::int64_t> kept_;  // wall time of every step done and kept
  std::int64_t partial_ = 0;        // time into the step in progress
  std::vector<Tier> tiers_;
  std::int64_t saved_ = 0;
  std::int64_t saves_begun_ = 0;
  std::int64_t evaluated_ = 0;
  std::int64_t maintenance_ = 0;
  std::int64_t unitemised_ = 0;
  std::size_t changed_ = 0;  // phases whose change is done
  std::size_t reworked_ = 0;
  std::int64_t stalled_until_ = 0;
  std::size_t source_ = 0;
  std::int32_t cause_ = 0;
  bool running_ = true;
  bool finished_ = false;
  ReferenceResult result_;
};

}  // namespace orrery::run::testing
