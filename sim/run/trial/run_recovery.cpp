// The part of RunSimulator that deals with interrupts: failures and the recovery from them, nodes
// that are slow or compute wrong results, loss spikes.

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// Steps done, those of the training in progress included.
std::int64_t RunSimulator::steps_now() const {
  if (action_ != Action::train) {
    return steps_;
  }
  return steps_ + std::min(action_steps_, (now_ - action_begin_).ns / step_time_.ns);
}

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
  if (sampled_ < options_.samples.size()) {
    consider(options_.samples[sampled_], Interrupt::sample);
  }
  consider(disturbances_.next(), Interrupt::disturbance);
  consider(pool_.next(), Interrupt::pool);
}

void RunSimulator::handle_interrupt() {
  switch (interrupt_kind_) {
    case Interrupt::pool:
      handle_pool();
      break;
    case Interrupt::disturbance:
      handle_disturbance();
      break;
    case Interrupt::sample:
      options_.progress->push_back(static_cast<double>(steps_now()));
      ++sampled_;
      break;
    case Interrupt::failure:
      handle_failure();
      break;
    case Interrupt::end:
      cut_off();
      stop(plan_.target_steps ? StopReason::horizon : StopReason::window_over);
      break;
  }
  if (!over_) {
    find_interrupt();
  }
}

// Books the action in progress, with the part of a step that it ends in.
void RunSimulator::cut_off() {
  book_action();
  if (action_ == Action::train) {
    const SimTime trained = now_ - action_begin_;
    steps_ += trained.ns / step_time_.ns;
    books_.book_tail(paces_.current(), SimTime{trained.ns % step_time_.ns});
  }
}

// What comes of a slow node, of wrong results.
void RunSimulator::handle_disturbance() {
  const Disturbances::Event event = disturbances_.take();
  switch (event.outcome) {
    case Disturbances::Outcome::slowdown_ends:
      agenda_.ask_for_pace();
      break;
    case Disturbances::Outcome::eviction:
      break;
    case Disturbances::Outcome::detection:
      detect_corruption(event.index);
      return;
    case Disturbances::Outcome::corruption:
      if (!runs(action_)) {
        disturbances_.corrupt_after_recovery(event.index);
      } else if (disturbances_.begin_corruption(now_, event.index, steps_now())) {
        ++result_.corruptions;
      }
      return;
  }
  look_ahead();
  cut_training(now_);
}

