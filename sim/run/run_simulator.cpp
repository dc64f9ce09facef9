#include "sim/run/run_simulator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

struct ActionBooking {
  RunCategory category;
  RunActivity activity;
};

// By RunSimulator::Action.
constexpr std::array<ActionBooking, 13> kBooking = {{
    {RunCategory::productive, RunActivity::training},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::checkpoint_stall, RunActivity::checkpoint},
    {RunCategory::evaluation, RunActivity::evaluation},
    {RunCategory::planned_maintenance, RunActivity::planned_maintenance},
    {RunCategory::unitemised, RunActivity::unitemised},
    {RunCategory::waiting_for_capacity, RunActivity::waiting_for_capacity},
    {RunCategory::detection, RunActivity::detection},
    {RunCategory::diagnosis, RunActivity::diagnosis},
    {RunCategory::restart_scheduling, RunActivity::scheduling},
    {RunCategory::restart_communicator, RunActivity::communicator_init},
    {RunCategory::restart_load, RunActivity::load},
    {RunCategory::restart_warm_up, RunActivity::warm_up},
}};

SimTime times(std::int64_t count, SimTime each) {
  return {count * each.ns};
}

std::array<RandomStream, kRecoveryStageCount> stage_streams(std::uint64_t seed,
                                                            std::uint32_t trial) {
  const auto later = [&](RecoveryStage stage) {
    return RandomStream(seed, trial, Purpose::recovery, static_cast<std::uint32_t>(stage));
  };
  return {RandomStream(seed, trial, Purpose::detection),
          RandomStream(seed, trial, Purpose::diagnosis),
          later(RecoveryStage::reschedule),
          later(RecoveryStage::communicator_init),
          later(RecoveryStage::load),
          later(RecoveryStage::warm_up)};
}

}  // namespace

RunSimulator::RunSimulator(const RunPlan& plan)
    : plan_(plan),
      step_time_(plan.step.step_time),
      target_(plan.target_steps.value_or(kNever)),
      checkpoint_(plan.checkpoint_steps.value_or(kNever)),
      evaluation_(plan.evaluation_steps.value_or(kNever)),
      longest_(plan.end.ns / plan.step.step_time.ns + 1),
      stall_(plan.stall),
      asynchronous_(plan.checkpoint_mode == CheckpointMode::async),
      failure_time_(plan.simulation.seed, 0, Purpose::failure_time),
      failure_cause_(plan.simulation.seed, 0, Purpose::failure_cause),
      repair_(plan.simulation.seed, 0, Purpose::repair),
      stage_(stage_streams(plan.simulation.seed, 0)) {
  ORRERY_CHECK(step_time_ > SimTime{} && plan.end > SimTime{} && plan.end <= kLongestTime,
               "a plan with steps of {} ns and its end at {} ns was not made by resolve_run",
               step_time_.ns,
               plan.end.ns);
  for (const PlannedCause& cause : plan.causes) {
    std::array<Stage, kRecoveryStageCount>& stages = stages_.emplace_back();
    for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
      const auto* known = std::get_if<FixedDuration>(&cause.recovery[i]);
      stages[i] = known != nullptr ? Stage{bounded_time(known->value), nullptr}
                                   : Stage{SimTime{}, &cause.recovery[i]};
    }
  }
}

