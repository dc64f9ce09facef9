// The part of RunSimulator that deals with interrupts: failures and the stages of recovery.

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// The first of all interrupts; at the same nanosecond nodes first, the end of the run last.
void RunSimulator::find_interrupt() {
  interrupt_ = plan_.end;
  interrupt_kind_ = Interrupt::end;
  const auto consider = [this](SimTime at, Interrupt kind) {
    if (at <= interrupt_) {
      interrupt_ = at;
      interrupt_kind_ = kind;
    }
  };
  if (!options_.failures) {
    consider(failures_.next(), Interrupt::failure);
  } else if (scripted_ < options_.failures->size()) {
    consider((*options_.failures)[scripted_].at, Interrupt::failure);
  }
  if (!queue_.empty()) {
    consider(queue_.top().time, Interrupt::internal);
  }
  consider(pool_.next(), Interrupt::pool);
}

void RunSimulator::handle_interrupt() {
  switch (interrupt_kind_) {
    case Interrupt::pool:
      handle_pool();
      break;
    case Interrupt::internal:
      handle_internal();
      break;
    case Interrupt::failure:
      handle_failure();
      break;
    case Interrupt::end:
      end_of_run();
      return;
  }
  if (!over_) {
    find_interrupt();
  }
}

void RunSimulator::end_of_run() {
  cut_off();
  stop(plan_.target_steps ? StopReason::horizon : StopReason::window_over);
}

// Books the action in progress, with the part of a step that it ends in.
void RunSimulator::cut_off() {
  book_action();
  if (action_ == Action::train) {
    const std::int64_t trained = now_.ns - action_begin_.ns;
    steps_ += trained / step_time_.ns;
    const Pace& pace = paces_.current();
    const Int128 tail = trained % step_time_.ns;
    const Int128 consumed = tail * pace.gpus;
    const Int128 productive = std::min(consumed, pace.planned * tail / step_time_.ns);
    result_.ledger.book(RunCategory::productive, productive);
    result_.ledger.book(RunCategory::degraded, consumed - productive);
  }
}

void RunSimulator::handle_failure() {
  if (!options_.failures) {
    strike(failures_.take(now_));
    return;
  }
  const std::int32_t cause = (*options_.failures)[scripted_++].cause;
  const auto index = static_cast<std::size_t>(cause);
  ORRERY_CHECK(index < plan_.causes.size(),
               "failure of cause {}, but the plan has {} causes",
               cause,
               plan_.causes.size());
  strike({.cause = cause, .nodes = plan_.causes[index].takes_nodes, .bad = 0, .outage = {}});
}

// Something happens at now_: a failure, or one of the effects that only a running job feels.
void RunSimulator::strike(const Strike& failure) {
  const PlannedCause& cause = plan_.causes[static_cast<std::size_t>(failure.cause)];
  if (cause.effect != StrikeEffect::failure) {
    if (is_running()) {
      ++result_.failures_by_cause[static_cast<std::size_t>(failure.cause)];
      disturb(cause);
    }
    return;
  }
  if (action_ == Action::wait) {
    strike_while_waiting(failure);
    return;
  }
  ++result_.failures;
  ++result_.failures_by_cause[static_cast<std::size_t>(failure.cause)];
  book_action();
  if (options_.timeline != nullptr) {
    options_.timeline->add({now_, now_, RunActivity::failure, failure.cause});
  }
  const std::int64_t taken = std::min(failure.nodes, pool_.job_nodes() - broken_);
  broken_ += taken;
  broken_bad_ += std::min(failure.bad, taken);
  roll_back(failure.cause, taken);
  outage_ = failure.outage;
  if (gives_up()) {
    return;
  }
  begin_recovery(failure.cause);
}

// After a failure: whether it was one too many.
bool RunSimulator::gives_up() {
  if (++fruitless_failures_ >= kHopelessFailures) {
    stop(StopReason::no_progress);
    return true;
  }
  return fails_too_often();
}