// Back behind the first wrong result; the host leaves, or is not found and stays.
void RunSimulator::detect_corruption(std::int32_t index) {
  const std::int32_t cause = plan_.failures.silent[static_cast<std::size_t>(index)].cause;
  const Disturbances::Detection found = disturbances_.detect(index);
  note_failure(cause);
  if (!found.host_stays) {
    remove_nodes(cause);
  }
  const SavedStates::Source clean = saves_.states().newest_until(found.clean_steps);
  recovery_.load_from(clean.tier);
  // A failure may have gone back behind it meanwhile.
  go_back(std::min(clean.steps, steps_now()), RunCategory::rework, cause);
  if (action_ == Action::wait) {
    settle();
    pool_.lose(now_, broken_, 0);
    broken_ = broken_bad_ = 0;
    change_nodes();
    return;
  }
  begin_recovery(cause);
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
    if (runs(action_)) {
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
  note_failure(failure.cause);
  const std::int64_t taken = std::min(failure.nodes, pool_.job_nodes() - broken_);
  broken_ += taken;
  broken_bad_ += std::min(failure.bad, taken);
  roll_back(failure.cause, taken);
  if (!gives_up()) {
    begin_recovery(failure.cause, failure.outage);
  }
}

void RunSimulator::disturb(const PlannedCause& cause) {
  if (disturbances_.is_one_too_many()) {
    cut_off();
    stop(StopReason::too_many_disturbances);
    return;
  }
  switch (cause.effect) {
    case StrikeEffect::slowdown:
      disturbances_.begin_slowdown(now_, cause.effect_index);
      ++result_.slowdowns;
      agenda_.ask_for_pace();
      look_ahead();
      cut_training(now_);
      break;
    case StrikeEffect::silent:
      if (disturbances_.begin_corruption(now_, cause.effect_index, steps_now())) {
        ++result_.corruptions;
      }
      break;
    case StrikeEffect::spike:
      begin_spike(plan_.failures.spikes[static_cast<std::size_t>(cause.effect_index)]);
      break;
    case StrikeEffect::failure:
      ORRERY_CHECK(false, "a failure of cause {} is no disturbance", cause.name);
  }
}

void RunSimulator::begin_spike(const PlannedSpike& plan) {
  ++result_.spikes;
  if (plan.skip_steps) {
    disturbances_.skip_steps(*plan.skip_steps);
    look_ahead();
    cut_training(now_);
    return;
  }
  note_failure(plan.cause);
  const std::int64_t least = std::max<std::int64_t>(0, steps_now() - plan.rewind_steps.value_or(0));
  const SavedStates::Source source = saves_.states().newest_until(least);
  recovery_.load_from(source.tier);
  go_back(source.steps, RunCategory::rework, plan.cause);
  begin_recovery(plan.cause);
}

// Books what was done until now; the failure is a mark in the timeline.
void RunSimulator::note_failure(std::int32_t cause) {
  book_action();
  books_.note_failure(now_, cause);
}

// The nodes of a slowdown or corruption leave with the copies that they hold.
void RunSimulator::remove_nodes(std::int32_t cause) {
  const std::int64_t nodes = std::min(plan_.causes[static_cast<std::size_t>(cause)].takes_nodes,
                                      pool_.job_nodes() - broken_);
  broken_ += nodes;
  recovery_.lose(saves_.states(), cause, nodes);
}

// After a failure: whether it was one too many.
bool RunSimulator::gives_up() {
  if (saves_.fail_hopelessly()) {
    stop(StopReason::no_progress);
    return true;
  }
  return fails_too_often();
}

bool RunSimulator::fails_too_often() {
  constexpr std::int64_t kMostFailures = 1'000'000;
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
  note_failure(failure.cause);
  settle();
  pool_.lose(now_, taken, std::min(failure.bad, taken));
  roll_back(failure.cause, taken);
  change_nodes();
  (void)fails_too_often();
}

// Back to the newest state that is left, or to the present one where the surviving replicas can
// still save it.
void RunSimulator::roll_back(std::int32_t cause, std::int64_t taken_nodes) {
  const std::optional<std::int64_t> newest =
      recovery_.roll_back(saves_.states(), cause, taken_nodes, runs(action_));
  go_back(newest.value_or(steps_now()), RunCategory::lost_work, cause);
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
  books_.undo(undone, category, cause);
  steps_ = to;
  saves_.go_back(to);
  disturbances_.go_back(to);
  if (agenda_.leaves_phase(to)) {
    settle();
    pace_is_stale_ = true;
  }
  agenda_.go_back(to);
  look_ahead();
}

void RunSimulator::begin_recovery(std::int32_t cause, std::optional<SimTime> outage) {
  recovery_.begin(cause, outage);
  begin_stages(RecoveryStage::detect);
  if (!plan_.failures.during_recovery) {
    expose(false);
    find_interrupt();
  }
}

void RunSimulator::begin_stages(RecoveryStage first) {
  const Recovery::NextStage next =
      recovery_.next_stage(first, job_gpus_, saves_.resharded(job_gpus_));
  begin(action_of(next.stage), next.length);
  if (recovery_.is_exhausted()) {
    stop(StopReason::restarts_exhausted);
  }
}

// The communicators stand, or the restart has failed.
void RunSimulator::complete_communicators() {
  if (recovery_.restart_fails()) {
    ++result_.failed_restarts;
    begin(Action::failed_restart, plan_.recovery.failed_restart);
    return;
  }
  begin_stages(RecoveryStage::load);
}

// The state is loaded, or it turns out to be unreadable and the one before is tried.
void RunSimulator::complete_load() {
  if (steps_ > 0 && recovery_.copy_is_unreadable()) {
    ++result_.unreadable_checkpoints;
    const std::int64_t older = recovery_.drop_copy(saves_.states(), steps_);
    go_back(older, RunCategory::lost_work, recovery_.cause());
    begin_stages(RecoveryStage::load);
    return;
  }
  begin_stages(RecoveryStage::warm_up);
}

// Training can go on. Planned stops due meanwhile were done in the shadow of the recovery.
void RunSimulator::complete_recovery() {
  if (agenda_.maintenance_is_due(now_)) {
    agenda_.end_maintenance(now_);
  }
  recovery_.end();
  agenda_.forget_growth();  // asked again below: the recovery may have taken the nodes
  const bool corrupts_again = disturbances_.end_recovery(now_);
  if (!plan_.failures.during_recovery) {
    expose(true);
  }
  if (corrupts_again || !plan_.failures.during_recovery) {
    find_interrupt();
  }
  if (pace_is_stale_ || agenda_.asks_for_pace()) {
    set_pace();
  }
  look_ahead();
  consider_growth();
}

}  // namespace orrery::run
