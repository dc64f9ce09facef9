// The part of RunSimulator that chooses the next state: at a step boundary at which more is due
// than a save, and when a state has ended.

#include <algorithm>

#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// At the target, at a step where something is due, or when a stop is due: all that can come next,
// in order.
void RunSimulator::choose_state() {
  begin_ = now_;  // the state before is over and booked
  if (wishes_.pace) {
    set_pace();
    changes_.agenda = true;
  } else if (steps_ > agenda_.next_step()) {  // growth was planned while training waited for a save
    changes_.agenda = true;
  }
  const bool at_target = agenda_.ends_at(steps_);
  if (agenda_.stalled_until() > now_) {  // a failure came in between
    enter(Stopped{Stop::rework}, agenda_.stalled_until() - now_);
  } else if (at_target && plan_.checkpoint.final_save && !saves_.are_stored(steps_)) {
    begin_blocking_save();
  } else if (!at_target && begin_pending_change()) {  // has put its state in place
  } else if (!at_target && saves_.is_due(now_, steps_)) {
    enter(Saving{}, saves_.begin(now_, steps_, job_gpus_));
  } else if (agenda_.evaluates_at(steps_)) {
    enter(Stopped{Stop::evaluation}, plan_.evaluation_time);
  } else if (at_target) {
    stop(StopReason::target_reached);
  } else if (steps_ == agenda_.phase().until_step) {
    enter_phase();
  } else if (const PlannedRework* rework = agenda_.rework_at(steps_)) {
    begin_rework(*rework);
  } else if (!begin_due_stop()) {
    changes_.agenda = true;
    commit();
    begin_training();
  }
  if (changes_.any()) {
    commit();
  }
}

// What was asked for while the job trained: steps in vain, an eviction, a save before nodes leave,
// a larger job. False when nothing of that is due.
bool RunSimulator::begin_pending_change() {
  if (const std::int64_t in_vain = disturbances_.take_steps_in_vain(); in_vain > 0) {
    enter(Stopped{Stop::rework}, times(in_vain, step_time_));
    changes_.agenda = true;
    return true;
  }
  while (departures_.save_at() <= now_) {
    const SimTime leaves = departures_.next();
    departures_.deal_with(leaves);
    expect_departure();
    changes_.agenda = true;
    if (!saves_.are_stored(steps_) && now_ + saves_.blocking_time(now_, steps_) < leaves) {
      begin_blocking_save();
      return true;
    }
  }
  const bool at_save = steps_ >= saves_.next() || agenda_.grows_at_once();
  const bool grows = wishes_.growth && (at_save || saves_.are_stored(steps_));
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
  enter(Saving{.blocks = true}, saves_.blocking_time(now_, steps_));
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
  wishes_.pace = true;
  changes_.agenda = true;
  if (stops) {
    enter(Stopped{Stop::phase_change}, next.change);
  } else {
    changes_.pace = true;
    commit();
    next_state();
  }
}

// Work is thrown away on purpose; the state before it is still there.
void RunSimulator::begin_rework(const PlannedRework& rework) {
  const std::int64_t back = steps_ - std::min(steps_, rework.discard_steps);
  agenda_.begin_rework(now_ + rework.stall);
  go_back(back, RunCategory::rework, -1);
  saves_.states().put(back);
  changes_.pace = true;
  enter(Stopped{Stop::rework}, rework.stall);
}

// Nodes are ready that make the job larger: it restarts on them.
void RunSimulator::grow() {
  fit_nodes();
  changes_.agenda = true;
  ++result_.resizes;
  begin_stages(state_.emplace<Recovering>(recovery_.growth()), RecoveryStage::reschedule);
}

// A slow node is replaced, its state saved.
void RunSimulator::evict() {
  const std::int32_t cause = disturbances_.evict();
  wishes_.pace = true;
  changes_.agenda = true;
  ++result_.evictions;
  Outage& stopped = outage();
  stopped = recovery_.from_storage();  // it waited until its state was there
  lose_nodes(stopped, cause);
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
    enter(Stopped{Stop::maintenance}, plan_.maintenance.stall);
  } else if (agenda_.take_unitemised(now_)) {
    enter(Stopped{Stop::unitemised}, plan_.unitemised.stall);
  } else {
    return false;
  }
  changes_.agenda = true;
  return true;
}

// The state has lasted its time. Returns whether the job stands at a step boundary now, free to go
// on.
[[gnu::flatten]] bool RunSimulator::end_other_state() {
  book_state();
  const bool goes_on = end_state();
  if (changes_.any()) {
    commit();
  }
  return goes_on;
}

bool RunSimulator::end_state() {
  if (auto* recovering = std::get_if<Recovering>(&state_)) {
    return end_stage(*recovering);
  }
  if (const auto* stopped = std::get_if<Stopped>(&state_)) {
    if (stopped->why == Stop::phase_change) {
      return change_size();
    }
    if (stopped->why == Stop::evaluation) {
      agenda_.end_evaluation();
      changes_.agenda = true;
    }
  } else {  // a save that blocked
    saves_.end_blocking(steps_, job_gpus_);
  }
  return true;
}

