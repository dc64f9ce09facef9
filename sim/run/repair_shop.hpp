#pragma once

// When does a broken node come back, and is it good then? Stages of repair with a queue for crews.
//
//   first stage -> (with probability `escalates`) queue -> manual stage -> back, or retired
//
// symbol    | meaning                                                        | unit | origin
// ----------|----------------------------------------------------------------|------|-----------
// first     | time of the first stage; no crew with a manual stage behind it | s    | plan
// escalates | probability that the manual stage follows                      | 1    | plan
// fails     | probability that a bad node is bad afterwards, by last stage   | 1    | plan
// crews     | nodes in the last stage at the same time; the others queue     | -    | plan
// retire    | probability that the node does not come back                   | 1    | plan
//
// With c crews, one stage, exponential times of mean m and a constant stream of rate r this is the
// M/M/c queue; without crews the nodes in repair are M/G/infinity: Poisson(r m) whatever the law of
// the times. First come, first served. The tests check both.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity_plan.hpp"

namespace orrery::run {

class RepairShop {
 public:
  enum class Outcome {
    moved_on,  // to the queue or the next stage; still in repair
    good,
    bad,
    retired,      // no longer in repair, and nothing takes its place
    replaceable,  // no longer in repair; a new good node arrives later, as Outcome::good
  };

  // Keeps a reference to the plan.
  RepairShop(const PlannedRepair& plan, std::uint64_t seed);

  void reset(std::uint32_t trial);

  // A node enters the first stage.
  void submit(SimTime now, bool bad);

  // The next change of any node; kForever when nothing is in repair or on its way.
  [[nodiscard]] SimTime next() const {
    return changes_.empty() ? kForever : changes_.front().at;
  }

  // The change at next(), which must be `now`.
  Outcome take(SimTime now);

  // In a stage or in the queue; replacements that are on their way are not.
  [[nodiscard]] std::int64_t nodes() const {
    return nodes_;
  }

  // In the queue for a crew.
  [[nodiscard]] std::int64_t waiting() const {
    return static_cast<std::int64_t>(queue_.size());
  }

 private:
  enum class Stage : std::uint8_t { first, last, replacement };

  struct Change {
    SimTime at;
    std::int64_t order = 0;  // of two changes at the same time the one submitted first comes first
    Stage stage = Stage::first;
    bool bad = false;     // on entering
    bool manual = false;  // the last stage is the manual one
  };

  static bool later(const Change& a, const Change& b);
  void schedule(Change change);
  void begin_last(SimTime now, bool bad, bool manual);
  Outcome leave(SimTime now, const Change& change);

  const PlannedRepair& plan_;
  std::uint64_t seed_;
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
