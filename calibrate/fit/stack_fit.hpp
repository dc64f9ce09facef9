#pragma once

// Fits the coefficients of one software profile to the measured steps of all its stacks.
//
//   residual of a row = log(predicted / measured); every stack weighs the same
//
// A coefficient that the rows cannot identify (deviation above kUnidentified of the prior's) or
// that ends on a bound is reported as such: it is an assumption, not a finding. Nothing is per row.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/base/provenance.hpp"
#include "sim/step/hardware/gpu_profile.hpp"
#include "sim/step/hardware/software_profile.hpp"
#include "sim/step/hardware/stack_coefficients.hpp"
#include "sim/validate/measured/measured_runs.hpp"
#include "sim/validate/profile_shelf.hpp"
#include "sim/validate/validation.hpp"

namespace orrery::fit {

// The measured steps that a fit learns from: rows of measured-runs data sets and the user's own
// runs (below), ready to be simulated repeatedly with other coefficients.
//
// Rows are read once (sim/validate/measured/measured_runs.hpp): a prediction costs no more than a
// step. Only the logarithm of predicted / measured ever compares a row with what it measured.

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
                                             Diagnostics& diagnostics, const OwnStack& own = {});

// A row with its prediction, as `orrery validate` counts it.
[[nodiscard]] validate::ValidationRow scored(const Observation& row, double predicted);

// Turns a user's own measurements into rows of a fit: a scenario with `measured: {step_time: ...}`,
// or a training log.
//
// file                                 | the row
// -------------------------------------|-----------------------------------------------------------
// scenario (orrery/1)                  | as it stands, against measured.step_time
// log (orrery import knows which)      | as `orrery import LOG --gpu NAME` makes it a scenario
//
// Nothing is repaired or assumed: what the simulator refuses, and what
// cannot be compared with a measured step, is an error at its key.

// Adds the run of a scenario's text. Errors go to `diagnostics`; then nothing is added.
void add_own_run(const std::filesystem::path& file, const std::string& text,
                 const std::vector<std::filesystem::path>& profiles, const OwnStack& own,
                 Observations& observations, Diagnostics& diagnostics);

// Whether the file is a log of training; then its run is added, or the reason is in `diagnostics`.
[[nodiscard]] bool add_logged_run(const std::filesystem::path& file,
                                  const std::vector<std::filesystem::path>& profiles,
                                  const OwnStack& own, Observations& observations,
                                  Diagnostics& diagnostics);

// The coefficients of a software profile that step times may determine: those of
// stack_coefficients.hpp that have bounds for a fit.
//
//   u = log(value + offset), or value on a linear scale;  z = (u - u(centre)) / sigma is moved
//
// sigma: how far a value may move from its centre before the rows have to pay for it. A fit that
// ends on a bound of physics shows that a mechanism is missing, so it is printed.
//
// neutral: an optional coefficient that a profile leaves out is fitted only when it is asked for by
// name. The offset lets a coefficient whose centre is 0 move. Coefficients of the GPU profile are
// not in the table: they come from kernel and collective measurements before any step is fitted.

using Scale = hardware::FitScale;

struct FitKey : hardware::FitBounds {
  explicit FitKey(const hardware::StackCoefficient& row)
      : hardware::FitBounds(*row.fit), key(row.key), coefficient(&row) {}

  std::string_view key;  // as in the profile file
  const hardware::StackCoefficient* coefficient;

  [[nodiscard]] double get(const hardware::SoftwareProfile& profile) const {
    return coefficient->get(profile);
  }

  void set(hardware::SoftwareProfile& profile, double value, const Source& source) const {
    coefficient->set(profile, value, source);
  }
};

[[nodiscard]] std::span<const FitKey> fit_keys();

// nullptr when there is no such key.
[[nodiscard]] const FitKey* find_fit_key(std::string_view key);

// Position on the scale of the search, and back.
[[nodiscard]] double to_scale(const FitKey& key, double value);
[[nodiscard]] double from_scale(const FitKey& key, double u);

// "12.3us", "86B", "0.47": as a profile file writes it, three significant digits.
[[nodiscard]] std::string value_text(const FitKey& key, double value);

inline constexpr double kUnidentified = 0.7;

struct FitSettings {
  std::vector<const FitKey*> keys;
  double prior = 1.0;
  double softness = 0.05;
  int threads = 0;
  bool axis_search = true;
};

enum class Bound { none, lower, upper };

struct FittedCoefficient {
  const FitKey* key;
  double start;
  double fitted;
  double error = 0.0;   // one standard deviation, relative on a logarithmic scale, else absolute
  double effect = 0.0;  // rms change of log(predicted) for one deviation of the prior
  Bound bound = Bound::none;
  bool identified = true;
};

struct StackFit {
  hardware::SoftwareProfile profile;
  std::vector<FittedCoefficient> coefficients = {};
  std::vector<double> predicted = {};  // s, in the order of the rows
  double objective = 0.0;
  int points = 0;
};

using Rows = std::vector<const Observation*>;

// Seconds of each row with this profile; 0 where the simulator refuses the row.
[[nodiscard]] std::vector<double> predict(const Rows& rows,
                                          const hardware::SoftwareProfile& profile, int threads);

// The keys of the table that the profile uses: unfused attention has score passes, fused none, and
// optional coefficients that it leaves out are not touched.
[[nodiscard]] std::vector<const FitKey*> usable_keys(const hardware::SoftwareProfile& profile);

// `rows` is not empty. Fitted values have the source `measured` by "fit".
[[nodiscard]] StackFit fit_stack(const Rows& rows, const hardware::SoftwareProfile& start,
                                 const hardware::SoftwareProfile& centre,
                                 const FitSettings& settings);

// Writes fitted values into the text of a profile in place; order and comments stay as they are.
//
// The block of each changed key (`key:` and the indented lines below it, or one line with a flow
// mapping) is written anew with value, source, citation and residual; a key that the file lacks is
// appended. Keys whose value did not move keep their block.

struct NewValue {
  std::string key;
  std::string value;      // with its unit
  std::string source;     // measured, published, assumed
  std::string citation;   // one line, any text
  double residual = 0.0;  // 0: none
};

[[nodiscard]] std::string with_new_values(std::string_view file,
                                          const std::vector<NewValue>& values);

// The profile under another name, which no alias of the first one and no layout leads to.
[[nodiscard]] std::string with_name(std::string_view file, std::string_view name);

// What the old citation of `key` explained beside where the number came from: the text after the
// parenthesis of "fitted to ... (...): why". "" when there is none.
[[nodiscard]] std::string explanation_in(std::string_view file, std::string_view key);

}  // namespace orrery::fit
