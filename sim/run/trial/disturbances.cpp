#include "sim/run/trial/disturbances.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::run {

namespace {

double draw(const FactorLaw& law, RandomStream& stream) {
  if (!law.any.empty()) {
    return law.any[stream.uniform_int(law.any.size())];
  }
  const double spread = law.sigma > 0.0 ? std::exp(law.sigma * stream.normal()) : 1.0;
  return 1.0 + (law.median - 1.0) * spread;
}

}  // namespace

Disturbances::Disturbances(const RunPlan& plan)
    : plan_(plan), stream_(plan.simulation.seed, 0, Purpose::disturbance) {}

void Disturbances::reset(std::uint32_t trial) {
  queue_.clear();
  stream_ = RandomStream(plan_.simulation.seed, trial, Purpose::disturbance);
  slowdowns_.clear();
  evictions_.clear();
  taints_.assign(plan_.failures.silent.size(), {});
  steps_in_vain_ = count_ = 0;
}

void Disturbances::push(SimTime at, Outcome outcome, std::uint32_t payload) {
  queue_.push(at, static_cast<std::uint8_t>(outcome), payload);
}

Disturbances::Taint& Disturbances::taint_of(std::int32_t index) {
  return taints_[static_cast<std::size_t>(index)];
}

Disturbances::Event Disturbances::take() {
  const engine::Event event = queue_.pop();
  const auto outcome = static_cast<Outcome>(event.priority);
  if (outcome == Outcome::slowdown_ends) {
    slowdowns_.end(event.payload);
  } else if (outcome == Outcome::eviction) {
    evictions_.push_back(event.payload);
  }
  return {outcome, static_cast<std::int32_t>(event.payload)};
}

bool Disturbances::is_one_too_many() {
  constexpr std::int64_t kMost = 10'000'000;
  return ++count_ > kMost;
}

void Disturbances::begin_slowdown(SimTime now, std::int32_t index) {
  const PlannedSlowdown& plan = plan_.failures.slowdowns[static_cast<std::size_t>(index)];
  const double factor = draw(plan.factor, stream_);
  const SimTime duration = bounded_time(sample(plan.duration, stream_));
  const std::uint32_t id = slowdowns_.begin(factor, index);
  if (plan.evict_after && *plan.evict_after < duration) {
    push(now + *plan.evict_after, Outcome::eviction, id);
  } else {
    push(now + duration, Outcome::slowdown_ends, id);
  }
}

std::int32_t Disturbances::evict() {
  const std::uint32_t id = evictions_.back();
  evictions_.pop_back();
  return plan_.failures.slowdowns[static_cast<std::size_t>(slowdowns_.end(id))].cause;
}

bool Disturbances::begin_corruption(SimTime now, std::int32_t index, std::int64_t steps) {
  Taint& taint = taint_of(index);
  if (taint.active) {
    return false;
  }
  const PlannedSilent& plan = plan_.failures.silent[static_cast<std::size_t>(index)];
  taint = {.active = true, .clean_steps = steps};
  push(now + bounded_time(sample(plan.detection, stream_)), Outcome::detection,
       static_cast<std::uint32_t>(index));
  return true;
}

Disturbances::Detection Disturbances::detect(std::int32_t index) {
  Taint& taint = taint_of(index);
  const PlannedSilent& plan = plan_.failures.silent[static_cast<std::size_t>(index)];
  taint.recovering = true;
  taint.repeats = plan.repeats > 0.0 && stream_.uniform01() < plan.repeats;
  return {.clean_steps = taint.clean_steps, .host_stays = taint.repeats};
}

void Disturbances::corrupt_after_recovery(std::int32_t index) {
  taint_of(index).recovering = true;
  taint_of(index).repeats = true;
}

void Disturbances::go_back(std::int64_t steps) {
  for (Taint& taint : taints_) {
    taint.clean_steps = std::min(taint.clean_steps, steps);
  }
}

void Disturbances::end_recovery(SimTime now) {
  for (std::size_t i = 0; i < taints_.size(); ++i) {
    if (!taints_[i].recovering) {
      continue;
    }
    if (taints_[i].repeats) {
      const Duration& after = plan_.failures.silent[i].repeat_after;
      push(now + bounded_time(sample(after, stream_)), Outcome::corruption,
           static_cast<std::uint32_t>(i));
    }
    taints_[i] = {};
  }
}

}  // namespace orrery::run
