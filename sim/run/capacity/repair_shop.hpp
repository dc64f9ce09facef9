#pragma once

// Repair of broken nodes: stages with a queue for crews, after which a node returns or is retired.
//
//   first stage -> (with probability `escalates`) queue -> manual stage -> back, or retired
//
// With c crews, one stage, exponential times of mean m and a constant stream of rate r this is the
// M/M/c queue; without crews the nodes in repair are M/G/infinity: Poisson(r m) whatever the law of
// the times. First come, first served. The tests check both.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/capacity_plan.hpp"

namespace orrery::run {

class RepairShop {
 public:
  static constexpr std::int32_t kGoodNode = -1;

  enum class Outcome {
    moved_on,  // to the queue or the next stage; still in repair
    returned,
    retired,      // no longer in repair, and nothing takes its place
    replaceable,  // no longer in repair; a new good node returns later
    replaced,     // that new node
  };

  struct Event {
    Outcome outcome = Outcome::moved_on;
    std::int32_t strikes = kGoodNode;  // of the node that returned
  };

  // Keeps a reference to the plan.
  RepairShop(const PlannedRepair& plan, std::uint64_t seed);

  void reset(std::uint32_t trial);

  // A node enters the first stage. `strikes` that a bad node has had so far, or kGoodNode.
  void submit(SimTime now, std::int32_t strikes);

  // A node is retired without a repair. Whether a new one will come.
  bool replace(SimTime now);

  // The next change of any node; kForever when nothing is in repair or on its way.
  [[nodiscard]] SimTime next() const { return changes_.empty() ? kForever : changes_.front().at; }

  // The change at next(), which must be `now`.
  Event take(SimTime now);

  // In a stage or in the queue; replacements that are on their way are not.
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }

  // In the queue for a crew.
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(queue_.size()); }

 private:
  enum class Stage : std::uint8_t { first, last, replacement };

  // All that happens to a node is drawn when it comes in; only its place in the queue is not known.
  struct Change {
    SimTime at;
    std::int64_t order = 0;  // of two changes at the same time the one submitted first comes first
    SimTime last_stage;      // length of the stage that needs a crew
    std::int32_t strikes = kGoodNode;
    Stage stage = Stage::first;
    bool crew = false;  // of its last stage
    bool retired = false;
  };

  static bool later(const Change& a, const Change& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  void schedule(const Change& change);
  void wait_for_crew(SimTime now, Change change);
  Event leave(SimTime now, const Change& change);

  const PlannedRepair& plan_;
  const std::uint64_t seed_;
  const bool simple_;            // one stage, no crews, nothing to draw but its time
  std::vector<Change> changes_;  // a heap, the earliest at the front
  std::deque<Change> queue_;
  std::int64_t nodes_ = 0;
  std::int64_t busy_crews_ = 0;
  std::int64_t submitted_ = 0;
  RandomStream first_;
  RandomStream manual_;
  RandomStream outcome_;
  RandomStream replacement_;
};

}  // namespace orrery::run
