#pragma once

// Veils a panel whose content belongs to an older text.

class QWidget;

namespace orrery::gui {

// Lays a veil over the panel, or takes it away; below it the panel works on.
void set_veiled(QWidget* panel, bool veiled);

}  // namespace orrery::gui
