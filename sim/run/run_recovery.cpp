// The half of RunSimulator that deals with failures, recovery stages, spares and repairs.

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/run/run_simulator.hpp"

namespace orrery::run {

void RunSimulator::handle_event() {
  if (next_event_.priority == kEndOfRun) {
    book_action();
    if (action_ == Action::train) {
      const std::int64_t trained = now_.ns - action_begin_.ns;
      steps_ += trained / step_time_.ns;
      tail_ = {trained % step_time_.ns};
    }
    stop(plan_.target_steps ? StopReason::horizon : StopReason::window_over);
    return;
  }
  if (next_event_.priority == kRepairDone) {
    queue_.pop();
    node_returns();
    return;
  }
  if (options_.failures) {
    const ScriptedFailure failure = (*options_.failures)[scripted_++];
    schedule_failure(true);
    strike(failure.cause, 0.0);
    return;
  }
  // Two draws for every failure, used or not: the causes of later failures stay where they are.
  const double which = failure_cause_.uniform01();
  const double thinning = failure_cause_.uniform01();
  const auto cause =
      std::find_if(plan_.causes.begin(), plan_.causes.end(), [&](const PlannedCause& candidate) {
        return which < candidate.cumulative;
      });
  schedule_failure(true);
  strike(static_cast<std::int32_t>(cause - plan_.causes.begin()), thinning);
}

// The next failure of the process or of the script, in the place of the one that just struck.
void RunSimulator::schedule_failure(bool replaces_top) {
  SimTime at = kForever;
  if (options_.failures) {
    if (scripted_ < options_.failures->size()) {
      at = (*options_.failures)[scripted_].at;
    }
  } else if (plan_.mtbf) {
    at = now_ + bounded_time(failure_time_.exponential(*plan_.mtbf));
  }
  if (at == kForever) {
    if (replaces_top) {
      queue_.pop();
    }
  } else if (replaces_top) {
    queue_.replace_top(at, kFailure, 0);
  } else {
    queue_.push(at, kFailure, 0);
  }
}

// A failure of `cause` at now_. `thinning` is a uniform draw.
void RunSimulator::strike(std::int32_t cause, double thinning) {
  const auto index = static_cast<std::size_t>(cause);
  ORRERY_CHECK(index < plan_.causes.size(),
               "failure of cause {}, but the plan has {} causes",
               cause,
               plan_.causes.size());
  const bool takes_node = plan_.causes[index].takes_node;
  if (action_ == Action::wait) {
    // No process runs that software could break, and missing nodes cannot fail.
    const double nodes = static_cast<double>(plan_.step.nodes);
    if (!takes_node || thinning * nodes >= static_cast<double>(job_nodes_)) {
      return;
    }
  }
  ++result_.failures;
  ++result_.failures_by_cause[index];
  book_action();
  if (options_.timeline != nullptr) {
    options_.timeline->add({now_, now_, RunActivity::failure, cause});
  }
  if (action_ == Action::wait) {
    action_begin_ = now_;
    settle_pool();
    send_to_repair(1);
    return;
  }
  if (takes_node && broken_ < job_nodes_) {
    ++broken_;
  }
  roll_back();
  if (++fruitless_failures_ >= kHopelessFailures) {
    stop(StopReason::no_progress);
    return;
  }
  cause_ = cause;
  begin_stages(Action::detect);
}

// Back to the last durable checkpoint: everything trained since then is lost work.
void RunSimulator::roll_back() {
  SimTime lost{(steps_ - durable_steps_) * step_time_.ns};
  if (action_ == Action::train) {
    lost += now_ - action_begin_;
  }
  spent(RunCategory::productive) -= lost;
  spent(RunCategory::lost_work) += lost;
  if (options_.timeline != nullptr) {
    options_.timeline->mark_lost(lost);
  }
  durable_at_ = kForever;
  steps_ = saved_steps_ = durable_steps_;
  if (next_evaluation_ > steps_ && evaluation_ != kNever) {
    next_evaluation_ = (steps_ / evaluation_ + 1) * evaluation_;
    plan_ahead();
  }
}

// `first` or the next stage that takes time. Diagnosis and warm-up are begun in any case: more than
// the next stage follows from their end.
void RunSimulator::begin_stages(Action first) {
  Action action = first;
  while (true) {
    const auto stage = static_cast<std::size_t>(action) - static_cast<std::size_t>(Action::detect);
    const Stage& planned = stages_[static_cast<std::size_t>(cause_)][stage];
    const SimTime length =
        planned.law == nullptr ? planned.length : bounded_time(sample(*planned.law, stage_[stage]));
    if (length > SimTime{} || action == Action::diagnose || action == Action::warm_up) {
      action_ = action;
      action_begin_ = now_;
      action_end_ = now_ + length;
      return;
    }
    action = static_cast<Action>(static_cast<int>(action) + 1);
  }
}

// Diagnosis is done: broken nodes leave, spares come in, and the job goes on or waits.
void RunSimulator::replace_nodes() {
  settle_pool();
  send_to_repair(broken_);
  broken_ = 0;
  const std::int64_t moved = std::min(plan_.step.nodes - job_nodes_, idle_spares_);
  job_nodes_ += moved;
  idle_spares_ -= moved;
  if (job_nodes_ == plan_.step.nodes) {
    begin_stages(Action::reschedule);
  } else {
    action_ = Action::wait;
    action_begin_ = now_;
    action_end_ = kForever;
  }
}

// `nodes` of the job's nodes; the pool has been settled.
void RunSimulator::send_to_repair(std::int64_t nodes) {
  job_nodes_ -= nodes;
  in_repair_ += nodes;
  for (std::int64_t i = 0; i < nodes; ++i) {
    queue_.push(now_ + bounded_time(sample(plan_.repair_time, repair_)), kRepairDone, 0);
  }
  next_event_ = queue_.top();
}

void RunSimulator::node_returns() {
  settle_pool();
  --in_repair_;
  if (action_ != Action::wait) {
    ++idle_spares_;
    return;
  }
  book_action();
  action_begin_ = now_;
  ++job_nodes_;
  if (job_nodes_ == plan_.step.nodes) {
    begin_stages(Action::reschedule);
  }
}

}  // namespace orrery::run
