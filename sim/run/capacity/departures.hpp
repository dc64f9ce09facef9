#pragma once

// Announced preemptions: the one for which the job saves next, and the latest start of that save.
//
//   save_at = departure - (longest step in progress + save to the storage) - 1 ns, or now
//
// symbol    | meaning                                                          | unit | origin
// ----------|------------------------------------------------------------------|------|----------
// departure | the first announced preemption that is not dealt with            | ns   | pool
// dealt with| it is over, its save was made, or it is too late for one         | -    | simulated
//
// Several preemptions can be announced at a time; the pool knows them all (spot_supply.hpp). Each
// has a save of its own, as late as it can be: what is trained between it and the loss is lost.
// Longer notice then never costs: it only moves the moment at which a departure becomes known.

#include <algorithm>

#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/node_pool.hpp"

namespace orrery::run {

class Departures {
 public:
  // Keeps a reference to the pool.
  explicit Departures(const NodePool& pool) : pool_(pool) {}

  void reset() {
    next_ = save_at_ = kForever;
    dealt_with_ = SimTime{};
  }

  // Looks again: after a notice, a departure, a move to another zone or a change of the pace. A
  // save takes `needs`, the step in progress included.
  void update(SimTime now, SimTime needs) {
    next_ = pool_.departure_after(dealt_with_);
    save_at_ = next_ == kForever ? kForever : std::max(now, next_ - needs - SimTime{1});
  }

  // Those up to `time` need nothing more; update() follows.
  void deal_with(SimTime time) {
    dealt_with_ = std::max(dealt_with_, time);
  }

  // When the nodes leave; kForever when nothing is announced.
  [[nodiscard]] SimTime next() const {
    return next_;
  }

  [[nodiscard]] SimTime save_at() const {
    return save_at_;
  }

 private:
  const NodePool& pool_;
  SimTime next_ = kForever;
  SimTime save_at_ = kForever;
  SimTime dealt_with_;
};

}  // namespace orrery::run
