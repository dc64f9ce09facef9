#include "sim/answer/sweep/sweep.hpp"

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
  return changes;
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
