#include "sim/run/checkpoints/saved_states.hpp"

#include "sim/base/check.hpp"

namespace orrery::run {

SavedStates::SavedStates(const CheckpointPlan& plan, bool tracks_older)
    : plan_(plan), count_(plan.tiers.size()), tracks_older_(tracks_older) {
  ORRERY_CHECK(count_ >= 1 && count_ <= kMostTiers, "{} tiers of checkpoints", count_);
  reset();
}

void SavedStates::reset() {
  tiers_.fill({});
  tiers_[count_ - 1].durable = 0;
  next_durable_ = kForever;
  recent_.clear();
  milestones_.clear();
  stored_ = 0;
}

SimTime SavedStates::slowest_flight(std::int64_t n) const {
  SimTime latest;
  for (const SavedCopy& copy : plan_.save(n).copies) {
    const SimTime at = tiers_[static_cast<std::size_t>(copy.tier)].durable_at;
    if (at != kForever) {
      latest = std::max(latest, at);
    }
  }
  return latest;
}

void SavedStates::find_next_durable() {
  next_durable_ = kForever;
  for (std::size_t i = 0; i < count_; ++i) {
    next_durable_ = std::min(next_durable_, tiers_[i].durable_at);
  }
}

std::int64_t SavedStates::complete_tiers(SimTime now) {
  std::int64_t copies = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (tiers_[i].durable_at == now) {
      tiers_[i].durable_at = kForever;
      hold(i, tiers_[i].flight);
      ++copies;
    }
  }
  find_next_durable();
  return copies;
}

void SavedStates::abort() {
  for (std::size_t i = 0; i < count_; ++i) {
    tiers_[i].durable_at = kForever;
  }
  next_durable_ = kForever;
}

void SavedStates::strike(std::int32_t cause, std::int64_t before, std::int64_t after,
                         RandomStream& luck) {
  for (std::size_t i = 0; i < count_; ++i) {
    const double survives = plan_.tiers[i].survival.of(cause, before, after);
    if (tiers_[i].durable == kNone || survives >= 1.0) {
      continue;
    }
    if (survives <= 0.0 || luck.uniform01() >= survives) {
      drop(i);
    }
  }
}

SavedStates::Source SavedStates::newest() const {
  Source best{tiers_[count_ - 1].durable, count_ - 1};
  for (std::size_t i = count_ - 1; i-- > 0;) {
    if (tiers_[i].durable >= best.steps) {
      best = {tiers_[i].durable, i};
    }
  }
  return best;
}

// The newest retained copy of at most `most` steps; 0, the start, without one.
std::int64_t SavedStates::older(std::int64_t most) const {
  std::int64_t best = 0;
  for (const std::vector<std::int64_t>* copies : {&recent_, &milestones_}) {
    const auto after = std::upper_bound(copies->begin(), copies->end(), most);
    if (after != copies->begin()) {
      best = std::max(best, *(after - 1));
    }
  }
  return best;
}

SavedStates::Source SavedStates::newest_until(std::int64_t steps) const {
  for (std::size_t i = 0; i + 1 < count_; ++i) {
    if (tiers_[i].durable != kNone && tiers_[i].durable <= steps &&
        tiers_[i].durable >= older(steps)) {
      return {tiers_[i].durable, i};
    }
  }
  return {older(steps), count_ - 1};
}

// Of the retained copies those of more than `most` steps go.
void SavedStates::drop_older(std::int64_t most) {
  for (std::vector<std::int64_t>* copies : {&recent_, &milestones_}) {
    while (!copies->empty() && copies->back() > most) {
      copies->pop_back();
    }
  }
}

void SavedStates::drop(std::size_t tier) {
  Tier& broken = tiers_[tier];
  if (tier + 1 < count_) {
    broken.durable = kNone;
    return;
  }
  drop_older(broken.durable - 1);
  broken.durable = older(broken.durable);
}

void SavedStates::forget_after(std::int64_t steps) {
  abort();
  for (std::size_t i = 0; i + 1 < count_; ++i) {
    if (tiers_[i].durable > steps) {
      tiers_[i].durable = kNone;
    }
  }
  drop_older(steps);
  Tier& last = tiers_[count_ - 1];
  if (last.durable > steps) {
    last.durable = older(steps);
  }
}

void SavedStates::remember(std::int64_t steps) {
  if (!recent_.empty() && recent_.back() >= steps) {
    return;
  }
  ++stored_;
  if (plan_.kept && static_cast<std::int64_t>(recent_.size()) >= *plan_.kept) {
    recent_.erase(recent_.begin());
  }
  recent_.push_back(steps);
  if (plan_.kept_every && stored_ % *plan_.kept_every == 0) {
    milestones_.push_back(steps);
  }
}

}  // namespace orrery::run
