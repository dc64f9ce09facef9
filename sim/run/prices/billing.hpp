#pragma once

// Billing of a run in dollars, kilowatt hours and kilograms: held nodes times their price,
// integrated over time.
//
//   nodes = integral of (fixed held - reserved)+ * price(t) + reserved * price + spot * price(t)
//
// Every dollar is in exactly one category; the total is their sum. With one flat price the cost is
// price * GPU time of the ledger: hold() does nothing then, unless a timeline wants to know.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/run/capacity/node_pool.hpp"
#include "sim/run/run_plan.hpp"
#include "sim/run/run_result.hpp"
#include "sim/run/run_timeline.hpp"

namespace orrery::run {

// What a run used beside nodes.
struct RunUse {
  std::int64_t checkpoints = 0;  // that became durable
  std::int64_t failures = 0;
};

class Billing {
 public:
  // Keeps a reference to the plan.
  explicit Billing(const RunPlan& plan);

  // Nodes held from time 0 on. `timeline` receives every holding.
  void reset(std::uint32_t trial, const HeldNodes& nodes, RunTimeline* timeline = nullptr);

  // Nodes held from `now` on; time does not go backwards.
  void hold(SimTime now, const HeldNodes& nodes) {
    if (follows_nodes()) {
      integrate(now);
      held_ = nodes;
    }
  }

  // hold() makes a difference.
  [[nodiscard]] bool follows_nodes() const { return !flat_ || timeline_ != nullptr; }

  // The bill of a run that ends at `end`; its ledger is complete.
  [[nodiscard]] Bill bill(SimTime end, const RunLedger& ledger, const RunUse& use);

 private:
  void integrate(SimTime until);
  void charge(Seconds length);
  void record(SimTime end);
  void charge_commitment(SimTime end, Bill& bill) const;
  void add_energy(const RunLedger& ledger, Bill& bill) const;

  const RunPlan& plan_;
  const bool flat_;
  RunTimeline* timeline_ = nullptr;
  HeldNodes held_;
  SimTime since_;
  std::size_t step_ = 0;                            // of the fixed price
  std::vector<TraceWalk> walks_;                    // of zones with prices
  std::array<double, kCostCategoryCount> nodes_{};  // dollars so far
};

// Checkpoints on the durable storage, averaged over the run, when `copies` became durable on all
// tiers: the newest ones that are kept, and half of those that pile up in the course of the run.
[[nodiscard]] double mean_checkpoints_kept(const CheckpointPlan& plan, std::int64_t copies);

}  // namespace orrery::run