bool RunSimulator::end_stage(Recovering& state) {
  Outage& outage = state.outage;
  switch (state.stage) {
    case Stage::detect:
      if (outage.saves_late) {
        begin_stage(state, Stage::late_save, plan_.checkpoint.just_in_time->save);
      } else {
        begin_stages(state, RecoveryStage::diagnose);
      }
      break;
    case Stage::late_save:
      saves_.end_late(steps_);
      outage.saves_late = false;
      begin_stages(state, RecoveryStage::diagnose);
      break;
    case Stage::diagnose:
      replace_nodes(state);
      break;
    case Stage::failed_restart:
      begin_stages(state, RecoveryStage::reschedule);
      break;
    case Stage::reschedule:
      begin_stages(state, RecoveryStage::communicator_init);
      break;
    case Stage::communicator_init:
      if (recovery_.restart_fails()) {
        ++result_.failed_restarts;
        begin_stage(state, Stage::failed_restart, plan_.recovery.failed_restart);
      } else {
        begin_stages(state, RecoveryStage::load);
      }
      break;
    case Stage::load:
      if (steps_ > 0 && recovery_.copy_is_unreadable()) {  // the one before is tried
        ++result_.unreadable_checkpoints;
        go_back(recovery_.drop_copy(saves_.states(), outage, steps_), RunCategory::lost_work,
                outage.cause);
        begin_stages(state, RecoveryStage::load);
      } else {
        begin_stages(state, RecoveryStage::warm_up);
      }
      break;
    case Stage::warm_up:
      if (agenda_.maintenance_is_due(now_)) {  // done in the shadow of the recovery
        agenda_.end_maintenance(now_);
      }
      enter(Training{}, SimTime{});
      wishes_.growth = false;  // asked again: the recovery may have taken the nodes
      disturbances_.end_recovery(now_);
      consider_growth();
      changes_.agenda = changes_.pace = true;
      return true;
  }
  return false;
}

// `first` or the next stage that takes time.
void RunSimulator::begin_stages(Recovering& state, RecoveryStage first) {
  const std::int64_t gpus = pool_.job_nodes() * plan_.step.gpus_per_node;
  const Recovery::NextStage next =
      recovery_.next_stage(state.outage, first, gpus, saves_.resharded(gpus));
  begin_stage(state, static_cast<Stage>(next.stage), next.length);
  if (recovery_.is_exhausted()) {
    stop(StopReason::restarts_exhausted);
  }
}

void RunSimulator::begin_stage(Recovering& state, Stage stage, SimTime length) {
  state.stage = stage;
  begin_ = now_;
  end_ = now_ + length;
}

// Diagnosis is done: broken nodes leave, spares come in, and the job goes on, shrinks or waits.
void RunSimulator::replace_nodes(Recovering& state) {
  Outage& outage = state.outage;
  if (outage.broken > 0 || outage.lost > 0) {
    recovery_.blame_shortage(outage.cause);
  }
  if (outage.broken > 0 || pool_.job_nodes() != wanted_nodes()) {
    change_pool().lose(now_, outage.broken, outage.broken_bad);
    outage.broken = outage.broken_bad = 0;
    fit_nodes();
  }
  if (can_run()) {
    note_shrinking(outage);
    begin_stages(state, RecoveryStage::reschedule);
  } else {
    enter(Waiting{outage}, kForever - now_);
  }
}

// The nodes that the new phase asks for; returns whether they are there.
bool RunSimulator::change_size() {
  fit_nodes();
  if (!can_run()) {
    enter(Waiting{recovery_.shortage()}, kForever - now_);
    return false;
  }
  enter(Training{}, SimTime{});
  changes_.agenda = changes_.pace = true;
  return true;
}

// As many nodes as the phase asks for, or as there are: none is left to grow by.
void RunSimulator::fit_nodes() {
  wishes_.growth = false;
  NodePool& pool = change_pool();
  if (pool.job_nodes() > wanted_nodes()) {
    pool.release(now_, pool.job_nodes() - wanted_nodes());
  } else {
    recovery_.expect_nodes(pool.fill(now_, wanted_nodes()));
  }
}

// A job that restarts with fewer nodes than it wants.
void RunSimulator::note_shrinking(const Outage& outage) {
  if (pool_.job_nodes() < wanted_nodes()) {
    ++result_.resizes;
    recovery_.blame_shortage(outage.cause);
  }
}

bool RunSimulator::can_run() const {
  const std::int64_t nodes = pool_.job_nodes();
  return nodes >= wanted_nodes() ||
         (plan_.capacity.elastic && plan_.capacity.elastic->size_for(nodes) != nullptr);
}

// A shrunk job grows when the nodes at hand allow a larger size.
void RunSimulator::consider_growth() {
  const std::optional<PlannedElastic>& elastic = plan_.capacity.elastic;
  if (!elastic || wishes_.growth || elastic->grow == Growth::never || !runs(state_) ||
      pool_.job_nodes() >= wanted_nodes()) {
    return;
  }
  const std::int64_t possible = std::min(wanted_nodes(), pool_.job_nodes() + pool_.ready_nodes());
  const ElasticSize* present = elastic->size_for(pool_.job_nodes());
  const ElasticSize* larger = elastic->size_for(possible);
  if (larger != nullptr && (present == nullptr || larger->nodes > present->nodes)) {
    wishes_.growth = true;
    changes_.agenda = true;
  }
}

}  // namespace orrery::run
