#pragma once

// Recovery of the job after a failure: six stages, one after the other.
//
//   failure -> detect -> diagnose -> [wait for a node] -> reschedule -> communicator_init -> load
//           -> warm_up -> training
//
// A failure that strikes during any stage starts the recovery again from detection. Stages that are
// neither stated nor in the preset take no time. A stage may follow measured times by number of
// GPUs: t(g) by straight lines in log g and log t, constant outside the measured range. What a
// cause states replaces both for its failures.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/theory/time_law.hpp"

namespace orrery::run {

enum class RecoveryStage {
  detect,             // until the job is known to be dead (watchdog, heartbeat)
  diagnose,           // until the cause and the node are known
  reschedule,         // stop, clean up, place and launch on the new set of nodes
  communicator_init,  // rendezvous and creation of the communicators
  load,               // reading the checkpoint; default: its size / read rate
  warm_up,            // slow first steps, data loader, compilation
};

inline constexpr std::size_t kRecoveryStageCount = 6;

inline constexpr std::array<std::string_view, kRecoveryStageCount> kRecoveryStageNames = {
    "detect", "diagnose", "reschedule", "communicator_init", "load", "warm_up"};

using RecoveryStages = std::array<std::optional<Duration>, kRecoveryStageCount>;  // by stage

[[nodiscard]] constexpr std::size_t index_of(RecoveryStage stage) {
  return static_cast<std::size_t>(stage);
}

struct GpuPoint {
  double gpus = 1.0;
  Seconds time;
};

using GpuCurve = std::vector<GpuPoint>;  // gpus rise; times are positive

// Log-log interpolation, constant outside the points. The curve is not empty.
[[nodiscard]] Seconds value_at(const GpuCurve& curve, double gpus);

// The first steps after a restart last `factor` times as long.
struct SlowSteps {
  std::int64_t steps = 1;
  double factor = 1.0;  // >= 1
};

struct RecoveryPreset {
  std::string name;
  RecoveryStages stages;
  std::array<GpuCurve, kRecoveryStageCount> curves = {};  // of stages that are not in `stages`
};

struct CommunicatorPreset {
  std::string name;
  GpuCurve curve;
};

struct RecoverySpec {
  std::shared_ptr<const RecoveryPreset> preset;
  RecoveryStages stages;  // stages stated here replace those of the preset
  std::shared_ptr<const CommunicatorPreset> communicators;  // communicator_init by number of GPUs
  GpuCurve communicator_points;         // own measurements, in place of that preset
  std::optional<Seconds> watchdog;      // without progress, after which a hang is a failure
  std::optional<Seconds> inspection;    // period of checks: detect is uniform on [0, inspection]
  std::optional<SlowSteps> slow_steps;  // in place of warm_up
  double restart_fails = 0.0;           // probability, when communicators are built
  Seconds failed_restart;               // from the failed initialisation until it is rescheduled
  std::optional<std::int64_t> max_restarts;
};

}  // namespace orrery::run
