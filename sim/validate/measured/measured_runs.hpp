#pragma once

// What does the simulator say about a row of measured-runs/1, in full?

#include <optional>
#include <string>
#include <variant>

#include "sim/evaluate/inputs/resolve.hpp"
#include "sim/step/step_result.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/measured_row.hpp"

namespace orrery::validate {

struct SimulatedRun {
  MappedRun mapped;
  evaluate::Resolved resolved;
  step::StepResult step;
};

// A run that has its profiles and only needs to be simulated.
struct ReadyRun {
  MappedRun mapped;
  const hardware::GpuProfile* gpu = nullptr;
  const hardware::SoftwareProfile* software = nullptr;
};

// Maps the row and finds its profiles, or says why that fails.
[[nodiscard]] std::variant<ReadyRun, std::string> prepare_run(const DataRow& row,
                                                              ProfileShelf& profiles,
                                                              Diagnostics& diagnostics);

// Layout, costs and step of a run, or why the layout or the schedule refuses it.
[[nodiscard]] std::variant<SimulatedRun, std::string> simulate_run(
    ReadyRun run, const step::StepOptions& options);

}  // namespace orrery::validate
