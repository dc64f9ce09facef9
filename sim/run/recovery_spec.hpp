#pragma once

// How does the job come back after a failure? Six stages, one after the other.
//
//   failure -> detect -> diagnose -> [wait for a node] -> reschedule -> communicator_init -> load
//           -> warm_up -> training
//
// symbol            | meaning                                                      | unit | origin
// ------------------|--------------------------------------------------------------|------|--------
// detect            | until the job is known to be dead (watchdog, heartbeat)      | s    | preset
// diagnose          | until the cause and the node are known                       | s    | preset
// reschedule        | stop, clean up, place and launch on the new set of nodes     | s    | preset
// communicator_init | rendezvous and creation of the communicators                 | s    | preset
// load              | reading the checkpoint; default: its size / read bandwidth   | s    |
// computed warm_up           | slow first steps, data loader, compilation                   | s |
// preset
//
// A failure that strikes during any stage starts the recovery again from detection. Stages that are
// neither stated nor in the preset take no time.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/run/duration.hpp"

namespace orrery::run {

enum class RecoveryStage { detect, diagnose, reschedule, communicator_init, load, warm_up };

inline constexpr std::size_t kRecoveryStageCount = 6;

inline constexpr std::array<std::string_view, kRecoveryStageCount> kRecoveryStageNames = {
    "detect", "diagnose", "reschedule", "communicator_init", "load", "warm_up"};

using RecoveryStages = std::array<std::optional<Duration>, kRecoveryStageCount>;  // by stage

[[nodiscard]] constexpr std::size_t index_of(RecoveryStage stage) {
  return static_cast<std::size_t>(stage);
}

struct RecoverySpec {
  std::string preset;
  RecoveryStages stages;  // stages stated here replace those of the preset
};

struct RecoveryPreset {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  RecoveryStages stages;
};

[[nodiscard]] std::span<const RecoveryPreset> recovery_presets();
[[nodiscard]] const RecoveryPreset* find_recovery_preset(std::string_view name);

}  // namespace orrery::run
