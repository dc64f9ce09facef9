// The frequent path of RunSimulator, begin and end of a trial, and the consequences of an event.

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
               plan.phases.size(), plan.end.ns);
}

void RunSimulator::reset(const TrialOptions& options) {
  options_ = options;
  options_.event_by_event = options.event_by_event || options.timeline != nullptr;
  if (options.progress == nullptr) {
    options_.samples = {};
  }
  now_ = SimTime{};
  enter(Training{}, SimTime{});
  steps_ = 0;
  scripted_ = sampled_ = 0;
  part_ = {};
  over_ = false;
  wishes_ = {};
  result_ = RunResult{};
  result_.failures_by_cause.assign(plan_.causes.size(), 0);
  pool_.reset(options.trial, options.timeline != nullptr);
  failures_.reset(options.trial);
  departures_.reset();
  disturbances_.reset(options.trial);
  recovery_.reset(options.trial);
  agenda_.reset();
  job_gpus_ = pool_.job_nodes() * plan_.step.gpus_per_node;
  saves_.reset(job_gpus_);
  books_.reset(options.trial, pool_.held(), options.timeline);
  paces_.reset(pace_now());
  if (!can_run()) {  // spot nodes that cannot be had at the start
    enter(Waiting{recovery_.shortage()}, kForever - now_);
  }
  wishes_.pace = true;
  changes_ = {.nodes = true, .agenda = true, .pace = true};
  commit();
}

void RunSimulator::begin_training() {
  // Whole steps until `time`, at least one; the last of them ends at or after it.
  const auto steps_until = [this](SimTime time) {
    const std::int64_t wait = time.ns - now_.ns;
    return wait <= step_time_.ns ? 1 : (wait + step_time_.ns - 1) / step_time_.ns;
  };
  std::int64_t until_save = saves_.next() - steps_;
  if (saves_.blocked_until() > now_) {
    until_save = std::max(until_save, steps_until(saves_.blocked_until()));
  }
  std::int64_t steps = std::min(std::min(longest_, agenda_.next_step() - steps_), until_save);
  if (now_ + times(steps, step_time_) > agenda_.next_stop()) {
    steps = std::min(steps, steps_until(agenda_.next_stop()));
  }
  enter(Training{steps}, times(steps, step_time_));
}

// What the job does next, at a step boundary.
void RunSimulator::next_state() {
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
    choose_state();
  } else if (saves_.is_due(now_, steps_)) {
    enter(Saving{}, saves_.begin(now_, steps_, job_gpus_));
  } else {
    begin_training();
  }
}

// One event: a save in flight, the end of the state, or the first interrupt. Training and saves are
// by far the most frequent ones and kept apart from the others.
inline void RunSimulator::advance() {
  const SimTime durable_at = saves_.states().next_durable();
  if (durable_at <= end_ && durable_at <= interrupt_) {
    now_ = durable_at;
    saves_.complete(now_);
    return;
  }
  if (end_ > interrupt_ || (end_ == interrupt_ && interrupt_kind_ == Interrupt::pool)) {
    now_ = interrupt_;
    handle_interrupt();
    return;
  }
  now_ = end_;
  if (const auto* training = std::get_if<Training>(&state_)) {
    books_.note(state_, begin_, now_);
    steps_ += training->steps;
  } else if (const auto* saving = std::get_if<Saving>(&state_);
             saving != nullptr && !saving->blocks) {
    books_.spend(RunCategory::checkpoint_stall, now_ - begin_);
    books_.note(state_, begin_, now_);
    saves_.end_stall(steps_);
  } else if (!end_other_state()) {
    return;
  }
  next_state();
}

