// The part of RunSimulator that deals with nodes: those that break leave, spares and spot nodes
// come and go, the job waits for them, shrinks and grows.

#include <algorithm>

#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

// Diagnosis is done: broken nodes leave, spares come in, and the job goes on, shrinks or waits.
void RunSimulator::replace_nodes() {
  if (broken_ > 0 || recovery_.lost_nodes() > 0) {
    recovery_.blame_shortage();
  }
  if (broken_ > 0 || pool_.job_nodes() != wanted_nodes()) {
    settle();
    pool_.lose(now_, broken_, broken_bad_);
    broken_ = broken_bad_ = 0;
    fit_nodes();
  }
  restart_or_wait();
}

// As many nodes as the phase asks for, or as there are: none is left to grow by.
void RunSimulator::fit_nodes() {
  agenda_.forget_growth();
  if (pool_.job_nodes() > wanted_nodes()) {
    pool_.release(now_, pool_.job_nodes() - wanted_nodes());
  } else {
    recovery_.expect_nodes(pool_.fill(now_, wanted_nodes()));
  }
  change_nodes();
}

void RunSimulator::restart_or_wait() {
  if (can_run_on(pool_.job_nodes())) {
    if (pool_.job_nodes() < wanted_nodes()) {
      ++result_.resizes;
      recovery_.blame_shortage();
    }
    begin_stages(RecoveryStage::reschedule);
  } else {
    wait_for_nodes();
  }
}

void RunSimulator::wait_for_nodes() {
  action_ = Action::wait;
  action_begin_ = now_;
  action_end_ = kForever;
  change_nodes();
}

bool RunSimulator::can_run_on(std::int64_t nodes) const {
  return nodes >= wanted_nodes() ||
         (plan_.capacity.elastic && plan_.capacity.elastic->size_for(nodes) != nullptr);
}

// Who can fail from now on; `trains`: the job is not in a recovery. Nodes that wait are idle.
void RunSimulator::expose(bool trains) {
  const bool waits = action_ == Action::wait;
  if (waits && plan_.failures.log) {
    failures_.set_exposure(now_, pool_.job(), false);
  } else if (!waits && (trains || plan_.failures.during_recovery)) {
    failures_.set_exposure(now_, pool_.job(), true);
  } else {
    failures_.set_exposure(now_, {}, false);
  }
}

// After any change of the nodes of the job: who can fail, and what it takes up.
void RunSimulator::change_nodes() {
  const std::int64_t gpus = pool_.job_nodes() * plan_.step.gpus_per_node;
  pace_is_stale_ = pace_is_stale_ || gpus != job_gpus_;
  job_gpus_ = gpus;
  expect_departure();  // a move to another zone leaves the notices of the old one behind
  expose(runs(action_));
  books_.hold(now_, pool_.held());
  find_interrupt();
}

void RunSimulator::handle_pool() {
  settle();
  const PoolEvent event = pool_.take(now_);
  books_.hold(now_, pool_.held());
  switch (event.kind) {
    case PoolEventKind::nothing:
      break;
    case PoolEventKind::returned:
    case PoolEventKind::available:
      nodes_return();
      break;
    case PoolEventKind::notice:
      expect_departure();
      look_ahead();
      cut_training(departures_.save_at());
      break;
    case PoolEventKind::preempted:
      nodes_leave(event.nodes);
      break;
  }
}

// What is announced, or the time that a save needs, has changed.
void RunSimulator::expect_departure() {
  departures_.update(now_, plan_.checkpoint.emergency + step_time_);
}

// Nodes came back: a waiting job takes them, a shrunk one may grow.
void RunSimulator::nodes_return() {
  if (action_ != Action::wait) {
    consider_growth();
    return;
  }
  const std::int64_t before = pool_.job_nodes();
  recovery_.expect_nodes(pool_.fill(now_, wanted_nodes()));
  if (pool_.job_nodes() == before) {
    return;
  }
  change_nodes();
  if (can_run_on(pool_.job_nodes())) {
    action_ = Action::reschedule;
    change_nodes();
    restart_or_wait();
  }
}

// A shrunk job grows when the nodes at hand allow a larger size.
void RunSimulator::consider_growth() {
  const std::optional<PlannedElastic>& elastic = plan_.capacity.elastic;
  if (!elastic || agenda_.asks_for_growth() || elastic->grow == Growth::never ||
      (!runs(action_) && action_ != Action::warm_up) || pool_.job_nodes() >= wanted_nodes()) {
    return;
  }
  const std::int64_t possible = std::min(wanted_nodes(), pool_.job_nodes() + pool_.ready_nodes());
  const ElasticSize* present = elastic->size_for(pool_.job_nodes());
  const ElasticSize* larger = elastic->size_for(possible);
  if (larger != nullptr && (present == nullptr || larger->nodes > present->nodes)) {
    agenda_.ask_for_growth();
    look_ahead();
    cut_training(agenda_.next_stop());
  }
}

// Spot nodes have left the job.
void RunSimulator::nodes_leave(std::int64_t nodes) {
  const std::int32_t cause = plan_.capacity.spot->cause;
  ++result_.preemptions;
  departures_.deal_with(now_);
  expect_departure();
  if (nodes == 0) {
    look_ahead();
    return;
  }
  note_failure(cause);
  if (action_ == Action::wait) {
    roll_back(cause, nodes);
    change_nodes();
    if (disturbances_.is_one_too_many()) {
      stop(StopReason::too_many_disturbances);
    }
    return;
  }
  ++result_.failures;
  ++result_.failures_by_cause[static_cast<std::size_t>(cause)];
  broken_ = std::min(broken_, pool_.job_nodes());
  roll_back(cause, nodes);
  change_nodes();
  if (!gives_up()) {
    begin_recovery(cause);
  }
}

}  // namespace orrery::run
