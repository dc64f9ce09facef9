#pragma once

// The keyboard shortcuts and what each does, in one table for the help in the window and for
// docs/gui.md; a test keeps the page in step with it.

#include <QString>
#include <span>

class QWidget;

namespace orrery::gui {

struct KeyHelp {
  const char* part;  // of the window: "everywhere", "timeline", "charts"
  const char* keys;
  const char* does;
};

// Those of one part stand together.
[[nodiscard]] std::span<const KeyHelp> all_keys();

// The table over the window, until Escape or its button closes it.
void show_keys(QWidget* window);

}  // namespace orrery::gui
