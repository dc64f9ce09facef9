#include "tests/unit/run/reference_run.hpp"

#include <algorithm>

namespace orrery::run::testing {

ReferenceRun::ReferenceRun(const RunPlan& plan, std::span<const ScriptedFailure> failures)
    : plan_(plan),
      failures_(failures),
      tiers_(plan.checkpoint.tiers.size()),
      maintenance_(plan.maintenance.period.ns),
      unitemised_(plan.unitemised.period.ns) {
  tiers_.back().durable = 0;
}

// Lets time pass, unless a failure or the end of the run comes first. A failure at the very end
// does not count, it strikes what follows.
ReferenceRun::Outcome ReferenceRun::spend(std::int64_t length, RunCategory category) {
  const std::int64_t wanted = now_ + length;
  const bool has_failure = next_failure_ < failures_.size();
  const std::int64_t failure = has_failure ? failures_[next_failure_].at.ns : INT64_MAX;
  const std::int64_t end = plan_.end.ns;
  const std::int64_t until = std::min({wanted, failure, end});
  if (category == RunCategory::productive) {
    partial_ += until - now_;
  } else {
    result_.ns[category] += until - now_;
  }
  now_ = until;
  for (Tier& tier : tiers_) {
    if (tier.flight_until >= 0 && tier.flight_until <= now_) {
      tier.durable = tier.flight;
      tier.flight_until = -1;
      ++result_.saves;
    }
  }
  if (wanted <= failure && wanted <= end) {
    return Outcome::done;
  }
  if (failure <= end) {
    cause_ = failures_[next_failure_].cause;
    ++next_failure_;
    ++result_.failures;
    return Outcome::failed;
  }
  return Outcome::over;
}

bool ReferenceRun::save_is_due() const {
  if (!plan_.checkpoint.every_steps || steps() - saved_ < *plan_.checkpoint.every_steps) {
    return false;
  }
  for (const SavedCopy& copy : plan_.checkpoint.save(saves_begun_ + 1).copies) {
    if (tiers_[static_cast<std::size_t>(copy.tier)].flight_until >= 0) {
      return false;
    }
  }
  return true;
}

ReferenceRun::Outcome ReferenceRun::regular_save() {
  const PlannedSave& save = plan_.checkpoint.save(++saves_begun_);
  saved_ = steps();
  for (const SavedCopy& copy : save.copies) {
    if (copy.durable > save.stall) {
      tiers_[static_cast<std::size_t>(copy.tier)].flight = saved_;
      tiers_[static_cast<std::size_t>(copy.tier)].flight_until = now_ + copy.durable.ns;
    }
  }
  const Outcome outcome = spend(save.stall.ns, RunCategory::checkpoint_stall);
  for (const SavedCopy& copy : save.copies) {
    if (outcome == Outcome::done && copy.durable <= save.stall) {
      tiers_[static_cast<std::size_t>(copy.tier)].durable = saved_;
      ++result_.saves;
    }
  }
  return outcome;
}

ReferenceRun::Outcome ReferenceRun::save_and_wait() {
  const Tier& last = tiers_.back();
  std::int64_t length = last.flight_until >= 0 ? last.flight_until - now_ : 0;
  if (last.flight_until < 0 || last.flight != steps()) {
    length += plan_.checkpoint.saves.back().copies.back().durable.ns;
  }
  const Outcome outcome = spend(length, RunCategory::checkpoint_stall);
  if (outcome == Outcome::done) {
    result_.saves += tiers_.back().durable != steps() ? 1 : 0;
    saved_ = tiers_.back().durable = steps();
  }
  return outcome;
}

ReferenceRun::Outcome ReferenceRun::one_step() {
  const PlannedPhase& phase = plan_.phases[phase_of_step(plan_.phases, steps())];
  const Outcome outcome = spend(phase.step_time.ns, RunCategory::productive);
  if (outcome == Outcome::done) {
    kept_.push_back(partial_);
    partial_ = 0;
  }
  return outcome;
}

ReferenceRun::Outcome ReferenceRun::step_boundary() {
  if (stalled_until_ > now_) {
    return spend(stalled_until_ - now_, RunCategory::rework);
  }
  const std::int64_t stored = tiers_.back().durable;
  const bool at_target = plan_.target_steps && steps() == *plan_.target_steps;
  if (at_target) {
    if (plan_.checkpoint.final_save && stored != steps()) {
      return save_and_wait();
    }
  } else if (save_is_due()) {
    return regular_save();
  }
  if (plan_.evaluation_steps && steps() > evaluated_ && steps() % *plan_.evaluation_steps == 0) {
    const Outcome outcome = spend(plan_.evaluation_time.ns, RunCategory::evaluation);
    evaluated_ = outcome == Outcome::done ? steps() : evaluated_;
    return outcome;
  }
  if (at_target) {
    finished_ = true;
    return Outcome::over;
  }
  if (steps() == plan_.phases[changed_].until_step) {
    const SimTime change = plan_.phases[changed_ + 1].change;
    if (change > SimTime{} && stored != steps()) {
      return save_and_wait();
    }
    ++changed_;
    running_ = change == SimTime{};
    const Outcome outcome = spend(change.ns, RunCategory::restart_scheduling);
    running_ = running_ || outcome == Outcome::done;
    return outcome;
  }
  if (reworked_ < plan_.rework.size() && steps() == plan_.rework[reworked_].at_step) {
    const PlannedRework& rework = plan_.rework[reworked_++];
    undo_to(steps() - rework.discard_steps, RunCategory::rework);
    tiers_.back().durable = steps();
    stalled_until_ = now_ + rework.stall.ns;
    return spend(rework.stall.ns, RunCategory::rework);
  }
  if (maintenance_ <= now_) {
    if (stored != steps()) {
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

// Back to `steps`; what was trained beyond is booked as `category`.
void ReferenceRun::undo_to(std::int64_t steps, RunCategory category) {
  std::int64_t undone = partial_;
  partial_ = 0;
  while (this->steps() > steps) {
    undone += kept_.back();
    kept_.pop_back();
  }
  result_.ns[category] += undone;
  for (Tier& tier : tiers_) {
    tier.flight_until = -1;
    if (tier.durable > steps) {
      tier.durable = -1;
    }
  }
  saved_ = steps;
  saves_begun_ = plan_.checkpoint.every_steps ? steps / *plan_.checkpoint.every_steps : 0;
  changed_ = std::min(changed_, phase_of_step(plan_.phases, steps));
  forget_evaluations();
}

void ReferenceRun::forget_evaluations() {
  if (plan_.evaluation_steps) {
    const std::int64_t every = *plan_.evaluation_steps;
    evaluated_ = std::min(evaluated_, steps() / every * every);
  }
}

ReferenceRun::Outcome ReferenceRun::stage(RecoveryStage stage, RunCategory category) {
  const auto cause = static_cast<std::size_t>(cause_);
  const Duration& law = stage == RecoveryStage::load
                            ? plan_.checkpoint.tiers[source_].load[cause]
                            : plan_.recovery.stages[cause][index_of(stage)];
  return spend(bounded_time(mean(law)).ns, category);
}

// All fixed stages of the last cause, from the first again whenever one is struck.
ReferenceRun::Outcome ReferenceRun::recover() {
  const auto cause = static_cast<std::size_t>(cause_);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    if (plan_.checkpoint.tiers[i].survival.by_cause[cause] == 0.0) {
      tiers_[i].durable = i + 1 == tiers_.size() ? 0 : -1;
    }
  }
  const bool late_save = running_ && plan_.checkpoint.just_in_time &&
                         plan_.checkpoint.just_in_time->survival.by_cause[cause] == 1.0;
  source_ = tiers_.size() - 1;
  if (late_save) {
    undo_to(steps(), RunCategory::lost_work);
  } else {
    for (std::size_t i = tiers_.size() - 1; i-- > 0;) {
      source_ = tiers_[i].durable >= tiers_[source_].durable ? i : source_;
    }
    undo_to(tiers_[source_].durable, RunCategory::lost_work);
  }
  running_ = false;
  const auto jit = [&]() {
    if (!late_save) {
      return Outcome::done;
    }
    const Outcome outcome =
        spend(plan_.checkpoint.just_in_time->save.ns, RunCategory::checkpoint_stall);
    if (outcome == Outcome::done) {
      tiers_.back().durable = steps();
      ++result_.saves;
    }
    return outcome;
  };
  Outcome outcome = stage(RecoveryStage::detect, RunCategory::detection);
  outcome = outcome == Outcome::done ? jit() : outcome;
  constexpr RunCategory kCategories[] = {RunCategory::diagnosis, RunCategory::restart_scheduling,
                                         RunCategory::restart_communicator,
                                         RunCategory::restart_load, RunCategory::restart_warm_up};
  for (std::size_t i = 1; i < kRecoveryStageCount && outcome == Outcome::done; ++i) {
    outcome = stage(static_cast<RecoveryStage>(i), kCategories[i - 1]);
  }
  if (outcome == Outcome::done) {
    running_ = true;
    while (maintenance_ <= now_) {
      maintenance_ += plan_.maintenance.period.ns;
    }
  }
  return outcome;
}

ReferenceResult ReferenceRun::run() {
  Outcome outcome = Outcome::done;
  while (outcome != Outcome::over) {
    outcome = outcome == Outcome::failed ? recover() : step_boundary();
  }
  result_.wall = now_;
  result_.steps = steps();
  for (const std::int64_t step : kept_) {
    result_.ns[RunCategory::productive] += step;
  }
  result_.ns[RunCategory::productive] += partial_;
  return result_;
}

}  // namespace orrery::run::testing
