#include "tests/unit/run/reference_run.hpp"

#include <algorithm>

namespace orrery::run::testing {

ReferenceRun::ReferenceRun(const RunPlan& plan, std::span<const ScriptedFailure> failures)
    : plan_(plan),
      failures_(failures),
      maintenance_(plan.maintenance.period.ns),
      unitemised_(plan.unitemised.period.ns) {}

// The save in flight protects from its end on; what was trained after its begin stays unprotected.
void ReferenceRun::settle_save(std::int64_t until) {
  if (flight_until_ >= 0 && flight_until_ <= until) {
    durable_ = saved_;
    trained_since_durable_ = trained_since_saved_;
    flight_until_ = -1;
    ++result_.saves;
  }
}

// Lets time pass, unless a failure or the end of the run comes first. A failure at the very end
// does not count, it strikes what follows.
ReferenceRun::Outcome ReferenceRun::spend(std::int64_t length, RunCategory category) {
  const std::int64_t wanted = now_ + length;
  const bool has_failure = next_failure_ < failures_.size();
  const std::int64_t failure = has_failure ? failures_[next_failure_].at.ns : INT64_MAX;
  const std::int64_t end = plan_.end.ns;
  const std::int64_t until = std::min({wanted, failure, end});
  result_.ns[category] += until - now_;
  if (category == RunCategory::productive) {
    trained_since_durable_ += until - now_;
    trained_since_saved_ += until - now_;
  }
  now_ = until;
  settle_save(now_);
  if (wanted <= failure && wanted <= end) {
    return Outcome::done;
  }
  if (failure <= end) {
    ++next_failure_;
    ++result_.failures;
    return Outcome::failed;
  }
  return Outcome::over;
}

bool ReferenceRun::save_is_due() const {
  return plan_.checkpoint_steps && steps_ - saved_ >= *plan_.checkpoint_steps && flight_until_ < 0;
}

ReferenceRun::Outcome ReferenceRun::save_and_wait() {
  std::int64_t length = flight_until_ >= 0 ? flight_until_ - now_ : 0;
  if (flight_until_ < 0 || saved_ != steps_) {
    length += plan_.durable.ns;
  }
  const Outcome outcome = spend(length, RunCategory::checkpoint_stall);
  if (outcome == Outcome::done) {
    result_.saves += durable_ != steps_ ? 1 : 0;
    saved_ = durable_ = steps_;
    trained_since_durable_ = trained_since_saved_ = 0;
  }
  return outcome;
}

ReferenceRun::Outcome ReferenceRun::one_step() {
  const Outcome outcome = spend(plan_.step.step_time.ns, RunCategory::productive);
  steps_ += outcome == Outcome::done ? 1 : 0;
  return outcome;
}

ReferenceRun::Outcome ReferenceRun::step_boundary() {
  if (steps_ == plan_.target_steps) {
    if (plan_.final_save && durable_ != steps_) {
      return save_and_wait();
    }
  } else if (save_is_due()) {
    saved_ = steps_;
    trained_since_saved_ = 0;
    if (plan_.checkpoint_mode == CheckpointMode::async) {
      flight_until_ = now_ + plan_.durable.ns;
      return spend(plan_.stall.ns, RunCategory::checkpoint_stall);
    }
    const Outcome outcome = spend(plan_.stall.ns, RunCategory::checkpoint_stall);
    if (outcome == Outcome::done) {
      durable_ = steps_;
      trained_since_durable_ = 0;
      ++result_.saves;
    }
    return outcome;
  }
  if (plan_.evaluation_steps && steps_ > evaluated_ && steps_ % *plan_.evaluation_steps == 0) {
    const Outcome outcome = spend(plan_.evaluation_time.ns, RunCategory::evaluation);
    evaluated_ = outcome == Outcome::done ? steps_ : evaluated_;
    return outcome;
  }
  if (steps_ == plan_.target_steps) {
    finished_ = true;
    return Outcome::over;
  }
  if (maintenance_ <= now_) {
    if (durable_ != steps_) {
      return save_and_wait();
    }
    while (maintenance_ <= now_) {
      maintenance_ += plan_.maintenance.period.ns;
    }
    return spend(plan_.maintenance.stall.ns, RunCategory::planned_maintenance);
  }
  if (unitemised_ <= now_) {
    unitemised_ += plan_.unitemised.period.ns;
    return spend(plan_.unitemised.stall.ns, RunCategory::unitemised);
  }
  return one_step();
}

// All fixed stages of the last cause, from the first again whenever one is struck.
ReferenceRun::Outcome ReferenceRun::recover() {
  constexpr RunCategory kCategories[] = {RunCategory::detection,
                                         RunCategory::diagnosis,
                                         RunCategory::restart_scheduling,
                                         RunCategory::restart_communicator,
                                         RunCategory::restart_load,
                                         RunCategory::restart_warm_up};
  result_.ns[RunCategory::productive] -= trained_since_durable_;
  result_.ns[RunCategory::lost_work] += trained_since_durable_;
  trained_since_durable_ = trained_since_saved_ = 0;
  steps_ = saved_ = durable_;
  flight_until_ = -1;
  if (plan_.evaluation_steps) {
    evaluated_ = std::min(evaluated_, steps_ / *plan_.evaluation_steps * *plan_.evaluation_steps);
  }
  const auto& stages = plan_.causes.back().recovery;
  for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
    const Outcome outcome = spend(bounded_time(mean(stages[i])).ns, kCategories[i]);
    if (outcome != Outcome::done) {
      return outcome;
    }
  }
  while (maintenance_ <= now_) {
    maintenance_ += plan_.maintenance.period.ns;
  }
  return Outcome::done;
}

ReferenceResult ReferenceRun::run() {
  Outcome outcome = Outcome::done;
  while (outcome != Outcome::over) {
    outcome = outcome == Outcome::failed ? recover() : step_boundary();
  }
  result_.wall = now_;
  result_.steps = steps_;
  return result_;
}

}  // namespace orrery::run::testing
