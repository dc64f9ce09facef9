#pragma once

// A sweep: a scenario, the keys that vary, the points, and the figures of each.
//
// Every point is drawn with the seed of the scenario: points differ by their keys, not by luck
// (common random numbers).

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/answer/sweep/axis.hpp"
#include "sim/answer/sweep/columns.hpp"
#include "sim/base/diagnostics.hpp"
#include "sim/base/files/file.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::sweep {

// The points that a sweep visits: axes and a way to combine them.
//
// mode   | points
// -------|----------------------------------------------------------------------------------------
// grid   | every combination, the last axis fastest: n_1 n_2 ... n_k
// zip    | the i-th value of every axis together: all axes have as many values
// random | n points of a Latin hypercube: every axis is cut into n strata of equal weight, each of
//        | which is met once; lists are drawn from evenly, open ranges inside their stratum
//
// Random points depend on the seed alone.

enum class Mode { grid, zip, random };

struct Combination {
  Mode mode = Mode::grid;
  std::int64_t random_points = 0;
  std::uint64_t seed = 1;
};

// One value per axis, in the order of the axes.
using Point = std::vector<std::string>;

// Nothing after an error. Without axes there is one point: the scenario as it is.
[[nodiscard]] std::optional<std::vector<Point>> make_points(const std::vector<Axis>& axes,
                                                            const Combination& combination,
                                                            Diagnostics& diagnostics);

struct Sweep {
  scenario::ScenarioTemplate base;
  std::vector<Axis> axes;
  std::vector<Point> points;
  // What the scenario says at each point, where points are no combination of axes; else empty. A
  // point is then the name that the journal knows it by.
  std::vector<std::vector<scenario::KeyValue>> listed = {};
  std::vector<scenario::KeyValue> kept = {};  // stated again at every point: they follow no key
  std::vector<Column> columns;
  bool all_metrics = true;  // nobody chose the columns: text shows a few
  std::optional<std::int64_t> trials = {};
  std::optional<std::uint64_t> seed = {};
  hardware::ProfileSearch search = {};

  // The keys of a point, ready to be put into the scenario.
  [[nodiscard]] std::vector<scenario::KeyValue> changes(std::size_t point) const;
};

// Holds the key at what the scenario states, whatever varies beside it; nothing where it states
// none or the key itself varies.
void keep(std::string_view key, Sweep& sweep);

// Reports values that their keys do not take, whatever the other keys say.
void check_values(const Sweep& sweep, Diagnostics& diagnostics);

// True when only the run depends on keys of this section, not the step.
[[nodiscard]] bool is_run_section(std::string_view section);

// The result at one point of a sweep: its status and figures.
//
// status       | meaning
// -------------|----------------------------------------------------------------------------------
// ok           | evaluated; every trial reached its end
// does_not_fit | evaluated, but it does not fit in memory: the figures hold for GPUs with more
// gave_up      | evaluated, but trials gave up: times and costs are lower bounds
// invalid      | no such run: a rule between keys is broken; no figures

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
