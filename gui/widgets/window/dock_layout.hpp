#pragma once

// Distributes the room of the window over its docks, at any size.
//
// The answer's column and the docks below keep their share of the window when it grows or shrinks,
// which QMainWindow leaves to its centre; a small window, where docks are at their minimum, does
// not change the shares. Dragging a border does.

#include <QByteArray>
#include <QObject>

class QDockWidget;
class QMainWindow;

namespace orrery::gui {

class DockLayout : public QObject {
  Q_OBJECT

 public:
  // Takes the docks as they stand now for the first layout.
  explicit DockLayout(QMainWindow* window);

  void reset();
  void restore(const QByteArray& state);  // resets where the state cannot be read

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Shares {
    double column = 0.55;  // of the width
    double answer = 0.41;  // of the height, all cards of a run; the rest of it are the charts
    double below = 0.29;
  };

  void keep();
  void apply();
  void apply_soon();

  QMainWindow* window_;
  QDockWidget* answer_;
  QDockWidget* charts_;
  QDockWidget* below_;
  QByteArray first_;
  Shares shares_;
};

}  // namespace orrery::gui
