#pragma once

// What there is to say about the selected slice or part of the timeline: where its time goes, the
// chain of causes as links to their places, and what it is worth.

#include <QTextBrowser>

#include "sim/answer/report/text/details.hpp"

namespace orrery::gui {

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
  [[nodiscard]] QString bar();
  [[nodiscard]] QString swatch(std::size_t part);
  [[nodiscard]] QString chain() const;

  report::Details details_;
  QStringList notes_;
  int written_for_ = 0;  // the width of its bar
};

}  // namespace orrery::gui
