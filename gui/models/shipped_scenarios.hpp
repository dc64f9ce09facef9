#pragma once

// The shipped scenarios of evaluate/shipped_scenarios.hpp in the order of the window: grouped by
// the question that they answer, the main one first.

#include <QString>
#include <vector>

namespace orrery::gui {

struct ShippedScenario {
  QString path;
  QString name;      // what the file says after `name:`, else the file's name
  QString summary;   // one line
  QString question;  // that its sections answer
};

[[nodiscard]] std::vector<ShippedScenario> shipped_scenarios();

}  // namespace orrery::gui
