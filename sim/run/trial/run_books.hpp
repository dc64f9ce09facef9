#pragma once

// The accounts of a trial: where its GPU time went, which cause took it, and what it cost.
//
//   held = integral of (job + spares + nodes in repair) * GPUs per node = sum of the ledger
//
// Training is booked by its steps when the books are closed (PaceRecord), everything else when it
// is over. O(categories) per change of the nodes.

#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/prices/billing.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/trial/states.hpp"

namespace orrery::run {

[[nodiscard]] inline SimTime times(std::int64_t count, SimTime each) { return {count * each.ns}; }

// Of one step.
struct Pace {
  SimTime step;           // wall time: phase, size of the job, slowdowns
  std::int64_t gpus = 1;  // that the job holds meanwhile
  Int128 planned = 0;     // GPU ns at its planned size, with nothing slow

  friend bool operator==(const Pace&, const Pace&) = default;
};

// Training that is undone.
struct UndoneWork {
  SimTime wall;
  Int128 gpu_ns = 0;
};

// The pace at which each step of the run was made, and what is undone when the run goes back.
//
//   consumed(step)   = pace * gpus
//   productive(step) = min(planned, consumed)       degraded(step) = consumed - productive(step)
//
// The record is a stack over the index of the step: a new pace begins a segment, going back to an
// earlier step cuts the segments after it. So training between two events costs no bookkeeping at
// all, and the accounts are exact integers. O(1) amortised per change of pace.
class PaceRecord {
 public:
  void reset(const Pace& pace);

  // The steps from `step` on are made at `pace`; `step` is not before the latest change.
  void change(std::int64_t step, const Pace& pace);

  // Forgets the steps `from`, ..., `done` - 1; the next one will be `from`. 0 <= from <= done.
  UndoneWork undo(std::int64_t from, std::int64_t done);

  // Books the steps 0, ..., `done` - 1 as productive and degraded.
  void book(std::int64_t done, RunLedger& ledger) const;

  [[nodiscard]] const Pace& current() const { return segments_.back().pace; }

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

class RunBooks {
 public:
  // Keeps a reference to the plan.
  explicit RunBooks(const RunPlan& plan);

  // `timeline` receives every interval, if there is one.
  void reset(std::uint32_t trial, const HeldNodes& nodes, RunTimeline* timeline);

  // Time that the present nodes of the job spend.
  void spend(RunCategory category, SimTime time) {
    spent_[static_cast<std::size_t>(category)] += time;
  }

  // For the timeline; one predictable branch without one.
  void note(const State& state, SimTime begin, SimTime end) const {
    if (timeline_ != nullptr) [[unlikely]] {
      add_interval(state, begin, end);
    }
  }

  void note_failure(SimTime at, std::int32_t cause) const {
    if (timeline_ != nullptr) {
      timeline_->add({at, at, RunActivity::failure, cause});
    }
  }

  // GPU ns taken by `cause`; a negative one is nobody's.
  void blame(std::int32_t cause, Int128 gpu_ns);

  // Training that is undone, as lost work or rework.
  void undo(const UndoneWork& work, RunCategory category, std::int32_t cause);

  // The beginning of a step that the run ends in.
  void book_tail(const Pace& pace, SimTime tail);

  // Before any change of the nodes: those held so far, the job's on `job_gpus` GPUs of the
  // `wanted_nodes` that its phase asks for.
  void settle(SimTime now, std::int64_t job_gpus, std::int64_t wanted_nodes, NodePool& pool);

  void hold(SimTime now, const NodePool& pool) {
    if (billing_.follows_nodes()) {
      billing_.hold(now, pool.held());
    }
  }

  // Ledger, bill and ratios of a trial that ends `now` after its steps, settled. Aborts when the
  // ledger is not what was held.
  void close(SimTime now, const PaceRecord& paces, RunResult& result);

 private:
  [[gnu::noinline]] void add_interval(const State& state, SimTime begin, SimTime end) const;

  const RunPlan& plan_;
  Billing billing_;
  RunTimeline* timeline_ = nullptr;
  std::array<SimTime, RunLedger::kCategories> spent_{};  // on the present nodes of the job
  SimTime settled_;                                      // the nodes are booked up to here
  Int128 held_gpu_ns_ = 0;                               // GPUs held, integrated over time
  Int128 wanted_gpu_ns_ = 0;  // GPUs that the phases ask for, integrated over time
  RunLedger ledger_;
  std::vector<Int128> by_cause_;  // GPU ns
};

}  // namespace orrery::run
