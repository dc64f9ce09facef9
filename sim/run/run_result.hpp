#pragma once

// The result of one simulated run.
//
//   goodput = productive GPU time / (GPUs of the job * wall)
//   ettr    = productive GPU time / (GPUs of the job * wall - evaluation - planned maintenance)
//   cost    = bill of the held nodes and of what they used (billing.hpp)
//
// GPUs of the job: those that its phases ask for, so a job that shrank is charged for the nodes
// that it misses. Spares are in neither ratio; they are in the ledger and, if billed, in the cost.
// Work after the last checkpoint counts as productive when the run ends: no failure took it. A run
// that stops at the horizon is not finished, and its wall time is a lower bound.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/ledger.hpp"
#include "sim/base/sim_time.hpp"
#include "sim/base/units.hpp"

namespace orrery::run {

// The accounts to which a whole run books its GPU time.

// What each counts is the GPU time that ...
enum class RunCategory {
  productive,            // trained, and was not lost later
  checkpoint_stall,      // stood still for a save, aborted saves included
  lost_work,             // trained, but lay after the last durable checkpoint when a failure struck
  rework,                // trained, but was discarded (loss spike, corruption, wrong data)
  detection,             // waited until the failure was noticed
  diagnosis,             // waited until its cause and node were known
  restart_scheduling,    // stopped, was placed and launched again
  restart_communicator,  // built communicators
  restart_load,          // read the checkpoint
  restart_warm_up,       // ran the slow first steps
  waiting_for_capacity,  // stood ready while nodes were missing and no spare was left
  degraded,              // was lost to running smaller or slower than planned
  evaluation,            // evaluated the model
  planned_maintenance,   // stood still for a planned stop
  spare_idle,            // was held as spare
  repair,                // belonged to nodes out for repair
  unitemised,            // stood still for reasons that nobody listed
  count_
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(RunCategory::count_)>
    kRunCategoryNames = {"productive",
                         "checkpoint_stall",
                         "lost_work",
                         "rework",
                         "detection",
                         "diagnosis",
                         "restart_scheduling",
                         "restart_communicator",
                         "restart_load",
                         "restart_warm_up",
                         "waiting_for_capacity",
                         "degraded",
                         "evaluation",
                         "planned_maintenance",
                         "spare_idle",
                         "repair",
                         "unitemised"};

[[nodiscard]] constexpr std::string_view to_string(RunCategory category) {
  return kRunCategoryNames[static_cast<std::size_t>(category)];
}

using RunLedger = Ledger<RunCategory>;

// The bill of a run: dollars by category of cost, and energy and carbon.

enum class CostCategory {
  nodes,        // nodes of the job: rented, reserved and used, spot, or written off when owned
  spares,       // spares that stood ready
  repair,       // nodes out for repair
  reservation,  // reserved nodes that were not held, and the rest of a commitment after the end
  energy,       // energy, where it has a price of its own
  storage,      // data set and checkpoints
  egress,       // data that left the provider
  operators,    // people who dealt with failures
  count_
};

inline constexpr std::size_t kCostCategoryCount = static_cast<std::size_t>(CostCategory::count_);

inline constexpr std::array<std::string_view, kCostCategoryCount> kCostCategoryNames = {
    "nodes", "spares", "repair", "reservation", "energy", "storage", "egress", "operators"};

struct Bill {
  std::array<Dollars, kCostCategoryCount> dollars{};
  double busy_kilowatt_hours = 0.0;  // of the site
  double idle_kilowatt_hours = 0.0;
  double carbon_kilograms = 0.0;

  [[nodiscard]] Dollars& of(CostCategory category) {
    return dollars[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Dollars of(CostCategory category) const {
    return dollars[static_cast<std::size_t>(category)];
  }

  [[nodiscard]] Dollars total() const {
    Dollars sum;
    for (const Dollars part : dollars) {
      sum += part;
    }
    return sum;
  }

  Bill& operator+=(const Bill& other) {
    for (std::size_t i = 0; i < kCostCategoryCount; ++i) {
      dollars[i] += other.dollars[i];
    }
    busy_kilowatt_hours += other.busy_kilowatt_hours;
    idle_kilowatt_hours += other.idle_kilowatt_hours;
    carbon_kilograms += other.carbon_kilograms;
    return *this;
  }

  friend bool operator==(const Bill&, const Bill&) = default;
};

enum class StopReason {
  target_reached,     // all steps done (and saved)
  window_over,        // the stated duration has passed
  horizon,            // gave up: the target is too far away at this rate of progress
  no_progress,        // gave up: no checkpoint became durable during very many failures in a row
  too_many_failures,  // gave up: a million of them
  too_many_disturbances,  // gave up: ten million slowdowns, corruptions and spikes
  restarts_exhausted,     // gave up: more restarts than allowed
  interrupted,            // asked to stop; the rest of the result is void
};

[[nodiscard]] constexpr std::string_view to_string(StopReason reason) {
  constexpr std::array<std::string_view, 8> kNames = {
      "target reached",
      "window over",
      "horizon reached before the target",
      "no progress",
      "a million failures",
      "ten million slowdowns and other disturbances",
      "more restarts than allowed",
      "interrupted"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct RunCounts {
  std::int64_t failed_restarts = 0;
  std::int64_t unreadable_checkpoints = 0;
  std::int64_t resizes = 0;      // restarts on fewer nodes than wanted, and back on more
  std::int64_t preemptions = 0;  // times that spot nodes were taken away
  std::int64_t slowdowns = 0;
  std::int64_t evictions = 0;    // of slow nodes
  std::int64_t corruptions = 0;  // silent ones that began
  std::int64_t spikes = 0;       // of the loss

  RunCounts& operator+=(const RunCounts& other);

  friend bool operator==(const RunCounts&, const RunCounts&) = default;
};

struct RunResult : RunCounts {
  SimTime wall;                      // from the first step to the end of the run
  std::int64_t steps_done = 0;       // completed and kept
  Tokens tokens;                     // of these steps
  std::int64_t failures = 0;         // that struck the job or took a node
  std::int64_t checkpoints = 0;      // copies that became durable
  std::int64_t nodes_in_repair = 0;  // when the run ended
  std::int64_t restarts = 0;         // begun, after failures or to change the size of the job
  Seconds held;                      // GPU time of all nodes held
  RunLedger ledger;
  Bill bill;             // 0 without a price
  double goodput = 0.0;  // share of the job's GPU time that trained and was kept
  // Effective training time ratio: what failures, recovery and checkpoints leave of the time that
  // was meant for training
  double ettr = 0.0;
  StopReason stop = StopReason::target_reached;
  std::vector<std::int64_t> failures_by_cause;  // by index into RunPlan::causes
  std::vector<Int128> gpu_time_by_cause;  // GPU ns: work that it took, recovery, waiting for nodes

  [[nodiscard]] bool finished() const {
    return stop == StopReason::target_reached || stop == StopReason::window_over;
  }

  friend bool operator==(const RunResult&, const RunResult&) = default;
};

}  // namespace orrery::run
