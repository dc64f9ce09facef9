// The part of RunSimulator that deals with what interrupts the job: nodes that come and go,
// failures, nodes that are slow or compute wrong results, loss spikes, the end of the window.

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// Each event on its own: a variant of them all, made and looked into here, costs a trial a third.
void RunSimulator::handle_interrupt() {
  switch (interrupt_kind_) {
    case Interrupt::pool:
      on(change_pool().take(now_));
      break;
    case Interrupt::disturbance:
      on(disturbances_.take());
      break;
    case Interrupt::sample:
      options_.progress->push_back(static_cast<double>(steps_now()));
      ++sampled_;
      break;
    case Interrupt::failure:
      if (options_.failures) {
        on(scripted_strike());
      } else {
        on(failures_.take(now_));
      }
      break;
    case Interrupt::end:
      cut_off();
      stop(plan_.target_steps ? StopReason::horizon : StopReason::window_over);
      return;
  }
  commit();
}

void RunSimulator::on(const PoolEvent& event) {
  switch (event.kind) {
    case PoolEventKind::nothing:
      break;
    case PoolEventKind::returned:
    case PoolEventKind::available:
      nodes_return();
      break;
    case PoolEventKind::notice:
      changes_.agenda = true;
      break;
    case PoolEventKind::preempted:
      nodes_leave(event.nodes);
      break;
  }
}

// Nodes came back: a waiting job takes them, a shrunk one may grow.
void RunSimulator::nodes_return() {
  const auto* waiting = std::get_if<Waiting>(&state_);
  if (waiting == nullptr) {
    consider_growth();
    return;
  }
  const std::int64_t before = pool_.job_nodes();
  recovery_.expect_nodes(change_pool().fill(now_, wanted_nodes()));
  if (pool_.job_nodes() != before && can_run()) {
    note_shrinking(waiting->outage);
    begin_stages(state_.emplace<Recovering>(Outage(waiting->outage)), RecoveryStage::reschedule);
  }
}

// Spot nodes have left the job; of none, a notice is over.
void RunSimulator::nodes_leave(std::int64_t nodes) {
  const std::int32_t cause = plan_.capacity.spot->cause;
  ++result_.preemptions;
  departures_.deal_with(now_);
  changes_.agenda = true;
  if (nodes == 0) {
    return;
  }
  if (auto* waiting = std::get_if<Waiting>(&state_)) {
    note_failure(cause);
    roll_back(waiting->outage, cause, nodes, false);
    if (disturbances_.is_one_too_many()) {
      stop(StopReason::too_many_disturbances);
    }
    return;
  }
  const bool ran = runs(state_);
  count_failure(cause);
  Outage& stopped = outage();
  stopped.broken = std::min(stopped.broken, pool_.job_nodes());
  roll_back(stopped, cause, nodes, ran);
  begin_recovery_unless_hopeless(cause);
}

// What comes of a slow node, of wrong results.
void RunSimulator::on(const Disturbances::Event& event) {
  switch (event.outcome) {
    case Disturbances::Outcome::slowdown_ends:
      wishes_.pace = true;
      changes_.agenda = true;
      break;
    case Disturbances::Outcome::eviction:
      changes_.agenda = true;
      break;
    case Disturbances::Outcome::detection:
      detect_corruption(event.index);
      break;
    case Disturbances::Outcome::corruption:
      if (!runs(state_)) {
        disturbances_.corrupt_after_recovery(event.index);
      } else {
        corrupt(event.index);
      }
      break;
  }
}

void RunSimulator::corrupt(std::int32_t index) {
  if (disturbances_.begin_corruption(now_, index, steps_now())) {
    ++result_.corruptions;
  }
}

// Back behind the first wrong result; the host leaves, or is not found and stays.
void RunSimulator::detect_corruption(std::int32_t index) {
  const std::int32_t cause = plan_.failures.silent[static_cast<std::size_t>(index)].cause;
  const Disturbances::Detection found = disturbances_.detect(index);
  note_failure(cause);
  Outage& stopped = outage();
  if (!found.host_stays) {
    lose_nodes(stopped, cause);
  }
  const SavedStates::Source clean = saves_.states().newest_until(found.clean_steps);
  stopped.load_from(clean.tier);
  // A failure may have gone back behind it meanwhile.
  go_back(std::min(clean.steps, steps_), RunCategory::rework, cause);
  if (std::holds_alternative<Waiting>(state_)) {
    change_pool().lose(now_, stopped.broken, 0);
    stopped.broken = stopped.broken_bad = 0;
  } else {
    begin_recovery(cause);
  }
}

// The next failure of TrialOptions.
Strike RunSimulator::scripted_strike() {
  const std::int32_t cause = (*options_.failures)[scripted_++].cause;
  ORRERY_CHECK(static_cast<std::size_t>(cause) < plan_.causes.size(),
               "failure of cause {}, but the plan has {} causes", cause, plan_.causes.size());
  return {.cause = cause, .nodes = plan_.causes[static_cast<std::size_t>(cause)].takes_nodes};
}

