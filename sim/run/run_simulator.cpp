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
    {RunCategory::detection, RunActivity::detection},
    {RunCategory::diagnosis, RunActivity::diagnosis},
    {RunCategory::waiting_for_capacity, RunActivity::waiting_for_capacity},
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
      failure_time_(plan.simulation.seed, 0, Purpose::failure_time),
      failure_cause_(plan.simulation.seed, 0, Purpose::failure_cause),
      repair_(plan.simulation.seed, 0, Purpose::repair),
      stage_(stage_streams(plan.simulation.seed, 0)) {
  ORRERY_CHECK(step_time_ > SimTime{} && plan.end > SimTime{} && plan.end <= kLongestTime,
               "a plan with steps of {} ns and its end at {} ns was not made by resolve_run",
               step_time_.ns,
               plan.end.ns);
}

RunResult RunSimulator::run(const TrialOptions& options) {
  reset(options);
  next_action();
  while (!over_) {
    advance();
  }
  return result();
}

void RunSimulator::reset(const TrialOptions& options) {
  options_ = options;
  options_.event_by_event = options.event_by_event || options.timeline != nullptr;
  now_ = action_begin_ = action_end_ = pool_since_ = tail_ = SimTime{};
  action_ = Action::train;
  action_steps_ = 0;
  durable_at_ = kForever;
  steps_ = saved_steps_ = durable_steps_ = 0;
  next_evaluation_ = evaluation_;
  next_maintenance_ = plan_.maintenance.period;
  next_unitemised_ = plan_.unitemised.period;
  job_nodes_ = plan_.step.nodes;
  idle_spares_ = plan_.spares;
  in_repair_ = broken_ = 0;
  cause_ = -1;
  fruitless_failures_ = 0;
  scripted_ = 0;
  over_ = false;
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

// One event: the save in flight, the job's own action, or the first of the queue.
void RunSimulator::advance() {
  const SimTime interrupt = next_event_.time;
  if (durable_at_ <= action_end_ && durable_at_ <= interrupt) {
    now_ = durable_at_;
    durable_at_ = kForever;
    save_is_durable(saved_steps_);
    return;
  }
  if (action_end_ < interrupt ||
      (action_end_ == interrupt && next_event_.priority != kRepairDone)) {
    now_ = action_end_;
    complete_action();
    return;
  }
  now_ = interrupt;
  handle_event();
  if (!over_) {
    next_event_ = queue_.top();
  }
}

void RunSimulator::begin(Action action, SimTime length) {
  action_ = action;
  action_begin_ = now_;
  action_end_ = now_ + length;
}

// Whole steps until `time`, at least one; the last of them ends at or after it.
std::int64_t RunSimulator::steps_until(SimTime time) const {
  const std::int64_t wait = time.ns - now_.ns;
  return wait <= step_time_.ns ? 1 : (wait + step_time_.ns - 1) / step_time_.ns;
}

void RunSimulator::begin_training() {
  std::int64_t steps = std::min({longest_, target_ - steps_, next_evaluation_ - steps_});
  const std::int64_t until_due = checkpoint_ - (steps_ - saved_steps_);
  steps = std::min(
      steps, durable_at_ == kForever ? until_due : std::max(until_due, steps_until(durable_at_)));
  const SimTime stop = std::min(next_maintenance_, next_unitemised_);
  if (now_ + times(steps, step_time_) > stop) {
    steps = std::min(steps, steps_until(stop));
  }
  action_steps_ = steps;
  begin(Action::train, times(steps, step_time_));
}

void RunSimulator::begin_save() {
  saved_steps_ = steps_;
  if (plan_.checkpoint_mode == CheckpointMode::async) {
    durable_at_ = now_ + plan_.durable;
  }
  begin(Action::save, plan_.stall);
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
    begin(Action::planned_stop, plan_.maintenance.stall);
    return true;
  }
  if (next_unitemised_ <= now_) {
    next_unitemised_ += plan_.unitemised.period;
    begin(Action::unitemised_stop, plan_.unitemised.stall);
    return true;
  }
  return false;
}

