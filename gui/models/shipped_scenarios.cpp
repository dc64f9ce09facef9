#include "gui/models/shipped_scenarios.hpp"

#include <algorithm>

#include "sim/evaluate/shipped_scenarios.hpp"

namespace orrery::gui {

std::vector<ShippedScenario> shipped_scenarios() {
  std::vector<ShippedScenario> found;
  for (const evaluate::ShippedScenario& one : evaluate::shipped_scenarios()) {
    found.push_back({QString::fromStdString(one.path.string()),
                     QString::fromStdString(one.title),
                     QString::fromStdString(one.summary)});
  }
  // The scenario that the documentation walks through comes first.
  std::stable_partition(found.begin(), found.end(), [](const ShippedScenario& scenario) {
    return scenario.path.endsWith("/llama3-405b-16k.yaml");
  });
  return found;
}

}  // namespace orrery::gui
