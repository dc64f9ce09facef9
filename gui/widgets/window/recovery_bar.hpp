#pragma once

// Bar that offers to restore the unsaved scenarios of a program that was killed.

class QToolBar;

namespace orrery::gui {

class MainWindow;

// A bar at the top of the window that restores or discards them; null where there are none. Until
// one of both is chosen they stay on disk and are offered again at the next start.
QToolBar* offer_lost_texts(MainWindow& window);

}  // namespace orrery::gui
