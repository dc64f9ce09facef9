// The half of RunSimulator that deals with step boundaries at which more is due than a save:
// evaluations, phases, rework, planned stops, and changes that wait for the end of a step.

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// The steps at `step_time`, on the nodes that the job holds, as its phase and slowdowns ask.
Pace RunSimulator::pace_now() {
  const PlannedPhase& phase = plan_.phases[phase_];
  std::int64_t step = phase.step_time.ns;
  const std::int64_t nodes = pool_.job_nodes();
  if (plan_.capacity.elastic && nodes < phase.nodes) {
    const PlannedElastic& elastic = *plan_.capacity.elastic;
    if (const ElasticSize* size = elastic.size_for(nodes)) {
      const Int128 scaled = static_cast<Int128>(step) * size->step_time.ns;
      step = static_cast<std::int64_t>(scaled / elastic.sizes.back().step_time.ns);
    }
  }
  const double slow = plan_.failures.step_factor * slowdowns_.worst();
  const Int128 planned = static_cast<Int128>(phase.step_time.ns) * (phase.nodes * gpus_per_node_);
  const SimTime paced =
      slow == 1.0 ? SimTime{step} : bounded_time(slow * to_seconds(SimTime{step}));
  return {std::max(paced, SimTime{1}), job_gpus_, planned};
}

// From this step on; the present action is over.
void RunSimulator::set_pace() {
  repace_ = pace_is_stale_ = false;
  const Pace pace = pace_now();
  paces_.change(steps_, pace);
  step_time_ = pace.step;
  longest_ = plan_.end.ns / step_time_.ns + 1;
  expect_departure();
}

// After any change of the agenda: what the frequent path compares with.
void RunSimulator::plan_ahead() {
  next_special_ = std::min({target_, next_evaluation_, plan_.phases[phase_].until_step});
  if (rework_ < plan_.rework.size()) {
    next_special_ = std::min(next_special_, plan_.rework[rework_].at_step);
  }
  next_stop_ = std::min({next_maintenance_, next_unitemised_, departures_.save_at()});
  const std::int64_t next_save = grows_at_once() ? steps_ : saved_steps_ + checkpoint_;
  if (grow_pending_ && next_save > steps_) {
    next_special_ = std::min(next_special_, next_save);
  } else if (grow_pending_) {
    next_stop_ = SimTime{};  // at the next step boundary
  }
  if (repace_ || steps_in_vain_ > 0 || !evictions_.empty() || stalled_until_ > now_) {
    next_stop_ = SimTime{};
  }
}

bool RunSimulator::grows_at_once() const {
  return checkpoint_ == kNever ||
         (plan_.capacity.elastic && plan_.capacity.elastic->grow == Growth::at_once);
}

// Training in progress ends with the step that it is in at `at`, or now if that is later.
void RunSimulator::cut_training(SimTime at) {
  if (action_ != Action::train || at >= action_end_) {
    return;
  }
  const std::int64_t into = std::max(at, now_).ns - action_begin_.ns;
  const std::int64_t steps = (into + step_time_.ns - 1) / step_time_.ns;
  if (steps < action_steps_) {
    action_steps_ = steps;
    action_end_ = action_begin_ + times(steps, step_time_);
  }
}

// At the target, at a step where something is due, or when a stop is due: all that can come next,
// in order.
void RunSimulator::special_action() {
  action_begin_ = now_;  // the action before is over and booked
  if (repace_) {
    set_pace();
    plan_ahead();
  } else if (steps_ > next_special_) {  // growth was planned while training waited for a save
    plan_ahead();
  }
  if (stalled_until_ > now_) {  // a failure came in between
    begin(Action::rework_stop, stalled_until_ - now_);
    return;
  }
  const bool at_target = steps_ == target_;
  if (at_target && plan_.checkpoint.final_save && saved_.on_storage() != steps_) {
    begin_blocking_save();
  } else if (!at_target && begin_pending_change()) {
    return;
  } else if (!at_target && steps_ >= saved_steps_ + checkpoint_ && blocked_until_ <= now_) {
    begin_save();
  } else if (steps_ == next_evaluation_) {
    begin(Action::evaluate, plan_.evaluation_time);
  } else if (at_target) {
    stop(StopReason::target_reached);
  } else if (steps_ == plan_.phases[phase_].until_step) {
    enter_phase();
  } else if (rework_ < plan_.rework.size() && steps_ == plan_.rework[rework_].at_step) {
    begin_rework();
  } else if (!begin_due_stop()) {
    plan_ahead();
    begin_training();
  }
}

// What was asked for while the job trained: steps in vain, an eviction, a save before nodes leave,
// a larger job. False when nothing of that is due.
bool RunSimulator::begin_pending_change() {
  if (steps_in_vain_ > 0) {
    begin(Action::rework_stop, times(steps_in_vain_, step_time_));
    steps_in_vain_ = 0;
    plan_ahead();
    return true;
  }
  while (departures_.save_at() <= now_) {
    const SimTime leaves = departures_.next();
    departures_.deal_with(leaves);
    expect_departure();
    plan_ahead();
    if (saved_.on_storage() != steps_ && now_ + blocking_save_time() < leaves) {
      begin_blocking_save();
      return true;
    }
  }
  if (!evictions_.empty()) {
    if (saved_.on_storage() != steps_) {
      begin_blocking_save();
    } else {
      evict();
    }
    return true;
  }
  const bool at_save = steps_ >= saved_steps_ + checkpoint_ || grows_at_once();
  if (grow_pending_ && (at_save || saved_.on_storage() == steps_)) {
    if (saved_.on_storage() != steps_) {
      begin_blocking_save();
    } else {
      grow();
    }
    return true;
  }
  return false;
}