void RunSimulator::reset(const TrialOptions& options) {
  options_ = options;
  options_.event_by_event = options.event_by_event || options.timeline != nullptr;
  now_ = action_begin_ = action_end_ = pool_since_ = tail_ = SimTime{};
  action_ = Action::train;
  action_steps_ = 0;
  durable_at_ = kForever;
  steps_ = saved_steps_ = durable_steps_ = checkpoints_ = 0;
  next_evaluation_ = evaluation_;
  next_maintenance_ = plan_.maintenance.period;
  next_unitemised_ = plan_.unitemised.period;
  plan_ahead();
  job_nodes_ = plan_.step.nodes;
  idle_spares_ = plan_.spares;
  in_repair_ = broken_ = 0;
  cause_ = -1;
  fruitless_failures_ = 0;
  scripted_ = 0;
  over_ = false;
  spent_.fill(SimTime{});
  result_ = RunResult{};
  result_.failures_by_cause.assign(plan_.causes.size(), 0);
  const std::uint64_t seed = plan_.simulation.seed;
  failure_time_ = RandomStream(seed, options.trial, Purpose::failure_time);
  failure_cause_ = RandomStream(seed, options.trial, Purpose::failure_cause);
  repair_ = RandomStream(seed, options.trial, Purpose::repair);
  stage_ = stage_streams(seed, options.trial);
  queue_.clear();
  queue_.push(plan_.end, kEndOfRun, 0);
  schedule_failure(false);
  next_event_ = queue_.top();
}

inline void RunSimulator::begin(Action action, SimTime length) {
  action_ = action;
  action_begin_ = now_;
  action_end_ = now_ + length;
}

// Whole steps until `time`, at least one; the last of them ends at or after it.
std::int64_t RunSimulator::steps_until(SimTime time) const {
  const std::int64_t wait = time.ns - now_.ns;
  return wait <= step_time_.ns ? 1 : (wait + step_time_.ns - 1) / step_time_.ns;
}

inline void RunSimulator::begin_training() {
  std::int64_t until_save = saved_steps_ + checkpoint_ - steps_;
  if (durable_at_ != kForever) {
    until_save = std::max(until_save, steps_until(durable_at_));
  }
  std::int64_t steps = std::min(std::min(longest_, next_special_ - steps_), until_save);
  if (now_ + times(steps, step_time_) > next_stop_) {
    steps = std::min(steps, steps_until(next_stop_));
  }
  action_steps_ = steps;
  begin(Action::train, times(steps, step_time_));
}

inline void RunSimulator::begin_save() {
  saved_steps_ = steps_;
  if (asynchronous_) {
    durable_at_ = now_ + plan_.durable;
  }
  begin(Action::save, stall_);
}

// What the job does next, at a step boundary.
inline void RunSimulator::next_action() {
  if (!options_.event_by_event && steps_ == saved_steps_) {
    skip_cycles();
  }
  if (steps_ == next_special_ || now_ >= next_stop_) [[unlikely]] {
    special_action();
  } else if (steps_ >= saved_steps_ + checkpoint_ && durable_at_ == kForever) {
    begin_save();
  } else {
    begin_training();
  }
}

// One event: the save in flight, the job's own action, or the first of the queue. Training and
// saves are by far the most frequent ones and kept apart from the others.
inline void RunSimulator::advance() {
  const SimTime interrupt = next_event_.time;
  if (durable_at_ <= action_end_ && durable_at_ <= interrupt) {
    now_ = durable_at_;
    durable_at_ = kForever;
    save_is_durable(saved_steps_);
    return;
  }
  if (action_end_ > interrupt ||
      (action_end_ == interrupt && next_event_.priority == kRepairDone)) {
    now_ = interrupt;
    handle_event();
    if (!over_) {
      next_event_ = queue_.top();
    }
    return;
  }
  now_ = action_end_;
  if (action_ == Action::train) {
    spent(RunCategory::productive) += now_ - action_begin_;
    record();
    steps_ += action_steps_;
  } else if (action_ == Action::save) {
    spent(RunCategory::checkpoint_stall) += stall_;
    record();
    if (!asynchronous_) {
      save_is_durable(steps_);
    }
  } else if (!complete_other_action()) {
    return;
  }
  next_action();
}

RunResult RunSimulator::run(const TrialOptions& options) {
  reset(options);
  next_action();
  while (!over_) {
    advance();
  }
  return result();
}

