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
#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/prices/billing.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/trial/action.hpp"
#include "sim/run/trial/pace_record.hpp"

namespace orrery::run {

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
  void note(Action action, SimTime begin, SimTime end, std::int32_t cause) const {
    if (timeline_ != nullptr) [[unlikely]] {
      add_interval(action, begin, end, cause);
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

  void hold(SimTime now, const HeldNodes& nodes) {
    billing_.hold(now, nodes);
  }

  // Ledger, bill and ratios of a trial that ends `now` after its steps, settled. Aborts when the
  // ledger is not what was held.
  void close(SimTime now, const PaceRecord& paces, RunResult& result);

 private:
  [[gnu::noinline]] void add_interval(Action action,
                                      SimTime begin,
                                      SimTime end,
                                      std::int32_t cause) const;

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