// Flattened: the frequent path lives in registers only when it is one function.
[[gnu::flatten]] RunResult RunSimulator::run(const TrialOptions& options) {
  constexpr int kEventsBetweenChecks = 1 << 14;
  reset(options);
  if (!std::holds_alternative<Waiting>(state_)) {
    next_state();
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

// Who can fail. Nodes that wait are idle; only a log knows of some that failed all the same.
void RunSimulator::expose() {
  const bool waits = std::holds_alternative<Waiting>(state_);
  const bool recovers = std::holds_alternative<Recovering>(state_);
  const bool can_fail =
      waits ? plan_.failures.log.has_value() : !recovers || plan_.failures.during_recovery;
  failures_.set_exposure(now_, can_fail ? pool_.job() : NodeMix{}, can_fail && !waits);
}

// All that follows from what an event has changed, in the one order in which it holds: the nodes
// decide the pace, the pace the last moment of a save, that the agenda, the agenda the end of the
// training in progress. What interrupts the job next depends on all of them.
void RunSimulator::commit() {
  if (changes_.nodes) {
    const std::int64_t gpus = pool_.job_nodes() * plan_.step.gpus_per_node;
    if (gpus != job_gpus_) {
      wishes_.pace = true;
    }
    job_gpus_ = gpus;
    expect_departure();  // a move to another zone leaves the notices of the old one behind
    books_.hold(now_, pool_);
  }
  if (changes_.nodes || !plan_.failures.during_recovery) {
    expose();
  }
  if (changes_.pace && wishes_.pace) {
    set_pace();
  }
  if (changes_.agenda) {
    agenda_.look_ahead({.now = now_,
                        .steps = steps_,
                        .next_save = saves_.next(),
                        .departure = departures_.save_at(),
                        .urgent = wishes_.pace || disturbances_.is_urgent(),
                        .grows = wishes_.growth});
    cut_training();
  }
  find_interrupt();
  changes_ = {};
}

// The steps on the nodes that the job holds, as its phase and slowdowns ask.
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

// From this step on.
void RunSimulator::set_pace() {
  wishes_.pace = false;
  const Pace pace = pace_now();
  paces_.change(steps_, pace);
  step_time_ = pace.step;
  longest_ = plan_.end.ns / step_time_.ns + 1;
  expect_departure();
}

// What is announced, or the time that a save needs, has changed.
void RunSimulator::expect_departure() {
  departures_.update(now_, plan_.checkpoint.emergency + step_time_);
}

// Training in progress ends with the step that it is in when a stop is due.
void RunSimulator::cut_training() {
  auto* training = std::get_if<Training>(&state_);
  if (training == nullptr || agenda_.next_stop() >= end_) {
    return;
  }
  const std::int64_t into = std::max(agenda_.next_stop(), now_).ns - begin_.ns;
  const std::int64_t steps = (into + step_time_.ns - 1) / step_time_.ns;
  if (steps < training->steps) {
    training->steps = steps;
    end_ = begin_ + times(steps, step_time_);
  }
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

// Steps done, those of the training in progress included.
std::int64_t RunSimulator::steps_now() const {
  const auto* training = std::get_if<Training>(&state_);
  return training == nullptr
             ? steps_
             : steps_ + std::min(training->steps, (now_ - begin_).ns / step_time_.ns);
}

// What was done since the state began. Training is booked by its steps, at the end of the trial.
void RunSimulator::book_state() {
  books_.note(state_, begin_, now_);
  if (std::holds_alternative<Training>(state_)) {
    return;
  }
  const SimTime length = now_ - begin_;
  books_.spend(booked_as(state_).category, length);
  books_.blame(cause_of(state_), static_cast<Int128>(length.ns) * job_gpus_);
  begin_ = now_;
}

// Closes the books of the nodes held so far; before any change of them.
void RunSimulator::settle() {
  if (!std::holds_alternative<Training>(state_)) {
    book_state();
  }
  books_.settle(now_, job_gpus_, wanted_nodes(), pool_);
}

// The pool, to change who is where: what its nodes did so far is booked first.
NodePool& RunSimulator::change_pool() {
  if (!changes_.nodes) {
    settle();
  }
  changes_.nodes = true;
  return pool_;
}

RunResult RunSimulator::result() {
  settle();
  result_.steps_done = steps_;
  result_.tokens = tokens_of_steps(plan_.phases, steps_);
  result_.checkpoints = saves_.copies();
  result_.restarts = recovery_.restarts();
  result_.nodes_in_repair = pool_.nodes_in_repair();
  books_.close(now_, paces_, result_);
  if (options_.timeline != nullptr) {
    pool_.record(*options_.timeline);
  }
  return std::move(result_);
}

}  // namespace orrery::run
