#pragma once

// Disturbances of one trial: slow nodes, degraded links, silent corruption and loss spikes, which
// of them act now, and when each is noticed.
//
//   factor of a slowdown = 1 + (median - 1) * exp(sigma * z),  z ~ N(0, 1), by its FactorLaw
//
// A host that computes wrong results does so
// until it is found and has left; one that is looked for and not found does so again, some time
// after the recovery. O(log n) per event.

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/base/random.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/step/engine/event_queue.hpp"

namespace orrery::run {

// The slowdowns in progress. A slow node holds the whole job up, so the worst one counts. O(log n).
class ActiveSlowdowns {
 public:
  void clear() {
    active_.clear();
    factors_.clear();
    next_id_ = 0;
  }

  // `index` into FailurePlan::slowdowns. The id of the one that begins.
  std::uint32_t begin(double factor, std::int32_t index) {
    active_[next_id_] = {factors_.insert(factor), index};
    return next_id_++;
  }

  // Returns its index.
  std::int32_t end(std::uint32_t id) {
    const auto ended = active_.find(id);
    ORRERY_CHECK(ended != active_.end(), "no slowdown {} is in progress", id);
    const auto [factor, index] = ended->second;
    factors_.erase(factor);
    active_.erase(ended);
    return index;
  }

  // The largest factor in progress, at least 1.
  [[nodiscard]] double worst() const {
    return factors_.empty() ? 1.0 : std::max(1.0, *factors_.rbegin());
  }

 private:
  struct Slowdown {
    std::multiset<double>::iterator factor;
    std::int32_t index = 0;
  };

  std::multiset<double> factors_;
  std::unordered_map<std::uint32_t, Slowdown> active_;  // by id
  std::uint32_t next_id_ = 0;
};

class Disturbances {
 public:
  // What comes of a disturbance, in the order at the same nanosecond.
  enum class Outcome : std::uint8_t { slowdown_ends, eviction, detection, corruption };

  struct Event {
    Outcome outcome;
    std::int32_t index;  // of detection and corruption: into FailurePlan::silent
  };

  struct Detection {
    std::int64_t clean_steps;  // before the first wrong one
    bool host_stays;           // it was not found
  };

  explicit Disturbances(const RunPlan& plan);

  void reset(std::uint32_t trial);

  // When the next outcome is due; kForever without one.
  [[nodiscard]] SimTime next() const { return queue_.empty() ? kForever : queue_.top().time; }

  // The outcome due at next().
  Event take();

  // Counts one more; true when a trial gives up over so many.
  [[nodiscard]] bool is_one_too_many();

  // One of FailurePlan::slowdowns begins.
  void begin_slowdown(SimTime now, std::int32_t index);

  // The largest factor on the step time, at least 1.
  [[nodiscard]] double slowdown() const { return slowdowns_.worst(); }

  [[nodiscard]] bool asks_for_eviction() const { return !evictions_.empty(); }

  // The slow node that was to be evicted last leaves; returns the cause of its slowdown.
  std::int32_t evict();

  // A host begins to compute wrong results after `steps` steps; false: one does already.
  bool begin_corruption(SimTime now, std::int32_t index, std::int64_t steps);

  // Wrong results are noticed; end_recovery() follows when the job has recovered.
  Detection detect(std::int32_t index);

  // The host computes wrong results as soon as the job runs again.
  void corrupt_after_recovery(std::int32_t index);

  // The steps after `steps` are undone; the host is still there.
  void go_back(std::int64_t steps);

  // Hosts that were found have left, the others corrupt again some time later.
  void end_recovery(SimTime now);

  // Steps are to be trained in vain, after a loss spike.
  void skip_steps(std::int64_t steps) { steps_in_vain_ += steps; }

  [[nodiscard]] std::int64_t take_steps_in_vain() { return std::exchange(steps_in_vain_, 0); }

  // Something waits for the next step boundary.
  [[nodiscard]] bool is_urgent() const { return steps_in_vain_ > 0 || !evictions_.empty(); }

 private:
  // Results of a host that computes wrong ones, since the step after `clean_steps`.
  struct Taint {
    bool active = false;
    std::int64_t clean_steps = 0;
    bool repeats = false;  // the host stays: it corrupts again after the recovery in progress
    bool recovering = false;
  };

  void push(SimTime at, Outcome outcome, std::uint32_t payload);
  Taint& taint_of(std::int32_t index);

  const RunPlan& plan_;
  engine::EventQueue queue_;
  RandomStream stream_;  // factors and durations of slowdowns, delays of detection
  ActiveSlowdowns slowdowns_;
  std::vector<std::uint32_t> evictions_;  // slowdowns that wait for a step boundary
  std::vector<Taint> taints_;             // by FailurePlan::silent
  std::int64_t steps_in_vain_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace orrery::run
