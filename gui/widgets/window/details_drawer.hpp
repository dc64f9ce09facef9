#pragma once

// The dock below the charts that says what is selected in the timeline. It opens with a selection
// and closes with its end, and carries what is chosen elsewhere to the timeline: a loss that is to
// be lit, an event, a link of the chain of causes.

#include <QDockWidget>

#include "gui/models/jobs/evaluation_job.hpp"

namespace orrery::gui {

class DetailsView;
class MainWindow;

class DetailsDrawer : public QDockWidget {
  Q_OBJECT

 public:
  // Once the other docks stand, and before others share the place of the charts.
  explicit DetailsDrawer(MainWindow* window);

  // Whose timeline it is; null: none.
  void set_outcome(const OutcomePtr& outcome);

  // As the selection has it.
  void follow_selection();

 private:
  MainWindow* window_;
  DetailsView* details_;
  OutcomePtr outcome_;
};

}  // namespace orrery::gui
