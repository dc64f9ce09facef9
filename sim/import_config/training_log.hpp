#pragma once

// What did a training run print of its own settings, and how long did its steps take? Internal to
// import_config/ but for `orrery compare`, which asks for the steps. The programs: logs/.
//
// Prefixes of srun, torchrun and timestamps do not disturb. Of a run that was begun again the last
// settings count. The step time is the median over the steps with the commonest batch, less the
// first one, which warms up.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/import_config/import_config.hpp"
#include "sim/yaml/document.hpp"

namespace orrery::import_config {

// Settings that a file holds, and the format whose reader takes them. A log may hold several: the
// model as one program has printed it, the batch as another one has.
struct LogPart {
  ConfigFormat format;
  yaml::Value tree;
};

// Nothing after an error, and where a program prints its steps alone: then the settings are in a
// file beside the log.
[[nodiscard]] std::vector<LogPart> settings_of_log(std::string_view text,
                                                   const std::string& file,
                                                   ConfigFormat format,
                                                   Diagnostics& diagnostics);

struct LoggedSteps {
  std::size_t count = 0;  // figures behind the median
  Seconds median;
  Seconds tenth;                 // percentiles over these figures
  Seconds ninetieth;             // percentiles over these figures
  std::optional<double> tflops;  // per GPU as the program counts them, median
  SourceLocation first;          // of these steps
  bool with_first = false;       // only the first was printed, which warms up
  bool whole_run = false;        // the one figure is the mean of the run, evaluation included
};

// Nothing when no step with a time was printed. Where a program prints a rate, its own lines must
// state the tokens or sequences of a step, too. A time that no step takes is an error.
[[nodiscard]] std::optional<LoggedSteps> steps_of_log(std::string_view text,
                                                      const std::string& file,
                                                      ConfigFormat format,
                                                      Diagnostics& diagnostics);

// Line and seconds of every step whose time is printed.
[[nodiscard]] std::vector<std::pair<int, double>> step_lines(std::string_view text,
                                                             const std::string& file,
                                                             ConfigFormat format);

// The name of the GPU, where the program prints it; empty otherwise.
[[nodiscard]] std::string gpu_of_log(std::string_view text);

}  // namespace orrery::import_config
