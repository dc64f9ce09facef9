// The frequent path of RunSimulator, and the begin and end of a trial.

#include "sim/run/trial/run_simulator.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::run {

RunSimulator::RunSimulator(const RunPlan& plan)
    : plan_(plan),
      pool_(plan),
      failures_(plan),
      departures_(pool_),
      disturbances_(plan),
      recovery_(plan),
      agenda_(plan),
      saves_(plan),
      books_(plan) {
  ORRERY_CHECK(!plan.phases.empty() && plan.phases.front().step_time > SimTime{} &&
                   plan.end > SimTime{} && plan.end <= kLongestTime,
               "a plan of {} phases with its end at {} ns was not made by resolve_run",
               plan.phases.size(),
               plan.end.ns);
}

void RunSimulator::reset(const TrialOptions& options) {
  options_ = options;
  options_.event_by_event = options.event_by_event || options.timeline != nullptr;
  if (options.progress == nullptr) {
    options_.samples = {};
  }
  now_ = action_begin_ = action_end_ = SimTime{};
  action_ = Action::train;
  steps_ = action_steps_ = broken_ = broken_bad_ = 0;
  scripted_ = sampled_ = 0;
  over_ = false;
  result_ = RunResult{};
  result_.failures_by_cause.assign(plan_.causes.size(), 0);
  pool_.reset(options.trial);
  failures_.reset(options.trial);
  departures_.reset();
  disturbances_.reset(options.trial);
  recovery_.reset(options.trial);
  agenda_.reset();
  job_gpus_ = pool_.job_nodes() * plan_.step.gpus_per_node;
  saves_.reset(job_gpus_);
  books_.reset(options.trial, pool_.held(), options.timeline);
  paces_.reset(pace_now());
  set_pace();
  look_ahead();
  if (!can_run_on(pool_.job_nodes())) {  // spot nodes that cannot be had at the start
    recovery_.begin_shortage();
    wait_for_nodes();
  } else {
    change_nodes();
  }
  find_interrupt();
}

// Whole steps until `time`, at least one; the last of them ends at or after it.
std::int64_t RunSimulator::steps_until(SimTime time) const {
  const std::int64_t wait = time.ns - now_.ns;
  return wait <= step_time_.ns ? 1 : (wait + step_time_.ns - 1) / step_time_.ns;
}

void RunSimulator::begin_training() {
  std::int64_t until_save = saves_.next() - steps_;
  if (saves_.blocked_until() > now_) {
    until_save = std::max(until_save, steps_until(saves_.blocked_until()));
  }
  std::int64_t steps = std::min(std::min(longest_, agenda_.next_step() - steps_), until_save);
  if (now_ + times(steps, step_time_) > agenda_.next_stop()) {
    steps = std::min(steps, steps_until(agenda_.next_stop()));
  }
  action_steps_ = steps;
  begin(Action::train, times(steps, step_time_));
}

// What the job does next, at a step boundary.
void RunSimulator::next_action() {
  if (saves_.has_saved(steps_) && options_.timeline == nullptr) {
    const Saves::Stretch stretch = {.begin = now_,
                                    .end = std::min(interrupt_, agenda_.next_stop()),
                                    .steps = steps_,
                                    .most = agenda_.last_quiet_step(),
                                    .step = step_time_,
                                    .longest = longest_,
                                    .gpus = job_gpus_};
    const Saves::Cycles cycles =
        options_.event_by_event ? saves_.run_cycles(stretch) : saves_.skip_cycles(stretch);
    now_ += cycles.wall;
    steps_ += cycles.steps;
    books_.spend(RunCategory::checkpoint_stall, cycles.stalled);
  }
  if (steps_ >= agenda_.next_step() || now_ >= agenda_.next_stop()) [[unlikely]] {
    special_action();
  } else if (saves_.is_due(now_, steps_)) {
    begin(Action::save, saves_.begin(now_, steps_, job_gpus_));
  } else {
    begin_training();
  }
}

// One event: a save in flight, the job's own action, or the first interrupt. Training and saves are
// by far the most frequent ones and kept apart from the others.
inline void RunSimulator::advance() {
  const SimTime durable_at = saves_.states().next_durable();
  if (durable_at <= action_end_ && durable_at <= interrupt_) {
    now_ = durable_at;
    saves_.complete(now_);
    return;
  }
  if (action_end_ > interrupt_ ||
      (action_end_ == interrupt_ && interrupt_kind_ == Interrupt::pool)) {
    now_ = interrupt_;
    handle_interrupt();
    return;
  }
  now_ = action_end_;
  if (action_ == Action::train) {
    books_.note(action_, action_begin_, now_, -1);
    steps_ += action_steps_;
  } else if (action_ == Action::save) {
    books_.spend(RunCategory::checkpoint_stall, now_ - action_begin_);
    books_.note(action_, action_begin_, now_, -1);
    saves_.end_stall(steps_);
  } else if (!complete_other_action()) {
    return;
  }
  next_action();
}

// Flattened: the frequent path lives in registers only when it is one function.
[[gnu::flatten]] RunResult RunSimulator::run(const TrialOptions& options) {
  constexpr int kEventsBetweenChecks = 1 << 14;
  reset(options);
  if (action_ != Action::wait) {
    next_action();
  }
  while (!over_) {
    for (int i = 0; i < kEventsBetweenChecks && !over_; ++i) {
      advance();
    }
    if (!over_ && options_.stop.stop_requested()) {
      result_.stop = StopReason::interrupted;
      return std::move(result_);
    }
  }
  return result();
}

// What was done since the action began. Training is booked by its steps, at the end of the trial.
void RunSimulator::book_action() {
  books_.note(action_, action_begin_, now_, recovery_.cause());
  if (action_ == Action::train) {
    return;
  }
  const SimTime length = now_ - action_begin_;
  books_.spend(booking_of(action_).category, length);
  books_.blame(recovery_.cause(), static_cast<Int128>(length.ns) * job_gpus_);
  action_begin_ = now_;
}

// Closes the books of the nodes held so far; before any change of them.
void RunSimulator::settle() {
  if (action_ != Action::train) {
    book_action();
  }
  books_.settle(now_, job_gpus_, wanted_nodes(), pool_);
}

RunResult RunSimulator::result() {
  settle();
  result_.steps_done = steps_;
  result_.tokens = tokens_of_steps(plan_.phases, steps_);
  result_.checkpoints = saves_.copies();
  result_.restarts = recovery_.restarts();
  result_.nodes_in_repair = pool_.nodes_in_repair();
  books_.close(now_, paces_, result_);
  return std::move(result_);
}

}  // namespace orrery::run
