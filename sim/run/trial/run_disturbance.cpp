// The part of RunSimulator that deals with what does not stop the job at once: slow nodes and
// links, wrong results, loss spikes.

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/run/trial/run_simulator.hpp"

namespace orrery::run {

namespace {

// How many times as long a step takes: 1 + (median - 1) * exp(sigma * z).
double draw(const FactorLaw& law, RandomStream& stream) {
  const double spread = law.sigma > 0.0 ? std::exp(law.sigma * stream.normal()) : 1.0;
  return 1.0 + (law.median - 1.0) * spread;
}

}  // namespace

// Steps done, those of the training in progress included.
std::int64_t RunSimulator::steps_now() const {
  if (action_ != Action::train) {
    return steps_;
  }
  return steps_ + std::min(action_steps_, (now_ - action_begin_).ns / step_time_.ns);
}

// One of the effects that only a running job feels.
void RunSimulator::disturb(const PlannedCause& cause) {
  if (++disturbances_ > kMostDisturbances) {
    cut_off();
    stop(StopReason::too_many_disturbances);
    return;
  }
  switch (cause.effect) {
    case StrikeEffect::slowdown:
      begin_slowdown(cause.effect_index);
      break;
    case StrikeEffect::silent:
      begin_corruption(cause.effect_index);
      break;
    case StrikeEffect::spike:
      begin_spike(cause.effect_index);
      break;
    case StrikeEffect::failure:
      ORRERY_CHECK(false, "a failure of cause {} is no disturbance", cause.name);
  }
}

void RunSimulator::begin_slowdown(std::int32_t index) {
  const PlannedSlowdown& plan = plan_.failures.slowdowns[static_cast<std::size_t>(index)];
  const double factor = draw(plan.factor, disturbance_);
  const SimTime duration = bounded_time(sample(plan.duration, disturbance_));
  const std::uint32_t id = slowdowns_.begin(factor, index);
  ++result_.slowdowns;
  if (plan.evict_after && *plan.evict_after < duration) {
    queue_.push(now_ + *plan.evict_after, static_cast<std::uint8_t>(Internal::eviction), id);
  } else {
    queue_.push(now_ + duration, static_cast<std::uint8_t>(Internal::slowdown_ends), id);
  }
  repace();
}

void RunSimulator::end_slowdown(std::uint32_t id) {
  slowdowns_.end(id);
  repace();
}

// The pace changes at the next step boundary; a recovery in progress ends with the new one anyway.
void RunSimulator::repace() {
  repace_ = true;
  plan_ahead();
  cut_training(now_);
}

void RunSimulator::begin_corruption(std::int32_t index) {
  Taint& taint = taints_[static_cast<std::size_t>(index)];
  if (taint.active) {
    return;  // the job is wrong already
  }
  const PlannedSilent& plan = plan_.failures.silent[static_cast<std::size_t>(index)];
  taint = {.active = true, .clean_steps = steps_now()};
  ++result_.corruptions;
  queue_.push(now_ + bounded_time(sample(plan.detection, disturbance_)),
              static_cast<std::uint8_t>(Internal::detection),
              static_cast<std::uint32_t>(index));
}

// Back behind the first wrong result; the host leaves, or is not found and stays.
void RunSimulator::detect_corruption(std::int32_t index) {
  Taint& taint = taints_[static_cast<std::size_t>(index)];
  const PlannedSilent& plan = plan_.failures.silent[static_cast<std::size_t>(index)];
  const PlannedCause& cause = plan_.causes[static_cast<std::size_t>(plan.cause)];
  taint.recovering = true;
  taint.repeats = plan.repeats > 0.0 && disturbance_.uniform01() < plan.repeats;
  const SavedStates::Source source = saved_.newest_until(taint.clean_steps);
  book_action();
  if (options_.timeline != nullptr) {
    options_.timeline->add({now_, now_, RunActivity::failure, plan.cause});
  }
  if (!taint.repeats) {
    broken_ += std::min(cause.takes_nodes, pool_.job_nodes() - broken_);
  }
  late_save_ = false;
  source_ = source.tier;
  if (source.steps < steps_now()) {
    go_back(source.steps, RunCategory::rework, plan.cause);
  } else {  // a failure went back behind it meanwhile
    go_back(steps_now(), RunCategory::rework, plan.cause);
  }
  if (action_ == Action::wait) {
    settle();
    pool_.lose(now_, broken_, 0);
    broken_ = broken_bad_ = 0;
    change_nodes();
    return;
  }
  outage_.reset();
  begin_recovery(plan.cause);
}

// A recovery is over: hosts that were found have left, the others corrupt again some time later.
void RunSimulator::end_corruptions() {
  for (std::size_t i = 0; i < taints_.size(); ++i) {
    Taint& taint = taints_[i];
    if (!taint.recovering) {
      continue;
    }
    if (taint.repeats) {
      const Duration& after = plan_.failures.silent[i].repeat_after;
      queue_.push(now_ + bounded_time(sample(after, disturbance_)),
                  static_cast<std::uint8_t>(Internal::corruption),
                  static_cast<std::uint32_t>(i));
    }
    taint = {};
    find_interrupt();
  }
}

void RunSimulator::begin_spike(std::int32_t index) {
  const PlannedSpike& plan = plan_.failures.spikes[static_cast<std::size_t>(index)];
  ++result_.spikes;
  if (plan.skip_steps) {
    steps_in_vain_ += *plan.skip_steps;
    plan_ahead();
    cut_training(now_);
    return;
  }
  book_action();
  if (options_.timeline != nullptr) {
    options_.timeline->add({now_, now_, RunActivity::failure, plan.cause});
  }
  const std::int64_t least = std::max<std::int64_t>(0, steps_now() - plan.rewind_steps.value_or(0));
  const SavedStates::Source source = saved_.newest_until(least);
  source_ = source.tier;
  late_save_ = false;
  go_back(source.steps, RunCategory::rework, plan.cause);
  outage_.reset();
  begin_recovery(plan.cause);
}

void RunSimulator::handle_internal() {
  const engine::Event event = queue_.pop();
  const auto index = static_cast<std::int32_t>(event.payload);
  switch (static_cast<Internal>(event.priority)) {
    case Internal::slowdown_ends:
      end_slowdown(event.payload);
      break;
    case Internal::eviction:
      evictions_.push_back(event.payload);
      plan_ahead();
      cut_training(now_);
      break;
    case Internal::detection:
      detect_corruption(index);
      break;
    case Internal::corruption:
      if (is_running()) {
        begin_corruption(index);
      } else {  // as soon as it runs again
        taints_[static_cast<std::size_t>(index)].recovering = true;
        taints_[static_cast<std::size_t>(index)].repeats = true;
      }
      break;
    case Internal::sample:
      options_.progress->push_back(static_cast<double>(steps_now()));
      if (++sampled_ < options_.samples.size()) {
        queue_.push(options_.samples[sampled_], event.priority, 0);
      }
      break;
  }
}

}  // namespace orrery::run