bool RunSimulator::fails_too_often() {
  if (result_.failures >= kMostFailures) {
    stop(StopReason::too_many_failures);
  }
  return over_;
}

// No process runs that could break; a log knows of nodes that did all the same.
void RunSimulator::strike_while_waiting(const Strike& failure) {
  const std::int64_t taken = std::min(failure.nodes, pool_.job_nodes());
  if (taken == 0) {
    return;
  }
  ++result_.failures;
  ++result_.failures_by_cause[static_cast<std::size_t>(failure.cause)];
  book_action();
  if (options_.timeline != nullptr) {
    options_.timeline->add({now_, now_, RunActivity::failure, failure.cause});
  }
  action_begin_ = now_;
  settle();
  pool_.lose(now_, taken, std::min(failure.bad, taken));
  saved_.strike(failure.cause, lost_nodes_, lost_nodes_ + taken, luck_);
  lost_nodes_ += taken;
  change_nodes();
  (void)fails_too_often();
}

// Back to the newest state that is left, or to the present one where the surviving replicas can
// still save it.
void RunSimulator::roll_back(std::int32_t cause, std::int64_t taken_nodes) {
  const std::int64_t after = lost_nodes_ + taken_nodes;
  saved_.abort();
  saved_.strike(cause, lost_nodes_, after, luck_);
  late_save_ = false;
  if (is_running() && plan_.checkpoint.just_in_time) {
    const double survives = plan_.checkpoint.just_in_time->survival.of(cause, lost_nodes_, after);
    late_save_ = survives >= 1.0 || (survives > 0.0 && luck_.uniform01() < survives);
  }
  lost_nodes_ = after;
  if (late_save_) {
    source_ = plan_.checkpoint.tiers.size() - 1;
    go_back(steps_now(), RunCategory::lost_work, cause);
  } else {
    const SavedStates::Source source = saved_.newest();
    source_ = source.tier;
    go_back(source.steps, RunCategory::lost_work, cause);
  }
}

// Training goes on after `to` steps: what was done beyond, and what of the present step was, is
// booked as `category` and blamed on `cause`, if not negative.
void RunSimulator::go_back(std::int64_t to, RunCategory category, std::int32_t cause) {
  UndoneWork undone;
  if (action_ == Action::train) {
    const std::int64_t done = steps_now();
    const SimTime into = now_ - action_begin_ - SimTime{(done - steps_) * step_time_.ns};
    steps_ = done;
    undone.wall = into;
    undone.gpu_ns = static_cast<Int128>(into.ns) * job_gpus_;
    action_begin_ = now_;
  }
  const std::int64_t changes = paces_.changes();
  const UndoneWork steps = paces_.undo(to, steps_);
  pace_is_stale_ = pace_is_stale_ || changes != paces_.changes();
  undone.wall += steps.wall;
  undone.gpu_ns += steps.gpu_ns;
  result_.ledger.book(category, undone.gpu_ns);
  blame(cause, undone.gpu_ns);
  if (options_.timeline != nullptr) {
    options_.timeline->mark_lost(undone.wall,
                                 category == RunCategory::rework ? RunActivity::discarded_training
                                                                 : RunActivity::lost_training);
  }
  steps_ = saved_steps_ = to;
  saves_ = checkpoint_ == kNever ? 0 : to / checkpoint_;  // the pattern follows the progress
  saved_.forget_after(to);
  blocked_until_ = SimTime{};
  for (Taint& taint : taints_) {  // the host is still there and goes on corrupting
    taint.clean_steps = std::min(taint.clean_steps, to);
  }
  if (next_evaluation_ > steps_ && evaluation_ != kNever) {
    next_evaluation_ = (steps_ / evaluation_ + 1) * evaluation_;
  }
  if (phase_ > 0 && steps_ < plan_.phases[phase_ - 1].until_step) {
    settle();
    phase_ = phase_of_step(plan_.phases, steps_);
    pace_is_stale_ = true;
  }
  plan_ahead();
}

