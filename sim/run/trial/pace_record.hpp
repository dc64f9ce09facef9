#pragma once

// The pace at which each step of the run was made, and what is undone when the run goes back.
//
//   consumed(step)   = pace * gpus
//   productive(step) = min(planned, consumed)       degraded(step) = consumed - productive(step)
//
// symbol  | meaning                                                        | unit   | origin
// --------|----------------------------------------------------------------|--------|----------
// pace    | wall time of one step: phase, size of the job, slowdowns       | ns     | simulated
// gpus    | GPUs that the job holds meanwhile                              | GPUs   | simulated
// planned | GPU time of the step at its planned size, with nothing slow    | GPU ns | run plan
//
// The record is a stack over the index of the step: a new pace begins a segment, going back to an
// earlier step cuts the segments after it. So training between two events costs no bookkeeping at
// all, and the accounts are exact integers. O(1) amortised per change of pace.

#include <cstdint>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/run_category.hpp"

namespace orrery::run {

[[nodiscard]] inline SimTime times(std::int64_t count, SimTime each) {
  return {count * each.ns};
}

struct Pace {
  SimTime step;
  std::int64_t gpus = 1;
  Int128 planned = 0;

  friend bool operator==(const Pace&, const Pace&) = default;
};

// Training that is undone.
struct UndoneWork {
  SimTime wall;
  Int128 gpu_ns = 0;
};

class PaceRecord {
 public:
  void reset(const Pace& pace);

  // The steps from `step` on are made at `pace`; `step` is not before the latest change.
  void change(std::int64_t step, const Pace& pace);

  // Forgets the steps `from`, ..., `done` - 1; the next one will be `from`. 0 <= from <= done.
  UndoneWork undo(std::int64_t from, std::int64_t done);

  // Books the steps 0, ..., `done` - 1 as productive and degraded.
  void book(std::int64_t done, RunLedger& ledger) const;

  [[nodiscard]] const Pace& current() const {
    return segments_.back().pace;
  }

  [[nodiscard]] std::int64_t changes() const {
    return static_cast<std::int64_t>(segments_.size()) - 1;
  }

 private:
  struct Segment {
    std::int64_t first = 0;
    Pace pace;
  };

  std::vector<Segment> segments_;
};

}  // namespace orrery::run