// Waits for the save in flight, then saves the present state unless that was it.
void RunSimulator::begin_blocking_save() {
  SimTime length;
  if (durable_at_ != kForever) {
    length = durable_at_ - now_;
  }
  if (durable_at_ == kForever || saved_steps_ != steps_) {
    length += plan_.durable;
  }
  begin(Action::blocking_save, length);
}

// The first multiple of the period after now.
SimTime RunSimulator::next_maintenance() const {
  const SimTime period = plan_.maintenance.period;
  return period == kForever ? kForever : times(now_.ns / period.ns + 1, period);
}

// A planned or unitemised stop that is due, with the save before it; false when none is.
bool RunSimulator::begin_stop() {
  if (next_maintenance_ <= now_) {
    if (durable_steps_ != steps_) {
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

// At the target, at the step of an evaluation, or when a stop is due: all that can come next, in
// order.
void RunSimulator::special_action() {
  if (steps_ == target_) {
    if (plan_.final_save && durable_steps_ != steps_) {
      begin_blocking_save();
      return;
    }
  } else if (steps_ >= saved_steps_ + checkpoint_ && durable_at_ == kForever) {
    begin_save();
    return;
  }
  if (steps_ == next_evaluation_) {
    begin(Action::evaluate, plan_.evaluation_time);
  } else if (steps_ == target_) {
    stop(StopReason::target_reached);
  } else if (!begin_stop()) {
    begin_training();
  }
}

// After any change of the agenda: what the frequent path compares with.
void RunSimulator::plan_ahead() {
  next_special_ = std::min(target_, next_evaluation_);
  next_stop_ = std::min(next_maintenance_, next_unitemised_);
}

bool RunSimulator::is_skippable() const {
  return checkpoint_ != kNever && checkpoint_ <= longest_ &&
         (!asynchronous_ || plan_.durable <= times(checkpoint_, step_time_) + stall_);
}

// Right after a save: whole cycles of training and save that end before anything else can happen.
void RunSimulator::skip_cycles() {
  if (!is_skippable()) {
    return;
  }
  const SimTime limit = std::min(next_event_.time, next_stop_);
  const SimTime cycle = times(checkpoint_, step_time_) + stall_;
  if (limit - now_ <= cycle) {
    return;
  }
  std::int64_t cycles = (limit.ns - now_.ns - 1) / cycle.ns;
  // The step of an evaluation may end a cycle; the target may not, its save is waited for.
  const std::int64_t room = next_special_ - steps_ - (next_special_ == target_ ? 1 : 0);
  if (cycles > room / checkpoint_) {
    cycles = room / checkpoint_;
  }
  if (cycles <= 0) {
    return;
  }
  spent(RunCategory::productive) += times(cycles * checkpoint_, step_time_);
  spent(RunCategory::checkpoint_stall) += times(cycles, stall_);
  now_ += times(cycles, cycle);
  steps_ += cycles * checkpoint_;
  if (durable_at_ != kForever) {  // the save in flight ended within the first cycle
    save_is_durable(saved_steps_);
    durable_at_ = kForever;
  }
  saved_steps_ = steps_;
  if (cycles > 1) {
    checkpoints_ += cycles - 2;
    save_is_durable(steps_ - checkpoint_);
  }
  const SimTime last_durable = now_ - stall_ + plan_.durable;
  if (last_durable <= now_) {  // always so for a synchronous save
    save_is_durable(steps_);
  } else {
    durable_at_ = last_durable;
  }
}

// Returns whether the job stands at a step boundary, free to go on.
bool RunSimulator::complete_other_action() {
  book_action();
  switch (action_) {
    case Action::blocking_save:
      saved_steps_ = steps_;
      if (durable_steps_ != steps_) {
        save_is_durable(steps_);
      }
      return true;
    case Action::evaluate:
      next_evaluation_ += evaluation_;
      plan_ahead();
      return true;
    case Action::detect:
      begin_stages(Action::diagnose);
      return false;
    case Action::diagnose:
      replace_nodes();
      return false;
    case Action::reschedule:
      begin_stages(Action::communicator_init);
      return false;
    case Action::communicator_init:
      begin_stages(Action::load);
      return false;
    case Action::load:
      begin_stages(Action::warm_up);
      return false;
    case Action::warm_up:  // planned stops due meanwhile were done in the shadow of the recovery
      if (next_maintenance_ <= now_) {
        next_maintenance_ = next_maintenance();
        plan_ahead();
      }
      cause_ = -1;
      return true;
    case Action::train:
    case Action::save:
    case Action::planned_stop:
    case Action::unitemised_stop:
    case Action::wait:
      break;
  }
  return true;
}

void RunSimulator::stop(StopReason reason) {
  over_ = true;
  result_.stop = reason;
}

// The cells are complete; closes the books and checks them.
RunResult RunSimulator::result() {
  settle_pool();
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    result_.ledger.book(static_cast<RunCategory>(i), plan_.job_gpus(), spent_[i]);
  }
  const Int128 wall = now_.ns;
  const Int128 allocated = wall * plan_.allocated_gpus();
  ORRERY_CHECK(result_.ledger.total() == allocated,
               "the run ledger holds {} GPU s, but {} GPUs were allocated for {} ns",
               in_seconds(result_.ledger.total_gpu_time()),
               plan_.allocated_gpus(),
               now_.ns);
  const Int128 trained =
      (static_cast<Int128>(steps_) * step_time_.ns + tail_.ns) * plan_.job_gpus();
  ORRERY_CHECK(result_.ledger.gpu_nanoseconds(RunCategory::productive) == trained,
               "{} GPU s are booked as productive, but {} steps of {} ns were done",
               in_seconds(result_.ledger.gpu_time(RunCategory::productive)),
               steps_,
               step_time_.ns);
  result_.wall = now_;
  result_.steps_done = steps_;
  result_.checkpoints = checkpoints_;
  result_.nodes_in_repair = in_repair_;
  const auto gpu_time = [&](RunCategory category) { return result_.ledger.gpu_time(category); };
  const Seconds job = static_cast<double>(plan_.job_gpus()) * to_seconds(now_);
  const Seconds meant =
      job - gpu_time(RunCategory::evaluation) - gpu_time(RunCategory::planned_maintenance);
  result_.goodput = gpu_time(RunCategory::productive) / job;
  result_.ettr = meant > Seconds{} ? gpu_time(RunCategory::productive) / meant : 0.0;
  if (plan_.prices.gpu_hour) {
    const std::int64_t billed =
        plan_.prices.bill_spares ? plan_.allocated_gpus() : plan_.job_gpus();
    result_.cost = static_cast<double>(billed) * (*plan_.prices.gpu_hour * to_seconds(now_));
  }
  return std::move(result_);
}

// Time of the whole job is added up as such and multiplied by its GPUs at the end; only while it
// waits are nodes missing.
void RunSimulator::book_action() {
  const RunCategory category = kBooking[static_cast<std::size_t>(action_)].category;
  if (action_ == Action::wait) {
    result_.ledger.book(category, job_nodes_ * plan_.step.gpus_per_node, now_ - action_begin_);
  } else {
    spent(category) += now_ - action_begin_;
  }
  record();
}

void RunSimulator::record_action() const {
  if (now_ > action_begin_) {
    const RunActivity activity = kBooking[static_cast<std::size_t>(action_)].activity;
    const std::int32_t cause = action_ >= Action::wait ? cause_ : -1;
    options_.timeline->add({action_begin_, now_, activity, cause});
  }
}

void RunSimulator::settle_pool() {
  const std::int64_t gpus = plan_.step.gpus_per_node;
  const SimTime since = now_ - pool_since_;
  result_.ledger.book(RunCategory::spare_idle, idle_spares_ * gpus, since);
  result_.ledger.book(RunCategory::repair, in_repair_ * gpus, since);
  pool_since_ = now_;
}

}  // namespace orrery::run
