#pragma once

// A second, naive implementation of the run: one step at a time, no queue, no closed forms. It
// knows nothing of spares. Used to check RunSimulator to the nanosecond.

#include <cstdint>
#include <map>
#include <span>

#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_simulator.hpp"

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

  Outcome spend(std::int64_t length, RunCategory category);
  void settle_save(std::int64_t until);
  Outcome step_boundary();
  Outcome one_step();
  Outcome save_and_wait();
  Outcome recover();
  bool save_is_due() const;

  const RunPlan& plan_;
  std::span<const ScriptedFailure> failures_;
  std::size_t next_failure_ = 0;
  std::int64_t now_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t saved_ = 0;
  std::int64_t durable_ = 0;
  std::int64_t evaluated_ = 0;
  std::int64_t flight_until_ = -1;  // -1: no save in flight
  std::int64_t trained_since_durable_ = 0;
  std::int64_t trained_since_saved_ = 0;
  std::int64_t maintenance_ = 0;
  std::int64_t unitemised_ = 0;
  bool finished_ = false;
  ReferenceResult result_;
};

}  // namespace orrery::run::testing
