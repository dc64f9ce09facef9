#include "sim/run/trial/saves.hpp"

#include <algorithm>

namespace orrery::run {

namespace {

// A copy before the newest one is asked for only after these.
bool asks_for_older_copies(const RunPlan& plan) {
  return plan.checkpoint.corrupt > 0.0 || !plan.failures.silent.empty() ||
         !plan.failures.spikes.empty();
}

}  // namespace

Saves::Saves(const RunPlan& plan)
    : plan_(plan.checkpoint),
      every_(plan.checkpoint.every_steps.value_or(kNever)),
      alike_(plan.checkpoint.tiers.size() == 1),
      alike_stall_(alike_ && plan.checkpoint.saves.front().copies.front().durable <=
                                 plan.checkpoint.saves.front().stall),
      states_(plan.checkpoint, asks_for_older_copies(plan)) {}

void Saves::reset(std::int64_t gpus) {
  states_.reset();
  saves_ = saved_steps_ = copies_ = fruitless_failures_ = 0;
  gpus_saved_ = gpus;
  blocked_until_ = SimTime{};
}

SimTime Saves::blocking_time(SimTime now, std::int64_t steps) const {
  SimTime length;
  const bool in_flight = states_.storage_flight_end() != kForever;
  if (in_flight) {
    length = states_.storage_flight_end() - now;
  }
  if (!in_flight || states_.storage_flight() != steps) {
    length += plan_.saves.back().copies.back().durable;
  }
  return length;
}

void Saves::end_blocking(std::int64_t steps, std::int64_t gpus) {
  saved_steps_ = steps;
  gpus_saved_ = gpus;
  if (!are_stored(steps)) {  // unless it was the save in flight
    states_.put(steps);
    count(1);
  }
  blocked_until_ = states_.blocked_until(saves_ + 1);
}

void Saves::end_late(std::int64_t steps) {
  states_.put(steps);
  saved_steps_ = steps;
  count(1);
}

void Saves::go_back(std::int64_t steps) {
  saved_steps_ = steps;
  saves_ = is_periodic() ? steps / every_ : 0;  // the pattern follows the progress
  states_.forget_after(steps);
  blocked_until_ = SimTime{};
}

// What single saves would do with them; saves in flight and older copies are left to those.
Saves::Cycles Saves::run_cycles(const Stretch& stretch) {
  if (!alike_stall_ || states_.tracks_older() || every_ > stretch.longest ||
      states_.next_durable() != kForever) {
    return {};
  }
  const SimTime training = times(every_, stretch.step);
  const SimTime stall = plan_.saves.front().stall;
  SimTime now = stretch.begin;
  std::int64_t steps = stretch.steps;
  SimTime stalled;
  std::int64_t saves = 0;
  while (steps + every_ <= stretch.most) {
    const SimTime trained = now + training;
    if (trained >= stretch.end) {
      break;
    }
    const SimTime saved = trained + stall;
    if (saved >= stretch.end) {
      break;
    }
    now = saved;
    steps += every_;
    stalled += stall;
    ++saves;
  }
  if (saves == 0) {
    return {};
  }
  saved_steps_ = steps;
  saves_ += saves;
  gpus_saved_ = stretch.gpus;
  states_.put(steps);
  count(saves);
  return {.steps = steps - stretch.steps, .wall = now - stretch.begin, .stalled = stalled};
}

bool Saves::is_skippable(const Stretch& stretch) const {
  return alike_ && is_periodic() && every_ <= stretch.longest &&
         plan_.saves.front().copies.front().durable <=
             times(every_, stretch.step) + plan_.saves.front().stall;
}

Saves::Cycles Saves::skip_cycles(const Stretch& stretch) {
  if (!is_skippable(stretch)) {
    return {};
  }
  const PlannedSave& save = plan_.saves.front();
  const SimTime cycle = times(every_, stretch.step) + save.stall;
  const SimTime room = stretch.end - stretch.begin;
  if (room <= cycle) {
    return {};
  }
  const std::int64_t cycles =
      std::min((room.ns - 1) / cycle.ns, (stretch.most - stretch.steps) / every_);
  if (cycles <= 0) {
    return {};
  }
  if (states_.next_durable() != kForever) {  // the save in flight ends within the first cycle
    count(states_.complete(states_.next_durable()));
  }
  if (states_.tracks_older()) {
    for (std::int64_t i = 1; i < cycles; ++i) {
      states_.put(stretch.steps + i * every_);
    }
  } else if (cycles > 1) {
    states_.put(stretch.steps + (cycles - 1) * every_);
  }
  if (cycles > 1) {
    count(cycles - 1);
  }
  const SimTime end = stretch.begin + times(cycles, cycle);
  saves_ += cycles;
  saved_steps_ = stretch.steps + cycles * every_;
  gpus_saved_ = stretch.gpus;
  if (states_.begin(end - save.stall, saved_steps_, save)) {
    count(states_.end_stall(saved_steps_, save));
  } else if (states_.next_durable() <= end) {
    count(states_.complete(states_.next_durable()));
  }
  blocked_until_ = states_.blocked_until(saves_ + 1);
  return {
      .steps = cycles * every_, .wall = times(cycles, cycle), .stalled = times(cycles, save.stall)};
}

}  // namespace orrery::run