void RunSimulator::begin_recovery(std::int32_t cause) {
  cause_ = cause;
  begin_stages(Action::detect);
  if (!plan_.failures.during_recovery) {
    expose(false);
    find_interrupt();
  }
}

// How long a stage lasts this time.
SimTime RunSimulator::stage_length(RecoveryStage stage) {
  if (outage_) {
    return stage == RecoveryStage::reschedule ? *outage_ : SimTime{};
  }
  SimTime length;
  if (cause_ >= 0) {
    const auto cause = static_cast<std::size_t>(cause_);
    const std::size_t index = index_of(stage);
    const Stage& planned = stages_[source_ * plan_.causes.size() + cause][index];
    length = planned.length;
    if (planned.law != nullptr) {
      length = bounded_time(sample(*planned.law, stage_[index]));
    }
    if (job_gpus_ != plan_.recovery.gpus) {
      length = bounded_time(plan_.recovery.scale(cause, stage, job_gpus_) * to_seconds(length));
    }
  }
  if (stage == RecoveryStage::reschedule) {
    length += readiness_;
    readiness_ = SimTime{};
  } else if (stage == RecoveryStage::load && gpus_saved_ != job_gpus_) {
    length += plan_.checkpoint.reshard;
  }
  return length;
}

// `first` or the next stage that takes time. Stages from whose end more follows than the next one
// are begun in any case.
void RunSimulator::begin_stages(Action first) {
  int stage = static_cast<int>(first) - static_cast<int>(Action::detect);
  while (true) {
    const auto action = static_cast<Action>(static_cast<int>(Action::detect) + stage);
    if (action == Action::reschedule) {
      ++restarts_;
      if (plan_.recovery.max_restarts && restarts_ > *plan_.recovery.max_restarts) {
        stop(StopReason::restarts_exhausted);
        return;
      }
    }
    const SimTime length = stage_length(static_cast<RecoveryStage>(stage));
    const bool passes_by =
        (action == Action::detect && !late_save_) || action == Action::reschedule;
    if (length > SimTime{} || !passes_by) {
      begin(action, length);
      return;
    }
    ++stage;
  }
}

// The communicators stand, or the restart has failed.
void RunSimulator::complete_communicators() {
  const double fails = plan_.recovery.restart_fails;
  if (fails > 0.0 && luck_.uniform01() < fails) {
    ++result_.failed_restarts;
    begin(Action::failed_restart, plan_.recovery.failed_restart);
    return;
  }
  begin_stages(Action::load);
}

// The state is loaded, or it turns out to be unreadable and the one before is tried.
void RunSimulator::complete_load() {
  const double corrupt = plan_.checkpoint.corrupt;
  if (corrupt > 0.0 && steps_ > 0 && luck_.uniform01() < corrupt) {
    ++result_.unreadable_checkpoints;
    saved_.drop(source_);
    const SavedStates::Source source = saved_.newest_until(steps_);
    source_ = source.tier;
    go_back(source.steps, RunCategory::lost_work, cause_);
    begin_stages(Action::load);
    return;
  }
  begin_stages(Action::warm_up);
}

// Training can go on. Planned stops due meanwhile were done in the shadow of the recovery.
void RunSimulator::complete_recovery() {
  if (next_maintenance_ <= now_) {
    next_maintenance_ = next_maintenance();
  }
  cause_ = -1;
  lost_nodes_ = 0;
  grow_pending_ = false;  // asked again below: the recovery may have taken the nodes
  outage_.reset();
  end_corruptions();
  if (!plan_.failures.during_recovery) {
    expose(true);
    find_interrupt();
  }
  if (pace_is_stale_ || repace_) {
    set_pace();
  }
  plan_ahead();
  consider_growth();
}

}  // namespace orrery::run
