#pragma once

// A sweep: a scenario, the keys that vary, the points, and the figures of each.
//
// Every point is drawn with the seed of the scenario: points differ by their keys, not by luck
// (common random numbers).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/hardware/profile_reader.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/sweep/axis.hpp"
#include "sim/sweep/columns.hpp"
#include "sim/sweep/points.hpp"

namespace orrery::sweep {

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

}  // namespace orrery::sweep
