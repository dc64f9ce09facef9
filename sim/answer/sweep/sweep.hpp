#pragma once

// A sweep: a scenario, the keys that vary, the points, and the figures of each.
//
// Every point is drawn with the seed of the scenario: points differ by their keys, not by luck
// (common random numbers).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answer/sweep/axis.hpp"
#include "sim/answer/sweep/columns.hpp"
#include "sim/answer/sweep/points.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/step/hardware/profile_reader.hpp"

namespace orrery::sweep {

struct Sweep {
  scenario::ScenarioTemplate base;
  std::vector<Axis> axes;
  std::vector<Point> points;
  // What the scenario says at each point, where points are no combination of axes; else empty. A
  // point is then the name that the journal knows it by.
  std::vector<std::vector<scenario::KeyValue>> listed = {};
  std::vector<Column> columns;
  bool all_metrics = true;  // nobody chose the columns: text shows a few
  std::optional<std::int64_t> trials = {};
  std::optional<std::uint64_t> seed = {};
  hardware::ProfileSearch search = {};

  // The keys of a point, ready to be put into the scenario.
  [[nodiscard]] std::vector<scenario::KeyValue> changes(std::size_t point) const;
};

// Reports values that their keys do not take, whatever the other keys say.
void check_values(const Sweep& sweep, Diagnostics& diagnostics);

// True when only the run depends on keys of this section, not the step.
[[nodiscard]] bool is_run_section(std::string_view section);

}  // namespace orrery::sweep
