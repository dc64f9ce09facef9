#pragma once

// What an evaluation is asked for beside its scenario.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::step {
class StepSimulator;
}

namespace orrery::evaluate {

[[nodiscard]] std::shared_ptr<step::StepSimulator> make_simulator();

struct EvaluateOptions {
  int threads = 0;                          // 0: all cores
  std::optional<std::int64_t> trials = {};  // replaces simulation.trials
  std::optional<std::uint64_t> seed = {};   // replaces simulation.seed
  bool timelines = false;                   // keep the step's slices and the intervals of one trial
  bool ticks = false;  // the step's slices in ticks of layers: its schedule without hardware
  std::uint32_t timeline_trial = 0;
  // In its place the trial at this share of the order of report::trial_at: 0 is the slowest.
  std::optional<double> timeline_place = {};
  bool operations = false;          // keep the account by operation
  bool operation_timeline = false;  // and the operations within the step's slices; needs timelines
  bool levers = true;               // how sure the step is, and what other choices would give
  bool band = false;                // how sure the step is, where levers are not asked for
  std::optional<hardware::ProfileSearch> search = {};  // default: hardware::default_search
  std::stop_token stop = {};
  // Keeps the structure of steps from one evaluation to the next; of one thread at a time. None:
  // the evaluation's own.
  std::shared_ptr<step::StepSimulator> simulator = nullptr;
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

}  // namespace orrery::evaluate
