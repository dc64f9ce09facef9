#pragma once

// Distributes the room of the window over its docks, at any size.
//
// The answer above keeps its share of the height, timeline and charts beside the text theirs of the
// width when the window grows or shrinks, which QMainWindow leaves to its centre; a small window,
// where docks are at their minimum, does not change the shares. Dragging a border does.

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
  void apply_soon();                      // what is shown has changed

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Shares {
    double answer = 0.0;     // of the height: knobs, verdict, cards; 0: what they need
    double timeline = 0.46;  // of the width; the text has what is left
    double charts = 0.27;
  };

  void keep(bool all);
  void apply();

  QMainWindow* window_;
  QDockWidget* answer_;
  QDockWidget* charts_;
  QDockWidget* timeline_;
  QByteArray first_;
  bool of_last_time_ = true;  // the state to restore has sizes that a user left
  Shares shares_;
};

}  // namespace orrery::gui
