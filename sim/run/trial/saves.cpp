#include "sim/run/trial/saves.hpp"

#include <algorithm>

namespace orrery::run {

namespace {

// A copy before the newest one is asked for only after these.
bool asks_for_older_copies(const RunPlan& plan) {
  return plan.checkpoint.corrupt > 0.0 || !plan.failures.silent.empty() ||
         !plan.failures.spikes.empty();
}

// The least training between saves with which no copy to a tier outlasts the time to the next one,
// whatever their stalls; kForever where the turns of the tiers are no multiples of each other.
SimTime least_training(const CheckpointPlan& plan) {
  SimTime stall = kForever;
  for (const PlannedSave& save : plan.saves) {
    stall = std::min(stall, save.stall);
  }
  SimTime least;
  std::int64_t turn = 1;
  for (std::size_t tier = 0; tier < plan.tiers.size(); ++tier) {
    const std::int64_t every = tier == 0 ? 1 : plan.tiers[tier].every_saves;
    if (every % turn != 0) {
      return kForever;
    }
    turn = every;
    for (const PlannedSave& save : plan.saves) {
      for (const SavedCopy& copy : save.copies) {
        if (static_cast<std::size_t>(copy.tier) == tier) {
          const SimTime cycle{(copy.durable.ns + every - 1) / every};
          least = std::max(least, cycle - std::min(cycle, stall));
        }
      }
    }
  }
  return least;
}

}  // namespace

Saves::Saves(const RunPlan& plan)
    : plan_(plan.checkpoint),
      every_(plan.checkpoint.every_steps.value_or(kNever)),
      alike_(plan.checkpoint.tiers.size() == 1),
      alike_stall_(alike_ && plan.checkpoint.saves.front().copies.front().durable <=
                                 plan.checkpoint.saves.front().stall),
      least_training_(least_training(plan.checkpoint)),
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

SimTime Saves::stalls_of(std::int64_t cycles) const {
  SimTime sum = times(cycles, plan_.saves.front().stall);
  for (std::size_t kind = 1; kind < plan_.saves.size(); ++kind) {
    const std::int64_t every = plan_.tiers[kind].every_saves;
    const std::int64_t turns = (saves_ + cycles) / every - saves_ / every;
    sum += times(turns, plan_.saves[kind].stall);
    sum -= times(turns, plan_.saves[kind - 1].stall);
  }
  return sum;
}

// Copies of saves other than those of the pattern may be in flight as well.
bool Saves::tiers_are_skippable(const Stretch& stretch) const {
  if (!is_periodic() || every_ > stretch.longest || times(every_, stretch.step) < least_training_) {
    return false;
  }
  for (std::size_t tier = 0; tier < plan_.tiers.size(); ++tier) {
    const std::int64_t every = tier == 0 ? 1 : plan_.tiers[tier].every_saves;
    const std::int64_t next = every - saves_ % every;  // the save after this many cycles
    const SimTime least = stretch.begin + times(next, times(every_, stretch.step));
    const SimTime end = states_.flight_end(tier);
    if (end != kForever && end > least) {
      return false;
    }
  }
  return true;
}

Saves::Cycles Saves::skip_tiers(const Stretch& stretch) {
  if (!tiers_are_skippable(stretch)) {
    return {};
  }
  const SimTime training = times(every_, stretch.step);
  const SimTime room = stretch.end - stretch.begin;
  const auto wall = [&](std::int64_t cycles) {
    return times(cycles, training) + stalls_of(cycles);
  };
  std::int64_t cycles = 0;
  std::int64_t too_many =
      std::min(room.ns / training.ns, (stretch.most - stretch.steps) / every_) + 1;
  while (too_many - cycles > 1) {
    const std::int64_t middle = cycles + (too_many - cycles) / 2;
    (wall(middle) < room ? cycles : too_many) = middle;
  }
  if (cycles == 0) {
    return {};
  }
  const SimTime whole = wall(cycles);
  const SimTime end = stretch.begin + whole;
  const std::int64_t first = saves_;
  const std::int64_t last = saves_ + cycles;
  const auto steps_at = [&](std::int64_t save) { return stretch.steps + (save - first) * every_; };
  std::int64_t copies = 0;
  for (std::size_t tier = 0; tier < plan_.tiers.size(); ++tier) {
    const std::int64_t every = tier == 0 ? 1 : plan_.tiers[tier].every_saves;
    const std::int64_t newest = last / every * every;
    if (states_.flight_end(tier) <= end) {  // before the next save to this tier
      states_.land(tier);
      ++copies;
    }
    if (newest <= first) {
      continue;
    }
    const PlannedSave& save = plan_.save(newest);
    const auto copy = std::ranges::find_if(save.copies, [tier](const SavedCopy& one) {
      return static_cast<std::size_t>(one.tier) == tier;
    });
    const SimTime begun = stretch.begin + wall(newest - first) - save.stall;
    const bool flies = copy->durable > save.stall && begun + copy->durable > end;
    const std::int64_t complete = flies ? newest - every : newest;
    const std::int64_t oldest = (first / every + 1) * every;
    if (complete >= oldest) {
      copies += (complete - oldest) / every + 1;
      const bool all = states_.tracks_older() && tier + 1 == plan_.tiers.size();
      for (std::int64_t i = all ? oldest : complete; i <= complete; i += every) {
        states_.keep(tier, steps_at(i));
      }
    }
    if (flies) {
      states_.fly(tier, steps_at(newest), begun + copy->durable);
    }
  }
  states_.end_skip();
  if (copies > 0) {
    count(copies);
  }
  saves_ = last;
  saved_steps_ = steps_at(last);
  gpus_saved_ = stretch.gpus;
  blocked_until_ = states_.blocked_until(saves_ + 1);
  return {.steps = cycles * every_, .wall = whole, .stalled = whole - times(cycles, training)};
}

Saves::Cycles Saves::skip_cycles(const Stretch& stretch) {
  if (!alike_) {
    return skip_tiers(stretch);
  }
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
