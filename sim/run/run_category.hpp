#pragma once

// The accounts to which a whole run books its GPU time.

#include <array>
#include <cstddef>
#include <string_view>

#include "sim/base/ledger.hpp"

namespace orrery::run {

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

}  // namespace orrery::run
