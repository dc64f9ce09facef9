#pragma once

// The dock below the charts that says what is selected in the timeline. It opens with a selection
// and closes with its end, and carries what is chosen elsewhere to the timeline: a loss that is to
// be lit, an event, a link of the chain of causes.

#include <QDockWidget>
#include <QTextBrowser>
#include <span>

#include "gui/models/jobs/evaluation_job.hpp"
#include "sim/answer/report/text/details.hpp"

namespace orrery::gui {

// What there is to say about the selected slice or part of the timeline: where its time goes, the
// chain of causes as links to their places, and what it is worth.

class DetailsView : public QTextBrowser {
  Q_OBJECT

 public:
  explicit DetailsView(QWidget* parent = nullptr);

  // `notes`: what else is known of it, in lines.
  void show_details(const report::Details& details, const QStringList& notes = {});

  // To the task that everything waits for; nowhere without a chain.
  void go();

 signals:
  void task_wanted(qint64 device, qint64 begin_ns);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void go_to(std::size_t place);
  void write();
  QString picture(const QString& name, const QSize& size,
                  std::span<const report::DetailPart> parts);
  [[nodiscard]] QString chain() const;

  report::Details details_;
  QStringList notes_;
  int written_for_ = 0;  // the width of its bar
};

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
