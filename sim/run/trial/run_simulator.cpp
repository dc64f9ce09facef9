// The frequent path of RunSimulator: training, saves, and what happens between two interrupts.

#include "sim/run/trial/run_simulator.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace orrery::run {

namespace {

// A copy before the newest one is asked for only after these.
bool asks_for_older_copies(const RunPlan& plan) {
  return plan.checkpoint.corrupt > 0.0 || !plan.failures.silent.empty() ||
         !plan.failures.spikes.empty();
}

}  // namespace

RunSimulator::RunSimulator(const RunPlan& plan)
    : plan_(plan),
      gpus_per_node_(plan.step.gpus_per_node),
      target_(plan.target_steps.value_or(kNever)),
      checkpoint_(plan.checkpoint.every_steps.value_or(kNever)),
      evaluation_(plan.evaluation_steps.value_or(kNever)),
      saves_alike_(plan.checkpoint.tiers.size() == 1),
      saves_stall_(saves_alike_ && plan.checkpoint.saves.front().copies.front().durable <=
                                       plan.checkpoint.saves.front().stall),
      pool_(plan),
      failures_(plan),
      saved_(plan.checkpoint, asks_for_older_copies(plan)),
      billing_(plan),
      departures_(pool_),
      luck_(plan.simulation.seed, 0, Purpose::recovery_luck),
      disturbance_(plan.simulation.seed, 0, Purpose::disturbance),
      stage_(stage_streams(plan.simulation.seed, 0)) {
  ORRERY_CHECK(!plan.phases.empty() && plan.phases.front().step_time > SimTime{} &&
                   plan.end > SimTime{} && plan.end <= kLongestTime,
               "a plan of {} phases with its end at {} ns was not made by resolve_run",
               plan.phases.size(),
               plan.end.ns);
  for (const PlannedTier& tier : plan.checkpoint.tiers) {
    for (std::size_t cause = 0; cause < plan.causes.size(); ++cause) {
      Stages& stages = stages_.emplace_back();
      for (std::size_t i = 0; i < kRecoveryStageCount; ++i) {
        const bool loads = i == index_of(RecoveryStage::load);
        const Duration& law = loads ? tier.load[cause] : plan.recovery.stages[cause][i];
        const auto* fixed = std::get_if<FixedDuration>(&law);
        stages[i] =
            fixed != nullptr ? Stage{bounded_time(fixed->value), nullptr} : Stage{SimTime{}, &law};
      }
    }
  }
}

// Whole steps until `time`, at least one; the last of them ends at or after it.
std::int64_t RunSimulator::steps_until(SimTime time) const {
  const std::int64_t wait = time.ns - now_.ns;
  return wait <= step_time_.ns ? 1 : (wait + step_time_.ns - 1) / step_time_.ns;
}

void RunSimulator::begin_training() {
  std::int64_t until_save = saved_steps_ + checkpoint_ - steps_;
  if (blocked_until_ > now_) {
    until_save = std::max(until_save, steps_until(blocked_until_));
  }
  std::int64_t steps = std::min(std::min(longest_, next_special_ - steps_), until_save);
  if (now_ + times(steps, step_time_) > next_stop_) {
    steps = std::min(steps, steps_until(next_stop_));
  }
  action_steps_ = steps;
  begin(Action::train, times(steps, step_time_));
}

void RunSimulator::begin_save() {
  ++saves_;
  saved_steps_ = steps_;
  gpus_saved_ = job_gpus_;
  if (saves_alike_) {
    save_ = plan_.checkpoint.saves.data();
    save_stalls_ = saves_stall_;
    if (!saves_stall_) {
      blocked_until_ = now_ + save_->copies.front().durable;
      saved_.begin_only(blocked_until_, steps_);
    }
  } else {
    save_ = &plan_.checkpoint.save(saves_);
    save_stalls_ = saved_.begin(now_, steps_, *save_);
    blocked_until_ = saved_.blocked_until(saves_ + 1);
  }
  begin(Action::save, save_->stall);
}

// What the job does next, at a step boundary.
void RunSimulator::next_action() {
  if (steps_ == saved_steps_ && options_.timeline == nullptr) {
    if (options_.event_by_event) {
      run_cycles();
    } else {
      skip_cycles();
    }
  }
  if (steps_ >= next_special_ || now_ >= next_stop_) [[unlikely]] {
    special_action();
  } else if (steps_ >= saved_steps_ + checkpoint_ && blocked_until_ <= now_) {
    begin_save();
  } else {
    begin_training();
  }
}