SimTime RunSimulator::blocking_save_time() const {
  SimTime length;
  const bool in_flight = saved_.storage_flight_end() != kForever;
  if (in_flight) {
    length = saved_.storage_flight_end() - now_;
  }
  if (!in_flight || saved_.storage_flight() != steps_) {
    length += plan_.checkpoint.saves.back().copies.back().durable;
  }
  return length;
}

// Waits for the save in flight, then saves the present state unless that was it.
void RunSimulator::begin_blocking_save() {
  begin(Action::blocking_save, blocking_save_time());
}

// The next phase: its pace, and its nodes after a restart.
void RunSimulator::enter_phase() {
  const PlannedPhase& next = plan_.phases[phase_ + 1];
  const bool stops = next.nodes != plan_.phases[phase_].nodes || next.change > SimTime{};
  if (stops && saved_.on_storage() != steps_) {
    begin_blocking_save();
    return;
  }
  settle();
  ++phase_;
  pace_is_stale_ = true;
  if (!stops) {
    set_pace();
    plan_ahead();
    next_action();
    return;
  }
  plan_ahead();
  begin(Action::phase_change, next.change);
}

// Work is thrown away on purpose; the state before it is still there.
void RunSimulator::begin_rework() {
  const PlannedRework& rework = plan_.rework[rework_++];
  const std::int64_t back = steps_ - std::min(steps_, rework.discard_steps);
  go_back(back, RunCategory::rework, -1);
  saved_.put(back);
  set_pace();
  stalled_until_ = now_ + rework.stall;
  plan_ahead();
  begin(Action::rework_stop, rework.stall);
}

// The nodes that the new phase asks for; returns whether they are there.
bool RunSimulator::change_size() {
  settle();
  fit_nodes();
  if (!can_run_on(pool_.job_nodes())) {
    cause_ = missing_by_;
    source_ = plan_.checkpoint.tiers.size() - 1;
    wait_for_nodes();
    return false;
  }
  set_pace();
  plan_ahead();
  return true;
}

// Nodes are ready that make the job larger: it restarts on them.
void RunSimulator::grow() {
  settle();
  fit_nodes();
  plan_ahead();
  ++result_.resizes;
  cause_ = missing_by_;
  source_ = plan_.checkpoint.tiers.size() - 1;  // it waited until its state was there
  begin_stages(Action::reschedule);
}

// A slow node is replaced, its state saved.
void RunSimulator::evict() {
  const std::uint32_t id = evictions_.back();
  evictions_.pop_back();
  const auto index = static_cast<std::size_t>(slowdowns_.index_of(id));
  const std::int32_t cause = plan_.failures.slowdowns[index].cause;
  slowdowns_.end(id);
  pace_is_stale_ = true;
  ++result_.evictions;
  broken_ += std::min(plan_.causes[static_cast<std::size_t>(cause)].takes_nodes,
                      pool_.job_nodes() - broken_);
  source_ = plan_.checkpoint.tiers.size() - 1;  // it waited until its state was there
  plan_ahead();
  begin_recovery(cause);
}

// The first multiple of the period after now.
SimTime RunSimulator::next_maintenance() const {
  const SimTime period = plan_.maintenance.period;
  return period == kForever ? kForever : times(now_.ns / period.ns + 1, period);
}

// A planned or unitemised stop that is due, with the save before it; false when none is.
bool RunSimulator::begin_due_stop() {
  if (next_maintenance_ <= now_) {
    if (saved_.on_storage() != steps_) {
      begin_blocking_save();
      return true;
    }
    next_maintenance_ = next_maintenance();
    plan_ahead();
    begin(Action::planned_stop, plan_.maintenance.stall);
    return true;
  }
  if (next_unitemised_ <= now_) {
    next_unitemised_ += plan_.unitemised.period;
    plan_ahead();
    begin(Action::unitemised_stop, plan_.unitemised.stall);
    return true;
  }
  return false;
}

// Returns whether the job stands at a step boundary, free to go on.
bool RunSimulator::complete_other_action() {
  book_action();
  switch (action_) {
    case Action::blocking_save:
      saved_steps_ = steps_;
      gpus_saved_ = job_gpus_;
      if (saved_.on_storage() != steps_) {  // unless it was the save in flight
        saved_.put(steps_);
        copies_are_durable(1);
      }
      blocked_until_ = saved_.blocked_until(saves_ + 1);
      return true;
    case Action::evaluate:
      next_evaluation_ += evaluation_;
      plan_ahead();
      return true;
    case Action::phase_change:
      return change_size();
    case Action::late_save:
      saved_.put(steps_);
      saved_steps_ = steps_;
      late_save_ = false;
      copies_are_durable(1);
      begin_stages(Action::diagnose);
      return false;
    case Action::failed_restart:
      begin_stages(Action::reschedule);
      return false;
    case Action::detect:
      if (late_save_) {
        begin(Action::late_save, plan_.checkpoint.just_in_time->save);
      } else {
        begin_stages(Action::diagnose);
      }
      return false;
    case Action::diagnose:
      replace_nodes();
      return false;
    case Action::reschedule:
      begin_stages(Action::communicator_init);
      return false;
    case Action::communicator_init:
      complete_communicators();
      return false;
    case Action::load:
      complete_load();
      return false;
    case Action::warm_up:
      complete_recovery();
      return true;
    case Action::train:
    case Action::save:
    case Action::planned_stop:
    case Action::unitemised_stop:
    case Action::rework_stop:
    case Action::wait:
      break;
  }
  return true;
}

}  // namespace orrery::run
