#pragma once

// The file format of a sweep, `orrery-sweep/1`, for sweeps that are stored beside their scenario
// and run in CI.
//
//   format: orrery-sweep/1
//   scenario: llama3-405b-16k.yaml          # seen from this file
//   vary:
//     checkpoint.interval: 5min:2h:12:log   # as behind --vary KEY=, or a list of values
//     capacity.spares: [0, 8, 16, 32]
//   combine: grid                           # grid (default), zip or random
//   points: 200                             # of random
//   metrics: [goodput, p90(finish_time)]    # default: all
//   trials: 200                             # in place of the scenario's
//   seed: 1
//
// All problems are reported with file, line, column and key.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/sweep/axis.hpp"
#include "sim/answer/sweep/columns.hpp"
#include "sim/answer/sweep/sweep.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::sweep {

inline constexpr std::string_view kSweepFormat = "orrery-sweep/1";

struct SweepFile {
  std::filesystem::path scenario;  // seen from the current directory
  std::vector<Axis> axes;
  Combination combination;
  std::vector<Column> columns;  // empty: all
  std::optional<std::int64_t> trials;
  std::optional<std::uint64_t> seed;
};

// Whether the text says that it is of this format.
[[nodiscard]] bool is_sweep_file(std::string_view text);

[[nodiscard]] std::optional<SweepFile> read_sweep_file(std::string_view text,
                                                       const std::string& file_name,
                                                       Diagnostics& diagnostics);

}  // namespace orrery::sweep
