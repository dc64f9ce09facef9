#pragma once

// The file of a baseline: YAML, format `orrery-baseline/1`, written so that people can edit it.
//
//   format: orrery-baseline/1
//   decide: interval                 # or point: judge metrics over trials by their means alone
//   tolerances:
//     exact: 0.1%                    # metrics that do not vary over trials
//     statistical: 0.5%              # metrics that do
//     mfu: 0.3%                      # one metric; {relative: 1%, absolute: 0.002}, or any
//   scenarios:
//     - file: scenarios/a.yaml       # from the folder of this file
//       sha256: ...                  # of the scenario file
//       trials: 1000
//       fits: true
//       tolerances: {cost_usd: 2%}   # of this scenario
//       metrics:
//         step_time_s: 6.21
//         goodput: {value: 0.961, ci95: [0.959, 0.963]}
//
// Numbers have all their digits: what was written is read back bit for bit. `absolute` is in the
// unit of the metric's key. Bad input becomes diagnostics with file, line and column.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/answer/report/files/baseline.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::evaluate {

inline constexpr std::string_view kBaselineFormat = "orrery-baseline/1";

[[nodiscard]] std::string to_yaml(const report::Baseline& baseline);

// Nothing after at least one error. Throws Error(io) when the file cannot be read.
[[nodiscard]] std::optional<report::Baseline> read_baseline(const std::filesystem::path& path,
                                                            Diagnostics& diagnostics);

// The same of a text; `name` is what the diagnostics print.
[[nodiscard]] std::optional<report::Baseline> parse_baseline(std::string_view text,
                                                             const std::string& name,
                                                             Diagnostics& diagnostics);

}  // namespace orrery::evaluate
