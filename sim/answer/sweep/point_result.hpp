#pragma once

// The result at one point of a sweep: its status and figures.
//
// status       | meaning
// -------------|----------------------------------------------------------------------------------
// ok           | evaluated; every trial reached its end
// does_not_fit | evaluated, but it does not fit in memory: the figures hold for GPUs with more
// gave_up      | evaluated, but trials gave up: times and costs are lower bounds
// invalid      | no such run: a rule between keys is broken; no figures

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/files/file.hpp"

namespace orrery::sweep {

enum class Status { ok, does_not_fit, gave_up, invalid };

inline constexpr std::array<std::string_view, 4> kStatusNames = {"ok", "does not fit", "gave up",
                                                                 "invalid"};

[[nodiscard]] constexpr std::string_view to_string(Status status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

struct PointResult {
  Status status = Status::ok;
  std::string reason = {};                        // why it is not ok
  std::vector<std::optional<double>> cells = {};  // one per column, base units; empty when invalid
  std::vector<FileStamp> files = {};              // that decided it, beside scenario and profiles

  friend bool operator==(const PointResult&, const PointResult&) = default;
};

}  // namespace orrery::sweep
