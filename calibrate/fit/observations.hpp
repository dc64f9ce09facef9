#pragma once

// The measured steps that a fit learns from: rows of measured-runs data sets and the user's own
// runs (own_runs.hpp), ready to be simulated repeatedly with other coefficients.
//
// Rows are read once (sim/validate/measured/measured_runs.hpp): a prediction costs no more than a
// step. Only the logarithm of predicted / measured ever compares a row with what it measured.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/hardware/gpu_profile.hpp"
#include "sim/hardware/software_profile.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/profile_shelf.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::fit {

struct Observation {
  std::string id;
  std::string stack;
  std::string model;     // without what stands in parentheses, such as the number of layers
  std::string gpu;       // GPU profile
  std::string software;  // software profile of the stack
  std::int64_t gpus = 0;
  double measured = 0.0;   // s
  std::string suspicious;  // why the measurement may be wrong; empty: no reason known
  bool own = false;        // of a scenario or a log, not of a data set
  validate::ReadyRun run;  // points into the shelf, or into own_profiles
};

struct SkippedRow {
  std::string id;
  std::string stack;
  std::string reason;
};

// What a scenario of one's own runs on.
struct OwnProfiles {
  hardware::GpuProfile gpu;
  hardware::SoftwareProfile software;
};

// What the caller says of scenarios and logs, where there are any; each may be empty.
struct OwnStack {
  std::string name;      // of their stack; else that of their software profile
  std::string gpu;       // of the logs
  std::string software;  // profile of the logs; else the default of their layout
};

struct Observations {
  std::vector<Observation> rows;
  std::vector<SkippedRow> skipped;
  std::vector<std::unique_ptr<validate::ProfileShelf>> shelves;
  std::vector<std::unique_ptr<OwnProfiles>> own_profiles;
};

// Rows of measured-runs/2, scenarios with a measured step, logs of training; another file is an
// error in `diagnostics`. Throws Error(io) when a file cannot be read.
[[nodiscard]] Observations load_observations(const std::vector<std::filesystem::path>& files,
                                             const std::vector<std::filesystem::path>& profiles,
                                             Diagnostics& diagnostics,
                                             const OwnStack& own = {});

// A row with its prediction, as `orrery validate` counts it.
[[nodiscard]] validate::ValidationRow scored(const Observation& row, double predicted);

}  // namespace orrery::fit
