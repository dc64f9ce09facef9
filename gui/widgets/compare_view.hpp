#pragma once

// Comparison of the open scenarios: a tick for each, their timelines on one axis, keys that differ,
// and figures below.
//
// The steps come first; their operations, which can be millions, are put side by side on a thread
// of their own and then become the level within the steps.

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/models/tables/comparison.hpp"
#include "sim/answer/report/files/figures.hpp"

class QComboBox;
class QLabel;
class QListWidget;
class QTabWidget;

namespace orrery::gui {

// A saved answer in the window: its figures and tables, read only. It appears in Compare beside the
// open scenarios.

using SavedPtr = std::shared_ptr<const report::Figures>;

class SavedPage : public QWidget {
  Q_OBJECT

 public:
  SavedPage(QString path, QString title, SavedPtr saved, QWidget* parent = nullptr);

  [[nodiscard]] const QString& path() const { return path_; }

  // Of the tab: the file, and the scenario where the file holds several.
  [[nodiscard]] const QString& title() const { return title_; }

  [[nodiscard]] const SavedPtr& saved() const { return saved_; }

  [[nodiscard]] QTabWidget& tables() { return *tables_; }

 private:
  QString path_;
  QString title_;
  SavedPtr saved_;
  QTabWidget* tables_;
};

class AnswerTable;
class TimelineView;

class CompareView : public QWidget {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);

  // The first that is ticked is what the others are compared with.
  void set_candidates(std::vector<Candidate> candidates);

  // Ticks the scenarios of these titles and no other.
  void show_only(const QStringList& titles);

  // "step" or "run".
  [[nodiscard]] QComboBox& level() { return *level_; }

 private:
  void compare();
  void show_timelines();

  std::vector<Candidate> candidates_;
  QStringList left_out_;  // titles that the user has unticked
  QListWidget* list_;
  QLabel* hint_;
  QComboBox* base_;
  QComboBox* level_;
  QWidget* upper_;  // timelines and their level
  TimelineView* timelines_;
  std::vector<Candidate> chosen_;  // those that are ticked
  std::vector<Candidate> drawn_;
  LatestTask closer_;  // makes the level of the operations
  AnswerTable* keys_;
  AnswerTable* losses_;
  AnswerTable* differences_;
};

}  // namespace orrery::gui
