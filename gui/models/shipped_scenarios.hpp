#pragma once

// Which scenarios come with the program? Those beside the shipped profiles, with a line each.
//
// The folder is the one above `profiles/` in the first directory of the standard search that has
// scenarios; the line is the comment at the head of the file, up to its first full stop.

#include <QString>
#include <vector>

namespace orrery::gui {

struct ShippedScenario {
  QString path;
  QString name;     // what the file says after `name:`, else the file's name
  QString summary;  // one line
};

[[nodiscard]] std::vector<ShippedScenario> shipped_scenarios();

}  // namespace orrery::gui
