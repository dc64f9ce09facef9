#pragma once

// The search box of the timeline: looks for slices by name through all levels on another thread,
// and shows how many there are and which one is selected.

#include <QLineEdit>

#include "gui/models/jobs/latest_task.hpp"
#include "gui/timeline/finding.hpp"

namespace orrery::gui {

class TimelineSearch : public QLineEdit {
  Q_OBJECT

 public:
  explicit TimelineSearch(QWidget* parent);

  // Takes the focus, with these words to go on from; none: those of the last search.
  void start(const QString& words = {});

  // Reported by found() and finished(), unless another search begins before.
  void find(const timeline::Levels& levels, timeline::FindRequest request);

  void cancel() { task_.cancel(); }

  // At the right of what was typed; in the colour of what is wrong when nothing was found.
  void show_outcome(bool found, const QString& note);

 Q_SIGNALS:
  void found(const orrery::timeline::Finding& finding);
  void finished(bool found);
  void left();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void report(const std::optional<timeline::Finding>& finding);

  QString note_;
  LatestTask task_;
};

}  // namespace orrery::gui
