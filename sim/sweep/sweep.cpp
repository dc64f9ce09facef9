#include "sim/sweep/sweep.hpp"

#include <algorithm>
#include <array>

namespace orrery::sweep {

std::vector<scenario::KeyValue> Sweep::changes(std::size_t point) const {
  if (!listed.empty()) {
    return listed[point];
  }
  std::vector<scenario::KeyValue> changes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    changes.push_back({axes[i].key.path, points[point][i], axes[i].where});
  }
  changes.insert(changes.end(), kept.begin(), kept.end());
  return changes;
}

void keep(std::string_view key, Sweep& sweep) {
  Diagnostics told_elsewhere;
  const auto scenario = sweep.base.with({}, told_elsewhere);
  const bool varies = std::any_of(sweep.axes.begin(), sweep.axes.end(),
                                  [key](const Axis& axis) { return axis.key.path == key; });
  const auto value = scenario && !varies && scenario->locations.contains(key)
                         ? scenario::value_of(*scenario, key)
                         : std::nullopt;
  if (value) {
    sweep.kept.push_back({std::string(key), *value, scenario->where(key)});
  }
}

void check_values(const Sweep& sweep, Diagnostics& diagnostics) {
  for (const Axis& axis : sweep.axes) {
    std::vector<std::string> values = axis.values;
    if (axis.range) {
      values = {axis.range->at(0.0), axis.range->at(1.0)};
    }
    for (std::string& value : values) {
      const scenario::KeyValue change{axis.key.path, std::move(value), axis.where};
      sweep.base.check(change, diagnostics);
    }
  }
}

bool is_run_section(std::string_view section) {
  constexpr std::array<std::string_view, 10> kSections = {
      "name",     "training", "evaluation", "failures",   "checkpoint",
      "recovery", "capacity", "prices",     "simulation", "expect"};
  return std::find(kSections.begin(), kSections.end(), section) != kSections.end();
}

}  // namespace orrery::sweep