// One event: a save in flight, the job's own action, or the first interrupt. Training and saves are
// by far the most frequent ones and kept apart from the others.
inline void RunSimulator::advance() {
  const SimTime durable_at = saved_.next_durable();
  if (durable_at <= action_end_ && durable_at <= interrupt_) {
    now_ = durable_at;
    copies_are_durable(saved_.complete(now_));
    blocked_until_ = saved_.blocked_until(saves_ + 1);
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
    record();
    steps_ += action_steps_;
  } else if (action_ == Action::save) {
    spent_[static_cast<std::size_t>(RunCategory::checkpoint_stall)] += now_ - action_begin_;
    record();
    if (saves_stall_) {
      saved_.put(steps_);
      copies_are_durable(1);
    } else if (save_stalls_) {
      copies_are_durable(saved_.end_stall(steps_, *save_));
    }
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

// Right after a save: training and saves in turn, one event after the other, as long as nothing
// else is due. What advance() does with them, with their state in registers; saves in flight, older
// copies and the last cycle before anything else are left to it.
void RunSimulator::run_cycles() {
  if (!saves_stall_ || saved_.tracks_older() || checkpoint_ > longest_ ||
      saved_.next_durable() != kForever) {
    return;
  }
  const SimTime limit = std::min(interrupt_, next_stop_);
  const SimTime training = times(checkpoint_, step_time_);
  const SimTime stall = plan_.checkpoint.saves.front().stall;
  SimTime now = now_;
  SimTime stalled;
  std::int64_t steps = steps_;
  std::int64_t saves = 0;
  while (steps + checkpoint_ < next_special_) {
    const SimTime trained = now + training;
    if (trained >= limit) {
      break;
    }
    const SimTime saved = trained + stall;
    if (saved >= limit) {
      break;
    }
    now = saved;
    steps += checkpoint_;
    stalled += stall;
    ++saves;
  }
  if (saves == 0) {
    return;
  }
  now_ = now;
  steps_ = saved_steps_ = steps;
  saves_ += saves;
  gpus_saved_ = job_gpus_;
  spent_[static_cast<std::size_t>(RunCategory::checkpoint_stall)] += stalled;
  saved_.put(steps);
  copies_are_durable(saves);
}

bool RunSimulator::is_skippable() const {
  return saves_alike_ && checkpoint_ != kNever && checkpoint_ <= longest_ &&
         plan_.checkpoint.saves.front().copies.front().durable <=
             times(checkpoint_, step_time_) + plan_.checkpoint.saves.front().stall;
}

// Right after a save: whole cycles of training and save that end before anything else can happen.
void RunSimulator::skip_cycles() {
  if (!is_skippable()) {
    return;
  }
  const PlannedSave& save = plan_.checkpoint.saves.front();
  const SimTime limit = std::min(interrupt_, next_stop_);
  const SimTime cycle = times(checkpoint_, step_time_) + save.stall;
  if (limit - now_ <= cycle) {
    return;
  }
  std::int64_t cycles = (limit.ns - now_.ns - 1) / cycle.ns;
  // A special step may end a cycle, except where its save is waited for.
  const bool waits = next_special_ == target_ || grow_pending_;
  const std::int64_t room = next_special_ - steps_ - (waits ? 1 : 0);
  cycles = std::min(cycles, room / checkpoint_);
  if (cycles <= 0) {
    return;
  }
  if (saved_.next_durable() != kForever) {  // the save in flight ends within the first cycle
    copies_are_durable(saved_.complete(saved_.next_durable()));
  }
  if (saved_.tracks_older()) {
    for (std::int64_t i = 1; i < cycles; ++i) {
      saved_.put(steps_ + i * checkpoint_);
    }
  } else if (cycles > 1) {
    saved_.put(steps_ + (cycles - 1) * checkpoint_);
  }
  if (cycles > 1) {
    copies_are_durable(cycles - 1);
  }
  spent_[static_cast<std::size_t>(RunCategory::checkpoint_stall)] += times(cycles, save.stall);
  now_ += times(cycles, cycle);
  steps_ += cycles * checkpoint_;
  saves_ += cycles;
  saved_steps_ = steps_;
  gpus_saved_ = job_gpus_;
  const SimTime begun = now_ - save.stall;
  if (saved_.begin(begun, steps_, save)) {
    copies_are_durable(saved_.end_stall(steps_, save));
  } else if (saved_.next_durable() <= now_) {
    copies_are_durable(saved_.complete(saved_.next_durable()));
  }
  blocked_until_ = saved_.blocked_until(saves_ + 1);
}

}  // namespace orrery::run
