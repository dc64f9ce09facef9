// The half of RunSimulator that deals with step boundaries at which more is due than a save:
// evaluations, phases, rework, planned stops, and changes that wait for the end of a step.

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// The steps at `step_time`, on the nodes that the job holds, as its phase and slowdowns ask.
Pace RunSimulator::pace_now() {
  const PlannedPhase& phase = agenda_.phase();
  std::int64_t step = phase.step_time.ns;
  const std::int64_t nodes = pool_.job_nodes();
  if (plan_.capacity.elastic && nodes < phase.nodes) {
    const PlannedElastic& elastic = *plan_.capacity.elastic;
    if (const ElasticSize* size = elastic.size_for(nodes)) {
      const Int128 scaled = static_cast<Int128>(step) * size->step_time.ns;
      step = static_cast<std::int64_t>(scaled / elastic.sizes.back().step_time.ns);
    }
  }
  const double slow = plan_.failures.step_factor * disturbances_.slowdown();
  const Int128 planned =
      static_cast<Int128>(phase.step_time.ns) * (phase.nodes * plan_.step.gpus_per_node);
  const SimTime paced =
      slow == 1.0 ? SimTime{step} : bounded_time(slow * to_seconds(SimTime{step}));
  return {std::max(paced, SimTime{1}), job_gpus_, planned};
}

// From this step on; the present action is over.
void RunSimulator::set_pace() {
  agenda_.set_pace();
  pace_is_stale_ = false;
  const Pace pace = pace_now();
  paces_.change(steps_, pace);
  step_time_ = pace.step;
  longest_ = plan_.end.ns / step_time_.ns + 1;
  expect_departure();
}

// After any change of the agenda: what the frequent path compares with.
void RunSimulator::look_ahead() {
  agenda_.look_ahead({.now = now_,
                      .steps = steps_,
                      .next_save = saves_.next(),
                      .departure = departures_.save_at(),
                      .urgent = disturbances_.is_urgent()});
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
  if (agenda_.asks_for_pace()) {
    set_pace();
    look_ahead();
  } else if (steps_ > agenda_.next_step()) {  // growth was planned while training waited for a save
    look_ahead();
  }
  if (agenda_.stalled_until() > now_) {  // a failure came in between
    begin(Action::rework_stop, agenda_.stalled_until() - now_);
    return;
  }
  const bool at_target = agenda_.ends_at(steps_);
  if (at_target && plan_.checkpoint.final_save && !saves_.are_stored(steps_)) {
    begin_blocking_save();
  } else if (!at_target && begin_pending_change()) {
    return;
  } else if (!at_target && saves_.is_due(now_, steps_)) {
    begin(Action::save, saves_.begin(now_, steps_, job_gpus_));
  } else if (agenda_.evaluates_at(steps_)) {
    begin(Action::evaluate, plan_.evaluation_time);
  } else if (at_target) {
    stop(StopReason::target_reached);
  } else if (steps_ == agenda_.phase().until_step) {
    enter_phase();
  } else if (const PlannedRework* rework = agenda_.rework_at(steps_)) {
    begin_rework(*rework);
  } else if (!begin_due_stop()) {
    look_ahead();
    begin_training();
  }
}

// What was asked for while the job trained: steps in vain, an eviction, a save before nodes leave,
// a larger job. False when nothing of that is due.
bool RunSimulator::begin_pending_change() {
  if (const std::int64_t in_vain = disturbances_.take_steps_in_vain(); in_vain > 0) {
    begin(Action::rework_stop, times(in_vain, step_time_));
    look_ahead();
    return true;
  }
  while (departures_.save_at() <= now_) {
    const SimTime leaves = departures_.next();
    departures_.deal_with(leaves);
    expect_departure();
    look_ahead();
    if (!saves_.are_stored(steps_) && now_ + saves_.blocking_time(now_, steps_) < leaves) {
      begin_blocking_save();
      return true;
    }
  }
  const bool at_save = steps_ >= saves_.next() || agenda_.grows_at_once();
  const bool grows = agenda_.asks_for_growth() && (at_save || saves_.are_stored(steps_));
  if (!disturbances_.asks_for_eviction() && !grows) {
    return false;
  }
  if (!saves_.are_stored(steps_)) {
    begin_blocking_save();
  } else if (disturbances_.asks_for_eviction()) {
    evict();
  } else {
    grow();
  }
  return true;
}

