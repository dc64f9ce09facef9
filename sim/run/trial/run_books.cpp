// The part of RunSimulator that keeps the books: what each action cost, and the result of a trial.

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

std::array<RandomStream, kRecoveryStageCount> RunSimulator::stage_streams(std::uint64_t seed,
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

RunSimulator::BookedAs RunSimulator::booking_of(Action action) {
  static constexpr std::array<BookedAs, kActions> kBooking = {{
      {RunCategory::productive, RunActivity::training},
      {RunCategory::checkpoint_stall, RunActivity::checkpoint},
      {RunCategory::checkpoint_stall, RunActivity::checkpoint},
      {RunCategory::evaluation, RunActivity::evaluation},
      {RunCategory::planned_maintenance, RunActivity::planned_maintenance},
      {RunCategory::unitemised, RunActivity::unitemised},
      {RunCategory::rework, RunActivity::rework},
      {RunCategory::waiting_for_capacity, RunActivity::waiting_for_capacity},
      {RunCategory::restart_scheduling, RunActivity::scheduling},
      {RunCategory::checkpoint_stall, RunActivity::checkpoint},
      {RunCategory::restart_communicator, RunActivity::communicator_init},
      {RunCategory::detection, RunActivity::detection},
      {RunCategory::diagnosis, RunActivity::diagnosis},
      {RunCategory::restart_scheduling, RunActivity::scheduling},
      {RunCategory::restart_communicator, RunActivity::communicator_init},
      {RunCategory::restart_load, RunActivity::load},
      {RunCategory::restart_warm_up, RunActivity::warm_up},
  }};
  return kBooking[static_cast<std::size_t>(action)];
}

void RunSimulator::reset(const TrialOptions& options) {
  options_ = options;
  options_.event_by_event = options.event_by_event || options.timeline != nullptr;
  now_ = action_begin_ = action_end_ = settled_ = blocked_until_ = readiness_ = SimTime{};
  action_ = Action::train;
  steps_ = saved_steps_ = action_steps_ = saves_ = checkpoints_ = steps_in_vain_ = 0;
  next_evaluation_ = evaluation_;
  next_maintenance_ = plan_.maintenance.period;
  next_unitemised_ = plan_.unitemised.period;
  departures_.reset();
  stalled_until_ = SimTime{};
  phase_ = rework_ = scripted_ = sampled_ = 0;
  broken_ = broken_bad_ = lost_nodes_ = restarts_ = fruitless_failures_ = 0;
  held_gpu_ns_ = wanted_gpu_ns_ = 0;
  cause_ = -1;
  source_ = plan_.checkpoint.tiers.size() - 1;
  late_save_ = repace_ = grow_pending_ = over_ = false;
  outage_.reset();
  disturbances_ = 0;
  evictions_.clear();
  slowdowns_.clear();
  taints_.assign(plan_.failures.silent.size(), {});
  spent_.fill(SimTime{});
  result_ = RunResult{};
  result_.failures_by_cause.assign(plan_.causes.size(), 0);
  result_.gpu_time_by_cause.assign(plan_.causes.size(), 0);
  const std::uint64_t seed = plan_.simulation.seed;
  luck_ = RandomStream(seed, options.trial, Purpose::recovery_luck);
  disturbance_ = RandomStream(seed, options.trial, Purpose::disturbance);
  stage_ = stage_streams(seed, options.trial);
  queue_.clear();
  if (options_.progress != nullptr && !options_.samples.empty()) {
    queue_.push(options_.samples.front(), static_cast<std::uint8_t>(Internal::sample), 0);
  }
  pool_.reset(options.trial);
  failures_.reset(options.trial);
  saved_.reset();
  billing_.reset(options.trial, pool_.held(), options.timeline);
  job_gpus_ = gpus_saved_ = pool_.job_nodes() * gpus_per_node_;
  paces_.reset(pace_now());
  set_pace();
  plan_ahead();
  missing_by_ = plan_.capacity.spot ? plan_.capacity.spot->cause : -1;
  if (!can_run_on(pool_.job_nodes())) {  // spot nodes that cannot be had at the start
    cause_ = missing_by_;
    wait_for_nodes();
  } else {
    change_nodes();
  }
  find_interrupt();
}

// What was done since the action began. Training is booked by its steps, at the end of the trial.
void RunSimulator::book_action() {
  record();
  if (action_ == Action::train) {
    return;
  }
  const SimTime length = now_ - action_begin_;
  spent_[static_cast<std::size_t>(booking_of(action_).category)] += length;
  if (cause_ >= 0) {
    blame(cause_, static_cast<Int128>(length.ns) * job_gpus_);
  }
  action_begin_ = now_;
}

void RunSimulator::blame(std::int32_t cause, Int128 gpu_ns) {
  if (cause >= 0) {
    result_.gpu_time_by_cause[static_cast<std::size_t>(cause)] += gpu_ns;
  }
}

void RunSimulator::record_action() const {
  if (now_ > action_begin_) {
    const std::int32_t cause = is_running() ? -1 : cause_;
    options_.timeline->add({action_begin_, now_, booking_of(action_).activity, cause});
  }
}

// Closes the books of the nodes held so far; before any change of them.
void RunSimulator::settle() {
  if (action_ != Action::train) {
    book_action();
  }
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    if (spent_[i] != SimTime{}) {
      result_.ledger.book(static_cast<RunCategory>(i), job_gpus_, spent_[i]);
      spent_[i] = SimTime{};
    }
  }
  const Int128 since = (now_ - settled_).ns;
  held_gpu_ns_ += since * (pool_.allocated_nodes() * gpus_per_node_);
  wanted_gpu_ns_ += since * (wanted_nodes() * gpus_per_node_);
  pool_.settle(now_, result_.ledger);
  settled_ = now_;
}

void RunSimulator::stop(StopReason reason) {
  over_ = true;
  result_.stop = reason;
}

// Closes the books and checks them.
RunResult RunSimulator::result() {
  settle();
  paces_.book(steps_, result_.ledger);
  ORRERY_CHECK(result_.ledger.total() == held_gpu_ns_,
               "the run ledger holds {} GPU s, but {} GPU s were held in {} ns",
               in_seconds(result_.ledger.total_gpu_time()),
               static_cast<double>(held_gpu_ns_) * kNano,
               now_.ns);
  result_.wall = now_;
  result_.steps_done = steps_;
  result_.tokens = tokens_of_steps(plan_.phases, steps_);
  result_.checkpoints = checkpoints_;
  result_.restarts = restarts_;
  result_.nodes_in_repair = pool_.nodes_in_repair();
  result_.held = seconds(static_cast<double>(held_gpu_ns_) * kNano);
  const auto gpu_time = [&](RunCategory category) { return result_.ledger.gpu_time(category); };
  const Seconds job = seconds(static_cast<double>(wanted_gpu_ns_) * kNano);
  const Seconds meant =
      job - gpu_time(RunCategory::evaluation) - gpu_time(RunCategory::planned_maintenance);
  result_.goodput = job > Seconds{} ? gpu_time(RunCategory::productive) / job : 0.0;
  result_.ettr = meant > Seconds{} ? gpu_time(RunCategory::productive) / meant : 0.0;
  result_.bill = billing_.bill(
      now_, result_.ledger, {.checkpoints = checkpoints_, .failures = result_.failures});
  return std::move(result_);
}

}  // namespace orrery::run