// A failure, or one of the effects that only a running job feels.
void RunSimulator::on(const Strike& strike) {
  const PlannedCause& cause = plan_.causes[static_cast<std::size_t>(strike.cause)];
  if (cause.effect != StrikeEffect::failure) {
    if (runs(state_)) {
      ++result_.failures_by_cause[static_cast<std::size_t>(strike.cause)];
      disturb(cause);
    }
  } else if (auto* waiting = std::get_if<Waiting>(&state_)) {
    // No process runs that could break; a log knows of nodes that did all the same.
    if (const std::int64_t taken = std::min(strike.nodes, pool_.job_nodes()); taken > 0) {
      count_failure(strike.cause);
      pool_.strike(now_, strike, taken);
      change_pool().lose(now_, taken, std::min(strike.bad, taken));
      roll_back(waiting->outage, strike.cause, taken, false);
      (void)fails_too_often();
    }
  } else {
    const bool ran = runs(state_);
    count_failure(strike.cause);
    Outage& stopped = outage();
    const std::int64_t taken = std::min(strike.nodes, pool_.job_nodes() - stopped.broken);
    pool_.strike(now_, strike, taken);
    stopped.broken += taken;
    stopped.broken_bad += std::min(strike.bad, taken);
    roll_back(stopped, strike.cause, taken, ran);
    begin_recovery_unless_hopeless(strike.cause, strike.outage);
  }
}

// The job recovers, unless it was one failure too many.
void RunSimulator::begin_recovery_unless_hopeless(std::int32_t cause,
                                                  std::optional<SimTime> logged) {
  if (saves_.fail_hopelessly()) {
    stop(StopReason::no_progress);
  } else if (!fails_too_often()) {
    begin_recovery(cause, logged);
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
      wishes_.pace = true;
      changes_.agenda = true;
      break;
    case StrikeEffect::silent:
      corrupt(cause.effect_index);
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
    changes_.agenda = true;
    return;
  }
  note_failure(plan.cause);
  const std::int64_t least = std::max<std::int64_t>(0, steps_now() - plan.rewind_steps.value_or(0));
  const SavedStates::Source source = saves_.states().newest_until(least);
  outage().load_from(source.tier);
  go_back(source.steps, RunCategory::rework, plan.cause);
  begin_recovery(plan.cause);
}

// Books what was done until now; the failure is a mark in the timeline. Training is broken off.
void RunSimulator::note_failure(std::int32_t cause) {
  book_state();
  books_.note_failure(now_, cause);
  if (std::holds_alternative<Training>(state_)) {
    const std::int64_t done = steps_now();
    part_.wall = now_ - begin_ - SimTime{(done - steps_) * step_time_.ns};
    part_.gpu_ns = static_cast<Int128>(part_.wall.ns) * job_gpus_;
    steps_ = done;
    begin_ = now_;
  }
}

// That of the state; of one in which the job ran, a new one. In place: copies of one that was just
// written stall.
Outage& RunSimulator::outage() {
  if (auto* waiting = std::get_if<Waiting>(&state_)) {
    return waiting->outage;
  }
  auto* recovering = std::get_if<Recovering>(&state_);
  return recovering != nullptr ? recovering->outage : state_.emplace<Recovering>().outage;
}

void RunSimulator::count_failure(std::int32_t cause) {
  ++result_.failures;
  ++result_.failures_by_cause[static_cast<std::size_t>(cause)];
  note_failure(cause);
}

bool RunSimulator::fails_too_often() {
  constexpr std::int64_t kMostFailures = 1'000'000;
  if (result_.failures >= kMostFailures) {
    stop(StopReason::too_many_failures);
  }
  return over_;
}

// The nodes of a slowdown or corruption leave with the copies that they hold.
void RunSimulator::lose_nodes(Outage& outage, std::int32_t cause) {
  const std::int64_t nodes = std::min(plan_.causes[static_cast<std::size_t>(cause)].takes_nodes,
                                      pool_.job_nodes() - outage.broken);
  pool_.strike(now_, {.cause = cause, .nodes = nodes}, nodes);
  outage.broken += nodes;
  recovery_.lose(saves_.states(), outage, cause, nodes);
}

// Back to the newest state that is left, or to the present one where the surviving replicas can
// still save it.
void RunSimulator::roll_back(Outage& outage, std::int32_t cause, std::int64_t taken_nodes,
                             bool ran) {
  const std::optional<std::int64_t> newest =
      recovery_.roll_back(saves_.states(), outage, cause, taken_nodes, ran);
  go_back(newest.value_or(steps_), RunCategory::lost_work, cause);
}

// Training goes on after `to` steps: what was done beyond, and the part of a step, is
// booked as `category` and blamed on `cause`, if not negative.
void RunSimulator::go_back(std::int64_t to, RunCategory category, std::int32_t cause) {
  UndoneWork undone = std::exchange(part_, {});
  const std::int64_t changes = paces_.changes();
  const UndoneWork steps = paces_.undo(to, steps_);
  undone.wall += steps.wall;
  undone.gpu_ns += steps.gpu_ns;
  books_.undo(undone, category, cause);
  steps_ = to;
  saves_.go_back(to);
  disturbances_.go_back(to);
  if (agenda_.leaves_phase(to)) {
    settle();
  }
  if (agenda_.leaves_phase(to) || changes != paces_.changes()) {
    wishes_.pace = true;
  }
  agenda_.go_back(to);
  changes_.agenda = true;
}

void RunSimulator::begin_recovery(std::int32_t cause, std::optional<SimTime> logged) {
  auto& state = std::get<Recovering>(state_);
  state.outage.cause = cause;
  state.outage.logged = logged;
  begin_stages(state, RecoveryStage::detect);
}

// Books the state in progress, with the part of a step that it ends in.
void RunSimulator::cut_off() {
  book_state();
  if (std::holds_alternative<Training>(state_)) {
    const SimTime trained = now_ - begin_;
    steps_ += trained.ns / step_time_.ns;
    books_.book_tail(paces_.current(), SimTime{trained.ns % step_time_.ns});
  }
}

}  // namespace orrery::run