// Waits for the save in flight, then saves the present state unless that was it.
void RunSimulator::begin_blocking_save() {
  begin(Action::blocking_save, saves_.blocking_time(now_, steps_));
}

// The next phase: its pace, and its nodes after a restart.
void RunSimulator::enter_phase() {
  const PlannedPhase& next = agenda_.next_phase();
  const bool stops = next.nodes != agenda_.phase().nodes || next.change > SimTime{};
  if (stops && !saves_.are_stored(steps_)) {
    begin_blocking_save();
    return;
  }
  settle();
  agenda_.enter_next_phase();
  pace_is_stale_ = true;
  if (!stops) {
    set_pace();
    look_ahead();
    next_action();
    return;
  }
  look_ahead();
  begin(Action::phase_change, next.change);
}

// Work is thrown away on purpose; the state before it is still there.
void RunSimulator::begin_rework(const PlannedRework& rework) {
  const std::int64_t back = steps_ - std::min(steps_, rework.discard_steps);
  agenda_.begin_rework(now_ + rework.stall);
  go_back(back, RunCategory::rework, -1);
  saves_.states().put(back);
  set_pace();
  look_ahead();
  begin(Action::rework_stop, rework.stall);
}

// The nodes that the new phase asks for; returns whether they are there.
bool RunSimulator::change_size() {
  settle();
  fit_nodes();
  if (!can_run_on(pool_.job_nodes())) {
    recovery_.begin_shortage();
    wait_for_nodes();
    return false;
  }
  set_pace();
  look_ahead();
  return true;
}

// Nodes are ready that make the job larger: it restarts on them.
void RunSimulator::grow() {
  settle();
  fit_nodes();
  look_ahead();
  ++result_.resizes;
  recovery_.begin_growth();
  begin_stages(RecoveryStage::reschedule);
}

// A slow node is replaced, its state saved.
void RunSimulator::evict() {
  const std::int32_t cause = disturbances_.evict();
  pace_is_stale_ = true;
  ++result_.evictions;
  remove_nodes(cause);
  recovery_.load_from_storage();  // it waited until its state was there
  look_ahead();
  begin_recovery(cause);
}

// A planned or unitemised stop that is due, with the save before it; false when none is.
bool RunSimulator::begin_due_stop() {
  if (agenda_.maintenance_is_due(now_)) {
    if (!saves_.are_stored(steps_)) {
      begin_blocking_save();
      return true;
    }
    agenda_.end_maintenance(now_);
    look_ahead();
    begin(Action::planned_stop, plan_.maintenance.stall);
    return true;
  }
  if (agenda_.take_unitemised(now_)) {
    look_ahead();
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
      saves_.end_blocking(steps_, job_gpus_);
      return true;
    case Action::evaluate:
      agenda_.end_evaluation();
      look_ahead();
      return true;
    case Action::phase_change:
      return change_size();
    case Action::late_save:
      saves_.end_late(steps_);
      recovery_.end_late_save();
      begin_stages(RecoveryStage::diagnose);
      return false;
    case Action::failed_restart:
      begin_stages(RecoveryStage::reschedule);
      return false;
    case Action::detect:
      if (recovery_.saves_late()) {
        begin(Action::late_save, plan_.checkpoint.just_in_time->save);
      } else {
        begin_stages(RecoveryStage::diagnose);
      }
      return false;
    case Action::diagnose:
      replace_nodes();
      return false;
    case Action::reschedule:
      begin_stages(RecoveryStage::communicator_init);
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