// What the job does next, at a step boundary.
void RunSimulator::next_action() {
  if (!options_.event_by_event && steps_ == saved_steps_) {
    skip_cycles();
  }
  if (steps_ == target_) {
    if (plan_.final_save && durable_steps_ != steps_) {
      begin_blocking_save();
      return;
    }
  } else if (steps_ - saved_steps_ >= checkpoint_ && durable_at_ == kForever) {
    begin_save();
    return;
  }
  if (steps_ == next_evaluation_) {
    begin(Action::evaluate, plan_.evaluation_time);
    return;
  }
  if (steps_ == target_) {
    stop(StopReason::target_reached);
    return;
  }
  if (!begin_stop()) {
    begin_training();
  }
}

bool RunSimulator::is_skippable() const {
  return checkpoint_ != kNever && checkpoint_ <= longest_ &&
         (plan_.checkpoint_mode == CheckpointMode::sync ||
          plan_.durable <= times(checkpoint_, step_time_) + plan_.stall);
}

// Right after a save: whole cycles of training and save that end before anything else can happen.
void RunSimulator::skip_cycles() {
  if (!is_skippable()) {
    return;
  }
  const SimTime limit = std::min({next_event_.time, next_maintenance_, next_unitemised_});
  const SimTime cycle = times(checkpoint_, step_time_) + plan_.stall;
  if (limit - now_ <= cycle) {
    return;
  }
  std::int64_t cycles = (limit.ns - now_.ns - 1) / cycle.ns;
  cycles = std::min(
      {cycles, (target_ - steps_ - 1) / checkpoint_, (next_evaluation_ - steps_) / checkpoint_});
  if (cycles <= 0) {
    return;
  }
  const std::int64_t gpus = plan_.job_gpus();
  result_.ledger.book(RunCategory::productive, gpus, times(cycles * checkpoint_, step_time_));
  result_.ledger.book(RunCategory::checkpoint_stall, gpus, times(cycles, plan_.stall));
  now_ += times(cycles, cycle);
  steps_ += cycles * checkpoint_;
  if (durable_at_ != kForever) {  // the save in flight ended within the first cycle
    save_is_durable(saved_steps_);
    durable_at_ = kForever;
  }
  saved_steps_ = steps_;
  if (cycles > 1) {
    result_.checkpoints += cycles - 2;
    save_is_durable(steps_ - checkpoint_);
  }
  const SimTime last_durable = now_ - plan_.stall + plan_.durable;
  if (plan_.checkpoint_mode == CheckpointMode::sync || last_durable <= now_) {
    save_is_durable(steps_);
  } else {
    durable_at_ = last_durable;
  }
}

void RunSimulator::complete_training() {
  book_action();
  steps_ += action_steps_;
  next_action();
}

void RunSimulator::complete_action() {
  if (action_ == Action::train) {
    complete_training();
    return;
  }
  book_action();
  switch (action_) {
    case Action::save:
      if (plan_.checkpoint_mode == CheckpointMode::sync) {
        save_is_durable(steps_);
      }
      break;
    case Action::blocking_save:
      saved_steps_ = steps_;
      if (durable_steps_ != steps_) {
        save_is_durable(steps_);
      }
      break;
    case Action::evaluate:
      next_evaluation_ += evaluation_;
      break;
    case Action::detect:
      return begin_stage(Action::diagnose);
    case Action::diagnose:
      return replace_nodes();
    case Action::reschedule:
      return begin_stage(Action::communicator_init);
    case Action::communicator_init:
      return begin_stage(Action::load);
    case Action::load:
      return begin_stage(Action::warm_up);
    case Action::warm_up:
      return resume();
    case Action::train:
    case Action::planned_stop:
    case Action::unitemised_stop:
    case Action::wait:
      break;
  }
  next_action();
}

void RunSimulator::save_is_durable(std::int64_t steps) {
  durable_steps_ = steps;
  fruitless_failures_ = 0;
  ++result_.checkpoints;
}

void RunSimulator::stop(StopReason reason) {
  over_ = true;
  result_.stop = reason;
}

// The cells are complete; closes the books and checks them.
RunResult RunSimulator::result() {
  settle_pool();
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

void RunSimulator::book_action() {
  const ActionBooking& booking = kBooking[static_cast<std::size_t>(action_)];
  result_.ledger.book(
      booking.category, job_nodes_ * plan_.step.gpus_per_node, now_ - action_begin_);
  if (options_.timeline != nullptr && now_ > action_begin_) {
    const std::int32_t cause = action_ >= Action::detect ? cause_ : -1;
    options_.timeline->add({action_begin_, now_, booking.activity, cause});
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
