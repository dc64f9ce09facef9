#pragma once

// What a training run has printed of its own settings, and how long its steps took. Internal to
// import_config/ but for those who ask for the steps alone. The programs: logs/log_programs.hpp.
//
// Prefixes of srun, torchrun and timestamps do not disturb. Of a run that was begun again the last
// settings count. The step time is the median over the steps with the commonest batch, less the
// first one, which warms up. Where a rate is printed, the work of a step must be known, by the log
// or by who asks; else, and where the rate is printed in too few digits, the dates of the steps
// tell their time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/base/yaml/document.hpp"
#include "sim/import_config/imported.hpp"

namespace orrery::import_config {

// Settings that a file holds, and the format whose reader takes them. A log may hold several: the
// model as one program has printed it, the batch as another one has.
struct LogPart {
  ConfigFormat format;
  yaml::Value tree;
  bool partial = false;  // without the begin of the run: what is not there is not a default
};

// Nothing after an error, and where a program prints its steps alone: then the settings are in a
// file beside the log.
[[nodiscard]] std::vector<LogPart> settings_of_log(const ScannedLog& log, const std::string& file,
                                                   Diagnostics& diagnostics);

// The work of a step and who shares it; 0: not known.
struct LoggedJob {
  double sequences = 0.0;
  double length = 0.0;  // of a sequence, in tokens
  double ranks = 0.0;
};

// Where steps began to be slower than before and stayed so, by the ranks R of their n times
// (Pettitt, Applied Statistics 28, 1979):
//
//   U(k) = 2 sum over i <= k of R(i) - k (n + 1),   K = max |U(k)|
//   p = 2 exp(-6 K^2 / (n^3 + n^2))
//
// It counts below p = 0.001, and from 5 % on.
struct SlowerSteps {
  std::int64_t from = 0;  // number of the step, as the log has it
  int line = 0;           // of the log
  Seconds before;         // medians
  Seconds since;
};

struct StepTime {
  std::int64_t number = 0;
  double seconds = 0.0;
  int line = 0;
};

// Of steps in their order.
[[nodiscard]] std::optional<SlowerSteps> slower_steps(std::span<const StepTime> steps);

// Steps whose time is printed as 0, nan or inf: they are left out.
struct UntimedSteps {
  std::size_t count = 0;
  int first = 0;  // line of the log
};

struct LoggedSteps {
  std::size_t count = 0;  // figures behind the median
  Seconds median;
  Seconds tenth;                            // percentiles over these figures
  Seconds ninetieth;                        // percentiles over these figures
  std::optional<double> tflops;             // per GPU as the program counts them, median
  std::optional<double> tokens_per_second;  // of all GPUs, as the log says them
  SourceLocation first;                     // of these steps
  bool with_first = false;                  // only the first was printed, which warms up
  bool whole_run = false;                   // the one figure is the mean of the run
  bool by_dates = false;                    // the dates of the steps tell their time
  std::optional<Seconds> dates;             // what they tell where that is something else
  std::optional<SlowerSteps> slower;
  UntimedSteps untimed;
};

[[nodiscard]] std::string said_of(const UntimedSteps& untimed);

// Nothing when no step with a time was printed, or what it printed is a rate of unknown work: then
// `why` says so. `known` holds what the log itself does not say. A time that no step takes is an
// error.
[[nodiscard]] std::optional<LoggedSteps> steps_of_log(const ScannedLog& log,
                                                      const std::string& file,
                                                      const LoggedJob& known,
                                                      Diagnostics& diagnostics,
                                                      std::string* why = nullptr);

// The same of a file that was read (import_config.hpp).
[[nodiscard]] std::optional<LoggedSteps> steps_of_log(const ConfigFile& file,
                                                      const LoggedJob& known,
                                                      Diagnostics& diagnostics,
                                                      std::string* why = nullptr);

// What the log says of the job; the last run counts.
[[nodiscard]] LoggedJob job_of_log(const ScannedLog& log);

// Of every step, 0 where neither its figures nor dates tell it.
[[nodiscard]] std::vector<double> seconds_of_steps(const ScannedLog& log);

// The commonest batch that is printed beside the steps, in sequences; 0: none.
[[nodiscard]] double batch_of_steps(const ScannedLog& log);

// What a configuration of nanotron holds: the dimensions as a config.json has them, the whole tree.
[[nodiscard]] std::vector<LogPart> nanotron_parts(yaml::Value tree);

}  // namespace orrery::import_config
