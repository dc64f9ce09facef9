#pragma once

// A sweep in parts that know nothing of one another, as the tasks of a Slurm array are.
//
//   part k of n has the points k, k + n, k + 2n, ...        1 <= k <= n
//
// A part is a file, orrery-sweep-part/1: the sweep (scenario, keys, figures, what decides the
// points) and the results of its points, each as a line of the journal has it. All parts together
// are the results of the whole sweep, bit for bit.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/sweep/sweep.hpp"
#include "sim/base/diagnostics.hpp"

namespace orrery::sweep {

struct Shard {
  std::size_t number = 1;
  std::size_t of = 1;
};

// "3/16". Nothing when it is none.
[[nodiscard]] std::optional<Shard> parse_shard(std::string_view text);

// The sweep with the points of this part alone.
[[nodiscard]] Sweep part_of(const Sweep& whole, const Shard& shard);

// `text`: of the scenario, as whole.base was read from it. `version`: of the program.
[[nodiscard]] std::string part_text(const Sweep& whole, const std::string& text, const Shard& shard,
                                    const std::vector<PointResult>& results,
                                    const std::string& version);

struct PartFile {
  std::string name;
  std::string text;
};

struct JoinedSweep {
  Sweep sweep;
  std::vector<PointResult> results;
};

// Nothing after an error: parts of different sweeps, parts that are missing or stand twice, files
// that are no parts.
[[nodiscard]] std::optional<JoinedSweep> join_parts(std::span<const PartFile> files,
                                                    Diagnostics& diagnostics);

}  // namespace orrery::sweep
